"""Streaming: what can be said of files that stay where they are, from one sketch a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uccurve._checks import METRICS, Axes, Range, Unit
from uccurve.compare.assess import GAINS

from ._console import Cell, show_table, show_text
from ._files import shown
from ._loading import Part, Request
from ._scans import Engine, frame
from ._summary import GAIN_FIELDS, GAIN_HEADS, cost_title, partial_note

if TYPE_CHECKING:
    from uccurve.sketch.curve import SketchUCC
    from uccurve.sketch.sketch import UCCSketch

Bracket = tuple[float, float]
LONG = 1e6
"""Per cent from which a gain is shown by three digits and a power of ten."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What is asked of each curve, as in `uccurve.assess`."""

    axes: Axes
    c: float
    miss_rate: Range
    unit: Unit
    alpha: float | None


def curves(parts: Sequence[Part], request: Request, engine: Engine) -> dict[str, dict[str, SketchUCC]]:
    """The curve of every model on all rows (under '') and on the rows of each segment."""
    from uccurve.sketch.sketch import UCCSketch

    found: dict[str, dict[str, SketchUCC]] = {}
    labels = [request.by] if request.by else []
    options: Any = {
        "weight": request.weight,
        "min_band": request.min_band,
        "missing": request.missing,
        "by": request.by,
    }
    for part in parts:
        rows = frame(engine, part.table, part.numbers(request), labels)
        if request.missing == "drop" and len(part.models) > 1:
            rows = _whole_rows(rows, part, request)
        for name, (y_pred, lower, upper) in part.models.items():
            columns: Any = {"y_true": part.y, "y_pred": y_pred, "lower": lower, "upper": upper}
            sketches: Any = UCCSketch.from_frame(rows, **columns, **options)
            if request.by is None:
                found[name] = {"": sketches.ucc()}
            else:
                segments = _segments(sketches)
                whole = sum(sketches.values(), UCCSketch())
                found[name] = {"": whole.ucc(), **{label: one.ucc() for label, one in segments.items()}}
    if len(parts) > 1:
        _refuse_other_rows({name: one[""].sketch for name, one in found.items()})
    return found


def _whole_rows(rows: Any, part: Part, request: Request) -> Any:
    """Let rows on which any model lacks a number lack their observation: models are compared on the same rows."""
    import narwhals as nw

    from uccurve.sketch._engine_checks import all_finite

    whole = nw.when(all_finite(part.numbers(request))).then(nw.col(part.y))
    return nw.from_native(rows).with_columns(whole.alias(part.y)).to_native()


def _segments(groups: Mapping[Any, UCCSketch]) -> dict[str, UCCSketch]:
    """Segments with rows by their label as text, in order; rows without a label are refused, as in memory."""
    nameless = groups.get(None)
    if nameless is not None:
        total = sum(one.rows + one.dropped for one in groups.values())
        raise ValueError(
            f"`by` must hold a label in each row: {nameless.rows + nameless.dropped} of {total} have none. "
            "Hint: give such rows a label of their own."
        )
    return {label: one for label, one in sorted((str(key), one) for key, one in groups.items()) if one.rows}


def _refuse_other_rows(sketches: Mapping[str, UCCSketch]) -> None:
    """Refuse files whose rows cannot be the same: rows of several files are not matched while they are streamed."""
    counts = {name: one.rows + one.dropped for name, one in sketches.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{shown(name)} {count:,}" for name, count in counts.items())
        raise ValueError(f"files must have the same rows: {listed}.")
    if any(one.dropped for one in sketches.values()):
        raise ValueError(
            "rows of several files cannot be matched while they are streamed, and some lack a value. "
            "Hint: put all models into one file, or --engine memory."
        )


def answers(curve: SketchUCC, choices: Choices) -> dict[str, Any]:
    """Rows, metrics as delivered, and every other answer as a bracket that holds the exact one."""
    at = curve.at(1.0, unit=choices.unit)
    best = curve.cheapest(choices.c, axes=choices.axes, unit=choices.unit)
    brackets = {name: curve.bracket("gain", axes=axes) for name, axes in GAINS}
    brackets["partial_gain"] = curve.bracket("gain", axes=choices.axes, miss_rate=choices.miss_rate)
    brackets["cost"] = curve.bracket("cost", choices.c, axes=choices.axes, unit=choices.unit)
    brackets["cheapest_cost"] = curve.bracket("cheapest", choices.c, axes=choices.axes, unit=choices.unit)
    metrics: dict[str, Any] = {name: getattr(at, name) for name in METRICS}
    if choices.alpha is not None:
        metrics["interval_score"] = 2 * at.bandwidth + 2 / choices.alpha * at.deficit
    return {"n": curve.sketch.rows, **metrics, **brackets, "cheapest_scale": best.scale, "cost_there": best.cost}


def as_json(found: Mapping[str, Mapping[str, SketchUCC]], choices: Choices, engine: str) -> str:
    """All answers as JSON text; brackets are pairs."""
    models = {name: answers(curve[""], choices) for name, curve in found.items()}
    segments = [
        {"label": label, "model": name, **answers(one, choices)}
        for name, curve in found.items()
        for label, one in curve.items()
        if label
    ]
    return json.dumps({"engine": engine, "models": models, "segments": segments}, indent=2, ensure_ascii=False)


def show(found: Mapping[str, Mapping[str, SketchUCC]], choices: Choices) -> None:
    """Print the tables for people."""
    everything = {name: answers(curve[""], choices) for name, curve in found.items()}
    heads: list[Cell] = ["model", "rows", "miss rate", "bandwidth", "cost", "least cost", "at scale"]
    show_table(cost_title(choices.c, choices.axes), heads, [_delivered(*one) for one in everything.items()])
    gains: list[list[Cell]] = [[name, *(_bracket(row[key]) for key in GAIN_FIELDS)] for name, row in everything.items()]
    note = partial_note(choices.axes, choices.miss_rate)
    show_table("Gain over the constant band, % [bracket that holds the exact value]", GAIN_HEADS, gains, note=note)
    segments = [_segment(label, name, one) for name, curve in found.items() for label, one in curve.items() if label]
    if segments:
        show_table("Segments", ["segment", "model", "rows", "miss rate", ("gain", "excess/deficit")], segments)
    show_text(["Note: confidence intervals and tests need the rows in memory: --engine memory."])


def _segment(label: str, name: str, curve: SketchUCC) -> list[Cell]:
    gain = _bracket(curve.bracket("gain", axes=("excess", "deficit")))
    return [label, name, f"{curve.sketch.rows}", f"{100 * curve.at(1.0).miss_rate:.1f} %", gain]


def _delivered(name: str, row: Mapping[str, Any]) -> list[Cell]:
    cells = (f"{row['n']}", f"{100 * row['miss_rate']:.2f} %", f"{row['bandwidth']:.4g}", f"{_middle(row['cost']):.4g}")
    return [name, *cells, f"{row['cost_there']:.4g}", f"{row['cheapest_scale']:.4g}"]


def _bracket(pair: Bracket) -> Cell:
    low, middle, high = (round(100 * value, 2) + 0.0 for value in (pair[0], _middle(pair), pair[1]))
    digits = ".2f" if max(abs(low), abs(high)) < LONG else ".3g"
    return f"{middle:+{digits}}", f"[{low:{digits}}, {high:{digits}}]"


def _middle(pair: Bracket) -> float:
    return (pair[0] + pair[1]) / 2
