"""The page, the terminal and the figures look as they were accepted; see `pictured`."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pictured import CASES, NOTICED, TOLERATED, accepted, changed, open_browser, reduced

pytest.importorskip("playwright.sync_api")


@pytest.fixture(scope="module")
def drawing(chromium: str) -> Iterator[Any]:
    """The browser that draws the pictures."""
    if shutil.which("pdftoppm") is None:
        pytest.skip("no pdftoppm on the PATH")
    assert chromium
    with open_browser() as opened:
        yield opened


@pytest.mark.browser
@pytest.mark.ci
@pytest.mark.parametrize("name", CASES)
def test_a_picture_is_as_it_was_accepted(drawing: Any, name: str) -> None:
    with Image.open(accepted(name)) as known:
        share = changed(CASES[name](drawing), known)
    assert share <= TOLERATED, f"look at it, then: make pictures ARGS='--accept {name}'"


def test_there_are_accepted_pictures_of_all_cases_and_no_others() -> None:
    assert {path.stem for path in accepted("any").parent.glob("*.png")} == {*CASES}
    assert len(CASES) >= 20
    assert sum(accepted(name).stat().st_size for name in CASES) < 1_500_000


def page(seed: int = 0) -> Image.Image:
    """A picture with words of noise."""
    pixels = np.full((600, 900, 3), 255, np.uint8)
    pixels[100:130, 90:420] = np.random.default_rng(seed).integers(0, 255, (30, 330, 1))
    return Image.fromarray(pixels)


def test_edges_that_are_smoothed_otherwise_are_no_change_and_a_moved_word_is_one() -> None:
    picture = page()
    known = reduced(picture)
    assert changed(picture, known) <= TOLERATED
    softer = np.asarray(picture).astype(int)
    softer = np.clip(softer + np.random.default_rng(1).integers(-20, 21, softer.shape), 0, 255)
    assert changed(Image.fromarray(softer.astype(np.uint8)), known) <= TOLERATED
    moved = Image.fromarray(np.roll(np.asarray(picture), 12, axis=0))
    assert changed(moved, known) > TOLERATED
    assert changed(picture.resize((900, 640)), known) == 1
    assert NOTICED < 64
