"""Models of several levels in an assessment: what each level covers, where observations fall, and their WIS."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy import stats

import uccurve as ucc
from model_rows import assessment, row
from uccurve.assess.levels import best_factor, pit, wis_rows
from uccurve.evidence.units import Blocks
from uccurve.points import Estimate
from uccurve.results import PIT
from uccurve.view import pit_finding
from uccurve.words.columns import PIT_SHAPE

Array = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.95)


def normal_levels(y: Array, mean: Array, std: Array) -> dict[float, ucc.Intervals]:
    """Intervals of a normal distribution."""
    return {
        level: ucc.Intervals.from_bands(y, mean, std * stats.norm.ppf((1 + level) / 2))
        for level in LEVELS
    }


def skewed(seed: int, n: int = 400, weight: bool = False) -> dict[float, ucc.Intervals]:
    """Nested asymmetric intervals with weights and tied observations."""
    rng = np.random.default_rng(seed)
    y, mean = np.round(rng.gamma(2, 2, n), 1), np.full(n, 3.0)
    bands = (
        np.cumsum(rng.uniform(0.1, 2, (3, n)), axis=0),
        np.cumsum(rng.uniform(0.1, 3, (3, n)), axis=0),
    )
    weights = rng.uniform(0, 2, n) if weight else None
    return {
        level: ucc.Intervals.from_bands(y, mean, low, high, weight=weights)
        for level, low, high in zip(LEVELS, *bands, strict=True)
    }


@pytest.mark.parametrize("weight", [False, True])
def test_a_level_is_assessed_as_its_own_interval_would_be(weight: bool) -> None:
    levels = skewed(1, weight=weight)
    row = ucc.assess(levels_model := {"m": levels}, coverage=0.8)["m"]
    assert [one.level for one in row.levels] == sorted(levels_model["m"])
    for one in row.levels:
        alone = ucc.assess(levels[one.level], coverage=one.level).rows[0]
        for field in ("coverage", "promise", "missed_above", "missed_below"):
            assert getattr(one, field) == getattr(alone, field), field
        assert one.scale == alone.scale
        assert one.half_width == pytest.approx(alone.delivered.bandwidth, rel=1e-14)


def test_a_level_that_is_too_narrow_is_named() -> None:
    rng = np.random.default_rng(2)
    n = 3000
    levels = normal_levels(rng.standard_t(3, n), np.zeros(n), np.ones(n) * 1.15)
    found = ucc.assess({"normal": levels}, coverage=0.8)
    promises = {one.level: one.promise for one in found["normal"].levels}
    assert promises[0.95] == "too narrow"
    assert "too narrow at 80% and 95%" in found.verdict.text
    assert "95%" in str(found)
    assert "too narrow" in str(found)


def test_blocks_widen_the_interval_of_each_level() -> None:
    rng = np.random.default_rng(3)
    n, block = 600, np.arange(600) // 20
    y = np.repeat(rng.normal(size=30), 20) + 0.1 * rng.normal(size=n)
    levels = normal_levels(y, np.zeros(n), np.ones(n))
    free, dependent = (
        ucc.assess({"m": levels}, block=given)["m"].levels for given in (None, block)
    )
    for one, two in zip(free, dependent, strict=True):
        width, wider = (level.coverage.high - level.coverage.low for level in (one, two))
        assert wider > 1.5 * width


def test_the_pit_counts_observations_between_quantiles() -> None:
    y = [-9.0, -1.5, -0.5, 0.0, 0.5, 0.6, 1.5, 9.0]
    inner, outer = (ucc.Intervals.from_bands(y, [0.0] * 8, [band] * 8) for band in (1.0, 2.0))
    found = pit({0.5: inner, 0.9: outer}, Blocks.of(inner), 0.95)
    assert_allclose(found.edges, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1])
    counts = np.array([share.value for share in found.density]) * np.diff(found.edges) * 8
    assert_allclose(
        counts, [1, 1, 1.5, 2.5, 1, 1]
    )  # 0.0 lies on the median and counts half on either side


def test_the_pit_of_a_calibrated_model_is_flat_within_its_band_in_95_percent_of_samples() -> None:
    rng = np.random.default_rng(20240717)
    flat = 0
    for _ in range(300):
        std = rng.uniform(0.5, 2, 200)
        levels = normal_levels(std * rng.normal(size=200), np.zeros(200), std)
        flat += pit(levels, Blocks.of(levels[0.5]), 0.95).is_flat
    assert flat / 300 >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 300)


def test_the_pit_of_overconfident_intervals_is_not_flat() -> None:
    rng = np.random.default_rng(5)
    levels = normal_levels(rng.normal(size=500), np.zeros(500), np.full(500, 0.6))
    found = ucc.assess({"m": levels})["m"].pit
    assert isinstance(found, PIT)
    assert not found.is_flat
    for outermost in (found.density[0], found.density[-1]):
        assert outermost.value > outermost.high


@pytest.mark.parametrize("weight", [False, True])
def test_wis_is_that_of_the_score_function_and_its_parts_add_up(weight: bool) -> None:
    levels = skewed(6, weight=weight)
    row = ucc.assess({"m": levels}, coverage=0.9)["m"]
    first = levels[0.5]
    lower, upper = (
        np.stack([getattr(levels[level], side) for level in LEVELS], axis=1)
        for side in ("lower", "upper")
    )
    expected = ucc.wis_score(
        first.y_true,
        first.y_pred,
        lower,
        upper,
        levels=LEVELS,
        sample_weight=first.weight if weight else None,
    )
    found = row.wis
    assert found is not None
    assert float(found) == pytest.approx(expected, rel=1e-12)
    assert found.score.value == pytest.approx(
        found.dispersion + found.underprediction + found.overprediction, rel=1e-12
    )
    assert found.score.low < found.score.value < found.score.high


@pytest.mark.parametrize("weight", [False, True])
def test_the_potential_wis_has_each_level_at_its_best_factor(weight: bool) -> None:
    levels = skewed(7, weight=weight)
    row = ucc.assess({"m": levels}, coverage=0.9)["m"]
    best = {}
    for level, iv in levels.items():
        alpha = 1 - level
        cheapest = ucc.UCC(iv).cheapest(alpha / (1 + alpha), axes=("bandwidth", "deficit"))
        best[level] = cheapest.scale
    for level, iv in levels.items():
        path: Any = ucc.UCC(iv).path()
        assert best_factor(path, 1 - level) == pytest.approx(best[level], rel=1e-12)
    scaled = {level: iv.calibrated(scale=best[level]) for level, iv in levels.items()}
    rows = wis_rows(scaled).score
    carrying = levels[0.5].weight > 0
    assert row.wis is not None
    assert row.wis.potential == pytest.approx(
        np.average(rows, weights=levels[0.5].weight[carrying]), rel=1e-10
    )
    assert row.wis.potential <= row.wis.score.value


def test_pairs_are_tested_on_wis_where_all_models_have_the_same_levels() -> None:
    rng = np.random.default_rng(8)
    n = 500
    std = rng.uniform(0.5, 3, n)
    y = std * rng.normal(size=n)
    sharp, flat = normal_levels(y, np.zeros(n), std), normal_levels(y, np.zeros(n), np.full(n, 1.8))
    found = ucc.assess({"sharp": sharp, "flat": flat}, coverage=0.8)
    (pair,) = found.wis_comparisons
    difference = wis_rows(sharp).score - wis_rows(flat).score
    expected = stats.ttest_1samp(difference, 0)
    assert (pair.statistic, pair.better) == ("wis", "sharp")
    assert pair.difference.value == pytest.approx(difference.mean(), rel=1e-12)
    assert pair.pvalue == pytest.approx(expected.pvalue, rel=1e-8)
    assert ucc.assess({"sharp": sharp, "flat": flat[0.8]}, coverage=0.8).wis_comparisons == ()


def test_a_note_says_whether_own_levels_or_multiples_of_one_do_better() -> None:
    rng = np.random.default_rng(9)
    n = 2000
    y, mean = rng.exponential(1, n), np.full(n, np.log(2))
    own = {
        level: ucc.Intervals.from_bounds(
            y,
            mean,
            np.full(n, stats.expon.ppf((1 - level) / 2)),
            np.full(n, stats.expon.ppf((1 + level) / 2)),
        )
        for level in (0.2, 0.5, 0.8, 0.95)
    }
    notes = ucc.assess({"m": own}, coverage=0.95).notes
    assert any(
        "its own levels do better than multiples of its 95% interval" in note for note in notes
    )


def test_one_row_per_model_whatever_its_levels_and_all_of_it_in_json() -> None:
    found = ucc.assess({"many": skewed(10), "one": skewed(10)[0.8]}, coverage=0.8)
    assert [row.name for row in found.rows] == ["many", "one"]
    assert found["one"].levels == ()
    assert found["one"].wis is None
    data = json.loads(found.to_json())["models"]["many"]
    assert [one["level"] for one in data["levels"]] == list(LEVELS)
    assert len(data["pit"]["density"]) == 2 * len(LEVELS) + 2
    assert pl.DataFrame(found["many"].levels)["level"].to_list() == list(LEVELS)
    assert "levels" not in found.to_frame("polars").columns


def test_a_histogram_within_its_band_is_no_evidence_and_not_called_flat() -> None:
    inside = PIT((0.0, 0.5, 1.0), (Estimate(1.0, 0.9, 1.1), Estimate(1.0, 0.9, 1.1)))
    outside = PIT((0.0, 0.5, 1.0), (Estimate(0.5, 0.9, 1.1), Estimate(1.5, 0.9, 1.1)))
    rows = [row("a", pit=inside), row("b", pit=outside), row("c", pit=None)]
    assert [PIT_SHAPE.read(one) for one in rows] == ["no evidence", "not flat", None]
    told = [pit_finding(assessment([one])) for one in rows[:2]]
    assert told == [
        "The PIT histogram is not shown to be uneven",
        "The PIT histogram is not flat",
    ]
    assert pit_finding(assessment(rows)) == "1 of 2 PIT histograms is shown to be uneven"


def test_pictures_show_levels_and_pit() -> None:
    found = ucc.assess({"many": skewed(11), "one": skewed(11)[0.8]}, coverage=0.8)
    (ax,) = found.plot("calibration").axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["many"]
    (ax,) = found.plot("pit").axes
    row = found["many"].pit
    assert row is not None
    assert_allclose(
        [bar.get_height() for bar in ax.patches], [share.value for share in row.density]
    )
    with pytest.raises(ValueError, match="no model has several levels"):
        ucc.assess(skewed(11)[0.8]).plot("pit")


def test_pictures_of_levels_are_drawn_where_they_are_asked_to_be() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    found = ucc.assess(
        {"m": skewed(11), "n": {level: iv.calibrated(scale=2) for level, iv in skewed(11).items()}}
    )
    row = found.ranking[0]
    assert row.pit is not None
    figure, (left, right) = plt.subplots(1, 2)
    assert found.plot("calibration", ax=left) is figure
    assert ucc.plots.assessment(found, "pit", ax=right) is figure
    assert figure.axes == [left, right]
    assert left.get_xlabel() == "level, %"
    heights = [share.value for share in row.pit.density]
    assert_allclose([bar.get_height() for bar in right.patches], heights)
    with pytest.raises(ValueError, match="`ax` takes one panel of an assessment"):
        found.plot(ax=left)


def test_the_page_shows_levels_and_pit() -> None:
    page = ucc.assess({"many": skewed(12), "one": skewed(12)[0.8]}, coverage=0.8).to_html()
    assert "Coverage by level" in page
    assert page.count('class="pit"') == 1
    assert "Weighted interval score" in page
