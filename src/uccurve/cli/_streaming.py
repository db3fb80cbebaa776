"""Streaming: an assessment of files that stay where they are, from one sketch per model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import inf, nan
from typing import TYPE_CHECKING, Any

from uccurve._checks import METRICS, SUMMARY
from uccurve.compare._columns import plain
from uccurve.compare._formats import short
from uccurve.compare.results import Assessment, AssessmentSettings, ModelRow, Segment
from uccurve.compare.verdict import verdict

from ._labels import label_columns
from ._loading import Part, Request, flat
from ._scans import Engine, frame

if TYPE_CHECKING:
    from uccurve.sketch.curve import SketchUCC
    from uccurve.sketch.sketch import UCCSketch

Sketches = dict[tuple[str, str], "UCCSketch"]
"""Sketches by feature and label; all rows are ('', '')."""
ENDS = ("coverage", "scale", "half_width", "score", "crps", "skill")
UNKNOWN = {f"{name}{end}": nan for name in ENDS for end in ("_low", "_high")}
"""Confidence intervals, for which the rows themselves are needed."""


class Streamed:
    """An assessment from sketches, with a bracket around each number that the bins do not tell exactly."""

    def __init__(self, assessment: Assessment, engine: Engine) -> None:
        self.assessment, self.engine = assessment, engine

    def to_json(self) -> str:
        """Return the assessment as JSON text, with the engine and the brackets."""
        settings = self.assessment.settings
        brackets = {name: dict(_brackets(curve, settings)) for name, curve in self.assessment.curves.items()}
        data = self.assessment.to_dict() | {"engine": self.engine, "brackets": plain(brackets)}
        return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)


def stream(found: Sequence[Part], request: Request, engine: Engine, settings: AssessmentSettings) -> Streamed:
    """Assess the models of files without loading them."""
    if request.on and len(found) > 1:
        raise ValueError("--on matches rows in memory. Hint: put all models into one file, or --engine memory.")
    sketches = dict(_sketches(found, request, engine))
    if len(found) > 1:
        _refuse_other_rows({name: parts["", ""] for name, parts in sketches.items()})
    curves = {name: parts["", ""].ucc() for name, parts in sketches.items()}
    rows = _ranked([_row(name, curve, settings) for name, curve in curves.items()], settings)
    segments = [
        _segment(name, key, one.ucc(), settings)
        for name, parts in sketches.items()
        for key, one in parts.items()
        if any(key)
    ]
    assessment = Assessment(
        rows=tuple(rows),
        comparisons=(),
        crossings=(),
        segments=tuple(segments),
        notes=tuple(_notes(curves, request, engine)),
        settings=settings,
        verdict=verdict(rows, settings, segments=segments),
        curves=curves,
        comparable=len({columns.pred for part in found for columns in part.models.values()}) == 1 == len(found),
    )
    return Streamed(assessment, engine)


def _sketches(found: Sequence[Part], request: Request, engine: Engine) -> Iterator[tuple[str, Sketches]]:
    """Sketches of every model, on all rows and on the rows of each segment."""
    from uccurve.sketch.sketch import UCCSketch

    labels = label_columns(request.by, None)
    options: Any = {"weight": request.weight, "min_band": request.min_band, "missing": request.missing}
    options |= {"by": labels} if labels else {}
    for part in found:
        models = flat(part.models)
        rows = _prepared(frame(engine, part.table, part.numbers(request), labels), part, request)
        for name, columns in models.items():
            names: Any = {"y_true": part.y, "y_pred": columns.pred}
            names |= {"lower": columns.bounds[0].lower, "upper": columns.bounds[0].upper}
            sketch: Any = UCCSketch.from_frame(rows, **names, **options)
            yield name, _by_segment(sketch, labels, request.by) if labels else {("", ""): sketch}


def _prepared(rows: Any, part: Part, request: Request) -> Any:
    """Sort crossing bounds, and drop rows for all models alike, where that is asked for."""
    import narwhals as nw

    from uccurve.sketch._engine_checks import all_finite

    changed: list[nw.Expr] = []
    if request.sort_crossing:
        for columns in flat(part.models).values():
            lower, upper, _ = columns.bounds[0]
            changed += [nw.min_horizontal(lower, upper).alias(lower), nw.max_horizontal(lower, upper).alias(upper)]
    if request.missing == "drop" and len(part.models) > 1:  # a row that lacks its observation is dropped everywhere
        changed.append(nw.when(all_finite(part.numbers(request))).then(nw.col(part.y)).alias(part.y))
    return nw.from_native(rows).with_columns(*changed).to_native() if changed else rows


def _by_segment(groups: Mapping[Any, UCCSketch], names: Sequence[str], by: Sequence[Sequence[str]]) -> Sketches:
    """Sketches of all rows and of each feature's segments, from those of all combinations of labels."""
    from uccurve.sketch.sketch import UCCSketch

    unlabelled = sum(one.rows + one.dropped for key, one in groups.items() if None in key)
    if unlabelled:
        total = sum(one.rows + one.dropped for one in groups.values())
        raise ValueError(
            f"`by` must hold a label in each row: {unlabelled} of {total} rows have none. "
            "Hint: give such rows a label of their own."
        )
    found: Sketches = {("", ""): sum(groups.values(), UCCSketch())}
    for feature in by:
        places = [names.index(name) for name in feature]
        segments: dict[str, UCCSketch] = {}
        for key, one in groups.items():
            label = ", ".join(str(key[place]) for place in places)
            segments[label] = segments.get(label, UCCSketch()) + one
        found |= {(", ".join(feature), label): one for label, one in sorted(segments.items()) if one.rows}
    return found


def _refuse_other_rows(sketches: Mapping[str, UCCSketch]) -> None:
    """Refuse files whose rows cannot be the same: rows of several files are not matched while they are streamed."""
    counts = {name: one.rows + one.dropped for name, one in sketches.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{short(name)} {count:,}" for name, count in counts.items())
        raise ValueError(f"files must have the same rows: {listed}.")
    if any(one.dropped for one in sketches.values()):
        raise ValueError(
            "rows of several files cannot be matched while they are streamed, and some lack a value. "
            "Hint: put all models into one file, or --engine memory."
        )


def _row(name: str, curve: SketchUCC, settings: AssessmentSettings) -> ModelRow:
    """Return one model; what needs the rows themselves is nan."""
    unit, coverage, delivered = settings.unit, settings.shown_coverage, curve.at(1.0, unit=settings.unit)
    scale, half_width = _target(curve, settings)
    decomposition = curve.decompose(coverage=coverage, unit=unit)
    fields: dict[str, Any] = {metric: getattr(delivered, metric) for metric in METRICS}
    for axes in SUMMARY:
        for kind, value in (("area", curve.area(axes=axes, unit=unit)), ("gain", curve.gain(axes=axes))):
            field = f"{kind}_{'_'.join(axes)}"
            fields |= {field: value, f"{field}_low": nan, f"{field}_high": nan}
    return ModelRow(
        name=name,
        rank=0,
        n=curve.sketch.rows,
        coverage=1 - delivered.miss_rate,
        promise=None,
        missed_above=nan,
        missed_below=nan,
        scale=scale,
        shift=nan,
        half_width=half_width,
        score=decomposition.best_score,
        pvalue=nan,
        crps=curve.potential_crps(unit=unit),
        skill=curve.skill(),
        decomposition=decomposition,
        concentration=_concentration(curve, settings),
        **UNKNOWN,
        **fields,
        **_asked(curve, settings),
    )


def _target(curve: SketchUCC, settings: AssessmentSettings) -> tuple[float, float]:
    """Return a factor that is sure to reach the target, and the half-width there; infinite where none is."""
    try:
        found = curve.find(
            coverage=settings.shown_coverage, conformal=not curve.sketch._state.weighted, unit=settings.unit
        )
    except ValueError:
        return inf, inf
    return found.scale, found.bandwidth


def _concentration(curve: SketchUCC, settings: AssessmentSettings) -> int:
    try:
        return curve.concentration(axes=settings.axes)
    except ValueError:  # weighted rows, or axes that bins cannot attribute to rows
        return 0


def _asked(curve: SketchUCC, settings: AssessmentSettings) -> dict[str, Any]:
    """Return the partial gain and the costs, where they were asked for."""
    found: dict[str, Any] = {}
    if settings.partial is not None:
        found["partial_gain"] = curve.gain(axes=settings.axes, miss_rate=settings.partial)
    if settings.c is not None:
        best = curve.cheapest(settings.c, axes=settings.axes, unit=settings.unit)
        found["cost"] = curve.cost(settings.c, axes=settings.axes, unit=settings.unit)
        found |= {"cheapest_cost": best.cost, "cheapest_scale": best.scale}
    return found


def _ranked(rows: Sequence[ModelRow], settings: AssessmentSettings) -> list[ModelRow]:
    from dataclasses import replace

    order = sorted(rows, key=lambda row: getattr(row, settings.ranked_by))
    return [replace(row, rank=1 + order.index(row)) for row in rows]


def _segment(name: str, key: tuple[str, str], curve: SketchUCC, settings: AssessmentSettings) -> Segment:
    scale, half_width = _target(curve, settings)
    return Segment(
        feature=key[0],
        label=key[1],
        model=name,
        n=curve.sketch.rows,
        coverage=1 - curve.at(1.0).miss_rate,
        coverage_low=nan,
        coverage_high=nan,
        scale=scale,
        half_width=half_width,
        score=curve.decompose(coverage=settings.shown_coverage, unit=settings.unit).best_score,
        skill=curve.skill(),
        target=settings.coverage,
        pvalue=nan,
        pvalue_holm=nan,
        fails=False,
    )


def _brackets(curve: SketchUCC, settings: AssessmentSettings) -> Iterator[tuple[str, tuple[float, float]]]:
    """Both ends around each number of a row that the bins do not tell exactly."""
    coverage: Any = {"coverage": settings.shown_coverage}
    unit: Any = {"unit": settings.unit}
    if not curve.sketch._state.weighted and _target(curve, settings)[0] < inf:
        yield "scale", curve.bracket("find", conformal=True, **coverage)
    yield "score", curve.bracket("best_score", **coverage, **unit)
    yield "crps", curve.bracket("potential_crps", **unit)
    yield "skill", curve.bracket("skill")
    for axes in SUMMARY:
        yield f"area_{'_'.join(axes)}", curve.bracket("area", axes=axes, **unit)
        yield f"gain_{'_'.join(axes)}", curve.bracket("gain", axes=axes)
    if settings.partial is not None:
        yield "partial_gain", curve.bracket("gain", axes=settings.axes, miss_rate=settings.partial)
    if settings.c is not None:
        yield "cheapest_cost", curve.bracket("cheapest", settings.c, axes=settings.axes, **unit)


def _notes(curves: Mapping[str, SketchUCC], request: Request, engine: Engine) -> Iterator[str]:
    yield f"streamed by {engine}, which keeps no rows: intervals and tests need --engine memory"
    if request.block is not None:
        yield "blocks of rows matter for intervals and tests only, so --block was not used"
    for name, curve in curves.items():
        if curve.sketch.raised:
            yield f"{name}: {curve.sketch.raised} bands were raised by min_band"
        if curve.sketch.dropped:
            yield f"{name}: {curve.sketch.dropped} rows with missing values were dropped"
