"""Panels: the parts of an assessment's picture, each on axes of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve.compare._case import change, is_reachable
from uccurve.compare._columns import filled
from uccurve.compare._formats import coverage, number, share, short

from . import charts
from ._drawing import GREY, PALETTE, beside, tidy
from ._waterfall import Step, axis_end, waterfall

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

    from uccurve.compare.results import Assessment, ModelRow

NAME = 22
"""Characters of a model's name in a picture."""
LISTED = 12
"""Models that a panel has room for."""
MULTIPLES = 6
"""Models that get axes of their own."""
LINES = 24
"""Segments that a panel has room for."""
GOOD, BAD, TOTAL = PALETTE[2], PALETTE[1], "#9AA5B1"
PLANES = (("bandwidth", "miss_rate"), ("bandwidth", "deficit"), ("excess", "deficit"))


def half_widths(found: Assessment, ax: PlotAxes) -> None:
    """Half-width at the target with its interval, best model first, and what brings each model there."""
    rows, target = found.ranking[:LISTED], coverage(found.settings.shown_coverage)
    for y, row in enumerate(rows):
        span = (row.half_width, row.half_width_low, row.half_width_high)
        text = f"bands {change(row)}" if is_reachable(row) else f"nothing reaches {target}"
        _estimate(ax, y, span, PALETTE[0] if row.name == found.verdict.model else GREY, text)
    ax.set_xlim(left=0)
    ax.set_xlabel(filled(f"half-width at {target}, {{unit}}", found.settings))
    _titled(ax, f"Half-width at {target} coverage", rows, found)


def calibration(found: Assessment, ax: PlotAxes) -> None:
    """Coverage as delivered with its interval, beside the coverage asked for."""
    rows, asked = found.ranking[:LISTED], found.settings.coverage
    for y, row in enumerate(rows):
        span = [100 * end for end in (row.coverage, row.coverage_low, row.coverage_high)]
        color = GREY if row.promise is None else GOOD if row.promise == "kept" else BAD
        _estimate(ax, y, span, color, f"{share(row.coverage)}{f', {row.promise}' if row.promise else ''}")
    if asked is not None:
        ax.axvline(100 * asked, color="black", linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    ax.set_xlabel("coverage as delivered, %")
    promised = "" if asked is None else f" (dashed: {coverage(asked)} promised)"
    _titled(ax, f"Calibration{promised}", rows, found)


def levels(found: Assessment, ax: PlotAxes) -> None:
    """Coverage as delivered at each level; as `calibration` where no model has several."""
    rows, asked = found.ranking[:LISTED], found.settings.coverage
    if not any(row.levels for row in rows):
        calibration(found, ax)
        return
    shown = [row for row in rows if row.levels or asked is not None]
    names = _labels([row.name for row in shown])
    charts.calibration({name: _reliability(row, asked) for name, row in zip(names, shown, strict=True)}, ax=ax)
    ax.set_title(f"Calibration{best_of(rows, found)}", loc="left", fontsize="medium")


def _reliability(row: ModelRow, asked: float | None) -> charts.Reliability:
    """Levels of a model, or the coverage that was asked of its one interval, and what they cover."""
    promised = [level.level for level in row.levels] or [asked or 0.0]
    observed, low, high = (
        [getattr(one, name) for one in row.levels or (row,)] for name in ("coverage", "coverage_low", "coverage_high")
    )
    return promised, observed, low, high


def pit(found: Assessment, figure: Figure) -> None:
    """PIT histogram of each model of several levels, with the simultaneous band."""
    rows = [row for row in found.ranking if row.pit is not None][:MULTIPLES]
    if not rows:
        raise ValueError("there is no PIT to draw: no model has several levels. Hint: see UCC.from_levels.")
    grid: Any = figure.subplots(-(-len(rows) // 3), min(len(rows), 3), sharex=True, sharey=True, squeeze=False)
    for ax, row in zip(grid.ravel(), rows, strict=False):
        if row.pit is not None:
            charts.pit(
                row.pit.edges, row.pit.density, band=(row.pit.low, row.pit.high), name=short(row.name, NAME), ax=ax
            )
        ax.label_outer()
    for ax in grid.ravel()[len(rows) :]:
        ax.set_visible(False)


def decomposition(found: Assessment, ax: PlotAxes, *, most: int = 5) -> None:
    """Waterfall of each model: one interval for all rows, what is saved and lost, and the score as delivered."""
    rows, target = found.ranking[:most], coverage(found.settings.shown_coverage)
    right = axis_end(row.decomposition for row in rows)
    for place, row in enumerate(rows):
        for lane, step in enumerate(waterfall(row.decomposition)):
            _bar(ax, step, place + (lane - 2) * 0.18, right)
    ax.set_xlim(0, 1.02 * right)
    ax.set_xlabel(filled(f"interval score at {target}, {{unit}} (lower is better)", found.settings))
    _titled(ax, f"Where the score at {target} comes from", rows, found)


def gains(found: Assessment, ax: PlotAxes) -> None:
    """Gains over the constant band on three pairs of axes, with their intervals."""
    rows = found.ranking[:LISTED]
    title = f"gain over the constant band{best_of(rows, found)}"
    charts.gains(dict(zip(_labels([row.name for row in rows]), map(_gains, rows), strict=True)), title=title, ax=ax)


def segments(found: Assessment, ax: PlotAxes) -> None:
    """Coverage as delivered by segment and model; frames mark what fails."""
    if not found.segments:
        raise ValueError("there are no segments to draw. Hint: assess(..., by=...).")
    names, titles = [row.name for row in found.ranking[:LISTED]], _worst_titles(found)
    models, lines = (dict(zip(some, _labels(some), strict=True)) for some in (names, titles))
    shown = [one for one in found.segments if one.model in models and one.title in lines]
    asked = found.settings.coverage
    values: dict[str, dict[str, float]] = {label: {} for label in models.values()}
    for one in shown:
        beside_it = found[one.model].coverage if asked is None else 0.0
        values[models[one.model]][lines[one.title]] = one.coverage - beside_it
    marked = [(models[one.model], lines[one.title]) for one in shown if one.fails]
    total = len({one.title for one in found.segments})
    rest = f", the worst {LINES} of {total}" if total > LINES else ""
    label = "coverage minus that of all rows" if asked is None else "coverage as delivered"
    heading = f"Coverage by segment{rest}; frames mark what fails"
    charts.segments(values, marked=marked, centre=asked or 0.0, label=label, title=heading, ax=ax)


def _worst_titles(found: Assessment) -> list[str]:
    """Titles of segments in their order; where there are too many, those that the model to ship covers least."""
    own = [one for one in found.segments if one.model == found.verdict.model]
    worst = {one.title for one in sorted(own, key=lambda one: one.coverage)[:LINES]}
    return [one.title for one in own if one.title in worst]


def _labels(names: Sequence[str]) -> list[str]:
    """Short names, numbered where several look the same."""
    labels = [short(name, NAME) for name in names]
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[: i + 1].count(label)})"
        for i, label in enumerate(labels)
    ]


def _gains(row: ModelRow) -> dict[str, charts.Span]:
    spans = {
        f"{y} vs. {x}".replace("_", " "): tuple(getattr(row, f"gain_{x}_{y}{end}") for end in ("", "_low", "_high"))
        for x, y in PLANES
    }
    return {label: span for label, span in spans.items() if np.isfinite(span).all()}


def _estimate(ax: PlotAxes, y: int, span: Sequence[float], color: str, text: str) -> None:
    """One estimate with its interval, and words to the right of the axes."""
    value, low, high = span
    if isfinite(value):
        ax.plot([low, high], [y, y], color=color, linewidth=2.2, solid_capstyle="butt", zorder=2)
        ax.plot([value], [y], marker="o", color=color, markersize=6, zorder=3)
    beside(ax, y, text)


def _bar(ax: PlotAxes, step: Step, y: float, right: float) -> None:
    """One step of a waterfall with its name and size, on the side that has room."""
    color = {"total": TOTAL, "saves": GOOD, "costs": BAD}[step.kind]
    low, high = sorted((min(step.start, right), min(step.end, right)))
    ax.barh(y, high - low, left=low, height=0.16, color=color, zorder=2)
    inside = step.kind == "total" or high - low > 0.45 * right
    before = not inside and low > right - high
    place: Any = {"xytext": (-4 if before else 4, 0), "ha": "right" if before else "left", "va": "center"}
    text = f"{step.name} {number(step.size)}"
    ax.annotate(
        text, (low if inside or before else high, y), textcoords="offset points", fontsize=7.5, zorder=3, **place
    )


def _titled(ax: PlotAxes, title: str, rows: Sequence[ModelRow], found: Assessment) -> None:
    """Name the models and the panel."""
    tidy(ax, lines=_labels([row.name for row in rows]))
    ax.set_title(f"{title}{best_of(rows, found)}", loc="left", fontsize="medium")


def best_of(rows: Sequence[ModelRow], found: Assessment) -> str:
    """How many of the models are shown; nothing where all are."""
    return f", best {len(rows)} of {len(found)}" if len(rows) < len(found) else ""
