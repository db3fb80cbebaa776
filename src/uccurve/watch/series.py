"""Series: the days of one model, or of one of its groups, and what they say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from uccurve import _refusals as checks
from uccurve._arrays import Indices
from uccurve._distributions import clopper_pearson
from uccurve._vocabulary import Array

from . import evidence as by_day
from .days import Day, Label, is_before, pooled_factor, seasons
from .step import ContestStep, Status, Step

KEPT = 400  # days; what began earlier is forgotten, which can only make alarms rarer
UNCLEAR_ODDS = 3  # times the promised odds of a miss
NOISE = 1.64  # standard errors of a calibration that the tolerance allows
USUAL_TOLERANCE = 0.05  # share of the miss rate


@dataclass(frozen=True, slots=True)
class Watch:
    """What a monitor was asked to watch."""

    coverage: float
    false_alarm_every: float
    side: by_day.Side = "both"
    tolerance: float | None = None
    calibrated_on: int | None = None
    period: int | None = None
    challenger: str | None = None

    @property
    def alpha(self) -> float:
        """The promised miss rate."""
        return float(checks.miss_rate_of(self.coverage))

    @property
    def allowed(self) -> float:
        """By how much the miss rate may differ: as asked, or by what a calibration cannot know."""
        if self.tolerance is not None:
            return self.tolerance
        usual = USUAL_TOLERANCE * self.alpha
        if self.calibrated_on is None:
            return usual
        error = np.sqrt(self.alpha * (1 - self.alpha) / self.calibrated_on)
        return float(max(usual, NOISE * error))

    def settings(self) -> dict[str, Any]:
        """Return what a `Monitor` is made with."""
        return asdict(self)


@dataclass(slots=True)
class Series:
    """One model, or one group of it: its days in order, and after which of them an alarm was acknowledged."""

    model: str
    group: str | None = None
    days: list[Day] = field(default_factory=list)
    acknowledged: list[Label] = field(default_factory=list)

    @property
    def labels(self) -> list[Label]:
        """The days that were taken."""
        return [day.label for day in self.days]

    def copy(self) -> Series:
        """Return another one of the same days."""
        return Series(self.model, self.group, [*self.days], [*self.acknowledged])

    def acknowledge(self) -> None:
        """Remember that what rang after the last day is known."""
        if self.days:
            self.acknowledged.append(self.days[-1].label)

    def has_taken(self, label: Label) -> bool:
        """Whether a day was taken, or is older than all that are kept after many."""
        if not self.days:
            return False
        forgotten = len(self.days) == KEPT and is_before(label, self.days[0].label)
        return forgotten or self.find(label) is not None

    def find(self, label: Label) -> Day | None:
        """Return a day that was taken."""
        for day in reversed(self.days):
            if day.label == label:
                return day
        return None

    def take(self, day: Day, *, replace: bool) -> None:
        """Add a day after the others; or in its place, with `replace`."""
        place = self._place_of(day.label)
        taken = place < len(self.days) and self.days[place].label == day.label
        if place < len(self.days) and not replace:
            self._refuse(day, taken=taken)
        self.days[place : place + taken] = [day]
        del self.days[: max(0, len(self.days) - KEPT)]

    def _place_of(self, label: Label) -> int:
        place = len(self.days)
        while place and not is_before(self.days[place - 1].label, label):
            place -= 1
        return place

    def _refuse(self, day: Day, *, taken: bool) -> None:
        last = self.days[-1].label
        if taken:
            raise ValueError(
                f"each day is taken once, and {day.label} was taken already. "
                "Hint: for late rows, give all rows of the day with replace=True."
            )
        raise ValueError(
            f"days must come in order: {day.label} is before {last}, the last one taken. "
            "Hint: replace=True puts it in its place."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Days of a series from one acknowledgement to the next: their evidence, and whether it rings."""

    watch: Watch
    series: Series
    days: Sequence[Day]
    shares: Array
    sizes: Array
    evidence: Array
    since: Indices
    alarm: int | None  # the first day that rings

    @classmethod
    def of(cls, watch: Watch, series: Series, days: Sequence[Day]) -> Judged:
        """Weigh the days."""
        shares = np.array([day.missed for day in days])
        sizes = np.array([day.effective for day in days])
        found = by_day.of_promise(
            shares,
            sizes,
            alpha=watch.alpha,
            tolerance=watch.allowed,
            side=watch.side,
            seasons=seasons([day.label for day in days], watch.period),
        )
        evidence = found.days / _watched(days)
        alarm = first_alarm(evidence, watch.false_alarm_every)
        return cls(watch, series, days, shares, sizes, evidence, found.since, alarm)

    def steps(self) -> list[Step]:
        """Return what was said after each day."""
        return [self.step(place) for place in range(len(self.days))]

    def step(self, place: int) -> Step:
        """Return what was said after one day."""
        day = self.days[place]
        covered = 1 - day.missed
        low, high = clopper_pearson(covered * day.effective, day.effective)
        start = self.start(place)
        part = self.days[place if start is None else start : place + 1]
        return Step(
            label=day.label,
            n=day.rows,
            coverage=covered,
            low=low,
            high=high,
            evidence=float(self.evidence[place]),
            status=self.status(place),
            since=None if start is None else self.days[start].label,
            factor=pooled_factor(part, self.watch.alpha),
            since_coverage=_coverage(part),
            since_days=len(part),
            model=self.series.model,
            group=self.series.group,
            promised=self.watch.coverage,
        )

    def start(self, place: int) -> int | None:
        """Return where what rings has begun, as it looked when the evidence was strongest."""
        if self.alarm is None or place < self.alarm:
            return None
        strongest = self.alarm + int(np.argmax(self.evidence[self.alarm : place + 1]))
        return int(self.since[strongest])

    def status(self, place: int) -> Status:
        """Return what the days up to one say."""
        if self.alarm is not None and place >= self.alarm:
            return "ringing"
        if place < by_day.FIRST:
            return "learning"
        return "unclear" if self._is_unclear(place) else "ok"

    def _is_unclear(self, place: int) -> bool:
        """Whether the interval of the miss rate, with days as blocks, reaches three times the promised odds."""
        odds = UNCLEAR_ODDS * self.watch.alpha / (1 - self.watch.alpha)
        missed, rows = _misses(self.shares[: place + 1], self.sizes[: place + 1])
        return clopper_pearson(missed, rows)[1] > odds / (1 + odds)


def segments(series: Series) -> list[list[Day]]:
    """Return the days between acknowledgements, oldest first; the last part has those since the last one."""
    parts: list[list[Day]] = [[]]
    for day in series.days:
        parts[-1].append(day)
        if day.label in series.acknowledged:
            parts.append([])
    return parts


def first_alarm(evidence: Array, limit: float) -> int | None:
    """Return the first day whose evidence reaches the limit."""
    rings = np.flatnonzero(evidence >= limit)
    return int(rings[0]) if len(rings) else None


def contest(watch: Watch, champion: Series, challenger: Series, acknowledged: Sequence[Label]) -> list[ContestStep]:
    """Return what the daily differences of scores say after each day that both have, since the last acknowledgement."""
    scores = {day.label: day.score for day in challenger.days if np.isfinite(day.score)}
    days = [day for day in champion.days if day.label in scores and np.isfinite(day.score)]
    if acknowledged:
        days = [day for day in days if is_before(acknowledged[-1], day.label)]
    if not days:
        return []
    differences = np.array([day.score - scores[day.label] for day in days])
    found = by_day.of_difference(differences)
    evidence = found.days / _watched(days)
    alarm = first_alarm(evidence, watch.false_alarm_every)
    steps: list[ContestStep] = []
    for place, day in enumerate(days):
        rings = alarm is not None and place >= alarm
        start = int(found.since[place]) if rings else 0
        status: Status = "ringing" if rings else "ok" if place >= by_day.FIRST else "learning"
        steps.append(
            ContestStep(
                day.label,
                champion.model,
                challenger.model,
                difference=float(differences[place]),
                since_difference=float(differences[start : place + 1].mean()),
                evidence=float(evidence[place]),
                status=status,
                since=days[start].label if rings else None,
            )
        )
    return steps


def _watched(days: Sequence[Day]) -> Array:
    return np.array([float(day.watched) for day in days])


def _coverage(days: Sequence[Day]) -> float:
    rows = np.array([day.effective for day in days])
    missed = np.array([day.missed for day in days])
    return float(1 - np.average(missed, weights=rows))


def _misses(shares: Array, sizes: Array) -> tuple[float, float]:
    """Return misses and rows, as many as days that scatter like these are worth."""
    rows = sizes.sum()
    rate = float(np.average(shares, weights=sizes))
    days = len(shares)
    variance = np.sum((sizes * (shares - rate)) ** 2) / rows**2 * days / max(days - 1, 1)
    worth = min(rows, rate * (1 - rate) / variance) if variance > 0 else rows
    return float(rate * worth), float(worth)
