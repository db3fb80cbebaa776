"""The report can be read on a desk, a phone and paper, in light and dark."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_browser import (
    EVIL,
    Report,
    Seen,
    browser,
    choose,
    listened,
    models,
    opened,
    report,
    seen,
    settle,
    tab,
)

pytestmark = pytest.mark.browser
__all__ = ["browser", "report", "seen", "tab"]  # the fixtures
PHONE = (390, 844)
ROOT = Path(__file__).resolve().parent.parent
AXE = "axe-core@4.14.1"


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)` or `color(srgb r g b)` as the accessibility guidelines define it."""
    size = 1 if colour.startswith("color(srgb") else 255
    channels = [
        float(part) / size for part in re.findall(r"[\d.]+", colour.removeprefix("color(srgb"))[:3]
    ]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


COLOURS = """[...document.querySelectorAll("body *:not(.plot *, option, script, noscript, .skip)")]
  .filter((one) => one.checkVisibility() && [...one.childNodes].some((child) => child.nodeValue?.trim()))
  .map((one) => {
    let back = one;
    while (back && getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)") back = back.parentElement;
    return [one.tagName, getComputedStyle(one).color, getComputedStyle(back).backgroundColor];
  })"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_text_has_contrast_and_nothing_is_cut_off(
    tab: Seen, report: Report, scheme: str, width: int
) -> None:
    found = opened(tab, report.url, size=(width, 844), scheme=scheme)
    found.page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    texts = found.page.evaluate(COLOURS)
    assert len(texts) > 100
    assert [text for text in texts if contrast(text[1], text[2]) < 4.5] == []
    lines = found.page.evaluate(
        """[0, 1, 2, 3, 4, 5, 6].map((i) => {
          const mark = document.createElement("i");
          mark.className = `model-${i}`;
          document.body.append(mark);
          return getComputedStyle(mark).backgroundColor;
        })"""
    )
    page_colour = found.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert min(contrast(colour, page_colour) for colour in lines) >= 3
    assert len(set(lines)) == 7
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert (luminance(page_colour) < 0.1) == (scheme == "dark")
    assert found.errors == []


def many(count: int = 40) -> ucc.Assessment:
    """Models with different predictions, one of them hopeless, and segments."""
    one = models()["follows"]
    rng = np.random.default_rng(0)
    given = {
        f"model {i}": ucc.Intervals.from_bands(
            one.y_true,
            one.y_pred + 0.02 * i * rng.normal(size=150),
            rng.uniform(0.2, 0.4 + i / 9, 150),
        )
        for i in range(count - 3)
    }
    given |= {
        "x" * 10_000: one,
        "שלום עולם": one.calibrated(scale=0.01),
        EVIL: one.calibrated(scale=100),
    }
    return ucc.assess(
        given, coverage=0.9, by={"hour": np.arange(150) % 12, "z" * 3000: np.arange(150) % 2}
    )


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("crowded") / "report.html"
    path.write_text(many().to_html(), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_forty_models_and_endless_names_do_not_widen_the_page(
    tab: Seen, crowded: str, width: int
) -> None:
    found = opened(tab, crowded, size=(width, 844))
    found.page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert found.errors == []


def test_on_a_phone_verdict_factor_and_half_width_need_no_scrolling_sideways(
    browser: Any, report: Report
) -> None:
    found = opened(listened(browser, is_mobile=True), report.url, drawn=False, size=PHONE)
    cells = found.page.locator("#verdict td")
    for name in ("own factor", "half-width as shipped", "coverage as delivered"):
        boxes = [
            cell.bounding_box() for cell in cells.all() if cell.get_attribute("data-name") == name
        ]
        assert len(boxes) == 3
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)
    headline = found.page.locator("#headline").bounding_box()
    assert headline["y"] + headline["height"] < 844


SIZES = """(all) => all.map((one) => {
  const drawn = one.querySelector(".main-svg");
  return [Number(drawn.getAttribute("width")), Number(drawn.getAttribute("height")), one.clientWidth, one.clientHeight];
})"""


def test_on_paper_it_is_light_without_controls_and_fits_the_sheet(
    tab: Seen, report: Report
) -> None:
    found = opened(tab, report.url, scheme="dark")
    page = found.page
    page.emulate_media(media="print")
    settle(page)
    for hidden in ("form.controls", "button.copy", "nav"):
        assert not page.locator(hidden).first.is_visible()
    assert (
        page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    for plot in ("curves", "rows"):
        assert (
            page.locator(f"#{plot} .xtitle").evaluate("(one) => getComputedStyle(one).fill")
            == "rgb(0, 0, 0)"
        )
    on_paper = page.locator(".plot").evaluate_all(SIZES)
    assert all(size[:2] == size[2:] and size[0] <= 420 for size in on_paper)
    assert sum(size[0] for size in on_paper) > 680  # the width of A4 without its margins
    page.emulate_media(media="screen")
    settle(page)
    on_screen = page.locator(".plot").evaluate_all(SIZES)
    assert on_screen[0][0] > 600
    assert_allclose([size[:2] for size in on_screen], [size[2:] for size in on_screen], atol=1)


def printed(page: Any, path: Path, paper: str) -> list[str]:
    """Texts of the sheets that a page prints on."""
    page.pdf(path=str(path), format=paper)
    text = subprocess.run(
        ["pdftotext", "-layout", str(path), "-"], check=True, capture_output=True, text=True
    ).stdout
    return text.split("\f")[:-1]


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext on the PATH")
@pytest.mark.parametrize(
    ("which", "paper", "most"),
    [
        ("report", "A4", 7),
        ("report", "Letter", 7),
        ("crowded", "A4", 15),
        ("crowded", "Letter", 16),
    ],
)
def test_no_sheet_is_empty_or_cut_and_headings_stay_with_what_they_head(  # noqa: PLR0917  fixtures
    tab: Seen, request: pytest.FixtureRequest, tmp_path: Path, which: str, paper: str, most: int
) -> None:
    page_or_url = request.getfixturevalue(which)
    found = opened(tab, page_or_url if isinstance(page_or_url, str) else page_or_url.url)
    sheets = printed(found.page, tmp_path / "report.pdf", paper)
    assert 2 < len(sheets) <= most
    assert [sheet for sheet in sheets if len(sheet.split()) < 20] == []
    headings = found.page.locator("h2").all_inner_texts()
    for sheet in sheets:
        assert sheet.strip().splitlines()[-1].strip() not in headings
    size = subprocess.run(
        ["pdfinfo", str(tmp_path / "report.pdf")], check=True, capture_output=True, text=True
    ).stdout
    assert paper.lower() in size.lower()


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, a checker of accessibility, which npm fetches once into build/axe."""
    folder = ROOT / "build" / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm on the PATH, which would fetch axe-core")
        folder.mkdir(parents=True, exist_ok=True)
        line = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), AXE]
        done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"npm could not fetch {AXE}: {done.stderr.strip()[-200:]}")
    return script.read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("which", ["report", "crowded"])
def test_a_checker_of_accessibility_finds_no_violation(  # noqa: PLR0917  fixtures
    browser: Any, request: pytest.FixtureRequest, axe: str, which: str, width: int, scheme: Any
) -> None:
    given = request.getfixturevalue(which)
    url = given if isinstance(given, str) else given.url
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(url)
    page.wait_for_selector("html[data-drawn]", timeout=120_000)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    context.close()
    assert len(found["passes"]) > 30
    broken = [
        (rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]
    ]
    assert broken == []


def test_no_table_has_to_be_scrolled_on_a_desk(seen: Seen) -> None:
    wide = seen.page.locator(".wide").evaluate_all(
        "(all) => all.map((one) => [one.scrollWidth, one.clientWidth])"
    )
    assert len(wide) > 8
    assert [pair for pair in wide if pair[0] > pair[1]] == []


def test_the_buttons_of_a_plot_cover_nothing_and_send_nothing(seen: Seen) -> None:
    page = seen.page
    for plot in page.locator(".plot").all():
        buttons = plot.locator(".modebar-btn")
        assert len(buttons.all()) == 6
        assert [
            title
            for title in buttons.evaluate_all("(all) => all.map((b) => b.dataset.title)")
            if "hare" in title
        ] == []
        left = plot.locator(".modebar").bounding_box()["x"]
        for part in (".legend", ".plotbg, .bglayer", ".xtitle"):
            box = plot.locator(part).first.bounding_box()
            assert box["x"] + box["width"] <= left
        buttons.first.focus()
        page.keyboard.press("Tab")
        assert plot.locator(".modebar").evaluate("(one) => getComputedStyle(one).opacity") == "1"


def test_a_phone_shows_no_buttons_over_its_plots(browser: Any, report: Report) -> None:
    found = opened(listened(browser, is_mobile=True, has_touch=True), report.url, size=PHONE)
    assert found.page.locator(".modebar-btn").count() == 0
    assert found.errors == []


def test_models_with_other_predictions_are_overlaid_and_the_chosen_one_has_its_constant_band(
    tab: Seen, tmp_path: Path
) -> None:
    found = models()
    shifted = {
        name: ucc.Intervals.from_bands(iv.y_true, iv.y_pred + 0.1 * i, iv.lower_band)
        for i, (name, iv) in enumerate(found.items())
    }
    a = ucc.assess(shifted, coverage=0.9)
    (tmp_path / "r.html").write_text(a.to_html(), encoding="utf-8")
    seen = opened(tab, (tmp_path / "r.html").as_uri())
    shown = "t.mode === 'lines' && t.visible !== false && t.x.length > 2"
    lines = f"document.getElementById('curves').data.filter((t) => {shown})"
    assert seen.page.evaluate(f"{lines}.length") == 4
    constant = f"{lines}.find((t) => t.name === 'its constant band').x"
    for name in ("flat", "follows"):
        choose(seen.page, name)
        settle(seen.page)
        own = ucc.UCC(shifted[name].constant()).points()
        assert_allclose(seen.page.evaluate(constant)[-1], own.x[-1], rtol=1e-5)
    assert (
        "a lower curve shows better intervals" in seen.page.locator("#curves-section").inner_text()
    )
    assert seen.errors == []
