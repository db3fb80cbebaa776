"""Data that once gave wrong answers: huge one-sided bands, zero areas, the ends of what is taken.

What float64 cannot answer to nine digits is refused in one sentence; all else is right to nine digits. Warnings are
errors here as everywhere, so an overflow that leaks is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import uccurve as ucc
from level_oracle import Nested
from oracle import FALLING, METRICS, PAIRS
from strategies import LIMIT, Data

DIGITS = 1e-9
Floats = NDArray[np.float64]


def data(error: Any, lower: Any, upper: Any, weight: Any = None) -> Data:
    """Rows around predictions of 0, from arrays or single numbers."""
    y, p, low, high = (
        tuple(np.broadcast_to(one, np.shape(error)).tolist()) for one in (error, 0.0, lower, upper)
    )
    return Data(
        y, p, low, high, None if weight is None else tuple(np.asarray(weight, float).tolist())
    )


def one_sided(name: str, n: int = 24) -> Data:
    """Ordinary errors with some bands written as a huge number."""
    rng = np.random.default_rng(30)
    error, lower, upper = rng.normal(size=n), rng.lognormal(size=n), rng.lognormal(size=n)
    if name == "all lower bounds":
        return data(error, 1e18, 2.0)
    if name == "every other side":
        return data(
            error, np.where(np.arange(n) % 2, 1e18, lower), np.where(np.arange(n) % 2, upper, 1e18)
        )
    lower[3] = 1e18
    if name == "both bounds of one row":
        upper[3] = 1e18
    return data(
        error, lower, upper, weight=rng.integers(1, 5, n) if name == "one weighted row" else None
    )


KINDS = [
    "all lower bounds",
    "every other side",
    "one row",
    "both bounds of one row",
    "one weighted row",
]


def close(found: float, exact: Fraction | float) -> None:
    assert_allclose(found, float(exact), rtol=DIGITS, atol=0)


# ---- one-sided intervals written with a huge number


@pytest.mark.parametrize("kind", KINDS)
def test_areas_of_huge_one_sided_bands_are_right_to_nine_digits_on_every_pair_of_axes(
    kind: str,
) -> None:
    rows = one_sided(kind)
    curve, oracle = rows.curve(), rows.oracle()
    for pair in PAIRS:
        close(curve.area(axes=pair), oracle.area(*pair))
        close(
            curve.area(axes=pair, miss_rate=(0.2, 0.7)), oracle.area(*pair, ("miss_rate", 0.2, 0.7))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_of_huge_one_sided_bands_are_what_the_curve_says_there(kind: str) -> None:
    curve = one_sided(kind).curve()
    table = curve.table()
    for i, scale in enumerate(table["scale"].tolist()):
        point = curve.at(scale)
        for name in METRICS:
            assert_allclose(table[name][i], getattr(point, name), rtol=DIGITS, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_costs_targets_and_scores_of_huge_one_sided_bands_are_right_to_nine_digits(
    kind: str,
) -> None:
    rows = one_sided(kind)
    curve, oracle = rows.curve(), rows.oracle()
    close(curve.potential_crps(), oracle.potential_crps())
    close(curve.skill(), 1 - oracle.potential_crps() / oracle.constant().potential_crps())
    for pair in PAIRS:
        close(curve.cheapest(0.3, axes=pair).cost, oracle.cheapest(0.3, *pair)[0])
    for name in METRICS:
        ends = oracle.value(name, oracle.start), oracle.value(name, oracle.end)
        goal = float(ends[0] + (ends[1] - ends[0]) * Fraction(2, 5))
        found, exact = curve.find(**{name: goal}), oracle.reach(name, goal)
        assert exact is not None
        close(found.scale, exact)
        if name not in FALLING:
            close(getattr(found, name), goal)


@pytest.mark.parametrize("band", [1e9, 1e16, 1e18, 1e100])
@pytest.mark.parametrize("kind", KINDS)
def test_bands_too_wide_to_add_a_shift_to_are_refused_over_the_shift(
    kind: str, band: float
) -> None:
    rows = one_sided(kind)
    lower, upper = (
        tuple(band if one == 1e18 else one for one in side)
        for side in (rows.lower_band, rows.upper_band)
    )
    iv = Data(rows.y_true, rows.y_pred, lower, upper, rows.weight).intervals()
    curve, error = ucc.UCC(iv, vary="shift"), np.sum(iv.weight * np.abs(iv.y_true))
    sentence = (
        rf'^`vary="shift"` needs bands and errors of comparable size: the largest band is {band:.3g}, the mean error '
        rf"{error:.3g}, which float64 cannot add to nine digits\. Hint: leave out or cap such bands\.$"
    ).replace("+", r"\+")
    for ask in every_question(curve):
        with pytest.raises(ValueError, match=sentence):
            ask()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.99])
def test_bands_below_the_limit_are_answered_to_nine_digits_over_the_shift(share: float) -> None:
    rng = np.random.default_rng(31)
    error, lower, upper = rng.normal(size=16), rng.lognormal(size=16), rng.lognormal(size=16)
    lower[3] = upper[5] = share * LIMIT * np.mean(np.abs(error))
    rows = data(error, lower, upper)
    curve, oracle = rows.curve("shift"), rows.oracle("shift")
    for pair in PAIRS:
        close(curve.area(axes=pair), oracle.area(*pair))
    close(curve.potential_crps(), oracle.potential_crps())


@pytest.mark.parametrize("seed", range(40))
def test_errors_of_a_few_roundings_are_answered_to_nine_digits_over_the_shift_or_refused(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=5)
    off, lower, upper = (
        rng.integers(-40, 41, 5) * 2.0**-52,
        *rng.lognormal(size=(2, 5)) * 10.0 ** rng.integers(-12, 1),
    )
    true, pred, low, high = (tuple(column.tolist()) for column in (y, y * (1 + off), lower, upper))
    rows = Data(true, pred, low, high, None)
    oracle = rows.oracle("shift")
    curve: Any = ucc.UCC(rows.intervals(), vary="shift")
    try:
        curve.at(0.0)
    except ValueError as error:
        assert "which float64 cannot add to nine digits" in str(error)  # noqa: PT017  # other errors are failures too
        return
    for pair in PAIRS:
        close(curve.area(axes=pair), oracle.area(*pair))


@pytest.mark.parametrize("kind", KINDS)
def test_levels_too_wide_to_go_between_are_refused(kind: str) -> None:
    outer = one_sided(kind).intervals()
    inner = ucc.Intervals.from_bands(
        outer.y_true, outer.y_pred, np.minimum(outer.lower_band, 0.1), np.minimum(outer.upper_band, 0.1),
        weight=None if kind != "one weighted row" else one_sided(kind).weight,
    )  # fmt: skip
    for levels in ({0.5: inner, 0.9: outer}, {0.9: outer}):
        curve = ucc.UCC.from_levels(levels)
        for ask in every_question(curve):
            with pytest.raises(
                ValueError, match=r"^a curve of levels needs bands and errors of comparable size: "
            ):
                ask()
        assert curve.decompose(coverage=0.9) == ucc.UCC(outer).decompose(coverage=0.9)


def test_levels_close_to_each_other_are_refused_where_their_bands_are_not() -> None:
    inner, outer = data([1.0, 2.0], 1.0, 1.0), data([1.0, 2.0], 3.0, 3.0)
    near = Nested((0.5, 0.5 + 1e-9), (inner, outer))
    with pytest.raises(
        ValueError, match="a curve of levels needs bands and errors of comparable size"
    ):
        ucc.UCC.from_levels(
            {p: level.intervals() for p, level in zip(near.names, near.levels, strict=True)}
        ).at(1.0)


def test_wide_levels_below_the_limit_are_answered_to_nine_digits() -> None:
    rng = np.random.default_rng(32)
    error, lower, upper = rng.normal(size=12), rng.lognormal(size=12), rng.lognormal(size=12)
    wider = 2 * upper
    wider[3] = 1e6
    levels = Nested((0.5, 0.9), (data(error, lower, upper), data(error, 1.5 * lower, wider)))
    curve, oracle = levels.curve(), levels.oracle()
    for pair in PAIRS:
        close(curve.area(axes=pair), oracle.area(*pair))  # type: ignore[arg-type]  # names from a list
    close(curve.potential_crps(), oracle.potential_crps())


# ---- rows of very different sizes


def hostile(seed: int) -> Data:
    """A few rows with errors from 1e-17 to 1e3 and bands from 1e-12 to 1e8, many of them ties or zeros."""
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(1, 7)), seed % 3
    error, bands = 10.0 ** rng.uniform(-17, 3, n), 10.0 ** rng.uniform(-12, 8, (2, n))
    if kind == 1:
        error, bands = 10.0 ** rng.uniform(-17, 0, n), 10.0 ** rng.uniform(-3, 3, (2, n))
    if kind == 2:
        error = rng.choice([0, 2.0**-53, 2.0**-52, 2.0**-30, 1, 3], n)
        bands = rng.choice([0, 1, 1, 2.5, 1e3, 2.0**-20], (2, n))
    weight = None if rng.random() < 0.6 else 10.0 ** rng.uniform(-6, 6, n)
    return data(error * rng.choice([-1, 1], n), bands[0], bands[1], weight)


def hostile_levels(seed: int) -> Nested:
    """Two or three levels of hostile rows, some next to each other."""
    rng, rows = np.random.default_rng(seed + 10**6), hostile(seed)
    names = [(0.5, 0.9), (0.1, 0.5, 0.8), (0.5, 0.5 + 10.0 ** -int(rng.integers(2, 9)))][
        int(rng.integers(0, 3))
    ]
    levels = [rows]
    for _ in names[1:]:
        shape = (2, len(rows.y_true))
        low, high = np.array([levels[-1].lower_band, levels[-1].upper_band]) + 10.0 ** rng.uniform(
            -12, 2, shape
        )
        levels.append(data(np.array(rows.y_true), low, high, rows.weight))
    return Nested(names, tuple(levels))


def within_nine_digits(curve: Any, oracle: Any) -> None:
    """Fail unless both ends of the curve and all areas are right to 1e-9 of their size; lengths begin at mean error."""
    try:
        table = curve.table()
    except ValueError as error:
        assert "which float64 cannot add to nine digits" in str(error)  # noqa: PT017  # other errors are failures too
        return
    mean_error = sum(row.weight * row.error for row in oracle.rows)
    size = {}
    for name in METRICS:
        exact = [float(oracle.value(name, t)) for t in (oracle.start, oracle.end)]
        size[name] = 1.0 if name == "miss_rate" else max(*exact, float(mean_error))
        assert_allclose(table[name][[0, -1]], exact, rtol=0, atol=DIGITS * size[name])
    for x, y in PAIRS:
        found = curve.area(axes=(x, y))
        assert_allclose(found, float(oracle.area(x, y)), rtol=0, atol=DIGITS * size[x] * size[y])


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_very_different_sizes_are_answered_to_nine_digits_over_the_shift_or_refused(
    seed: int,
) -> None:
    rows = hostile(seed)
    within_nine_digits(ucc.UCC(rows.intervals(), vary="shift"), rows.oracle("shift"))


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_very_different_sizes_are_answered_to_nine_digits_over_levels_or_refused(
    seed: int,
) -> None:
    rows = hostile_levels(seed)
    given = {name: level.intervals() for name, level in zip(rows.names, rows.levels, strict=True)}
    within_nine_digits(ucc.UCC.from_levels(given), rows.oracle())


def test_an_error_that_vanishes_beside_the_largest_band_is_still_missed_at_the_start_of_a_shift() -> (
    None
):
    rows = data([2.0**-53, 3.0, 0.0], 1000.0, 1000.0)
    curve = ucc.UCC(rows.intervals(), vary="shift")
    assert_allclose(curve.table()["miss_rate"], [2 / 3, 1 / 3, 0], rtol=1e-15)
    close(
        curve.area(axes=("miss_rate", "deficit")), rows.oracle("shift").area("miss_rate", "deficit")
    )


def test_a_bound_that_becomes_the_nearer_one_as_a_level_covers_its_row_is_seen() -> None:
    error = [2.0**-53, 1.0, 3.0]
    inner = data(error, [0.0, 1.0, 1.0], [0.0, 1.0, 1.0])
    outer = data(error, [1e-8, 2.0, 4.5], [1.25, 2.0, 1.25])
    levels = Nested((0.5, 0.9), (inner, outer))
    curve, oracle = levels.curve(), levels.oracle()
    close(curve.table()["excess"][-1], oracle.value("excess", oracle.end))
    close(curve.area(axes=("excess", "deficit")), oracle.area("excess", "deficit"))


def test_steep_slopes_between_close_levels_leave_nothing_behind() -> None:
    error = [-1e-15, -90.0, 5e-6]
    inner = data(error, [6e-7, 0.05, 1e5], [8e-5, 4e-4, 2e-5])
    outer = data(error, [8.5, 0.05, 1e5], [0.0045, 0.11, 8e-5])
    levels = Nested((0.5, 0.5 + 1e-7), (inner, outer))
    curve, oracle = levels.curve(), levels.oracle()
    for name in METRICS:
        close(curve.table()[name][-1], oracle.value(name, oracle.end))


def test_no_digits_are_lost_far_above_close_levels() -> None:
    error = [3e-12, 4e-15, -900.0, 2e-15]
    inner = data(error, [1e-8, 6e-7, 6e-9, 9e-10], [1e-8, 6e-7, 6e-9, 9e-10])
    outer = data(error, [1.3e-8, 6e-7, 2.2e-8, 1.6e-8], [2e-6, 6e-7, 6e-9, 1e-5])
    levels = Nested((0.5, 0.50000001), (inner, outer))
    curve, oracle = levels.curve(), levels.oracle()
    for name in METRICS:
        close(curve.table()[name][-1], oracle.value(name, oracle.end))


# ---- nothing to compare


@pytest.mark.parametrize("vary", ["scale", "shift", "levels"])
def test_rows_without_error_are_carried_by_none(vary: Any) -> None:
    iv = ucc.Intervals.from_bands(
        [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.5, 0.0, 2.0], [1.0, 1.0, 0.0]
    )
    curve: Any = ucc.UCC.from_levels({0.5: iv}) if vary == "levels" else ucc.UCC(iv, vary=vary)
    for pair in PAIRS:
        if pair[1] in FALLING:
            assert curve.concentration(axes=pair) == 0


@pytest.mark.parametrize("weight", [None, [0.3, 0.1, 0.7] * 3 + [0.11]])
@pytest.mark.parametrize("unit", [1.0, 1e-98, 1e99, 1 / 3])
@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_a_gain_is_nan_where_both_areas_are_zero_and_only_there(
    vary: str, unit: float, weight: Any
) -> None:
    rows = data(np.full(10, 0.1 * unit), 0.3 * unit, 0.3 * unit, weight)
    oracle = rows.oracle(vary)
    seen = set()
    for pair in PAIRS:
        mine, theirs = oracle.area(*pair), oracle.constant().area(*pair)
        gain = ucc.UCC(rows.intervals(), vary=vary).gain(axes=pair)  # type: ignore[arg-type]
        if theirs == 0:
            assert mine == 0
            assert np.isnan(gain), pair
            seen.add(pair)
        else:
            assert_allclose(gain, float(1 - mine / theirs), rtol=0, atol=1e-12)
    assert ("excess", "deficit") in seen


def test_an_area_of_nothing_is_never_better_than_one_of_something() -> None:
    exact = ucc.Intervals.from_bands([0.1] * 10, [0] * 10, [0.1] * 9 + [0.2])
    assert (
        ucc.UCC(exact).gain(axes=("excess", "deficit")) == -np.inf
    )  # the constant band's area is 0, this one is not


# ---- flags


@pytest.mark.parametrize("value", ["abc", "", 1, 0, None, 1.0, [True], np.array([True])])
def test_a_flag_that_is_no_truth_value_is_refused(value: Any) -> None:
    iv = ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [1.0, 1.0])
    for curve in (ucc.UCC(iv), ucc.UCC(iv, vary="shift"), ucc.UCC.from_levels({0.9: iv})):
        with pytest.raises(TypeError, match=r"^`conformal` must be True or False; got "):
            curve.find(coverage=0.5, conformal=value)


# ---- the ends of what is taken, 1e-100 to 1e100


def every_question(curve: Any) -> Iterator[Callable[[], object]]:
    """All that can be asked of a curve."""
    yield from (curve.points, curve.table, curve.potential_crps, curve.skill, curve._repr_html_)
    yield from (lambda: curve.at(1.0), lambda: curve.at(0.0), lambda: curve.find(coverage=0.5))
    if curve.vary != "levels":  # there the model's own interval is scored, over the scale
        yield from (
            lambda: curve.interval_score(coverage=0.9),
            lambda: curve.decompose(coverage=0.5),
        )
    for pair in PAIRS:
        yield lambda pair=pair: curve.area(axes=pair)  # type: ignore[misc]
        yield lambda pair=pair: curve.area(axes=pair, miss_rate=(0.0, 0.5))  # type: ignore[misc]
        yield lambda pair=pair: curve.gain(axes=pair)  # type: ignore[misc]
        yield lambda pair=pair: curve.cheapest(0.3, axes=pair)  # type: ignore[misc]
        if {*FALLING} & {*pair}:
            yield lambda pair=pair: curve.concentration(axes=pair)  # type: ignore[misc]


def numbers(answer: Any) -> Iterator[float]:
    """The numbers in an answer of any kind."""
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, float | int | np.ndarray):
        yield from np.ravel(answer).tolist()
    elif isinstance(answer, list):
        for one in answer:
            yield from numbers(one)
    elif not isinstance(answer, str | None):
        values = (getattr(answer, name) for name in answer.__dataclass_fields__)
        yield from (
            one for value in values if not isinstance(value, tuple) for one in numbers(value)
        )


def rows_near(size: float) -> list[ucc.Intervals]:
    """Asymmetric, symmetric and weighted rows of one size, some of them on a bound, one without an error."""
    error = size * np.array([1.0, -0.5, 0.0, 0.25, -0.75, 0.5])
    lower, upper = (
        size * np.array([0.5, 0.25, 0.25, 1, 0.25, 0]),
        size * np.array([0.25, 1, 0.5, 0.5, 0.125, 0.75]),
    )
    make = ucc.Intervals.from_bands
    return [
        make(error, np.zeros(6), lower, upper),
        make(error, np.zeros(6), np.maximum(lower, upper)),
        make(error, np.zeros(6), lower, upper, weight=[1, 2, 0, 3, 1, 1]),
    ]


@pytest.mark.parametrize("vary", ["scale", "shift", "levels"])
@pytest.mark.parametrize("size", [2.0**331, 2.0**300, 2.0**-300, 2.0**-328])
def test_rows_at_the_ends_of_the_range_are_answered_without_a_warning(
    size: float, vary: Any
) -> None:
    for iv in rows_near(size):
        curve: Any = ucc.UCC.from_levels({0.9: iv}) if vary == "levels" else ucc.UCC(iv, vary=vary)
        for ask in every_question(curve):
            ask()


@pytest.mark.parametrize("vary", ["scale", "shift"])
@pytest.mark.parametrize("size", [2.0**331, 2.0**300, 2.0**-300, 2.0**-328])
def test_rows_at_the_ends_of_the_range_have_the_answers_of_rows_near_one(
    size: float, vary: Any
) -> None:
    for far, here in zip(rows_near(size), rows_near(1.0), strict=True):
        theirs, mine = ucc.UCC(far, vary=vary), ucc.UCC(here, vary=vary)
        t = size if vary == "shift" else 1.0
        assert_allclose(
            list(numbers(theirs.at(t / 2, unit=size)))[2:],
            list(numbers(mine.at(0.5)))[2:],
            rtol=1e-15,
        )
        assert_allclose(theirs.potential_crps(unit=size), mine.potential_crps(), rtol=1e-14)
        assert_allclose(theirs.skill(), mine.skill(), rtol=1e-12)
        assert_allclose(
            getattr(theirs.find(coverage=0.6), vary), t * getattr(mine.find(coverage=0.6), vary)
        )
        for pair in PAIRS:
            axes: Any = pair
            assert_allclose(theirs.gain(axes=axes), mine.gain(axes=axes), rtol=1e-12, atol=1e-14)
            assert_allclose(theirs.area(axes=axes, unit=size), mine.area(axes=axes), rtol=1e-12)
        parts, expected = (
            theirs.decompose(coverage=0.8, unit=size),
            mine.decompose(coverage=0.8),
        )
        for part in fields(expected):
            values = getattr(parts, part.name), getattr(expected, part.name)
            assert_allclose(*values, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("size", [1.1e100, 1e160, 1e300, 0.9e-100, 1e-160, 5e-324])
def test_numbers_beyond_the_range_are_refused_at_the_door(size: float) -> None:
    sentence = (
        r"^`y_true` must be 0 or from 1e-100 to 1e\+100 in size: 1 of 3 rows is not, first row 1 \(.*\)\. "
        r"Hint: divide all columns by a common unit first\.$"
    )
    with pytest.raises(ValueError, match=sentence):
        ucc.Intervals.from_bands([0.0, size, 1.0], [0.0] * 3, [1.0] * 3)
    bound = np.array([1.0, size, 1.0])
    sentence = r"`upper` must be 0 or from 1e-100 to 1e\+100 in size|`upper_band` must be 0 or from"
    with pytest.raises(ValueError, match=sentence):
        ucc.Intervals.from_bounds([0.0] * 3, [0.0] * 3, -np.ones(3), bound)


@pytest.mark.parametrize("size", [1.1e100, 1e105, 1e300])
def test_a_bound_that_may_stand_for_none_is_refused_with_the_side_that_remains(size: float) -> None:
    y, p = [1.0, -1.0], [0.0, 0.0]
    hint = r"Hint: where it stands for no bound, pass side=\"{}\" to judge the other one alone\.$"
    with pytest.raises(ValueError, match=hint.format("upper")):
        ucc.Intervals.from_bounds(y, p, [-size, -size], [1.0, 1.0])
    with pytest.raises(ValueError, match=hint.format("lower")):
        ucc.Intervals.from_bands(y, p, [1.0, 1.0], [1.0, size])
    with pytest.raises(ValueError, match=r"Hint: divide all columns by a common unit first\.$"):
        ucc.Intervals.from_bounds(y, p, upper=[1.0, size])
    judged = ucc.Intervals.from_bounds(y, p, [-size, -size], [1.0, 1.0], side="upper")
    assert judged.side == "upper"


def test_a_shift_of_one_is_a_shift_of_one_for_the_smallest_numbers_too() -> None:
    curve = ucc.UCC(
        ucc.Intervals.from_bands([1e-100, 3e-100], [0, 0], [1e-100, 2e-100]), vary="shift"
    )
    for shift in (1.0, 1e90):
        point = curve.at(shift)
        assert (point.shift, point.miss_rate) == (shift, 0)
        assert_allclose([point.bandwidth, point.excess, point.overshoot], shift, rtol=1e-15)


@pytest.mark.parametrize(
    ("error", "band"),
    [
        ([1e100, 1e100], [1e-100, 1e100]),
        ([1e60, 1.0], [1e-90, 1e80]),
        ([1e99, 0.0], [1e-100, 1e100]),
    ],
)
def test_a_scale_beyond_float64_is_refused_and_not_treated_as_infinite(
    error: list[float], band: list[float]
) -> None:
    curve = ucc.UCC(ucc.Intervals.from_bands(error, [0, 0], band))
    sentence = r"^bands and errors must be of comparable size: .*float64.*\. Hint: raise such bands with `min_band`\.$"
    for ask in every_question(curve):
        with pytest.raises(ValueError, match=sentence):
            ask()
    raised = ucc.Intervals.from_bands(error, [0, 0], band, min_band="5%")
    assert np.isfinite(ucc.UCC(raised).area())


def test_infinite_is_said_of_what_lies_beyond_float64_and_of_nothing_else() -> None:
    curve = ucc.UCC(rows_near(2.0**331)[0])
    assert np.isfinite(list(numbers(curve.find(miss_rate=0.0)))).all()
    assert curve.at(1e300).bandwidth == np.inf
    assert curve.at(8.0).bandwidth == 8 * curve.at(1.0).bandwidth
    assert np.isfinite(curve.area(axes=("bandwidth", "deficit")))


@pytest.mark.parametrize("power", [-320, -160, 160, 320])
def test_an_assessment_says_the_same_of_rows_at_the_ends_of_the_range(power: int) -> None:
    rng = np.random.default_rng(1)
    error, bands, others = rng.normal(size=40), *np.exp(rng.normal(size=(2, 40)))

    def assessed(unit: float) -> ucc.Assessment:
        models = {name: unit * band for name, band in {"A": bands, "B": others}.items()}
        data = {
            name: ucc.Intervals.from_bands(unit * error, np.zeros(40), band)
            for name, band in models.items()
        }
        return ucc.assess(data, coverage=0.8, by=np.arange(40) % 2)

    far, here = assessed(2.0**power), assessed(1.0)
    assert 0.1 < here.comparisons[0].pvalue < 0.9
    assert_allclose(far.comparisons[0].pvalue, here.comparisons[0].pvalue, rtol=DIGITS)
    for mine, theirs in zip(here.rows, far.rows, strict=True):
        for name in ("score", "crps", "half_width"):
            assert_allclose(ends(theirs, name), 2.0**power * ends(mine, name), rtol=DIGITS)
        for name in ("coverage", "scale", "skill"):
            assert_allclose(ends(theirs, name), ends(mine, name), rtol=DIGITS)
        gains = [row.gains["bandwidth_deficit"] for row in (theirs, mine)]
        assert_allclose(gains[0].high, gains[1].high, rtol=DIGITS)


def ends(row: ucc.ModelRow, name: str) -> Floats:
    """A value of a row with both ends of its interval."""
    estimate: ucc.Estimate = getattr(row, name)
    return np.array([estimate.value, estimate.low, estimate.high])


def test_an_assessment_of_the_largest_numbers_warns_of_nothing() -> None:
    iv = ucc.Intervals.from_bands([1e100, -1e100, 3e99], [0, 0, 0], [1e100, 1e99, 1e100])
    assert ucc.assess({"A": iv, "B": iv.calibrated(scale=0.5)}, coverage=0.5).verdict.model == "A"
