"""A Gaussian process and a quantile GBR where data are missing in places (Sections 2.2 and 4.1)."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from uccurve import UCC, Intervals

from .bands import ED, banded, beside_constants, repaired
from .experiment import (
    FIRST,
    SECOND,
    Arrays,
    Cells,
    Experiment,
    Findings,
    Floats,
    Parts,
    Settings,
    row,
)
from .figures import Figures, canvas, draw_curves, draw_fit

Regions = tuple[tuple[float, float], ...]
REGIONS: Regions = ((0.0, 4.0), (6.0, 10.0), (12.0, 16.0), (18.0, 22.0))
WIDE_REGIONS: Regions = ((0.0, 4.0), (8.0, 12.0), (16.0, 20.0), (24.0, 28.0))
PARTS = {FIRST: ("intervals", REGIONS), SECOND: ("wide gaps", WIDE_REGIONS)}
MISS_RATE = 0.05
AREAS, WIDTHS = "Areas and gains", "Mean width (MPIW) at a miss rate of 5%"
BELOW, ABOVE = "BM gain below a miss rate of 0.5, %", "BM gain above a miss rate of 0.5, %"
GAINS: dict[str, dict[str, Any]] = {
    "BM gain, %": {},
    BELOW: {"miss_rate": (0, 0.5)},
    ABOVE: {"miss_rate": (0.5, 1)},
    "ED gain, %": {"axes": ED},
    "EM gain, %": {"axes": ("overshoot", "miss_rate")},
    "EM gain with the excess as printed, %": {"axes": ("excess", "miss_rate")},
}


def sample(
    seed: int, settings: Settings, regions: Regions = REGIONS
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return noisy training points in the regions and the noise-free function over the whole range, one joint draw."""
    rng = np.random.default_rng(seed)
    per_region = settings["train"] // len(regions)
    x = np.concatenate([rng.uniform(low, high, per_region) for low, high in regions])
    even = np.linspace(0.0, regions[-1][1], settings["test"])
    points = np.concatenate([x, even])
    distance = (points[:, None] - points[None, :]) / settings["length"]
    # The smallest eigenvalues are rounding noise around 0, which a Cholesky factor would not survive.
    values, vectors = np.linalg.eigh(np.exp(-0.5 * distance**2))
    f = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(points)))
    y = f[: len(x)] + rng.normal(0.0, settings["noise"], len(x))
    return x, y, even, f[len(x) :]


def intervals(regions: Regions, seed: int, settings: Settings) -> Arrays:
    """Return both models' intervals over the whole range; the kernel is fitted, the trees are not subsampled."""
    x, y, even, f = sample(seed, settings, regions)
    kernel = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, normalize_y=False, random_state=seed).fit(
        x[:, None], y
    )
    size = {"n_estimators": settings["trees"], "max_depth": 3, "min_samples_leaf": settings["leaf"]}
    losses = [{}, {"loss": "quantile", "alpha": 0.05}, {"loss": "quantile", "alpha": 0.95}]
    trees = (
        GradientBoostingRegressor(**size, **loss, random_state=seed).fit(x[:, None], y)
        for loss in losses
    )
    mean, std = process.predict(even[:, None], return_std=True)
    return {
        "x": even,
        "train": np.stack([x, y]),
        "test GP": banded((f, mean), std),
        "test QR": np.stack([f, *(model.predict(even[:, None]) for model in trees)]),
    }


def models(part: Arrays) -> dict[str, Intervals]:
    """Return both models; the crossing or tiny bands of the trees are raised."""
    return {"GP": Intervals.from_bounds(*part["test GP"]), "QR": repaired(part["test QR"])}


def judge(reading: str, parts: Parts, _seed: int) -> Findings:
    """Judge both models, each against its own constant band: areas, gains, and widths at a miss rate of 5%."""
    found, cells, values = models(parts[PARTS[reading][0]]), Cells(), []
    for name, iv in found.items():
        curve, flat = UCC(iv), UCC(iv.constant())
        own, reference = (2 * one.find(miss_rate=MISS_RATE).bandwidth for one in (curve, flat))
        areas = {"BM area": curve.area(), "BM area of the constant band": flat.area()}
        areas |= {measure: 100 * curve.gain(**options) for measure, options in GAINS.items()}
        widths = {"model": own, "constant band": reference, "saved, %": 100 * (1 - own / reference)}
        cells |= row(AREAS, name, areas) | row(WIDTHS, name, widths)
        values.append(areas | widths)
    gp, qr = values
    claims = {
        "GP gains": gp["BM gain, %"] > 0,
        "QR loses": qr["BM gain, %"] < 0,
        "GP gains below": gp[BELOW] > 0,
        "GP loses above": gp[ABOVE] < 0,
        "GP is narrower than QR": gp["model"] < qr["model"],
        "GP is narrower than constant": gp["saved, %"] > 0,
        "QR is wider than constant": qr["saved, %"] < 0,
    }
    return Findings(
        cells,
        claims,
        beside_constants(found),
        orders=(("GP", "Constant (GP)"), ("Constant (QR)", "QR")),
    )


def draw(parts: Parts) -> Figures:
    """Return data and fits, and each model's curve beside its constant band's, the first reading above the second."""
    fits, fit_panels = canvas(3, rows=2)
    curves, curve_panels = canvas(2, rows=2)
    for place, (reading, (name, _)) in enumerate(PARTS.items()):
        part = parts[name]
        x, truth = part["x"], part["test GP"][0]
        data, *panels = fit_panels[3 * place : 3 * place + 3]
        draw_fit(data, x, truth, {}, points=part["train"], title=f"{reading} reading")
        for ax, below, (model, iv) in zip(
            panels, curve_panels[2 * place :], models(part).items(), strict=False
        ):
            shown = {}
            for label, one in (("constant", iv.constant()), (model, iv)):
                point = UCC(one).find(miss_rate=MISS_RATE)
                shown[f"{label}, MPIW {2 * point.bandwidth:.2f}"] = one.calibrated(
                    scale=point.scale
                )
            draw_fit(ax, x, truth, shown, title=f"{model}, miss rate 5%")
            draw_curves(below, {model: iv, "Constant": iv.constant()})
            below.set_title(f"{reading} reading", fontsize="medium")
    return {"gap-fits": fits, "gap-ucc": curves}


WORK = {name: partial(intervals, regions) for name, regions in PARTS.values()}
EXPERIMENT = Experiment("gap", WORK, judge, draw, (FIRST, SECOND))
