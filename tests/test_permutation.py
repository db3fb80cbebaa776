"""The permutation test against swapping every row by hand, and against what a test must do: size, power, refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from oracle import Oracle, Range, Row, rows
from uccurve import permutation_test

Y = [1.0, -2.0, 4.0, 0.5, -2.5]
P = [0.5, 0.0, 1.0, 0.5, 0.0]
LOWER_A, UPPER_A = [0.5, 1.0, 0.25, 1.0, 5.0], [1.0, 3.0, 6.0, 0.5, 1.0]
LOWER_B, UPPER_B = [3.0, 4.0, 4.0, 1.0, 9.0], [6.0, 2.0, 9.0, 4.0, 8.0]
P_B = [0.0, -1.0, 2.0, 1.0, 0.0]
WEIGHT = [1.0, 2.0, 0.5, 0.0, 3.0]
BLOCKS = [0, 1, 1, 2, 0]


def models(
    *, weight: Sequence[float] | None = None, y_pred: Sequence[float] = P
) -> tuple[ucc.Intervals, ucc.Intervals]:
    a = ucc.Intervals.from_bands(Y, P, LOWER_A, UPPER_A, weight=weight)
    return a, ucc.Intervals.from_bands(Y, y_pred, LOWER_B, UPPER_B, weight=weight)


@dataclass(frozen=True)
class Asked:
    """A statistic with its axes, and the options that go with it."""

    statistic: Any
    x: Any = "bandwidth"
    y: Any = "miss_rate"
    vary: Any = "scale"
    within: Range | None = None

    @property
    def options(self) -> dict[str, Any]:
        part = {} if self.within is None else {self.within[0]: self.within[1:]}
        return {"statistic": self.statistic, "axes": (self.x, self.y), "vary": self.vary, **part}

    def of(self, half: list[Row]) -> Fraction:
        """The statistic of rows by the oracle."""
        return Fraction(
            getattr(Oracle(half, self.vary), self.statistic)(self.x, self.y, self.within)
        )


def moved(row: Row, vary: str, amount: Fraction) -> Row:
    """A row with both bands scaled, or widened."""
    if vary == "scale":
        lower, upper = row.lower_band * amount, row.upper_band * amount
    else:
        lower, upper = row.lower_band + amount, row.upper_band + amount
    return Row(row.y_true, row.y_pred, lower, upper, row.weight)


def exact_rows(intervals: ucc.Intervals) -> list[Row]:
    columns = (
        getattr(intervals, name).tolist()
        for name in ("y_true", "y_pred", "lower_band", "upper_band", "weight")
    )
    return rows(*columns)


def half_width(side: list[Row]) -> Fraction:
    return sum((r.weight * (r.lower_band + r.upper_band) / 2 for r in side), Fraction(0))


def by_hand(
    a: ucc.Intervals, b: ucc.Intervals, blocks: Sequence[int], asked: Asked
) -> list[Fraction]:
    """Difference for every swap, the k-th bit of the place telling whether the k-th block is swapped."""
    sides = [exact_rows(a), exact_rows(b)]
    blocks = [block for block, w in zip(blocks, a.weight.tolist(), strict=True) if w]
    one, two = map(half_width, sides)
    if asked.vary == "scale":
        sides[1] = [moved(row, "scale", one / two) for row in sides[1]]
    else:
        sides[0] = [moved(row, "shift", max(Fraction(0), two - one)) for row in sides[0]]
        sides[1] = [moved(row, "shift", max(Fraction(0), one - two)) for row in sides[1]]
    labels, out = sorted(set(blocks)), []
    for swaps in product((0, 1), repeat=len(labels)):
        swapped = dict(zip(labels, swaps[::-1], strict=True))
        halves = [
            [sides[swapped[block] ^ half][i] for i, block in enumerate(blocks)] for half in (0, 1)
        ]
        out.append(asked.of(halves[0]) - asked.of(halves[1]))
        if 2 * len(out) == 2 ** len(labels):
            break
    return out + [
        -difference for difference in reversed(out)
    ]  # swapping the others only calls a what was b


PAIRS = [
    ("bandwidth", "miss_rate"), ("miss_rate", "bandwidth"), ("bandwidth", "deficit"), ("excess", "deficit"),
    ("deficit", "overshoot"), ("excess", "miss_rate"), ("deficit", "miss_rate"), ("miss_rate", "deficit"),
    ("deficit", "deficit"), ("bandwidth", "excess"),
]  # fmt: skip
ASKED = [
    *(Asked("area", x, y, vary) for vary in ("scale", "shift") for x, y in PAIRS),
    *(Asked("gain", x, y) for x, y in [PAIRS[0], PAIRS[2], PAIRS[3], ("overshoot", "deficit")]),
    Asked("gain", "excess", "deficit", "shift"),
    Asked("area", within=("miss_rate", 0.25, 0.75)),
    Asked("area", "miss_rate", "excess", "shift", within=("miss_rate", 0.25, 0.75)),
    Asked("area", "excess", "deficit", within=("miss_rate", 0.25, 0.75)),
    Asked("area", "miss_rate", "excess", within=("miss_rate", 0.0, 0.5)),
    Asked("area", "miss_rate", "miss_rate", within=("miss_rate", 0.25, 0.75)),
    Asked("area", "bandwidth", "excess", "shift", within=("miss_rate", 0.25, 0.75)),
    Asked("gain", within=("miss_rate", 0.0, 0.5)),
    Asked("gain", "excess", "deficit", within=("miss_rate", 0.2, 0.9)),
]
EXTREME: dict[Any, Callable[[Fraction, Fraction], bool]] = {
    "two-sided": lambda difference, observed: abs(difference) >= abs(observed),
    "less": lambda difference, observed: difference <= observed,
    "greater": lambda difference, observed: difference >= observed,
}


SETTINGS = ["plain", "weighted", "other y_pred", "blocks"]
SWAPPED = [
    (how, one)
    for how in SETTINGS
    for one in ASKED
    if how != "other y_pred" or one.statistic != "gain"
]


@pytest.mark.parametrize(("setting", "asked"), SWAPPED, ids=str)
def test_every_swap_agrees_with_swapping_by_hand(setting: str, asked: Asked) -> None:
    a, b = models(
        weight=WEIGHT if setting == "weighted" else None,
        y_pred=P_B if setting == "other y_pred" else P,
    )
    blocks = BLOCKS if setting == "blocks" else None
    expected = by_hand(a, b, blocks or range(5), asked)
    for alternative, is_extreme in EXTREME.items():
        test = permutation_test(a, b, alternative=alternative, block=blocks, **asked.options)
        assert test.every_swap
        size = float(max(map(abs, expected)))
        assert_allclose(test.statistic, float(expected[0]), rtol=1e-12, atol=1e-14)
        assert_allclose(
            test.null_distribution,
            [float(d) for d in expected],
            rtol=1e-11,
            atol=1e-13 + 1e-12 * size,
        )
        assert test.pvalue == sum(is_extreme(d, expected[0]) for d in expected) / len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [("bandwidth", "miss_rate"), ("excess", "deficit")])
def test_twelve_rows_agree_with_all_4096_swaps_of_intervals(axes: Any) -> None:
    rng = np.random.default_rng(5)
    y, p = rng.integers(-8, 9, 12) / 4, rng.integers(-2, 3, 12) / 4
    bands, weight = rng.integers(1, 9, (4, 12)) / 4, rng.integers(1, 4, 12) / 1
    a, b = (
        ucc.Intervals.from_bands(y, p, *pair, weight=weight) for pair in (bands[:2], 4 * bands[2:])
    )
    as_wide = b.calibrated(scale=ucc.UCC(a).at(1.0).bandwidth / ucc.UCC(b).at(1.0).bandwidth)
    differences = np.empty(4096)
    for place in range(2048):
        swapped = (place >> np.arange(12) & 1).astype(bool)
        areas = []
        for one, two in ((a, as_wide), (as_wide, a)):
            mixed = (
                np.where(swapped, getattr(two, side), getattr(one, side))
                for side in ("lower_band", "upper_band")
            )
            areas.append(
                ucc.UCC(ucc.Intervals.from_bands(y, p, *mixed, weight=weight)).area(axes=axes)
            )
        differences[[place, 4095 - place]] = areas[0] - areas[1], areas[1] - areas[0]
    test = permutation_test(a, b, axes=axes, n_resamples=4095)
    assert_allclose(test.null_distribution, differences, rtol=1e-11, atol=1e-13)
    assert test.pvalue == np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12)
    assert not permutation_test(a, b, axes=axes, n_resamples=4094, seed=0).every_swap


def test_under_the_null_p_values_are_uniform() -> None:
    """400 pairs of equally good models, one five times as wide: Kolmogorov-Smirnov distance below its 1% bound."""
    rng = np.random.default_rng(1)
    pvalues = []
    for _ in range(400):
        y, bands = rng.normal(size=60) * 2, rng.gamma(2, size=(2, 60))
        a, b = (
            ucc.Intervals.from_bands(y, np.zeros(60), band) for band in (bands[0], 5 * bands[1])
        )
        pvalues.append(permutation_test(a, b, n_resamples=199, seed=rng).pvalue)
    distance = np.max(np.abs(np.sort(pvalues) - (np.arange(400) + 0.5) / 400))
    assert distance < 1.63 / np.sqrt(400)


def test_power_does_not_depend_on_either_scale() -> None:
    """The oracle band against the constant one finds the difference in more than 95 of 100 data sets at any scale."""
    pvalues: dict[float, list[float]] = {}
    for factor in (0.01, 1.0, 5.0, 1e6):
        rng = np.random.default_rng(2)
        pvalues[factor] = []
        for _ in range(100):
            sigma = rng.lognormal(0, 0.7, 150)
            good = ucc.Intervals.from_bands(
                sigma * rng.normal(size=150), np.zeros(150), sigma * factor
            )
            flat = good.constant().calibrated(scale=5 / factor)
            test = permutation_test(
                good, flat, axes=("bandwidth", "deficit"), n_resamples=199, seed=rng
            )
            pvalues[factor].append(test.pvalue)
        assert_array_equal(pvalues[factor], pvalues[0.01])
    assert np.mean(np.array(pvalues[1.0]) <= 0.05) > 0.95


def swapped_halves(
    a: ucc.Intervals, b: ucc.Intervals, place: int
) -> tuple[ucc.Intervals, ucc.Intervals]:
    """Both models after a swap, the k-th bit of its place telling whether the k-th row is swapped."""
    rows = np.arange(len(a))
    swapped = rows + len(a) * (place >> rows & 1)
    pool = ucc.Intervals.join([a, b])
    return pool[swapped], pool[(swapped + len(a)) % len(pool)]


CURVE_STATISTICS: dict[str, tuple[dict[str, Any], Callable[[ucc.UCC], float]]] = {
    "crps": ({}, lambda curve: curve.potential_crps()),
    "skill": ({}, lambda curve: curve.skill()),
    "score": ({"coverage": 0.7}, lambda curve: curve.decompose(coverage=0.7).best),
    "half_width": ({"coverage": 0.7}, lambda curve: curve.find(coverage=0.7).bandwidth),
    "scale": ({"coverage": 0.7}, lambda curve: curve.find(coverage=0.7).scale),
}


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5, 3.0, 3.0]], ids=["plain", "weighted"])
@pytest.mark.parametrize("statistic", CURVE_STATISTICS)
def test_statistics_at_a_coverage_agree_with_every_swap_of_intervals(
    statistic: Any, weight: Any
) -> None:
    a, b = models(weight=weight)
    options, value = CURVE_STATISTICS[statistic]
    test = permutation_test(a, b, statistic=statistic, **options)
    if (
        statistic != "scale"
    ):  # the others do not depend on a model's scale, so both are made equally wide first
        b = b.calibrated(scale=ucc.UCC(a).at(1.0).bandwidth / ucc.UCC(b).at(1.0).bandwidth)
    expected = []
    for place in range(32):
        one, two = (value(ucc.UCC(half)) for half in swapped_halves(a, b, place))
        expected.append(one - two)
    assert_allclose(test.null_distribution, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(test.statistic, expected[0], rtol=1e-9, atol=1e-12)
    assert test.pvalue == np.mean(np.abs(expected) >= abs(expected[0]) - 1e-9)


def test_any_function_of_intervals_can_be_tested() -> None:
    def widest(intervals: ucc.Intervals) -> float:
        return float(np.max(intervals.upper - intervals.lower))

    a, b = models(weight=WEIGHT, y_pred=P_B)
    test = permutation_test(a, b, statistic=widest)
    kept = np.flatnonzero(WEIGHT)
    expected = []
    for place in range(16):
        one, two = (widest(half) for half in swapped_halves(a[kept], b[kept], place))
        expected.append(one - two)
    assert_allclose(test.null_distribution, expected, rtol=1e-12)
    assert test.statistic == expected[0] == widest(a) - widest(b)
    called = permutation_test(
        a, b, statistic=lambda iv: ucc.UCC(iv).find(coverage=0.75).scale, block=BLOCKS
    )
    named = permutation_test(a, b, statistic="scale", coverage=0.75, block=BLOCKS)
    assert_allclose(called.null_distribution, named.null_distribution, rtol=1e-12)


@pytest.mark.parametrize("statistic", ["gain", "skill"])
def test_with_other_predictions_the_signs_of_pseudo_values_are_flipped(statistic: Any) -> None:
    a, b = models(weight=[1.0, 2.0, 0.5, 3.0, 3.0], y_pred=P_B)
    values, pseudo = [], []
    for model in (a, b):
        whole = getattr(ucc.UCC(model), statistic)()
        left_out = np.array(
            [getattr(ucc.UCC(model[np.arange(5) != i]), statistic)() for i in range(5)]
        )
        influence = (1 - model.weight) * (whole - left_out)
        values.append(whole)
        pseudo.append(model.weight * (whole - influence.sum()) + influence)
    signs = np.array([[-1 if place >> i & 1 else 1 for i in range(5)] for place in range(32)])
    test = permutation_test(a, b, statistic=statistic)
    assert_allclose(test.null_distribution, signs @ (pseudo[0] - pseudo[1]), rtol=1e-9, atol=1e-12)
    assert_allclose(test.statistic, values[0] - values[1], rtol=1e-12)
    assert_allclose(test.null_distribution[0], test.statistic, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"statistic": "gain"},
        {"statistic": "gain", "axes": ("bandwidth", "deficit")},
        {"statistic": "gain", "miss_rate": (0.0, 0.5)},
        {"statistic": "skill"},
    ],
    ids=str,
)
@pytest.mark.parametrize("ratio", [1 / 3, 1.0, 3.0])
def test_equal_gains_of_other_predictions_are_rarely_called_different(
    options: dict[str, Any], ratio: float
) -> None:
    """400 pairs of 60 rows at a nominal 5%: at most 11%, which swapping exceeds by far; 2.5 standard errors more."""
    rng = np.random.default_rng(31)
    rejected = 0
    for _ in range(400):
        sigma, y = rng.lognormal(0, 0.5, (2, 60)), rng.normal(size=60)
        errors = sigma * rng.normal(size=(2, 60)) * [[1], [ratio]]
        pair = [ucc.Intervals.from_bands(y, y - errors[i], sigma[i]) for i in (0, 1)]
        rejected += (
            permutation_test(pair[0], pair[1], n_resamples=199, seed=rng, **options).pvalue <= 0.05
        )
    assert rejected / 400 <= 0.11 + 2.5 * np.sqrt(0.11 * 0.89 / 400)


def test_many_rows_are_swapped_in_groups_with_the_same_result() -> None:
    rng = np.random.default_rng(9)
    n = 20_000
    sigma = rng.lognormal(0, 0.5, n)
    y = sigma * rng.normal(size=n)
    one = ucc.Intervals.from_bands(y, np.zeros(n), sigma * rng.lognormal(0, 0.3, n))
    two = ucc.Intervals.from_bands(y, np.zeros(n), sigma * rng.lognormal(0, 0.3, n))
    test = permutation_test(one, two, seed=0, n_resamples=1999)
    by_row = (one.lower_band / one.lower_band.mean() - two.lower_band / two.lower_band.mean()) * 1.0
    assert (test.units, test.every_swap) == (n, False)
    assert repr(test).endswith(f"1999 random swaps of {n} units)")
    width, error = one.lower_band.mean(), np.abs(y)
    critical = error / one.lower_band * width, error / two.lower_band * two.lower_band.mean()
    pull = (by_row * (critical[0].mean() + critical[1].mean()) / 2 + critical[0] - critical[1]) / n
    assert_allclose(test.null_distribution.std(), np.sqrt(np.sum(pull**2)), rtol=0.08)


def test_random_swaps_agree_with_every_swap() -> None:
    rng = np.random.default_rng(3)
    y, bands = rng.normal(size=12), rng.gamma(2, size=(4, 12))
    a, b = (ucc.Intervals.from_bands(y, y * 0.1, *pair) for pair in (bands[:2], bands[2:]))
    every_kind: list[dict[str, Any]] = [
        {},
        {"miss_rate": (0.0, 0.5)},
        {"statistic": "gain", "axes": ("excess", "deficit")},
    ]
    for options in every_kind:
        every = permutation_test(a, b, n_resamples=5000, **options)
        some = permutation_test(a, b, n_resamples=4000, seed=4, **options)
        assert every.every_swap
        assert not some.every_swap
        assert abs(every.pvalue - some.pvalue) < 4 * np.sqrt(
            every.pvalue * (1 - every.pvalue) / 4000
        )
        gaps = np.abs(some.null_distribution[:, None] - every.null_distribution).min(axis=1)
        assert gaps.max() < 1e-12


def test_the_repr_says_how_many_swaps_were_tried() -> None:
    a, b = many(8)
    assert repr(permutation_test(a, b)).endswith("two-sided, all 256 swaps of 8 units)")
    assert repr(permutation_test(a, b, n_resamples=99, seed=0)).endswith(
        "two-sided, 99 random swaps of 8 units)"
    )


def test_the_same_seed_gives_the_same_answer() -> None:
    a, b = many(200)
    first, again, other = (permutation_test(a, b, seed=seed, n_resamples=99) for seed in (1, 1, 2))
    assert_array_equal(first.null_distribution, again.null_distribution)
    assert not np.array_equal(first.null_distribution, other.null_distribution)
    assert permutation_test(a, b, n_resamples=9, seed=0).pvalue >= 0.1


def many(n: int, seed: int = 0) -> tuple[ucc.Intervals, ucc.Intervals]:
    rng = np.random.default_rng(seed)
    y, bands = rng.normal(size=n), rng.gamma(2, size=(4, n))
    return (
        ucc.Intervals.from_bands(y, np.zeros(n), bands[0], bands[1]),
        ucc.Intervals.from_bands(y, np.zeros(n), bands[2], bands[3]),
    )


def test_the_outputs_of_a_row_are_swapped_together() -> None:
    a, b = many(40)
    two = [
        ucc.Intervals.from_bands(
            *(v.reshape(20, 2) for v in (m.y_true, m.y_pred, m.lower_band, m.upper_band))
        )
        for m in (a, b)
    ]
    grouped = permutation_test(a, b, block=2, seed=3, n_resamples=99)
    rows = permutation_test(*two, seed=3, n_resamples=99)
    assert rows.units == grouped.units == 20
    assert_allclose(rows.null_distribution, grouped.null_distribution, rtol=1e-12)


def test_rows_repeated_within_blocks_are_no_more_evidence() -> None:
    a, b = many(8)
    repeated = [
        ucc.Intervals.from_bands(
            *(np.repeat(v, 5) for v in (m.y_true, m.y_pred, m.lower_band, m.upper_band))
        )
        for m in (a, b)
    ]
    once = permutation_test(a, b)
    assert_allclose(permutation_test(*repeated, block=5).pvalue, once.pvalue)
    assert_allclose(
        permutation_test(*repeated, block=np.repeat(list("hgfedcba"), 5)).pvalue, once.pvalue
    )


def test_a_constant_statistic_has_p_value_1_and_says_so() -> None:
    a, _ = many(30)
    for other in (a, a.calibrated(scale=3.0)):
        test = permutation_test(a, other, seed=0, n_resamples=99)
        assert test.pvalue == 1
        assert "the same however rows are swapped" in test.note
        assert repr(test).endswith("cannot be distinguished')")
    assert permutation_test(*many(30), seed=0).note == ""


def test_different_predictions_are_noted_where_the_statistic_judges_them() -> None:
    a, b = models(y_pred=P_B)
    judges_both: tuple[Any, ...] = ("area", "crps")
    judges_intervals: tuple[Any, ...] = ("gain", "skill", lambda iv: ucc.UCC(iv).at(1.0).miss_rate)
    for statistic in judges_both:
        assert (
            f"y_pred differ: the {statistic} judges"
            in permutation_test(a, b, statistic=statistic).note
        )
    for statistic in judges_intervals:
        assert permutation_test(a, b, statistic=statistic).note == ""


def test_progress_is_told_to_a_callable() -> None:
    seen: list[tuple[int, int]] = []
    permutation_test(
        *many(3000),
        n_resamples=999,
        seed=0,
        progress=lambda done, total: seen.append((done, total)),
    )
    permutation_test(
        *many(300),
        n_resamples=999,
        seed=0,
        miss_rate=(0, 0.5),
        progress=lambda *at: seen.append(at),
    )
    assert seen[-1] == (999, 999)
    assert all(done <= total for done, total in seen)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"block": 41}, r"`block` must not be longer than the data: 41 for 40 rows\."),
        ({"block": 0}, r"`block` must be an integer of at least 1; got 0\."),
        ({"block": 2.5}, r"`block` must be an integer of at least 1; got 2\.5\."),
        ({"block": [1, 2, 3]}, r"`block` must hold one label per row: 3 labels for 40 rows\."),
        (
            {"block": ["x"] * 40},
            r"a permutation test needs at least two blocks of rows; there is only one\.",
        ),
        (
            {"block": ["x", None] * 20},
            r"`block` must hold a label in each row: 20 of 40 rows have none, first row 1 ",
        ),
        ({"n_resamples": 0}, r"`n_resamples` must be an integer of at least 1; got 0\."),
        ({"seed": -1}, r"`seed` must be an integer of at least 0, .*; got -1\."),
        (
            {"alternative": "lesser"},
            r"`alternative` must be one of .*; got 'lesser'\. Did you mean 'less'\?",
        ),
        (
            {"statistic": "gains"},
            r"`statistic` must be one of area, gain, .*; got 'gains'\. Did you mean 'gain'\?",
        ),
        ({"coverage": 0.9}, r"`coverage` goes with score or .* or half_width, not with area\."),
        ({"statistic": "score"}, r"`coverage` must be given for score, such as coverage=0\.9\."),
        (
            {"statistic": "score", "coverage": 90},
            r"`coverage` must lie between 0 and 1, .*; got 90\. Hint: 90% is 0\.9\.",
        ),
        (
            {"statistic": "crps", "miss_rate": (0, 1)},
            r"`miss_rate` as a range goes with an area or a gain, not with cr",
        ),
        (
            {"miss_rate": (1, 0)},
            r"`miss_rate` must be a range \(low, high\) with 0 <= low <= high; got \(1, 0\)\.",
        ),
        (
            {"statistic": "scale", "coverage": 0.9, "vary": "shift"},
            r"needs bands that are scaled, not shifted",
        ),
        (
            {"statistic": lambda _: np.nan},
            r"`statistic` must return a finite number; it returned nan for `a`\.",
        ),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        permutation_test(*many(40), **options)


def test_other_rows_are_refused_in_a_sentence() -> None:
    a, b = many(40)
    with pytest.raises(ValueError, match=r"`a` and `b` must have the same rows: 40 against 39\."):
        permutation_test(a, many(39)[1])
    shuffled = ucc.Intervals.from_bands(b.y_true[::-1], b.y_pred, b.lower_band, b.upper_band)
    with pytest.raises(
        ValueError, match=r"same y_true: 40 of 40 rows differ, first row 0\. Hint: put the rows"
    ):
        permutation_test(a, shuffled)
    weighted = ucc.Intervals.from_bands(b.y_true, b.y_pred, b.lower_band, weight=np.arange(40))
    with pytest.raises(ValueError, match=r"`a` and `b` must have the same weights"):
        permutation_test(a, weighted)
    with pytest.raises(
        TypeError, match=r"`b` must be Intervals or a UCC, .* \(a sketch keeps none\); got list"
    ):
        permutation_test(a, [1, 2])  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"`vary` is for Intervals: `a` is a curve over the scale; got 'shift'"
    ):
        permutation_test(ucc.UCC(a), b, vary="shift")


def test_a_watcher_that_cannot_be_called_is_refused() -> None:
    wrong: tuple[Any, ...] = ("abc", 3, [])
    for value in wrong:
        with pytest.raises(
            TypeError,
            match=r"`progress` must be None, True, False or a callable of two integers; got",
        ):
            permutation_test(*many(9), progress=value)


def test_an_infinite_area_is_refused_but_not_a_range_that_leaves_it_out() -> None:
    rng = np.random.default_rng(7)
    y, bands = rng.normal(size=20), rng.gamma(2, size=(2, 20))
    bands[:, :2] = 0
    a, b = (ucc.Intervals.from_bands(y, np.zeros(20), band) for band in bands)
    with pytest.raises(
        ValueError,
        match=r"`a` must have a finite area: 2 of 20 rows have an error on the side of a zero",
    ):
        permutation_test(a, b)
    assert np.isfinite(
        permutation_test(a, b, miss_rate=(0.2, 0.6), seed=0, n_resamples=99).null_distribution
    ).all()
