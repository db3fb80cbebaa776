"""Verdict: the top of the page, that is what to ship, how sure that is, which promises are broken, what to run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from uccurve.compare._case import change, is_reachable, p
from uccurve.compare._columns import filled
from uccurve.compare._formats import amount, coverage, factor, number, share, short

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, ModelRow

LISTED = 5
"""Broken promises that get a sentence of their own."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of the card, with its interval or a remark."""

    name: str
    text: str
    small: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """The decision in large letters, the rest of the verdict, and its numbers."""

    headline: str
    rest: str
    facts: Sequence[Fact]
    promises: Sequence[str]
    commands: Sequence[tuple[str, str]]


def card(found: Assessment, files: Sequence[str] = ()) -> Card:
    """Return the top of the page; `files` are those that were assessed, where they are known."""
    verdict, best = found.verdict, found[found.verdict.model]
    headline = f"Ship {short(best.name)} with bands {change(best)}"
    rest = verdict.text.removeprefix(headline)
    return Card(headline, rest, facts(found, best), promises(found), commands(found, best, files))


def facts(found: Assessment, best: ModelRow) -> list[Fact]:
    """Return the factor, the coverage, the half-width and how sure the choice is."""
    target = coverage(found.settings.shown_coverage)
    width = number(best.half_width, best.half_width_low, best.half_width_high)
    example = "an example: none was asked for" if found.settings.coverage is None else "of new rows"
    return [
        _calibration(best),
        Fact("Coverage", str(target), example),
        Fact("Half-width", width.text, f"{width.interval} {filled('{unit}', found.settings)}".strip()),
        _certainty(found, best),
    ]


def _calibration(best: ModelRow) -> Fact:
    """Return what is done to the bands."""
    own = "its bands" if best.level is None else f"its {coverage(best.level)} bands"
    shifted = isfinite(best.shift)
    cell = amount(best.shift) if shifted else factor(best.scale, best.scale_low, best.scale_high)
    return Fact(f"Add to {own}" if shifted else f"Multiply {own}", cell.text, cell.interval)


def _certainty(found: Assessment, best: ModelRow) -> Fact:
    """Return whether the model is shown to be better than the next best."""
    verdict = found.verdict
    if verdict.runner_up is None:
        return Fact("As delivered", str(share(best.coverage)), best.promise or "")
    pvalue = f"adjusted {p(verdict.pvalue)}" if isfinite(verdict.pvalue) else "not tested"
    name = short(verdict.runner_up)
    return Fact("How sure", f"{'better' if verdict.decided else 'not shown to be better'} than {name}", pvalue)


def promises(found: Assessment) -> list[str]:
    """Return one sentence for each model whose coverage as delivered is not the one promised."""
    target = coverage(found.settings.shown_coverage)
    broken = [row for row in found.ranking if row.promise in ("too narrow", "too wide")]
    sentences = [_broken(row, str(target)) for row in broken[:LISTED]]
    if len(broken) > LISTED:
        sentences.append(f"In all, {len(broken)} of {len(found)} models break the promise of {target}.")
    return sentences


def _broken(row: ModelRow, target: str) -> str:
    covers = share(row.coverage, row.coverage_low, row.coverage_high)
    remedy = f" Bands {change(row)} would keep the promise." if is_reachable(row) else ""
    return f"{short(row.name)} covers {covers} as delivered, {row.promise} for the promised {target}.{remedy}"


def commands(found: Assessment, best: ModelRow, files: Sequence[str]) -> list[tuple[str, str]]:
    """Return what applies the verdict: on the command line and in Python, with what they are called."""
    if not is_reachable(best):
        return []
    shifted = isfinite(best.shift)
    source = files[0] if len(files) == 1 else "calibration.csv"
    line = ["uccurve", "calibrate", source, "new.csv", "-o", "calibrated.csv"]
    line += ["--coverage", str(coverage(found.settings.shown_coverage)), *(["--vary", "shift"] if shifted else [])]
    call = f"shift={best.shift:.6g}" if shifted else f"scale={best.scale:.6g}"
    return [("On the command line", shlex.join(line)), ("In Python", f"intervals.calibrated({call})")]
