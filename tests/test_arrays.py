"""Outside data become float64 by position and exactly, or are refused in one sentence."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from refusal import (
    CONVERT,
    DROP,
    ODD,
    bands,
    bounds,
    refused,
)

# ---- what is no column of numbers


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (["a", "b", "c"], "it holds text"),
        (["0", "1", "2"], "it holds text"),
        ([0, "a", 2], "it holds text"),
        (np.ma.array(["a", "b", "c"]), "it holds text"),
        ([b"a", b"b", b"c"], "it holds bytes"),
        ([True, False, True], "it holds booleans"),
        ([0j, 1j, 2.0], "it holds complex128"),
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), "it holds datetime64[D]"),
        (np.array([1, 2, 3], dtype="m8[s]"), "it holds timedelta64[s]"),
        (np.zeros(3, dtype=[("a", "f8")]), "it holds void64"),
        ([0.0, dt.date(2020, 1, 1), 2.0], "row 1 holds date"),
        (np.array([0.0, "1", 2.0], dtype=object), "row 1 holds text"),
        (np.array([0.0, True, 2.0], dtype=object), "row 1 holds bool"),
        (np.array([0.0, 1j, 2.0], dtype=object), "row 1 holds complex"),
    ],
)
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (bounds, "y_true"),
        (bounds, "lower"),
        (bands, "y_pred"),
        (bands, "lower_band"),
        (bounds, "weight"),
    ],
)
def test_what_holds_no_numbers_is_refused(
    make: Callable[..., Any], name: str, value: Any, held: str
) -> None:
    refused(
        f"`{name}` must hold numbers; {held}. {CONVERT}", make, error=TypeError, **{name: value}
    )


@pytest.mark.parametrize("value", [{1, 2, 3}, {"a": 1}, (x for x in (1, 2, 3)), None, object()])
def test_what_is_no_array_is_refused(value: Any) -> None:
    kind = type(value).__name__
    sentence = f"`y_true` must be an array or a list of numbers; got {kind}. Hint: pass a list or an array."
    refused(sentence, bounds, error=TypeError, y_true=value)


def test_what_refuses_to_become_an_array_is_quoted() -> None:
    class Tensor:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            raise RuntimeError("call detach() before.")

    refused(
        f"`upper` must be an array of numbers: call detach() before. {CONVERT}",
        bounds,
        error=TypeError,
        upper=Tensor(),
    )


@pytest.mark.parametrize("name", ["y_true", "y_pred", "lower", "upper"])
def test_rows_of_different_length_are_refused(name: str) -> None:
    sentence = (
        f"`{name}` must be a regular array of numbers: its rows differ in length. "
        "Hint: give every row as many outputs as the others."
    )
    refused(sentence, lambda: bounds(**{name: [[0.0], [1.0, 2.0], [3.0]]}))


@pytest.mark.parametrize("value", [1.0, 1, ODD, np.float64(3)])
def test_a_scalar_is_refused(value: Any) -> None:
    sentence = (
        "`y_pred` must have one dimension, or two for several outputs; it has 0. "
        "Hint: put a single value into a list."
    )
    refused(sentence, bounds, y_pred=value)
    refused(sentence.replace("y_pred", "lower_band"), bands, lower_band=value)
    refused(sentence.replace("y_pred", "weight"), bounds, weight=value)


def test_three_dimensions_are_refused() -> None:
    sentence = (
        "`lower` must have one dimension, or two for several outputs; it has 3. "
        "Hint: reshape it to (rows, outputs)."
    )
    refused(sentence, bounds, lower=np.zeros((3, 1, 1)))


@pytest.mark.parametrize(
    "value",
    [
        [0, ODD, 2],
        np.array([0, ODD, 2], np.uint64),
        np.ma.array([0, ODD, 2]),
        np.array([0, ODD, None]),
    ],
)
def test_integers_that_float64_would_round_are_refused(value: Any) -> None:
    sentence = (
        f"`y_true` must fit float64 exactly: 1 of 3 rows does not, first row 1 ({ODD}). "
        "Hint: subtract a common offset from all columns first."
    )
    refused(sentence, bounds, y_true=value)


def test_large_integers_that_float64_holds_are_kept() -> None:
    value = [2**53, -(2**60), 2**100]
    assert bands(y_true=value).y_true.tolist() == value
    assert bands(y_true=np.array([2**53 + 2, -(2**53), 2**62])).y_true.tolist() == [
        2**53 + 2,
        -(2**53),
        2**62,
    ]


def test_a_number_of_many_digits_is_shown_short() -> None:
    end = "Hint: subtract a common offset from all columns first."
    start = "`y_true` must fit float64 exactly: 1 of 3 rows does not, first row 2 "
    refused(f"{start}(1{'0' * 47}... (401 characters)). {end}", bounds, y_true=[0, 1, 10**400])
    refused(f"{start}(a huge int). {end}", bounds, y_true=[0, 1, 10**5000])


# ---- missing values of other libraries


@pytest.mark.parametrize(
    "column",
    [
        [0.0, None, 9.0],
        np.ma.array([0.0, 7.0, 9.0], mask=[False, True, False]),
        np.ma.array([0, ODD, 9], mask=[False, True, False]),
        [0.0, np.ma.masked, 9.0],
    ],
)
def test_missing_values_of_lists_and_masked_arrays_are_refused_or_dropped(column: Any) -> None:
    refused(
        f"`y_true` must be finite: 1 of 3 rows is not, first row 1 (nan). {DROP}",
        bounds,
        y_true=column,
    )
    with pytest.warns(ucc.DroppedRowsWarning):
        kept = bounds(y_true=column, missing="drop")
    assert (kept.y_true.tolist(), kept.y_pred.tolist(), kept.dropped) == ([0.0, 9.0], [0.0, 2.0], 1)


def test_what_a_library_says_of_data_it_cannot_convert_is_part_of_the_sentence() -> None:
    pl = pytest.importorskip("polars")
    what = "cannot convert i128 to NumPy, which has no 128-bit integer types"
    wide = pl.Series([1, 2, 3], dtype=pl.Int128)
    refused(
        f"`y_true` must be an array of numbers: {what}. {CONVERT}",
        bounds,
        y_true=wide,
        error=TypeError,
    )


def test_a_list_of_masked_rows_keeps_its_mask() -> None:
    rows = [np.ma.array([0.0, 1.0], mask=[False, True]), np.ma.array([2.0, 3.0])]
    zeros = np.zeros((2, 2))
    sentence = f"`y_true` must be finite: 1 of 2 rows is not, first row 0, output 1 (nan). {DROP}"
    refused(sentence, ucc.Intervals.from_bands, rows, zeros, zeros)


def test_missing_values_of_pandas_and_polars_are_refused_or_dropped() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = [
        pd.array([0, None, 9], dtype="Int64"),
        pd.Series([0.0, None, 9.0], dtype="Float64"),
        pl.Series([0, None, 9]),
        pl.Series([0.0, None, 9.0]),
    ]
    for column in columns:
        sentence = f"`y_true` must be finite: 1 of 3 rows is not, first row 1 (nan). {DROP}"
        refused(sentence, bounds, y_true=column)
        with pytest.warns(ucc.DroppedRowsWarning):
            assert bounds(y_true=column, missing="drop").y_true.tolist() == [0.0, 9.0]
    refused(
        f"`y_true` must hold numbers; it holds text. {CONVERT}",
        bounds,
        error=TypeError,
        y_true=pl.Series(["a", "b", "c"]),
    )
    refused(
        f"`y_true` must hold numbers; row 0 holds bool. {CONVERT}",
        bounds,
        error=TypeError,
        y_true=pd.array([True, None, False], dtype="boolean"),
    )
    times = pd.Series(pd.date_range("2020-01-01", periods=3, tz="UTC"))
    refused(
        f"`y_true` must hold numbers; row 0 holds Timestamp. {CONVERT}",
        bounds,
        error=TypeError,
        y_true=times,
    )


# ---- integers that float64 would round


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "value",
    [
        [1.5, BIG],
        (BIG, 1.5),
        [np.nan, BIG],
        [Decimal(BIG), 2],
        [Fraction(BIG), 2.5],
        [10**10_000, 1.5],
        np.array([BIG, 1.5], object),
    ],
)
def test_an_integer_that_float64_would_round_is_refused_in_any_company(value: Any) -> None:
    sentence = r"^`y_true` must fit float64 exactly: 1 of 2 rows does not, first row [01] \(.*\)\. Hint: subtract"
    with pytest.raises(ValueError, match=sentence):
        ucc.Intervals.from_bands(value, [0, 0], [1, 1])


@pytest.mark.parametrize(
    "value", [[2.0**60, 1], [Decimal("0.1"), 1], [Fraction(1, 3), 2**53], [1.5, -(2**53)]]
)
def test_numbers_that_float64_holds_or_that_are_no_integers_are_taken(value: Any) -> None:
    taken = ucc.Intervals.from_bands(value, [0, 0], [1, 1]).y_true
    assert taken.tolist() == [float(item) for item in value]
