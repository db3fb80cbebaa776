"""Series: the days of one model, of one of its groups, or of two models against each other, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import nan
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from uccurve import _refusals as checks
from uccurve._distributions import clopper_pearson

from .days import (
    ContestStep,
    Day,
    Difference,
    Label,
    RangFor,
    Status,
    Step,
    is_before,
    place_of,
    pooled_move,
)
from .evidence import DifferenceEvidence, Promise, PromiseEvidence, Side, Starts

RANG_FOR: dict[int, RangFor] = {1: "too narrow", -1: "too wide"}
KEPT = 400  # days by themselves; of earlier ones only what they say together
UNCLEAR_ODDS = 3  # times the promised odds of a miss
NOISE = 1.64  # standard errors of a calibration that the tolerance allows
USUAL_TOLERANCE = 0.05  # share of the miss rate


class _Labelled(Protocol):
    @property
    def label(self) -> Label: ...


ItemT = TypeVar("ItemT", bound=_Labelled)


class _Running(Protocol):
    """What days say, which grows by a day."""

    def after(self, day: Any, /) -> Self: ...

    def anew(self) -> Self: ...


StateT = TypeVar("StateT", bound=_Running)


@dataclass(slots=True)
class Track(Generic[ItemT, StateT]):
    """Days in order, of which the last ones are kept, and what they say.

    Attributes
    ----------
    base, now
        What all days before those that are kept say, and what all say.
    days : list
        Days that are kept.
    acknowledged : list of label
        Days after which an alarm was acknowledged.
    forgotten : label or None
        The last day that is not kept.
    """

    base: StateT
    now: StateT
    days: list[ItemT] = field(default_factory=list)
    acknowledged: list[Label] = field(default_factory=list)
    forgotten: Label | None = None

    @classmethod
    def of(cls, start: StateT) -> Self:
        """No days yet."""
        return cls(start, start)

    def copy(self) -> Self:
        """Return another one of the same days."""
        return replace(self, days=[*self.days], acknowledged=[*self.acknowledged])

    def acknowledge(self) -> None:
        """Start anew: what rang until the last day is known."""
        if self.days and self.days[-1].label not in self.acknowledged:
            self.acknowledged.append(self.days[-1].label)
            self.now = self.now.anew()

    def has_taken(self, label: Label) -> bool:
        """Whether a day was taken, or is older than all that are kept after many."""
        return self.is_forgotten(label) or self.find(label) is not None

    def is_forgotten(self, label: Label) -> bool:
        """Whether a day is older than all that are kept after many."""
        return self.forgotten is not None and not is_before(self.forgotten, label)

    def find(self, label: Label) -> ItemT | None:
        """Return a day that was taken."""
        place = self._place_of(label)
        here = self.days[place : place + 1]
        return here[0] if here and here[0].label == label else None

    def take(self, day: ItemT, *, replace: bool) -> None:
        """Add a day after the others; or in its place, with `replace`."""
        place = self._place_of(day.label)
        if place == len(self.days) and not self.is_forgotten(day.label):
            self.days.append(day)
            self.now = self.now.after(day)
        else:
            self._refuse(day, replace=replace)
            taken = self.days[place].label == day.label
            self.days[place : place + taken] = [day]
            self._replay()
        self._forget()

    def remove(self, label: Label) -> None:
        """Take a day back."""
        day = self.find(label)
        if day is not None:
            self.days.remove(day)
            self._replay()

    def history(self) -> Iterator[tuple[ItemT, StateT]]:
        """Yield each kept day with what was known after it."""
        state = self.base
        for day in self.days:
            state = state.after(day)
            yield day, state
            if day.label in self.acknowledged:
                state = state.anew()

    def _place_of(self, label: Label) -> int:
        place = len(self.days)
        while place and not is_before(self.days[place - 1].label, label):
            place -= 1
        return place

    def _replay(self) -> None:
        self.now = self.base
        for day, state in self.history():
            self.now = state.anew() if day.label in self.acknowledged else state

    def _forget(self) -> None:
        while len(self.days) > KEPT:
            day = self.days.pop(0)
            self.base = self.base.after(day)
            self.forgotten = day.label
            if day.label in self.acknowledged:
                self.acknowledged.remove(day.label)
                self.base = self.base.anew()

    def _refuse(self, day: ItemT, *, replace: bool) -> None:
        """Refuse a day that is not a new one after all others, unless it may replace."""
        if self.is_forgotten(day.label):
            raise ValueError(
                f"days must come in order: {day.label} is before the last {KEPT} days, of which alone each is kept."
            )
        if replace:
            return
        if self.find(day.label) is not None:
            raise checks.Refusal(
                f"each day is taken once, and {day.label} was taken already.",
                checks.Hint(
                    "for late rows, give all rows of the day with {replace}", {"replace": True}
                ),
            )
        raise checks.Refusal(
            f"days must come in order: {day.label} is before {self.days[-1].label}, the last one taken.",
            checks.Hint("{replace} puts it in its place", {"replace": True}),
        )


@dataclass(frozen=True, slots=True)
class Watch:
    """What a monitor was asked to watch."""

    coverage: float
    false_alarm_every: float
    side: Side = "both"
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

    @property
    def promise(self) -> Promise:
        """What the evidence is weighed against."""
        return Promise(self.alpha, self.allowed, self.side, self.period)

    def settings(self) -> dict[str, Any]:
        """Return what a `Monitor` is made with."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Alarm:
    """That it rang: on which day, how strong the evidence has become, from which day on, and for which side.

    `sign` is 1 for too many misses and -1 for too few; 0 for a challenger.
    """

    label: Label
    since: Label
    evidence: float
    sign: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered beside the evidence.

    Attributes
    ----------
    starts : dict from day number to label
        The days on which bets and ratios have begun.
    level : float
        Evidence after the last day, shared among all that is watched.
    alarm : Alarm or None
        Until it is acknowledged.
    """

    starts: dict[int, Label] = field(default_factory=dict)
    level: float = 0.0
    alarm: Alarm | None = None

    def after(
        self, label: Label, starts: Starts, *, watched: int, limit: float, sign: int = 0
    ) -> Self:
        """One day more."""
        known = self.starts | {starts.days - 1: label}
        used = np.unique(starts.start).tolist()
        labels = {day: known[day] for day in used if day in known}
        level = float(starts.mean) / watched
        alarm = self.alarm
        if level >= (limit if alarm is None else alarm.evidence):
            since = labels[int(starts.since)]
            alarm = Alarm(label if alarm is None else alarm.label, since, level, sign)
        return replace(self, starts=labels, level=level, alarm=alarm)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows were missed, and how many independent rows days that scatter like these are worth."""

    days: int = 0
    rows: float = 0.0
    missed: float = 0.0
    rows_squared: float = 0.0
    rows_missed: float = 0.0  # sum of rows times missed rows
    missed_squared: float = 0.0

    def after(self, day: Day) -> Tally:
        """One day more."""
        rows = day.effective
        missed = rows * day.missed
        return Tally(
            self.days + 1,
            self.rows + rows,
            self.missed + missed,
            self.rows_squared + rows * rows,
            self.rows_missed + rows * missed,
            self.missed_squared + missed * missed,
        )

    @property
    def largest_miss_rate(self) -> float:
        """Upper end of the 95% interval of the miss rate, with days as blocks."""
        rate = self.missed / self.rows
        squares = self.missed_squared - 2 * rate * self.rows_missed + rate**2 * self.rows_squared
        variance = max(squares, 0.0) / self.rows**2 * self.days / max(self.days - 1, 1)
        worth = self.rows
        if variance > 0:
            worth = min(worth, rate * (1 - rate) / variance)
        return clopper_pearson(rate * worth, worth)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What all days since the last acknowledgement say of a promise."""

    watch: Watch
    evidence: PromiseEvidence
    tally: Tally = field(default_factory=Tally)
    memory: Memory = field(default_factory=Memory)

    @classmethod
    def of(cls, watch: Watch) -> Self:
        """Nothing yet."""
        return cls(watch, PromiseEvidence.of(watch.promise))

    def anew(self) -> Judgement:
        """Return what is known after an acknowledgement."""
        return Judgement.of(self.watch)

    def after(self, day: Day) -> Judgement:
        """One day more."""
        place = place_of(day.label, self.evidence.starts.days, self.watch.period)
        evidence = self.evidence.after(day.missed, day.effective, place)
        memory = self.memory.after(
            day.label,
            evidence.starts,
            watched=day.watched,
            limit=self.watch.false_alarm_every,
            sign=evidence.leading_sign,
        )
        return Judgement(self.watch, evidence, self.tally.after(day), memory)

    @property
    def status(self) -> Status:
        """What the days say."""
        if self.memory.alarm is not None:
            return "ringing"
        if self.evidence.is_learning:
            return "learning"
        odds = UNCLEAR_ODDS * self.watch.alpha / (1 - self.watch.alpha)
        unclear = self.tally.largest_miss_rate > odds / (1 + odds)
        return "unclear" if unclear else "ok"


@dataclass(frozen=True, slots=True, eq=False)
class ContestJudgement:
    """What all days since the last acknowledgement say of a champion and a challenger."""

    watch: Watch
    evidence: DifferenceEvidence
    memory: Memory = field(default_factory=Memory)

    @classmethod
    def of(cls, watch: Watch) -> Self:
        """Nothing yet."""
        return cls(watch, DifferenceEvidence.of())

    def anew(self) -> ContestJudgement:
        """Return what is known after an acknowledgement."""
        return ContestJudgement.of(self.watch)

    def after(self, day: Difference) -> ContestJudgement:
        """One day more."""
        evidence = self.evidence.after(day.difference)
        limit = self.watch.false_alarm_every
        memory = self.memory.after(day.label, evidence.starts, watched=day.watched, limit=limit)
        return ContestJudgement(self.watch, evidence, memory)

    @property
    def status(self) -> Status:
        """What the days say."""
        if self.memory.alarm is not None:
            return "ringing"
        return "learning" if self.evidence.is_learning else "ok"


class Series(Track[Day, Judgement]):
    """The days of one model, or of one group of it."""

    def steps(self, model: str, group: str | None) -> list[Step]:
        """Return what was said after each day that is kept."""
        steps: list[Step] = []
        for place, (_, judgement) in enumerate(self.history()):
            steps.append(self._step(place, judgement, model, group))
        return steps

    def last(self, model: str, group: str | None) -> Step:
        """Return the last step; right after an acknowledgement, that of a day that says nothing yet."""
        place = len(self.days) - 1
        step = self._step(place, self.now, model, group)
        return step.as_new() if self.days[-1].label in self.acknowledged else step

    def _step(self, place: int, judgement: Judgement, model: str, group: str | None) -> Step:
        day = self.days[place]
        covered = 1 - day.missed
        low, high = clopper_pearson(covered * day.effective, day.effective)
        alarm = judgement.memory.alarm
        since = None if alarm is None else alarm.since
        part = self._part(since, place)
        move = pooled_move(part, judgement.watch.alpha, day.vary)
        return Step(
            label=day.label,
            n=day.rows,
            coverage=covered,
            low=low,
            high=high,
            evidence=judgement.memory.level,
            status=judgement.status,
            since=since,
            strongest=nan if alarm is None else alarm.evidence,
            rang_for=None if alarm is None else RANG_FOR.get(alarm.sign),
            factor=move if day.vary == "scale" else nan,
            shift=move if day.vary == "shift" else nan,
            since_coverage=_coverage(part),
            since_days=len(part),
            model=model,
            group=group,
            promised=judgement.watch.coverage,
        )

    def _part(self, since: Label | None, place: int) -> Sequence[Day]:
        """Return the days from one on until a place; the day there where nothing rings."""
        if since is None:
            return self.days[place : place + 1]
        return [day for day in self.days[: place + 1] if not is_before(day.label, since)]


class Contest(Track[Difference, ContestJudgement]):
    """The daily differences of two models' scores."""

    def steps(self, champion: str, challenger: str) -> list[ContestStep]:
        """Return what was said after each day that is kept, since the last acknowledgement."""
        steps: list[ContestStep] = []
        first = 0
        for place, (day, judgement) in enumerate(self.history()):
            steps.append(self._step(self.days[first : place + 1], judgement, champion, challenger))
            if day.label in self.acknowledged:
                steps.clear()
                first = place + 1
        return steps

    def last(self, champion: str, challenger: str) -> ContestStep | None:
        """Return the last step; None where nothing was said since the last acknowledgement."""
        if not self.days or self.days[-1].label in self.acknowledged:
            return None
        new = [
            day
            for day in self.days
            if all(is_before(label, day.label) for label in self.acknowledged)
        ]
        return self._step(new, self.now, champion, challenger)

    def _step(
        self,
        days: Sequence[Difference],
        judgement: ContestJudgement,
        champion: str,
        challenger: str,
    ) -> ContestStep:
        alarm = judgement.memory.alarm
        since = None if alarm is None else alarm.since
        part = [day.difference for day in days if since is None or not is_before(day.label, since)]
        return ContestStep(
            days[-1].label,
            champion,
            challenger,
            difference=days[-1].difference,
            since_difference=float(np.mean(part)),
            evidence=judgement.memory.level,
            status=judgement.status,
            since=since,
            strongest=nan if alarm is None else alarm.evidence,
        )


def _coverage(days: Sequence[Day]) -> float:
    rows = np.array([day.effective for day in days])
    missed = np.array([day.missed for day in days])
    return float(1 - np.average(missed, weights=rows))
