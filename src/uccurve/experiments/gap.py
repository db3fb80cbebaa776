"""A Gaussian process and a quantile GBR where data are missing in places (Sections 2.2 and 4.1)."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .experiment import FIRST, SECOND, Cell, Drawing, Experiment, Findings, Floats, Parts, Reading, Settings, Work
from .figures import canvas, draw_band, draw_curves
from .store import Arrays
from .summary import ED, FLOOR, beside_constants, constant, uncrossed
from .trees import HIGH, LOW, banded, rows

REGIONS = ((0.0, 4.0), (6.0, 10.0), (12.0, 16.0), (18.0, 22.0))
WIDE_REGIONS = ((0.0, 4.0), (8.0, 12.0), (16.0, 20.0), (24.0, 28.0))
MISS_RATE = 0.05
AREAS, WIDTHS = "Areas and gains", "Mean width (MPIW) at a miss rate of 5%"
SETTINGS: Settings = {"train": 400, "test": 500, "length": 0.5, "noise": 0.1, "trees": 50, "leaf": 30}
QUICK: Settings = {**SETTINGS, "train": 200, "test": 300}
PARTS = {FIRST: "intervals", SECOND: "wide gaps"}


def sample(
    seed: int, settings: Settings, regions: tuple[tuple[float, float], ...] = REGIONS
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return noisy training points in the regions and the noise-free function over the whole range, one joint draw."""
    rng = np.random.default_rng(seed)
    per_region = settings["train"] // len(regions)
    x = np.concatenate([rng.uniform(low, high, per_region) for low, high in regions])
    even = np.linspace(0.0, regions[-1][1], settings["test"])
    points = np.concatenate([x, even])
    distance = (points[:, None] - points[None, :]) / settings["length"]
    covariance = np.exp(-0.5 * distance**2)
    # The smallest eigenvalues are rounding noise around 0, which a Cholesky factor would not survive.
    values, vectors = np.linalg.eigh(covariance)
    f = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(points)))
    y = f[: len(x)] + rng.normal(0.0, settings["noise"], len(x))
    return x, y, even, f[len(x) :]


def intervals(seed: int, settings: Settings, regions: tuple[tuple[float, float], ...]) -> Arrays:
    """Return both models' intervals over the whole range; the kernel is fitted, the trees are not subsampled."""
    x, y, even, f = sample(seed, settings, regions)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, normalize_y=False, random_state=seed).fit(x[:, None], y)
    size = {"n_estimators": settings["trees"], "max_depth": 3, "min_samples_leaf": settings["leaf"]}
    losses = [{}, {"loss": "quantile", "alpha": LOW}, {"loss": "quantile", "alpha": HIGH}]
    trees = (GradientBoostingRegressor(**size, **loss, random_state=seed).fit(x[:, None], y) for loss in losses)
    return {
        "x": even,
        "train": np.stack([x, y]),
        "test GP": banded(f, *process.predict(even[:, None], return_std=True)),
        "test QR": rows(f, *(model.predict(even[:, None]) for model in trees)),
    }


def work(reading: str, seed: int, settings: Settings) -> Work:
    """Both models are one part."""
    regions = REGIONS if reading == FIRST else WIDE_REGIONS
    return {PARTS[reading]: lambda: intervals(seed, settings, regions)}


def models(part: Arrays) -> dict[str, Intervals]:
    """Return both models; the crossing or tiny bands of the trees are raised."""
    return {
        "GP": Intervals.from_bounds(*part["test GP"]),
        "QR": Intervals.from_bounds(*uncrossed(part["test QR"]), min_band=FLOOR),
    }


def cells_of(name: str, curve: UCC) -> dict[Cell, float]:
    """Return areas, gains and widths of one model and its constant band."""
    flat = UCC(curve.intervals.constant())
    wide = {n: 2 * c.find(miss_rate=MISS_RATE).bandwidth for n, c in (("model", curve), ("constant band", flat))}
    return {
        (AREAS, name, "BM area"): curve.area(),
        (AREAS, name, "BM area of the constant band"): flat.area(),
        (AREAS, name, "BM gain, %"): 100 * curve.gain(),
        (AREAS, name, "BM gain below a miss rate of 0.5, %"): 100 * curve.gain(miss_rate=(0, 0.5)),
        (AREAS, name, "BM gain above a miss rate of 0.5, %"): 100 * curve.gain(miss_rate=(0.5, 1)),
        (AREAS, name, "ED gain, %"): 100 * curve.gain(axes=ED),
        (AREAS, name, "EM gain, %"): 100 * curve.gain(axes=("overshoot", "miss_rate")),
        (AREAS, name, "EM gain with the excess as printed, %"): 100 * curve.gain(axes=("excess", "miss_rate")),
        **{(WIDTHS, name, n): w for n, w in wide.items()},
        (WIDTHS, name, "saved, %"): 100 * (1 - wide["model"] / wide["constant band"]),
    }


def judge(reading: str, parts: Parts, seed: int) -> Findings:
    """Judge both models, each against its own constant band."""
    del seed
    found = models(parts[PARTS[reading]])
    cells: dict[Cell, float] = {}
    for name, iv in found.items():
        cells |= cells_of(name, UCC(iv))
    gain = {name: cells[AREAS, name, "BM gain, %"] for name in found}
    saved = {name: cells[WIDTHS, name, "saved, %"] for name in found}
    claims = {
        "Sec. 4.1": {
            "The GP's gain is positive": gain["GP"] > 0,
            "The QR's gain is negative": gain["QR"] < 0,
            "The GP gains below a miss rate of 0.5": cells[AREAS, "GP", "BM gain below a miss rate of 0.5, %"] > 0,
            "Above a miss rate of 0.5 the constant band outperforms the GP": (
                cells[AREAS, "GP", "BM gain above a miss rate of 0.5, %"] < 0
            ),
        },
        "Sec. 2.2": {
            "At a miss rate of 5% the GP's intervals are narrower than the QR's": (
                cells[WIDTHS, "GP", "model"] < cells[WIDTHS, "QR", "model"]
            ),
            "At a miss rate of 5% the GP beats its constant band": saved["GP"] > 0,
            "At a miss rate of 5% the QR is worse than its constant band": saved["QR"] < 0,
        },
    }
    orders = (("GP", constant("GP")), (constant("QR"), "QR"))
    return Findings(cells, claims, beside_constants(found), orders=orders)


def fits_figure(part: Arrays) -> Drawing:
    """Draw the data, and each model's interval and constant band at a miss rate of 5%."""
    figure, (data, *panels) = canvas(3, width=4.6, height=3.6)
    found, x = models(part), part["x"]
    for low, high in REGIONS:
        data.axvspan(low, high, color=PALETTE[4], alpha=0.15, linewidth=0)
    data.plot(*part["train"], ".", color=GREY, markersize=3, label="training points")
    data.plot(x, found["GP"].y_true, color=PALETTE[1], linewidth=1.4, label="ground truth")
    data.set_title("data and training regions", fontsize=10)
    for ax, (name, iv) in zip(panels, found.items(), strict=True):
        shown = (("constant", iv.constant(), PALETTE[4], False), (name, iv, PALETTE[0], True))
        for label, one, color, line in shown:
            point = UCC(one).find(miss_rate=MISS_RATE)
            text = f"{label}, MPIW {2 * point.bandwidth:.2f}"
            draw_band(ax, x, one.calibrated(scale=point.scale), color=color, label=text, line=line)
        ax.plot(x, iv.y_true, color=PALETTE[1], linewidth=1.2, label="ground truth")
        ax.set_title(f"{name}, miss rate 5%", fontsize=10)
    truth = found["GP"].y_true
    for ax in (data, *panels):
        ax.set(xlabel="x", xlim=(0, x[-1]), ylim=(truth.min() - 2.2, truth.max() + 3.2))
        ax.legend(frameon=False, fontsize=7, loc="upper right", ncols=2)
    return Drawing("gap-fits", figure)


def curves_figure(parts: Parts) -> Drawing:
    """Draw each model's curve beside that of its constant band, the first reading above the second."""
    figure, panels = canvas(2, width=4.6, rows=2)
    shown = [(reading, name, iv) for reading, part in PARTS.items() for name, iv in models(parts[part]).items()]
    for ax, (reading, name, iv) in zip(panels, shown, strict=True):
        reach = max(UCC(v).find(miss_rate=0.02).bandwidth for v in (iv, iv.constant()))
        draw_curves(ax, {name: iv, "Constant": iv.constant()}, xmax=1.5 * reach)
        ax.set_title(f"{name}, {reading} reading: gain {100 * UCC(iv).gain():+.1f}%", fontsize=10)
    return Drawing("gap-ucc", figure)


def draw(parts: Parts) -> Iterator[Drawing]:
    """Yield fits and curves."""
    yield fits_figure(parts["intervals"])
    yield curves_figure(parts)


EXPERIMENT = Experiment(
    name="gap",
    readings={
        FIRST: Reading(partial(work, FIRST), partial(judge, FIRST)),
        SECOND: Reading(partial(work, SECOND), partial(judge, SECOND), seeds=12),
    },
    draw=draw,
    settings=SETTINGS,
    quick_settings=QUICK,
    seeds=tuple(range(20)),
    quick_seeds=(0, 1),
    stack=("scikit-learn",),
)
