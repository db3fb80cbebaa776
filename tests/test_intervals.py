"""Intervals take data by position and exactly, and do not change afterwards."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import uccurve as ucc

Array = NDArray[np.float64]

NAMES = ("y_true", "y_pred", "lower", "upper", "lower_band", "upper_band")


def pickled(intervals: ucc.Intervals) -> Any:
    """What comes back from a pickle."""
    return pickle.loads(pickle.dumps(intervals))  # noqa: S301  # our own


def sample() -> ucc.Intervals:
    """Asymmetric, off-centre rows: one on its upper bound, one missed below."""
    return ucc.Intervals.from_bounds(
        [3.0, 2.0, -9.0], [1.0, 2.5, 5.0], [0.5, 1.0, 3.0], [3.0, 4.0, 5.5]
    )


def same(one: ucc.Intervals, other: ucc.Intervals) -> None:
    for name in NAMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.weight, other.weight)
    assert (one.raised, one.dropped) == (other.raised, other.dropped)


# ---- constructors


def test_bounds_are_kept_and_bands_are_their_distances() -> None:
    iv = sample()
    assert iv.lower.tolist() == [0.5, 1.0, 3.0]
    assert iv.upper.tolist() == [3.0, 4.0, 5.5]
    assert iv.lower_band.tolist() == [0.5, 1.5, 2.0]
    assert iv.upper_band.tolist() == [2.0, 1.5, 0.5]
    assert len(iv) == 3
    assert not iv.symmetric


def test_bands_give_the_bounds() -> None:
    iv = ucc.Intervals.from_bands([3.0, 2.0], [1.0, 2.5], [0.5, 1.5], [2.0, 0.25])
    assert iv.lower.tolist() == [0.5, 1.0]
    assert iv.upper.tolist() == [3.0, 2.75]


def test_one_band_serves_both_sides() -> None:
    iv = ucc.Intervals.from_bands([3.0, 2.0], [1.0, 2.5], [0.5, 1.5])
    assert iv.symmetric
    assert iv.upper.tolist() == [1.5, 4.0]
    same(iv, ucc.Intervals.from_std([3.0, 2.0], [1.0, 2.5], [0.5, 1.5]))


def test_draws_give_their_median_and_central_quantiles() -> None:
    draws = np.array([[0.0, 10.0], [4.0, 50.0], [1.0, 20.0], [3.0, 40.0], [2.0, 30.0]])
    iv = ucc.Intervals.from_samples([1.0, 9.0], draws, level=0.5)
    assert (iv.y_pred.tolist(), iv.lower.tolist(), iv.upper.tolist()) == (
        [2.0, 30.0],
        [1.0, 20.0],
        [3.0, 40.0],
    )
    wide = ucc.Intervals.from_samples([1.0, 9.0], draws, level=0.9)
    np.testing.assert_allclose(wide.lower, np.quantile(draws, 0.05, axis=0), rtol=1e-14)
    np.testing.assert_allclose(wide.upper, np.quantile(draws, 0.95, axis=0), rtol=1e-14)
    several = ucc.Intervals.from_samples(
        np.zeros((2, 3)), np.random.default_rng(0).normal(size=(40, 2, 3))
    )
    assert several.lower.shape == (2, 3)


@pytest.mark.parametrize("level", [0.0, 1e-17, 1e-9, 0.3, 1.0])
def test_the_median_of_draws_lies_between_their_quantiles_at_any_level(level: float) -> None:
    draws = np.random.default_rng(1).normal(size=(30, 500))
    assert (
        len(ucc.Intervals.from_samples(np.zeros(500), draws, level=level)) == 500
    )  # refused where it did not


def test_the_callers_draws_are_left_alone() -> None:
    draws = np.array([[0.0, np.nan], [1.0, 2.0], [1.7e99, 3.0]])
    before = draws.copy()
    with pytest.warns(ucc.DroppedRowsWarning):
        ucc.Intervals.from_samples([0.0, 1.0], draws, missing="drop")
    np.testing.assert_array_equal(draws, before)


@pytest.mark.parametrize(
    "convert", [list, tuple, np.array, lambda v: np.array(v)[::-1][::-1], np.asfortranarray]
)
def test_lists_tuples_and_arrays_of_any_stride_are_alike(convert: Callable[[Any], Any]) -> None:
    columns = [3.0, 2.0, -9.0], [1.0, 2.5, 5.0], [0.5, 1.0, 3.0], [3.0, 4.0, 5.5]
    same(ucc.Intervals.from_bounds(*map(convert, columns)), sample())


def test_pandas_is_taken_by_position_whatever_its_index_says() -> None:
    pd = pytest.importorskip("pandas")
    truth = pd.Series([3.0, 2.0, -9.0], index=[2, 0, 1])
    pred, lower = (
        pd.Series([1.0, 2.5, 5.0], index=[0, 1, 2]),
        pd.Series([0.5, 1.0, 3.0], index=["c", "b", "a"]),
    )
    same(
        ucc.Intervals.from_bounds(truth, pred, lower, pd.Series([3.0, 4.0, 5.5], index=[7, 7, 7])),
        sample(),
    )


def test_polars_is_taken_by_position() -> None:
    pl = pytest.importorskip("polars")
    columns = [3.0, 2.0, -9.0], [1.0, 2.5, 5.0], [0.5, 1.0, 3.0], [3.0, 4.0, 5.5]
    same(ucc.Intervals.from_bounds(*map(pl.Series, columns)), sample())


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32])
def test_small_types_become_float64_without_rounding(dtype: type[np.generic]) -> None:
    values = np.array([3, 100, 17], dtype)
    iv = ucc.Intervals.from_bands(values, values, values)
    assert iv.y_true.dtype == np.float64
    assert iv.lower.tolist() == [0.0, 0.0, 0.0]  # uint8 arithmetic would wrap in the bounds
    assert iv.upper.tolist() == [6.0, 200.0, 34.0]


def test_float32_keeps_its_value_not_its_digits() -> None:
    tenth = np.float32(0.1)
    iv = ucc.Intervals.from_bands(np.array([tenth]), [0.0], [1.0])
    assert iv.y_true[0] == float(tenth) != 0.1


def test_two_dimensions_are_kept() -> None:
    y = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    iv = ucc.Intervals.from_bands(y, y + 0.5, np.full((2, 3), 2.0), np.full((2, 3), 0.25))
    assert (iv.lower.shape, iv.upper_band.shape, iv.weight.shape, len(iv)) == (
        (2, 3),
        (2, 3),
        (2, 3),
        2,
    )
    assert repr(iv) == "Intervals(2 rows x 3 outputs, miss_rate 0, bandwidth 1.125)"


# ---- weights


def test_weights_sum_to_one() -> None:
    iv = ucc.Intervals.from_bands([1, 2, 3], [0, 0, 0], [1, 1, 1], weight=[1, 2, 5])
    np.testing.assert_allclose(iv.weight, [0.125, 0.25, 0.625], rtol=1e-15)
    np.testing.assert_allclose(sample().weight, [1 / 3] * 3, rtol=1e-15)


def test_outputs_share_the_weight_of_their_row() -> None:
    iv = ucc.Intervals.from_bands(np.zeros((2, 2)), np.ones((2, 2)), np.ones((2, 2)), weight=[1, 3])
    np.testing.assert_allclose(iv.weight, [[0.125, 0.125], [0.375, 0.375]], rtol=1e-15)


# ---- raised bands


def test_smaller_and_negative_bands_are_raised_and_counted() -> None:
    iv = ucc.Intervals.from_bounds(
        [1.0, 2.0, 3.0], [1.0, 5.0, 3.0], [0.0, 1.0, 2.9], [2.0, 4.0, 3.5], min_band=0.5
    )
    assert iv.raised == 2  # the upper band of -1 and the lower one of 0.1
    np.testing.assert_allclose(iv.lower_band, [1.0, 4.0, 0.5], rtol=1e-15)
    assert iv.upper_band.tolist() == [1.0, 0.5, 0.5]
    assert iv.lower.tolist() == [0.0, 1.0, 2.5]
    assert iv.upper.tolist() == [2.0, 5.5, 3.5]
    assert repr(iv).endswith(", 2 bands raised)")


def test_a_percentage_is_one_of_the_mean_half_width_before_raising() -> None:
    # half-widths 1, 3 and 2: 50 % of their mean is 1
    columns: tuple[Any, ...] = ([0.0] * 3, [0.0, 4.0, 0.0], [-1.0, -3.0, 0.0], [1.0, 3.0, 4.0])
    iv = ucc.Intervals.from_bounds(*columns, min_band="50%")
    assert iv.upper_band.tolist() == [1.0, 1.0, 4.0]
    assert iv.lower_band.tolist() == [1.0, 7.0, 1.0]
    assert iv.raised == 2
    weighted = ucc.Intervals.from_bounds(*columns, min_band="50 %", weight=[0, 1, 0])
    assert weighted.upper_band.tolist() == [1.5, 1.5, 4.0]


def test_one_raised_band_for_both_sides_counts_twice() -> None:
    iv = ucc.Intervals.from_bands([0.0, 0.0], [0.0, 0.0], [-1.0, 2.0], min_band=0.5)
    assert (iv.raised, iv.symmetric, iv.lower_band.tolist()) == (2, True, [0.5, 2.0])


def test_nothing_is_raised_without_being_asked() -> None:
    iv = ucc.Intervals.from_bands([0.0, 0.0], [0.0, 0.0], [0.0, 1e-90], [0.0, 2.0])
    assert (iv.raised, iv.lower_band.tolist()) == (0, [0.0, 1e-90])
    assert ucc.Intervals.from_bounds([0.0], [0.0], [0.0], [1.0], min_band=0.0).raised == 0


# ---- derived intervals


def test_the_constant_reference_has_the_weighted_mean_half_width() -> None:
    iv = ucc.Intervals.from_bands([1, 2], [1, 5], [1, 2], [3, 4], weight=[3, 1])
    flat = iv.constant()
    assert flat.symmetric
    np.testing.assert_allclose(flat.lower_band, [2.25, 2.25], rtol=1e-15)
    np.testing.assert_allclose(flat.upper, [3.25, 7.25], rtol=1e-15)
    np.testing.assert_array_equal(flat.weight, iv.weight)
    np.testing.assert_array_equal(flat.y_true, iv.y_true)


def test_the_constant_reference_of_zero_bands_is_one() -> None:
    assert ucc.Intervals.from_bands([1, 2], [1, 5], [0, 0]).constant().lower_band.tolist() == [
        1.0,
        1.0,
    ]


def test_calibrated_bands_are_scaled_then_shifted_and_never_negative() -> None:
    iv = sample().calibrated(scale=2.0, shift=-2.5)
    assert iv.lower_band.tolist() == [0.0, 0.5, 1.5]
    assert iv.upper_band.tolist() == [1.5, 0.5, 0.0]
    assert iv.lower.tolist() == [1.0, 2.0, 3.5]
    assert sample().calibrated() is not None
    same(sample().calibrated(), sample())


def test_calibration_keeps_symmetry_weights_and_counts() -> None:
    iv = ucc.Intervals.from_bands([0.0, 1.0], [0.0, 0.0], [0.1, 2.0], weight=[1, 3], min_band=0.5)
    moved = iv.calibrated(scale=3.0)
    assert moved.symmetric
    assert moved.raised == 2
    np.testing.assert_array_equal(moved.weight, iv.weight)


@pytest.mark.parametrize(
    "rows", [slice(1, 3), [1, 2], np.array([1, 2]), [False, True, True], [-2, -1], (1, 2)]
)
def test_rows_are_chosen_by_slice_mask_or_number(rows: Any) -> None:
    part = sample()[rows]
    assert part.y_true.tolist() == [2.0, -9.0]
    assert part.upper_band.tolist() == [1.5, 0.5]
    assert not part.y_true.flags.writeable


def test_chosen_rows_keep_their_weights_and_symmetry() -> None:
    iv = ucc.Intervals.from_bands([1, 2, 3], [0, 0, 0], [1, 2, 3], weight=[1, 2, 6])
    part = iv[[2, 1, 2]]
    assert part.symmetric
    np.testing.assert_allclose(part.weight, [6 / 14, 2 / 14, 6 / 14], rtol=1e-15)
    both = ucc.Intervals.from_bands(
        np.zeros((3, 2)), np.zeros((3, 2)), np.ones((3, 2)), weight=[1, 2, 6]
    )[1:]
    np.testing.assert_allclose(both.weight, [[1 / 8, 1 / 8], [3 / 8, 3 / 8]], rtol=1e-15)


# ---- frozen


def test_fields_cannot_be_set_or_removed() -> None:
    iv = sample()
    with pytest.raises(dataclasses.FrozenInstanceError):
        iv.y_true = np.zeros(3)  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del iv.lower
    with pytest.raises((AttributeError, TypeError)):
        iv.raised = 3  # type: ignore[misc]


def arrays_of(iv: ucc.Intervals) -> list[Array]:
    return [*(getattr(iv, name) for name in NAMES), iv.weight]


@pytest.mark.parametrize(
    "make",
    [
        sample,
        lambda: sample().constant(),
        lambda: sample().calibrated(scale=2.0),
        lambda: sample()[[0, 1]],
        lambda: ucc.Intervals.from_std([1.0], [0.0], [1.0], weight=[2.0]),
        lambda: ucc.Intervals.from_samples([1.0], [[0.0], [1.0]]),
        lambda: pickle.loads(pickle.dumps(sample())),  # noqa: S301  # our own bytes
        lambda: copy.deepcopy(sample()),
    ],
)
def test_every_array_is_read_only(make: Callable[[], ucc.Intervals]) -> None:
    for array in arrays_of(make()):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_later_changes_of_the_callers_arrays_do_not_reach_in() -> None:
    columns = [
        np.array(c) for c in ([3.0, 2.0, -9.0], [1.0, 2.5, 5.0], [0.5, 1.0, 3.0], [3.0, 4.0, 5.5])
    ]
    weight = np.array([1.0, 1.0, 1.0])
    iv = ucc.Intervals.from_bounds(*columns, weight=weight)
    for array in (*columns, weight):
        array[:] = 99.0
    same(iv, ucc.Intervals.from_bounds([3.0, 2.0, -9.0], [1.0, 2.5, 5.0], [0.5, 1.0, 3.0], [3.0, 4.0, 5.5], weight=[1, 1, 1]))  # fmt: skip  # noqa: E501


def test_the_callers_arrays_stay_writeable_and_as_they_were() -> None:
    band, weight = np.array([-1.0, 2.0]), np.array([1e99, 1e99])
    ucc.Intervals.from_bands([0.0, 0.0], [0.0, 0.0], band, weight=weight, min_band=0.5)
    assert (band.tolist(), weight.tolist()) == ([-1.0, 2.0], [1e99, 1e99])
    band[0] = 3.0


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize(
    "iv",
    [
        sample(),
        sample().constant(),
        ucc.Intervals.from_bands([1, 2], [0, 0], [0.1, 2], weight=[1, 3], min_band=0.5),
        ucc.Intervals.from_bands(np.zeros((2, 2)), np.ones((2, 2)), np.ones((2, 2)), weight=[1, 3]),
    ],
)
def test_copies_and_pickles_are_the_same_intervals(
    again: Callable[[Any], Any], iv: ucc.Intervals
) -> None:
    other = again(iv)
    same(other, iv)
    assert other.symmetric == iv.symmetric
    assert ucc.UCC(other).area() == ucc.UCC(iv).area()


def test_intervals_are_equal_to_themselves_only() -> None:
    iv = sample()
    assert iv == iv  # noqa: PLR0124  # identity is the point
    assert iv != sample()
    assert len({iv, sample()}) == 2


@pytest.mark.parametrize("side", [-1, 1])
def test_symmetric_bands_at_a_critical_scale_cover_its_row_on_either_side(side: int) -> None:
    rng = np.random.default_rng(4)
    y_pred, error, band = (
        rng.normal(size=300),
        side * rng.lognormal(size=300),
        rng.lognormal(size=300),
    )
    rounded = 0
    for p, z, b in zip(y_pred, error, band, strict=True):
        iv = ucc.Intervals.from_bands([p + z], [p], [b])
        scale = abs(iv.y_true[0] - p) / b
        rounded += scale * b < abs(iv.y_true[0] - p)
        moved = iv.calibrated(scale=scale)
        assert moved.lower[0] <= iv.y_true[0] <= moved.upper[0]
        assert ucc.UCC(moved).at(1.0).miss_rate == 0
    assert rounded > 10  # rows whose scaled band alone would have lost them


# ---- folds, one unit, and a constant band with two sides


def fold(start: int, stop: int, **changes: Any) -> ucc.Intervals:
    """Some rows of one data set, whose bands differ on both sides."""
    rng = np.random.default_rng(7)
    columns = {
        name: rng.lognormal(size=10)[start:stop]
        for name in ("y_true", "y_pred", "lower_band", "upper_band")
    }
    return ucc.Intervals.from_bands(**{**columns, **changes})


def test_joined_folds_are_the_rows_of_all_one_after_the_other() -> None:
    same(ucc.Intervals.join([fold(0, 4), fold(4, 5), fold(5, 10)]), fold(0, 10))
    one = fold(0, 4)
    assert ucc.Intervals.join([one]) is one


def test_joined_folds_keep_their_weights_against_each_other() -> None:
    both = ucc.Intervals.join([fold(0, 2, weight=[1.0, 3.0]), fold(2, 4), fold(4, 5, weight=[0.5])])
    np.testing.assert_allclose(both.weight, np.array([1.0, 3.0, 1.0, 1.0, 0.5]) / 6.5, rtol=1e-15)
    same(both, fold(0, 5, weight=[1.0, 3.0, 1.0, 1.0, 0.5]))


@pytest.mark.parametrize("size", [2.0**300, 2.0**-300])
def test_joined_folds_keep_weights_of_any_size_that_sums_can_hold(size: float) -> None:
    both = ucc.Intervals.join([fold(0, 2, weight=[size, 3 * size]), fold(2, 3, weight=[2 * size])])
    np.testing.assert_allclose(both.weight, np.array([1, 3, 2]) / 6, rtol=1e-15)


def test_joined_folds_are_symmetric_where_all_are_and_count_what_was_raised() -> None:
    even = fold(0, 3, upper_band=None, min_band=1.0)
    assert ucc.Intervals.join([even, even]).symmetric
    mixed = ucc.Intervals.join([even, fold(3, 6)])
    assert not mixed.symmetric
    assert mixed.raised == even.raised > 0
    np.testing.assert_array_equal(mixed.upper_band[:3], even.lower_band)
    np.testing.assert_array_equal(mixed.upper_band[3:], fold(3, 6).upper_band)


def test_joined_folds_of_several_outputs_keep_their_shape() -> None:
    two = ucc.Intervals.from_bands(
        np.zeros((2, 3)), np.ones((2, 3)), np.ones((2, 3)), weight=[1, 3]
    )
    both = ucc.Intervals.join([two, two])
    assert both.y_true.shape == (4, 3)
    np.testing.assert_allclose(both.weight, np.repeat([1, 3, 1, 3], 3).reshape(4, 3) / 24)


@pytest.mark.parametrize(
    ("parts", "error", "sentence"),
    [
        ([], ValueError, "a list of folds must hold at least one Intervals; it is empty."),
        ([fold(0, 2), [1.0]], TypeError, "a list of folds must hold Intervals; item 1 is list."),
        (
            [fold(0, 2), ucc.Intervals.from_bands([[1.0, 2.0]], [[0.0, 0.0]], [[1.0, 1.0]])],
            ValueError,
            "a list of folds must have the same outputs: fold 1 differs from fold 0.",
        ),
    ],
)
def test_what_cannot_be_joined_is_refused(
    parts: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        ucc.Intervals.join(parts)


def test_rows_are_flat_and_weighted() -> None:
    error = np.array([[1.0, -2.0], [0.0, 4.0]])
    lower, upper = np.array([[1.0, 3.0], [0.5, 2.0]]), np.array([[2.0, 1.0], [0.25, 8.0]])
    iv = ucc.Intervals.from_bands(error, np.zeros((2, 2)), lower, upper, weight=[[1, 2], [0, 3]])
    rows = ucc.UCC(iv).path()
    assert rows.error.tolist() == [1.0, 2.0, 4.0]
    assert rows.lower_band.tolist() == [1.0, 3.0, 2.0]
    assert rows.upper_band.tolist() == [2.0, 1.0, 8.0]
    assert rows.active.tolist() == [2.0, 3.0, 8.0]
    assert rows.above is not None
    assert rows.weight is not None
    assert (rows.above.tolist(), rows.weight.tolist()) == ([True, False, True], [1, 2, 3])


def test_symmetric_rows_keep_one_band() -> None:
    symmetric = ucc.UCC(ucc.Intervals.from_bands([2.0], [0.0], [2.0])).path()
    assert symmetric.lower_band is symmetric.upper_band
    assert symmetric.above is None


def test_a_constant_band_with_two_sides_keeps_the_mean_of_each() -> None:
    iv = fold(0, 6, weight=[1, 2, 3, 1, 0, 1])
    one, two = iv.constant(), iv.constant(symmetric=False)
    np.testing.assert_allclose(
        two.lower_band, np.average(iv.lower_band, weights=iv.weight), rtol=1e-15
    )
    np.testing.assert_allclose(
        two.upper_band, np.average(iv.upper_band, weights=iv.weight), rtol=1e-15
    )
    assert not two.symmetric
    assert one.symmetric
    np.testing.assert_allclose(one.lower_band, (two.lower_band + two.upper_band) / 2, rtol=1e-15)
    np.testing.assert_array_equal(two.weight, iv.weight)


@pytest.mark.parametrize("symmetric", ["no", 0, None])
def test_a_constant_band_is_symmetric_or_not_and_nothing_else(symmetric: Any) -> None:
    with pytest.raises(TypeError, match=f"^`symmetric` must be True or False; got {symmetric!r}.$"):
        fold(0, 2).constant(symmetric=symmetric)


def test_a_constant_band_of_nothing_is_one() -> None:
    flat = ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [0.0, 0.0])
    assert flat.constant().lower_band.tolist() == [1.0, 1.0]
    assert flat.constant(symmetric=False).upper_band.tolist() == [1.0, 1.0]
    half = ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [0.0, 0.0], [1.0, 3.0]).constant(
        symmetric=False
    )
    assert (half.lower_band.tolist(), half.upper_band.tolist()) == ([0.0, 0.0], [2.0, 2.0])


@pytest.mark.parametrize("mask", [[True, False], np.array([True]), [False] * 4])
def test_a_mask_of_another_length_is_refused(mask: Any) -> None:
    iv = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [1.0] * 3)
    entries = "entry" if len(mask) == 1 else "entries"
    sentence = f"^a mask must have one entry per row: it has {len(mask)} {entries} for 3 rows\\.$"
    with pytest.raises(IndexError, match=sentence):
        iv[mask]
    assert len(iv[[True, False, True]]) == 2


@pytest.mark.parametrize("row", [3, -4, 10**15])
def test_a_row_number_beyond_the_rows_is_refused(row: int) -> None:
    iv = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [1.0] * 3)
    with pytest.raises(IndexError, match=rf"^rows are numbered from 0 to 2; got {row}\.$"):
        iv[[0, row]]
    assert iv[[-1]].y_true.tolist() == [3.0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_keeps_intervals_and_curves(protocol: int) -> None:
    iv = ucc.Intervals.from_bounds(
        [1.0, 2.0], [0.0, 0.0], upper=[1.0, 1.5], weight=[1, 2], unit=[1, 3], support=(0, None)
    )
    again = pickle.loads(pickle.dumps(iv, protocol))  # noqa: S301  # our own
    for name in ("y_true", "upper", "weight", "unit", "side", "support"):
        assert np.array_equal(getattr(again, name), getattr(iv, name)), name
    for curve in (ucc.UCC(iv), ucc.UCC.from_levels({0.5: iv, 0.9: iv.calibrated(scale=2)})):
        restored = pickle.loads(pickle.dumps(curve, protocol))  # noqa: S301  # our own
        assert restored.at(0.5) == curve.at(0.5)
        assert restored.table()["excess"].tolist() == curve.table()["excess"].tolist()
