"""Moments: answers that depend on the rows through a few sums only, for any weights of the rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from uccurve._checks import Array
from uccurve.area import folds
from uccurve.profile import Profile

from .question import CURVE_STATISTICS, Question

ROUNDING = 1e-14
"""Share of two equal terms that their difference may be off; less is taken for nothing."""


class Moments:
    """Columns whose weighted sums answer a question, by name, and the answer from the sums.

    Areas and gains of whole curves over the scale on bandwidth/miss_rate, bandwidth/deficit and overshoot/deficit
    (excess/deficit where no other bound is ever the nearer one) have this form, and all statistics of the intervals
    as delivered.
    """

    __slots__ = ("_factor", "_kind", "_question", "columns")

    def __init__(self, profile: Profile, question: Question, kind: str) -> None:
        self._question, self._kind = question, kind
        self._factor = 1.0 if kind == "rows" else question.size(profile, *question.axes)
        weight = np.ones(len(profile.error)) if profile.weight is None else profile.weight
        columns = {repr(question): question.per_row(profile)} if kind == "rows" else _columns(profile, kind)
        self.columns = {"weight": weight}
        for name, column in columns.items():
            self.columns[name] = column if profile.weight is None else column * weight

    @classmethod
    def of(cls, profile: Profile, question: Question) -> Moments | None:
        """Return None where the question needs order."""
        kind = _kind(profile, question)
        return None if kind is None else cls(profile, question, kind)

    def answers(self, weights: Array) -> Array:
        """Answer for each column of `weights`, which multiply the rows' own."""
        return self.from_sums(
            np.stack([np.einsum("i,ij->j", column, weights) for column in self.columns.values()], axis=-1)
        )

    def from_sums(self, sums: Array) -> Array:
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


def _columns(profile: Profile, kind: str) -> dict[str, Array]:
    square = profile.error * profile.critical
    symmetric = profile.above is None
    half_width = profile.active if symmetric else profile.lower_band / 2 + profile.upper_band / 2
    if kind == "bandwidth/miss_rate":
        return {"half_width": half_width, "critical": profile.critical, "error": profile.error}
    if kind == "bandwidth/deficit":
        return {"half_width": half_width, "square": square, "squared error": profile.error**2}
    band = {"half_width" if symmetric else "active": profile.active}
    return {**band, "square": square, "squared error": profile.error**2, "error": profile.error}


def _areas(means: Sequence[Array], kind: str) -> tuple[Array, Array]:
    """Area and the constant band's area from the means of the columns."""
    width, critical, error, *rest = means
    if kind == "bandwidth/miss_rate":
        return width * critical, error
    if kind == "bandwidth/deficit":
        return width * critical / 2, error / 2
    (first,) = rest
    spread, constant = width * critical - first**2, error - first**2
    rounding = ROUNDING * first**2
    return np.where(spread > rounding, spread, 0) / 2, np.where(constant > rounding, constant, 0) / 2
