"""x sin x with five kinds of bands around one target prediction (Section 4.1, Appendix, Synthetic Data)."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .experiment import FIRST, Drawing, Experiment, Findings, Floats, Parts, Reading, Settings, Work
from .figures import canvas, draw_curves
from .store import Arrays
from .summary import BM, COST_FACTOR, ED, SUMMARY, all_differ, models_of, ranked, summary_cells, tuned
from .trees import OURS, area_bands, banded, boosted, bounds, rows

SPAN, ZOOM = 20.0, (6.0, 10.0)
STRONG = {"n_estimators": 500, "max_depth": 10}
WEAK = {"n_estimators": 50, "max_depth": 3}
MODELS = ("GBR", "GBR-Weak", "Random", "Eps-Perfect")
QUANTILES = ("GBR", "GBR-Weak")
ORDER = ("GBR", "Constant", "GBR-Weak", "Random")
REACH = "Where the curve meets the axis"
CROSS_FITS = 5
SETTINGS: Settings = {"train": 4000, "held_out": 1000, "test": 1000, "strong": STRONG, "weak": WEAK}
QUICK: Settings = {**SETTINGS, "train": 2000, "strong": {"n_estimators": 200, "max_depth": 10}}


def truth(x: Floats) -> Floats:
    """Return the function without noise."""
    return x * np.sin(x)


def noisy(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Return random points and noisy values; the noise's standard deviation is itself random between 1.5 and 2.5."""
    x = rng.uniform(0.0, SPAN, n)
    return x, truth(x) + rng.normal(0.0, 1.5 + rng.uniform(0.0, 1.0, n))


def sample(rng: np.random.Generator, settings: Settings) -> dict[str, tuple[Floats, Floats]]:
    """Return noisy points to train on, noisy held-out points, and the noise-free function to test on."""
    train, held_out = (noisy(rng, settings[name]) for name in ("train", "held_out"))
    even = np.linspace(0.0, SPAN, settings["test"])
    return {"train": train, "held out": held_out, "test": (even, truth(even))}


def intervals(seed: int, settings: Settings) -> Arrays:
    """Return the bands of all of the paper's models at the held-out and the test points."""
    rng = np.random.default_rng(seed)
    sets = sample(rng, settings)
    x, y = sets.pop("train")
    at = [points[:, None] for points, _ in sets.values()]
    target = boosted(settings["strong"], seed=seed).fit(x[:, None], y)
    fits = {
        name: bounds(x[:, None], y, at, settings[size], seed=seed)
        for name, size in zip(QUANTILES, ("strong", "weak"), strict=True)
    }
    found: Arrays = {"x": sets["test"][0], "train": np.stack([x, y])}
    for index, (period, (points, value)) in enumerate(sets.items()):
        y_pred = target.predict(points[:, None])
        for name, fit in fits.items():
            found[f"{period} {name}"] = rows(value, y_pred, *fit[index])
        spread = np.std(y_pred)
        random = rng.uniform(spread / 3, 3 * spread, len(points))
        perfect = np.abs(value - y_pred) + rng.uniform(0.0, 0.05, len(points))
        found[f"{period} Random"] = banded(value, y_pred, random)
        found[f"{period} Eps-Perfect"] = banded(value, y_pred, perfect)
    return found


def trained_bands(seed: int, settings: Settings) -> Arrays:
    """Return the bands of our own models at the held-out and the test points."""
    sets = sample(np.random.default_rng(seed), settings)
    x, y = sets.pop("train")
    at = [points[:, None] for points, _ in sets.values()]
    fitted = area_bands(x[:, None], y, at, settings["strong"], folds=CROSS_FITS, seed=seed)
    return {
        f"{period} {name}": band for period, bands in zip(sets, fitted, strict=True) for name, band in bands.items()
    }


def work(seed: int, settings: Settings) -> Work:
    """All of the paper's models share the target, so they are one part."""
    return {"intervals": lambda: intervals(seed, settings), "area bands": lambda: trained_bands(seed, settings)}


def all_models(parts: Parts, period: str) -> dict[str, Intervals]:
    """Return the paper's models and ours around the same prediction."""
    found = models_of(parts["intervals"], MODELS, period, floored=QUANTILES)
    y_true, y_pred = found["GBR"].y_true, found["GBR"].y_pred
    ours = parts["area bands"]
    return found | {name: Intervals.from_bands(y_true, y_pred, ours[f"{period} {name}"]) for name in OURS}


def without_noise(held_out: Mapping[str, Intervals], seed: int, settings: Settings) -> dict[str, Intervals]:
    """Return the held-out rows of the models that do not look at y, with noise-free targets."""
    x, _ = sample(np.random.default_rng(seed), settings)["held out"]
    return {name: Intervals.from_bounds(truth(x), iv.y_pred, iv.lower, iv.upper) for name, iv in held_out.items()}


def judge(parts: Parts, seed: int) -> Findings:
    """Judge the models at the scale that is cheapest on ED on the noisy held-out rows."""
    part = parts["intervals"]
    test, held_out = (all_models(parts, period) for period in ("test", "held out"))
    cells = summary_cells(test, tuned(held_out, ED, 1.0), unit=1.0, error="absolute")
    cells[REACH, "Eps-Perfect", "bandwidth at miss rate 0"] = UCC(test["Eps-Perfect"]).find(miss_rate=0).bandwidth
    settings = SETTINGS if part["train"].shape[1] == SETTINGS["train"] else QUICK
    clean = tuned(without_noise({name: held_out[name] for name in ORDER}, seed, settings), ED, 1.0)
    cost = {name: UCC(test[name]).cost(COST_FACTOR, axes=ED, at=clean[name]) for name in ORDER}
    best = {name: cells[SUMMARY, name, "ED optimal cost"] for name in ORDER}
    claims = {
        "Sec. 4.1": {
            "GBR ranks best, then the constant band, the weak GBR and the random bands (BM area)": (
                ranked(cells, "BM area", *ORDER)
            ),
            "All BM areas differ at p < 0.01, pairwise permutation test": (
                all_differ({name: test[name] for name in (*ORDER, "Eps-Perfect")}, axes=BM, seed=seed)
            ),
            "Eps-Perfect is the best achievable curve (ED area)": ranked(cells, "ED area", "Eps-Perfect", "GBR"),
        },
        "App., Synthetic Data": {
            "Areas and optimal costs of both axis pairs rank the four models alike": all(
                ranked(cells, m, *ORDER) for m in ("ED area", "ED optimal cost", "BM area", "BM optimal cost")
            ),
            "GBR's BM area is below Eps-Perfect's, as in the paper's own table": (
                ranked(cells, "BM area", "GBR", "Eps-Perfect")
            ),
            "Tuned on noisy rows, the ED cost is at least half again the optimal cost (GBR and constant)": all(
                cells[SUMMARY, name, "ED cost"] > 1.5 * best[name] for name in ORDER[:2]
            ),
            "That gap disappears with noise-free held-out rows (within 5% of the optimal cost)": all(
                cost[name] < 1.05 * best[name] for name in ORDER
            ),
        },
    }
    deliverable = {name: iv for name, iv in test.items() if name != "Eps-Perfect"}  # which looks at y
    return Findings(cells, claims, deliverable, orders=(ORDER,))


def draw_data(ax: Any, part: Arrays, shown: Intervals, span: tuple[float, float]) -> None:
    """Draw a tenth of the training points, prediction, interval and truth over a stretch of x."""
    points = part["train"][:, ::10]
    points = points[:, (span[0] <= points[0]) & (points[0] <= span[1])]
    at = slice(*np.searchsorted(part["x"], span))
    x = part["x"][at]
    label = "GBR interval, miss rate 5%"
    ax.plot(*points, ".", color=GREY, alpha=0.6, markersize=4, label="training points (one in ten)")
    ax.fill_between(x, shown.lower[at], shown.upper[at], color=PALETTE[0], alpha=0.4, linewidth=0, label=label)
    ax.plot(x, shown.y_pred[at], color=PALETTE[0], linewidth=0.7, label="prediction")
    ax.plot(x, shown.y_true[at], "--", color=PALETTE[1], linewidth=1.6, label="ground truth x sin x")
    ax.set(xlabel="x", ylabel="y", xlim=span)


def draw(parts: Parts) -> Iterator[Drawing]:
    """Yield the data with 95% intervals, and the curves with operating points tuned on the held-out rows."""
    part = parts["intervals"]
    test, held_out = (models_of(part, MODELS, period, floored=QUANTILES) for period in ("test", "held out"))
    iv = test["GBR"]
    shown = iv.calibrated(scale=UCC(iv).find(miss_rate=0.05).scale)
    figure, (left, right) = canvas(2, width=5.2, height=3.8)
    draw_data(left, part, shown, (0.0, SPAN))
    draw_data(right, part, shown, ZOOM)
    left.legend(frameon=False, fontsize=8, loc="upper left")
    right.set_title("zoomed in", fontsize=10)
    yield Drawing("synthetic-data", figure)
    figure, panels = canvas(2, width=5)
    for ax, axes in zip(panels, (BM, ED), strict=True):
        draw_curves(ax, test, axes=axes, scales=tuned(held_out, ED, 1.0), xmax=4.5)
    yield Drawing("synthetic-ucc", figure)


EXPERIMENT = Experiment(
    name="synthetic",
    readings={FIRST: Reading(work, judge)},
    draw=draw,
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("scikit-learn",),
)
