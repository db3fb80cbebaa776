"""Verdict: which model to ship, with which factor on its bands, and how sure that is, in fields and in words."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from math import ceil, isfinite, isnan, nan

from uccurve._refusals import as_written
from uccurve.results import AssessmentSettings, Comparison, ModelRow, Segment, Verdict, few_rows
from uccurve.words.columns import written
from uccurve.words.formats import alike, change, counted, coverage, is_reachable, number, p, percent, share, short

BROKEN = ("too narrow", "too wide")
LISTED = 3  # models or segments that are named before the rest are counted
# Shares of a score by which another must be lower as shipped, or differ at all, to be worth a sentence.
MATERIAL, ROUNDING = 0.01, 1e-9
# A coverage interval that reaches down to this many times the promised odds of a miss tells hardly anything.
TELLING = 3


@dataclass(frozen=True, slots=True)
class Case:
    """The model to ship, the others (next best first) and the evidence."""

    best: ModelRow
    others: Sequence[ModelRow]
    settings: AssessmentSettings
    comparisons: Sequence[Comparison]
    segments: Sequence[Segment]
    name: str  # of the model to ship, as it appears in a sentence
    target: str  # the coverage that was asked for, or is shown

    def pvalue(self, row: ModelRow) -> float:
        """Adjusted p-value of the model to ship against another; nan where they were not tested."""
        return adjusted_pvalue(self.comparisons, self.best, row)

    def is_worse(self, row: ModelRow) -> bool:
        """Whether a model is shown to be worse than the one to ship."""
        return row.rank > self.best.rank and self.pvalue(row) <= 1 - self.settings.confidence_level


def adjusted_pvalue(comparisons: Sequence[Comparison], one: ModelRow, two: ModelRow) -> float:
    """Return the adjusted p-value of two models; nan where they were not tested."""
    names = {one.name, two.name}
    return next((pair.pvalue_holm for pair in comparisons if {pair.first, pair.second} == names), nan)


def verdict(
    rows: Sequence[ModelRow],
    settings: AssessmentSettings,
    *,
    comparisons: Sequence[Comparison] = (),
    segments: Sequence[Segment] = (),
) -> Verdict:
    """Decide which model to ship: the best that some factor brings to the target, or the best where none does.

    Parameters
    ----------
    rows : sequence of ModelRow
        In any order; `rank` decides.
    settings : AssessmentSettings
    comparisons, segments
        What else was found, as in `Assessment`.
    """
    best, *others = sorted(rows, key=lambda row: (not is_reachable(row), row.rank))
    name, target = short(best.name), coverage(settings.shown_coverage).text
    case = Case(best, others, settings, comparisons, segments, name, target)
    second = others[0] if others else None
    return Verdict(
        model=best.name,
        scale=best.scale,
        coverage=settings.shown_coverage,
        half_width=best.half_width,
        score=best.score,
        runner_up=second.name if second else None,
        pvalue=case.pvalue(second) if second else nan,
        decided=second is not None and case.is_worse(second),
        text=" ".join(_sentences(case)),
        reasons=tuple(dict.fromkeys(_reasons(case))),
        shift=best.shift,
        level=best.level,
    )


def _sentences(case: Case) -> Iterator[str]:
    """Sentences of the verdict, the decision first."""
    best = case.best
    yield _ship(case)
    yield from _rivals(case)
    yield from _out_of_reach(case)
    yield from _delivered(case)
    yield from _disagreement(case)
    if not case.others:
        yield from _skill(best, "Its bands")
    others = [level for level in best.levels if level.level != best.level]
    broken = {word: [coverage(one.level).text for one in others if one.promise == word] for word in BROKEN}
    if any(broken.values()):
        listed = [f"{word} at {_joined(levels, 'and')}" for word, levels in broken.items() if levels]
        yield f"Of its other levels, {case.name} is {', '.join(listed)}."
    yield from _worst_segment(case)
    if case.settings.coverage is None:
        ranked = ": models are ranked by potential CRPS, and" if case.others else ";"
        yield f"No coverage was asked for{ranked} {case.target} is an example."


def _ship(case: Case) -> str:
    """Return what to ship, or why nothing brings it to the target and what to do about it."""
    best, begin, reach = case.best, f"Ship {case.name} with bands {change(case.best)}", f"{case.target} coverage"
    if is_reachable(best):
        between = "" if best.level in [one.level for one in best.levels] else ", interpolated"
        level = "" if best.level is None else f" (on its {coverage(best.level)} intervals{between})"
        return f"{begin}{level} for {reach}: half-width {written(best, 'half_width')}."
    asked = as_written(case.settings.shown_coverage)
    needed = ceil(asked / (1 - asked))  # the conformal rank of fewer rows lies beyond the last of them
    if best.n < needed and isfinite(best.area_bandwidth_miss_rate):  # infinite where rows are uncoverable
        why = f"is sure to reach {reach} with {counted(best.n, 'row')}; at least {needed:,} are needed"
    else:
        blind = "too many errors lie on the side of a zero band; raise such bands with min_band"
        why = f"reaches {reach}, because {blind}"
    return f"{begin} only without the promise: no {_knob(best)} {why}."


def _rivals(case: Case) -> Iterator[str]:
    """The runner-up, and whom the model to ship is not shown to beat."""
    rivals = [row for row in case.others if is_reachable(row) == is_reachable(case.best)]
    if not rivals:
        return
    second = rivals[0]
    needs = f" {change(second)}, {written(second, 'half_width').text}" if is_reachable(second) else ""
    yield f"Next: {short(second.name)}{needs}{f', {p(case.pvalue(second))}' if case.is_worse(second) else ''}."
    close = [row for row in rivals if not case.is_worse(row)]
    if not close:
        return
    if all(isnan(case.pvalue(row)) for row in close):
        yield f"Whether {case.name} is better could not be tested."
        return
    named, choice = [f"{short(row.name)} ({p(case.pvalue(row))})" for row in close], ""
    listed = _joined(named, "or") if len(named) <= LISTED else f"{named[0]} or {len(named) - 1} others"
    lowest = min(close, key=lambda row: row.shipped_score)
    if lowest.shipped_score < (1 - MATERIAL) * case.best.shipped_score:
        lower, higher = (number(row.shipped_score) for row in (lowest, case.best))
        choice = f": prefer {short(lowest.name)}, which scores lower as shipped ({lower} vs. {higher})"
    yield f"The data do not show that {case.name} is better than {listed}{choice}."


def _out_of_reach(case: Case) -> Iterator[str]:
    """Which models no factor brings to the target, where the one to ship gets there."""
    lost = [row for row in case.others if not is_reachable(row)]
    if not lost or not is_reachable(case.best):
        return
    names = [short(row.name) for row in lost]
    listed = _joined(names, "or") if len(names) <= LISTED else f"{len(names)} other models"
    what = "score" if case.settings.ranked_by == "score" else "potential CRPS"
    first = names[0] if len(names) > 1 else "it"
    although = f", although {first} has the best {what}" if lost[0].rank == 1 else ""
    yield f"No {_knob(lost[0])} brings {listed} to {case.target} coverage{although}."


def _delivered(case: Case) -> Iterator[str]:
    """The coverage of up to three models as delivered, and how many of the rest break their promise."""
    best, others, broken = case.best, case.others, ""
    named = others if len(others) < LISTED else others[:1]
    rest = [row.promise in BROKEN for row in others[len(named) :] if row.promise]
    if rest:
        breaks = "break" if sum(rest) > 1 else "breaks"
        broken = f"; {sum(rest) or 'none'} of the {len(rest)} others {breaks} the promise"
    listed = "".join(f", {short(row.name)} {_covered(case, row)}" for row in named)
    yield f"As delivered {case.name} covers {_covered(case, best)}{listed}{broken}."
    if best.promise == "kept" and is_reachable(best) and not _is_unsure(case, best):
        yield "Its bands keep the promise without a factor too."


def _covered(case: Case, row: ModelRow) -> str:
    """Coverage as delivered, and whether that is the promised one; said to be unsure where hardly anything is known."""
    if not row.promise:
        return share(row.coverage).text
    unsure = f", but {written(row, 'coverage').interval} is too wide to tell"
    return f"{share(row.coverage)} ({row.promise}{unsure if _is_unsure(case, row) else ''})"


def _is_unsure(case: Case, row: ModelRow) -> bool:
    promised, low = case.settings.shown_coverage, row.coverage_low
    return row.promise == "kept" and (1 - low) * promised > TELLING * (1 - promised) * low


def _disagreement(case: Case) -> Iterator[str]:
    """Which models are better than the one to ship by criteria that do not rank, where the numbers as shown differ."""
    rows, favoured = [row for row in case.others if is_reachable(row)], dict[str, list[str]]()
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
            favoured.setdefault(name, []).append(f"{claim} ({form(value)})")
    models = [f"{short(name)} {' and '.join(claims)}" for name, claims in favoured.items()]
    if models:
        yield f"Criteria disagree: {', '.join(models)}."


def _worst_segment(case: Case) -> Iterator[str]:
    """The segment with the lowest coverage of those that the model to ship leaves short."""
    left = [one for one in case.segments if one.model == case.best.name and one.short]
    if left:
        worst, need = min(left, key=lambda one: one.short_coverage), ""
        if is_reachable(worst):
            need = f", would need {'' if isfinite(worst.scale) else 'bands '}{change(worst)}"
        when = "delivered" if isnan(worst.shipped_pvalue) else "shipped"
        yield f"Worst segment: {short(worst.title)} (covers {share(worst.short_coverage)} as {when}{need})."


def _reasons(case: Case) -> Iterator[str]:
    """What lies behind the verdict, one sentence each."""
    best, parts = case.best, case.best.decomposition
    yield from _contributions(case)
    for second in case.others[:1]:
        yield from _against(case, second)
        yield from _skill(best, f"The bands of {case.name}")
    if isfinite(parts.score) and parts.miscalibration > parts.score / 100:
        score, cost = alike(parts.score, parts.miscalibration)
        wrong = "scale" if isnan(best.shift) else "width"
        yield f"As delivered {case.name} scores {score}, {cost} of it because its bands have the wrong {wrong}."
    for row in (best, *case.others[:1]):
        if few := few_rows(row, case.settings):
            yield f"{few}."


def _contributions(case: Case) -> Iterator[str]:
    """What predictions and bands save over a single interval for all rows."""
    parts = case.best.decomposition
    if all(map(isfinite, astuple(parts))):
        climatology, *texts = alike(parts.climatology, abs(parts.prediction), abs(parts.discrimination))
        predictions, bands = (
            f"{'save' if value >= 0 else 'cost'} {text}" if _is_shown(text) else "save nothing"
            for text, value in zip(texts, (parts.prediction, parts.discrimination), strict=True)
        )
        yield (
            f"A single interval for all rows would score {climatology}: the predictions of {case.name} {predictions}, "
            f"its bands {bands}."
        )


def _against(case: Case, second: ModelRow) -> Iterator[str]:
    """What makes the difference in score from the runner-up: predictions or bands."""
    own, other = case.best.decomposition, second.decomposition
    gap, prediction = other.best_score - own.best_score, own.prediction - other.prediction
    if isfinite(gap) and isfinite(prediction) and abs(gap) > ROUNDING * own.best_score:
        saved = {"predictions": prediction, "bands": gap - prediction}
        score, *texts = alike(abs(gap), *map(abs, saved.values()))
        listed = [
            f"its {what} save {text} {'more' if value > 0 else 'less'}"
            for text, (what, value) in zip(texts, saved.items(), strict=True)
            if _is_shown(text)
        ]
        lower = f"is {score} {'lower' if gap > 0 else 'higher'} than that of {short(second.name)}"
        yield f"At {case.target} the score of {case.name} {lower}: {', '.join(listed)}."


def _skill(row: ModelRow, bands: str) -> Iterator[str]:
    """What a model's bands, as they are called, know beyond a constant band; nothing where that is undefined."""
    if not isnan(row.skill):
        value, does = written(row, "skill"), "are not shown to do better than"
        if percent(row.skill_low) == percent(row.skill_high) == percent(0.0):
            value, does = percent(row.skill), "do as well as"
        elif row.skill_low > 0 or row.skill_high < 0:
            does = "do better than" if row.skill > 0 else "do worse than"
        yield f"{bands} {does} a constant band: skill {value}."


def _knob(row: ModelRow) -> str:
    return "shift" if isnan(row.scale) else "factor"


def _is_shown(text: str) -> bool:
    """Whether a number as written is not 0."""
    return bool(text.strip("0."))


def _joined(words: Sequence[str], last: str) -> str:
    """Words as a list, with "and" or "or" before the last."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))
