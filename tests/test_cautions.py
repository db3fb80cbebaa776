"""What a reader must know before trusting the numbers, and what could not be tested."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve.assess.cautions import carrying_blocks
from uccurve.evidence.units import Blocks


def noted(found: ucc.Assessment, words: str) -> list[str]:
    """The notes that contain these words."""
    return [note for note in found.notes if words in note]


def of_blocks(size_of_last: float, blocks: int = 60) -> tuple[ucc.Intervals, npt.NDArray[np.str_]]:
    """Blocks of five rows, the last of which is larger than the others."""
    rng = np.random.default_rng(0)
    size = np.where(np.arange(5 * blocks) >= 5 * (blocks - 1), size_of_last, 1.0)
    y = size * rng.normal(size=5 * blocks)
    countries = [f"country {number}" for number in range(blocks)]
    return ucc.Intervals.from_bands(y, 0 * y, 1.6 * size), np.repeat(countries, 5)


def test_a_score_that_one_block_carries_is_noted_with_its_name() -> None:
    iv, country = of_blocks(200.0)
    (note,) = noted(ucc.assess(iv, coverage=0.9, block=country), "more than half of the score")
    assert note.startswith("model: 1 of 60 blocks (country 59) carries more than half")
    assert "unit=" in note
    even, country = of_blocks(1.0)
    assert not noted(ucc.assess(even, coverage=0.9, block=country), "more than half of the score")


def test_a_score_that_one_series_carries_is_noted_where_blocks_are_dates() -> None:
    iv, country = of_blocks(200.0)
    date = np.arange(len(country)) % 5
    (note,) = noted(
        ucc.assess(iv, coverage=0.9, block=date, series=pd.Series(country, name="country_id")),
        "more than half of the score",
    )
    assert note.startswith("model: 1 of 60 series (country_id country 59) carries more than half")
    size = np.where(country == "country 59", 200.0, 1.0)
    divided = ucc.assess(iv, coverage=0.9, block=date, series=country, unit=size)
    assert not noted(divided, "more than half of the score")
    even, country = of_blocks(1.0)
    found = ucc.assess(even, coverage=0.9, block=date, series=country)
    assert not noted(found, "more than half of the score")


def test_a_unit_per_row_takes_that_note_away_and_changes_no_factor() -> None:
    iv, country = of_blocks(200.0)
    size = np.where(country == "country 59", 200.0, 1.0)
    raw = ucc.assess(iv, coverage=0.9, block=country)
    divided = ucc.assess(iv, coverage=0.9, block=country, unit=size)
    assert not noted(divided, "more than half of the score")
    assert divided.rows[0].scale == raw.rows[0].scale
    assert divided.rows[0].coverage == raw.rows[0].coverage
    k = divided.rows[0].scale.value
    width = 2 * k * 1.6
    outside = np.maximum(np.abs(iv.y_true) / size - k * 1.6, 0)
    assert_allclose(divided.rows[0].score.value, np.mean(width + 20 * outside), rtol=1e-12)


def test_three_rows_that_carry_a_score_are_noted_too() -> None:
    rng = np.random.default_rng(1)
    size = np.where(np.arange(300) < 2, 900.0, 1.0)
    y = size * rng.normal(size=300)
    found = ucc.assess(ucc.Intervals.from_bands(y, 0 * y, size), coverage=0.9)
    (note,) = noted(found, "more than half of the score")
    assert note.startswith(("model: 1 of 300 rows carries", "model: 2 of 300 rows carry"))


def test_carrying_takes_fewer_than_5_percent_of_blocks_and_at_most_three() -> None:
    iv, _ = of_blocks(1.0)
    blocks = Blocks.of(iv, 5)
    scores = np.ones(300)
    assert carrying_blocks(blocks.sums(scores)) == ()
    scores[[7, 100]] = 300.0, 200.0
    assert carrying_blocks(blocks.sums(scores)) == [1, 20]
    four = np.ones(300)
    four[[7, 100, 150, 200]] = 300.0
    assert carrying_blocks(blocks.sums(four)) == ()
    few = Blocks.of(iv, 10)  # 30 blocks: two are more than 5%
    assert carrying_blocks(few.sums(scores)) == ()


def test_observations_on_bounds_are_noted_with_the_coverage_open_and_closed() -> None:
    y = np.tile([0.0, 1.0, 2.0, 3.0], 50)
    iv = ucc.Intervals.from_bands(y, np.full(200, 1.0), np.full(200, 1.0))
    (note,) = noted(ucc.assess(iv, coverage=0.75), "exactly on a bound")
    assert "50.0% of the observations" in note
    assert "75.0% with the bounds counted as inside and 25.0% without" in note
    apart = ucc.Intervals.from_bands(y, np.full(200, 1.0), np.full(200, 1.1))
    assert not noted(ucc.assess(apart, coverage=0.75), "exactly on a bound")


def test_bands_raised_in_more_than_5_percent_of_rows_are_a_choice_that_numbers_depend_on() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=200)
    for zeros, warned in ((6, False), (20, True)):
        band = np.where(np.arange(200) < zeros, 0.0, 1.5)
        iv = ucc.Intervals.from_bounds(y, 0 * y, -1.5 + 0 * y, band, min_band=0.5)
        (note,) = noted(ucc.assess(iv, coverage=0.9), "raised by min_band")
        assert ("depend on that choice" in note) == warned


def test_rows_that_repeat_are_noted_with_what_would_help() -> None:
    rng = np.random.default_rng(3)
    y, band = rng.normal(size=200), rng.uniform(1, 2, 200)
    twice = ucc.Intervals.from_bands(np.tile(y, 2), np.zeros(400), np.tile(band, 2))
    (note,) = noted(ucc.assess(twice, coverage=0.9), "rows=")
    assert "block=" in note
    once = ucc.Intervals.from_bands(y, np.zeros(200), band)
    assert not noted(ucc.assess(once, coverage=0.9), "rows=")
    assert not noted(ucc.assess(twice, coverage=0.9, block=np.tile(np.arange(200), 2)), "rows=")


def test_bands_that_miss_where_they_are_narrow_are_noted() -> None:
    rng = np.random.default_rng(4)
    sigma = rng.lognormal(0, 0.5, 3000)
    y = sigma * rng.normal(size=3000)
    exaggerated = ucc.Intervals.from_bands(y, 0 * y, sigma**1.7)
    found = ucc.assess(exaggerated, coverage=0.9)
    (note,) = noted(found, "miss where they are narrow")
    parts = found.rows[0].decomposition
    assert f"{100 * parts.slack / parts.best:.1f}%"[:3] in note
    assert not noted(ucc.assess(ucc.Intervals.from_bands(y, 0 * y, sigma), coverage=0.9), "narrow")


def test_intervals_without_a_prediction_are_judged_around_their_middle_and_that_is_said() -> None:
    rng = np.random.default_rng(5)
    y = rng.normal(size=100)
    iv = ucc.Intervals.from_bounds(y, None, -1.5 + 0 * y, 1.5 + 0 * y)
    assert noted(ucc.assess(iv, coverage=0.9), "judged around their middle")


def test_segments_that_are_a_single_block_are_shown_counted_and_not_tested() -> None:
    rng = np.random.default_rng(6)
    site = np.repeat(["north", "south", "west"], 100)
    y = rng.normal(size=300) * np.where(site == "west", 3, 1)
    iv = ucc.Intervals.from_bands(y, 0 * y, np.full(300, 1.6))
    found = ucc.assess(iv, coverage=0.9, by=site, block=site)
    assert [segment.is_tested for segment in found.segments] == [False] * 3
    assert not found.failing
    (untested,) = [text for text in found.not_tested if "segment" in text]
    assert untested == "3 of 3 segments, each a single block (north, south and west)"
    assert untested in found.verdict.text


def test_pairs_that_nothing_tests_are_counted_and_tied() -> None:
    """No row of the wide model is missed as it ships, so that nothing is known of its score."""
    y = np.linspace(-1, 1, 12)
    given = {
        "narrow": ucc.Intervals.from_bands(y, 0 * y, np.full(12, 0.8)),
        "wide": ucc.Intervals.from_bands(y, 0 * y, np.abs(y) + 0.2),
    }
    found = ucc.assess(given, coverage=0.9)
    assert not found.comparisons[0].is_tested
    assert not found.verdict.decided
    assert len(found.verdict.tied) == 1
    assert "1 of 1 pair" in found.verdict.text


def test_blocks_are_named_after_the_column_that_they_come_from() -> None:
    pandas = pytest.importorskip("pandas")
    iv, country = of_blocks(1.0)
    found = ucc.assess(iv, coverage=0.9, block=pandas.Series(country, name="country"))
    assert found.settings.block == "60 blocks by country"


def test_few_blocks_are_weak_evidence() -> None:
    iv, _ = of_blocks(1.0)
    assert noted(ucc.assess(iv, coverage=0.9, block=np.arange(300) // 75), "4 blocks")


def test_counts_beside_one_quantile_repeat_by_chance_and_are_not_noted() -> None:
    rng = np.random.default_rng(0)
    demand = rng.poisson(30, 400)
    one = ucc.Intervals.from_quantile(demand, np.full(400, 40), level=0.9)
    assert not [note for note in ucc.assess(one).notes if "repeat" in note]
    y = rng.normal(size=200)
    twice = ucc.Intervals.from_quantile(np.tile(y, 2), np.full(400, 1.3), level=0.9)
    assert [note for note in ucc.assess(twice).notes if "repeat" in note]
