"""Moments: answers that depend on the rows through a few sums only, for any weights of the rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .area import folds
from .checks import Array
from .profile import Profile
from .question import CURVE_STATISTICS, Question


class Moments:
    """Columns whose weighted sums answer a question, and the answer from the sums.

    The first column is the weight itself. Areas and gains of whole curves over the scale on bandwidth/miss_rate,
    bandwidth/deficit and overshoot/deficit (excess/deficit where no other bound is ever the nearer one) have this form,
    and all statistics of the intervals as delivered.
    """

    __slots__ = ("_factor", "_kind", "_question", "columns")

    def __init__(self, profile: Profile, question: Question, kind: str) -> None:
        self._question, self._kind = question, kind
        self._factor = 1.0 if kind == "rows" else question.size(profile, *question.axes)
        columns = [question.per_row(profile)] if kind == "rows" else _columns(profile, kind)
        weight = np.ones(len(profile.error)) if profile.weight is None else profile.weight
        self.columns = np.column_stack([weight, *(column * weight for column in columns)])

    @classmethod
    def of(cls, profile: Profile, question: Question) -> Moments | None:
        """Return None where the question needs order."""
        kind = _kind(profile, question)
        return None if kind is None else cls(profile, question, kind)

    def answers(self, sums: Array) -> Array:
        """Answers from sums of the columns, which stand in the last dimension."""
        weight, *others = np.moveaxis(sums, -1, 0)
        means: list[Array] = [other / weight for other in others]
        if self._kind == "rows":
            return means[0]
        area, constant = _areas(means, self._kind)
        if self._question.statistic == "area":
            return np.multiply(area, self._factor)
        with np.errstate(divide="ignore", invalid="ignore"):
            gains: Array = (constant - area) / constant
        return gains


def _kind(profile: Profile, question: Question) -> str | None:
    if question.statistic not in CURVE_STATISTICS:
        return "rows"
    if not question.whole or question.vary != "scale":
        return None
    names = set(question.axes)
    if names == {"bandwidth", "miss_rate"}:
        return "bandwidth/miss_rate"
    if names == {"bandwidth", "deficit"}:
        return "bandwidth/deficit"
    if names == {"overshoot", "deficit"} or (names == {"excess", "deficit"} and not folds(profile)):
        return "overshoot/deficit"
    return None


def _columns(profile: Profile, kind: str) -> list[Array]:
    half_width = profile.lower_band / 2 + profile.upper_band / 2
    if kind == "bandwidth/miss_rate":
        return [half_width, profile.critical, profile.error]
    square = profile.error * profile.critical
    if kind == "bandwidth/deficit":
        return [half_width, square, profile.error**2]
    return [profile.active, square, profile.error**2, profile.error]


def _areas(means: Sequence[Array], kind: str) -> tuple[Array, Array]:
    """Area and the constant band's area from the means of the columns."""
    width, critical, error, *rest = means
    if kind == "bandwidth/miss_rate":
        return width * critical, error
    if kind == "bandwidth/deficit":
        return width * critical / 2, error / 2
    (first,) = rest
    return (width * critical - first**2) / 2, (error - first**2) / 2
