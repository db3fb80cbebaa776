"""Panels: the parts of an assessment's picture, each on axes of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve.compare._case import change, is_reachable
from uccurve.compare._columns import filled
from uccurve.compare._formats import coverage, number, share, short

from ._drawing import GREY, PALETTE, tidy
from ._waterfall import Step, axis_end, waterfall
from .charts import gains as forest
from .charts import segments as heat_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes

    from uccurve.compare.results import Assessment, ModelRow

NAME = 22
"""Characters of a model's name in a picture."""
GOOD, BAD, TOTAL = PALETTE[2], PALETTE[1], "#9AA5B1"
PLANES = (("bandwidth", "miss_rate"), ("bandwidth", "deficit"), ("excess", "deficit"))


def half_widths(found: Assessment, ax: PlotAxes, *, most: int = 12) -> None:
    """Half-width at the target with its interval, best model first, and what brings each model there."""
    rows, target = found.ranking[:most], coverage(found.settings.shown_coverage)
    spans = [(row.half_width, row.half_width_low, row.half_width_high) for row in rows]
    _dots(ax, spans, [PALETTE[0] if row.name == found.verdict.model else GREY for row in rows])
    for y, row in enumerate(rows):
        text = f"bands {change(row)}" if is_reachable(row) else f"nothing reaches {target}"
        _beside(ax, spans[y], y, text)
    _named(ax, rows)
    ax.set_xlim(0, 1.45 * max((end for span in spans for end in span if isfinite(end)), default=1.0))
    ax.set_xlabel(filled(f"half-width at {target}, {{unit}}", found.settings))
    _titled(ax, f"Half-width at {target} coverage", rows, found)


def calibration(found: Assessment, ax: PlotAxes, *, most: int = 12) -> None:
    """Coverage as delivered with its interval, beside the coverage asked for."""
    rows, asked = found.ranking[:most], found.settings.coverage
    colors = [GREY if row.promise is None else GOOD if row.promise == "kept" else BAD for row in rows]
    spans = [tuple(100 * end for end in (row.coverage, row.coverage_low, row.coverage_high)) for row in rows]
    _dots(ax, spans, colors)
    for y, row in enumerate(rows):
        _beside(ax, spans[y], y, f"{share(row.coverage)}{f', {row.promise}' if row.promise else ''}")
    if asked is not None:
        ax.axvline(100 * asked, color="black", linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    _named(ax, rows)
    _share_axis(ax, [*(end for span in spans for end in span), 100 * found.settings.shown_coverage])
    ax.set_xlabel("coverage as delivered, %")
    promised = "" if asked is None else f" (dashed: the promised {coverage(asked)})"
    _titled(ax, f"Calibration{promised}", rows, found)


def decomposition(found: Assessment, ax: PlotAxes, *, most: int = 5, size: float = 8.0) -> None:
    """Waterfall of each model: one interval for all rows, what is saved and lost, and the score as delivered."""
    rows, target = found.ranking[:most], coverage(found.settings.shown_coverage)
    steps = [waterfall(row.decomposition) for row in rows]
    right = axis_end(row.decomposition for row in rows)
    for place, own in enumerate(steps):
        for lane, step in enumerate(own):
            _bar(ax, step, place + (lane - 2) * 0.16, right, size)
    _named(ax, rows)
    ax.set_xlim(0, 1.02 * right)
    ax.set_xlabel(filled(f"interval score at {target}, {{unit}} (lower is better)", found.settings))
    _titled(ax, f"Where the score at {target} comes from", rows, found)


def gains(found: Assessment, ax: PlotAxes, *, most: int = 12) -> None:
    """Gains over the constant band on three pairs of axes, with their intervals."""
    forest({short(row.name, NAME): _spans(row) for row in found.ranking[:most]}, ax=ax)


def segments(found: Assessment, ax: PlotAxes, *, most: int = 12, lines: int = 24) -> None:
    """Coverage as delivered by segment and model; frames mark what fails."""
    if not found.segments:
        raise ValueError("there are no segments to draw. Hint: assess(..., by=...).")
    names = [row.name for row in found.ranking[:most]]
    shown = _worst_titles(found, lines)
    values: dict[str, dict[str, float]] = {_label(name, names): {} for name in names}
    kept = [one for one in found.segments if one.model in names and one.title in shown]
    asked = found.settings.coverage
    for one in sorted(kept, key=lambda one: shown.index(one.title)):
        beside = found[one.model].coverage if asked is None else 0.0
        values[_label(one.model, names)][short(one.title, NAME)] = one.coverage - beside
    marked = [(_label(one.model, names), short(one.title, NAME)) for one in kept if one.fails]
    total = len({one.title for one in found.segments})
    rest = f", the worst {lines} of {total}" if total > lines else ""
    title = f"Coverage by segment{rest}; frames mark what fails"
    label = "coverage minus that of all rows" if asked is None else "coverage as delivered"
    heat_map(values, marked=marked, centre=asked or 0.0, label=label, title=title, ax=ax)


def _worst_titles(found: Assessment, lines: int) -> list[str]:
    """Titles of segments in their order; where there are too many, those that the model to ship covers least."""
    own = [one for one in found.segments if one.model == found.verdict.model]
    worst = {one.title for one in sorted(own, key=lambda one: one.coverage)[:lines]}
    return [one.title for one in own if one.title in worst]


def _label(name: str, names: Sequence[str]) -> str:
    """Short name of a model; numbered where another one looks the same."""
    label = short(name, NAME)
    alike = [one for one in names if short(one, NAME) == label]
    return label if len(alike) == 1 else f"{label} ({1 + alike.index(name)})"


def _spans(row: ModelRow) -> dict[str, tuple[float, float, float]]:
    spans = {
        f"{y} vs. {x}".replace("_", " "): tuple(getattr(row, f"gain_{x}_{y}{end}") for end in ("", "_low", "_high"))
        for x, y in PLANES
    }
    return {label: span for label, span in spans.items() if np.isfinite(span).all()}


def _dots(ax: PlotAxes, spans: Sequence[Sequence[float]], colors: Sequence[str]) -> None:
    """Estimates with their intervals, one per line from the top."""
    for y, ((value, low, high), color) in enumerate(zip(spans, colors, strict=True)):
        if isfinite(value):
            ax.plot([low, high], [y, y], color=color, linewidth=2.2, solid_capstyle="butt", zorder=2)
            ax.plot([value], [y], marker="o", color=color, markersize=6, zorder=3)


def _share_axis(ax: PlotAxes, values: Sequence[float]) -> None:
    """Room for the values and for words to their right, and no ticks above 100%."""
    finite = [value for value in values if isfinite(value)]
    low, high = min(finite), max(finite)
    room = (high - low) or 1.0
    ax.set_xlim(low - 0.08 * room, high + 0.4 * room)
    ax.set_xticks([tick for tick in ax.get_xticks() if low - 0.08 * room <= tick <= 100])


def _beside(ax: PlotAxes, span: Sequence[float], y: int, text: str) -> None:
    """Words to the right of an interval."""
    end = max((part for part in span if isfinite(part)), default=0.0)
    look: Any = {"textcoords": "offset points", "fontsize": "x-small", "color": "#333333", "va": "center"}
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.6}
    ax.annotate(text, (end, y), xytext=(7, 0), bbox=box, **look)


def _bar(ax: PlotAxes, step: Step, y: float, right: float, size: float) -> None:
    """One step of a waterfall with its name and size, on the side that has room."""
    color = {"total": TOTAL, "saves": GOOD, "costs": BAD}[step.kind]
    low, high = sorted((min(step.start, right), min(step.end, right)))
    ax.barh(y, high - low, left=low, height=0.14, color=color, zorder=2)
    text = f"{step.name} {number(step.size)}"
    look: Any = {"va": "center", "fontsize": size, "zorder": 3}
    if step.kind == "total" or high - low > 0.45 * right:
        ax.annotate(text, (low, y), xytext=(4, 0), textcoords="offset points", color="black", **look)
    elif low > right - high:
        ax.annotate(text, (low, y), xytext=(-4, 0), textcoords="offset points", ha="right", color="#333333", **look)
    else:
        ax.annotate(text, (high, y), xytext=(4, 0), textcoords="offset points", color="#333333", **look)


def _named(ax: PlotAxes, rows: Sequence[ModelRow]) -> None:
    ax.set_yticks(range(len(rows)), [short(row.name, NAME) for row in rows], fontsize="small")
    ax.set_ylim(len(rows) - 0.5, -0.5)
    tidy(ax)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)


def _titled(ax: PlotAxes, title: str, rows: Sequence[ModelRow], found: Assessment) -> None:
    few = f", the best {len(rows)} of {len(found)} models" if len(rows) < len(found) else ""
    ax.set_title(f"{title}{few}", loc="left", fontsize="medium")
