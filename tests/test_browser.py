"""The report in a real browser: driven by mouse and keyboard, its numbers held against the library's."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from pages import environment
from uccurve.words.formats import short

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api")

EVIL = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
]
FLAGS += ["--disable-component-update", "--disable-sync"]
METRICS = ("bandwidth", "miss_rate", "excess", "deficit", "overshoot")
DATA = "JSON.parse(document.getElementById('report-data').textContent)"
DIGITS = 6e-4
"""The page shows four digits."""


class Report(NamedTuple):
    """A page with its models, best first, as its tables have them."""

    url: str
    models: dict[str, ucc.UCC]
    assessment: ucc.Assessment


def models(n: int = 150) -> dict[str, ucc.Intervals]:
    rng = np.random.default_rng(4)
    y_pred = rng.normal(size=n)
    band = rng.uniform(0.3, 2, n)
    y = y_pred + band * rng.normal(size=n)
    bands = {
        "follows": (0.8 * band, 1.1 * band),
        EVIL: (rng.uniform(0.3, 2, n),),
        "flat": (np.full(n, 0.9),),
    }
    return {name: ucc.Intervals.from_bands(y, y_pred, *both) for name, both in bands.items()}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    found = models()
    a = ucc.assess(found, by={EVIL: np.arange(150) % 2}, coverage=0.8, c=0.1)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(a.to_html(), encoding="utf-8")
    return Report(path.as_uri(), {row.name: ucc.UCC(found[row.name]) for row in a.ranking}, a)


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


def listened(browser: Any, **options: Any) -> Seen:
    """A new page of the browser, and what it will ask for, complain of or pop up."""
    page = browser.new_context(**options).new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on(
        "console",
        lambda message: (
            errors.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(f"dialog {dialog.message}"))
    return Seen(page, requests, errors)


@pytest.fixture(scope="module")
def tab(browser: Any) -> Seen:
    """One page for all tests: each loads its report anew, and the browser compiles the scripts once."""
    return listened(browser)


def opened(
    tab: Seen,
    url: str,
    *,
    drawn: bool = True,
    size: tuple[int, int] = (1280, 900),
    scheme: str = "light",
) -> Seen:
    """Load a report in a page, whatever was in it before."""
    page = tab.page
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.emulate_media(
        media="null", color_scheme=scheme
    )  # the medium as it is: a screen, or paper for `pdf`
    page.mouse.move(0, 0)
    page.goto("about:blank")
    tab.requests.clear()
    tab.errors.clear()
    page.goto(url, timeout=120_000)  # a loaded machine is not a bug
    page.wait_for_selector("html[data-ready]", timeout=120_000)
    if drawn:
        page.locator("#curves").scroll_into_view_if_needed()
        page.wait_for_selector("html[data-drawn]", timeout=120_000)
    return tab


@pytest.fixture
def seen(tab: Seen, report: Report) -> Iterator[Seen]:
    found = opened(tab, report.url)
    yield found
    assert found.errors == []
    assert [url for url in found.requests if not url.startswith("blob:")] == [report.url]
    assert found.page.evaluate("window.pwned") is None


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
        row.locator("th").inner_text(): list(map(number, row.locator("td").all_inner_texts()))
        for row in rows
    }


def number(text: str) -> float:
    """What a cell says; a percentage is a share."""
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def shown(name: str) -> str:
    """A model's name as the page shows it."""
    return short(name)


def expected(
    c: ucc.UCC, scale: float, cost: float, axes: tuple[str, str], unit: str = "raw"
) -> list[float]:
    at = c.at(scale, unit=unit)
    price = c.cost(cost, axes=axes, at=scale, unit=unit)  # type: ignore[arg-type]  # two metrics
    return [scale, *(getattr(at, metric) for metric in METRICS), price]


def choose(page: Any, name: str) -> None:
    """Choose a model."""
    option = page.locator("#model option", has_text=name).get_attribute("value")
    page.get_by_label("Model", exact=True).select_option(option)


def sampled(page: Any, name: str) -> list[int]:
    """Rows of a model whose intervals are drawn."""
    (found,) = [model for model in page.evaluate(DATA)["models"] if model["name"] == name]
    rows: list[int] = found["sample"]["row"]
    return rows


def type_into(page: Any, label: str, value: str) -> None:
    field = page.get_by_role("spinbutton", name=label)
    field.fill(value)
    field.press("Enter")


# It opens


def test_it_opens_without_network_errors_or_dialogs(seen: Seen, report: Report) -> None:
    assert seen.page.title() == "Prediction intervals: 3 models"
    assert list(points(seen.page)) == list(map(shown, report.models))
    assert seen.page.locator("#curves .scatterlayer .trace").count() >= 4


def test_the_policy_stops_scripts_and_requests_that_are_not_its_own(
    browser: Any, report: Report
) -> None:
    found = opened(listened(browser), report.url)
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
    assert found.page.evaluate(
        "performance.getEntriesByType('resource').map((one) => one.transferSize)"
    ) in (
        [],
        [0],
        [0, 0],
    )


def test_names_from_the_data_are_shown_and_never_run(seen: Seen) -> None:
    assert seen.page.locator("img").count() == 0
    assert seen.page.locator("script").count() == 3
    assert seen.page.locator("#verdict bdi[title]").first.get_attribute("title") == EVIL
    assert shown(EVIL) in seen.page.locator("#points").inner_text()
    assert "<img src=x" in "".join(seen.page.locator("#curves .legendtext").all_text_contents())


# It begins with the decision


def test_the_verdict_and_the_tables_are_there_before_any_chart(tab: Seen, report: Report) -> None:
    found = opened(tab, report.url, drawn=False)
    assert found.page.evaluate("typeof Plotly") == "undefined"
    text = " ".join(found.page.locator("#verdict .card").inner_text().split())
    assert text.startswith(report.assessment.verdict.headline)
    names = found.page.locator("#verdict tbody th bdi").all_inner_texts()
    assert names == list(map(shown, report.models))
    assert list(points(found.page)) == list(map(shown, report.models))


def test_without_javascript_all_tables_and_static_charts_are_there(
    browser: Any, report: Report
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.url)
    assert page.locator("#verdict tbody tr").count() == 3
    assert page.locator("#why .lanes").count() == 3
    assert page.locator("#calibration .dot").count() == 3
    assert page.locator("noscript").inner_text().startswith("Curves need JavaScript")
    assert not page.locator("button.copy").first.is_visible()
    context.close()


def test_a_browser_without_decompression_says_so_and_keeps_its_numbers(
    browser: Any, report: Report
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report.url)
    page.evaluate("document.getElementById('curves-section').scrollIntoView()")
    page.wait_for_selector("#no-charts:not([hidden])")
    assert not page.locator("#curves").is_visible()
    type_into(page, "Scale", "1.37")
    for name, values in by_model(page, report).items():
        assert_allclose(
            values,
            expected(report.models[name], 1.37, 0.1, ("bandwidth", "miss_rate")),
            rtol=DIGITS,
        )
    context.close()


def test_the_command_is_copied_as_it_stands(browser: Any, report: Report) -> None:
    found = opened(
        listened(browser, permissions=["clipboard-read", "clipboard-write"]),
        report.url,
        drawn=False,
    )
    button = found.page.locator("button.copy").first
    button.click()
    button.and_(found.page.get_by_text("Copied", exact=True)).wait_for()
    copied = found.page.evaluate("navigator.clipboard.readText()")
    assert copied == found.page.locator("#command").inner_text()
    assert copied == "uccurve calibrate --from ASSESSMENT.json new.csv -o calibrated.csv"


def test_the_command_pasted_into_a_shell_writes_the_calibrated_file(
    tab: Seen, report: Report, tmp_path: Path
) -> None:
    iv = report.models[report.assessment.verdict.model].intervals
    (tmp_path / "ASSESSMENT.json").write_text(report.assessment.to_json(), encoding="utf-8")
    columns = np.column_stack([iv.y_true, iv.y_pred, iv.lower, iv.upper])
    np.savetxt(
        tmp_path / "new.csv",
        columns,
        delimiter=",",
        header="y_true,y_pred,lower,upper",
        comments="",
        fmt="%.17g",
    )
    found = opened(tab, report.url, drawn=False)
    line = found.page.locator("#command").inner_text()
    subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(), check=True, capture_output=True
    )
    new = np.loadtxt(tmp_path / "calibrated.csv", delimiter=",", skiprows=1)
    calibrated = iv.calibrated(scale=report.assessment.verdict.scale)
    assert_allclose(new[:, 2:], np.column_stack([calibrated.lower, calibrated.upper]), rtol=1e-9)


# It answers as the library does


def by_model(page: Any, report: Report) -> dict[str, list[float]]:
    """Numbers of the operating points by the models' own names."""
    return dict(zip(report.models, points(page).values(), strict=True))


def test_it_opens_on_the_model_to_ship_at_the_coverage_asked_for(
    seen: Seen, report: Report
) -> None:
    verdict = report.assessment.verdict
    rows = {row.name: row for row in report.assessment.rows}
    for name, values in by_model(seen.page, report).items():
        scale = verdict.scale if name == verdict.model else float(rows[name].scale)
        wanted = expected(report.models[name], scale, 0.1, ("bandwidth", "miss_rate"))
        assert_allclose(values, wanted, rtol=DIGITS)
        if name != verdict.model:
            assert_allclose(values[1], float(rows[name].half_width), rtol=DIGITS)
    assert (
        seen.page.locator("#where")
        .inner_text()
        .startswith(f"{shown(verdict.model)} at scale {verdict.scale:.4g}")
    )
    assert seen.page.locator("#points tr[data-active=true] th").inner_text() == shown(verdict.model)


def test_as_delivered_it_shows_the_librarys_numbers(seen: Seen, report: Report) -> None:
    seen.page.get_by_role("button", name="As delivered", exact=True).click()
    for name, values in by_model(seen.page, report).items():
        assert_allclose(
            values, expected(report.models[name], 1.0, 0.1, ("bandwidth", "miss_rate")), rtol=DIGITS
        )


def test_a_typed_scale_moves_every_model(seen: Seen, report: Report) -> None:
    type_into(seen.page, "Scale", "1.37")
    for name, values in by_model(seen.page, report).items():
        assert_allclose(
            values,
            expected(report.models[name], 1.37, 0.1, ("bandwidth", "miss_rate")),
            rtol=DIGITS,
        )
    assert " at scale 1.37: coverage" in seen.page.locator("#where").inner_text()


def test_a_typed_coverage_finds_each_models_smallest_scale(seen: Seen, report: Report) -> None:
    type_into(seen.page, "Coverage, %", "93")
    for name, values in by_model(seen.page, report).items():
        scale = report.models[name].find(coverage=0.93).scale
        assert_allclose(
            values,
            expected(report.models[name], scale, 0.1, ("bandwidth", "miss_rate")),
            rtol=DIGITS,
        )


def test_a_typed_cost_factor_finds_each_models_cheapest_point(seen: Seen, report: Report) -> None:
    type_into(seen.page, "Cost factor", "0.23")
    for name, values in by_model(seen.page, report).items():
        best = report.models[name].cheapest(0.23)
        assert_allclose(values[0], best.scale, rtol=DIGITS)
        assert_allclose(values[-1], np.array(best.cost), rtol=DIGITS)


def test_axes_and_unit_change_the_cost_the_titles_and_the_curves(
    seen: Seen, report: Report
) -> None:
    page = seen.page
    page.get_by_label("x axis", exact=True).select_option("excess")
    page.get_by_label("y axis", exact=True).select_option("deficit")
    page.get_by_label("Unit", exact=True).select_option("standard deviations of y")
    page.get_by_role("button", name="As delivered", exact=True).click()
    for name, values in by_model(page, report).items():
        wanted = expected(report.models[name], 1.0, 0.1, ("excess", "deficit"), unit="std")
        assert_allclose(values, wanted, rtol=DIGITS)
    assert page.locator("#curves .xtitle").text_content() == "excess, in standard deviations of y"
    assert page.locator("#curves .ytitle").text_content() == "deficit, in standard deviations of y"
    drawn = page.evaluate(
        "['x', 'y'].map((side) => document.getElementById('curves').data.find((t) => t.name === 'flat')[side])"
    )
    found = report.models["flat"].points(axes=("excess", "deficit"), unit="std")
    assert_allclose(np.interp(found.x[1:], *drawn), found.y[1:], rtol=1e-4, atol=1e-5)
    page.get_by_role("button", name="Cheapest").click()
    best = report.models["flat"].cheapest(0.1, axes=("excess", "deficit"), unit="std")
    assert_allclose(points(page)["flat"][0], best.scale, rtol=DIGITS)


def test_a_switch_makes_both_axes_logarithmic(seen: Seen) -> None:
    seen.page.get_by_label("Log scale").check()
    settle(seen.page)
    types = seen.page.evaluate(
        "['xaxis', 'yaxis'].map((side) => document.getElementById('curves')._fullLayout[side].type)"
    )
    assert types == ["log", "log"]


def test_the_intervals_of_the_sampled_rows_follow(seen: Seen, report: Report) -> None:
    page = seen.page
    choose(page, "flat")
    type_into(page, "Scale", "2")
    settle(page)
    bars, inside, outside = page.evaluate("document.getElementById('rows').data.map((t) => t)")
    assert set(np.round(bars["error_y"]["array"], 6)) == {1.8}
    iv = report.models["flat"].intervals
    rows = sampled(page, "flat")
    missed = np.abs(iv.y_true - iv.y_pred)[rows] > 1.8
    assert len(outside["x"]) == missed.sum()
    assert len(inside["x"]) == (~missed).sum()
    assert (
        page.locator("#missed").inner_text()
        == f"{missed.sum()} of these {len(rows)} rows lie outside."
    )


def test_hovering_shows_all_metrics(seen: Seen, report: Report) -> None:
    page = seen.page
    choose(page, "follows")
    settle(page)
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
    choose(page, "follows")
    page.get_by_role("button", name="As delivered", exact=True).click()
    settle(page)
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
    assert_allclose(
        values, expected(c, values[0], 0.1, ("bandwidth", "miss_rate")), rtol=2e-3, atol=1 / 150
    )
    page.mouse.move(10, 10)
    settle(page)
    assert points(page)["follows"] == values


def test_a_click_on_another_curve_takes_that_model(seen: Seen, report: Report) -> None:
    page, others = seen.page, [c for name, c in report.models.items() if name != "flat"]

    def apart(miss: float) -> float:
        widths = [c.find(miss_rate=miss).bandwidth for c in (report.models["flat"], *others)]
        return min(abs(width - widths[0]) for width in widths[1:])

    at = report.models["flat"].find(miss_rate=max((0.2, 0.3, 0.4, 0.5, 0.6), key=apart))
    assert page.locator("#points tr[data-active=true] th").inner_text() != "flat"
    page.mouse.click(*place(page, at.bandwidth, at.miss_rate))
    settle(page)
    assert page.locator("#points tr[data-active=true] th").inner_text() == "flat"


@pytest.mark.parametrize(("label", "column"), [("Scale", 0), ("Coverage, %", 1)])
def test_sliders_move_by_the_keyboard(seen: Seen, report: Report, label: str, column: int) -> None:
    page, c = seen.page, report.models["follows"]
    choose(page, "follows")
    before = points(page)["follows"]
    slider = page.get_by_role("slider", name=label)
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    after = points(page)["follows"]
    assert after[column] < before[column]
    value = float(slider.input_value()) / 1000
    scale = (
        c.find(coverage=value).scale
        if column
        else value**3 * float(c.points().x[-1] / c.at(1.0).bandwidth)
    )
    assert_allclose(after, expected(c, scale, 0.1, ("bandwidth", "miss_rate")), rtol=DIGITS)
    assert slider.get_attribute("aria-valuetext")


def test_every_control_is_reached_by_tab_and_has_a_name(seen: Seen) -> None:
    page = seen.page
    names = []
    for _ in range(200):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
        )
    controls = page.locator("#curves-section :is(input, select, button)").evaluate_all(
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
    table = page.locator("#verdict table")

    def names() -> list[str]:
        found: list[str] = table.locator("tbody th bdi").all_inner_texts()
        return found

    ordered = sorted(rows, key=lambda row: float(row.coverage))
    by_coverage = [shown(row.name) for row in ordered]
    head = table.get_by_role("button", name="coverage as delivered", exact=True)
    head.click()
    assert names() == by_coverage
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("coverage")
    head.focus()
    page.keyboard.press("Enter")
    assert names() == by_coverage[::-1]
    table.get_by_role("button", name=re.compile("model")).click()
    assert names() == [shown(EVIL), "flat", "follows"]
    assert table.locator("th[aria-sort]").count() == 1


def test_a_long_table_shows_its_first_rows_and_all_on_request(tab: Seen, tmp_path: Path) -> None:
    one = models()["follows"]
    rng = np.random.default_rng(0)
    many = {
        f"m{i}": ucc.Intervals.from_bands(one.y_true, one.y_pred, rng.uniform(0.2, 2, 150))
        for i in range(20)
    }
    (tmp_path / "r.html").write_text(ucc.assess(many, coverage=0.9).to_html(), encoding="utf-8")
    found = opened(tab, (tmp_path / "r.html").as_uri())
    rows = found.page.locator("#verdict tbody tr")
    visible = "(all) => all.filter((one) => one.checkVisibility()).length"
    assert rows.evaluate_all(visible) == 12
    found.page.locator("#verdict").get_by_role("button", name="Show all 20 rows").click()
    assert rows.evaluate_all(visible) == 20
    legend = found.page.locator("#curves .legendtext").all_text_contents()
    assert len(legend) == 9  # the best seven, the constant band, and what is as delivered
    found.page.get_by_label("Model", exact=True).select_option("17")
    settle(found.page)
    assert len(found.page.locator("#curves .legendtext").all_text_contents()) == 10
    assert found.page.locator("#points tr[data-active=true]").is_visible()
    assert found.errors == []


def test_a_model_with_levels_is_followed_on_the_interval_that_the_verdict_scales(
    tab: Seen, tmp_path: Path
) -> None:
    outer = models()["follows"]
    c = ucc.UCC.from_levels({0.5: outer.calibrated(scale=0.3), 0.8: outer})
    a = ucc.assess({"levels": c, "one": models()["flat"]}, coverage=0.8)
    (tmp_path / "r.html").write_text(a.to_html(), encoding="utf-8")
    found = opened(tab, (tmp_path / "r.html").as_uri())
    choose(found.page, "levels")
    type_into(found.page, "Scale", "0.7")
    scaled = ucc.UCC(outer)
    at = scaled.at(0.7)
    values = points(found.page)["levels"]
    assert_allclose(values, [0.7, *(getattr(at, metric) for metric in METRICS)], rtol=DIGITS)
    settle(found.page)
    bars = found.page.evaluate("document.getElementById('rows').data[0].error_y.array")
    rows = sampled(found.page, "levels")
    assert_allclose(bars, 0.7 * outer.upper_band[rows], rtol=1e-4)
    assert found.errors == []


def test_a_far_operating_point_is_an_arrow_at_the_edge(tab: Seen, tmp_path: Path) -> None:
    found = models()
    given = {"near": found["follows"], "far": found["flat"].calibrated(scale=50)}
    (tmp_path / "r.html").write_text(ucc.assess(given, coverage=0.8).to_html(), encoding="utf-8")
    seen = opened(tab, (tmp_path / "r.html").as_uri())
    seen.page.get_by_role("button", name="As delivered", exact=True).click()
    settle(seen.page)
    marks, right = seen.page.evaluate(
        """(() => {
          const plot = document.getElementById("curves");
          const marks = plot.data.filter((t) => t.mode === "markers").map((t) => [t.name, t.x[0], t.marker.symbol]);
          return [marks, plot._fullLayout.xaxis.range[1]];
        })()"""
    )
    symbols = {name: symbol for name, _, symbol in marks}
    assert symbols["far"] == "triangle-right"
    assert symbols["near"] != "triangle-right"
    assert_allclose(next(x for name, x, _ in marks if name == "far"), right, rtol=1e-6)
    ends = [float(ucc.UCC(iv).points().x[-1]) for iv in given.values()]
    assert right <= 1.05 * max(ends)
    assert seen.errors == []
