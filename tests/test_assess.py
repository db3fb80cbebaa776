"""assess: its numbers are those of its parts, its comparisons fair, its tables complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve import assess
from uccurve.compare.assessment import ModelRow
from uccurve.compare.binomial import clopper_pearson, tail
from uccurve.compare.segments import holm

COLUMNS = ("y_true", "y_pred", "lower_band", "upper_band")
QUICK: dict[str, Any] = {"n_resamples": 99, "n_permutations": 199}


def models(n: int = 120, seed: int = 0, *, shared: bool = True, **options: Any) -> dict[str, ucc.Intervals]:
    """Three models with asymmetric bands: good, worse, noise."""
    rng = np.random.default_rng(seed)
    sigma = rng.lognormal(0, 0.6, n)
    y = sigma * rng.normal(size=n)
    shape = {"good": sigma, "worse": sigma * rng.lognormal(0, 0.4, n), "noise": rng.lognormal(0, 0.6, n)}
    tilt = rng.uniform(0.7, 1.3, (3, n))
    predictions = np.zeros((3, n)) if shared else rng.normal(0, 0.1, (3, n))
    return {
        name: ucc.Intervals.from_bands(y, p, 1.5 * band, 1.5 * band * t, **options)
        for (name, band), t, p in zip(shape.items(), tilt, predictions, strict=True)
    }


def test_each_row_holds_the_answers_of_the_curve() -> None:
    given = models()
    found = assess(given, c=0.2, alpha=0.1, miss_rate=(0.05, 0.4), unit=2.0, **QUICK)
    for name, iv in given.items():
        row, curve = found[name], ucc.UCC(iv)
        point = curve.at(1.0, unit=2.0)
        assert row.n == 120
        for metric in ("miss_rate", "bandwidth", "excess", "deficit", "overshoot"):
            assert_allclose(getattr(row, metric), getattr(point, metric))
        for x, y in (("bandwidth", "miss_rate"), ("excess", "deficit"), ("bandwidth", "deficit")):
            assert_allclose(getattr(row, f"area_{x}_{y}"), curve.area(axes=(x, y), unit=2.0))  # type: ignore[arg-type]
            gain, low, high = (getattr(row, f"gain_{x}_{y}{end}") for end in ("", "_low", "_high"))
            assert_allclose(gain, curve.gain(axes=(x, y)))  # type: ignore[arg-type]
            assert low < gain < high
        assert_allclose(row.partial_gain, curve.gain(miss_rate=(0.05, 0.4)))
        assert row.partial_gain_low < row.partial_gain < row.partial_gain_high
        assert_allclose(row.cost, curve.cost(0.2, unit=2.0))
        cheapest = curve.cheapest(0.2, unit=2.0)
        assert_allclose([row.cheapest_cost, row.cheapest_scale], [float(cheapest.cost or 0), cheapest.scale])
        active = np.where(iv.y_true >= iv.y_pred, iv.upper_band, iv.lower_band)
        assert_allclose(row.band_error, np.mean(np.abs(np.abs(iv.y_true - iv.y_pred) - active)) / 2)
        assert row.interval_score is not None
        assert_allclose(row.interval_score, ucc.interval_score(iv.y_true, iv.lower, iv.upper, alpha=0.1) / 2)
        assert row.concentration == curve.concentration()
        missed = int(np.sum((iv.y_true < iv.lower) | (iv.y_true > iv.upper)))
        assert_allclose((row.miss_rate_low, row.miss_rate_high), clopper_pearson(missed, 120, 0.95))


def test_gain_intervals_are_those_of_the_bootstrap() -> None:
    """Gains that few sums answer share their resamples with a call of their own."""
    iv = models()["good"]
    row = assess(iv, seed=4, confidence_level=0.9, n_resamples=499).rows[0]
    own = ucc.bootstrap(iv, seed=4, confidence_level=0.9, n_resamples=499)
    assert_allclose((row.gain_bandwidth_miss_rate_low, row.gain_bandwidth_miss_rate_high), (own.low, own.high))


def test_pairs_are_tested_on_areas_and_adjusted() -> None:
    given = models(400)
    found = assess(given, axes=("bandwidth", "deficit"), **QUICK)
    pairs = [("good", "worse"), ("good", "noise"), ("worse", "noise")]
    assert [(one.first, one.second) for one in found.comparisons] == pairs
    tests = [
        ucc.permutation_test(given[a], given[b], axes=("bandwidth", "deficit"), n_resamples=199, seed=0)
        for a, b in pairs
    ]
    assert_allclose([one.pvalue for one in found.comparisons], [test.pvalue for test in tests])
    assert_allclose([one.difference for one in found.comparisons], [test.statistic for test in tests])
    assert_allclose([one.pvalue_holm for one in found.comparisons], holm([test.pvalue for test in tests]))
    assert [one.better for one in found.comparisons] == ["good", "good", "worse"]
    assert [one.statistic for one in found.comparisons] == ["area"] * 3
    assert [row.name for row in found.ranking] == ["good", "worse", "noise"]
    assert [row.rank for row in found.rows] == [1, 2, 3]


def test_models_with_other_predictions_are_ranked_by_gain_and_their_curves_not_compared() -> None:
    given = models(300, shared=False)
    found = assess(given, axes=("bandwidth", "deficit"), **QUICK)
    assert not found.comparable
    assert found.crossings == ()
    assert {one.statistic for one in found.comparisons} == {"gain"}
    assert found.comparisons[1].better == "good"
    assert found.comparisons[1].difference > 0
    assert any(note.startswith("y_pred differ between models") for note in found.notes)
    gains = [row.gain_bandwidth_deficit for row in found.ranking]
    assert gains == sorted(gains, reverse=True)


def test_crossings_of_all_pairs_come_with_their_names() -> None:
    found = assess(models(), axes=("excess", "deficit"), **QUICK)
    assert [one.names for one in found.crossings] == [("good", "worse"), ("good", "noise"), ("worse", "noise")]
    assert {one.axes for one in found.crossings} == {("excess", "deficit")}


def test_one_set_of_intervals_is_enough() -> None:
    found = assess(models()["good"], **QUICK)
    assert len(found) == 1
    assert found.rows[0].name == "model"
    assert [*found.comparisons, *found.crossings, *found.segments] == []


def test_segments_hold_the_rows_of_their_part() -> None:
    given = models(200)
    side = np.where(np.arange(200) % 4 == 0, "left", "right")
    found = assess(given, by={"side": side, "size": np.arange(200.0)}, bins=2, target=0.1, **QUICK)
    assert [(one.feature, one.label) for one in found.segments[:4]] == [
        ("side", "left"),
        ("side", "right"),
        ("size", "0 to 99"),
        ("size", "100 to 199"),
    ]
    for name, iv in given.items():
        own = [one for one in found.segments if one.row.name == name]
        part, alone = own[0], assess(iv[side == "left"], **QUICK).rows[0]
        for field in fields(ModelRow):
            if field.name not in ("name", "rank"):
                assert_allclose(getattr(part.row, field.name) or 0, getattr(alone, field.name) or 0)
        missed = round(part.row.miss_rate * 50)
        assert part.target == 0.1
        assert_allclose(part.pvalue, tail(missed, 50, 0.1))
        assert_allclose([one.pvalue_holm for one in own], holm([one.pvalue for one in own]))


def test_a_segment_that_misses_too_much_fails_and_others_do_not() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(["calm", "wild"], 300)
    y = rng.normal(size=600) * np.where(group == "wild", 3, 1)
    iv = ucc.Intervals.from_bands(y, np.zeros(600), np.full(600, 1.645))
    found = assess({"flat": iv}, by=group, alpha=0.1, **QUICK)
    assert [(one.label, one.fails) for one in found.segments] == [("calm", False), ("wild", True)]
    assert [one.label for one in found.failing] == ["wild"]
    assert {one.target for one in found.segments} == {0.1}
    own = assess({"flat": iv}, by=group, **QUICK)
    assert {one.target for one in own.segments} == {own.rows[0].miss_rate}


def test_false_alarms_over_all_segments_stay_below_the_level() -> None:
    """2000 samples of 8 segments of 50 rows that miss 10 % as promised; the standard error of 5 % is 0.5 %."""
    rng = np.random.default_rng(5)
    chances = np.array([tail(count, 50, 0.1) for count in range(51)])
    alarms = sum(min(holm(chances[counts])) <= 0.05 for counts in rng.binomial(50, 0.1, (2000, 8)))
    assert 0.01 < alarms / 2000 < 0.06


def split(iv: ucc.Intervals, order: Any, folds: int) -> list[ucc.Intervals]:
    return [iv[part] for part in np.array_split(order, folds)]


def test_folds_pool_into_their_rows() -> None:
    given = models()
    order = np.random.default_rng(0).permutation(120)
    whole = assess(given, **QUICK)
    pooled = assess({name: split(iv, order, 5) for name, iv in given.items()}, **QUICK)
    for one, two in zip(whole.rows, pooled.rows, strict=True):
        assert_allclose(two.area_excess_deficit, one.area_excess_deficit)
        assert_allclose(two.gain_bandwidth_miss_rate, one.gain_bandwidth_miss_rate)
        assert one.n == two.n == 120
    assert_array_equal(pooled.intervals["good"].y_true, given["good"].y_true[order])


@pytest.mark.parametrize("named", [True, False])
def test_repetitions_of_a_row_are_swapped_and_drawn_together(named: bool) -> None:
    """Three runs with the same outcome tell as much as one."""
    given = models(60)
    once = assess(given, seed=2, **QUICK)
    rows: Sequence[Any] | None = [np.arange(60)] * 3 if named else None
    thrice = assess({name: [iv] * 3 for name, iv in given.items()}, rows=rows, seed=2, **QUICK)
    for one, three in zip(once.rows, thrice.rows, strict=True):
        assert three.n == 180
        for field in fields(ModelRow):
            if field.name not in ("n", "name", "concentration"):
                assert_allclose(getattr(three, field.name) or 0, getattr(one, field.name) or 0, rtol=1e-9)
    assert_allclose([one.pvalue for one in thrice.comparisons], [one.pvalue for one in once.comparisons])


def test_repeated_cross_validation_in_any_order_needs_names() -> None:
    given = models(60)
    orders = [np.random.default_rng(seed).permutation(60) for seed in range(2)]
    folds = {name: [fold for order in orders for fold in split(iv, order, 3)] for name, iv in given.items()}
    rows = [part for order in orders for part in np.array_split(order, 3)]
    named, unnamed = (assess(folds, rows=given_rows, seed=0, **QUICK) for given_rows in (rows, None))
    width = [
        row.gain_bandwidth_deficit_high - row.gain_bandwidth_deficit_low for row in (named["good"], unnamed["good"])
    ]
    assert width[0] > 1.2 * width[1]
    assert named["good"].miss_rate_high > unnamed["good"].miss_rate_high


def test_runs_are_recognised_beside_a_model_that_is_already_joined() -> None:
    given = models(60)
    again = ucc.Intervals.from_bands(*(np.tile(getattr(given["worse"], name), 2) for name in COLUMNS))
    runs: dict[str, Any] = {"joined": again, "runs": [given["good"]] * 2}
    turned = assess({name: runs[name] for name in ("runs", "joined")}, seed=0, **QUICK)
    assert_allclose(assess(runs, seed=0, **QUICK).comparisons[0].pvalue, turned.comparisons[0].pvalue)
    assert_allclose(assess(runs, seed=0, **QUICK)["runs"].miss_rate_high, turned["runs"].miss_rate_high)


def test_a_block_longer_than_one_run_is_refused_in_a_sentence() -> None:
    good = models(60)["good"]
    with pytest.raises(ValueError, match=r"`block` must not be longer than the data: 61 against 60 rows\."):
        assess({"good": [good, good]}, block=61)
    assert assess({"good": [good, good]}, block=30, **QUICK)["good"].n == 120


def test_weights_count_by_their_effective_number() -> None:
    rng = np.random.default_rng(0)
    weight = rng.gamma(1, size=120)
    row = assess(models(weight=weight)["good"], **QUICK).rows[0]
    number = weight.sum() ** 2 / np.sum(weight**2)
    ends = clopper_pearson(row.miss_rate * number, number, 0.95)
    assert_allclose((row.miss_rate_low, row.miss_rate_high), ends)


def test_what_a_reader_must_know_is_noted() -> None:
    y = np.linspace(0.1, 3, 200)
    bands = np.where(np.arange(200) < 2, 1e-6, 1.0)
    few = ucc.Intervals.from_bands(y, np.zeros(200), bands)
    blind = ucc.Intervals.from_bands(y, np.zeros(200), np.where(np.arange(200) < 3, 0.0, 1.0))
    raised = ucc.Intervals.from_bands(y, np.zeros(200), bands, min_band=0.5)
    found = assess({"few": few, "blind": blind, "raised": raised}, **QUICK)
    assert "few: 1 of 200 rows carry half of the area on bandwidth/miss_rate" in found.notes
    assert any(note.startswith("blind: 3 rows have an error on the side of a zero band") for note in found.notes)
    assert "raised: 4 bands were raised by min_band" in found.notes
    assert np.isinf(found["blind"].area_bandwidth_miss_rate)
    assert np.isnan(found["blind"].gain_bandwidth_deficit_low)
    pair = found.comparisons[0]
    assert np.isnan(pair.pvalue)
    assert pair.better is None
    assert "must have a finite area: 3 of 200 rows" in pair.note
    assert found["blind"].rank == 3


def test_json_holds_everything_and_no_infinity() -> None:
    y = [1.0, 2.0, 3.0]
    blind = ucc.Intervals.from_bands(y, [0.0] * 3, [0.0, 1.0, 1.0])
    found = assess({"blind": blind, "flat": blind.constant()}, by=["u", "v", "v"], **QUICK)
    text = json.loads(found.to_json())
    assert set(text) == {"models", "comparisons", "crossings", "segments", "comparable", "notes", "settings"}
    assert text["models"]["blind"]["area_bandwidth_miss_rate"] is None
    assert text["models"]["flat"]["n"] == 3
    assert text["segments"][0]["row"]["name"] == "blind"
    assert text["settings"]["axes"] == ["bandwidth", "miss_rate"]
    assert text["crossings"][0]["verdict"] == found.crossings[0].verdict
    assert text == found.to_dict()


@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_frames_have_a_row_a_model(backend: str | None) -> None:
    if backend:
        pytest.importorskip(backend)
    found = assess(models(), by=np.arange(120) % 2, **QUICK)
    frame, parts = found.to_frame(backend=backend), found.segments_frame(backend=backend)
    columns = getattr(frame, "column_names", None) or list(frame.columns)
    assert columns == [field.name for field in fields(ModelRow)]
    assert len(frame) == 3
    assert len(parts) == 6
    if backend:
        assert type(frame).__module__.partition(".")[0] == backend


def test_tables_name_models_pairs_and_verdicts() -> None:
    found = assess(models(), by=np.arange(120) % 2, **QUICK)
    for text in (repr(found), found._repr_html_()):
        for word in ("good", "worse", "noise", "good / worse", "segment 0", "p (Holm)", found.crossings[0].verdict):
            assert word in text
    assert (
        repr(found).splitlines()[0].startswith("Assessment of 3 models (95 % intervals; gains over the constant band")
    )


def test_a_pair_that_nothing_tells_apart_is_said_and_keeps_its_order() -> None:
    good = models()["good"]
    found = assess({"wide": good.calibrated(scale=3), "good": good, "wider": good.calibrated(scale=7)}, **QUICK)
    assert [row.name for row in found.ranking] == ["wide", "good", "wider"]
    assert {one.pvalue_holm for one in found.comparisons} == {1.0}
    for text in (repr(found), found._repr_html_()):
        assert "good / wider: the statistic is the same however rows are swapped: nothing here tells the models" in text


def test_an_unknown_model_is_refused_in_a_sentence() -> None:
    with pytest.raises(KeyError, match=r"no model is called 'best'; there are good, worse, noise"):
        assess(models(), **QUICK)["best"]


def test_the_weakest_segments_are_those_whose_bands_know_least() -> None:
    """Bands know the spread in part x, are at random in y, and are all the same in z, which has a gain of 0."""
    rng = np.random.default_rng(0)
    part, sigma = np.repeat(["x", "y", "z"], 80), rng.lognormal(0, 0.7, 240)
    band = np.where(part == "x", sigma, np.where(part == "y", rng.lognormal(0, 0.7, 240), 1.0))
    iv = ucc.Intervals.from_bands(sigma * rng.normal(size=240), np.zeros(240), band)
    found = assess(iv, by=part, axes=("deficit", "bandwidth"), **QUICK)
    assert found.headline_gain == "gain_bandwidth_deficit"
    assert [one.label for one in found.weakest] == ["y", "z", "x"]
    (line,) = [line for line in repr(found).splitlines() if line.startswith("segment y")]
    assert line.endswith("worst gain")
    assert repr(found).count("worst gain") == 1
    assert assess(iv, axes=("bandwidth", "excess"), **QUICK).headline_gain == "gain_bandwidth_miss_rate"


def test_html_escapes_what_people_call_their_models() -> None:
    iv = models()["good"]
    text = assess({"<b>": iv, "&": iv.constant()}, **QUICK)._repr_html_()
    assert "<b>" not in text
    assert "&lt;b&gt;" in text


def test_the_same_call_gives_the_same_assessment() -> None:
    one, two, other = (assess(models(), seed=seed, **QUICK) for seed in (1, 1, 2))
    assert one.to_json() == two.to_json()
    assert one.to_json() != other.to_json()
    with pytest.raises(AttributeError):
        one.rows = ()  # type: ignore[misc]


def test_progress_runs_from_start_to_end() -> None:
    seen: list[tuple[int, int]] = []
    assess(models(), by=np.arange(120) % 2, progress=lambda done, total: seen.append((done, total)), **QUICK)
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("bad", "error", "sentence"),
    [
        ({}, ValueError, r"`models` must hold at least one model; it is empty\."),
        ([1], TypeError, r"`models` must be Intervals or a mapping of names to Intervals; got list\. Hint: "),
        ({"a": 3}, TypeError, r"`models` must map names to Intervals or lists of them; 'a' is int\."),
        ({1: "one", "1": "one"}, ValueError, r"`models` must have different names: '1' comes 2 times\."),
    ],
)
def test_bad_models_are_refused_in_a_sentence(bad: Any, error: type[Exception], sentence: str) -> None:
    if isinstance(bad, dict) and 1 in bad:
        bad = dict.fromkeys(bad, models()["good"])
    with pytest.raises(error, match=sentence):
        assess(bad)


def test_models_of_other_rows_are_refused_in_a_sentence() -> None:
    given = models()
    good = given["good"]
    with pytest.raises(ValueError, match=r"`models` must have the same rows: 'b' has 119, 'a' has 120\."):
        assess({"a": good, "b": good[:119]})
    moved = ucc.Intervals.from_bands(np.where(np.arange(120) == 7, 9.0, good.y_true), good.y_pred, good.lower_band)
    with pytest.raises(
        ValueError, match=r"same y_true: 'b' differs from 'a' in 1 of 120 rows, first row 7\. Hint: put"
    ):
        assess({"a": good, "b": moved})
    heavy = ucc.Intervals.from_bands(good.y_true, good.y_pred, good.lower_band, weight=np.arange(120))
    with pytest.raises(ValueError, match=r"`models` must have the same weights: those of 'b' and 'a' differ\."):
        assess({"a": good, "b": heavy})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"by": ["x"]}, r"`by` must hold one label a row: 'segment' has 1 against 120 rows\."),
        ({"block": 121}, r"`block` must not be longer than the data: 121 against 120 rows\."),
        ({"block": [1, 2]}, r"`block` must hold one label a row: 2 labels against 120 rows\."),
        ({"rows": [[1, 2]]}, r"`rows` must name each row of each fold: \[2\] names against \[120\] rows\."),
        ({"rows": [np.arange(120)], "block": np.arange(120)}, r"give `rows` .* or labels in `block`, not both\."),
        ({"alpha": 0}, r"`alpha` must be above 0: it is the share of observations that the intervals may miss\."),
        ({"c": 2}, r"`c` must be a finite number from 0 to 1; got 2\."),
        ({"miss_rate": (0.5, 0)}, r"`miss_rate` must be a range \(low, high\) with 0 <= low <= high"),
        ({"bins": 0}, r"`bins` must be a whole number of at least 1; got 0\."),
        ({"axes": ("bandwidth", "mis_rate")}, r"'mis_rate' is none of them \(miss_rate\?\)"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    options = {"by": np.arange(120)} | options if "bins" in options else options
    with pytest.raises(ValueError, match=sentence):
        assess(models(), **options)
