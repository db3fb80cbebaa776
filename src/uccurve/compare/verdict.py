"""Verdict: which model to ship, with which factor on its bands, and how sure that is, in fields and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, isnan, nan
from typing import TYPE_CHECKING

from uccurve._checks import as_written

from ._case import LISTED, Case, change, covered, is_reachable, joined, knob, need, p, skill
from ._formats import counted, coverage, number, percent, share, short
from ._reasons import reasons
from .results import Verdict

if TYPE_CHECKING:
    from .crossings import Crossings
    from .results import AssessmentSettings, Comparison, ModelRow, Segment


MATERIAL = 0.01
"""Share by which the score of what would be shipped must be lower to disagree with the score that ranks."""


def verdict(
    rows: Sequence[ModelRow],
    settings: AssessmentSettings,
    *,
    comparisons: Sequence[Comparison] = (),
    segments: Sequence[Segment] = (),
    crossings: Sequence[Crossings] = (),
) -> Verdict:
    """Decide which model to ship: the best that some factor brings to the target, or the best where none does.

    Parameters
    ----------
    rows : sequence of ModelRow
        In any order; `rank` decides.
    settings : AssessmentSettings
    comparisons, segments, crossings
        What else was found, as in `Assessment`.
    """
    best, *others = sorted(rows, key=lambda row: (not is_reachable(row), row.rank))
    case = Case(best, tuple(others), settings, comparisons, segments, crossings)
    second = case.second
    return Verdict(
        model=best.name,
        scale=best.scale,
        coverage=settings.shown_coverage,
        half_width=best.half_width,
        score=best.score,
        runner_up=second.name if second else None,
        pvalue=case.pvalue(second) if second else nan,
        decided=second is not None and case.is_worse(second),
        text=" ".join(filter(None, _sentences(case))),
        reasons=tuple(dict.fromkeys(filter(None, reasons(case)))),
        shift=best.shift,
        level=best.level,
    )


def _sentences(case: Case) -> Iterator[str]:
    """Return the sentences of the verdict, the decision first; what does not apply is empty."""
    yield _ship(case)
    if case.others:
        yield from (_next(case), _not_shown(case), _out_of_reach(case), _delivered(case), _disagreement(case))
    else:
        yield from (_keep_or_change(case.best), skill(case.best, "They"))
    yield _off_levels(case.best)
    yield _worst_segment(case)
    yield _no_coverage(case)


def _ship(case: Case) -> str:
    best = case.best
    begin = f"Ship {case.name} with bands {change(best)}"
    if not is_reachable(best):
        return f"{begin}: {_unreachable(case)}"
    width = number(best.half_width, best.half_width_low, best.half_width_high)
    return f"{begin}{_of_level(best)} for {case.target} coverage: half-width {width}."


def _unreachable(case: Case) -> str:
    """Return why nothing brings the model to ship to the target, and what to do about it."""
    coverage, n = as_written(case.settings.shown_coverage), case.best.n
    needed = ceil(coverage / (1 - coverage))  # the conformal rank of fewer rows lies beyond the last of them
    if n < needed:
        rows = f"{counted(n, 'row')}; at least {needed:,} are needed"
        return f"no {knob(case.best)} is sure to reach {case.target} coverage with {rows}."
    return (
        f"no {knob(case.best)} reaches {case.target} coverage, because too many errors lie on the side of a zero band; "
        "raise such bands with min_band."
    )


def _of_level(row: ModelRow) -> str:
    """Return which of its intervals a model of several levels scales."""
    if row.level is None:
        return ""
    own = any(one.level == row.level for one in row.levels)
    return f" (on its {coverage(row.level)} intervals{'' if own else ', interpolated'})"


def _next(case: Case) -> str:
    """Return the runner-up; its p-value only where it decides."""
    second = case.others[0]
    if is_reachable(case.best) and not is_reachable(second):
        return ""
    width = number(second.half_width, second.half_width_low, second.half_width_high).text
    needs = f" {change(second)}, {width}" if is_reachable(second) else ""
    sure = f", {p(case.pvalue(second))}" if case.is_worse(second) else ""
    return f"Next: {short(second.name)}{needs}{sure}."


def _not_shown(case: Case) -> str:
    """Return whom the model to ship is not shown to beat; where the runner-up is among them, the choice is free."""
    rivals = [row for row in case.others if is_reachable(row) == is_reachable(case.best)]
    close = [row for row in rivals if not case.is_worse(row)]
    if not close:
        return ""
    if all(isnan(case.pvalue(row)) for row in close):
        return f"Whether {case.name} is better could not be tested."
    named = [f"{short(row.name)} ({p(case.pvalue(row))})" for row in close]
    listed = joined(named, "or") if len(named) <= LISTED else f"{named[0]} or {len(named) - 1} others"
    free = close[0] is case.second and is_reachable(case.best)
    choice = "" if not free else _choice(case, close)
    return f"The data do not show that {case.name} is better than {listed}{choice}."


def _choice(case: Case, close: Sequence[ModelRow]) -> str:
    """Return the advice where the choice is free: the model whose intervals, as shipped, clearly score lower."""
    best = min(close, key=lambda row: row.shipped_score)
    if best.shipped_score < (1 - MATERIAL) * case.best.shipped_score:
        lower, higher = (number(row.shipped_score) for row in (best, case.best))
        return f": prefer {short(best.name)}, which scores lower as shipped ({lower} vs. {higher})"
    return ": choose either" if len(close) == 1 else ": choose any of them"


def _out_of_reach(case: Case) -> str:
    """Return which models no factor brings to the target, where the one to ship gets there."""
    lost = [row for row in case.others if not is_reachable(row)] if is_reachable(case.best) else []
    if not lost:
        return ""
    names = [short(row.name) for row in lost]
    listed = joined(names, "or") if len(names) <= LISTED else f"{len(names)} other models"
    what = "score" if case.settings.ranked_by == "score" else "potential CRPS"
    first = names[0] if len(names) > 1 else "it"
    although = f", although {first} has the best {what}" if lost[0].rank == 1 else ""
    return f"No {knob(lost[0])} brings {listed} to {case.target} coverage{although}."


def _keep_or_change(row: ModelRow) -> str:
    """Return what is to be done with the bands of a single model."""
    covers = f"cover {_covered(row)}"
    if row.promise is None or not is_reachable(row):
        return f"As delivered its bands {covers}."
    if row.promise == "kept":
        return f"As delivered its bands {covers}, so they can also stay as they are."
    return f"{'Widen' if row.promise == 'too narrow' else 'Narrow'} its bands: as delivered they {covers}."


def _delivered(case: Case) -> str:
    """Return the coverage of two or three models as delivered, and how many of the rest break their promise."""
    rows = [case.best, *case.others]
    named = rows if len(rows) <= LISTED else rows[:2]
    listed = ", ".join(f"{short(row.name)} {_covered(row)}" for row in named[1:])
    return f"As delivered {case.name} covers {_covered(case.best)}, {listed}{_broken(rows[len(named) :])}."


def _covered(row: ModelRow) -> str:
    return f"{share(row.coverage)}{f' ({row.promise})' if row.promise else ''}"


def _broken(rows: Sequence[ModelRow]) -> str:
    """Return how many break their promise; nothing where there is none."""
    promises = [row.promise for row in rows if row.promise]
    if not promises:
        return ""
    count, broken = len(rows), sum(promise != "kept" for promise in promises)
    if broken == count:
        return f"; {'both' if count == 2 else f'all {count}'} others break the promise"
    if count == 2 and not broken:
        return "; neither of the others breaks the promise"
    return f"; {broken or 'none'} of the {count} others {'break' if broken > 1 else 'breaks'} the promise"


def _disagreement(case: Case) -> str:
    """Return which models are better than the one to ship by criteria that do not rank."""
    favoured: dict[str, list[str]] = {}
    for name, claim in _criteria(case):
        favoured.setdefault(name, []).append(claim)
    models = [f"{short(name)} {' and '.join(claims)}" for name, claims in favoured.items()]
    return f"Criteria disagree: {', '.join(models)}." if models else ""


def _criteria(case: Case) -> Iterator[tuple[str, str]]:
    """Return the best model by each criterion where it is another one and the numbers as shown differ."""
    rows = [row for row in case.others if is_reachable(row)]
    er = "er" if len(rows) == 1 else "est"
    for field, sign, form, claim in (
        ("half_width", 1, number, f"is narrow{er} at {case.target}"),
        ("score", 1, number, f"has the low{er} score at {case.target}"),
        ("shipped_score", 1, number, f"has the low{er} score as shipped"),
        ("skill", -1, percent, f"has the high{er} skill"),
    ):
        own, values = getattr(case.best, field), [(getattr(row, field), row.name) for row in rows]
        room = MATERIAL * abs(own) if field == "shipped_score" else 0.0
        better = [one for one in values if sign * one[0] < sign * own - room and form(one[0]) != form(own)]
        if better:
            value, name = min(better, key=lambda one: sign * one[0])
            yield name, f"{claim} ({form(value)})"


def _off_levels(row: ModelRow) -> str:
    """Return which of the other levels of the model to ship break their promise."""
    off = [one for one in row.levels if one.promise in ("too narrow", "too wide") and one.level != row.level]
    if not off:
        return ""
    listed = [
        f"{promise} at {joined([coverage(one.level).text for one in group], 'and')}"
        for promise in ("too narrow", "too wide")
        if (group := [one for one in off if one.promise == promise])
    ]
    return f"Of its other levels, {short(row.name)} is {', '.join(listed)}."


def _worst_segment(case: Case) -> str:
    """Return which segment is left with the lowest coverage; what the factor for all rows fixes is not left."""
    if not case.short:
        return ""
    worst = min(case.short, key=lambda one: one.coverage if isnan(one.shipped_pvalue) else one.shipped_coverage)
    facts = filter(None, (f"covers {covered(worst)}", need(worst)))
    return f"Worst segment: {short(worst.title)} ({', '.join(facts)})."


def _no_coverage(case: Case) -> str:
    if case.settings.coverage is not None:
        return ""
    if not case.others:
        return f"No coverage was asked for; {case.target} is an example."
    return f"No coverage was asked for: models are ranked by potential CRPS, and {case.target} is an example."
