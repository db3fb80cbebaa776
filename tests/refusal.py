"""What the tests of refusals share: the word-by-word comparison, three good rows, and the hints."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import uccurve as ucc

Y, P, LOWER, UPPER = [0.0, 1.0, 9.0], [0.0, 1.0, 2.0], [-1.0, 0.0, 1.0], [1.0, 2.0, 3.0]
ODD = 2**53 + 1  # the smallest positive integer that float64 cannot hold
CONVERT = "Hint: convert it to float first."
DROP = 'Hint: pass missing="drop" to leave such rows out.'
FLOOR = 'Hint: pass min_band="5%" (of the mean half-width) or a number in units of y_true to raise such bands.'
HUGE = 1.7e308
REACH = "must lie within float64 range of `y_pred`: 1 of 1 row does not, first row 0"
UNIT = "Hint: divide all columns by a common unit first."
METRICS = "bandwidth, miss_rate, excess, deficit, overshoot"


def refused(
    sentence: str,
    call: Callable[..., object],
    *args: Any,
    error: type[Exception] = ValueError,
    **options: Any,
) -> None:
    """Fail unless the call raises this error with this sentence, word by word."""
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        call(*args, **options)


def bounds(**changes: Any) -> ucc.Intervals:
    return ucc.Intervals.from_bounds(
        **{"y_true": Y, "y_pred": P, "lower": LOWER, "upper": UPPER, **changes}
    )


def bands(**changes: Any) -> ucc.Intervals:
    return ucc.Intervals.from_bands(
        **{"y_true": Y, "y_pred": P, "lower_band": [1.0, 1.0, 1.0], **changes}
    )


def two(column: list[float]) -> Any:
    """The column as two outputs, the second ten times the first."""
    return [[value, 10 * value] for value in column]


def bounds_2d(**changes: Any) -> ucc.Intervals:
    columns = {"y_true": two(Y), "y_pred": two(P), "lower": two(LOWER), "upper": two(UPPER)}
    return ucc.Intervals.from_bounds(**{**columns, **changes})


def with_value(column: list[float], row: int, value: Any) -> Any:
    return [*column[:row], value, *column[row + 1 :]]
