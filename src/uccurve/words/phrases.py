"""Phrases: what is done to a model's bands, as headlines, sentences and labels say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from uccurve._vocabulary import Side
from uccurve.estimate import Move
from uccurve.words.formats import coverage, factor, number, short

UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Shipment:
    """One model and what is done to it before it ships.

    `level` is that of the interval that is moved, where a model has several and it is not the coverage aimed at.

    >>> from uccurve.estimate import Estimate
    >>> net = Shipment("net", Move("scale", Estimate(1.69)))
    >>> net.shipped, net.named
    ('net with bands × 1.69', 'net × 1.69')
    """

    name: str
    move: Move
    side: Side = "both"
    level: float | None = None
    unchanged: bool = False

    @property
    def shipped(self) -> str:
        """The model as the object of "ship"."""
        name = short(self.name)
        change = UNCHANGED if self.unchanged else self.change
        if self.side != "both":
            return f"{name}'s {self.side} bound {change}"
        if self.unchanged:
            return f"{name}{self._interval_unchanged} {change}"
        return f"{name} with {self._bands} {change}"

    @property
    def named(self) -> str:
        """The model as one of several."""
        if self.unchanged:
            return f"{short(self.name)} {UNCHANGED}"
        return f"{short(self.name)} {self.change}"

    @property
    def change(self) -> str:
        """What is done to its bands, or to its one bound."""
        if self.move.kind == "scale":
            return factor(self.move.estimate.value).text
        return f"{self._direction} by {number(abs(self.move.estimate.value))}"

    @property
    def _direction(self) -> str:
        """Which way a shift goes; a positive one widens the interval."""
        widens = self.move.estimate.value >= 0
        if self.side == "both":
            return "widened" if widens else "narrowed"
        moves_up = widens == (self.side == "upper")
        return "raised" if moves_up else "lowered"

    @property
    def _bands(self) -> str:
        return "bands" if self.level is None else f"its {coverage(self.level)} bands"

    @property
    def _interval_unchanged(self) -> str:
        return "" if self.level is None else f"'s {coverage(self.level)} intervals"


def movers(moves: Iterable[Move]) -> str:
    """Return what would have to move the bands: a factor, a shift, or either.

    >>> from uccurve.estimate import Estimate
    >>> movers([Move("shift", Estimate(1.0))])
    'shift'
    """
    kinds = {move.kind for move in moves}
    if kinds == {"shift"}:
        return "shift"
    return "factor" if kinds == {"scale"} else "factor or shift"


def percent_more(ratio: float) -> str:
    """Return by how much a ratio exceeds 1, in percent; two digits.

    >>> percent_more(1.0213), percent_more(1.0005)
    ('2.1%', '0.05%')
    """
    return f"{100 * abs(ratio - 1):.2g}%"
