"""Level answers: areas, gains and least costs of levels curves for any weights of their rows.

A curve depends on which intervals a model passes through, not on the pace. So two models can be brought to the same
pace, that of their mean half-width, which leaves both curves as they are and lets rows be swapped between them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from uccurve._checks import Array, Metric
from uccurve.area import integral, piece
from uccurve.compare.question import Question
from uccurve.profile import Indices

from .nested import NestedProfile, NestedTrack

CLOSED = ({"bandwidth", "miss_rate"}, {"bandwidth", "deficit"}, {"overshoot", "deficit"})
"""Axes on which the whole area is a sum of products of means."""


class Answers:
    """Areas, gains and least costs of curves for any weights of the rows. O(n log n) a curve."""

    def __init__(self, profile: NestedProfile, question: Question) -> None:
        self._profile, self._question = profile, question
        one = np.ones(len(profile.error))
        flat = np.stack([0 * one, one])
        self._constant = replace(
            profile,
            active=one,
            lower_band=one,
            upper_band=one,
            above=None,
            critical=profile.error,
            knots=np.array([0.0, 1.0]),
            actives=flat,
            others=flat,
        )

    def of(self, weights: Array) -> Array:
        """Answer for each column of weights."""
        return np.array([self._one(weight) for weight in weights.T])

    def _one(self, weight: Array) -> float:
        rows = np.flatnonzero(weight)
        if self._question.statistic == "cheapest":
            return self._cheapest(_taken(self._profile, rows, weight[rows]))
        mine = self._area(_taken(self._profile, rows, weight[rows]))
        if self._question.statistic == "area":
            return mine
        theirs = self._area(_taken(self._constant, rows, weight[rows]))
        return (theirs - mine) / theirs if theirs else float("nan")

    def _area(self, profile: NestedProfile) -> float:
        axes, cut = self._question.axes, None
        if self._question.part is not None:
            name, span = self._question.part
            low, high = (end / self._question.size(profile, name) for end in span)
            cut = piece(NestedTrack(profile, folds=name == "excess"), profile, name, low, high)
        track = NestedTrack(profile, folds="excess" in axes)
        return integral(track, profile, axes, cut) * self._question.size(profile, *axes)

    def _cheapest(self, profile: NestedProfile) -> float:
        axes, c = self._question.axes, self._question.c or 0.0
        track = NestedTrack(profile, folds="excess" in axes)
        x, y = (track.values(name)[: track.end + 1] * self._question.size(profile, name) for name in axes)
        return float(np.min(c * x + (1 - c) * y))


class LevelMoments:
    """Whole areas and gains that depend on the rows through a few sums.

    On each segment of the scale the rising metric (half-width or active band) has one slope, so the area is the sum
    over segments of the mean slope times the mean of the rows' integrals of their own miss or deficit. Overshoot is the
    active band less the error plus the deficit, which takes off half the square of the mean error.
    """

    def __init__(self, profile: NestedProfile, question: Question, names: set[Metric]) -> None:
        self._question, self._names, self._factor = question, names, question.size(profile, *question.axes)
        weight = np.ones(len(profile.error)) if profile.weight is None else profile.weight
        falling, rising = [], []
        for segment in profile.segments():
            until = np.clip(profile.critical, segment.left, segment.right) - segment.left
            if "miss_rate" in names:
                falling.append(until)
            else:
                short = np.maximum(profile.error - profile._bands(segment.left)[0], 0)
                falling.append(until * (short + np.maximum(short - until * segment.active, 0)) / 2)
            both = "bandwidth" in names
            rising.append((segment.active + segment.other) / 2 if both else segment.active)
        self._segments = len(falling)
        parts = [*falling, *rising, profile.error, profile.error**2]
        self.columns = {"weight": weight, **{f"part {i}": part * weight for i, part in enumerate(parts)}}

    @classmethod
    def of(cls, profile: NestedProfile, question: Question) -> LevelMoments | None:
        """Return None where the question needs order, or some row is never covered."""
        if question.statistic not in ("area", "gain") or question.part is not None or profile.endless:
            return None
        names: set[Metric] = set(question.axes)
        if names == {"excess", "deficit"} and not profile.folds():
            names = {"overshoot", "deficit"}
        return cls(profile, question, names) if names in CLOSED else None

    def from_sums(self, sums: Array) -> Array:
        """Answers from sums of the columns, which stand in the last dimension."""
        means = np.moveaxis(sums[..., 1:] / sums[..., :1], -1, 0)
        falling, rising = means[: self._segments], means[self._segments : 2 * self._segments]
        area, (first, second) = np.sum(falling * rising, axis=0), means[-2:]
        constant = first if "miss_rate" in self._names else second / 2
        if "overshoot" in self._names:
            area, constant = np.maximum(area - first**2 / 2, 0), np.maximum(constant - first**2 / 2, 0)
        if self._question.statistic == "area":
            areas: Array = area * self._factor
            return areas
        with np.errstate(divide="ignore", invalid="ignore"):
            gains: Array = (constant - area) / constant
        return gains


def same_pace(a: NestedProfile, b: NestedProfile) -> tuple[NestedProfile, NestedProfile]:
    """Both profiles in the same units and along the same mean half-width, so that their levels need not be the same."""
    size = max(a.size, b.size)
    pair = [_in_units(profile, size) for profile in (a, b)]
    widths = [np.array([p.mean((x + o) / 2) for x, o in zip(p.actives, p.others, strict=True)]) for p in pair]
    knots = np.unique(np.concatenate(widths))
    first, second = (_paced(profile, width, knots) for profile, width in zip(pair, widths, strict=True))
    return first, second


def _in_units(profile: NestedProfile, size: float) -> NestedProfile:
    factor = profile.size / size
    names = ("error", "active", "lower_band", "upper_band", "actives", "others")
    return replace(profile, size=size, **{name: getattr(profile, name) * factor for name in names})


def _paced(profile: NestedProfile, widths: Array, knots: Array) -> NestedProfile:
    """The same intervals, with the mean half-width (in units of the last knot) in place of the scale."""
    old = np.where(knots > widths[-1], knots / widths[-1], np.interp(knots, widths, profile.knots))
    bands = [profile._bands(float(t)) for t in old]
    critical = profile.critical
    places = np.where(critical > 1, critical * widths[-1], np.interp(critical, profile.knots, widths))
    actives, others = (np.stack(side) for side in zip(*bands, strict=True))
    last = float(old[-1])
    wide = {name: getattr(profile, name) * last for name in ("active", "lower_band", "upper_band")}
    return replace(
        profile, **wide, critical=places / knots[-1], knots=knots / knots[-1], actives=actives, others=others
    )


def _taken(profile: NestedProfile, rows: Indices, weight: Array) -> NestedProfile:
    """Some of the rows, with these weights."""
    names = ("error", "active", "lower_band", "upper_band", "critical")
    flat = {name: getattr(profile, name)[rows] for name in names}
    above = None if profile.above is None else profile.above[rows]
    actives, others = profile.actives[:, rows], profile.others[:, rows]
    return replace(profile, **flat, above=above, weight=weight, actives=actives, others=others)


def pooled(first: NestedProfile, second: NestedProfile) -> NestedProfile:
    """Rows of the first, then rows of the second."""
    names = ("error", "active", "lower_band", "upper_band", "critical", "actives", "others")
    both: dict[str, Any] = {
        name: np.concatenate([getattr(p, name) for p in (first, second)], axis=-1) for name in names
    }
    sides = [np.zeros(len(p.error), np.bool_) if p.above is None else p.above for p in (first, second)]
    weight = None if first.weight is None or second.weight is None else np.concatenate([first.weight, second.weight])
    above = None if first.above is None and second.above is None else np.concatenate(sides)
    return replace(first, **both, weight=weight, above=above)
