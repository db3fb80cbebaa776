"""The paper's drawings, computed from small data instead of drawn by hand (Figures 3, 4, 10 and 11)."""

from collections.abc import Callable, Iterator

import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .experiment import Claim, Drawing, Experiment, Parts, Settings, Verdict
from .figures import canvas, draw_curve, draw_curves
from .store import Arrays
from .summary import BM, crossing, flat

ROWS = 600
OFFSET = "A constant band around two predictions"
SETTINGS: Settings = {"rows": ROWS}


def small_data(seed: int, settings: Settings) -> Arrays:
    """Errors that grow along x, and three bands around one prediction.

    Band A hardly follows the error's size, which pays where most rows may be missed; band B follows it fully, which
    pays where few may; band C is B blurred by chance, which never pays.
    """
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, settings["rows"])
    sigma = 0.2 + 1.8 * x**2
    y_pred = np.sin(3 * x)
    y_true = y_pred + sigma * rng.standard_normal(len(x))
    bands = {"A": sigma**0.25, "B": sigma, "C": sigma * np.exp(1.2 * rng.standard_normal(len(x)))}
    found: Arrays = {name: np.stack([y_true, y_pred, y_pred - z, y_pred + z]) for name, z in bands.items()}
    wave = np.linspace(0.0, 4 * np.pi, 200)
    observed = np.sin(wave)
    found["offset"] = np.stack([wave, observed, observed - 0.8, np.full_like(wave, observed.mean() - 0.8)])
    return found


def work(seed: int, settings: Settings) -> dict[str, Callable[[], Arrays]]:
    """One small part."""
    return {"small data": lambda: small_data(seed, settings)}


def offset_models(part: Arrays) -> dict[str, Intervals]:
    """The same constant band around a prediction that is off by a constant, and around one that is flat."""
    _, observed, shifted, level = part["offset"]
    width = np.full_like(observed, 0.5)
    return {
        "prediction 1": Intervals.from_bands(observed, shifted, width),
        "prediction 2": Intervals.from_bands(observed, level, width),
    }


def judge(parts: Parts, seed: int) -> Verdict:
    """The drawings' own claims, on the data they are drawn from."""
    del seed
    part = parts["small data"]
    models = {name: Intervals.from_bounds(*part[name]) for name in "ABC"}
    area = {name: UCC(iv).area() for name, iv in models.items()}
    low = {name: UCC(iv).find(miss_rate=0.05).bandwidth for name, iv in models.items()}
    high = {name: UCC(iv).find(miss_rate=0.7).bandwidth for name, iv in models.items()}
    offset = {name: UCC(iv) for name, iv in offset_models(part).items()}
    cells = {(OFFSET, name, "BM gain, %"): 100 * curve.gain() for name, curve in offset.items()}
    cells |= {(OFFSET, name, "BM area"): curve.area() for name, curve in offset.items()}
    claims = (
        Claim(
            "C is inferior to A and B, nowhere clearly below them",
            "Figure 3",
            area["C"] > max(area["A"], area["B"])
            and not any(crossing(models["C"], models[n], axes=BM, margin=0.05) for n in "AB"),
        ),
        Claim(
            "A is superior at low bandwidth, B at low miss rate",
            "Figure 3",
            high["A"] < high["B"] and low["B"] < low["A"],
        ),
        Claim("The curves of A and B cross", "Figure 3", crossing(models["A"], models["B"], axes=BM)),
        Claim(
            "One constant band around two predictions gives two curves",
            "Figure 11",
            abs(offset["prediction 1"].area() - offset["prediction 2"].area()) > 0.05,
        ),
        Claim("Both have a gain of 0", "Figure 11", all(abs(curve.gain()) < 1e-12 for curve in offset.values())),
    )
    return Verdict(cells, claims)


def three_figure(part: Arrays) -> Drawing:
    """Three models around the same prediction."""
    figure, (ax,) = canvas(1, width=5.2, height=3.6)
    draw_curves(ax, {f"model {name}": Intervals.from_bounds(*part[name]) for name in "ABC"}, xmax=5)
    for height, text in ((0.9, "high miss rate"), (0.5, "middle"), (0.06, "low miss rate")):
        ax.annotate(text, (4.9, height), ha="right", fontsize=8, color=GREY)
    ax.legend(frameon=False, fontsize=8, loc="upper center")
    return Drawing(
        "concepts-three",
        figure,
        "Three models around one prediction: C is inferior everywhere, A and B cross (the paper's Figure 3).",
    )


def area_figure(part: Arrays) -> Drawing:
    """Area under a curve, isocost lines, the delivered and the cheapest operating point."""
    factor = 0.3
    iv = Intervals.from_bounds(*part["A"]).calibrated(scale=1.8)
    figure, (ax,) = canvas(1, width=5.2, height=3.6)
    curve = draw_curve(ax, iv, color=PALETTE[0], label="UCC")
    points = curve.points()
    ax.fill_between(
        points.x, points.y, step="post", color=PALETTE[0], alpha=0.15, linewidth=0, label=f"area {curve.area():.2f}"
    )
    best, now = curve.cheapest(factor), curve.at(1.0)
    marks = (now, "as delivered", PALETTE[1]), (best, f"cheapest, scale {best.scale:.2f}", PALETTE[2])
    for point, label, color in marks:
        cost = curve.cost(factor, at=point.scale)
        ax.plot(
            [0, cost / factor], [cost / (1 - factor), 0], "--", color=color, linewidth=1, label=f"isocost {cost:.2f}"
        )
        ax.plot(point.bandwidth, point.miss_rate, "o", color=color, label=label)
    ax.set(xlabel="bandwidth", ylabel="miss rate", xlim=(0, 3.5), ylim=(0, 1))
    ax.legend(frameon=False, fontsize=8)
    return Drawing(
        "concepts-area",
        figure,
        "Area under the curve and cost: lines of equal cost c x + (1 - c) y with c = 0.3 through the delivered and "
        "the cheapest operating point (the paper's Figure 4).",
    )


def metrics_figure() -> Drawing:
    """Bandwidth, excess and deficit of one covered and one missed observation."""
    iv = Intervals.from_bands([1.2, 3.4], [2.0, 2.0], [1.5, 1.0])
    figure, (ax,) = canvas(1, width=5.6, height=3.2)
    for x, (y, pred, low, high) in enumerate(zip(iv.y_true, iv.y_pred, iv.lower, iv.upper, strict=True)):
        ax.errorbar(
            x,
            pred,
            yerr=[[pred - low], [high - pred]],
            fmt="s",
            color=PALETTE[0],
            capsize=12,
            label=None if x else "prediction and interval",
        )
        ax.plot(x, y, "o", color=PALETTE[1], markersize=8, label=None if x else "observation")
        near = low if abs(y - low) < abs(y - high) else high
        ax.annotate("", (x + 0.12, y), (x + 0.12, near), arrowprops={"arrowstyle": "<->", "color": PALETTE[1]})
        ax.text(
            x + 0.16, (y + near) / 2, f"{'excess' if low <= y <= high else 'deficit'} {abs(y - near):.1f}", va="center"
        )
        ax.annotate("", (x - 0.15, pred), (x - 0.15, high), arrowprops={"arrowstyle": "<->", "color": PALETTE[0]})
        ax.text(x - 0.19, (pred + high) / 2, f"band {high - pred:.1f}", va="center", ha="right")
    point = UCC(iv).at(1.0)
    ax.set(xlim=(-0.7, 1.7), ylim=(0.2, 4.4), xticks=[0, 1], xticklabels=["covered", "missed"], ylabel="y")
    ax.set_title(
        f"bandwidth {point.bandwidth:.2f}, excess {point.excess:.2f}, deficit {point.deficit:.2f}, miss rate "
        f"{point.miss_rate:.1f}",
        fontsize=10,
    )
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
    return Drawing(
        "concepts-metrics",
        figure,
        "The metrics of two observations, one covered and one missed (the paper's Figure 10).",
    )


def offset_figure(part: Arrays) -> Drawing:
    """One constant band around two predictions, and the two curves."""
    figure, (left, right) = canvas(2, width=4.6)
    wave, observed, *_ = part["offset"]
    models = offset_models(part)
    left.plot(wave, observed, color="black", label="observation")
    for color, (name, iv) in zip(PALETTE, models.items(), strict=False):
        left.fill_between(wave, iv.lower, iv.upper, color=color, alpha=0.25, linewidth=0, label=name)
        left.plot(wave, iv.y_pred, color=color, linewidth=1)
    left.set(xlabel="x", ylabel="y", ylim=(-2.6, 2.2))
    left.legend(frameon=False, fontsize=8, loc="upper right", ncols=3)
    draw_curves(right, {name: flat(iv) for name, iv in models.items()})
    return Drawing(
        "concepts-predictions",
        figure,
        "The same constant band around two predictions: a perfect curve that falls at one bandwidth, and a rounder "
        "one; both have a gain of 0 (the paper's Figure 11).",
    )


def draw(parts: Parts) -> Iterator[Drawing]:
    """All four drawings."""
    part = parts["small data"]
    yield three_figure(part)
    yield area_figure(part)
    yield metrics_figure()
    yield offset_figure(part)


EXPERIMENT = Experiment(
    name="concepts",
    title="The paper's drawings, from data",
    work=work,
    judge=judge,
    draw=draw,
    paper={(OFFSET, name, "BM gain, %"): 0.0 for name in ("prediction 1", "prediction 2")},
    seeds=(0, 1, 2, 3, 4),
    quick_seeds=(0,),
    settings=SETTINGS,
    quick_settings=SETTINGS,
    stack=("numpy",),
)
