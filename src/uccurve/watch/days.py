"""Days: what a monitor keeps of the rows of one day, what it says after it, and the factor that several ask for."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, nan
from typing import Any, Literal

import numpy as np

from uccurve import _refusals as checks
from uccurve._vocabulary import Array, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals

Label = str | int
TAILS = (3.0, 1.7, 1.0, 0.6, 0.3)  # miss rates, times the promised one, whose factors are kept
SAME = 1e-5  # relative difference of numbers that are the same but for their rounding
DIGITS = 6  # that are kept of a number
LONGEST_LABEL = 80  # characters
PIECE = re.compile(r"(\D+)|(\d+)")  # of a label
DATE = re.compile(r"\d{4}-\d{2}-\d{2}\b")  # at the start of a label
SMALLEST_SCALE = 1e-12  # below which a scale is treated as this, on the log scale


@dataclass(frozen=True, slots=True)
class Day:
    """One day of one model.

    Attributes
    ----------
    label : str or int
    rows : int
    missed : float
        Share of the rows outside their interval.
    effective : float
        Number of rows that the weights leave; `rows` without weights.
    vary : {"scale", "shift"}
        What can move the intervals: a factor on the bands, or a shift of a bound that has no prediction.
    tails : tuple of float
        Factors (or shifts) that leave 3, 1.7, 1, 0.6 and 0.3 times the promised miss rate; empty for mere counts.
    score, half_width, skill : float
        Interval score, mean half-width and skill of the potential CRPS; nan for mere counts, and the last two for a
        bound without a prediction.
    watched : int
        How many series the monitor watched then, which share the false alarms.
    """

    label: Label
    rows: int
    missed: float
    effective: float
    vary: Vary = "scale"
    tails: tuple[float, ...] = ()
    score: float = nan
    half_width: float = nan
    skill: float = nan
    watched: int = 1

    @classmethod
    def of(cls, label: Label, data: Any, coverage: float, watched: int) -> Day:
        """Return what is kept of intervals, or of a number of rows and of missed ones."""
        if isinstance(data, Intervals):
            return cls._of_intervals(label, data, coverage, watched)
        rows, missed = _counts(data)
        return cls(label, rows, missed / rows, float(rows), watched=watched)

    @classmethod
    def _of_intervals(
        cls, label: Label, intervals: Intervals, coverage: float, watched: int
    ) -> Day:
        vary = _vary_of(intervals)
        curve = UCC(intervals, vary=vary)
        path = curve.path()
        missed = path.critical > path.delivered
        tails = tails_of(path.critical, path.weight, 1 - coverage)
        has_bands = vary == "scale"
        return cls(
            label,
            rows=len(intervals),
            missed=_rounded(path.mean(missed)),
            effective=_rounded(_effective_rows(intervals)),
            vary=vary,
            tails=tuple(_rounded(tail) for tail in tails),
            score=_rounded(curve.interval_score(coverage=coverage, at=path.delivered)),
            half_width=_rounded(path.mean_half_width) if has_bands else nan,
            skill=_rounded(curve.skill()) if has_bands else nan,
            watched=watched,
        )

    def holds_the_same_rows(self, other: Day) -> bool:
        """Whether both may come from the same rows, in any order."""
        numbers = [self.missed, self.effective, *self.tails]
        others = [other.missed, other.effective, *other.tails]
        if (self.label, self.rows, self.vary) != (other.label, other.rows, other.vary):
            return False
        if len(numbers) != len(others):
            return False
        return bool(np.allclose(numbers, others, rtol=SAME, atol=0))


@dataclass(frozen=True, slots=True)
class Difference:
    """Interval score of a champion minus that of its challenger on one day."""

    label: Label
    difference: float
    watched: int = 1


def label_of(value: Any) -> Label:
    """Return what a day is called: an integer, or text; dates are written as 2026-03-01.

    >>> label_of(dt.date(2026, 3, 1)), label_of(np.int64(7)), label_of("week 12")
    ('2026-03-01', 7, 'week 12')
    """
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_LABEL:
        raise TypeError(
            f"`label` must be a date, an integer or at most {LONGEST_LABEL} characters of text; "
            f"got {checks.shown(value)}."
        )
    return value.strip()


def is_before(label: Label, other: Label) -> bool:
    """Whether a day comes before another one; labels of different kinds have no order.

    Numbers in text count as numbers.

    >>> is_before("week 9", "week 12"), is_before("2026-03-02", "2026-03-01")
    (True, False)
    """
    if _kind_of(label) != _kind_of(other):
        raise TypeError(
            f"days must be all dates, all integers or all other text; got {label!r} and {other!r}."
        )
    return order_key(label) < order_key(other)


def _kind_of(label: Label) -> str:
    """Return what a label is: an integer, a date or other text."""
    if isinstance(label, int):
        return "integer"
    return "date" if DATE.match(label) else "text"


def order_key(label: Label) -> list[tuple[int, str]]:
    """Return what sorts labels: text by its letters, and numbers in it by their size."""
    if isinstance(label, int):
        return [(label, "")]
    key: list[tuple[int, str]] = []
    for letters, digits in PIECE.findall(label):
        key.append((int(digits) if digits else -1, letters))
    return key


def place_of(label: Label, order: int, period: int | None) -> int:
    """Return the place of a day in its period: by date, by number, or by order.

    >>> place_of("2026-03-01", 0, 7), place_of("2026-03-09", 1, 7), place_of("spring", 9, 4)
    (0, 1, 1)
    """
    if period is None:
        return 0
    if isinstance(label, int):
        return label % period
    try:
        number = dt.date.fromisoformat(label[:10]).toordinal()
    except ValueError:
        number = order
    return number % period


def _vary_of(intervals: Intervals) -> Vary:
    """Return what can move intervals: a factor, or only a shift where bands cannot be measured from a prediction."""
    if not intervals.has_prediction:
        return "shift"
    smallest = min(intervals.lower_band.min(), intervals.upper_band.min())
    return "scale" if smallest >= 0 else "shift"


def tails_of(critical: Array, weight: Array | None, alpha: float) -> Array:
    """Return the factors or shifts that leave a few multiples of the miss rate `alpha`, the smallest first."""
    order = np.argsort(critical)
    mass = np.ones(len(critical)) if weight is None else weight
    below = np.cumsum(mass[order]) / mass.sum()
    places = np.searchsorted(below, 1 - _tail_shares(alpha) - 1e-12)
    kept: Array = np.take(critical, order[np.minimum(places, len(order) - 1)])
    return kept


def _tail_shares(alpha: float) -> Array:
    """Return the miss rates of the tails that are kept."""
    shares: Array = np.minimum(np.array(TAILS) * alpha, (1 + alpha) / 2)
    return shares


def pooled_move(days: Sequence[Day], alpha: float, vary: Vary) -> float:
    """Return the factor (or shift) that would have left the miss rate `alpha` on all these days together.

    Between the tails that are kept of a day its miss rate is a straight line, in the logarithm of factors.
    """
    curves = [day for day in days if day.tails and day.vary == vary]
    if not curves:
        return nan
    tails = np.array([day.tails for day in curves])
    places = np.sort(_on_axis(tails[np.isfinite(tails)], vary))
    missed = np.zeros(len(places))
    rows = 0.0
    for day in curves:
        missed += day.effective * _misses(day, _tail_shares(alpha), places)
        rows += day.effective
    if not len(places) or missed[-1] > alpha * rows:
        return inf if np.isinf(tails).any() else float(tails.max())
    place = np.interp(-alpha * rows, -missed, places)
    return float(np.exp(place) if vary == "scale" else place)


def _misses(day: Day, shares: Array, places: Array) -> Array:
    """Return the miss rate of one day at these places of the axis."""
    tails = np.array(day.tails)
    known = np.isfinite(tails)
    if not known.any():
        return np.full(len(places), shares[0])
    missed: Array = np.interp(places, _on_axis(tails[known], day.vary), shares[known])
    return missed


def _on_axis(tails: Array, vary: Vary) -> Array:
    """Return where between tails lines are straight: the logarithm of factors, shifts as they are."""
    return np.log(np.maximum(tails, SMALLEST_SCALE)) if vary == "scale" else tails


def _counts(data: Any) -> tuple[int, float]:
    """Return the number of rows and of missed ones."""
    try:
        rows, missed = data
        rows = checks.real("n", rows, 1)
        missed = checks.real("missed", missed, 0, rows)
    except (TypeError, ValueError) as error:
        why = f": {error}" if str(error).startswith("`") else f"; got {checks.shown(data)}."
        raise type(error)(
            f"a day must be Intervals, or counts (n, missed) with 0 <= missed <= n{why}"
        ) from None
    if rows != int(rows):
        raise ValueError(f"a day must have an integer number of rows; got {checks.shown(rows)}.")
    return int(rows), missed


def _effective_rows(intervals: Intervals) -> float:
    weight = intervals.weight
    return float(weight.sum() ** 2 / np.sum(weight**2))


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


RangFor = Literal["too narrow", "too wide"]
Status = Literal["learning", "ok", "ringing", "unclear"]
WORST_FIRST: tuple[Status, ...] = ("ringing", "unclear", "learning", "ok")


@dataclass(frozen=True, slots=True)
class Step:
    """One day of one model, and what all days so far say.

    Attributes
    ----------
    label : str or int
        The day.
    n : int
        Its number of rows.
    coverage, low, high : float
        Share of its rows inside their interval, with the 95% interval of that day by itself.
    evidence : float
        Against the promise, after this day: so strong by chance once in that many days.
    status : {"learning", "ok", "ringing", "unclear"}
        "learning" before 20 days are there; "unclear" where so few rows were seen that the miss rate may be far too
        high; "ringing" from the alarm on until it is acknowledged.
    since : str, int or None
        While it rings, the first day of what broke the promise.
    strongest : float
        While it rings, the strongest evidence since it began to ring.
    rang_for : {"too narrow", "too wide"} or None
        While it rings, what the strongest evidence was for.
    factor : float
        Factor on the bands that would have kept the promise, since then or, where nothing rings, on this day; nan for
        mere counts, and for a bound without a prediction.
    shift : float
        The same for a bound without a prediction: what would have to be added to its band; nan for others.
    since_coverage : float
        Coverage since then.
    since_days : int
        Number of days since then.
    model : str
    group : str or None
        Which of its rows; None for all.
    promised : float
        The coverage.
    """

    label: Label
    n: int
    coverage: float
    low: float
    high: float
    evidence: float
    status: Status
    since: Label | None = None
    strongest: float = nan
    rang_for: RangFor | None = None
    factor: float = nan
    shift: float = nan
    since_coverage: float = nan
    since_days: int = 0
    model: str = "model"
    group: str | None = None
    promised: float = nan

    @property
    def name(self) -> str:
        """The model, and its group."""
        return self.model if self.group is None else f"{self.model}, {self.group}"

    def as_new(self) -> Step:
        """Return the same day as it counts after an acknowledgement: nothing is known yet."""
        return replace(
            self,
            evidence=0.0,
            status="learning",
            since=None,
            strongest=nan,
            rang_for=None,
            since_days=0,
            since_coverage=nan,
        )

    def __str__(self) -> str:
        """One line, such as for a chat.

        >>> alarm = {"since": "2026-03-01", "factor": 1.18, "since_coverage": 0.849, "since_days": 3}
        >>> alarm |= {"model": "net", "promised": 0.9, "strongest": 3400}
        >>> str(Step("2026-03-03", 5000, 0.85, 0.84, 0.86, 2900, "ringing", **alarm))
        'RINGING net: 84.9% of 90% since 2026-03-01 (3 days); bands × 1.18 would restore it; \
one such alarm in 3,400 days by chance'
        """
        return self._alarm() if self.status == "ringing" else self._day()

    def _day(self) -> str:
        sure = f"[{100 * self.low:.1f}, {100 * self.high:.1f}]"
        seen = f"{observed(self.coverage)} {sure} of {promise(self.promised)}"
        return f"{self.status} {self.name}: {seen} on {self.label}"

    @property
    def is_over(self) -> bool:
        """Whether what rang has been made good since: too narrow then, and enough coverage since, or the reverse."""
        excess = self.since_coverage - self.promised
        return (self.rang_for == "too narrow" and excess >= 0) or (
            self.rang_for == "too wide" and excess <= 0
        )

    def _alarm(self) -> str:
        days = "1 day" if self.since_days == 1 else f"{self.since_days} days"
        seen = f"{observed(self.since_coverage)} of {promise(self.promised)}"
        parts = [f"RINGING {self.name}: {seen} since {self.since} ({days})"]
        if self.is_over:
            parts.append(f"it was {self.rang_for} and no longer is: acknowledge it")
        elif isfinite(self.factor):
            parts.append(f"bands × {self.factor:.2f} would restore it")
        elif isfinite(self.shift):
            parts.append(f"a shift of {self.shift:.3g} would restore it")
        parts.append(f"one such alarm in {rarity(self.strongest)} days by chance")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class ContestStep:
    """One day of a champion and a challenger, and what all days so far say of their scores.

    Attributes
    ----------
    label : str or int
    champion, challenger : str
    difference : float
        Interval score of the champion minus that of the challenger on this day: above 0 the challenger is better.
    since_difference : float
        Its mean since `since`, or over all days where nothing rings.
    evidence : float
        That they differ: so strong by chance once in that many days.
    status : {"learning", "ok", "ringing"}
    since : str, int or None
    strongest : float
        While it rings, the strongest evidence since it began to ring.
    """

    label: Label
    champion: str
    challenger: str
    difference: float
    since_difference: float
    evidence: float
    status: Status
    since: Label | None = None
    strongest: float = nan

    def __str__(self) -> str:
        """One line.

        >>> str(
        ...     ContestStep(
        ...         "2026-03-03", "old", "new", 0.4, 0.31, 1900, "ringing", "2026-02-20", 2000
        ...     )
        ... )
        'RINGING new: scores better than old by 0.31 since 2026-02-20; one such alarm in 2,000 days by chance'
        """
        word = "better" if self.since_difference > 0 else "worse"
        size = f"{abs(self.since_difference):.3g}"
        if self.status != "ringing":
            return f"{self.status} {self.challenger}: scores {word} than {self.champion} by {size}, not significant"
        line = f"RINGING {self.challenger}: scores {word} than {self.champion} by {size} since {self.since}"
        return f"{line}; one such alarm in {rarity(self.strongest)} days by chance"


def rarity(evidence: float) -> str:
    """Return a number of days in words.

    >>> rarity(3412.0), rarity(12.3), rarity(1e30)
    ('3,400', '12', 'over a billion')
    """
    if evidence >= 1e9:
        return "over a billion"
    return f"{float(f'{evidence:.2g}'):,.0f}"


def observed(share: float) -> str:
    """Return an observed share, 84.9%."""
    return f"{100 * share:.1f}%"


def promise(share: float) -> str:
    """Return a promised share as it was promised, 90% or 99.5%."""
    return f"{100 * share:.10g}%"
