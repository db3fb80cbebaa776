"""Streaming: what can be said of files that stay where they are, from one sketch a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uccurve.checks import METRICS, Axes
from uccurve.compare.assess import GAINS
from uccurve.curve import Range, Unit

from .console import Cell, show_table, show_text
from .loading import Part, Request
from .scans import Engine, frame
from .summary import GAIN_FIELDS, GAIN_HEADS, cost_title, partial_note

if TYPE_CHECKING:
    from uccurve.sketch.curve import SketchUCC

Bracket = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Choices:
    """What is asked of each curve, as in `uccurve.assess`."""

    axes: Axes
    c: float
    miss_rate: Range
    unit: Unit


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
        for name, (y_pred, lower, upper) in part.models.items():
            columns: Any = {"y_true": part.y, "y_pred": y_pred, "lower": lower, "upper": upper}
            sketches: Any = UCCSketch.from_frame(rows, **columns, **options)
            if request.by is None:
                found[name] = {"": sketches.ucc()}
            else:
                whole = sum(sketches.values(), UCCSketch())
                found[name] = {"": whole.ucc(), **{name: sketches[key].ucc() for name, key in _ordered(sketches)}}
    return found


def _ordered(groups: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    """Labels of the groups as text, in order, with their keys."""
    return sorted((str(key[0] if isinstance(key, tuple) else key), key) for key in groups)


def answers(curve: SketchUCC, choices: Choices) -> dict[str, Any]:
    """Rows, metrics as delivered, and every other answer as a bracket that holds the exact one."""
    at = curve.at(1.0, unit=choices.unit)
    best = curve.cheapest(choices.c, axes=choices.axes, unit=choices.unit)
    brackets = {name: curve.bracket("gain", axes=axes) for name, axes in GAINS}
    brackets["partial_gain"] = curve.bracket("gain", axes=choices.axes, miss_rate=choices.miss_rate)
    brackets["cost"] = curve.bracket("cost", choices.c, axes=choices.axes, unit=choices.unit)
    brackets["cheapest_cost"] = curve.bracket("cheapest", choices.c, axes=choices.axes, unit=choices.unit)
    metrics: dict[str, Any] = {name: getattr(at, name) for name in METRICS}
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
    return f"{middle:+.2f}", f"[{low:.2f}, {high:.2f}]"


def _middle(pair: Bracket) -> float:
    return (pair[0] + pair[1]) / 2
