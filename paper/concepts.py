"""The paper's drawings, computed from small data instead of drawn by hand (Figures 3, 4, 10 and 11)."""

from typing import Any

import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .bands import BM, banded, crossing
from .experiment import Arrays, Experiment, Findings, Models, Parts, Settings
from .figures import Figures, canvas, draw_curves, draw_fit

FACTOR = 0.3
WAVE = np.linspace(0.0, 4 * np.pi, 200)


def small_data(seed: int, settings: Settings) -> Arrays:
    """Return errors that grow along x, and three bands around one prediction.

    Band A hardly follows the size of the error, which pays where most rows may be missed; band B follows it fully,
    which pays where few may; band C is B blurred by chance, which never pays.
    """
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, settings["rows"])
    sigma = 0.2 + 1.8 * x**2
    y_pred = np.sin(3 * x)
    y_true = y_pred + sigma * rng.standard_normal(len(x))
    bands = {"A": sigma**0.25, "B": sigma, "C": sigma * np.exp(1.2 * rng.standard_normal(len(x)))}
    return {name: banded((y_true, y_pred), z) for name, z in bands.items()}


def models_of(part: Arrays) -> tuple[Models, Models]:
    """Return the three bands, and one constant band around two predictions: off by a constant, and flat."""
    observed = np.sin(WAVE)
    predictions = {
        "prediction 1": observed - 0.8,
        "prediction 2": np.full_like(WAVE, observed.mean() - 0.8),
    }
    offset = {
        n: Intervals.from_bands(observed, y, np.full_like(y, 0.5)) for n, y in predictions.items()
    }
    return {name: Intervals.from_bounds(*part[name]) for name in "ABC"}, offset


def judge(_reading: str, parts: Parts, _seed: int) -> Findings:
    """Judge the drawings' own claims on the data they are drawn from."""
    models, shifted = models_of(parts["small data"])
    area = {name: UCC(iv).area() for name, iv in models.items()}
    low, high = (
        {n: UCC(iv).find(miss_rate=m).bandwidth for n, iv in models.items()} for m in (0.05, 0.7)
    )
    below = any(crossing(models["C"], models[n], axes=BM, margin=0.05) for n in "AB")
    offset = [UCC(iv) for iv in shifted.values()]
    one, two = (curve.area() for curve in offset)
    claims = {
        "C is inferior": area["C"] > max(area["A"], area["B"]) and not below,
        "A and B are superior in turn": high["A"] < high["B"] and low["B"] < low["A"],
        "A and B cross": crossing(models["A"], models["B"], axes=BM),
        "two curves": abs(one - two) > 0.05,
        "no gain": all(abs(curve.gain()) < 1e-12 for curve in offset),
    }
    return Findings({}, claims, models, orders=(("A", "C"), ("B", "C")))


def metrics_figure() -> Any:
    """Draw bandwidth, excess and deficit of one covered and one missed observation."""
    iv = Intervals.from_bands([1.2, 3.4], [2.0, 2.0], [1.5, 1.0])
    figure, (ax,) = canvas(1, size=(5.6, 3.6))
    at = range(len(iv))
    ax.errorbar(
        at,
        iv.y_pred,
        iv.upper_band,
        fmt="s",
        color=PALETTE[0],
        capsize=12,
        label="prediction and interval",
    )
    ax.plot(at, iv.y_true, "o", color=PALETTE[1], markersize=8, label="observation")
    arrows = (
        (0, "band", 2.0, 3.5),
        (0, "excess", 0.5, 1.2),
        (1, "band", 2.0, 3.0),
        (1, "deficit", 3.0, 3.4),
    )
    for x, name, start, end in arrows:
        color, aside, side = (
            (PALETTE[0], -0.15, "right") if name == "band" else (PALETTE[1], 0.15, "left")
        )
        ax.annotate(
            "",
            (x + aside, start),
            (x + aside, end),
            arrowprops={"arrowstyle": "<->", "color": color},
        )
        ax.text(
            x + 1.3 * aside, (start + end) / 2, f"{name} {end - start:.1f}", va="center", ha=side
        )
    point = UCC(iv).at(1.0)
    ax.set(
        xlim=(-0.7, 1.7), ylim=(0.2, 4.9), xticks=at, xticklabels=["covered", "missed"], ylabel="y"
    )
    means = (
        f"bandwidth {point.bandwidth:.2f}, excess {point.excess:.2f}, deficit {point.deficit:.2f}"
    )
    ax.set_title(f"{means}, miss rate {point.miss_rate:.2f}", fontsize="medium")
    ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)
    return figure


def draw(parts: Parts) -> Figures:
    """Return all four drawings; one has lines of equal cost through the operating point and the cheapest one."""
    models, offset = models_of(parts["small data"])
    three, (ax,) = canvas(1)
    draw_curves(ax, {f"model {name}": iv for name, iv in models.items()})
    ax.set_xlim(0, 5)
    for height, text in ((0.65, "high miss rate"), (0.4, "middle"), (0.08, "low miss rate")):
        ax.annotate(
            text, (0.98, height), xycoords="axes fraction", ha="right", fontsize="small", color=GREY
        )
    area, (ax,) = canvas(1)
    curve = UCC(models["A"].calibrated(scale=1.8))
    curve.plot(ax=ax, shade=True, cost=FACTOR, reference=False, label="UCC")
    point, slope = curve.at(1.0), -FACTOR / (1 - FACTOR)
    label = f"cost as delivered: {curve.cost(FACTOR):.4g}"
    ax.axline(
        (point.bandwidth, point.miss_rate),
        slope=slope,
        color=PALETTE[1],
        linestyle=":",
        label=label,
    )
    ax.set(xlim=(0, 3.5), ylim=(0, 1))
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    predictions, (left, right) = canvas(2)
    draw_fit(left, WAVE, offset["prediction 1"].y_true, offset)
    draw_curves(right, offset)
    figures = {"concepts-three": three, "concepts-area": area, "concepts-metrics": metrics_figure()}
    return {**figures, "concepts-predictions": predictions}


EXPERIMENT = Experiment("concepts", {"small data": small_data}, judge, draw)
