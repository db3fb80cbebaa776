"""View: what figures and pages both draw, computed once: curves in few vertices, and the waterfall of scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import isfinite, isnan, nan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from uccurve._arrays import Indices, evenly
from uccurve._refusals import as_written
from uccurve._vocabulary import METRICS, Array, Axes, Unit
from uccurve.curve import UCC
from uccurve.points import Curve, Decomposition, Estimate, Move
from uccurve.words.formats import alike, coverage, share, short, width_name
from uccurve.words.tables import lowest_first, shown_coverage

if TYPE_CHECKING:
    from uccurve.results import Assessment, LevelRow, ModelRow, Segment

CANDIDATES = 20_000  # vertices among which those are chosen that a page carries
FEWEST = 150  # vertices of a curve that a page carries at least
PROMISED = {
    "kept": "kept",
    "too narrow": "not reached",
    "too wide": "exceeded",
    "unclear": "unclear",
}
MAPPED = 12  # models that a map of segments has room for
CUT = 1.5  # bars that end beyond this multiple of the score of one interval for all rows are cut there
Kind = Literal["total", "saves", "costs"]
# Colours of models, the best first, which people with any colour vision tell apart; further models are grey.
MODELS = ("#0072B2", "#CC8314", "#800D46", "#7F8F5A", "#9A3CF0", "#5E4B00", "#2E1066")
MODELS_ON_DARK = ("#56B4E9", "#EB8C1E", "#C24B74", "#BECC85", "#A34DF5", "#857444", "#FFFFFF")
# One language of figures and pages: what each colour means, on white paper and on a dark screen.
LIGHT: Mapping[str, str] = {
    "page": "#FFFFFF",
    "card": "#F6F7F9",
    "ink": "#1B1F24",
    "muted": "#57606A",
    "line": "#D8DDE3",
    "shade": "rgb(0 0 0 / 22%)",
    "accent": "#00696F",  # what is recommended, and nothing else
    "kept": "#117733",
    "broken": "#B3261E",
    "wider": "#8A6100",
    "unclear": "#5B6673",
    "total": "#B9C2CC",
    "saves": "#6DB3B1",
    "costs": "#7D8794",
    "below": "#D1553F",
    "above": "#5C84B5",
    "other": "#B4BCC5",
    **{f"model-{place}": colour for place, colour in enumerate(MODELS)},
}
DARK: Mapping[str, str] = {
    "page": "#14181D",
    "card": "#1D2127",
    "ink": "#E8EAED",
    "muted": "#A8B0BA",
    "line": "#3A414A",
    "shade": "rgb(0 0 0 / 70%)",
    "accent": "#5FD0CB",
    "kept": "#62D39A",
    "broken": "#FF8A80",
    "wider": "#E3B341",
    "unclear": "#A8B0BA",
    "total": "#4B5563",
    "saves": "#2F7F7D",
    "costs": "#77818E",
    "below": "#B0482F",
    "above": "#3A6FA8",
    "other": "#59626D",
    **{f"model-{place}": colour for place, colour in enumerate(MODELS_ON_DARK)},
}


class PromiseState(NamedTuple):
    """How a promise stands: a colour, and the sign that goes with the word."""

    colour: str
    sign: str


STATES: Mapping[str | None, PromiseState] = {
    "kept": PromiseState("kept", "✓"),
    "too narrow": PromiseState("broken", "✗"),
    "falls short": PromiseState("broken", "✗"),
    "too wide": PromiseState("wider", "↔"),
    "unclear": PromiseState("unclear", "?"),
    "not tested": PromiseState("unclear", "?"),
    None: PromiseState("muted", ""),
}


def promise_mark(row: ModelRow | LevelRow) -> str:
    """Return a coverage with the sign and the word of its promise.

    >>> from uccurve.results import LevelRow
    >>> promise_mark(LevelRow("net", 0.9, Estimate(0.904), "kept", 0.0, 0.1, Estimate(1), 2.0))
    '90.4% ✓ kept'
    """
    sign = STATES[row.promise].sign
    return " ".join(filter(None, (share(row.coverage.value).text, sign, row.promise)))


def knob(curve: Curve) -> Literal["scale", "shift"]:
    """What moves the bands: levels are scales too."""
    return "shift" if curve.vary == "shift" else "scale"


def delivered_at(curve: Curve) -> float:
    """Scale (or shift) of the intervals as delivered; of several levels, that of the widest."""
    return 0.0 if curve.vary == "shift" else 1.0


def shipped_curve(assessment: Assessment, row: ModelRow) -> Curve:
    """Return the curve on which a model's own factor lies: of several levels, that of the interval that is scaled."""
    curve: Curve = assessment.curves[row.name]
    if isinstance(curve, UCC) and curve.levels:
        return curve.delivered_curve(as_written(assessment.settings.shown_coverage))
    return curve


def shipped_at(assessment: Assessment, row: ModelRow) -> float:
    """Return the factor (or shift) with which a model ships: the verdict's for its model, else its own."""
    verdict = assessment.verdict
    if row.name != verdict.model:
        return row.move.estimate.value
    return verdict.shift if row.move.kind == "shift" else verdict.scale


def shipped_move(assessment: Assessment, row: ModelRow) -> Move:
    """Return what moves the bands of a model when it ships, in the interval of its own factor (or shift)."""
    estimate = replace(row.move.estimate, value=shipped_at(assessment, row))
    return Move(row.move.kind, estimate)


def names(rows: Iterable[ModelRow]) -> list[str]:
    """Return the names of models."""
    return list(map(attrgetter("name"), rows))


def coloured(assessment: Assessment) -> tuple[ModelRow, ...]:
    """Return the best models, as many as there are colours; the others are drawn in grey."""
    return assessment.ranking[: len(MODELS)]


def widest(assessment: Assessment) -> float:
    """Return the half-width up to which curves are drawn: twice the largest that ships, of the models in colour."""
    rows = [*coloured(assessment), assessment[assessment.verdict.model]]
    shipped = map(float, map(attrgetter("half_width"), rows))
    return 2 * max(filter(isfinite, shipped), default=nan)


def corner(
    curves: Sequence[Curve], axes: Axes, unit: Unit, half_width: float
) -> tuple[float, float]:
    """Return how far curves are drawn on each axis: metrics that rise, up to a half-width."""
    ends = np.array([_corner(curve, axes, unit, half_width) for curve in curves])
    right, top = 1.04 * ends.max(axis=0)
    return float(right) or 1.0, float(top) or 1.0


def _corner(curve: Curve, axes: Axes, unit: Unit, half_width: float) -> list[float]:
    table = curve.table(unit=unit)
    reach = slice(None)
    limits = {}
    if isfinite(half_width):
        last = int(np.searchsorted(table["bandwidth"], half_width))
        reach = slice(max(last + 1, 2))
        limits["bandwidth"] = min(half_width, float(table["bandwidth"][-1]))
    return [limits.get(name, float(table[name][reach].max())) for name in axes]


def constant_curve(curve: Curve) -> UCC | None:
    """Curve of the constant band around the same predictions; None for a sketch, which keeps no rows."""
    return UCC(curve.intervals.constant(), vary=knob(curve)) if isinstance(curve, UCC) else None


def knots(t: Array, values: Array, most: int) -> Indices:
    """At most so many of two or more places in `t`, between which straight lines follow every row of `values`.

    Places are added where the lines are furthest off, until none is off.

    >>> t = np.arange(9.0)
    >>> knots(t, np.abs(t - 3)[None], most=5)
    array([0, 3, 8])
    """
    kept = np.array([0, len(t) - 1])
    while len(kept) < most:
        worst, off = _worst(t, values, kept)
        furthest = np.argsort(-off, kind="stable")[: most - len(kept)]
        new = worst[furthest[off[furthest] > 0]]
        if not len(new):
            break
        kept = np.sort(np.concatenate([kept, new]))
    return kept


def _worst(t: Array, values: Array, kept: Indices) -> tuple[Indices, Array]:
    """Between each two kept places, the one furthest from the straight line, and how far it is."""
    off = _off(t, values, kept)
    off[kept] = 0.0  # also where two vertices share one t
    largest = np.maximum.reduceat(off[:-1], kept[:-1])
    segment = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    hits = np.flatnonzero(off[:-1] == largest[segment])
    return hits[np.unique(segment[hits], return_index=True)[1]], largest


def _off(t: Array, values: Array, kept: Indices) -> Array:
    """How far each vertex is from the straight lines between the kept ones, in the row where it is furthest."""
    off = np.zeros(len(t))
    for row in values:
        off = np.maximum(off, np.abs(row - np.interp(t, t[kept], row[kept])))
    return off


def curve_data(curve: Curve, most: int = FEWEST, exactly: Sequence[float] = ()) -> dict[str, Any]:
    """Columns t and the five metrics, whether they are all vertices, and the largest distance to lines between them.

    The distance is relative: to 1 for the miss rate, and for the others to their value where 1% are missed. The
    vertices on either side of the places in `exactly` are always carried.

    Examples
    --------
    >>> from uccurve import Intervals
    >>> data = curve_data(
    ...     UCC(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]))
    ... )
    >>> data["t"], data["miss_rate"], data["exact"], data["off"]
    ([0.0, 1.0, 2.0], [1.0, 0.333333, 0.0], True, 0.0)
    """
    table = copy(curve).table()  # what a curve sorts it keeps, and the page needs it once
    t = table[knob(curve)]
    columns = _columns(table)
    whole = len(t) <= most
    off = 0.0
    vertices = len(t)
    end = float(t[-1])
    if not whole:
        kept, off = _chosen(t, columns, most)
        after = np.searchsorted(t, exactly)
        around = np.concatenate([after - 1, after]).clip(0, len(t) - 1)
        kept = np.union1d(kept, around).astype(np.intp)
        t = t[kept]
        columns = columns[:, kept]
    delivered = delivered_at(curve)
    if t[-1] < delivered:  # the curve goes on as far as the model as delivered
        point = curve.at(delivered)
        t = np.append(t, delivered)
        columns = np.column_stack([columns, attrgetter(*METRICS)(point)])
    return {
        "t": rounded(t),
        **dict(zip(map(str, METRICS), map(rounded, columns), strict=True)),
        "exact": whole and isinstance(curve, UCC),
        "off": off,
        "vertices": vertices,
        "end": end,
    }


def _columns(table: Mapping[str, Array]) -> Array:
    """The five metrics, one row each."""
    return np.stack([table[name] for name in METRICS])


def rounded(values: Array) -> list[float]:
    """Return numbers to six digits, which no screen tells from more."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _chosen(t: Array, columns: Array, most: int) -> tuple[Indices, float]:
    """Vertices to carry, and the largest relative distance from any vertex to the lines between them."""
    by_t = np.searchsorted(t, np.linspace(t[0], t[-1], CANDIDATES // 10)).clip(0, len(t) - 1)
    some = np.unique(np.concatenate([evenly(len(t), CANDIDATES), by_t]))
    miss = columns[METRICS.index("miss_rate")]
    settled = columns[:, np.argmax(miss <= max(0.01, float(miss[-1])))]
    sizes = np.where(settled > 0, settled, np.maximum(columns.max(axis=1), 1e-300))
    falling = [METRICS.index("miss_rate"), METRICS.index("deficit")]
    sizes[falling] = columns[falling, 0]
    scaled = columns / sizes[:, None]
    kept = some[knots(t[some], scaled[:, some], most)]
    return kept, float(_off(t, scaled, kept).max())


class WaterfallStep(NamedTuple):
    """One bar: its name, start and end, whether it is a total or what something changes, and its name with its size."""

    name: str
    start: float
    end: float
    kind: Kind
    label: str = ""


def waterfall(parts: Decomposition) -> list[WaterfallStep]:
    """Steps from one interval for all rows to the score as shipped, and the score as delivered below it.

    What a step changes is written with no more decimals than the totals; a step that rounds to zero, or is undefined,
    is left out.

    >>> parts = Decomposition.of(
    ...     delivered=9.0, shipped=7.0, constant=6.0, climatology=10.0, best=6.5
    ... )
    >>> [(step.label, step.start, step.end) for step in waterfall(parts)][1:4]
    [('predictions save 4.00', 10.0, 6.0), ('bands cost 1.00', 6.0, 7.0), ('score as shipped 7.00', 0.0, 7.0)]
    """
    steps = (
        WaterfallStep("one interval for all rows", 0.0, parts.climatology, "total"),
        _change("predictions", parts.climatology, parts.constant),
        _change("bands", parts.constant, parts.shipped),
        WaterfallStep("score as shipped", 0.0, parts.shipped, "total"),
        _rescaling(parts),
    )
    totals = (parts.climatology, parts.shipped)
    smallest = min(filter(isfinite, totals), default=0.0)
    return list(filter(attrgetter("label"), (_labelled(step, smallest) for step in steps)))


def axis_end(models: Iterable[Decomposition]) -> float:
    """Return where the axis of several waterfalls ends: a model of a far too small scale must not squeeze the others.

    >>> axis_end([Decomposition.of(delivered=900, shipped=7, constant=8, climatology=10, best=7)])
    15.0
    """
    last = 0.0
    limit = 0.0
    for parts in models:
        limit = max(limit, CUT * parts.climatology)
        for step in waterfall(parts):
            last = max(last, step.start, step.end)
    return min(last, limit) if limit > 0 else last or 1.0


def _change(what: str, start: float, end: float) -> WaterfallStep:
    if end <= start:
        return WaterfallStep(f"{what} save", start, end, "saves")
    return WaterfallStep(f"{what} cost", start, end, "costs")


def _rescaling(parts: Decomposition) -> WaterfallStep:
    """What the intervals as delivered score more (or less) than as shipped."""
    kind: Kind = "costs" if parts.rescaling >= 0 else "saves"
    return WaterfallStep("as delivered", parts.shipped, parts.delivered, kind)


def _labelled(step: WaterfallStep, smallest: float) -> WaterfallStep:
    """Return a step with its name and size; without a label where it is undefined or rounds to zero."""
    if not isfinite(step.start) or not isfinite(step.end):
        return step
    is_total = step.kind == "total"
    size, _ = alike(abs(step.end - step.start), 0.0 if is_total else smallest)
    if not is_total and not size.strip("0."):
        return step
    if step.name != "as delivered":
        return step._replace(label=f"{step.name} {size}")
    more = "more" if step.kind == "costs" else "less"
    return step._replace(label=f"{step.name} {size} {more}")


class SegmentMap(NamedTuple):
    """Segments by models: a row per segment, those first that matter most, and a column per model, best first."""

    titles: Sequence[str]
    models: Sequence[str]
    cells: Mapping[tuple[str, str], Segment]
    hidden: int = 0

    def covered(self, title: str, model: str) -> float:
        """Coverage of one cell, as shipped where anything ships; nan where there is no such segment."""
        segment = self.cells.get((title, model))
        return nan if segment is None else shown_coverage(segment).value

    def behind(self, title: str, model: str) -> float:
        """How much higher the score of one cell is than the best in its segment; nan where there is none."""
        scores = {name: cell.score for (at, name), cell in self.cells.items() if at == title}
        best = min(filter(isfinite, scores.values()), default=nan)
        return scores.get(model, nan) / best - 1 if best > 0 else nan


def segment_map(assessment: Assessment, most: int | None = None) -> SegmentMap:
    """Return the segments of the best models, those first that the model to ship covers least."""
    every = [*lowest_first(assessment), *assessment.segments]
    titles = list(dict.fromkeys(map(attrgetter("title"), every)))
    shown = titles[:most]
    models = names(assessment.ranking[:MAPPED])
    cells = {(segment.title, segment.model): segment for segment in assessment.segments}
    return SegmentMap(shown, models, cells, len(titles) - len(shown))


def span(estimate: Estimate) -> tuple[float, float, float]:
    """Return a value with the ends of its interval, which are the value itself where there is none.

    >>> span(Estimate(0.5, 0.4, 0.6)), span(Estimate(0.5))
    ((0.5, 0.4, 0.6), (0.5, 0.5, 0.5))
    """
    if not estimate.has_interval:
        return estimate.value, estimate.value, estimate.value
    return estimate.value, estimate.low, estimate.high


def half_width_finding(assessment: Assessment) -> str:
    """Return which model needs the narrowest bands."""
    target = coverage(assessment.settings.shown_coverage)
    reaching = [row for row in assessment.rows if row.move.is_reachable]
    has_margins = all(not isnan(row.half_width.value) for row in reaching)
    if len(reaching) < 2 or not has_margins:
        name = width_name(assessment.settings.side) if has_margins else "shift"
        return f"{name.capitalize()} for {target} coverage"
    narrowest = min(reaching, key=lambda row: row.half_width.value)
    return f"{short(narrowest.name)} is narrowest at {target} coverage"


def calibration_finding(assessment: Assessment) -> str:
    """Return how many models keep their promise as delivered."""
    rows = list(filter(attrgetter("promise"), assessment.rows))
    if not rows:
        return "Coverage as delivered"
    kept = sum(row.promise == "kept" for row in rows)
    target = coverage(assessment.settings.shown_coverage)
    if len(rows) == 1:
        return f"As delivered, {target} is {PROMISED[str(rows[0].promise)]}"
    if kept == len(rows):
        return f"As delivered, all {len(rows)} models keep {target}"
    return f"As delivered, {kept or 'none'} of {len(rows)} models keep{'s' * (kept < 2)} {target}"


def segments_finding(assessment: Assessment) -> str:
    """Return which segment falls short for every model, or how many fall short."""
    every = assessment.segments
    count = len(assessment)
    failing = Counter(segment.title for segment in every if segment.short)
    everywhere = [title for title, models in failing.items() if models == count]
    if count > 1 and len(everywhere) == 1:
        return f"{short(everywhere[0])} falls short for every model"
    what = "segments" if count == 1 else "model-segment pairs"
    if not failing:
        return f"No segment is shown to fall short ({len(every)} {what})"
    total = failing.total()
    return f"{total} of {len(every)} {what} fall{'s' * (total == 1)} short"


def decomposition_finding(assessment: Assessment) -> str:
    """Return what the predictions and the bands of the model to ship save of the score of one interval for all rows."""
    name = assessment.verdict.model
    parts = assessment[name].decomposition
    if not isfinite(parts.climatology) or not isfinite(parts.shipped) or parts.climatology <= 0:
        return "Where the score comes from"
    if isnan(assessment[name].half_width.value):
        effect = "saves" if parts.prediction >= 0 else "costs"
        size = f"{100 * abs(parts.prediction / parts.climatology):.0f}%"
        return f"{short(name)} {effect} {size} of the score of one bound for all rows"
    predictions = _saved(parts.prediction / parts.climatology)
    bands = _saved(parts.bands / parts.climatology)
    of_what = "of the score of one interval for all rows"
    return f"{short(name)}: predictions {predictions} and bands {bands} {of_what}"


def _saved(share: float) -> str:
    size = f"{100 * abs(share):.0f}%"
    return f"save {size}" if share >= 0 or size == "0%" else f"cost {size}"


def areas_finding(assessment: Assessment) -> str:
    """Return on how many pairs of axes the model to ship has the smallest area, which is another question."""
    name = assessment.verdict.model
    finite = [key for key, area in assessment[name].areas.items() if isfinite(area.value)]
    if len(assessment) == 1 or not finite:
        return "What the curve adds up to"
    smallest = sum(_has_smallest_area(assessment, name, key) for key in finite)
    return f"{short(name)} has the smallest area on {smallest} of {len(finite)} pairs of axes"


def _has_smallest_area(assessment: Assessment, name: str, key: str) -> bool:
    areas = [row.areas[key].value for row in assessment.rows]
    return assessment[name].areas[key].value <= min(areas)


def levels_finding(assessment: Assessment) -> str:
    """Return how many models keep the promise of each of their levels."""
    rows = list(filter(attrgetter("levels"), assessment.rows))
    kept = sum(map(_keeps_all, rows))
    if len(rows) == 1:
        return f"As delivered, {short(rows[0].name)} {_keeps(bool(kept))}"
    if kept == len(rows):
        return f"As delivered, all {len(rows)} models keep all their levels"
    return f"As delivered, {kept or 'none'} of {len(rows)} models keep{'s' * (kept < 2)} all levels"


def _keeps_all(row: ModelRow) -> bool:
    return {level.promise for level in row.levels} == {"kept"}


def _keeps(kept: bool) -> str:
    return "keeps all its levels" if kept else "does not keep all its levels"


def pit_finding(assessment: Assessment) -> str:
    """Return of how many models the observations fall unevenly among their own quantiles."""
    uneven = [not row.pit.is_flat for row in assessment.rows if row.pit is not None]
    count = sum(uneven)
    if len(uneven) == 1:
        return (
            "The PIT histogram is not flat"
            if count
            else "The PIT histogram is not shown to be uneven"
        )
    if count == len(uneven):
        return f"None of {count} PIT histograms is flat"
    are = "is" if count < 2 else "are"
    return f"{count or 'None'} of {len(uneven)} PIT histograms {are} shown to be uneven"
