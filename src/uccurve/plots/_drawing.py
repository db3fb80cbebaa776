"""Drawing: what all plots share, that is axes, colours, lines, marks and labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uccurve._vocabulary import FALLING, Array, Axes, Metric, Side
from uccurve.points import CurvePoints
from uccurve.view import LIGHT, MODELS
from uccurve.words.formats import undirected, width_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Point = tuple[float, float] | None
PALETTE = MODELS
# Line styles once the colours are used up.
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
DASHED = (0, (4, 2))  # line style of what curves and estimates are compared with
GREY = LIGHT["muted"]
INK = LIGHT["ink"]
# How the group ids begin of curves, constant bands, marks of all models and what is said of one, as a legend orders
# them; by them the next curve on the same axes finds its colour.
CURVE, REFERENCE, SHARED, OTHER = "uccurve-1", "uccurve-2", "uccurve-3", "uccurve-4"
# What `style="uccurve"` sets: a size that suits a column and a slide; for vector files see `text_figure`.
STYLE: dict[str, Any] = {"font.size": 9.5}
VECTOR: Any = {"svg.fonttype": "none", "pdf.fonttype": 42}
MARGIN = 0.775  # share of a subplot's width that is left for its axes before any layout
CHARACTER = 0.58  # width of a character in a proportional font, as a share of its size
BOLD = 1.15  # how much wider bold characters are
Style = Literal["uccurve"] | None
NEAR = 1.5  # how far beyond the curve, as a multiple, a point may lie and still widen the view


def new_figure(size: tuple[float, float], style: Style = "uccurve") -> Figure:
    """A new figure that pyplot knows; in our style, its text stays text in vector files."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plots need matplotlib: pip install "uccurve[plot]"') from None
    options: Any = {"figsize": size, "layout": "constrained"}
    if style:
        options["FigureClass"] = text_figure()
    return plt.figure(**options)


@cache
def text_figure() -> type[Figure]:
    """Return the class of figures whose text stays text in vector files, whatever the rcParams say when it is saved."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    class TextFigure(Figure):
        """A figure whose text can be searched, copied and set in another font."""

        def savefig(self, *args: Any, **kwargs: Any) -> None:
            """Save the figure; as `matplotlib.figure.Figure.savefig`."""
            with rc_context(VECTOR):
                super().savefig(*args, **kwargs)

    TextFigure.__qualname__ = TextFigure.__name__
    return TextFigure


def __getattr__(name: str) -> Any:
    """Return the class of our figures, by which pickles find it; matplotlib is loaded only then."""
    if name == "TextFigure":
        return text_figure()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def root_figure(ax: PlotAxes) -> Figure:
    """Return the figure of axes that may stand in a part of it."""
    figure: Any = ax.figure
    parent: Figure = getattr(figure, "figure", None) or figure
    return parent


@contextmanager
def styled(style: Style) -> Iterator[None]:
    """Draw with our sizes, or with the user's rcParams as they are where `style` is None."""
    from matplotlib import rc_context

    if style not in ("uccurve", None):
        raise ValueError(f"`style` must be 'uccurve' or None; got {style!r}.")
    settings: Any = STYLE if style else {}
    with rc_context(settings):
        yield


def room(ax: PlotAxes) -> float:
    """Inches across that axes have together with their labels."""
    return float(ax.get_window_extent().width / root_figure(ax).dpi / MARGIN)


def characters(inches: float, size: str = "small", *, bold: bool = False) -> int:
    """How many characters of a font size fit into a width."""
    wider = BOLD if bold else 1.0
    return max(int(inches / inches_of(1, size) / wider), 4)


def inches_of(count: float, size: str = "small") -> float:
    """Width of so many characters."""
    from matplotlib.font_manager import FontProperties

    return count * CHARACTER * FontProperties(size=size).get_size_in_points() / 72


def in_lines(text: str, width: int) -> str:
    r"""Return a text in lines of a width, long names broken after an underscore rather than anywhere.

    >>> in_lines("ship boosting_model_01 for 90% coverage", 14)
    'ship boosting_\nmodel_01 for\n90% coverage'
    """
    words = [part for word in undirected(text).split() for part in _parts(word, width)]
    lines = [""]
    for word, glued in words:
        space = "" if glued or not lines[-1] else " "
        if lines[-1] and len(lines[-1]) + len(space) + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += space + word
    return "\n".join(lines)


def _parts(word: str, width: int) -> list[tuple[str, bool]]:
    """Return a word in parts no longer than a width, and whether each belongs to the one before."""
    if len(word) <= width // 2:
        return [(word, False)]
    pieces = re.findall(r"[^_/]*[_/]|[^_/]+", word)
    short = [piece[i : i + width] for piece in pieces for i in range(0, len(piece), width)]
    return [(piece, place > 0) for place, piece in enumerate(short)]


def head(ax: PlotAxes, text: str, inches: float) -> None:
    """Title of axes, wrapped to a width."""
    wrapped = in_lines(text, characters(inches, "medium"))
    ax.set_title(wrapped, loc="left", fontsize="medium", parse_math=False)


def cut_axis(ax: PlotAxes) -> None:
    """Mark that the x axis does not start at 0."""
    for x in (0.012, 0.024):
        ax.plot(
            [x - 0.006, x + 0.006],
            [-0.022, 0.022],
            transform=ax.transAxes,
            color=INK,
            linewidth=0.8,
            clip_on=False,
            gid="cut",
        )


def new_axes(ax: PlotAxes | None, *, size: tuple[float, float] = (6.4, 4.2)) -> PlotAxes:
    """`ax`, or the axes of a new figure."""
    return new_figure(size).add_subplot() if ax is None else ax


def style(index: int) -> dict[str, Any]:
    """Colour, and after the last colour also dashes, of the line number `index`.

    >>> style(1), style(8)
    ({'color': '#CC8314', 'linestyle': '-'}, {'color': '#CC8314', 'linestyle': (0, (6, 1.5))})
    """
    lap, place = divmod(index, len(PALETTE))
    return {"color": PALETTE[place], "linestyle": DASHES[lap % len(DASHES)]}


def curve(
    ax: PlotAxes, points: CurvePoints, near: Point = None, *, exact: bool = True, **options: Any
) -> Line2D:
    """Add a curve in the next style; the view holds what is worth looking at, as in `view`."""
    from matplotlib.lines import Line2D

    index = sum(line.get_gid() == CURVE for line in ax.get_lines())
    props = {
        **style(index),
        "gid": CURVE,
        "linewidth": 1.8,
        "solid_joinstyle": "round",
        "snap": False,
    }
    line = Line2D(
        points.x, points.y, **{**props, "drawstyle": joined(points.axes, exact=exact), **options}
    )
    ax.add_artist(line)  # so that vertices far away leave the view alone
    ax.update_datalim([(0, 0), view(points, near)])
    ax.autoscale_view()
    return line


def simplified(ax: PlotAxes, points: CurvePoints, *, exact: bool = True) -> tuple[Array, Array]:
    """The few vertices that draw a curve of many on `ax` as it is, to a ninth of a pixel."""
    from matplotlib.lines import Line2D

    line = Line2D(points.x, points.y, drawstyle=joined(points.axes, exact=exact))
    path = line.get_path().cleaned(ax.transData, simplify=True)
    few, up = (
        ax.transData.inverted().transform(np.asarray(path.vertices)[:-1]).T
    )  # the last says that the path ends
    return few, up


def mark(ax: PlotAxes, x: Any, y: Any, **props: Any) -> Line2D:
    """Add markers that leave the view as it is and are seen whole where they lie on an axis."""
    from matplotlib.transforms import Bbox, TransformedBbox

    (line,) = ax.plot(
        x, y, **{"linestyle": "none", "zorder": 3, "scalex": False, "scaley": False, **props}
    )
    line.set_clip_path(None)
    line.set_clip_box(TransformedBbox(Bbox.from_extents(-0.05, -0.05, 1.05, 1.05), ax.transAxes))
    return line


def mark_in_view(ax: PlotAxes, x: float, y: float, **props: Any) -> None:
    """Add a marker; where it lies to the right of the view, an arrow at the edge stands for it."""
    line = mark(ax, [x], [y], **props)
    marker = line.get_marker()

    def refresh(axes: PlotAxes) -> None:
        right = axes.get_xlim()[1]
        line.set_data([min(x, right)], [y])
        line.set_marker(">" if x > right else marker)

    ax.callbacks.connect("xlim_changed", refresh)
    refresh(ax)


def joined(axes: Axes, *, exact: bool = True) -> Literal["default", "steps-post", "steps-pre"]:
    """How matplotlib joins vertices: a miss rate keeps its value until it steps, other metrics are straight lines.

    The points of a sketch, which are not `exact` vertices, are joined by straight lines.
    """
    if not exact or axes[0] == axes[1] or "miss_rate" not in axes:
        return "default"
    return "steps-post" if axes[1] == "miss_rate" else "steps-pre"


def view(points: CurvePoints, near: Point = None) -> tuple[float, float]:
    """The corner of the part worth looking at, with another point if it is near.

    A few huge critical scales, or a point far beyond the curve, must not squeeze all the rest to the left.
    """
    values = (points.x, points.y)
    corner = [float(value.max()) for value in values]
    falls = [name in FALLING for name in points.axes]
    if falls[0] != falls[1]:
        rising, falling = values[falls[0]], values[falls[1]]
        settled = float(rising[np.argmax(falling <= 0.05 * falling[0])])
        if 0 < 2.5 * settled < rising[-1]:
            corner[falls[0]] = 1.6 * settled
    pairs = zip(corner, near or corner, strict=True)
    across, up = (max(end, place) if place <= NEAR * end else end for end, place in pairs)
    return across, up


def label_axes(ax: PlotAxes, axes: Axes, unit: str | float, side: Side = "both") -> None:
    """Name the axes, start them at 0, and take away what carries no information."""
    ax.set(xlabel=title(axes[0], unit, side), ylabel=title(axes[1], unit, side))
    ax.set_xlim(left=0, auto=None)
    ax.set_ylim(bottom=0, auto=None)
    tidy(ax)


def legend(ax: PlotAxes) -> None:
    """Legend: the models first, then what they are compared with, marks of all of them, and what is said of one."""
    entries = zip(*ax.get_legend_handles_labels(), strict=True)
    ordered = sorted(entries, key=lambda entry: (entry[0].get_gid() or OTHER)[: len(OTHER)])
    handles, labels = zip(*ordered, strict=True)
    beside: Any = {
        "loc": "upper left",
        "bbox_to_anchor": (1, 1),
        "fontsize": "x-small",
    }  # many names need room
    place = beside if len(ordered) > 8 else {"loc": "upper right"}
    plain(ax.legend(handles, labels, frameon=False, **place))


def plain(legend: Any) -> None:
    """Show names as they are: a dollar sign is no formula."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def title(name: Metric, unit: str | float, side: Side = "both") -> str:
    """Metric as an axis names it.

    >>> title("deficit", "std"), title("miss_rate", "std"), title("bandwidth", "raw", "upper")
    ('deficit, in standard deviations of y', 'miss rate', 'margin (bandwidth)')
    """
    if name == "miss_rate":
        return "miss rate"
    if unit == "raw":
        return f"{width_name(side)} (bandwidth)" if name == "bandwidth" else name
    return f"{name}, in {'standard deviations of y' if unit == 'std' else f'units of {unit:.4g}'}"


def tidy(ax: PlotAxes) -> None:
    """Light grid, no box."""
    ax.grid(True, color=LIGHT["line"], linewidth=0.6, zorder=0)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
