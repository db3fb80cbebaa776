"""Gate: whether proposed intervals may replace the present ones, as checks with one false-alarm rate for all."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import hypot, log, nan
from typing import Any, Literal, Self

from uccurve import _refusals as checks
from uccurve._distributions import t_quantile
from uccurve._saved import NUMBER, PROPORTION, SIZE, Growing
from uccurve._saved import check as check_saved
from uccurve._vocabulary import Array
from uccurve.assess.assemble import asked_settings
from uccurve.assess.memory import RowsSource, score_degrees
from uccurve.assess.missing import aligned, vanished_segments
from uccurve.assess.segments import SegmentRows, segment_rows
from uccurve.curve import UCC
from uccurve.evidence.contributions import weights
from uccurve.evidence.inference import (
    checked_level,
    coverage_estimate,
    coverage_tail,
    holm,
    one_sided_t_test,
    reach_of,
)
from uccurve.evidence.models import given_models, refuse_different
from uccurve.evidence.units import Blocks, Spread
from uccurve.intervals import Intervals
from uccurve.points import Estimate, plain
from uccurve.results import Missing, Promise, Promised
from uccurve.words.formats import amount, counted, number, p, share, short
from uccurve.words.formats import coverage as percentage
from uccurve.words.verdict import dropped_rows

SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~>-])")
SCHEMA = 2  # version of what `Gate.to_dict` returns
Intervalled = Intervals | UCC | Mapping[float, Intervals]
# What a saved assessment must say of the model that is the baseline.
SCORED = Growing({"value": SIZE, "low": SIZE, "high": NUMBER})
BASELINE = Growing({"delivered_score": SCORED, "degrees": SIZE})
ASKED = Growing({"confidence_level": PROPORTION, "shown_coverage": PROPORTION})


@dataclass(frozen=True, slots=True)
class SavedScore:
    """Interval score as delivered of a model whose rows are gone, with its standard error and degrees of freedom."""

    name: str
    score: float
    spread: Spread

    @classmethod
    def of(
        cls, data: Mapping[str, Any], *, coverage: float | Fraction, name: str | None = None
    ) -> Self:
        """Score of a model in a saved assessment (`Assessment.to_dict`, or what its JSON holds).

        Every number that the gate will rest on must be finite and fit the others, or the assessment is refused.
        """
        models = data.get("models")
        if not isinstance(models, Mapping) or not models:
            raise ValueError("the saved assessment holds no models.")
        if name is None and len(models) > 1:
            raise checks.Refusal(
                f"the saved assessment has several models ({', '.join(models)}): which is the baseline?",
                checks.Hint("pass {name}", {"name": None}),
            )
        name = next(iter(models)) if name is None else name
        if name not in models:
            raise ValueError(
                f"no model {name!r} is in the saved assessment.{checks.nearest(name, list(models))}"
            )
        settings = data.get("settings")
        check_saved(settings, ASKED, "settings")
        if not isinstance(settings, Mapping):
            raise TypeError("the saved assessment must tell its settings.")
        _refuse_other_question(settings, coverage)
        row = models[name]
        if isinstance(row, Mapping) and _has_no_interval(row):
            raise ValueError(
                f"the saved assessment does not know how sure the score of {name!r} is: too few rows."
            )
        check_saved(row, BASELINE, f"models.{name}")
        score = row["delivered_score"]
        if (
            not 0 <= score["low"] <= score["high"]
            or not score["low"] <= 2 * score["value"] + score["high"]
        ):
            raise ValueError(
                f"the saved score of {name!r} must lie within its confidence interval."
            )
        return cls(str(name), float(score["value"]), _spread_of_interval(score, row, settings))


def _has_no_interval(row: Mapping[str, Any]) -> bool:
    score = row.get("delivered_score")
    return isinstance(score, Mapping) and None in (
        score.get("value"),
        score.get("low"),
        score.get("high"),
    )


def _refuse_other_question(settings: Mapping[str, Any], coverage: float | Fraction) -> None:
    """Refuse an assessment of another coverage, side or unit."""
    saved = settings["shown_coverage"]
    if checks.as_written(saved) != checks.as_written(coverage):
        raise ValueError(
            f"the saved assessment is for a coverage of {saved:g}, the gate for {float(coverage):g}. "
            "Hint: assess the baseline at the same coverage."
        )
    if settings.get("unit", "raw") != "raw":
        raise ValueError(
            "the saved assessment must be in units of y. Hint: assess the baseline without a unit."
        )


def _spread_of_interval(
    score: Mapping[str, float], row: Mapping[str, Any], settings: Mapping[str, Any]
) -> Spread:
    """Return the standard error that the interval of a score was made from."""
    degrees = float(row["degrees"])
    if degrees < 1 or not score["low"] > 0:
        return Spread(0.0 if score["high"] == score["low"] else nan, degrees)
    quantile = t_quantile((1 + settings["confidence_level"]) / 2, degrees)
    relative = (log(score["high"]) - log(score["low"])) / (2 * quantile)
    return Spread(score["value"] * relative, degrees)


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a gate.

    Attributes
    ----------
    statistic : {"coverage", "score"}
    segment : str or None
        The rows it is about; None for all of them.
    n : int
    value, reference : float
        Coverage as delivered and the promised one, or the interval scores as delivered of both models.
    difference : Estimate
        Value minus reference.
    pvalue, pvalue_holm : float
        Probability of a difference as bad as this by chance, and the same adjusted for the checks that share its level;
        nan where it could not be tested.
    level : float
        The adjusted p-value at which it fails: the share of the gate's level that these checks have.
    promise : {"kept", "too narrow", "too wide", "unclear"} or None
        Of the coverage of all rows: whether the promise is kept.
    passed : bool
    """

    statistic: Literal["coverage", "score"]
    segment: str | None
    n: int
    value: float
    reference: float
    difference: Estimate
    pvalue: float
    pvalue_holm: float = nan
    level: float = nan
    promise: Promise | None = None
    passed: bool = True

    @property
    def is_tested(self) -> bool:
        """Whether a test was possible."""
        return self.pvalue >= 0


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether proposed intervals pass, and every check behind it.

    Attributes
    ----------
    headline : str
        The outcome in one sentence.
    passed : bool
    checks : tuple of Check
    tested : int
        How many of the checks could be tested.
    coverage, level : float
        The promised coverage, and the false-alarm rate of all checks together.
    margin : float or str
        How much worse the score may be.
    baseline, proposed : str
        Names of the models.
    paired : bool
        Whether scores were compared row by row.
    notes : tuple of str
    missing : Missing or None
        Which rows were left out since a model lacks them, as in an assessment; None where none were.
    """

    headline: str
    passed: bool
    checks: tuple[Check, ...]
    tested: int
    coverage: float
    level: float
    margin: float | str
    baseline: str
    proposed: str
    paired: bool
    notes: tuple[str, ...] = ()
    missing: Missing | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists; what is infinite or undefined is None."""
        return {"schema": SCHEMA, **plain(asdict(self))}

    def to_text(self) -> str:
        """Return the outcome and one line per check."""
        rows = self._rows()
        width = max(len(row.name) for row in rows)
        lines = [f"{row.outcome:<4}  {row.name:<{width}}  {row.facts}" for row in rows]
        notes = [f"Note: {note}." for note in self.notes]
        return "\n".join([self.headline, *self._dropped(), *lines, *notes, self._meaning()])

    def to_markdown(self) -> str:
        """Return the same for a comment on a pull request; names cannot become markup, and mention nobody."""
        rows = [
            f"| {row.outcome} | {_escaped(row.name)} | {_escaped(row.facts)} |"
            for row in self._rows()
        ]
        notes = [f"- {_escaped(note)}." for note in self.notes]
        head = [f"### {_escaped(self.headline)}", ""]
        for sentence in self._dropped():
            head += [_escaped(sentence), ""]
        table = ["| | check | |", "|---|---|---|", *rows, ""]
        gap = [""] if notes else []
        return "\n".join([*head, *table, *notes, *gap, self._meaning()]) + "\n"

    def __repr__(self) -> str:
        return self.to_text()

    def _dropped(self) -> list[str]:
        """What is said of rows that were left out."""
        return [] if self.missing is None else [dropped_rows(self.missing)]

    def _meaning(self) -> str:
        each = percentage(self.level / 2).text
        if not any(item.segment for item in self.checks):
            return f"False-alarm rate of the whole gate: {percentage(self.level)}."
        total = percentage(self.level)
        return f"False-alarm rate of the whole gate: {total} ({each} for all rows, {each} for the segments)."

    def _rows(self) -> "list[GateLine]":
        """Outcome, name and facts of each check."""
        return [self._line(item) for item in self.checks]

    def _line(self, item: Check) -> "GateLine":
        sure = "not tested"
        if item.is_tested:
            sure = f"adjusted {p(item.pvalue_holm)} (fails at {percentage(item.level)})"
        name = (
            item.statistic if item.segment is None else f"{item.statistic}, {short(item.segment)}"
        )
        outcome = "FAIL" if not item.passed else "ok" if item.is_tested else "-"
        if item.statistic == "coverage":
            low = item.difference.low + item.reference
            high = item.difference.high + item.reference
            covers = share(item.value, low, high)
            unclear = ", unclear" if item.promise == "unclear" else ""
            facts = f"{covers} where {percentage(self.coverage)} is promised, n = {item.n:,}, {sure}{unclear}"
            return GateLine(outcome, name, facts)
        change = amount(item.difference.value, item.difference.low, item.difference.high)
        scores = f"{number(item.value)} vs. {number(item.reference)} for {short(self.baseline)}"
        margin = "" if self.margin in (0, "0", "0%") else f", margin {self.margin}"
        return GateLine(outcome, name, f"{scores}, {change}{margin}, {sure}")


@dataclass(frozen=True, slots=True)
class GateLine:
    """One check as a reader sees it."""

    outcome: str
    name: str
    facts: str


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    plain_text = text.replace("&", "&amp;").replace("<", "&lt;")
    return SPECIAL.sub(r"\\\1", plain_text).replace("@", "&#64;")


def gate(
    baseline: Intervalled | SavedScore,
    proposed: Intervalled,
    *,
    coverage: float | Fraction,
    level: float = 0.05,
    margin: float | str = 0.0,
    tolerance: float | None = None,
    allow_unclear: bool = False,
    by: Any = None,
    bins: int = 4,
    block: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    names: tuple[str, str] = ("baseline", "proposed"),
) -> Gate:
    """Check that proposed intervals keep their promise and score no worse than the baseline, both as delivered.

    Parameters
    ----------
    baseline, proposed : Intervals, UCC, or mapping from level to Intervals
        Of the same rows in the same order. A baseline may also be a `SavedScore`, which is not paired.
    coverage : float
        What the intervals promise.
    level : float
        False-alarm rate of all checks together: how often a gate says no to intervals that keep the promise and score
        as well as the baseline. With segments, half of it is theirs.
    margin : float or str
        How much worse the score may be: a number in units of `y_true`, or a percentage of the baseline's such as "2%".
    tolerance : float, optional
        As in `assess`.
    allow_unclear : bool
        Whether to pass intervals of which too little is known to say that they keep the promise, or whose score could
        not be tested.
    by, bins, block
        As in `assess`: segments that must keep the promise too, and dependent rows.
    missing : {"raise", "drop"}
        Refuse models that lack different rows, or compare them on the rows that both have.
    names : tuple of str

    Notes
    -----
    Coverage as delivered, of all rows and of each segment: one-sided binomial tail with the effective number of rows.
    Interval score as delivered: one-sided paired t test of the rows' differences, with one degree of freedom less than
    there are rows (or blocks) that the baseline misses: what it happened not to miss makes it look too good, what the
    proposed intervals happened not to miss makes them look no worse. With fewer than two of them the score cannot be
    tested, and the gate fails. Where neither model misses a row, and both are shown to cover too much, the scores are
    widths, which are compared with all degrees of freedom. Holm's method within all rows, and within the segments.

    A gate that always compares with the last accepted model lets small losses add up: freeze the baseline.

    Examples
    --------
    >>> y, zero = [1.0, -2.0, 0.5, 1.5, -0.7, 0.2, -1.1, 2.2] * 5, [0.0] * 40
    >>> old, new = (
    ...     Intervals.from_bounds(y, zero, [-width] * 40, [width] * 40) for width in (2.0, 0.4)
    ... )
    >>> print(gate(old, new, coverage=0.8))
    Gate failed: 2 of 2 checks, all tested.
    FAIL  coverage  12.5% [4.2, 26.8] where 80% is promised, n = 40, adjusted p < 0.001 (fails at 5%)
    FAIL  score     8.55 vs. 4.25 for baseline, +4.30 [1.68, 6.92], adjusted p = 0.0052 (fails at 5%)
    False-alarm rate of the whole gate: 5%.
    """
    level = checked_level(level, "level")
    settings = asked_settings(coverage, confidence_level=1 - level, tolerance=tolerance)
    allowed = checks.amount("margin", margin, "the baseline's score")
    saved = baseline if isinstance(baseline, SavedScore) else None
    given = {names[1]: proposed} if saved else {names[0]: baseline, names[1]: proposed}
    if len(given) == 1 and not saved:
        raise ValueError("`names` must be different.")
    checks.choice("missing", missing, ("raise", "drop"))
    on_rows = aligned(given_models(given).curves, missing=missing)
    curves = on_rows.curves
    refuse_different(curves)
    lost = on_rows.missing
    if lost is not None:
        lost = replace(lost, vanished=vanished_segments(by, on_rows.kept))
    blocks = Blocks.of(curves[names[1]].intervals, on_rows.labels(block))
    blocks.require_two("a gate")
    sources = {name: RowsSource(name, curve, settings, blocks) for name, curve in curves.items()}
    new = sources[names[1]]
    parts = segment_rows(on_rows.labels(by), blocks, bins)
    promised = settings.promised
    coverage_check = _overall_coverage(new, promised, allow_unclear=allow_unclear)
    score_check = _score_check(
        new,
        saved or sources[names[0]],
        allowed,
        covers_too_much=coverage_check.difference.low > 0,
    )
    is_known = score_check.is_tested or _beats_a_flattered_baseline(score_check, new)
    score_check = replace(score_check, passed=allow_unclear or is_known)
    whole = _judged([coverage_check, score_check], level, halved=bool(parts))
    in_segments = [_coverage_check(new, part) for part in parts]
    of_segments = _judged(in_segments, level, halved=True)
    conditions = (*whole, *of_segments)
    passed = all(check.passed for check in conditions)
    return Gate(
        headline=_headline(conditions, names, passed=passed),
        passed=passed,
        checks=conditions,
        tested=sum(check.is_tested for check in conditions),
        coverage=settings.shown_coverage,
        level=level,
        margin=margin,
        baseline=saved.name if saved else names[0],
        proposed=names[1],
        paired=saved is None,
        notes=tuple(_notes(conditions, saved)),
        missing=lost,
    )


def _judged(items: Sequence[Check], level: float, *, halved: bool) -> list[Check]:
    """Adjust the p-values of checks that share a level, and say which pass."""
    own_level = level / 2 if halved else level
    adjusted = holm([check.pvalue for check in items])
    out = []
    for check, pvalue in zip(items, adjusted, strict=True):
        passed = check.passed and not pvalue <= own_level
        out.append(replace(check, pvalue_holm=pvalue, level=own_level, passed=passed))
    return out


def _overall_coverage(source: RowsSource, promised: Promised, *, allow_unclear: bool) -> Check:
    """Whether the coverage of all rows is not below the promised one, and known well enough to say so."""
    item = _coverage_check(source)
    low = item.reference + item.difference.low
    high = item.reference + item.difference.high
    promise = promised.kept_by(Estimate(item.value, low, high))
    return replace(item, promise=promise, passed=allow_unclear or promise != "unclear")


def _coverage_check(source: RowsSource, part: SegmentRows | None = None) -> Check:
    """Whether the coverage as delivered is not below the promised one by more than chance."""
    path = source.path
    blocks = source.units
    segment = None
    if part is not None:
        path = path.subset(part.rows)
        blocks = part.blocks
        segment = part.label if part.feature == "segment" else f"{part.feature} {part.label}"
    covered = path.critical <= path.delivered
    promised = float(1 - source.alpha)
    level = source.settings.confidence_level
    estimate = coverage_estimate(covered, path.weight, blocks, level)
    difference = Estimate(
        estimate.value - promised, estimate.low - promised, estimate.high - promised
    )
    pvalue = coverage_tail(covered, path.weight, blocks, level, promised=1 - source.alpha)
    if blocks.count < 2:
        pvalue = nan
    return Check("coverage", segment, len(path), estimate.value, promised, difference, pvalue)


def _score_check(
    source: RowsSource,
    baseline: RowsSource | SavedScore,
    margin: tuple[float, float],
    *,
    covers_too_much: bool,
) -> Check:
    """Whether the score as delivered is not above the baseline's, with its margin, by more than chance.

    Where neither misses a row, and so many rows are covered that both are shown to cover too much, scores are widths.
    """
    path = source.path
    mine = path.score_rows(path.delivered, float(source.alpha))
    value = path.mean(mine)
    allowed = 1 + margin[1]
    if isinstance(baseline, SavedScore):
        reference = baseline.score
        spread = _spread(mine, source)
        error = hypot(spread.error, allowed * baseline.spread.error)
        spread = Spread(error, min(spread.degrees, baseline.spread.degrees))
    else:
        theirs = baseline.path.score_rows(path.delivered, float(source.alpha))
        reference = path.mean(theirs)
        spread = _spread(mine - allowed * theirs, source)
        are_widths = covers_too_much and _covers_all(source) and _covers_all(baseline)
        if not are_widths:
            degrees = score_degrees(baseline.path, path.delivered, source.units)
            spread = spread.limited(degrees)
    excess = value - allowed * reference - margin[0]
    pvalue = one_sided_t_test(excess, spread, size=max(value, reference))
    reach = reach_of(spread, source.settings.confidence_level)
    difference = value - reference
    return Check(
        "score",
        None,
        len(mine),
        value,
        reference,
        Estimate(difference, difference - reach, difference + reach),
        pvalue,
    )


def _beats_a_flattered_baseline(check: Check, proposed: RowsSource) -> bool:
    """Whether an untested score is no worse although only the proposed model's misses have been seen.

    What the baseline would miss on other rows can only raise its score.
    """
    path = proposed.path
    seen = score_degrees(path, path.delivered, proposed.units)
    return seen >= 1 and check.value <= check.reference


def _covers_all(source: RowsSource) -> bool:
    """Whether a model as delivered misses no row."""
    path = source.path
    return not (path.critical > path.delivered).any()


def _spread(rows: Array, source: RowsSource) -> Spread:
    """Return how sure the mean of what each row adds is."""
    return source.units.spread((rows - source.path.mean(rows)) * weights(source.path))


def _headline(conditions: Sequence[Check], names: tuple[str, str], *, passed: bool) -> str:
    """Return the outcome, and how much of it was tested."""
    total = counted(len(conditions), "check")
    untested = sum(not check.is_tested for check in conditions)
    tested = f"{untested} not tested" if untested else "all tested"
    if passed:
        return f"Gate passed: {short(names[1])} may replace {short(names[0])} ({total}, {tested})."
    failed = [check for check in conditions if not check.passed]
    outcome = f"Gate failed: {len(failed)} of {total}, {tested}"
    untested_score = "the score could not be tested (fewer than two misses)"
    if all(check.is_tested for check in failed):
        return f"{outcome}."
    if len(failed) == 1:
        return f"Gate failed: {untested_score}."
    return f"{outcome}; {untested_score}."


def _notes(conditions: Sequence[Check], saved: SavedScore | None) -> Iterator[str]:
    if saved is not None:
        yield "the baseline is a saved assessment: scores are not compared row by row, which finds large changes only"
    coverage, score, *segments = conditions
    if coverage.promise == "unclear" and not coverage.passed:
        yield "too little is known of the coverage to say that the promise is kept; allow_unclear passes such intervals"
    untested = [check.segment for check in segments if not check.is_tested]
    if untested:
        what = (
            "segment is a single block"
            if len(untested) == 1
            else "segments are a single block each"
        )
        yield f"{len(untested)} {what} and could not be tested, first {short(untested[0] or '')}"
    if not score.is_tested:
        hint = "" if score.passed else "; allow_unclear passes such intervals"
        yield f"the score could not be tested: the baseline misses fewer than two rows (or blocks){hint}"
