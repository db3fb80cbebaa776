"""Bad rows get one sentence: the argument, the rule, how many break it, the first one, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from refusal import (
    CONVERT,
    DROP,
    FLOOR,
    HUGE,
    LOWER,
    UPPER,
    P,
    Y,
    bands,
    bounds,
    bounds_2d,
    refused,
    two,
    with_value,
)

# ---- shapes


def test_columns_of_different_length_are_refused() -> None:
    hint = "Hint: rows are matched by position, never by an index."
    refused(
        f"`upper` must have the shape of `y_true`: (2,) against (3,). {hint}",
        bounds,
        upper=[1.0, 2.0],
    )
    refused(
        f"`upper_band` must have the shape of `y_true`: (2,) against (3,). {hint}",
        bands,
        upper_band=[1, 2],
    )
    refused(
        f"`y_pred` must have the shape of `y_true`: (3, 2) against (3,). {hint}",
        bounds,
        y_pred=two(P),
    )
    refused(
        f"`std` must have the shape of `y_true`: (1,) against (3,). {hint}",
        ucc.Intervals.from_std,
        Y,
        P,
        [1],
    )


def test_a_single_column_of_two_dimensions_is_told_apart() -> None:
    sentence = (
        "`y_pred` must have the shape of `y_true`: (3, 1) against (3,). "
        "Hint: flatten a single column with .ravel()."
    )
    refused(sentence, bounds, y_pred=np.zeros((3, 1)))


@pytest.mark.parametrize("shape", [(0,), (0, 2), (3, 0)])
def test_an_empty_set_is_refused(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape)
    sentence = (
        f"`y_true` must hold at least one row: its shape is {shape}. Hint: check earlier filters."
    )
    refused(sentence, ucc.Intervals.from_bounds, empty, empty, empty, empty)
    refused(sentence, ucc.Intervals.from_bands, empty, empty, empty)


# ---- missing values


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["y_true", "y_pred", "lower", "upper"])
def test_nan_and_infinity_are_refused(name: str, bad: float) -> None:
    column = {"y_true": Y, "y_pred": P, "lower": LOWER, "upper": UPPER}[name]
    if (name, bad) in (("lower", -np.inf), ("upper", np.inf)):  # no bound, in some of the rows
        return
    refused(
        f"`{name}` must be finite: 1 of 3 rows is not, first row 1 ({bad}). {DROP}",
        bounds,
        **{name: with_value(column, 1, bad)},
    )
    refused(
        f"`{name}` must be finite: 2 of 3 rows are not, first row 1, output 0 ({bad}). {DROP}",
        bounds_2d,
        **{name: with_value(with_value(two(column), 1, [bad, bad]), 2, [0.0, np.nan])},
    )


@pytest.mark.parametrize("name", ["lower_band", "upper_band", "weight"])
def test_nan_in_bands_and_weights_is_refused(name: str) -> None:
    sentence = f"`{name}` must be finite: 1 of 3 rows is not, first row 2 (nan). {DROP}"
    refused(sentence, lambda: bands(**{name: [1.0, 1.0, np.nan]}))


def test_rows_with_a_missing_value_anywhere_are_dropped_with_a_warning_at_the_callers_line() -> (
    None
):
    with pytest.warns(ucc.DroppedRowsWarning) as caught:
        kept = ucc.Intervals.from_bounds(
            [0, np.nan, 9], P, LOWER, with_value(UPPER, 2, np.inf), missing="drop"
        )
    assert (
        str(caught[0].message)
        == "dropped 2 of 3 rows: a value is missing or infinite, first in row 1"
    )
    assert caught[0].filename == __file__
    assert (len(kept), kept.dropped) == (1, 2)
    assert repr(kept) == "Intervals(1 row, miss_rate 0, bandwidth 1, 2 rows dropped)"


@pytest.mark.parametrize(
    "make",
    [
        lambda: ucc.Intervals.from_std([0.0, np.nan], [0.0, 0.0], [1.0, 1.0], missing="drop"),
        lambda: ucc.Intervals.from_samples([0.0, 1.0], [[0.0, np.nan], [1.0, 1.0]], missing="drop"),
        lambda: ucc.Intervals.from_bands(
            [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], weight=[1.0, np.nan], missing="drop"
        ),
        lambda: ucc.Intervals.from_bands(
            [[0.0, 1.0], [1.0, np.nan]], np.zeros((2, 2)), np.ones((2, 2)), missing="drop"
        ),
    ],
)
def test_every_constructor_warns_at_the_callers_line(make: Callable[[], ucc.Intervals]) -> None:
    with pytest.warns(ucc.DroppedRowsWarning) as caught:
        kept = make()
    assert (
        str(caught[0].message)
        == "dropped 1 of 2 rows: a value is missing or infinite, first in row 1"
    )
    assert caught[0].filename == __file__
    assert (len(kept), kept.dropped) == (1, 1)


def test_nothing_is_said_where_nothing_is_dropped() -> None:
    assert bounds(missing="drop").dropped == 0  # a warning would fail the test


def test_dropping_every_row_is_refused() -> None:
    sentence = (
        "`missing` must leave at least one row: all 3 have a missing or infinite value in `y_true` or `lower`. "
        "Hint: look at these columns first."
    )
    refused(sentence, bounds, y_true=[np.nan, 1, np.inf], lower=[0, np.nan, 0], missing="drop")


def test_an_unknown_way_with_missing_values_is_refused() -> None:
    refused(
        "`missing` must be one of raise, drop; got 'dorp'. Did you mean 'drop'?",
        bounds,
        missing="dorp",
    )
    refused(
        "`missing` must be one of raise, drop; got None.",
        bounds,
        error=ValueError,
        missing=None,
        y_true=Y[:2],
    )


# ---- order of the bounds


def test_crossing_bounds_are_refused() -> None:
    sentence = (
        "`lower` must not exceed `upper`: 2 of 3 rows do, first row 1 (4.0 > 2.0). "
        "Hint: sort crossing quantiles first."
    )
    refused(sentence, bounds, lower=[-1.0, 4.0, 3.5])
    sentence = (
        "`lower` must not exceed `upper`: 3 of 3 rows do, first row 0 (1.0 > -1.0). "
        "Hint: swap `lower` and `upper`."
    )
    refused(sentence, bounds, lower=UPPER, upper=LOWER)
    in_two = with_value(two(LOWER), 2, [1.0, 30.5])
    sentence = (
        "`lower` must not exceed `upper`: 1 of 3 rows does, first row 2, output 1 (30.5 > 30.0). "
        "Hint: sort crossing quantiles first."
    )
    refused(sentence, bounds_2d, lower=in_two)
    refused(sentence, bounds_2d, lower=in_two, min_band="5%")


def test_a_prediction_outside_its_interval_is_refused() -> None:
    rule = "`y_pred` must lie between `lower` and `upper`: "
    sentence = f"{rule}2 of 3 rows do not, first row 0 (5.0 outside [-1.0, 1.0]). {FLOOR}"
    refused(sentence, bounds, y_pred=[5.0, 1.0, -9.0])
    sentence = (
        f"{rule}1 of 3 rows does not, first row 1, output 1 (21.0 outside [0.0, 20.0]). {FLOOR}"
    )
    refused(sentence, bounds_2d, y_pred=with_value(two(P), 1, [1.0, 21.0]))


@pytest.mark.parametrize("name", ["lower_band", "upper_band"])
def test_negative_bands_are_refused(name: str) -> None:
    sentence = f"`{name}` must not be negative: 1 of 3 rows is, first row 1 (-0.5). {FLOOR}"
    refused(sentence, lambda: bands(**{name: [1.0, -0.5, 0.0]}))


def test_negative_standard_deviations_are_refused_under_their_own_name() -> None:
    sentence = f"`std` must not be negative: 1 of 3 rows is, first row 2 (-1.0). {FLOOR}"
    refused(sentence, ucc.Intervals.from_std, Y, P, [1.0, 1.0, -1.0])
    sentence = f"`mean` must be finite: 1 of 3 rows is not, first row 0 (nan). {DROP}"
    refused(sentence, ucc.Intervals.from_std, Y, [np.nan, 0, 0], [1.0, 1.0, 1.0])


# ---- numbers beyond what squares and quotients hold

SIZE = "must be 0 or from 1e-100 to 1e+100 in size: 1 of 1 row is not, first row 0"
COMMON = "Hint: divide all columns by a common unit first."


@pytest.mark.parametrize("size", [1e101, 1e-101, HUGE, 5e-324])
def test_numbers_outside_the_range_are_refused_with_the_hint_of_a_unit(size: float) -> None:
    sentence = f"`y_true` {SIZE} ({size}). {COMMON}"
    refused(sentence, ucc.Intervals.from_bounds, [size], [0.0], [-1.0], [1.0])
    refused(sentence, ucc.Intervals.from_bands, [size], [0.0], [1.0])
    sentence = f"`lower_band` {SIZE} ({size}). {COMMON}"
    refused(sentence, ucc.Intervals.from_bands, [1.0], [0.0], [size])
    sentence = f"`std` {SIZE} ({size}). {COMMON}"
    refused(sentence, ucc.Intervals.from_std, [1.0], [0.0], [size])


def test_a_bound_next_to_the_prediction_is_refused() -> None:
    with pytest.raises(ValueError, match="`upper` must be `y_pred` itself or lie from 1e-100"):
        ucc.Intervals.from_bounds([1e-100], [1e-100], [0.0], [1.2e-100])


def test_numbers_at_the_ends_of_the_range_are_kept_without_a_warning() -> None:
    for size in (1e100, 1e-100):
        iv = ucc.Intervals.from_bounds([0.0, size], [0.0, 0.0], [-size, -size], [size, size])
        assert repr(iv) == f"Intervals(2 rows, miss_rate 0, bandwidth {size:.4g})"
        assert iv.constant().upper_band.tolist() == [size, size]
        assert ucc.UCC(iv).at(1.0).bandwidth == size


# ---- one bound, a support, units


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"lower": with_value(LOWER, 1, -np.inf)},
            (
                "`lower` must be finite, or infinite in every row: 1 of 3 rows is not, first row 1 (-inf). "
                'Hint: pass side="upper" to judge that bound alone.'
            ),
        ),
        (
            {"upper": with_value(with_value(UPPER, 1, np.inf), 2, np.inf)},
            (
                "`upper` must be finite, or infinite in every row: 2 of 3 rows are not, first row 1 (inf). "
                'Hint: pass side="lower" to judge that bound alone.'
            ),
        ),
        (
            {"lower": [-np.inf] * 3, "upper": [np.inf] * 3},
            "`lower` and `upper` must not both be infinite: there is no bound to judge.",
        ),
        (
            {"lower": None, "side": "lower"},
            "`side` must be 'upper': no other bound is given; got 'lower'.",
        ),
        (
            {"lower": None, "side": "both"},
            "`side` must be 'upper': no other bound is given; got 'both'.",
        ),
        (
            {"side": "uper"},
            "`side` must be one of both, upper, lower; got 'uper'. Did you mean 'upper'?",
        ),
        (
            {"support": (1, None)},
            (
                "`y_true` must lie within `support` (1, None): 1 of 3 rows does not, first row 0 (0.0). "
                "Hint: widen `support`, or leave it out."
            ),
        ),
        (
            {"support": (None, 1.5), "y_true": [*P[:2], 1.5]},
            (
                "`y_pred` must lie within `support` (None, 1.5): 1 of 3 rows does not, first row 2 (2.0). "
                "Hint: widen `support`, or leave it out."
            ),
        ),
        (
            {"support": (1, 0)},
            (
                "`support` must be (low, high) with low < high, None where there is no end, such as (0, None); "
                "got (1, 0)."
            ),
        ),
        (
            {"support": 0},
            (
                "`support` must be (low, high) with low < high, None where there is no end, such as (0, None); "
                "got 0."
            ),
        ),
        (
            {"unit": [1.0, 0.0, 2.0]},
            (
                "`unit` must be above 0: 1 of 3 rows is not, first row 1 (0.0). "
                "Hint: leave such rows out, or give them a unit of their own."
            ),
        ),
        (
            {"unit": [1.0, 2.0]},
            (
                "`unit` must have one value per row: its shape is (2,) where `y_true` has (3,). "
                "Hint: leave `unit` out to measure all rows in one unit."
            ),
        ),
        ({"unit": 0.0}, "`unit` must be 'raw', 'std' or a finite number above 0; got 0.0."),
        (
            {"unit": [1.0, 1.0, 1e-100], "y_true": [0.0, 1.0, 2.0], "y_pred": [0.0, 1.0, 2.0]},
            (
                "`y_true` must be 0 or from 1e-100 to 1e+100 in units of its row: 1 of 3 rows is not, "
                "first row 2 (2e+100). Hint: measure all columns and `unit` in a common unit first."
            ),
        ),
    ],
)
def test_bounds_supports_and_units_that_cannot_be_are_refused(
    columns: dict[str, Any], sentence: str
) -> None:
    refused(sentence, bounds, **columns)


def test_no_bound_at_all_is_refused() -> None:
    sentence = "give `lower`, `upper` or both: there is no bound to judge."
    refused(sentence, ucc.Intervals.from_bounds, Y, P, error=TypeError)


def test_a_prediction_beyond_its_only_bound_is_refused() -> None:
    sentence = (
        "`y_pred` must lie between `lower` and `upper`: 1 of 3 rows does not, first row 2 (2.0 outside [-inf, 1.0]). "
        + FLOOR
    )
    refused(sentence, bounds, lower=None, upper=[1.0, 2.0, 1.0])


def test_the_level_of_a_quantile_is_what_its_bound_covers() -> None:
    sentence = (
        "`level` must be at least 0.5, the share of observations that a bound covers; got 0.1. "
        'Hint: the 0.1 quantile as a lower bound is level=0.9, side="lower".'
    )
    refused(sentence, ucc.Intervals.from_quantile, Y, UPPER, level=0.1)
    with pytest.raises(ValueError, match="`side` must be one of upper, lower; got 'both'"):
        ucc.Intervals.from_quantile(Y, UPPER, side="both")  # type: ignore[arg-type]


# ---- weights


def test_negative_weights_are_refused() -> None:
    hint = "Hint: leave such rows out or give them weight 0."
    sentence = f"`weight` must not be negative: 1 of 3 rows is, first row 1 (-1.0). {hint}"
    for make in (bounds, bands, bounds_2d):
        refused(sentence, make, weight=[1, -1, 1])
    sentence = (
        f"`weight` must not be negative: 2 of 3 rows are, first row 1, output 1 (-2.0). {hint}"
    )
    refused(sentence, bounds_2d, weight=[[1, 1], [1, -2], [-3, 0]])


def test_weights_that_are_all_zero_are_refused() -> None:
    sentence = "`weight` must not be zero in every row: all 3 are. Hint: leave `weight` out to weight rows equally."
    for make in (bounds, bands, bounds_2d):
        refused(sentence, make, weight=[0, 0, 0])
    with pytest.warns(ucc.DroppedRowsWarning):
        refused(
            sentence.replace("3", "2"),
            bounds,
            y_true=[np.nan, 1, 2],
            weight=[1, 0, 0],
            missing="drop",
        )


@pytest.mark.parametrize("weight", [[1, 2], [[1, 2, 3]], np.ones((3, 3))])
def test_weights_of_another_length_are_refused(weight: Any) -> None:
    start, end = (
        "`weight` must have one value per row: its shape is",
        "Hint: leave `weight` out to weight rows equally.",
    )
    refused(f"{start} {np.shape(weight)} where `y_true` has (3,). {end}", bounds, weight=weight)
    refused(
        f"{start} {np.shape(weight)} where `y_true` has (3, 2). {end}", bounds_2d, weight=weight
    )


@pytest.mark.parametrize("size", [1e99, 1e-98])
def test_huge_and_tiny_weights_count_as_weights_near_one(size: float) -> None:
    np.testing.assert_allclose(
        bands(weight=np.array([1, 1.5, 0.25]) * size).weight, [4 / 11, 6 / 11, 1 / 11], rtol=1e-12
    )


def test_weights_outside_the_range_are_refused() -> None:
    sentence = (
        "`weight` must be 0 or from 1e-100 to 1e+100 in size: 1 of 3 rows is not, first row 1 (1e+200). "
        "Hint: divide all weights by a common unit first."
    )
    refused(sentence, bands, weight=[1, 1e200, 1])


# ---- draws


def test_draws_of_another_shape_are_refused() -> None:
    start = "`samples` must have draws on the first axis, then the shape of `y_true`: "
    for shape in ((2, 2), (3,), (0, 3), (3, 2), (2, 3, 1)):
        hint = " Hint: move the last axis to the front." if shape == (3, 2) else ""
        sentence = f"{start}{shape} against (draws, 3).{hint}"
        refused(sentence, ucc.Intervals.from_samples, Y, np.zeros(shape))
    refused(
        f"{start}(5, 3) against (draws, 3, 2).",
        ucc.Intervals.from_samples,
        two(Y),
        np.zeros((5, 3)),
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_draws_that_are_not_finite_are_refused(bad: float) -> None:
    draws = np.arange(12.0).reshape(4, 3)
    draws[2, 1] = bad
    sentence = (
        f"`samples` must be finite: 1 of 3 rows has a draw that is not, first row 1 ({bad}). {DROP}"
    )
    refused(sentence, ucc.Intervals.from_samples, Y, draws)
    masked = np.ma.array(np.arange(12.0).reshape(4, 3), mask=~np.isfinite(draws))
    refused(sentence.replace("inf", "nan"), ucc.Intervals.from_samples, Y, masked)


def test_draws_that_are_no_numbers_are_refused() -> None:
    refused(
        f"`samples` must hold numbers; it holds text. {CONVERT}",
        ucc.Intervals.from_samples,
        [1.0],
        [["b"]],
        error=TypeError,
    )
    sentence = (
        "`samples` must be a regular array of numbers: its rows differ in length. "
        "Hint: give every row as many outputs as the others."
    )
    refused(sentence, ucc.Intervals.from_samples, Y, [[1.0], [1.0, 2.0]])


def test_a_level_that_is_no_probability_is_refused() -> None:
    draws = [Y, P]
    refused(
        "`level` must be a finite number from 0 to 1; got 90.",
        ucc.Intervals.from_samples,
        Y,
        draws,
        level=90,
    )
    refused(
        "`level` must be a number; got '90%'.",
        ucc.Intervals.from_samples,
        Y,
        draws,
        error=TypeError,
        level="90%",
    )
