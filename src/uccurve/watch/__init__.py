"""Monitor: whether a promise of coverage still holds, looked at after every day, with a bound on false alarms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from uccurve import _refusals as checks
from uccurve._saved import sealed, unsealed
from uccurve.evidence.units import labels as one_per_row
from uccurve.intervals import Intervals

from .days import (
    WORST_FIRST,
    ContestStep,
    Day,
    Difference,
    Label,
    Status,
    Step,
    label_of,
    order_key,
)
from .evidence import Side
from .saved import SHAPE, Name, Restored, restore, state
from .series import Contest, ContestJudgement, Judgement, Series, Watch

__all__ = ["Monitor", "Step"]

MOST_SERIES = 1000
ONLY = "model"  # what a model without a name is called


class Monitor:
    """Watch whether intervals keep their promise, day after day; ring when they do not, and say since when.

    A day is any period whose outcomes arrive together. The monitor may be looked at as often as anybody likes: while
    the promise is kept, a false alarm takes at least `false_alarm_every` days on average, over all models and groups.
    A false alarm in 1,000 days on average still means that up to 63% of such monitors ring once within 1,000 days.

    Parameters
    ----------
    coverage : float
        What the intervals promise.
    false_alarm_every : float
        Days to a false alarm, on average at least.
    side : {"both", "narrow", "wide"}
        Ring for intervals that cover too little, too much, or both.
    tolerance : float, optional
        By how much the coverage may differ from the promise; by default 5% of the miss rate, or what `calibrated_on`
        asks for.
    calibrated_on : int, optional
        Number of rows on which the intervals were calibrated: the coverage of a factor learnt from few rows differs
        from the promise, and that is nothing that changed.
    period : int, optional
        Length of a pattern that repeats, 7 for weekdays: days are then compared with earlier ones of their weekday.
    challenger : str, optional
        Model whose daily interval score is compared with that of the first other model.

    Notes
    -----
    Evidence sums over all days on which something may have begun (Shiryaev and Roberts), averaged over bets on the
    miss rate, which are valid whatever happens inside a day, and over t ratios of the daily miss rate, once 20 days
    have shown how days scatter. The latter see a change in days rather than weeks and hold, approximately, for days
    that are exchangeable, also where some are extraordinary; where each day depends on the last, false alarms come
    more often. Days with fewer than
    5 expected misses, or with under a quarter of the usual number of rows, are only bet on.

    Examples
    --------
    >>> monitor = Monitor(coverage=0.9)
    >>> monitor.update("2026-03-01", (5000, 507)).status
    'learning'
    >>> for day in range(2, 9):
    ...     step = monitor.update(f"2026-03-{day:02}", (5000, 3000))
    >>> print(step)
    RINGING model: 40.0% of 90% since 2026-03-02 (7 days); one such alarm in 17,000 days by chance
    >>> monitor.status, monitor.since
    ('ringing', '2026-03-02')
    """

    __slots__ = ("_contest", "_series", "_watch")

    def __init__(
        self,
        *,
        coverage: float,
        false_alarm_every: float = 1000,
        side: Side = "both",
        tolerance: float | None = None,
        calibrated_on: int | None = None,
        period: int | None = None,
        challenger: str | None = None,
    ) -> None:
        checks.choice("side", side, ("both", "narrow", "wide"))
        checks.miss_rate_of(coverage)
        self._watch = Watch(
            float(coverage),
            checks.real("false_alarm_every", false_alarm_every, 1),
            side,
            None if tolerance is None else checks.real("tolerance", tolerance, 0, 1),
            _integer("calibrated_on", calibrated_on, 1),
            _integer("period", period, 2),
            challenger,
        )
        if not self._watch.promise.boundaries:
            raise ValueError(
                f"`tolerance` leaves nothing to watch: no coverage differs from {coverage:g} by more than "
                f"{self._watch.allowed:.3g} on this side. Hint: pass a smaller tolerance or side='narrow'."
            )
        self._series: dict[Name, Series] = {}
        self._contest = Contest.of(ContestJudgement.of(self._watch))

    @property
    def coverage(self) -> float:
        """The promised coverage."""
        return self._watch.coverage

    @property
    def false_alarm_every(self) -> float:
        """Days to a false alarm, on average at least."""
        return self._watch.false_alarm_every

    @property
    def tolerance(self) -> float:
        """By how much the coverage may differ from the promise."""
        return self._watch.allowed

    @property
    def challenger(self) -> str | None:
        """The model that is compared with the first one."""
        return self._watch.challenger

    @property
    def settings(self) -> dict[str, Any]:
        """What the monitor was made with, by name."""
        return self._watch.settings()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The last step of each model and group."""
        return tuple(series.last(*name) for name, series in self._series.items())

    @property
    def status(self) -> Status:
        """The worst status of all models and groups, and of the challenger; "learning" before the first day."""
        seen = {step.status for step in self.steps}
        last = self.contest
        if last is not None:
            seen.add(last.status)
        return next((status for status in WORST_FIRST if status in seen), "learning")

    @property
    def since(self) -> Label | None:
        """The first day of what rings; None where nothing does."""
        last = self.contest
        days = [step.since for step in self.steps if step.since is not None]
        if last is not None and last.since is not None:
            days.append(last.since)
        return min(days, key=order_key, default=None)

    @property
    def contest(self) -> ContestStep | None:
        """What the last day says of the challenger; None without one."""
        champion = self.champion
        if champion is None or self.challenger is None:
            return None
        return self._contest.last(champion, self.challenger)

    @property
    def champion(self) -> str | None:
        """The model that is compared with the challenger: the first other one; None without a challenger."""
        return self._champion_among(self._series)

    def update(
        self,
        label: Any,
        intervals_or_counts: Any,
        *,
        by: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Step:
        """Take the rows of one day, and return what is now known; of several models and groups, the worst step.

        Parameters
        ----------
        label : str, int or date
            The day; days come in order, gaps are fine.
        intervals_or_counts : Intervals, or (n, missed), or mapping from model to either
            The rows of that day with their outcomes, or how many there were and how many lay outside.
        by : mapping from feature to labels, optional
            One label per row; each group is watched by itself too.
        replace : bool
            Take a day again, or an earlier one in its place: all days after it are judged anew.

        Examples
        --------
        >>> monitor = Monitor(coverage=0.9)
        >>> rows = Intervals.from_bands([1.0, -2.0, 0.5, 3.0], [0.0] * 4, [2.0] * 4)
        >>> monitor.update("2026-03-01", {"net": rows}, by={"site": ["N", "N", "S", "S"]})
        Step(label='2026-03-01', n=2, coverage=0.5, ..., model='net', group='site S', promised=0.9)
        """
        day = label_of(label)
        models = _models(intervals_or_counts)
        parts: dict[Name, Any] = {}
        for model, data in models.items():
            parts[model, None] = data
            parts |= _groups(model, data, by)
        self._refuse_strangers(parts)
        watched = len(self._series.keys() | parts.keys()) + (self.challenger is not None)
        taken: dict[Name, Series] = {}
        for name, data in parts.items():
            taken[name] = self._with_day(
                name, Day.of(day, data, self.coverage, watched), replace=replace
            )
        contest = self._contested(day, taken, watched)
        self._forget(day, kept=taken)
        self._series |= taken
        self._contest = contest
        return _worst([series.last(*name) for name, series in taken.items()])

    def holds(self, label: Any, intervals_or_counts: Any) -> bool:
        """Whether this day was taken already from the same rows.

        Examples
        --------
        >>> monitor = Monitor(coverage=0.9)
        >>> step = monitor.update(1, (100, 9))
        >>> monitor.holds(1, (100, 9)), monitor.holds(1, (120, 9)), monitor.holds(2, (100, 9))
        (True, False, False)
        """
        day = label_of(label)
        for model, data in _models(intervals_or_counts).items():
            series = self._series.get((model, None))
            before = None if series is None else series.find(day)
            if before is None or not before.holds_the_same_rows(
                Day.of(day, data, self.coverage, 1)
            ):
                return False
        return True

    def has_taken(self, label: Any) -> bool:
        """Whether any model has this day already, or one so much later that it was forgotten."""
        day = label_of(label)
        return any(series.has_taken(day) for series in self._series.values())

    def acknowledge(self) -> None:
        """Start anew after the last day: what rang was repaired, or is known. Days are learnt from again.

        Examples
        --------
        >>> monitor = Monitor(coverage=0.9)
        >>> monitor.update(1, (100_000, 99_000)).status, monitor.update(2, (100_000, 99_000)).status
        ('learning', 'learning')
        >>> for day in range(3, 9):
        ...     step = monitor.update(day, (100_000, 99_000))
        >>> monitor.acknowledge()
        >>> step.status, monitor.status
        ('ringing', 'learning')
        """
        for series in self._series.values():
            series.acknowledge()
        self._contest.acknowledge()

    def history(self, model: str | None = None, group: str | None = None) -> tuple[Step, ...]:
        """Return the steps of all days that are kept, of the first model or of the one that is named.

        Examples
        --------
        >>> monitor = Monitor(coverage=0.9)
        >>> last = monitor.update(1, (100, 9)), monitor.update(2, (100, 12))
        >>> [step.coverage for step in monitor.history()]
        [0.91, 0.88]
        """
        names = [model] if model is not None else [name for name, _ in self._series]
        series = self._series.get((names[0], group)) if names else None
        if series is None:
            raise ValueError(
                f"`model` must be one that is watched; got {checks.shown(model)}, {checks.shown(group)}."
            )
        return tuple(series.steps(names[0], group))

    def days(self, model: str, group: str | None = None) -> tuple[Day, ...]:
        """Return what is kept of each day of a model."""
        return tuple(self._series[model, group].days)

    def contest_history(self) -> tuple[ContestStep, ...]:
        """Return what was said of the challenger since the last acknowledgement."""
        if self.champion is None or self.challenger is None:
            return ()
        return tuple(self._contest.steps(self.champion, self.challenger))

    def to_dict(self) -> dict[str, Any]:
        """Return the state as JSON has it."""
        return state(Restored(self._watch, self._series, self._contest))

    def to_json(self) -> str:
        """Write the state, some 30 kilobytes per model and year of days.

        Examples
        --------
        >>> monitor = Monitor(coverage=0.9)
        >>> step = monitor.update("2026-03-01", (5000, 507))
        >>> Monitor.from_json(monitor.to_json()).steps == (step,)
        True
        """
        return sealed(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote, or the state of `uccurve watch`; anything else is refused."""
        try:
            return cls.from_dict(unsealed(text, SHAPE))
        except (TypeError, ValueError) as error:
            why = str(error).rstrip(".")
            raise ValueError(f"`text` must be the state of a monitor: {why}.") from None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Restore what `to_dict` returned and `SHAPE` has checked."""
        restored = restore(data)
        self = cls(**restored.watch.settings())
        self._series = restored.series
        self._contest = restored.contest
        return self

    def __repr__(self) -> str:
        lines = [str(step) for step in self.steps]
        last = self.contest
        if last is not None:
            lines.append(str(last))
        return "\n".join(lines) or f"Monitor(coverage={self.coverage:g}, no days yet)"

    def _with_day(self, name: Name, day: Day, *, replace: bool) -> Series:
        """Return a series with one more day, the one before unchanged, so that a refusal changes nothing."""
        series = self._series.get(name) or Series.of(Judgement.of(self._watch))
        copy = series.copy()
        copy.take(day, replace=replace)
        return copy

    def _forget(self, day: Label, *, kept: Mapping[Name, Series]) -> None:
        """Take a day back from models and groups that it held before and no longer has."""
        for name, series in [*self._series.items()]:
            if name not in kept and series.find(day) is not None:
                series.remove(day)
                if not series.days:
                    del self._series[name]

    def _contested(self, day: Label, taken: dict[Name, Series], watched: int) -> Contest:
        """Return the contest with one more day, or without a day on which one of both has no score any more."""
        contest = self._contest.copy()
        champion = self._champion_among(self._series | taken)
        if self.challenger is None or champion is None:
            return contest
        old = taken.get((champion, None))
        new = taken.get((self.challenger, None))
        before = None if old is None else old.find(day)
        after = None if new is None else new.find(day)
        if before is None or after is None:
            return contest
        difference = before.score - after.score
        if np.isfinite(difference):
            contest.take(Difference(day, difference, watched), replace=True)
        else:
            contest.remove(day)
        return contest

    def _champion_among(self, names: Iterable[Name]) -> str | None:
        """Return the first model that is not the challenger, where there is one."""
        if self.challenger is None:
            return None
        for model, group in names:
            if group is None and model != self.challenger:
                return model
        return None

    def _refuse_strangers(self, parts: Mapping[Name, Any]) -> None:
        """Refuse a challenger that is not there, and more series than anybody watches."""
        if self.challenger is not None and (self.challenger, None) not in parts:
            models = sorted({model for model, _ in parts})
            near = checks.nearest(self.challenger, models)
            raise ValueError(
                f"the challenger {self.challenger!r} must be among the models {', '.join(models)}.{near}"
            )
        if len(self._series.keys() | parts.keys()) > MOST_SERIES:
            raise ValueError(
                f"at most {MOST_SERIES:,} models and groups are watched together. Hint: watch fewer groups."
            )


def _models(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        return {ONLY: data}
    if not data or not all(isinstance(name, str) for name in data):
        raise ValueError(
            "models must be a mapping from name to Intervals or counts, with at least one of them."
        )
    return data


def _groups(model: str, data: Any, by: Mapping[str, Any] | None) -> dict[Name, Any]:
    """Return the rows of each group."""
    groups: dict[Name, Any] = {}
    for feature, column in (by or {}).items():
        if not isinstance(data, Intervals):
            raise TypeError("`by` needs Intervals: counts cannot be split into groups.")
        labels = one_per_row(f"by[{feature!r}]", column, len(data))
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            groups[model, f"{feature} {label}"] = data[rows]
    return groups


def _worst(steps: list[Step]) -> Step:
    """Return the step of the most urgent status, of these the one with the most evidence."""
    return min(steps, key=lambda step: (WORST_FIRST.index(step.status), -step.evidence))


def _integer(name: str, value: Any, least: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(
            f"`{name}` must be an integer of at least {least}; got {checks.shown(value)}."
        )
    return int(value)
