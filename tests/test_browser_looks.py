"""The report can be read on a desk, a phone and paper, in light and dark."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from test_browser import Report, Seen, browser, models, opened, report, seen, settle

pytestmark = pytest.mark.browser
__all__ = ["browser", "report", "seen"]  # the fixtures


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)` as the accessibility guidelines define it."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
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
def test_text_has_contrast_and_nothing_is_cut_off(browser: Any, report: Report, scheme: str, width: int) -> None:
    found = opened(browser, report.url, viewport={"width": width, "height": 844}, color_scheme=scheme)
    texts = found.page.evaluate(COLOURS)
    assert len(texts) > 100
    assert [text for text in texts if contrast(text[1], text[2]) < 4.5] == []
    lines = found.page.evaluate(
        "[0, 1, 2, 3, 4, 5, 6].map((i) => { const mark = document.createElement('i'); mark.className = `model-${i}`; "
        "document.body.append(mark); return getComputedStyle(mark).backgroundColor; })"
    )
    page_colour = found.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert min(contrast(colour, page_colour) for colour in lines) >= 3
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    assert (luminance(page_colour) < 0.1) == (scheme == "dark")
    assert found.errors == []
    found.page.context.close()


SIZES = """(all) => all.map((one) => {
  const drawn = one.querySelector(".main-svg");
  return [Number(drawn.getAttribute("width")), Number(drawn.getAttribute("height")), one.clientWidth, one.clientHeight];
})"""


def test_on_paper_it_is_light_without_controls_and_fits_the_sheet(browser: Any, report: Report) -> None:
    found = opened(browser, report.url, color_scheme="dark")
    page = found.page
    page.wait_for_selector("#gains .main-svg")
    page.emulate_media(media="print")
    settle(page)
    assert not page.locator("form.controls").is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    for plot in ("curves", "rows", "gains"):
        assert page.locator(f"#{plot} .xtitle").evaluate("(one) => getComputedStyle(one).fill") == "rgb(0, 0, 0)"
    on_paper = page.locator(".plot").evaluate_all(SIZES)
    assert all(size[:2] == size[2:] and size[0] <= 700 for size in on_paper)
    page.emulate_media(media="screen")
    settle(page)
    on_screen = page.locator(".plot").evaluate_all(SIZES)
    assert on_screen[2][0] > 1000
    assert_allclose([size[:2] for size in on_screen], [size[2:] for size in on_screen], atol=1)
    page.context.close()


def test_no_table_has_to_be_scrolled_on_a_desk(seen: Seen) -> None:
    wide = seen.page.locator(".wide").evaluate_all("(all) => all.map((one) => [one.scrollWidth, one.clientWidth])")
    assert len(wide) == 5
    assert [pair for pair in wide if pair[0] > pair[1]] == []


def test_the_buttons_of_a_plot_cover_nothing_and_send_nothing(seen: Seen) -> None:
    page = seen.page
    page.wait_for_selector("#gains .main-svg")
    for plot in page.locator(".plot").all():
        buttons = plot.locator(".modebar-btn")
        assert len(buttons.all()) == 6
        assert [
            title for title in buttons.evaluate_all("(all) => all.map((b) => b.dataset.title)") if "hare" in title
        ] == []
        left = plot.locator(".modebar").bounding_box()["x"]
        for part in (".legend", ".plotbg, .bglayer", ".xtitle"):
            box = plot.locator(part).first.bounding_box()
            assert box["x"] + box["width"] <= left
        buttons.first.focus()
        page.keyboard.press("Tab")
        assert plot.locator(".modebar").evaluate("(one) => getComputedStyle(one).opacity") == "1"


def test_a_phone_shows_no_buttons_over_its_plots(browser: Any, report: Report) -> None:
    found = opened(browser, report.url, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    found.page.wait_for_selector("#gains .main-svg")
    assert found.page.locator(".modebar-btn").count() == 0
    assert found.errors == []
    found.page.context.close()


def test_models_with_other_predictions_are_shown_one_at_a_time(browser: Any, tmp_path: Path) -> None:
    found = models()
    shifted = {
        name: ucc.Intervals.from_bands(iv.y_true, iv.y_pred + 0.1 * i, iv.lower_band)
        for i, (name, iv) in enumerate(found.items())
    }
    (tmp_path / "r.html").write_text(ucc.assess(shifted, n_resamples=49, n_permutations=49).to_html())
    seen = opened(browser, (tmp_path / "r.html").as_uri())
    shown = (
        "document.getElementById('curves').data.filter((t) => t.visible && t.showlegend !== false).map((t) => t.name)"
    )
    assert seen.page.evaluate(shown) == ["follows", "constant band of follows", "equal cost"]
    seen.page.get_by_label("Model", exact=True).select_option(label="flat")
    settle(seen.page)
    assert seen.page.evaluate(shown) == ["flat", "constant band of flat", "equal cost"]
    assert seen.errors == []
    seen.page.context.close()
