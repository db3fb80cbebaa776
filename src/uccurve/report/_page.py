"""Report: an assessment as one interactive page that stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from uccurve._checks import METRICS
from uccurve.compare.assess import GAINS as FIELDS
from uccurve.curve import UCC
from uccurve.plots._drawing import percent, spoken

from ._data import explorer_data
from ._webpage import Cell, Grid, Head, rendered

if TYPE_CHECKING:
    from uccurve.compare.assessment import Assessment, ModelRow, Segment

GAINS = {"/".join(axes): name for name, axes in FIELDS}
"""Axes of the three gains, and the fields that hold them."""


def page(assessment: Assessment, *, title: str | None = None) -> str:
    """The page of an assessment: tables, curve explorer, tests, crossings, segments, and how to read them.

    It needs no network and sends nothing: plotly's script is part of it, and its policy forbids every request. Names
    from the data are shown as text and never run.

    Examples
    --------
    >>> from uccurve import Intervals, assess
    >>> a = assess(Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4]), n_resamples=99)
    >>> "Content-Security-Policy" in page(a, title="Small")
    True
    """
    settings = assessment.settings
    models = {name: UCC(intervals) for name, intervals in assessment.intervals.items()}
    data = explorer_data(models, axes=settings.axes, cost=settings.c) | {"comparable": assessment.comparable}
    data["gains"] = [{"name": row.name, "spans": _finite_spans(row)} for row in assessment.rows]
    count = f"{len(models)} models" if len(models) > 1 else "one model"
    sections: dict[str, Any] = {
        "gains": _gains(assessment),
        "tests": _tests(assessment),
        "crossings": [f"{' and '.join(one.names)}: {one.verdict}." for one in assessment.crossings],
        "segments": _segments(assessment),
    }
    return rendered(
        data,
        title=title or f"Prediction intervals of {count}",
        lead=f"{data['rows']:,} rows, {count}{': ' + ', '.join(models) if len(models) > 1 else ''}.",
        notes=assessment.notes,
        contents=_contents(sections),
        verdicts=list(_verdicts(assessment)),
        summary=[_gain_table(assessment), _delivered_table(assessment)],
        vary=data["vary"],
        drives=[("t", data["vary"].capitalize(), 0, None), ("miss", "Miss rate", 0, 1), ("cost", "Cost factor", 0, 1)],
        names=list(models),
        metrics=METRICS,
        axes=settings.axes,
        std=data["std"],
        accuracy=_accuracy(data),
        settings=_settings(assessment),
        **sections,
    )


def _contents(sections: dict[str, Any]) -> list[tuple[str, str]]:
    optional = {"gains": "Gains", "tests": "Noise?", "crossings": "Crossings", "segments": "Segments"}
    found = [(f"{key}-section" if key == "gains" else key, name) for key, name in optional.items() if sections[key]]
    return [("summary", "Summary"), ("explorer", "Explorer"), *found, ("reading", "How to read this")]


def _verdicts(assessment: Assessment) -> Iterable[str]:
    axes = "/".join(assessment.settings.axes).replace("_", " ")
    ranking = assessment.ranking
    if len(ranking) > 1:
        yield f"By the gain on {axes}, best first: {', '.join(row.name for row in ranking)}."
        sure = [one for one in assessment.comparisons if one.better is not None]
        yield f"{len(sure)} of {len(assessment.comparisons)} pairs differ by more than chance explains."
    for one in assessment.failing[:3]:
        yield (
            f"{one.row.name} misses {_share(one.row.miss_rate)} where {one.feature} is {one.label}, "
            f"more than {_share(one.target)} beyond chance."
        )


def _gain_table(assessment: Assessment) -> Grid:
    """Gains of the models, and by how many rows they are decided."""
    settings = assessment.settings
    level, axes = f"{100 * settings.confidence_level:g} %", "/".join(settings.axes)
    heads = [
        Head("model", text=True),
        Head("rank", f"by the gain on {axes}"),
        *(Head(f"gain {breakable(pair)}", f"with its {level} bootstrap interval") for pair in GAINS),
        Head(f"gain at {spoken(('miss_rate', settings.miss_rate))}", f"on {axes}"),
        Head("rows with half the area", f"on {axes}; few of them: a few rows decide"),
    ]
    rows = [
        [
            Cell(row.name, swatch=index),
            Cell(str(row.rank), row.rank),
            *(_gain(row, name) for name in (*GAINS.values(), "partial_gain")),
            Cell(f"{row.concentration:,} of {row.n:,}", row.concentration / row.n),
        ]
        for index, row in enumerate(assessment.rows)
    ]
    return Grid(f"Gains over the constant band, with {level} intervals", heads, rows)


def _delivered_table(assessment: Assessment) -> Grid:
    """Metrics and costs of the models as delivered, and their least costs."""
    settings = assessment.settings
    level = f"{100 * settings.confidence_level:g} %"
    heads = [
        Head("model", text=True),
        Head("miss rate", f"with its exact {level} interval"),
        *(Head(name) for name in ("bandwidth", "excess", "deficit")),
        Head("cost", f"at c = {settings.c:g}"),
        Head("least cost", "and the scale that has it"),
    ]
    if settings.alpha is not None:
        heads.append(Head("interval score", f"at {settings.alpha:g}"))
    rows = [_delivered_row(row, index) for index, row in enumerate(assessment.rows)]
    return Grid("As delivered, and at the least cost", heads, rows)


def _delivered_row(row: ModelRow, index: int) -> list[Cell]:
    cells = [
        Cell(row.name, swatch=index),
        Cell(_share(row.miss_rate), row.miss_rate, f"{_share(row.miss_rate_low)} to {_share(row.miss_rate_high)}"),
        *(_number(getattr(row, name)) for name in ("bandwidth", "excess", "deficit", "cost")),
        _number(row.cheapest_cost, f"at scale {row.cheapest_scale:.4g}"),
    ]
    return cells if row.interval_score is None else [*cells, _number(row.interval_score)]


def breakable(axes: str) -> str:
    """Axes that may be broken over two lines after the stroke."""
    return axes.replace("_", " ").replace("/", "/\u200b")


def _share(value: float) -> str:
    return f"{100 * value:.2f} %"


def _number(value: float, small: str = "") -> Cell:
    return Cell("–" if isnan(value) else f"{value:.4g}", None if isnan(value) else value, small)


def _gain(row: ModelRow, name: str) -> Cell:
    value, low, high = (getattr(row, name + end) for end in ("", "_low", "_high"))
    if isnan(value):
        return Cell("–")
    kind = "best" if round(low, 3) > 0 else "flag" if round(high, 3) < 0 else ""
    return Cell(percent(value), value, "" if isnan(low + high) else f"{percent(low)} to {percent(high)}", kind)


def _finite_spans(row: ModelRow) -> dict[str, list[float]]:
    spans = {axes: [getattr(row, name + end) for end in ("", "_low", "_high")] for axes, name in GAINS.items()}
    return {axes: span for axes, span in spans.items() if all(map(isfinite, span))}


def _gains(assessment: Assessment) -> dict[str, Any]:
    level = f"{100 * assessment.settings.confidence_level:g} %"
    text = (
        f"Share of the constant band's area that each model saves; bars are {level} bootstrap intervals. "
        "The summary has the numbers."
    )
    return {"text": text, "lines": len(assessment.rows) * len(GAINS)}


def _tests(assessment: Assessment) -> dict[str, Any] | None:
    if not assessment.comparisons:
        return None
    settings = assessment.settings
    heads = [
        Head("pair", text=True),
        Head("difference"),
        Head("p"),
        Head("p, adjusted", "by Holm's method, for all pairs"),
    ]
    rows = [
        [
            Cell(f"{one.first} against {one.second}"),
            _number(one.difference),
            _number(one.pvalue),
            _number(one.pvalue_holm),
            Cell(one.better or "not told apart", kind="text", small=one.note),
        ]
        for one in assessment.comparisons
    ]
    statistic = assessment.comparisons[0].statistic
    text = (
        f"Paired permutation tests of the {statistic} on {'/'.join(settings.axes).replace('_', ' ')}: how often a "
        f"difference as large would come about if it did not matter which model an interval came from."
    )
    grid = Grid(f"Pairs, up to {settings.n_permutations:,} permutations", [*heads, Head("better", text=True)], rows)
    return {"text": text, "table": grid}


def _segments(assessment: Assessment) -> dict[str, Any] | None:
    if not assessment.segments:
        return None
    heads = [Head("segment", text=True), Head("model", text=True), Head("rows"), Head("miss rate")]
    heads += [
        *(Head(f"gain {breakable(axes)}") for axes in ("excess/deficit", "bandwidth/miss_rate")),
        Head("p, adjusted"),
    ]
    rows = [_segment_row(one) for one in assessment.segments]
    failing = len(assessment.failing)
    if failing:
        heads.append(Head("verdict", text=True))
        verdicts = (f"misses more than {_share(one.target)}" if one.fails else "" for one in assessment.segments)
        rows = [[*row, Cell(text, kind="text flag")] for row, text in zip(rows, verdicts, strict=True)]
    text = (
        f"{failing or 'No'} of {len(rows)} segments {'misses' if failing == 1 else 'miss'} more than the target "
        f"beyond chance (p adjusted by Holm's method for all segments of a model)."
    )
    return {"text": text, "table": Grid("Segments", heads, rows)}


def _segment_row(one: Segment) -> list[Cell]:
    row = one.row
    return [
        Cell(f"{one.feature}: {one.label}"),
        Cell(row.name, kind="text"),
        Cell(f"{row.n:,}", row.n),
        Cell(_share(row.miss_rate), row.miss_rate, f"{_share(row.miss_rate_low)} to {_share(row.miss_rate_high)}"),
        _gain(row, "gain_excess_deficit"),
        _gain(row, "gain_bandwidth_miss_rate"),
        _number(one.pvalue_holm),
    ]


def _accuracy(data: dict[str, Any]) -> str:
    """What the explorer's numbers are good for."""
    curves = [model["curve"] for model in data["models"]]
    if all(curve["exact"] for curve in curves):
        return "The curves are exact."
    off = max(curve["off"] for curve in curves)
    drawn, total = max(len(curve["t"]) for curve in curves), max(curve["vertices"] for curve in curves)
    return (
        f"The page carries {drawn:,} of up to {total:,} vertices of a curve: numbers in the explorer are off by at "
        f"most {off:.2g} of an axis, those in the other tables are exact."
    )


def _settings(assessment: Assessment) -> Sequence[tuple[str, str]]:
    settings = assessment.settings
    return [
        ("axes", "/".join(settings.axes).replace("_", " ")),
        ("cost factor", f"{settings.c:g}"),
        ("range of the partial gain", spoken(("miss_rate", settings.miss_rate))),
        ("unit", {"raw": "that of y", "std": "deviations of y"}.get(str(settings.unit), str(settings.unit))),
        ("resamples", f"{settings.n_resamples:,} for intervals, {settings.n_permutations:,} for tests"),
        ("seed", str(settings.seed)),
        ("made by", f"uccurve {version('uccurve')}"),
    ]
