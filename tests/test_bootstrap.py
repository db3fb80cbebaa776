"""The bootstrap against resamples made by hand, scipy's BCa ends, and the coverage it promises."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from uccurve import bootstrap
from uccurve.resampling import MOST, DrawnUnits

Y = np.array([1.0, -2.0, 4.0, 0.5, -2.5, 3.0, 0.25])
P = np.array([0.5, 0.0, 1.0, 0.0, 0.0, 1.5, 1.0])
LOWER = np.array([0.5, 1.0, 0.25, 1.0, 5.0, 2.0, 0.5])
UPPER = np.array([1.0, 3.0, 6.0, 0.5, 1.0, 2.0, 4.0])
WEIGHT = np.array([1.0, 2.0, 0.5, 0.0, 3.0, 1.0, 1.0])

OPTIONS: list[dict[str, Any]] = [
    {"statistic": "area"},
    {"statistic": "gain", "axes": ("bandwidth", "deficit")},
    {"statistic": "gain", "axes": ("overshoot", "deficit")},
    {"statistic": "gain", "axes": ("excess", "deficit")},
    {"statistic": "area", "axes": ("excess", "deficit"), "vary": "shift"},
    {"statistic": "gain", "miss_rate": (0.0, 0.5)},
    {"statistic": "area", "axes": ("excess", "deficit"), "miss_rate": (0.2, 0.9), "unit": 2.0},
    {"statistic": "area", "axes": ("bandwidth", "excess")},
    {"statistic": "area", "unit": "std"},
    {"statistic": "crps"},
    {"statistic": "crps", "vary": "shift", "unit": 3.0},
    {"statistic": "skill"},
    {"statistic": "skill", "vary": "shift"},
    {"statistic": "score", "coverage": 0.8},
    {"statistic": "score", "coverage": 0.6, "vary": "shift", "unit": 2.0},
    {"statistic": "scale", "coverage": 0.7},
    {"statistic": "half_width", "coverage": 0.7},
    {"statistic": "half_width", "coverage": 0.5, "vary": "shift", "unit": 4.0},
    {"statistic": "gain", "vary": "shift", "miss_rate": (0.2, 0.6)},
    {"statistic": "gain", "axes": ("excess", "deficit"), "miss_rate": (0.3, 0.9)},
    {"statistic": lambda iv: float(np.average(iv.upper - iv.y_true, weights=iv.weight))},
    {"statistic": lambda iv: ucc.UCC(iv).cost(0.3, axes=("excess", "deficit"))},
]


def intervals(weight: np.ndarray | None = None) -> ucc.Intervals:
    return ucc.Intervals.from_bands(Y, P, LOWER, UPPER, weight=weight)


def by_hand(drawn: ucc.Intervals, *, statistic: Any, **options: Any) -> float:
    """The statistic by the methods of the curve."""
    vary = options.pop("vary", "scale")
    coverage = options.pop("coverage", None)
    curve, unit = ucc.UCC(drawn, vary=vary), options.get("unit", "raw")
    found: dict[Any, Any] = {
        "area": lambda: curve.area(**options),
        "gain": lambda: curve.gain(**options),
        "crps": lambda: curve.potential_crps(unit=unit),
        "skill": curve.skill,
        "score": lambda: curve.decompose(coverage=coverage, unit=unit).best,
        "scale": lambda: curve.find(coverage=coverage).scale,
        "half_width": lambda: curve.find(coverage=coverage, unit=unit).bandwidth,
    }
    return float(statistic(drawn) if callable(statistic) else found[statistic]())


def delivered(metric: str) -> Any:
    """One of the metrics as delivered, as a function of Intervals."""
    return lambda iv: getattr(ucc.UCC(iv).at(1.0), metric)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("options", OPTIONS, ids=[str(i) for i in range(len(OPTIONS))])
def test_each_resample_is_the_answer_for_rows_drawn_with_replacement(
    options: dict[str, Any], weight: np.ndarray | None
) -> None:
    iv = intervals(weight)
    found = bootstrap(iv, seed=3, n_resamples=40, **options)
    counts = DrawnUnits(iv, None, 3).counts(40)
    given = options | (
        {
            "unit": float(
                np.sqrt(np.average((Y - np.average(Y, weights=weight)) ** 2, weights=weight))
            )
        }
        if options.get("unit") == "std"
        else {}
    )
    kept = np.arange(7) if weight is None else np.flatnonzero(weight)
    for value, count in zip(found.distribution, counts, strict=True):
        rows = np.repeat(kept, count.astype(int))
        weights = None if weight is None else weight[rows]
        drawn = ucc.Intervals.from_bands(Y[rows], P[rows], LOWER[rows], UPPER[rows], weight=weights)
        assert_allclose(value, by_hand(drawn, **given), rtol=1e-9, atol=1e-12)
    assert_allclose(found.estimate, by_hand(iv, **given), rtol=1e-12)


@pytest.mark.parametrize("metric", ["bandwidth", "deficit"])
@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_the_ends_are_those_of_scipy_for_the_same_resamples(metric: str, method: Any) -> None:
    rng = np.random.default_rng(0)
    band, y = rng.gamma(0.5, size=50), rng.normal(size=50)
    iv = ucc.Intervals.from_bands(y, np.zeros(50), band)
    values = band if metric == "bandwidth" else np.maximum(np.abs(y) - band, 0)
    ours = bootstrap(iv, method=method, seed=1, confidence_level=0.9, statistic=delivered(metric))
    # scipy 1.14 and later make the interval of a given distribution
    given = SimpleNamespace(bootstrap_distribution=np.array(ours.distribution))
    theirs = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=0,
        bootstrap_result=given,
        confidence_level=0.9,
        method=method,
    )
    assert_allclose((ours.low, ours.high), theirs.confidence_interval, rtol=1e-9)
    assert_allclose(ours.standard_error, theirs.standard_error, rtol=1e-9)


def oracle_band(rng: np.random.Generator, n: int) -> ucc.Intervals:
    """Bands that are the true deviations."""
    sigma = rng.lognormal(0, 0.5, n)
    return ucc.Intervals.from_bands(sigma * rng.normal(size=n), np.zeros(n), sigma)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_intervals_hold_the_true_gain_about_as_often_as_they_say(method: Any) -> None:
    """500 samples of 300 rows whose bands are the true deviations, from 0.5 to 1.5: their gain is 1/13.

    The share that holds it has a standard error of sqrt(0.95 * 0.05 / 500) = 0.010; 3.3 of them leave out one run in a
    thousand. What 300 rows cost is taken from the second-order term of a studentised mean (Hall 1992, The Bootstrap and
    Edgeworth Expansion) with the skewness and kurtosis of what each row adds to the gain: 0.004, downwards only. For
    normal rows that term is the difference between Student's t and the normal.
    """
    rng = np.random.default_rng(2026)
    truth, held, samples, n = 1 / 13, 0, 500, 300
    for _ in range(samples):
        iv = uniform_sample(rng, n)
        found = bootstrap(
            iv, axes=("bandwidth", "deficit"), method=method, n_resamples=499, seed=rng
        )
        held += found.low <= truth <= found.high
    error = 3.3 * np.sqrt(0.95 * 0.05 / samples)
    assert 0.95 - error - second_order_loss(n) < held / samples < 0.95 + error


def second_order_loss(n: int, z: float = 1.96) -> float:
    """Coverage that +-z studentised errors of a mean of n rows lose, for rows like those that make up the gain."""
    rows = parts_of_the_gain(10**6)
    skewness, excess = float(scipy.stats.skew(rows)), float(scipy.stats.kurtosis(rows))
    loss = skewness**2 / 18 * (z**4 + 2 * z**2 - 3) + (z**2 + 3) / 4 - excess / 12 * (z**2 - 3)
    return float(2 * z * scipy.stats.norm.pdf(z) * loss / n)


def uniform_sample(rng: np.random.Generator, n: int) -> ucc.Intervals:
    sigma = rng.uniform(0.5, 1.5, n)
    return ucc.Intervals.from_bands(sigma * rng.normal(size=n), np.zeros(n), sigma)


def parts_of_the_gain(n: int) -> np.ndarray:
    """What each row adds to the gain on bandwidth/deficit, 1 - E[z] E[r^2/z] / E[r^2], to first order."""
    iv = uniform_sample(np.random.default_rng(0), n)
    z, square = iv.lower_band, iv.y_true**2
    width, ratio, error = z.mean(), (square / z).mean(), square.mean()
    parts = (
        width * ratio / error**2 * (square - error)
        - (ratio * (z - width) + width * (square / z - ratio)) / error
    )
    return np.asarray(parts)


def test_random_groups_of_many_rows_give_the_interval_of_single_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    iv = oracle_band(np.random.default_rng(2), 2 * MOST + 5)
    grouped = bootstrap(iv, axes=("bandwidth", "deficit"), seed=0, n_resamples=9999)
    monkeypatch.setattr("uccurve.resampling.MOST", 10**9)
    single = bootstrap(iv, axes=("bandwidth", "deficit"), seed=0, n_resamples=9999)
    assert_allclose(grouped.standard_error, single.standard_error, rtol=0.08)
    assert_allclose(
        (grouped.low, grouped.high), (single.low, single.high), atol=0.2 * single.standard_error
    )


def test_labels_draw_groups_and_so_repeated_rows_are_no_more_evidence() -> None:
    rng = np.random.default_rng(4)
    once = oracle_band(rng, 80)
    again = ucc.Intervals.from_bands(
        *(np.repeat(column, 6) for column in (once.y_true, once.y_pred, once.lower_band))
    )
    alone = bootstrap(once, seed=5)
    grouped = bootstrap(again, seed=5, block=np.repeat(np.arange(80), 6))
    naive = bootstrap(again, seed=5)
    assert_allclose((grouped.low, grouped.high), (alone.low, alone.high), rtol=1e-12)
    assert naive.standard_error < 0.6 * alone.standard_error


def test_blocks_of_a_length_keep_dependent_rows_together() -> None:
    """A level that stays for 10 rows has a tenth of the information of its rows."""
    rng = np.random.default_rng(6)
    y = np.repeat(np.abs(rng.normal(size=60)), 10)
    iv = ucc.Intervals.from_bands(y, np.zeros(600), np.full(600, 0.5))
    single = bootstrap(iv, statistic=delivered("deficit"), seed=0)
    blocks = bootstrap(iv, statistic=delivered("deficit"), seed=0, block=30)
    assert 2.3 < blocks.standard_error / single.standard_error < 3.8


def test_blocks_of_a_length_are_the_consecutive_ones_that_labels_would_make() -> None:
    iv = oracle_band(np.random.default_rng(0), 23)
    counted, labelled = (
        bootstrap(iv, block=block, seed=1, n_resamples=99) for block in (5, np.arange(23) // 5)
    )
    assert_array_equal(counted.distribution, labelled.distribution)
    assert (counted.low, counted.high) == (labelled.low, labelled.high)


def test_the_outputs_of_a_row_are_drawn_together() -> None:
    rng = np.random.default_rng(8)
    y, band = rng.normal(size=(60, 2)), rng.gamma(2, size=(60, 2))
    flat = ucc.Intervals.from_bands(y.ravel(), np.zeros(120), band.ravel())
    two = bootstrap(ucc.Intervals.from_bands(y, np.zeros((60, 2)), band), seed=1, statistic="area")
    labelled = bootstrap(flat, seed=1, statistic="area", block=np.repeat(np.arange(60), 2))
    assert_allclose((two.low, two.high), (labelled.low, labelled.high), rtol=1e-12)


def test_the_same_seed_gives_the_same_interval() -> None:
    iv = oracle_band(np.random.default_rng(1), 50)
    first, again, other = (bootstrap(iv, seed=seed, n_resamples=99) for seed in (1, 1, 2))
    assert_array_equal(first.distribution, again.distribution)
    assert first.low != other.low
    with pytest.raises(ValueError, match="read-only"):
        first.distribution[0] = 0


def test_a_statistic_that_never_changes_says_so() -> None:
    iv = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [5.0] * 3)
    found = bootstrap(iv, statistic=delivered("miss_rate"), seed=0)
    assert (found.low, found.high, found.estimate) == (0, 0, 0)
    assert found.note == "the statistic is the same in every resample"


def test_resamples_without_a_value_are_counted() -> None:
    iv = ucc.Intervals.from_bands([1.0, 1.0, 3.0], [0.0] * 3, [1.0, 2.0, 3.0])
    found = bootstrap(iv, statistic="gain", axes=("overshoot", "deficit"), seed=0, n_resamples=200)
    missing = int(np.isnan(found.distribution).sum())
    assert missing > 0
    assert found.note.startswith(f"the statistic of {missing} of 200 resamples is undefined")


def test_progress_is_told_to_a_callable() -> None:
    iv, seen = oracle_band(np.random.default_rng(1), 400), []
    bootstrap(iv, n_resamples=1999, seed=0, progress=lambda done, total: seen.append((done, total)))
    bootstrap(
        iv,
        n_resamples=1999,
        seed=0,
        miss_rate=(0, 0.5),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (1999, 1999)
    assert len(seen) > 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "bca"}, r"`method` must be one of BCa, percentile; got 'bca'\."),
        (
            {"confidence_level": 1},
            r"`confidence_level` must lie between 0 and 1, both excluded; got 1\.",
        ),
        (
            {"confidence_level": 95},
            r"`confidence_level` must lie between 0 and 1, both excluded; got 95\. Hint: 95% is 0\.95\.",
        ),
        ({"n_resamples": 2.5}, r"`n_resamples` must be an integer of at least 1; got 2\.5\."),
        ({"seed": "abc"}, r"`seed` must be an integer of at least 0, .*; got 'abc'\."),
        ({"block": 8}, r"`block` must not be longer than the data: 8 for 7 rows\."),
        ({"block": [1, 2]}, r"`block` must hold one label per row: 2 labels for 7 rows\."),
        ({"block": [1] * 7}, r"a bootstrap needs at least two blocks of rows; there is only one\."),
        (
            {"statistic": "ares"},
            r"`statistic` must be one of .*; got 'ares'\. Did you mean 'area'\?",
        ),
        (
            {"statistic": len, "miss_rate": (0, 1)},
            r"`miss_rate` as a range goes with an area or a gain, not with a call",
        ),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        bootstrap(intervals(), **options)


def test_what_keeps_no_rows_is_refused_in_a_sentence() -> None:
    sketch = ucc.UCCSketch().update(intervals()).ucc()
    with pytest.raises(
        TypeError, match=r"`intervals` must be Intervals or a UCC, which keep their rows \(a sketch"
    ):
        bootstrap(sketch)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError,
        match=r"`progress` must be None, True, False or a callable of two integers; got 'abc'",
    ):
        bootstrap(intervals(), progress="abc")  # type: ignore[arg-type]


def test_a_curve_brings_its_own_way_to_move_the_bands() -> None:
    shifted = ucc.UCC(intervals(), vary="shift")
    for options in ({"statistic": "gain"}, {"statistic": "half_width", "coverage": 0.7}):
        given: dict[str, Any] = {**options, "seed": 0, "n_resamples": 50}
        assert_array_equal(
            bootstrap(shifted, **given).distribution,
            bootstrap(intervals(), vary="shift", **given).distribution,
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"statistic": "gain", "miss_rate": (0.0, 0.5)},
        {"statistic": "gain", "axes": ("excess", "deficit"), "vary": "shift"},
        {"statistic": "area", "axes": ("bandwidth", "deficit"), "miss_rate": (0.1, 0.6)},
        {"statistic": "skill"},
        {"statistic": "score", "coverage": 0.9},
        {"statistic": "half_width", "coverage": 0.8},
    ],
    ids=str,
)
def test_knots_instead_of_all_vertices_move_a_resample_by_little(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], weighted: bool
) -> None:
    """Each of 60 resamples of 3000 heavy-tailed rows is off by less than a fifth of its standard error."""
    rng = np.random.default_rng(11)
    sigma = rng.lognormal(0, 0.7, 3000)
    weight = rng.integers(1, 4, 3000) if weighted else None
    y, asymmetry = sigma * rng.standard_t(5, 3000), rng.uniform(0.5, 1.5, 3000)
    iv = ucc.Intervals.from_bands(y, np.zeros(3000), sigma, sigma * asymmetry, weight=weight)
    few = bootstrap(iv, seed=0, n_resamples=60, **options)
    monkeypatch.setattr("uccurve.resampling.knots.MOST_VERTICES", 10**9)
    every = bootstrap(iv, seed=0, n_resamples=60, **options)
    off = few.distribution - every.distribution
    assert np.sqrt(np.mean(off**2)) < 0.1 * every.standard_error
    assert abs(np.mean(off)) < 0.03 * every.standard_error
    assert_allclose(few.standard_error, every.standard_error, rtol=0.03)


@pytest.mark.parametrize(
    "options",
    [{"statistic": "area", "axes": ("excess", "deficit")}, {"statistic": "skill"}],
    ids=str,
)
def test_one_sided_intervals_are_resampled_as_exactly_as_others(options: dict[str, Any]) -> None:
    """The lower bounds are -1e18, beside which float64 holds nothing of the upper bands."""
    y = np.random.default_rng(0).normal(size=30)
    iv = ucc.Intervals.from_bounds(y, 0 * y, np.full(30, -1e18), np.full(30, 2.0))
    values = bootstrap(iv, seed=0, n_resamples=20, **options).distribution
    counts = DrawnUnits(iv, None, 0).counts(20)
    expected = [
        by_hand(iv[np.repeat(np.arange(30), count.astype(int))], **options) for count in counts
    ]
    assert_allclose(values, expected, rtol=1e-9)


def test_a_range_of_another_metric_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'deficit'"):
        bootstrap(intervals(), deficit=(0, 0.5))  # type: ignore[call-arg]


def test_an_infinite_area_is_refused_in_a_sentence() -> None:
    iv = ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [0.0, 1.0])
    with pytest.raises(
        ValueError,
        match=r"`intervals` must have a finite area: 1 of 2 rows have an error on the side",
    ):
        bootstrap(iv, statistic="area")
