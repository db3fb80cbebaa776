"""Drawing helpers of the experiments: curves, bands and files, without the global state of pyplot."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .experiment import Floats
from .store import write_whole
from .summary import BM, Axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure

LABELS = {"miss_rate": "miss rate", "overshoot": "excess (error's side)"}
MOST_POINTS = 600


def canvas(columns: int, *, width: float = 4.2, height: float = 3.4, rows: int = 1) -> tuple["Figure", Sequence[Any]]:
    """Return a figure and its axes, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def vertices(curve: UCC, axes: Axes, unit: float) -> tuple[Floats, Floats]:
    """Return the curve's vertices, thinned evenly along its length where there are more than a plot can show."""
    points = curve.points(axes=axes, unit=unit)
    if len(points.x) <= MOST_POINTS:
        return points.x, points.y
    steps = [np.diff(values, prepend=values[0]) / np.ptp(values) for values in (points.x, points.y)]
    along = np.cumsum(np.hypot(*steps))
    keep = np.unique(np.searchsorted(along, np.linspace(0, along[-1], MOST_POINTS)).clip(max=len(along) - 1))
    return points.x[keep], points.y[keep]


def draw_curve(ax: "PlotAxes", iv: Intervals, *, axes: Axes = BM, unit: float = 1.0, **line: Any) -> UCC:
    """Draw one curve; a miss rate keeps its value between vertices, so it is drawn as steps."""
    curve = UCC(iv)
    x, y = vertices(curve, axes, unit)
    drawstyle = "steps-post" if axes[1] == "miss_rate" else "default"
    ax.plot(x, y, linewidth=1.6, drawstyle=drawstyle, **line)
    return curve


def draw_curves(
    ax: "PlotAxes", models: Mapping[str, Intervals], *, axes: Axes = BM, unit: float = 1.0, unit_name: str = "",
    scales: Mapping[str, float] | None = None, xmax: float | None = None,
) -> None:  # fmt: skip
    """Draw curves of several models, the areas in the legend, with hollow circles at the given scales."""
    palette = iter(PALETTE)
    for name, iv in models.items():
        color, style = (GREY, "--") if name == "Constant" else (next(palette), "-")
        area = UCC(iv).area(axes=axes, unit=unit)
        size = f"{area:,.0f}" if area >= 1000 else f"{area:.3g}"
        curve = draw_curve(ax, iv, axes=axes, unit=unit, color=color, linestyle=style, label=f"{name} (area {size})")
        if scales:
            point = curve.at(scales[name], unit=unit)
            place = getattr(point, axes[0]), getattr(point, axes[1])
            if xmax is None or place[0] <= xmax:  # a circle on the axis itself is drawn whole
                ax.plot(*place, "o", mfc="white", mec=color, markersize=7, zorder=4, clip_on=False)
    suffix = f", {unit_name}" if unit_name else ""
    ax.set_xlabel(LABELS.get(axes[0], axes[0]) + suffix)
    ax.set_ylabel(LABELS.get(axes[1], axes[1]) + ("" if axes[1] == "miss_rate" else suffix))
    ax.set(xlim=(0, xmax), ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)


def draw_band(ax: "PlotAxes", x: Floats, iv: Intervals, *, color: str, label: str, line: bool = True) -> None:
    """Draw an interval over ascending x, and its prediction as a line."""
    ax.fill_between(x, iv.lower, iv.upper, color=color, alpha=0.4 if line else 0.25, linewidth=0, label=label)
    if line:
        ax.plot(x, iv.y_pred, color=color, linewidth=1.4, label="prediction")


def save(figure: "Figure", path: Path) -> None:
    """Write the figure as SVG and PNG, each whole or not at all and the same for the same data."""
    import matplotlib as mpl

    kinds: dict[str, dict[str, Any]] = {"svg": {"metadata": {"Date": None}}, "png": {"dpi": 130}}
    for kind, options in kinds.items():
        buffer = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
            figure.savefig(buffer, format=kind, **options)
        write_whole(path.with_suffix(f".{kind}"), buffer.getvalue())
