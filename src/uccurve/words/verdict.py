"""Verdict in words: the headline, the text and the reasons of a decision, composed here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from math import ceil, isfinite, isnan, nan
from typing import Any

from uccurve._refusals import as_written
from uccurve.points import Estimate, Move
from uccurve.results import (
    Assessment,
    AssessmentSettings,
    Comparison,
    Missing,
    ModelRow,
    Segment,
    Verdict,
)
from uccurve.words.columns import written
from uccurve.words.formats import (
    Shipment,
    alike,
    counted,
    coverage,
    joined,
    movers,
    number,
    p,
    percent,
    percent_more,
    share,
    short,
    spelled,
    width_name,
)

BROKEN = ("too narrow", "too wide")
NAMED = 3  # models or segments that are named before the rest are counted
SENTENCES = 4  # sentences after the headline, before what is never counted out
NOTHING_BETTER = "nothing is shown to be better"
OVER_ALL_LEVELS = "over all levels (potential CRPS)"
# Share of a number by which another must differ to be worth a sentence, and up to which both are the same.
MATERIAL = 0.01
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Case:
    """A decision, and the evidence that it is told with."""

    decision: Verdict
    rows: tuple[ModelRow, ...]
    settings: AssessmentSettings
    comparisons: Sequence[Comparison]
    segments: Sequence[Segment]
    missing: Missing | None
    not_tested: Sequence[str]
    pockets: Any
    weighted: bool = False  # whether rows have unequal weights

    @property
    def model(self) -> ModelRow:
        """The model to ship."""
        return self.row(self.decision.model)

    @property
    def name(self) -> str:
        """Its name, as it appears in a sentence."""
        return short(self.decision.model)

    @property
    def target(self) -> str:
        """The coverage that this is for."""
        return coverage(self.decision.coverage).text

    @property
    def best(self) -> ModelRow:
        """The best model that reaches the target, or the best of all where none does."""
        return min(self.rows, key=lambda row: (not row.move.is_reachable, row.rank))

    @property
    def others(self) -> list[ModelRow]:
        """All other models than the one to ship, best first, those that reach the target before the rest."""
        others = [row for row in self.rows if row.name != self.decision.model]
        return sorted(others, key=lambda row: (not row.move.is_reachable, row.rank))

    @property
    def reachable_others(self) -> list[ModelRow]:
        """Those of them that some factor brings to the target."""
        return [row for row in self.others if row.move.is_reachable]

    @property
    def tested_alike(self) -> bool:
        """Whether any of the models that are tied with the one to ship was tested against it."""
        return any(self.pvalue(row) >= 0 for row in self.alike)

    @property
    def alike(self) -> list[ModelRow]:
        """Models that are not shown to differ from the one to ship as the best one is not, without itself."""
        names = {self.best.name, *self.decision.tied}
        return [row for row in self.others if row.name in names]

    def row(self, name: str) -> ModelRow:
        """Return the row of a model."""
        return next(row for row in self.rows if row.name == name)

    def pvalue(self, row: ModelRow) -> float:
        """Adjusted p-value of the model to ship against another; nan where they were not tested."""
        names = {self.decision.model, row.name}
        for pair in self.comparisons:
            if {pair.first, pair.second} == names:
                return pair.pvalue_holm
        return nan

    def shipment(self, row: ModelRow) -> Shipment:
        """Return what is done to a model: to the one to ship what the verdict says, to others what their row says."""
        moved_level = row.level if row.level != self.decision.coverage else None
        if row.name == self.decision.model:
            move = decided_move(self.decision, row)
            return Shipment(row.name, move, row.side, moved_level, self.decision.unchanged)
        unchanged = row.may_ship_unchanged(self.settings)
        return Shipment(row.name, row.move, row.side, moved_level, unchanged)


def worded(
    decision: Verdict,
    *,
    rows: Sequence[ModelRow],
    settings: AssessmentSettings,
    comparisons: Sequence[Comparison] = (),
    segments: Sequence[Segment] = (),
    missing: Missing | None = None,
    not_tested: Sequence[str] = (),
    pockets: Any = None,
    weighted: bool = False,
) -> Verdict:
    """Return the decision with its headline, text and reasons; rows of unequal weight have no conformal rank."""
    case = Case(
        decision,
        tuple(rows),
        settings,
        comparisons,
        segments,
        missing,
        not_tested,
        pockets,
        weighted,
    )
    headline = _headline(case)
    sentences = list(_sentences(case))[:SENTENCES]
    lines = [" ".join([headline, *sentences]), *_never_left_out(case)]
    reasons = tuple(dict.fromkeys(_reasons(case)))
    return replace(decision, headline=headline, text="\n".join(lines), reasons=reasons)


def decided_move(decision: Verdict, row: ModelRow) -> Move:
    """Return what moves the bands of the model to ship: the verdict's number, with the interval of the row."""
    estimate = row.move.estimate
    value = decision.shift if row.move.kind == "shift" else decision.scale
    return Move(row.move.kind, replace(estimate, value=value))


def how_sure(assessment: Assessment) -> str:
    """Return in one sentence how sure the decision is: what it was tested against, and what it rests on."""
    rows = assessment.rows
    case = Case(
        assessment.verdict,
        rows,
        assessment.settings,
        assessment.comparisons,
        assessment.segments,
        assessment.missing,
        assessment.not_tested,
        assessment.pockets,
        weighted=False,
    )
    basis = f"on {counted(case.model.n, 'row')}"
    if not case.others:
        return f"One model {basis}; nothing to compare it with."
    if case.alike:
        return f"{_why_tied(case).rstrip('.')}, {basis}."
    second = case.others[0]
    compared = f"the next of {counted(len(rows), 'model')}" if len(rows) > 2 else "the other model"
    return f"{case.name} is better than {short(second.name)}, {compared} ({_tested(case, second)}), {basis}."


def _tested(case: Case, row: ModelRow) -> str:
    pvalue = case.pvalue(row)
    return f"adjusted {p(pvalue)}" if pvalue >= 0 else p(pvalue)


# The headline


def _headline(case: Case) -> str:
    decision, settings = case.decision, case.settings
    if settings.coverage is None:
        return _best_over_all_levels(case)
    if not decision.reachable:
        return _out_of_reach(case)
    if decision.model == settings.incumbent:
        return _kept(case)
    ship = f"ship {case.shipment(case.model).shipped} for {case.target} coverage"
    if case.alike:
        return f"{_no_winner(case)}: {ship}; {_score_alike(case)}."
    return f"{ship[0].upper()}{ship[1:]}."


def _best_over_all_levels(case: Case) -> str:
    """The headline where no coverage was asked for."""
    if not case.others:
        return f"{case.name} has a potential CRPS of {number(case.model.crps.value)}."
    if case.decision.model == case.settings.incumbent:
        return _kept(case)
    if case.alike:
        names = _several(_names(case.alike))
        return f"{_no_winner(case)}: {case.name} and {names} score alike {OVER_ALL_LEVELS}."
    return f"{case.name} scores best {OVER_ALL_LEVELS}."


def _out_of_reach(case: Case) -> str:
    mover = movers(row.move for row in case.rows)
    whom = "any model" if case.others else case.name
    return f"No {mover} brings {whom} to {case.target} coverage."


def _kept(case: Case) -> str:
    return f"Keep {case.name} (incumbent): {NOTHING_BETTER}."


def _no_winner(case: Case) -> str:
    return "No clear winner" if case.tested_alike else "No clear winner (not tested)"


def _score_alike(case: Case) -> str:
    """Which models score as well as the one to ship, as far as the data tell."""
    names = [case.shipment(row).named for row in case.alike]
    if not case.tested_alike:
        return f"{_several(names)} may score alike"
    return f"{_several(names)} {'scores' if len(names) == 1 else 'score'} alike"


def _names(rows: Sequence[ModelRow]) -> list[str]:
    return [short(row.name) for row in rows]


def _several(names: Sequence[str]) -> str:
    """Names as a list, or the first of them and how many more."""
    if len(names) <= NAMED:
        return joined(names)
    return f"{names[0]} and {len(names) - 1} others"


# The sentences after it


def _sentences(case: Case) -> Iterator[str]:
    """What a reader needs beside the headline, the most important first."""
    yield from _what_ships(case)
    yield from _rivals(case)
    yield _as_delivered(case)
    yield from _first_of(
        _worst_segment(case), _worst_pocket(case), _disagreement(case), _broken_levels(case)
    )


def _first_of(*sentences: Iterator[str]) -> Iterator[str]:
    """The first sentence of the first of several that have one."""
    for iterator in sentences:
        for sentence in iterator:
            yield sentence
            return


def _what_ships(case: Case) -> Iterator[str]:
    """Half-width of what ships and what the choice cost, or why nothing can ship as promised."""
    decision = case.decision
    if not decision.reachable:
        yield _why_out_of_reach(case)
        return
    size = _size(case)
    shipped = case.shipment(case.model).shipped
    if case.settings.coverage is None:
        yield f"No coverage was asked for; {case.target}, for example, needs {shipped}: {size}."
    elif decision.unchanged:
        known = not isnan(decision.half_width.value)
        yield f"{_why_unchanged(case)}: {size}." if known else f"{_why_unchanged(case)}."
    elif decision.model == case.settings.incumbent:
        yield f"Ship {shipped} for {case.target} coverage: {size}{_cost_of_choice(case)}."
    else:
        yield f"{size[0].upper()}{size[1:]}{_cost_of_choice(case)}."


def _size(case: Case) -> str:
    """How wide what ships is; of a bound without a prediction how far it moves."""
    width = case.decision.half_width
    if isnan(width.value):
        return _way_of_bound(case)
    name = width_name(case.model.side)
    return f"{name} {number(width.value, width.low, width.high)}"


def _way_of_bound(case: Case) -> str:
    """How far a single bound moves, with its interval."""
    move = decided_move(case.decision, case.model).estimate
    up = move if case.model.side == "upper" else Estimate(-move.value, -move.high, -move.low)
    if up.value >= 0:
        return f"the bound moves up by {number(up.value, up.low, up.high)}"
    return f"the bound moves down by {number(-up.value, -up.high, -up.low)}"


def _why_unchanged(case: Case) -> str:
    """That the intervals as delivered will do."""
    if case.model.coverage.value > case.settings.promised.highest:
        return "Slightly above target; no rescaling needed"
    return "It already meets the target, so you can ship it unchanged"


def _cost_of_choice(case: Case) -> str:
    """What choosing among the models costs the one to ship, as the end of a sentence."""
    choice = case.decision.choice
    models = counted(choice.models, "model")
    if choice.models > 1 and not choice.corrected:
        return f"; not corrected for choosing from {models} on these rows"
    by_itself = Shipment(
        case.model.name, Move(case.model.move.kind, choice.own), case.model.side
    ).change
    because = f"because it was chosen from {models} on these rows"
    if by_itself == case.shipment(case.model).change:
        return ""
    if case.model.move.kind == "shift":
        more = "more" if choice.multiplier > 0 else "less"
        return (
            f"; {by_itself} by its own shift, and {number(abs(choice.multiplier))} {more} {because}"
        )
    more = "more" if choice.multiplier > 1 else "less"
    return f"; own factor {by_itself}, and {percent_more(choice.multiplier)} {more} {because}"


def _why_out_of_reach(case: Case) -> str:
    """Why nothing brings the best model to the target, and what to do about it."""
    row = case.model
    asked = as_written(case.decision.coverage)
    needed = ceil(
        asked / (1 - asked)
    )  # the conformal rank of fewer rows lies beyond the last of them
    mover = movers([row.move])
    if row.n < needed and not case.weighted:
        return f"With {counted(row.n, 'row')} no {mover} is sure to reach it; at least {needed:,} are needed."
    return f"Too many errors of {case.name} lie on the side of a zero band; raise such bands with min_band."


def _rivals(case: Case) -> Iterator[str]:
    """The runner-up, or why the one to ship is tied with others."""
    if not case.others:
        yield from _skill(case.model, "Its bands")
    elif case.alike:
        yield _why_tied(case)
    else:
        yield _runner_up(case)


def _runner_up(case: Case) -> str:
    """The next model, and what it would need."""
    if not (case.reachable_others and case.decision.reachable):
        return _lost(case)
    second = case.reachable_others[0]
    shipment = case.shipment(second)
    name = f"{short(second.name)}, unchanged" if shipment.unchanged else shipment.named
    width = second.delivered.bandwidth if shipment.unchanged else second.half_width.value
    known = not isnan(second.half_width.value)
    size = f", {width_name(second.side)} {number(width)}" if known else ""
    return f"Runner-up: {name}{size} ({_tested(case, second)})."


def _lost(case: Case) -> str:
    """The others, none of which reaches the target."""
    others = case.others
    if not case.decision.reachable:
        return f"{case.name} scores best of {counted(len(case.rows), 'model')} as delivered."
    names = _names(others)
    although = f", although {names[0]} has the best score" if others[0].rank == 1 else ""
    listed = joined(names, "or") if len(names) <= NAMED else f"the other {len(names)} models"
    return f"No {movers(row.move for row in others)} brings {listed} to {case.target} coverage{although}."


def _why_tied(case: Case) -> str:
    """That the data do not tell the models apart, and which ones."""
    best = case.best
    if not case.tested_alike:
        return f"Whether {case.name} is better could not be tested."
    if len(case.alike) > NAMED:
        names = joined(_names(case.alike))
        return f"Not shown to be worse than the best: {names}."
    if best.name != case.decision.model:
        others = f"{short(best.name)} ({p(case.pvalue(best))})"
        return f"The data do not show that {others} is better than {case.name}."
    others = joined([f"{short(row.name)} ({p(case.pvalue(row))})" for row in case.alike], "or")
    return f"The data do not show that {case.name} is better than {others}."


def _as_delivered(case: Case) -> str:
    """The coverage of up to three models as delivered, and how many of the rest miss the target."""
    others = case.others
    named = others if len(others) < NAMED else others[:1]
    listed = "".join(f", {short(row.name)} {_covers(row)}" for row in named)
    rest = _rest_in_words([case.model, *named], others[len(named) :])
    return f"As delivered, {case.name} covers {_covers(case.model)}{listed}.{rest}"


def _covers(row: ModelRow) -> str:
    """Coverage as delivered, and whether that is the promised one."""
    text = share(row.coverage.value).text
    if row.promise is None:
        return text
    if row.promise == "unclear":
        return f"{written(row, 'coverage')} (unclear)"
    return f"{text} ({row.promise})"


def _rest_in_words(named: Sequence[ModelRow], rest: Sequence[ModelRow]) -> str:
    """How many of the models that are not named miss the target."""
    judged = [row for row in rest if row.promise]
    if not judged:
        return ""
    missing = sum(row.promise in BROKEN for row in judged)
    unclear = sum(row.promise == "unclear" for row in judged)
    single = len(judged) == 1
    others = "the other model" if single else f"the other {spelled(len(judged))} models"
    if missing == len(judged):
        too = " as well" if all(row.promise in BROKEN for row in named) else ""
        return f" {_capital(others)} {'misses' if single else 'miss'} the target{too}."
    if unclear == len(judged):
        return f" Whether {others} {'keeps' if single else 'keep'} the target is unclear."
    if unclear:
        kept = len(judged) - missing - unclear
        counts = ((kept, "keeps", "keep"), (missing, "misses", "miss"))
        claims = [
            f"{spelled(n)} {one if n == 1 else several} it" for n, one, several in counts if n
        ]
        claims.append(f"{spelled(unclear)} {'is' if unclear == 1 else 'are'} unclear")
        return f" Of {others}, {joined(claims)}."
    if not missing:
        return f" {_capital(others)} {'does' if single else 'do'} not miss the target."
    return f" Of {others}, {spelled(missing)} {'misses' if missing == 1 else 'miss'} it."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _worst_segment(case: Case) -> Iterator[str]:
    """The segment with the lowest coverage of those that the model to ship leaves short."""
    short_ones = [
        segment
        for segment in case.segments
        if segment.short and segment.model == case.decision.model
    ]
    if not short_ones:
        return
    worst = min(short_ones, key=lambda segment: segment.shipped_coverage.value)
    covered = share(worst.shipped_coverage.value)
    bound = "" if isnan(worst.at_most) else f" ({share(worst.at_most)} at most)"
    need = ""
    if worst.move.is_reachable:
        change = Shipment(case.model.name, worst.move, case.model.side).change
        need = f"; it would need bands {change}"
    yield f"Worst segment: {short(worst.title)} covers {covered}{bound} as shipped{need}."


def _worst_pocket(case: Case) -> Iterator[str]:
    """Where the model to ship fails by the features, if that was looked for."""
    if case.pockets is None:
        return
    for pockets in case.pockets.models:
        if pockets.model == case.decision.model and pockets.pockets:
            yield f"{case.name}: {pockets.headline}" if case.others else pockets.headline


def _disagreement(case: Case) -> Iterator[str]:
    """Which models are better than the one to ship by criteria that do not rank, where the numbers as shown differ."""
    claims = [*_narrowest(case), *_best_by_wis(case)]
    if claims:
        yield f"Criteria disagree: {joined(claims)}."


def _narrowest(case: Case) -> Iterator[str]:
    """A model that is narrower, both at their own factors: what choosing costs is no difference between them."""
    rows = case.reachable_others
    if not rows or not case.decision.reachable:
        return
    unchanged = case.decision.unchanged
    ours = case.decision.half_width.value if unchanged else case.model.half_width.value
    narrowest = min(rows, key=lambda row: row.half_width.value)
    theirs = number(narrowest.half_width.value)
    if narrowest.half_width.value < ours and theirs != number(ours):
        superlative = "narrower" if len(rows) == 1 else "narrowest"
        yield f"{short(narrowest.name)} is {superlative} at {case.target} ({width_name(narrowest.side)} {theirs})"


def _best_by_wis(case: Case) -> Iterator[str]:
    rows = [row for row in case.others if row.wis is not None]
    ours = case.model.wis
    if not rows or ours is None:
        return
    lowest = min(rows, key=lambda row: float(row.wis or nan))
    theirs = float(lowest.wis or nan)
    if theirs < float(ours) and number(theirs) != number(float(ours)):
        yield f"{short(lowest.name)} has the lower WIS ({number(theirs)} vs. {number(float(ours))})"


def _broken_levels(case: Case) -> Iterator[str]:
    """Which of the other levels of the model to ship miss their coverage."""
    claims = []
    for promise in BROKEN:
        levels = [
            coverage(level.level).text for level in case.model.levels if level.promise == promise
        ]
        if levels:
            claims.append(f"{promise} at {joined(levels)}")
    if claims:
        yield f"Of its levels as delivered, {case.name} is {joined(claims)}."


# What is never left out


def _never_left_out(case: Case) -> Iterator[str]:
    """Lines on the rows that were dropped and on what was not tested, where there is any."""
    if case.missing is not None and case.missing.dropped:
        yield dropped_rows(case.missing)
    if case.not_tested:
        parts = [sentence.rstrip(".") for sentence in case.not_tested]
        yield f"Not tested: {'; '.join(parts)}."


def dropped_rows(missing: Missing) -> str:
    """Return how many rows were dropped, who lacks them, and which segments are gone.

    >>> dropped_rows(
    ...     Missing(dropped=20, kept=80, lacking={"net": 20, "tree": 0}, vanished=("cases",))
    ... )
    'Dropped: 20 of 100 rows (net lacks 20). No rows are left of cases.'
    """
    total = missing.dropped + missing.kept
    lacking = [f"{short(name)} lacks {count:,}" for name, count in missing.lacking.items() if count]
    if len(lacking) > NAMED:
        lacking = [*lacking[:NAMED], f"{counted(len(lacking) - NAMED, 'other')} more"]
    whose = f" ({', '.join(lacking)})" if lacking else ""
    gone = (
        f" No rows are left of {joined([short(name) for name in missing.vanished])}."
        if missing.vanished
        else ""
    )
    return f"Dropped: {missing.dropped:,} of {counted(total, 'row')}{whose}.{gone}"


# Reasons


def _reasons(case: Case) -> Iterator[str]:
    """What lies behind the verdict, one sentence each."""
    yield from _contributions(case)
    if case.others:
        yield from _against(case, case.others[0])
        yield from _skill(case.model, f"The bands of {case.name}")
    yield from _rescaling(case)
    yield from _disagreement(case)
    yield from _broken_levels(case)


def _contributions(case: Case) -> Iterator[str]:
    """What predictions and bands save over one interval for all rows."""
    parts = case.model.decomposition
    if not all(isfinite(value) for value in astuple(parts)):
        return
    if isnan(case.model.half_width.value):
        climatology, saved = alike(parts.climatology, abs(parts.prediction))
        effect = "saves" if parts.prediction > 0 else "costs"
        yield f"One bound for all rows would score {climatology}: that of {case.name} {effect} {saved}."
        return
    climatology, prediction, bands = alike(
        parts.climatology, abs(parts.prediction), abs(parts.bands)
    )
    yield (
        f"One interval for all rows would score {climatology}: the predictions of {case.name} "
        f"{_saves(parts.prediction, prediction)}, its bands {_saves(parts.bands, bands)}."
    )


def _saves(value: float, text: str) -> str:
    if not text.strip("0."):
        return "save nothing"
    return f"save {text}" if value > 0 else f"cost {text}"


def _against(case: Case, second: ModelRow) -> Iterator[str]:
    """What makes the difference in score from the next model: predictions or bands."""
    ours = case.model.decomposition
    theirs = second.decomposition
    gap = theirs.shipped - ours.shipped
    prediction = ours.prediction - theirs.prediction
    if not isfinite(gap) or not isfinite(prediction) or abs(gap) <= ROUNDING * ours.shipped:
        return
    bands = gap - prediction
    texts = alike(abs(gap), abs(prediction), abs(bands))
    saved = [
        *_saves_more("predictions", prediction, texts[1]),
        *_saves_more("bands", bands, texts[2]),
    ]
    have_predictions = not isnan(case.model.half_width.value + second.half_width.value)
    split = f": {', '.join(saved)}" if have_predictions else ""
    lower = "lower" if gap > 0 else "higher"
    yield f"As shipped, the score of {case.name} is {texts[0]} {lower} than that of {short(second.name)}{split}."


def _saves_more(what: str, value: float, text: str) -> Iterator[str]:
    if text.strip("0."):
        yield f"its {what} save {text} {'more' if value > 0 else 'less'}"


def _skill(row: ModelRow, bands: str) -> Iterator[str]:
    """What a model's bands, as they are called, know beyond a constant band; nothing where that is undefined."""
    skill = row.skill
    if isnan(skill.value):
        return
    is_zero = percent(skill.low) == percent(skill.high) == percent(0.0)
    if is_zero:
        yield f"{bands} do as well as a constant band: skill {percent(skill.value)}."
    elif skill.low > 0 or skill.high < 0:
        better = "better" if skill.value > 0 else "worse"
        yield f"{bands} do {better} than a constant band: skill {written(row, 'skill')}."
    else:
        yield f"{bands} are not shown to do better than a constant band: skill {written(row, 'skill')}."


def _rescaling(case: Case) -> Iterator[str]:
    """What the factor (or shift) saves, where it is worth a sentence."""
    parts = case.model.decomposition
    if not isfinite(parts.delivered) or abs(parts.rescaling) <= MATERIAL * parts.delivered:
        return
    delivered, saved = alike(parts.delivered, abs(parts.rescaling))
    mover = movers([case.model.move])
    effect = "saves" if parts.rescaling > 0 else "costs"
    yield f"As delivered, {case.name} scores {delivered}; the {mover} {effect} {saved}."
