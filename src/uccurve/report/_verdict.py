"""Verdict: the top of the page, that is what to ship, how sure that is, which promises are broken, what to run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

from uccurve.compare._case import change, is_reachable, p
from uccurve.compare._columns import filled
from uccurve.compare._formats import amount, coverage, factor, number, share, short

if TYPE_CHECKING:
    from uccurve.compare.results import Assessment, ModelRow

LISTED = 5
"""Broken promises that get a sentence of their own."""
Fact = tuple[str, str, str]
"""One number of the card: its name, its text, and its interval or a remark."""


def headline(found: Assessment) -> str:
    """Return the decision, with which the verdict's text begins."""
    best = found[found.verdict.model]
    return f"Ship {short(best.name)} with bands {change(best)}"


def facts(found: Assessment) -> list[Fact]:
    """Return the factor, the coverage, the half-width and how sure the choice is."""
    best, target = found[found.verdict.model], coverage(found.settings.shown_coverage)
    width = number(best.half_width, best.half_width_low, best.half_width_high)
    example = "an example: none was asked for" if found.settings.coverage is None else "of new rows"
    return [
        _calibration(best),
        ("Coverage", str(target), example),
        ("Half-width", width.text, f"{width.interval} {filled('{unit}', found.settings)}".strip()),
        _certainty(found, best),
    ]


def _calibration(best: ModelRow) -> Fact:
    """Return what is done to the bands."""
    own = "its bands" if best.level is None else f"its {coverage(best.level)} bands"
    shifted = isfinite(best.shift)
    cell = amount(best.shift) if shifted else factor(best.scale, best.scale_low, best.scale_high)
    return f"Add to {own}" if shifted else f"Multiply {own}", cell.text, cell.interval


def _certainty(found: Assessment, best: ModelRow) -> Fact:
    """Return whether the model is shown to be better than the next best."""
    verdict = found.verdict
    if verdict.runner_up is None:
        return "As delivered", str(share(best.coverage)), best.promise or ""
    pvalue = f"adjusted {p(verdict.pvalue)}" if isfinite(verdict.pvalue) else "not tested"
    shown = "better" if verdict.decided else "not shown to be better"
    return "How sure", f"{shown} than {short(verdict.runner_up)}", pvalue


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


def commands(found: Assessment, files: Mapping[str, str]) -> dict[str, str]:
    """Return what applies the verdict, on the command line and in Python; `files` are the models', where known."""
    best = found[found.verdict.model]
    if not is_reachable(best):
        return {}
    line = ["uccurve", "calibrate", files.get(best.name, "calibration.csv"), "new.csv", "-o", "calibrated.csv"]
    if best.level is None:  # a file with several levels is calibrated to each of them
        line += ["--coverage", str(coverage(found.settings.shown_coverage))]
    own = "intervals" if best.level is None else f"curve.intervals_at(level={best.level:g})"
    shifted = isfinite(best.shift)
    line += ["--vary", "shift"] if shifted else []
    call = f"shift={best.shift:.6g}" if shifted else f"scale={best.scale:.6g}"
    return {"On the command line": shlex.join(line), "In Python": f"{own}.calibrated({call})"}
