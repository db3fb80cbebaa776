"""A Bayesian network fitted by variational inference and by Hamiltonian Monte Carlo (Sections 1 and 4.1)."""

from dataclasses import asdict
from functools import partial

import jax
import numpy as np
from matplotlib.figure import Figure

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE, mark_in_view

from . import bayes_net
from .bands import BM, beside_constants
from .experiment import FIRST, Experiment, Parts, Reading, Settings
from .figures import canvas, draw_curves, draw_fit
from .findings import Cells, Findings, Floats, row
from .store import Arrays
from .summary import crossing

INNER, OUTER = 1.0, 3.1
TRAIN, TEST, GRID = 70, 154, 401
TARGETS = ("noise-free", "noisy")
ZOOM = 1.5
HIGH_MISS, LOW_MISS = 0.7, 0.2
GAIN, PARTIAL = "gain, %", "partial gain, %"
GAINS = "Gains, {} test targets"
SHOWN = "Gains of the illustration (data seed 3), noise-free test targets"
LIKELIHOOD = "Mean test log-likelihood"


def data(seed: int, noise: float) -> Arrays:
    """Return a noisy cubic: training points on both sides of a gap, test points everywhere, with and without noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(INNER, OUTER, TRAIN) * rng.choice([-1.0, 1.0], TRAIN)
    x_test = rng.uniform(-OUTER, OUTER, TEST)
    y = 0.1 * x**3 + rng.normal(0.0, noise, TRAIN)
    free = 0.1 * x_test**3
    return {"train": np.stack([x, y]), "x": x_test, "noise-free": free, "noisy": free + rng.normal(0.0, noise, TEST)}


def predictive(values: Floats, noise: float) -> Floats:
    """Return the mean and standard deviation, noise included, of the functions drawn."""
    return np.stack([values.mean(axis=0), np.sqrt(values.var(axis=0) + noise**2)])


def fitted(method: str, seed: int, settings: Settings) -> Arrays:
    """Return predictive mean and standard deviation at the test points and on an even grid, and log-likelihoods."""
    network = bayes_net.Settings(**settings)
    found = data(seed, network.noise)
    x, y = found["train"]
    if method == "VI":
        factors, found["evidence bounds"] = bayes_net.variational(x, y, network, seed=seed)
        draws = network.chains * network.draws
        weights = bayes_net.variational_draws(factors, draws=draws, key=jax.random.key(seed + 1))
    else:
        weights = bayes_net.posterior_draws(x, y, network, seed=seed, kernel=method.lower())
    values = bayes_net.functions(weights, found["x"])
    grid = np.linspace(-OUTER, OUTER, GRID)
    found["test"] = predictive(values, network.noise)
    found["grid"] = np.stack([grid, *predictive(bayes_net.functions(weights, grid), network.noise)])
    for targets in TARGETS:
        found[f"log-likelihood {targets}"] = np.array(bayes_net.log_likelihood(values, found[targets], network.noise))
    return found


def intervals(part: Arrays, targets: str = "noise-free", within: float = OUTER) -> Intervals:
    """Return the predictive standard deviation as a band, at the test points with |x| up to `within`."""
    inside = np.abs(part["x"]) <= within
    return Intervals.from_std(part[targets][inside], *part["test"][:, inside])


def cells_of(parts: Parts) -> Cells:
    """Return gain and partial gain of each method for both kinds of targets, and the log-likelihoods."""
    cells: Cells = {}
    for method, part in parts.items():
        for targets in TARGETS:
            curve = UCC(intervals(part, targets))
            values = {GAIN: 100 * curve.gain(), PARTIAL: 100 * curve.gain(miss_rate=(0, 0.5))}
            if method != "HMC":
                cells |= row(GAINS.format(targets), method, values)
            if "HMC" in parts and targets == "noise-free":
                cells |= row(SHOWN, method, values)
            cells[LIKELIHOOD, method, targets] = float(part[f"log-likelihood {targets}"])
    return cells


def judge(parts: Parts, _seed: int) -> Findings:
    """Judge VI and HMC (by NUTS), each against its own constant band."""
    cells = cells_of(parts)
    zoomed = intervals(parts["NUTS"], within=ZOOM)
    claims = {"curves cross": crossing(zoomed, zoomed.constant(), axes=BM)}
    for targets in TARGETS:
        table = GAINS.format(targets)
        (vi, hmc), (vi_part, hmc_part) = ([cells[table, n, m] for n in ("VI", "NUTS")] for m in (GAIN, PARTIAL))
        claims |= {
            f"VI loses, {targets}": vi < 0,
            f"HMC gains, {targets}": hmc > 0,
            f"HMC gains more, {targets}": hmc > vi,
            f"partial signs, {targets}": hmc_part > 0 > vi_part,
            f"HMC gains more in part, {targets}": hmc_part > vi_part,
            f"likelihood, {targets}": cells[LIKELIHOOD, "VI", targets] > cells[LIKELIHOOD, "NUTS", targets],
        }
    models = beside_constants({name: intervals(parts[name]) for name in ("VI", "NUTS")})
    return Findings(cells, claims, models, orders=(("Constant (VI)", "VI"), ("NUTS", "Constant (NUTS)")))


def fits_figure(parts: Parts) -> Figure:
    """Draw prediction and two standard deviations of each method over the data."""
    figure, panels = canvas(len(parts))
    for ax, (method, part) in zip(panels, parts.items(), strict=True):
        x, mean, std = part["grid"]
        fit = {"two standard deviations": Intervals.from_std(0.1 * x**3, mean, 2 * std)}
        title = f"{method}, test log-likelihood {float(part['log-likelihood noisy']):.2f}"
        draw_fit(ax, x, 0.1 * x**3, fit, points=part["train"], title=title)
    return figure


def zoom_figure(part: Arrays) -> Figure:
    """Draw the gap with the operating points A to D: intervals at two miss rates, and the curves that cross between."""
    order = np.argsort(part["x"])
    order = order[np.abs(part["x"][order]) <= ZOOM]
    x, iv = part["x"][order], intervals(part)[order]
    figure, (*panels, right) = canvas(3)
    models = {"HMC": iv, "Constant": iv.constant()}
    draw_curves(right, models)
    for ax, letters, miss in zip(panels, ("AC", "BD"), (HIGH_MISS, LOW_MISS), strict=True):
        fits = {}
        for letter, color, (name, one) in zip(letters, (PALETTE[0], GREY), models.items(), strict=True):
            point = UCC(one).find(miss_rate=miss)
            fits[f"{letter}: {name}, bandwidth {point.bandwidth:.2f}"] = one.calibrated(scale=point.scale)
            mark_in_view(right, point.bandwidth, point.miss_rate, marker="o", color=color)
            right.annotate(f" {letter}", (point.bandwidth, point.miss_rate), fontweight="bold", va="bottom")
        draw_fit(ax, x, iv.y_true, fits, title=f"miss rate {miss:.1f}")
    return figure


def draw(parts: Parts) -> dict[str, Figure]:
    """Return fits and the zoomed crossing."""
    return {"bnn-fits": fits_figure(parts), "bnn-zoom": zoom_figure(parts["NUTS"])}


WORK = {method: partial(fitted, method) for method in ("VI", "NUTS")}
FIRST_READING = Reading(WORK, judge, drawn={"HMC": partial(fitted, "HMC")})  # five million gradients
EXPERIMENT = Experiment("bnn", {FIRST: FIRST_READING}, draw, asdict(bayes_net.Settings()))
