"""The report in a real browser: driven by mouse and keyboard, its numbers held against the library's."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api")

EVIL = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
METRICS = ("bandwidth", "miss_rate", "excess", "deficit", "overshoot")
DIGITS = 6e-4
"""The page shows four digits."""


class Report(NamedTuple):
    """A page with its models, in the order of its tables."""

    url: str
    models: dict[str, ucc.UCC]
    assessment: ucc.Assessment


def models(n: int = 150) -> dict[str, ucc.Intervals]:
    rng = np.random.default_rng(4)
    y_pred = rng.normal(size=n)
    band = rng.uniform(0.3, 2, n)
    y = y_pred + band * rng.normal(size=n)
    bands = {"follows": (0.8 * band, 1.1 * band), EVIL: (rng.uniform(0.3, 2, n),), "flat": (np.full(n, 0.9),)}
    return {name: ucc.Intervals.from_bands(y, y_pred, *both) for name, both in bands.items()}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    found = models()
    a = ucc.assess(found, by={EVIL: np.arange(150) % 2}, n_resamples=99, n_permutations=99)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(a.to_html(), encoding="utf-8")
    return Report(path.as_uri(), {name: ucc.UCC(iv) for name, iv in found.items()}, a)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


class Seen(NamedTuple):
    """An open page and all that it asked for, complained of or popped up."""

    page: Any
    requests: list[str]
    errors: list[str]


def opened(browser: Any, url: str, **options: Any) -> Seen:
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", **options})
    page = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))
    page.goto(url, timeout=120_000)  # a loaded machine is not a bug
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    return Seen(page, requests, errors)


@pytest.fixture
def seen(browser: Any, report: Report) -> Iterator[Seen]:
    found = opened(browser, report.url)
    yield found
    assert found.errors == []
    assert [url for url in found.requests if not url.startswith("blob:")] == [report.url]
    assert found.page.evaluate("window.pwned") is None
    found.page.context.close()


def settle(page: Any) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
    )


def points(page: Any) -> dict[str, list[float]]:
    """Numbers of the table of operating points, by model."""
    settle(page)
    rows = page.locator("#points tbody tr").all()
    return {
        row.locator("th").inner_text(): [float(cell) for cell in row.locator("td").all_inner_texts()] for row in rows
    }


def expected(c: ucc.UCC, scale: float, cost: float, axes: tuple[str, str], unit: str = "raw") -> list[float]:
    at = c.at(scale, unit=unit)
    price = c.cost(cost, axes=axes, at=scale, unit=unit)  # type: ignore[arg-type]  # two metrics
    return [scale, *(getattr(at, metric) for metric in METRICS), price]


def type_into(page: Any, label: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=label)
    field.fill(value)
    field.press("Enter")


# It opens


def test_it_opens_without_network_errors_or_dialogs(seen: Seen, report: Report) -> None:
    assert seen.page.title() == "Prediction intervals of 3 models"
    assert list(points(seen.page)) == list(report.models)
    assert seen.page.locator("#curves .scatterlayer .trace").count() >= 4


def test_the_policy_stops_scripts_and_requests_that_are_not_its_own(browser: Any, report: Report) -> None:
    found = opened(browser, report.url)
    found.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.pwned = 2";
          document.body.append(script);
          const image = document.createElement("img");
          image.setAttribute("onerror", "window.pwned = 3");
          image.src = "http://127.0.0.1:9/x.png";
          document.body.append(image);
        }"""
    )
    blocked = found.page.evaluate("fetch('http://127.0.0.1:9/').then(() => false, () => true)")
    found.page.wait_for_timeout(200)
    assert blocked
    assert found.page.evaluate("window.pwned") is None
    assert sum("Content Security Policy" in error for error in found.errors) >= 3
    assert found.page.evaluate("performance.getEntriesByType('resource').map((one) => one.transferSize)") in (
        [],
        [0],
        [0, 0],
    )
    found.page.context.close()


def test_names_from_the_data_are_shown_and_never_run(seen: Seen) -> None:
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 3
    assert EVIL in seen.page.locator("#summary").inner_text()
    assert EVIL in seen.page.locator("#points").inner_text()
    assert EVIL in "".join(seen.page.locator("#curves .legendtext").all_text_contents())


# It answers as the library does


def test_as_delivered_it_shows_the_librarys_numbers(seen: Seen, report: Report) -> None:
    for name, values in points(seen.page).items():
        assert_allclose(values, expected(report.models[name], 1.0, 0.1, ("bandwidth", "miss_rate")), rtol=DIGITS)


def test_a_typed_scale_moves_every_model(seen: Seen, report: Report) -> None:
    type_into(seen.page, "Scale", "1.37")
    for name, values in points(seen.page).items():
        assert_allclose(values, expected(report.models[name], 1.37, 0.1, ("bandwidth", "miss_rate")), rtol=DIGITS)
    assert "follows at scale 1.37: miss rate" in seen.page.locator("#where").inner_text()


def test_a_typed_miss_rate_finds_each_models_least_scale(seen: Seen, report: Report) -> None:
    type_into(seen.page, "Miss rate", "0.07")
    for name, values in points(seen.page).items():
        scale = report.models[name].find(miss_rate=0.07).scale
        assert_allclose(values, expected(report.models[name], scale, 0.1, ("bandwidth", "miss_rate")), rtol=DIGITS)


def test_a_typed_cost_factor_finds_each_models_cheapest_point(seen: Seen, report: Report) -> None:
    type_into(seen.page, "Cost factor", "0.23")
    for name, values in points(seen.page).items():
        best = report.models[name].cheapest(0.23)
        assert_allclose(values[0], best.scale, rtol=DIGITS)
        assert_allclose(values[-1], np.array(best.cost), rtol=DIGITS)


def test_axes_and_unit_change_the_cost_the_titles_and_the_curves(seen: Seen, report: Report) -> None:
    page = seen.page
    page.get_by_label("x axis", exact=True).select_option("excess")
    page.get_by_label("y axis", exact=True).select_option("deficit")
    page.get_by_label("Unit", exact=True).select_option("std")
    for name, values in points(page).items():
        wanted = expected(report.models[name], 1.0, 0.1, ("excess", "deficit"), unit="std")
        assert_allclose(values, wanted, rtol=DIGITS)
    assert page.locator("#curves .xtitle").text_content() == "excess, in deviations of y"
    assert page.locator("#curves .ytitle").text_content() == "deficit, in deviations of y"
    drawn = page.evaluate("(() => { const { x, y } = document.getElementById('curves').data[0]; return [x, y]; })()")
    found = report.models["follows"].points(axes=("excess", "deficit"), unit="std")
    assert_allclose(drawn[0][: len(found)], found.x[: len(drawn[0])], rtol=1e-5, atol=1e-9)
    page.get_by_role("button", name="Cheapest").click()
    best = report.models["follows"].cheapest(0.1, axes=("excess", "deficit"), unit="std")
    assert_allclose(points(page)["follows"][0], best.scale, rtol=DIGITS)


def test_the_intervals_of_the_sampled_rows_follow(seen: Seen, report: Report) -> None:
    page = seen.page
    page.get_by_label("Model", exact=True).select_option(label="flat")
    type_into(page, "Scale", "2")
    settle(page)
    bars, inside, outside = page.evaluate("document.getElementById('rows').data.map((t) => t)")
    assert set(np.round(bars["error_y"]["array"], 6)) == {1.8}
    iv = report.models["flat"].intervals
    rows = page.evaluate("JSON.parse(document.getElementById('report-data').textContent).models[2].sample.row")
    missed = np.abs(iv.y_true - iv.y_pred)[rows] > 1.8
    assert len(outside["x"]) == missed.sum()
    assert len(inside["x"]) == (~missed).sum()
    assert page.locator("#missed").inner_text() == f"{missed.sum()} of these {len(rows)} rows lie outside."


def test_hovering_shows_all_metrics(seen: Seen, report: Report) -> None:
    page = seen.page
    at = report.models["follows"].at(1.0)
    x, y = place(page, at.bandwidth, at.miss_rate)
    page.mouse.move(x - 30, y - 30)
    page.mouse.move(x, y)
    page.wait_for_selector("#curves .hoverlayer .hovertext")
    text = " ".join(page.locator("#curves .hoverlayer text").all_text_contents())
    for word in ("scale", "bandwidth", "miss rate", "excess", "deficit", "overshoot"):
        assert word in text


# It is driven by mouse and keyboard


def place(page: Any, x: float, y: float) -> tuple[float, float]:
    """Where a point of the curves' axes is on the screen."""
    found: list[float] = page.evaluate(
        """([x, y]) => {
          const plot = document.getElementById("curves");
          plot.scrollIntoView({ block: "center" });
          const box = plot.getBoundingClientRect();
          const { xaxis, yaxis, _size: inner } = plot._fullLayout;
          return [box.left + inner.l + xaxis.d2p(x), box.top + inner.t + yaxis.d2p(y)];
        }""",
        [x, y],
    )
    return found[0], found[1]


def test_a_marker_can_be_dragged_along_its_curve(seen: Seen, report: Report) -> None:
    c, page = report.models["follows"], seen.page
    start, goal = c.at(1.0), c.find(miss_rate=0.1)
    page.mouse.move(*place(page, start.bandwidth, start.miss_rate))
    page.mouse.down()
    for share in np.linspace(0, 1, 6):
        between = c.at(1 + share * (goal.scale - 1))
        page.mouse.move(*place(page, between.bandwidth, between.miss_rate))
        settle(page)
    page.mouse.up()
    values = points(page)["follows"]
    assert_allclose(values[0], goal.scale, rtol=0.03)  # a pixel is a hundredth of the curve
    assert_allclose(values, expected(c, values[0], 0.1, ("bandwidth", "miss_rate")), rtol=2e-3, atol=1 / 150)
    page.mouse.move(10, 10)
    settle(page)
    assert points(page)["follows"] == values


def test_a_click_near_another_curve_takes_that_model(seen: Seen, report: Report) -> None:
    c, page = report.models["flat"], seen.page
    far = c.find(miss_rate=0.02)
    x, y = place(page, far.bandwidth, far.miss_rate)
    page.mouse.click(x, y)
    settle(page)
    chosen = page.get_by_label("Model", exact=True).evaluate("(select) => select.selectedOptions[0].textContent")
    near = {name: abs(ucc.find(miss_rate=0.02).bandwidth - far.bandwidth) for name, ucc in report.models.items()}
    assert chosen in [name for name, distance in near.items() if distance < 0.3]


@pytest.mark.parametrize(("label", "column"), [("Scale", 0), ("Miss rate", 2)])
def test_sliders_move_by_the_keyboard(seen: Seen, report: Report, label: str, column: int) -> None:
    page, c = seen.page, report.models["follows"]
    before = points(page)["follows"]
    slider = page.get_by_role("slider", name=label)
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    after = points(page)["follows"]
    assert after[column] < before[column]
    scale = c.find(miss_rate=float(slider.input_value()) / 1000).scale if column else float(slider.input_value())
    scale = scale if column else (scale / 1000) ** 3 * float(c.points().x[-1] / c.at(1.0).bandwidth)
    assert_allclose(after, expected(c, scale, 0.1, ("bandwidth", "miss_rate")), rtol=DIGITS)
    assert slider.get_attribute("aria-valuetext")


def test_every_control_is_reached_by_tab_and_has_a_name(seen: Seen) -> None:
    page = seen.page
    names = []
    for _ in range(150):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
    controls = page.locator("#explorer input, #explorer select, #explorer button").evaluate_all(
        "(all) => all.map((one) => one.id)"
    )
    assert [name for name in controls if name not in names] == []
    unnamed = page.evaluate(
        """[...document.querySelectorAll("main :is(input, select, button):not(.plot *)")]
          .filter((one) => !(one.labels?.length || one.textContent.trim() || one.hasAttribute("aria-labelledby")))
          .map((one) => one.outerHTML)"""
    )
    assert unnamed == []


def test_a_table_is_sorted_by_click_and_by_enter(seen: Seen, report: Report) -> None:
    page, rows = seen.page, report.assessment.rows
    table = page.locator("#summary table").last

    def names() -> list[str]:
        found: list[str] = table.locator("tbody th").all_inner_texts()
        return found

    by_bandwidth = [row.name for row in sorted(rows, key=lambda row: row.bandwidth)]
    head = table.get_by_role("button", name="bandwidth", exact=True)
    head.click()
    assert names() == by_bandwidth
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("bandwidth")
    head.focus()
    page.keyboard.press("Enter")
    assert names() == by_bandwidth[::-1]
    table.get_by_role("button", name=re.compile("model")).click()
    assert names() == [EVIL, "flat", "follows"]
    assert table.locator("th[aria-sort]").count() == 1
