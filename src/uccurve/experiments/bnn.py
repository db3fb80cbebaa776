"""A Bayesian network fitted by variational inference and by Hamiltonian Monte Carlo (Sections 1 and 4.1)."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial

import jax
import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from . import bayes_net
from .experiment import FIRST, Cell, Drawing, Experiment, Findings, Floats, Parts, Reading, Settings, Work
from .figures import canvas, draw_curves
from .store import Arrays
from .summary import BM, beside_constants, constant, crossing

INNER, OUTER = 1.0, 3.1
TRAIN, TEST, GRID = 70, 154, 401
ILLUSTRATION = 3
TARGETS = ("noise-free", "noisy")
ZOOM = 1.5
HIGH_MISS, LOW_MISS = 0.7, 0.2
GAIN, PARTIAL = "gain, %", "partial gain, %"
GAINS = "Gains, {} test targets"
SHOWN = "Gains of the illustration (data seed 3), noise-free test targets"
LIKELIHOOD = "Mean test log-likelihood"
SETTINGS: Settings = asdict(bayes_net.Settings())
QUICK: Settings = asdict(
    bayes_net.Settings(hidden=30, chains=2, warmup=150, draws=150, tree_depth=6, steps=1500, restarts=2,
                       hmc_iterations=600, hmc_burn_in=300, hmc_thinning=2, hmc_step=2e-3)
)  # fmt: skip


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


def work(seed: int, settings: Settings) -> Work:
    """Each method is a part; the paper's own HMC (five million gradients) is for the illustration only."""
    methods = ("VI", "NUTS", "HMC") if seed == ILLUSTRATION else ("VI", "NUTS")
    return {method: partial(fitted, method, seed, settings) for method in methods}


def intervals(part: Arrays, targets: str = "noise-free", within: float = OUTER) -> Intervals:
    """Return the predictive standard deviation as a band, at the test points with |x| up to `within`."""
    inside = np.abs(part["x"]) <= within
    return Intervals.from_std(part[targets][inside], *part["test"][:, inside])


def cells_of(parts: Parts) -> dict[Cell, float]:
    """Return gain and partial gain of each method for both kinds of targets, and the log-likelihoods."""
    cells: dict[Cell, float] = {}
    for method, part in parts.items():
        for targets in TARGETS:
            curve = UCC(intervals(part, targets))
            values = {GAIN: 100 * curve.gain(), PARTIAL: 100 * curve.gain(miss_rate=(0, 0.5))}
            cells |= {(GAINS.format(targets), method, m): v for m, v in values.items() if method != "HMC"}
            if "HMC" in parts and targets == "noise-free":
                cells |= {(SHOWN, method, measure): value for measure, value in values.items()}
            cells[LIKELIHOOD, method, targets] = float(part[f"log-likelihood {targets}"])
    return cells


def judge(parts: Parts, seed: int) -> Findings:
    """Judge VI and HMC (by NUTS), each against its own constant band."""
    del seed
    cells = cells_of(parts)
    zoomed = intervals(parts["NUTS"], within=ZOOM)
    claims: dict[str, dict[str, bool]] = {}
    for targets in TARGETS:
        gain, part = (
            {method: cells[GAINS.format(targets), method, measure] for method in ("VI", "NUTS")}
            for measure in (GAIN, PARTIAL)
        )
        claims[f"Table 1, {targets} test targets"] = {
            "VI's gain is negative": gain["VI"] < 0,
            "HMC's gain is positive": gain["NUTS"] > 0,
            "HMC's gain exceeds VI's": gain["NUTS"] > gain["VI"],
            "HMC's partial gain is positive, VI's negative": part["NUTS"] > 0 > part["VI"],
            "HMC's partial gain exceeds VI's": part["NUTS"] > part["VI"],
        }
        higher = cells[LIKELIHOOD, "VI", targets] > cells[LIKELIHOOD, "NUTS", targets]
        claims[f"Sec. 1, {targets} test targets"] = {"VI's test log-likelihood is higher than HMC's": higher}
    crosses = crossing(zoomed, zoomed.constant(), axes=BM)
    claims["Sec. 4.1"] = {"In the gap the curves of HMC and of its constant band cross": crosses}
    models = beside_constants({name: intervals(parts[name]) for name in ("VI", "NUTS")})
    return Findings(cells, claims, models, orders=((constant("VI"), "VI"), ("NUTS", constant("NUTS"))))


def fits_figure(parts: Parts) -> Drawing:
    """Draw prediction and two standard deviations of each method over the data."""
    figure, panels = canvas(len(parts), width=4.4, height=3.6)
    for ax, (method, part) in zip(panels, parts.items(), strict=True):
        x, mean, std = part["grid"]
        label = "two standard deviations"
        ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=PALETTE[0], alpha=0.25, linewidth=0, label=label)
        ax.plot(x, mean, color=PALETTE[0], label="prediction")
        ax.plot(x, 0.1 * x**3, "--", color=PALETTE[1], label="truth")
        ax.plot(*part["train"], ".", color=GREY, label="training points")
        score = float(part["log-likelihood noisy"])
        ax.set(xlabel="x", ylabel="y", ylim=(-5.5, 5.5))
        ax.set_title(f"{method}, test log-likelihood {score:.2f}", fontsize=10)
        ax.legend(frameon=False, fontsize=8, loc="upper left")
    return Drawing("bnn-fits", figure)


def zoom_figure(part: Arrays) -> Drawing:
    """Draw the gap with the operating points A to D: intervals at two miss rates, and the curves that cross between."""
    iv = intervals(part, within=ZOOM)
    x = part["x"][np.abs(part["x"]) <= ZOOM]
    order = np.argsort(x)
    figure, (*panels, right) = canvas(3, width=4.3, height=3.6)
    models = {"HMC": (iv, "AB", PALETTE[0], "-"), "Constant": (iv.constant(), "CD", GREY, "--")}
    draw_curves(right, {name: shown for name, (shown, *_) in models.items()})
    for place, (ax, miss) in enumerate(zip(panels, (HIGH_MISS, LOW_MISS), strict=True)):
        for name, (shown, letters, color, style) in models.items():
            point, letter = UCC(shown).find(miss_rate=miss), letters[place]
            scaled = shown.calibrated(scale=point.scale)
            bounds = np.stack([scaled.lower[order], scaled.upper[order]], axis=1)
            label = f"{letter}: {name}, bandwidth {point.bandwidth:.2f}"
            ax.plot(x[order], bounds, color=color, linestyle=style, linewidth=1.5, label=[label, None])
            at = point.bandwidth, point.miss_rate
            right.plot(*at, "o", color=color, zorder=4)
            right.annotate(letter, at, xytext=(5, 5), textcoords="offset points", fontweight="bold")
        ax.plot(x[order], iv.y_true[order], ".", color=PALETTE[1], markersize=4, label="observations")
        ax.set(xlabel="x", ylabel="y")
        ax.set_title(f"miss rate {miss:.1f}", fontsize=10)
        ax.legend(frameon=False, fontsize=7, loc="upper left")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.45 * (high - low))
    return Drawing("bnn-zoom", figure)


def draw(parts: Parts) -> Iterator[Drawing]:
    """Yield fits and the zoomed crossing."""
    yield fits_figure(parts)
    yield zoom_figure(parts["NUTS"])


EXPERIMENT = Experiment(
    name="bnn",
    readings={FIRST: Reading(work, judge)},
    draw=draw,
    settings=SETTINGS,
    quick_settings=QUICK,
    seeds=tuple(range(12)),
    quick_seeds=(ILLUSTRATION,),
    stack=("jax", "numpyro", "optax"),
    illustration=ILLUSTRATION,
)
