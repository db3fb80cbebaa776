"""Wording: which of two models is lower at which levels, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Self

from uccurve._checks import Metric

from ._leads import Lead
from ._lines import Runs, View

LEVELS: dict[Metric, str] = {"bandwidth": "half-width", "miss_rate": "miss rate"}
LESS: dict[Metric, str] = {"bandwidth": "a smaller half-width", "miss_rate": "a lower miss rate"}
MANY = 3
"""Leads that a sentence lists at most."""


class Words(NamedTuple):
    """What is said of the lower model, the name of a level, and which levels are meant."""

    verb: str
    level: str
    both: str

    @classmethod
    def of(cls, view: View, *, whole: bool) -> Self:
        """Words for a view; `whole` says that curves are compared at all of their levels."""
        less = LESS.get(view.compared, f"less {view.compared}")
        verb = f"{'needs' if view.open else 'has'} {less}"
        return cls(verb, LEVELS.get(view.level, view.level), "" if whole else " that both have")

    def share(self, share: float) -> str:
        """Part of the levels, never all of them."""
        percent = f"{min(share, 0.99):.0%}"
        return (
            f"at {percent} of miss rates" if self.level == "miss rate" else f"over {percent} of the {self.level} range"
        )


def verdict(found: Runs, leads: Sequence[Lead], names: tuple[str, str], words: Words) -> str:
    """Return which model is materially lower where."""
    leading = [lead for lead in leads if lead.sign]
    if not leading:
        return f"{names[0]} and {names[1]} {_alike(found, words)}"
    return _summed_up(found, leading, names, words) if len(leading) > MANY else _listed(found, leads, names, words)


def _alike(found: Runs, words: Words) -> str:
    if found.sign.any():
        return f"are practically equal at almost every {words.level}{words.both}"
    if not words.both:
        return "have the same curve"
    return f"do not differ at any {words.level}{words.both}" if len(found.sign) else f"have no {words.level} in common"


def _summed_up(found: Runs, leading: Sequence[Lead], names: tuple[str, str], words: Words) -> str:
    """Return at how many levels one model is lower, and between which ones the order changes."""
    changes = [(one.high, two.low) for one, two in pairwise(leading) if one.sign != two.sign]
    if not changes:
        share = sum(lead.high - lead.low for lead in leading) / float(found.level[-1] - found.level[0])
        lower = names[leading[0].sign > 0]
        return f"{lower} {words.verb} {words.share(share)}; practically equal elsewhere"
    best = int(found.shares[1] > found.shares[0])
    low, high = _number(changes[0][0]), _number(changes[-1][1])
    span = f"at {low}" if low == high else f"between {low} and {high}"
    often = " more than once" if len(changes) > 1 else ""
    return f"{names[best]} {words.verb} {words.share(found.shares[best])}; the order changes{often} {span}"


def _listed(found: Runs, leads: Sequence[Lead], names: tuple[str, str], words: Words) -> str:
    """Return the levels of the model that leads at the lowest ones, then of the other, then where neither does."""
    sign = next(lead.sign for lead in leads if lead.sign)
    lower, other = names if sign < 0 else names[::-1]
    mine, theirs, equal = _ranges(leads, [sign, -sign, 0])
    every, differ = _every(found, leads, sign)
    text = f"{lower} {words.verb} at {every} {words.level}{f' {mine}' if mine else ''}{words.both}{differ}"
    text += f", {other} {theirs}" if theirs else ""
    return text + (f"; practically equal {equal}" if equal else "")


def _every(found: Runs, leads: Sequence[Lead], sign: int) -> tuple[str, str]:
    """Return whether a model is lower at all levels of its leads, and what that leaves out."""
    signs = {int(run) for lead in leads if lead.sign == sign for run in found.between(lead.low, lead.high)}
    if len(leads) == 1 and signs == {sign, 0}:
        return "every", " where the two differ"
    return "every" if signs == {sign} else "almost every", ""


def _ranges(leads: Sequence[Lead], signs: list[int]) -> list[str]:
    """Return the levels of each sign, told in this order, so that a number just said need not be repeated."""
    texts: dict[int, list[str]] = {sign: [] for sign in signs}
    order, last = sorted(range(len(leads)), key=lambda i: signs.index(leads[i].sign)), ""
    for i in order:
        low, high = _number(leads[i].low) if i else "", _number(leads[i].high) if i < len(leads) - 1 else ""
        texts[leads[i].sign].append(
            "in between" if len(leads) == 3 and i == 1 == order[-1] else _range(low, high, last)
        )
        last = high or low
    if len(texts[0]) > 1:
        texts[0] = ["elsewhere"]
    return [" and ".join(texts[sign]) for sign in signs]


def _range(low: str, high: str, last: str) -> str:
    if low and high:
        return f"from {low} to {high}"
    if low:
        return "above" if low == last else f"above {low}"
    return ("below" if high == last else f"below {high}") if high else ""


def _number(level: float) -> str:
    """Three significant digits, without an exponent below a billion."""
    return f"{float(f'{level:.3g}'):,.9g}"
