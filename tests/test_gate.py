"""A gate keeps its false-alarm rate, finds what is worse, and says so in text, Markdown and JSON."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve import Intervals
from uccurve.gate import SavedScore, gate

Z90 = 1.6448536269514722


def two_models(
    seed: int, n: int = 300, *, worse: float = 1.0
) -> tuple[Intervals, Intervals, list[str]]:
    """Two equally good models of the same rows, off centre in opposite ways, and a label; `worse` spoils the second."""
    rng = np.random.default_rng(seed)
    size = np.exp(0.5 * rng.normal(size=n))
    y = rng.normal(size=n) * size
    noise = 0.3 * rng.normal(size=(2, n)) * size
    total = np.sqrt(1 + 0.3**2)  # what the noise of the prediction adds to the error
    old, new = (
        Intervals.from_bands(y, noise[i], Z90 * total * size * factor)
        for i, factor in ((0, 1.0), (1, worse))
    )
    return old, new, [str(label) for label in rng.choice(["a", "b", "c"], n)]


def test_equally_good_models_fail_no_more_often_than_asked() -> None:
    alarms = 0
    for seed in range(200):
        old, new, by = two_models(seed)
        alarms += not gate(old, new, coverage=0.9, by=by, level=0.1).passed
    assert scipy.stats.binom.sf(alarms - 1, 200, 0.1) > 0.01
    assert alarms > 0  # a level that is never used would be no test


def test_dependent_rows_cause_no_more_false_alarms_where_blocks_are_named() -> None:
    alarms = {"block": 0, "none": 0}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        day = np.repeat(np.arange(40), 10)
        common, own = rng.normal(size=(2, 40))[:, day], rng.normal(size=(2, 400))
        y = np.sqrt(0.6) * common[0] + np.sqrt(0.4) * own[0]
        other = 0.2 * (np.sqrt(0.6) * common[1] + np.sqrt(0.4) * own[1])
        old = Intervals.from_bands(y, np.zeros(400), np.full(400, Z90))
        new = Intervals.from_bands(y, other, np.full(400, Z90 * np.sqrt(1.04)))
        better = Intervals.from_bands(y, -other, np.full(400, Z90 * np.sqrt(1.04)))
        assert len(old) == len(new)
        alarms["block"] += not gate(better, new, coverage=0.9, block=day).passed
        alarms["none"] += not gate(better, new, coverage=0.9).passed
    assert scipy.stats.binom.sf(alarms["block"] - 1, 150, 0.05) > 0.005
    assert alarms["none"] > 2 * alarms["block"]


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda iv: iv, set()),
        (lambda iv: iv.calibrated(scale=0.1), {"coverage", "score", "coverage, a", "coverage, b"}),
        (lambda iv: iv.calibrated(scale=3.0), {"score"}),
        (lambda iv: iv.calibrated(scale=1.01), set()),
        (lambda iv: iv.constant().calibrated(scale=1.6), {"score"}),
    ],
)
def test_what_is_worse_is_found_and_what_is_not_passes(
    change: Callable[[Intervals], Intervals], failed: set[str]
) -> None:
    old, _, by = two_models(3, n=2000)
    labels = ["a" if one == "c" else one for one in by]
    found = gate(old, change(old), coverage=0.9, by=labels)
    names = {
        one.statistic if one.segment is None else f"{one.statistic}, {one.segment}"
        for one in found.checks
        if not one.passed
    }
    assert names == failed
    assert found.passed == (not failed)


def test_numbers_are_those_of_the_scores() -> None:
    old, new, _ = two_models(5, worse=1.2)
    coverage, score = gate(old, new, coverage=0.9).checks
    assert_allclose(coverage.value, ucc.coverage_score(new.y_true, new.lower, new.upper))
    assert_allclose(score.value, ucc.interval_score(new.y_true, new.lower, new.upper, coverage=0.9))
    assert_allclose(
        score.reference, ucc.interval_score(old.y_true, old.lower, old.upper, coverage=0.9)
    )
    rows = [
        2 * (iv.lower_band + iv.upper_band) / 2
        + 20 * (np.maximum(iv.lower - iv.y_true, 0) + np.maximum(iv.y_true - iv.upper, 0))
        for iv in (old, new)
    ]
    change = rows[1] - rows[0]
    error = change.std(ddof=1) / len(change) ** 0.5
    scipy = pytest.importorskip("scipy.stats")
    degrees = np.sum((old.y_true < old.lower) | (old.y_true > old.upper)) - 1  # rows with a miss
    assert_allclose(score.pvalue, scipy.t.sf(change.mean() / error, degrees), rtol=1e-9)
    reach = scipy.t.ppf(0.975, degrees) * error
    assert_allclose(
        (score.difference.low, score.difference.value, score.difference.high),
        (change.mean() - reach, change.mean(), change.mean() + reach),
        rtol=1e-9,
    )
    assert_allclose(
        coverage.pvalue, scipy.binom.cdf(round(coverage.value * 300), 300, 0.9), rtol=1e-9
    )


def test_a_margin_allows_what_it_says() -> None:
    old, _, _ = two_models(7, n=3000)
    wide = old.calibrated(scale=1.3)
    excess = gate(old, wide, coverage=0.9).checks[1]
    assert not excess.passed
    change = excess.difference.value
    share = change / excess.reference
    for margin in (change * 1.3, f"{130 * share:.3f}%"):
        assert gate(old, wide, coverage=0.9, margin=margin).passed
    for margin in (change * 0.3, f"{30 * share:.3f}%"):
        assert not gate(old, wide, coverage=0.9, margin=margin).passed


def test_weights_count_rows_as_often_as_they_say() -> None:
    old, new, _ = two_models(9, n=200, worse=1.3)
    weight = np.array([1, 3] * 100)
    columns = [(iv.y_true, iv.y_pred, iv.lower_band) for iv in (old, new)]
    weighted = gate(
        *(Intervals.from_bands(*one, weight=weight) for one in columns), coverage=0.9
    ).checks
    repeated = gate(
        *(Intervals.from_bands(*(np.repeat(part, weight) for part in one)) for one in columns),
        coverage=0.9,
    ).checks
    for one, other in zip(weighted, repeated, strict=True):
        assert_allclose(
            [one.value, one.reference, one.difference.value],
            [other.value, other.reference, other.difference.value],
        )


def test_levels_are_judged_by_the_interval_of_the_promise() -> None:
    old, new, _ = two_models(11)
    levels = [{0.5: iv.calibrated(scale=0.41), 0.9: iv} for iv in (old, new)]
    assert gate(*levels, coverage=0.9).to_dict() == gate(old, new, coverage=0.9).to_dict()


def test_a_saved_assessment_is_a_baseline_without_pairs() -> None:
    old, new, _ = two_models(13, n=1000)
    saved = json.loads(ucc.assess({"old": old}, coverage=0.9).to_json())
    baseline = SavedScore.of(saved, coverage=0.9)
    assert_allclose(
        baseline.score, ucc.interval_score(old.y_true, old.lower, old.upper, coverage=0.9)
    )
    found = gate(baseline, new, coverage=0.9)
    paired = gate(old, new, coverage=0.9)
    assert found.passed
    assert not found.paired
    assert "not compared row by row" in found.notes[0]
    differences = [outcome.checks[1].difference for outcome in (found, paired)]
    widths = [difference.high - difference.low for difference in differences]
    assert widths[0] > 2 * widths[1]
    assert not gate(baseline, new.calibrated(scale=0.1), coverage=0.9).passed
    assert not gate(baseline, new.calibrated(scale=3), coverage=0.9).passed
    with pytest.raises(
        ValueError, match=r"the saved assessment is for a coverage of 0\.9, the gate for 0\.8"
    ):
        SavedScore.of(saved, coverage=0.8)
    with pytest.raises(ValueError, match="no model 'new' is in the saved assessment"):
        SavedScore.of(saved, coverage=0.9, name="new")
    with pytest.raises(ValueError, match="the saved assessment holds no models"):
        SavedScore.of({"models": {}}, coverage=0.9)
    several = json.loads(ucc.assess({"old": old, "new": new}, coverage=0.9).to_json())
    with pytest.raises(ValueError, match=r"several models \(old, new\): which is the baseline\?"):
        SavedScore.of(several, coverage=0.9)
    assert SavedScore.of(several, coverage=0.9, name="old") == baseline


def test_a_segment_of_one_block_is_not_tested_and_that_is_said() -> None:
    old, new, _ = two_models(15, n=100)
    day = np.repeat(np.arange(10), 10)
    found = gate(old, new, coverage=0.9, block=day, by=np.where(day == 0, "first", "rest").tolist())
    assert "1 segment is a single block and could not be tested, first first" in found.notes
    assert "not tested" in found.to_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"coverage": 90}, r"`coverage` must lie between 0 and 1"),
        ({"level": 0}, r"`level` must lie between 0 and 1"),
        ({"margin": -1}, r"`margin` must be a number of at least 0"),
        ({"margin": "much"}, r"`margin` must be a number of at least 0"),
        ({"margin": "x%"}, r"`margin` must be a number of at least 0"),
        ({"names": ("a", "a")}, r"`names` must be different"),
        ({"block": 300}, r"a gate needs at least two blocks"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], sentence: str) -> None:
    old, new, _ = two_models(0)
    with pytest.raises(ValueError, match=sentence):
        gate(old, new, **{"coverage": 0.9, **options})


def test_other_rows_are_refused() -> None:
    old, new, _ = two_models(0)
    with pytest.raises(ValueError, match="must have the same y_true"):
        gate(old, new[::-1], coverage=0.9)


def test_names_cannot_become_markup() -> None:
    old, new, _ = two_models(0)
    hostile = "<img src=x> @everyone |a| [b](c) `d` *e*"
    text = gate(old, new, coverage=0.9, names=("old", hostile), by=[hostile] * 300).to_markdown()
    for markup in ("<img", "@everyone", "](c)", "|a|", "`d`"):
        assert markup not in text.replace(r"\|a\|", "").replace(r"\`d\`", "")
    assert r"\[b\]\(c\)" in text


def covering(width: float, n: int = 300) -> Intervals:
    """Bands so wide that they cover every row."""
    rng = np.random.default_rng(21)
    y = rng.normal(size=n)
    return Intervals.from_bands(y, np.zeros(n), width * rng.uniform(8, 9, n))


def test_a_score_that_could_not_be_tested_is_no_pass() -> None:
    old = covering(1)
    missing_once = Intervals.from_bands(
        old.y_true, old.y_pred, np.where(np.arange(300) == 0, 1e-3, old.lower_band)
    )
    found = gate(missing_once, old.calibrated(scale=10), coverage=0.9)
    assert not found.checks[1].is_tested
    assert not found.passed
    assert found.headline == "Gate failed: the score could not be tested (fewer than two misses)."
    assert [line[:4] for line in found.to_text().splitlines()[1:3]] == ["ok  ", "FAIL"]
    assert "misses fewer than two rows (or blocks); allow_unclear passes" in found.notes[0]
    allowed = gate(missing_once, old.calibrated(scale=10), coverage=0.9, allow_unclear=True)
    assert allowed.passed
    assert (
        allowed.headline == "Gate passed: proposed may replace baseline (2 checks, 1 not tested)."
    )
    tight = covering(0.5)
    worse = gate(tight, tight.calibrated(scale=1e-3), coverage=0.9)
    assert worse.headline == (
        "Gate failed: 2 of 2 checks, 1 not tested; the score could not be tested (fewer than two misses)."
    )


def test_a_score_below_that_of_a_baseline_without_misses_needs_no_test() -> None:
    old = covering(1, 1000)
    new = Intervals.from_bands(old.y_true, old.y_pred, np.full(1000, 1.72))
    found = gate(old, new, coverage=0.9)
    assert not found.checks[1].is_tested
    assert found.checks[1].value < found.checks[1].reference
    assert found.passed
    assert found.headline == "Gate passed: proposed may replace baseline (2 checks, 1 not tested)."
    once = np.where(np.arange(1000) == 0, 0.0, old.lower_band)
    assert not gate(
        old, Intervals.from_bands(old.y_true, old.y_pred, 0.99 * once), coverage=0.9
    ).passed


def test_widths_are_compared_where_nothing_is_missed() -> None:
    old = covering(1)
    score = gate(old, old.calibrated(scale=10), coverage=0.9).checks[1]
    assert score.is_tested
    assert not score.passed
    widths = 9 * (old.lower_band + old.upper_band)
    error = widths.std(ddof=1) / 300**0.5
    assert_allclose(score.difference.value, widths.mean(), rtol=1e-9)
    reach = scipy.stats.t.ppf(0.975, 299) * error
    assert_allclose(score.difference.high, widths.mean() + reach, rtol=1e-9)
    assert gate(old, old.calibrated(scale=0.9), coverage=0.9).passed
    assert gate(old, old, coverage=0.9).passed


def test_widths_decide_only_where_both_are_shown_to_cover_too_much() -> None:
    few = covering(1, 20)  # as many rows are all covered at 90% in one of eight samples
    assert not gate(few, few.calibrated(scale=1.1), coverage=0.9).checks[1].is_tested


def test_rows_that_one_model_lacks_are_told() -> None:
    old, new, by = two_models(17, n=400)
    by = ["rare" if row < 5 else by[row] for row in range(400)]
    lower = new.lower.copy()
    lower[:25] = np.nan
    with pytest.warns(ucc.DroppedRowsWarning):
        fewer = Intervals.from_bounds(new.y_true, new.y_pred, lower, new.upper, missing="drop")
    with pytest.raises(ValueError, match=r"of 400, baseline lacks 0 and proposed lacks 25"):
        gate(old, fewer, coverage=0.9, by=by)
    found = gate(old, fewer, coverage=0.9, by=by, missing="drop")
    told = "Dropped: 25 of 400 rows (proposed lacks 25). No rows are left of rare."
    assert found.to_text().splitlines()[1] == told
    escaped = told.replace("(", r"\(").replace(")", r"\)")
    assert found.to_markdown().splitlines()[2] == escaped
    assert found.to_dict()["missing"] == {
        "dropped": 25,
        "kept": 375,
        "lacking": {"baseline": 0, "proposed": 25},
        "vanished": ["rare"],
    }
    alone = gate(old[25:], new[25:], coverage=0.9, by=by[25:])
    assert alone.checks == found.checks
    assert alone.to_dict()["missing"] is None
    assert "Dropped" not in alone.to_text() + alone.to_markdown()


def test_a_threshold_stands_where_its_line_is_read() -> None:
    old, _, by = two_models(18, n=600)
    halved = gate(old, old.calibrated(scale=0.98), coverage=0.9, by=by)
    lines = halved.to_text().splitlines()[1:6]
    assert all(line.endswith("(fails at 2.5%)") for line in lines)
    assert {check.level for check in halved.checks} == {0.025}
    whole = gate(old, old, coverage=0.9, level=0.01)
    assert {check.level for check in whole.checks} == {0.01}
    assert whole.to_markdown().count(r"\(fails at 1%\)") == 2
