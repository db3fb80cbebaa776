"""Steps: what a monitor says after a day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Literal

from .days import Label

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
        Against the promise: so strong by chance once in that many days.
    status : {"learning", "ok", "ringing", "unclear"}
        "learning" before 20 days are there; "unclear" where so few rows were seen that the miss rate may be far too
        high; "ringing" from the alarm on until it is acknowledged.
    since : str, int or None
        While it rings, the first day of what broke the promise.
    factor : float
        Factor on the bands that would have kept the promise, since then or, where nothing rings, on this day; nan for
        mere counts.
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
    factor: float = nan
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
            self, evidence=0.0, status="learning", since=None, since_days=0, since_coverage=nan
        )

    def __str__(self) -> str:
        """One line, such as for a chat.

        >>> alarm = {"since": "2026-03-01", "factor": 1.18, "since_coverage": 0.849, "since_days": 3}
        >>> str(Step("2026-03-03", 5000, 0.85, 0.84, 0.86, 3400, "ringing", model="net", promised=0.9, **alarm))
        'RINGING net: 84.9% of 90% since 2026-03-01 (3 days); bands × 1.18 would restore it; \
one such alarm in 3,400 days by chance'
        """
        return self._alarm() if self.status == "ringing" else self._day()

    def _day(self) -> str:
        sure = f"[{100 * self.low:.1f}, {100 * self.high:.1f}]"
        seen = f"{observed(self.coverage)} {sure} of {promise(self.promised)}"
        return f"{self.status} {self.name}: {seen} on {self.label}"

    def _alarm(self) -> str:
        days = "1 day" if self.since_days == 1 else f"{self.since_days} days"
        seen = f"{observed(self.since_coverage)} of {promise(self.promised)}"
        parts = [f"RINGING {self.name}: {seen} since {self.since} ({days})"]
        if isfinite(self.factor):
            parts.append(f"bands × {self.factor:.2f} would restore it")
        parts.append(f"one such alarm in {rarity(self.evidence)} days by chance")
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
    """

    label: Label
    champion: str
    challenger: str
    difference: float
    since_difference: float
    evidence: float
    status: Status
    since: Label | None = None

    def __str__(self) -> str:
        """One line.

        >>> str(ContestStep("2026-03-03", "old", "new", 0.4, 0.31, 2000, "ringing", "2026-02-20"))
        'RINGING new: scores better than old by 0.31 since 2026-02-20; one such alarm in 2,000 days by chance'
        """
        word = "better" if self.since_difference > 0 else "worse"
        size = f"{abs(self.since_difference):.3g}"
        if self.status != "ringing":
            return f"{self.status} {self.challenger}: scores {word} than {self.champion} by {size}, not significant"
        line = f"RINGING {self.challenger}: scores {word} than {self.champion} by {size} since {self.since}"
        return f"{line}; one such alarm in {rarity(self.evidence)} days by chance"


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
