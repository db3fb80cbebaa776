"""The paper's drawings, computed from small data instead of drawn by hand (Figures 3, 4, 10 and 11)."""

from collections.abc import Iterator

import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .experiment import FIRST, Drawing, Experiment, Findings, Parts, Reading, Settings, Work
from .figures import canvas, draw_curve, draw_curves
from .store import Arrays
from .summary import BM, crossing, flat
from .trees import banded

OFFSET = "A constant band around two predictions"
SETTINGS: Settings = {"rows": 600}
FACTOR = 0.3


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
    wave = np.linspace(0.0, 4 * np.pi, 200)
    observed = np.sin(wave)
    offset = np.stack([wave, observed, observed - 0.8, np.full_like(wave, observed.mean() - 0.8)])
    return {name: banded(y_true, y_pred, z) for name, z in bands.items()} | {"offset": offset}


def work(seed: int, settings: Settings) -> Work:
    """One small part."""
    return {"small data": lambda: small_data(seed, settings)}


def three_models(part: Arrays) -> dict[str, Intervals]:
    """Return the three bands around one prediction."""
    return {name: Intervals.from_bounds(*part[name]) for name in "ABC"}


def offset_models(part: Arrays) -> dict[str, Intervals]:
    """Return one constant band around a prediction that is off by a constant, and around one that is flat."""
    _, observed, *predictions = part["offset"]
    width = np.full_like(observed, 0.5)
    return {f"prediction {i}": Intervals.from_bands(observed, y, width) for i, y in enumerate(predictions, start=1)}


def judge(parts: Parts, seed: int) -> Findings:
    """Judge the drawings' own claims on the data they are drawn from."""
    del seed
    models = three_models(parts["small data"])
    area = {name: UCC(iv).area() for name, iv in models.items()}
    low, high = ({n: UCC(iv).find(miss_rate=m).bandwidth for n, iv in models.items()} for m in (0.05, 0.7))
    offset = {name: UCC(iv) for name, iv in offset_models(parts["small data"]).items()}
    below = any(crossing(models["C"], models[n], axes=BM, margin=0.05) for n in "AB")
    cells = {(OFFSET, name, "BM gain, %"): 100 * curve.gain() for name, curve in offset.items()}
    cells |= {(OFFSET, name, "BM area"): curve.area() for name, curve in offset.items()}
    claims = {
        "Figure 3": {
            "C is inferior to A and B, nowhere clearly below them": area["C"] > max(area["A"], area["B"]) and not below,
            "A is superior at low bandwidth, B at low miss rate": high["A"] < high["B"] and low["B"] < low["A"],
            "The curves of A and B cross": crossing(models["A"], models["B"], axes=BM),
        },
        "Figure 11": {
            "One constant band around two predictions gives two curves": (
                abs(offset["prediction 1"].area() - offset["prediction 2"].area()) > 0.05
            ),
            "Both have a gain of 0": all(abs(curve.gain()) < 1e-12 for curve in offset.values()),
        },
    }
    return Findings(cells, claims, models, orders=(("A", "C"), ("B", "C")))


def three_figure(part: Arrays) -> Drawing:
    """Draw three models around the same prediction."""
    figure, (ax,) = canvas(1, width=5.2, height=3.6)
    draw_curves(ax, {f"model {name}": iv for name, iv in three_models(part).items()}, xmax=5)
    for height, text in ((0.9, "high miss rate"), (0.5, "middle"), (0.06, "low miss rate")):
        ax.annotate(text, (4.9, height), ha="right", fontsize=8, color=GREY)
    ax.legend(frameon=False, fontsize=8, loc="upper center")
    return Drawing("concepts-three", figure)


def area_figure(part: Arrays) -> Drawing:
    """Draw the area under a curve, isocost lines, and the operating point as delivered beside the cheapest."""
    figure, (ax,) = canvas(1, width=5.2, height=3.6)
    curve = draw_curve(ax, three_models(part)["A"].calibrated(scale=1.8), color=PALETTE[0], label="UCC")
    points, area = curve.points(), f"area {curve.area():.2f}"
    ax.fill_between(points.x, points.y, step="post", color=PALETTE[0], alpha=0.15, linewidth=0, label=area)
    best = curve.cheapest(FACTOR)
    for point, label, color in (
        (curve.at(1.0), "as delivered", PALETTE[1]),
        (best, f"cheapest, scale {best.scale:.2f}", PALETTE[2]),
    ):
        cost = curve.cost(FACTOR, at=point.scale)
        ends = [0, cost / FACTOR], [cost / (1 - FACTOR), 0]
        ax.plot(*ends, "--", color=color, linewidth=1, label=f"isocost {cost:.2f}")
        ax.plot(point.bandwidth, point.miss_rate, "o", color=color, label=label)
    ax.set(xlabel="bandwidth", ylabel="miss rate", xlim=(0, 3.5), ylim=(0, 1))
    ax.legend(frameon=False, fontsize=8)
    return Drawing("concepts-area", figure)


def metrics_figure() -> Drawing:
    """Draw bandwidth, excess and deficit of one covered and one missed observation."""
    iv = Intervals.from_bands([1.2, 3.4], [2.0, 2.0], [1.5, 1.0])
    figure, (ax,) = canvas(1, width=5.6, height=3.2)
    for x, (y, pred, low, high) in enumerate(zip(iv.y_true, iv.y_pred, iv.lower, iv.upper, strict=True)):
        bars, names = (
            [[pred - low], [high - pred]],
            ("prediction and interval", "observation") if x == 0 else (None, None),
        )
        ax.errorbar(x, pred, yerr=bars, fmt="s", color=PALETTE[0], capsize=12, label=names[0])
        ax.plot(x, y, "o", color=PALETTE[1], markersize=8, label=names[1])
        near = low if abs(y - low) < abs(y - high) else high
        metric = f"{'excess' if low <= y <= high else 'deficit'} {abs(y - near):.1f}"
        ax.annotate("", (x + 0.12, y), (x + 0.12, near), arrowprops={"arrowstyle": "<->", "color": PALETTE[1]})
        ax.text(x + 0.16, (y + near) / 2, metric, va="center")
        ax.annotate("", (x - 0.15, pred), (x - 0.15, high), arrowprops={"arrowstyle": "<->", "color": PALETTE[0]})
        ax.text(x - 0.19, (pred + high) / 2, f"band {high - pred:.1f}", va="center", ha="right")
    point = UCC(iv).at(1.0)
    metrics = "bandwidth", "excess", "deficit", "miss_rate"
    title = ", ".join(f"{name.replace('_', ' ')} {getattr(point, name):.2f}" for name in metrics)
    ax.set(xlim=(-0.7, 1.7), ylim=(0.2, 4.4), xticks=[0, 1], xticklabels=["covered", "missed"], ylabel="y")
    ax.set_title(title, fontsize=10)
    ax.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
    return Drawing("concepts-metrics", figure)


def offset_figure(part: Arrays) -> Drawing:
    """Draw one constant band around two predictions, and the two curves."""
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
    return Drawing("concepts-predictions", figure)


def draw(parts: Parts) -> Iterator[Drawing]:
    """Yield all four drawings."""
    part = parts["small data"]
    yield from (three_figure(part), area_figure(part), metrics_figure(), offset_figure(part))


EXPERIMENT = Experiment(
    name="concepts",
    readings={FIRST: Reading(work, judge)},
    draw=draw,
    settings=SETTINGS,
    quick_settings=SETTINGS,
    stack=("numpy",),
)
