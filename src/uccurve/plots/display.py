"""Display: the curve drawn with matplotlib, in the manner of scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._vocabulary import HEADLINE, Axes, Unit, Vary
from uccurve.curve import UCC
from uccurve.intervals import Intervals
from uccurve.points import Curve, OperatingPoint
from uccurve.resampling.bootstrap import ConfidenceBand
from uccurve.view import constant_curve, delivered_at, knob
from uccurve.words.formats import percent

from . import _drawing as draw
from ._drawing import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes as PlotAxes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from uccurve.results import Assessment


class UCCDisplay:
    """A curve and what to draw of it; ``UCC.plot`` and `from_ucc` build it and draw.

    Parameters
    ----------
    ucc : Curve
        A `UCC` over any path, or the curve of a sketch.
    name : str, optional
        The model's name, for the legend.
    axes, unit
        As in `UCC.points`.

    Attributes
    ----------
    x, y : read-only arrays
        All vertices of the curve.
    line_ : matplotlib.lines.Line2D
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from uccurve import Intervals
    >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
    >>> display = UCCDisplay.from_ucc(UCC(iv), name="small")
    >>> display.line_.get_label()
    'small (gain -14.3%)'
    """

    line_: Line2D
    ax_: PlotAxes
    figure_: Figure

    def __init__(
        self, ucc: Curve, *, name: str | None = None, axes: Axes = HEADLINE, unit: Unit = "raw"
    ) -> None:
        self.ucc = ucc
        self.name = name
        self.axes = checks.axes(axes)
        self.unit = unit
        self._points = ucc.points(axes=self.axes, unit=unit)
        self.x = self._points.x
        self.y = self._points.y

    @classmethod
    def from_ucc(
        cls,
        ucc: Curve,
        *,
        name: str | None = None,
        axes: Axes = HEADLINE,
        unit: Unit = "raw",
        **options: Any,
    ) -> Self:
        """Draw a curve; `options` as in `plot`."""
        return cls(ucc, name=name, axes=axes, unit=unit).plot(**options)

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        vary: Vary = "scale",
        **options: Any,
    ) -> Self:
        """Draw the curve of arrays; `options` as in `from_ucc`.

        Examples
        --------
        >>> display = UCCDisplay.from_predictions(
        ...     [1, 2, 4], y_pred=[0, 0, 0], lower=[-1, -1, -4], upper=[1, 1, 4]
        ... )
        >>> display.y.round(3).tolist()
        [1.0, 0.333, 0.0]
        """
        intervals = Intervals.from_bounds(y_true, y_pred, lower, upper, weight=sample_weight)
        return cls.from_ucc(UCC(intervals, vary=vary), **options)

    @classmethod
    def from_assessment(
        cls,
        assessment: Assessment,
        model: str | None = None,
        *,
        axes: Axes | None = None,
        unit: Unit | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curve of one model of an assessment, by default of the one to ship; `options` as in `plot`.

        Examples
        --------
        >>> from uccurve import Intervals, assess
        >>> iv = Intervals.from_bands([1, 2, 4], y_pred=[0, 0, 0], lower_band=[1, 1, 4])
        >>> UCCDisplay.from_assessment(assess({"A": iv, "B": iv.constant()}), "A").name
        'A'
        """
        name = assessment.verdict.model if model is None else model
        assessment[name]  # a name that there is not is refused here
        settings = assessment.settings
        return cls.from_ucc(
            assessment.curves[name],
            name=name,
            axes=settings.axes if axes is None else axes,
            unit=settings.unit if unit is None else unit,
            **options,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curve of a fitted estimator, as `uccurve.adapters` reads it; `options` as in `from_ucc`.

        Examples
        --------
        >>> from sklearn.linear_model import BayesianRidge
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 3.0, 7.0]
        >>> UCCDisplay.from_estimator(BayesianRidge().fit(X, y), X, y).name
        'BayesianRidge'
        """
        from uccurve.adapters import from_estimator

        curve = UCC(from_estimator(estimator, X, y, weight=sample_weight))
        return cls.from_ucc(curve, **{"name": type(estimator).__name__, **options})

    def plot(
        self,
        ax: PlotAxes | None = None,
        *,
        delivered: bool = True,
        reference: bool = True,
        cost: float | None = None,
        shade: bool = False,
        band: ConfidenceBand | None = None,
        legend: bool = True,
        **line: Any,
    ) -> Self:
        """Draw the curve on `ax`, by default the current axes.

        Parameters
        ----------
        delivered : bool
            Mark the operating point as delivered (scale 1, or shift 0); at the edge where it lies beyond the view.
        reference : bool
            Draw the constant band's curve in grey.
        cost : float, optional
            Cost factor c: mark the cheapest point, with the line of all points that cost as much as it does.
        shade : bool
            Shade the area under the curve.
        band : ConfidenceBand, optional
            A confidence band of the curve on the same axes, from `confidence_band`.
        line
            Passed on to matplotlib's Line2D.
        """
        self.ax_ = ax = draw.new_axes(ax)
        self.figure_ = draw.root_figure(ax)
        if reference:
            self._draw_reference(ax)
        note = self._gain_in_words()
        label = f"{self.name} ({note})" if self.name and note else self.name or note
        exact = isinstance(self.ucc, UCC)
        props: Any = {"label": label, "zorder": 2.5, **line}
        self.line_ = draw.curve(
            ax, self._points, self._at_delivery() if delivered else None, exact=exact, **props
        )
        color = self.line_.get_color()
        if not exact:
            self._shade_brackets(ax, self.ucc, color)
        limits = ax.dataLim.frozen()
        if shade:
            area = f"area {self.ucc.area(axes=self.axes, unit=self.unit):.4g}"
            few = draw.simplified(ax, self._points, exact=exact)
            ax.fill_between(*few, color=color, alpha=0.15, linewidth=0, zorder=1.5, label=area)
        if band is not None:
            self._draw_band(ax, band, color)
        ax.dataLim.set(limits)  # what is filled leaves the view alone
        if cost is not None:
            self._draw_cost(ax, cost, color)
        if delivered:
            self._draw_delivered(ax, color)
        side = self.ucc.intervals.side if isinstance(self.ucc, UCC) else "both"
        draw.label_axes(ax, self.axes, self.unit, side)
        if legend:
            draw.legend(ax)
        return self

    def _shade_brackets(self, ax: PlotAxes, sketch: Any, color: Any) -> None:
        """Shade where the exact curve may run from each point to the next: every metric only rises or only falls."""
        from matplotlib.collections import PolyCollection

        places = self.ucc.table()[knob(self.ucc)].tolist()
        ends = np.array(
            [[sketch.bracket(name, at=t, unit=self.unit) for name in self.axes] for t in places]
        )
        low = np.minimum(ends[1:, :, 0], ends[:-1, :, 0])
        high = np.maximum(ends[1:, :, 1], ends[:-1, :, 1])
        right = np.column_stack([high[:, 0], low[:, 1]])
        left = np.column_stack([low[:, 0], high[:, 1]])
        props: dict[str, Any] = {"color": color, "alpha": 0.3, "linewidth": 0, "zorder": 2.4}
        boxes = list(np.stack([low, right, high, left], axis=1))
        ax.add_collection(
            PolyCollection(boxes, label="bracket of the exact curve", **props), autolim=False
        )

    def _gain_in_words(self) -> str:
        """The gain over the constant band; nothing where it is not defined."""
        curve = self.ucc
        if isinstance(curve, UCC) and not curve.path().has_area:
            return ""
        gain = curve.gain(axes=self.axes, unit=self.unit)
        return "" if np.isnan(gain) else f"gain {percent(gain)}"

    def _draw_reference(self, ax: PlotAxes) -> None:
        """Draw the constant band's curve, once for all models that share their predictions."""
        flat = constant_curve(self.ucc)
        if flat is None:
            return
        constant = flat.points(axes=self.axes, unit=self.unit)
        identity = f"{draw.REFERENCE}-{constant.x.max():.6g}-{constant.y.max():.6g}-{len(constant)}"
        others = [
            gid
            for line in ax.get_lines()
            if (gid := line.get_gid() or "").startswith(draw.REFERENCE)
        ]
        if identity in others:
            return
        label = f"constant band of {self.name}" if others else "constant band"
        props: dict[str, Any] = {
            "color": GREY,
            "linewidth": 1.2,
            "linestyle": draw.DASHED,
            "zorder": 2.2,
        }
        draw.curve(ax, constant, label=label, gid=identity, **props)

    def _draw_band(self, ax: PlotAxes, band: ConfidenceBand, color: Any) -> None:
        if band.axes != self.axes:
            raise ValueError(
                f"`band` must be on the axes {' and '.join(self.axes)}; got {' and '.join(band.axes)}."
            )
        step: Literal["post"] | None = "post" if self.axes[1] == "miss_rate" else None
        label = f"{100 * band.confidence_level:g}% {band.kind} band"
        ax.fill_between(
            band.x,
            band.low,
            band.high,
            color=color,
            alpha=0.18,
            lw=0,
            zorder=1.6,
            step=step,
            label=label,
        )

    def _draw_cost(self, ax: PlotAxes, cost: float, color: Any) -> None:
        best = self.ucc.cheapest(cost, axes=self.axes, unit=self.unit)
        x, y = self._place(best)
        whose = f"{self.name}: " if self.name else ""
        moved = knob(self.ucc)
        label = f"{whose}cheapest at c = {cost:g}: cost {best.cost:.4g}, {moved} {getattr(best, moved):.3g}"
        draw.mark(ax, x, y, marker="*", markersize=11, label=label, **_look(color))
        if 0 < cost < 1:
            ax.axline(
                (x, y),
                slope=-cost / (1 - cost),
                color=color,
                linewidth=0.9,
                linestyle=(0, (1, 2)),
                zorder=2.1,
            )

    def _draw_delivered(self, ax: PlotAxes, color: Any) -> None:
        if not any(line.get_label() == "as delivered" for line in ax.get_lines()):
            draw.mark(
                ax,
                [],
                [],
                marker="o",
                markersize=7,
                label="as delivered",
                gid=draw.SHARED,
                **_look(GREY),
            )
        draw.mark_in_view(ax, *self._at_delivery(), marker="o", markersize=7, **_look(color))

    def _at_delivery(self) -> tuple[float, float]:
        return self._place(self.ucc.at(delivered_at(self.ucc), unit=self.unit))

    def _place(self, point: OperatingPoint) -> tuple[float, float]:
        return getattr(point, self.axes[0]), getattr(point, self.axes[1])


def _look(color: Any) -> dict[str, Any]:
    return {"color": color, "markeredgecolor": "white", "markeredgewidth": 1.0}
