"""Drawing helpers of the experiments: curves and fits, without the global state of pyplot."""

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from uccurve import UCC
from uccurve._vocabulary import Unit
from uccurve.plots._drawing import GREY, PALETTE, REFERENCE, mark_in_view, tidy
from uccurve.plots.display import UCCDisplay

from .bands import BM, Axes
from .experiment import Floats, Models
from .store import write_whole

Figures = dict[str, Figure]  # figures by file name
CONSTANT: dict[str, Any] = {"color": GREY, "linestyle": "--", "gid": REFERENCE, "label": "Constant"}


def canvas(
    columns: int, rows: int = 1, *, size: Any = (4.6, 3.6), **options: Any
) -> tuple[Figure, list[Any]]:
    """Return a figure and its axes, each of a size in inches, row by row."""
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def draw_curves(
    ax: Any, models: Models, axes: Axes = BM, *, scales: Any = None, unit: Unit = "raw"
) -> None:
    """Draw curves of several models, the gains in the legend, with hollow circles at the scales given by model."""
    for name, iv in models.items():
        options: Any = {
            "ax": ax,
            "reference": False,
            "delivered": False,
            **(CONSTANT if name == "Constant" else {}),
        }
        display = UCCDisplay.from_ucc(UCC(iv), name=name, axes=axes, unit=unit, **options)
        if scales:
            point = display.ucc.at(scales[name], unit=unit)
            ring: Any = {
                "marker": "o",
                "markersize": 7,
                "color": display.line_.get_color(),
                "markerfacecolor": "white",
            }
            mark_in_view(ax, getattr(point, axes[0]), getattr(point, axes[1]), **ring)


def draw_fit(
    ax: Any, x: Floats, truth: Floats, fits: Models, *, points: Any = None, title: str = ""
) -> None:
    """Draw intervals over ascending x, each with its prediction as a line, the truth, and training points."""
    if points is not None:
        ax.plot(*points, ".", color=GREY, markersize=4, label="training points")
    palette = iter(PALETTE)
    for label, iv in fits.items():
        color = GREY if "onstant" in label else next(palette)
        ax.fill_between(x, iv.lower, iv.upper, color=color, alpha=0.3, linewidth=0, label=label)
        ax.plot(x, iv.y_pred, color=color, linewidth=1)
    ax.plot(x, truth, "--", color="black", linewidth=1.2, label="truth")
    low, high = ax.get_ylim()
    ax.set(xlabel="x", ylabel="y", xlim=(x[0], x[-1]), ylim=(low, high + 0.25 * (high - low)))
    ax.set_title(title, fontsize="medium")
    tidy(ax)
    ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)


def save(figure: Figure, path: Path) -> None:
    """Write the figure, whole or not at all and the same for the same data."""
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": path.name, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    write_whole(path.with_suffix(".svg"), buffer.getvalue())
