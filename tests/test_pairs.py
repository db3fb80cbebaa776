"""Two models are compared only where they were given the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from uccurve.evidence.models import curve_of, refuse_other_rows

Y = np.array([1.0, -2.0, 3.0, 0.5])


def intervals(y: Any = Y, weight: Any = None) -> ucc.Intervals:
    return ucc.Intervals.from_bands(
        y, np.zeros_like(y), np.ones_like(y), np.full_like(y, 2.0), weight=weight
    )


def curve(y: Any = Y, weight: Any = None) -> ucc.UCC:
    return ucc.UCC(intervals(y, weight))


@pytest.mark.parametrize("weight", [None, [1, 2, 3, 4], [0, 1, 1, 3]])
def test_intervals_and_curves_of_the_same_rows_pass(weight: Any) -> None:
    one, two = intervals(weight=weight), intervals(weight=weight).calibrated(scale=2)
    for other in (
        ucc.UCC(two),
        ucc.UCC(two, vary="shift"),
        ucc.UCC.from_levels({0.5: one, 0.9: two}),
    ):
        refuse_other_rows(ucc.UCC(one), other)
        assert curve_of("a", other) is other
    assert curve_of("a", one).intervals is one
    assert curve_of("a", one, "shift").vary == "shift"


def test_weights_of_another_scale_are_the_same_weights() -> None:
    refuse_other_rows(curve(weight=[0.1, 0.2, 0.3, 0.7]), curve(weight=[1, 2, 3, 7]))
    refuse_other_rows(curve(), curve(weight=[0.3] * 4))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (intervals(Y[:3]), r"`a` and `b` must have the same rows: 4 against 3\."),
        (
            intervals(Y.reshape(4, 1)),
            r"must have the same rows: 4 against 4, shapes \(4,\) against \(4, 1\)\.",
        ),
        (
            intervals(Y + np.array([0, 1, 0, 1])),
            r"same y_true: 2 of 4 rows differ, first row 1\. Hint: put the rows of both in",
        ),
        (
            intervals(weight=[1, 1, 2, 1]),
            r"same weights: 4 of 4 rows differ, first row 0\. Hint: pass the same `weight`",
        ),
    ],
)
def test_other_rows_are_refused_in_a_sentence(other: ucc.Intervals, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        refuse_other_rows(curve(), ucc.UCC(other))
    with pytest.raises(ValueError, match=r"^`models` 'GBR' and 'Meta' must have the same "):
        refuse_other_rows(ucc.UCC(intervals()), ucc.UCC(other), names=("`models` 'GBR'", "'Meta'"))


def test_rows_that_differ_in_several_outputs_count_once() -> None:
    one, two = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2)
    two[1:] += 1
    with pytest.raises(ValueError, match=r"same y_true: 2 of 3 rows differ, first row 1\."):
        refuse_other_rows(curve(one), curve(two))


@pytest.mark.parametrize("other", [ucc.UCCSketch().update(intervals()).ucc(), [1.0, 2.0], None])
def test_what_keeps_no_rows_is_refused(other: Any) -> None:
    kind = type(other).__name__
    with pytest.raises(
        TypeError,
        match=rf"`b` must be Intervals or a UCC, .* \(a sketch keeps none\); got {kind}\.",
    ):
        curve_of("b", other)
