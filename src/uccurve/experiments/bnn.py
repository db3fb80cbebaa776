"""A Bayesian network fitted by variational inference and by Hamiltonian Monte Carlo (Section 1 and 4.1, Appendix F)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

import numpy as np

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE

from .bayes_net import Settings as Network
from .experiment import Cell, Claim, Drawing, Experiment, Parts, Settings, Verdict
from .figures import canvas, draw_curves
from .store import Arrays
from .summary import BM, crossing
from .trees import Floats

INNER, OUTER = 1.0, 3.1
TRAIN, TEST, GRID = 70, 154, 401
ILLUSTRATION = 3
TARGETS = ("noise-free", "noisy")
ZOOM = 1.5
HIGH_MISS, LOW_MISS = 0.7, 0.2
GAINS = "Gains, {} test targets"
SHOWN = "Gains of the illustration (data seed 3), noise-free test targets"
LIKELIHOOD = "Mean test log-likelihood"
SETTINGS: Settings = asdict(Network())
QUICK: Settings = asdict(
    Network(hidden=30, chains=2, warmup=150, draws=150, tree_depth=6, steps=1500, restarts=2, hmc_iterations=600,
            hmc_burn_in=300, hmc_thinning=2, hmc_step=2e-3)
)  # fmt: skip


def data(seed: int, noise: float) -> Arrays:
    """Cubic with noise: training points on both sides of a gap, test points everywhere, with and without noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(INNER, OUTER, TRAIN) * rng.choice([-1.0, 1.0], TRAIN)
    x_test = rng.uniform(-OUTER, OUTER, TEST)
    y = 0.1 * x**3 + rng.normal(0.0, noise, TRAIN)
    free = 0.1 * x_test**3
    return {"train": np.stack([x, y]), "x": x_test, "noise-free": free, "noisy": free + rng.normal(0.0, noise, TEST)}


def predictive(values: Floats, noise: float) -> Floats:
    """Mean and deviation, noise included, of the functions drawn."""
    return np.stack([values.mean(axis=0), np.sqrt(values.var(axis=0) + noise**2)])


def fitted(method: str, seed: int, settings: Settings) -> Arrays:
    """Predictive mean and deviation at the test points and on an even grid, and the test log-likelihoods."""
    import jax

    from . import bayes_net

    network = bayes_net.Settings(**settings)
    found = data(seed, network.noise)
    x, y = found["train"]
    if method == "VI":
        factors, bounds = bayes_net.variational(x, y, network, seed=seed)
        draws = network.chains * network.draws
        weights = bayes_net.variational_draws(factors, draws=draws, key=jax.random.key(seed + 1))
        found["evidence bounds"] = bounds
    else:
        weights = bayes_net.posterior_draws(x, y, network, seed=seed, kernel=method.lower())
    values = bayes_net.functions(weights, found["x"])
    grid = np.linspace(-OUTER, OUTER, GRID)
    found["test"] = predictive(values, network.noise)
    found["grid"] = np.stack([grid, *predictive(bayes_net.functions(weights, grid), network.noise)])
    for targets in ("noise-free", "noisy"):
        score = bayes_net.log_likelihood(values, found[targets], network.noise)
        found[f"log-likelihood {targets}"] = np.array(score)
    return found


def work(seed: int, settings: Settings) -> dict[str, Callable[[], Arrays]]:
    """One part a method; the paper's own HMC (five million gradients) only for the illustration."""
    methods = ("VI", "NUTS", "HMC") if seed == ILLUSTRATION else ("VI", "NUTS")
    return {method: lambda method=method: fitted(method, seed, settings) for method in methods}  # type: ignore[misc]


PAPER: dict[Cell, float] = {
    (table, method, measure): value
    for table, hamilton in (
        (GAINS.format("noise-free"), "NUTS"),
        (GAINS.format("noisy"), "NUTS"),
        (SHOWN, "HMC"),
        (SHOWN, "NUTS"),
    )
    for method, row in (("VI", (-4.3, -45.3)), (hamilton, (6.1, 72.7)))
    for measure, value in zip(("gain, %", "partial gain, %"), row, strict=True)
}


def intervals(part: Arrays, targets: str = "noise-free", within: float = OUTER) -> Intervals:
    """The predictive deviation as a band, at the test points with |x| up to `within`."""
    inside = np.abs(part["x"]) <= within
    return Intervals.from_std(part[targets][inside], *part["test"][:, inside])


def cells_of(parts: Parts) -> dict[Cell, float]:
    """Gain and partial gain of each method for both kinds of targets, and the log-likelihoods."""
    cells: dict[Cell, float] = {}
    for method, part in parts.items():
        for targets in TARGETS:
            curve = UCC(intervals(part, targets))
            values = {"gain, %": 100 * curve.gain(), "partial gain, %": 100 * curve.gain(miss_rate=(0, 0.5))}
            cells |= {(GAINS.format(targets), method, m): v for m, v in values.items() if method != "HMC"}
            if "HMC" in parts and targets == "noise-free":
                cells |= {(SHOWN, method, measure): value for measure, value in values.items()}
            cells[LIKELIHOOD, method, targets] = float(part[f"log-likelihood {targets}"])
    return cells


def judge(parts: Parts, seed: int) -> Verdict:
    """Gains of VI and of HMC (by NUTS), each against its own constant band."""
    del seed
    cells = cells_of(parts)
    claims = []
    for targets in TARGETS:
        table, where = GAINS.format(targets), f"Table 1, {targets} test targets"
        gain = {(m, k): cells[table, m, k] for m in ("VI", "NUTS") for k in ("gain, %", "partial gain, %")}
        claims += [
            Claim("VI's gain is negative", where, gain["VI", "gain, %"] < 0),
            Claim("HMC's gain is positive", where, gain["NUTS", "gain, %"] > 0),
            Claim("HMC's gain exceeds VI's", where, gain["NUTS", "gain, %"] > gain["VI", "gain, %"]),
            Claim(
                "HMC's partial gain is positive, VI's negative",
                where,
                gain["NUTS", "partial gain, %"] > 0 > gain["VI", "partial gain, %"],
            ),
            Claim(
                "HMC's partial gain exceeds VI's",
                where,
                gain["NUTS", "partial gain, %"] > gain["VI", "partial gain, %"],
            ),
            Claim(
                "VI's test log-likelihood is higher than HMC's",
                f"Sec. 1, {targets} test targets",
                cells[LIKELIHOOD, "VI", targets] > cells[LIKELIHOOD, "NUTS", targets],
            ),
        ]
    zoomed = intervals(parts["NUTS"], within=ZOOM)
    claims.append(
        Claim(
            "In the gap the curves of HMC and of its constant band cross",
            "Sec. 4.1",
            crossing(zoomed, zoomed.constant(), axes=BM),
        )
    )
    return Verdict(cells, tuple(claims))


def fits_figure(parts: Mapping[str, Arrays]) -> Drawing:
    """Prediction and two deviations of each method over the data."""
    figure, panels = canvas(len(parts), width=4.4, height=3.6)
    for ax, (method, part) in zip(panels, parts.items(), strict=True):
        x, mean, deviation = part["grid"]
        ax.fill_between(
            x,
            mean - 2 * deviation,
            mean + 2 * deviation,
            color=PALETTE[0],
            alpha=0.25,
            linewidth=0,
            label="two deviations",
        )
        ax.plot(x, mean, color=PALETTE[0], label="prediction")
        ax.plot(x, 0.1 * x**3, "--", color=PALETTE[1], label="truth")
        ax.plot(*part["train"], ".", color=GREY, label="training points")
        score = float(part["log-likelihood noisy"])
        ax.set(title=f"{method}, test log-likelihood {score:.2f}", xlabel="x", ylabel="y", ylim=(-5.5, 5.5))
        ax.title.set_fontsize(10)
        ax.legend(frameon=False, fontsize=8, loc="upper left")
    return Drawing(
        "bnn-fits",
        figure,
        "A Bayesian network with a gap in its training data, by variational inference and by Hamiltonian Monte Carlo "
        "(the paper's Figure 1); data seed 3.",
    )


def zoom_figure(part: Arrays) -> Drawing:
    """The gap with the operating points A to D: intervals at two miss rates, and the curves that cross between them."""
    iv = intervals(part, within=ZOOM)
    flat = iv.constant()
    x = part["x"][np.abs(part["x"]) <= ZOOM]
    order = np.argsort(x)
    figure, (*panels, right) = canvas(3, width=4.3, height=3.6)
    marks = {("HMC", HIGH_MISS): "A", ("HMC", LOW_MISS): "B", ("Constant", HIGH_MISS): "C", ("Constant", LOW_MISS): "D"}
    draw_curves(right, {"HMC": iv, "Constant": flat})
    for ax, miss in zip(panels, (HIGH_MISS, LOW_MISS), strict=True):
        for name, shown, style in (
            ("HMC", iv, {"color": PALETTE[0]}),
            ("Constant", flat, {"color": GREY, "linestyle": "--"}),
        ):
            point = UCC(shown).find(miss_rate=miss)
            label = marks[name, miss]
            scaled = shown.calibrated(scale=point.scale)
            for index, bound in enumerate((scaled.lower, scaled.upper)):
                ax.plot(
                    x[order],
                    bound[order],
                    **style,
                    linewidth=1.5,
                    label=None if index else f"{label}: {name}, bandwidth {point.bandwidth:.2f}",
                )
            right.plot(point.bandwidth, point.miss_rate, "o", color=style["color"], zorder=4)
            right.annotate(
                label, (point.bandwidth, point.miss_rate), xytext=(5, 5), textcoords="offset points", fontweight="bold"
            )
        ax.plot(x[order], iv.y_true[order], ".", color=PALETTE[1], markersize=4, label="observations")
        ax.set(title=f"miss rate {miss:.1f}", xlabel="x", ylabel="y")
        ax.title.set_fontsize(10)
        ax.legend(frameon=False, fontsize=7, loc="upper left")
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.45 * (high - low))
    return Drawing(
        "bnn-zoom",
        figure,
        "The gap of the network's data, |x| up to 1.5: at a high miss rate (A, C) HMC needs more bandwidth than the "
        "constant band, at a low one (B, D) less, so the curves cross (the paper's Figure 8); noise-free targets, "
        "data seed 3, HMC by NUTS.",
    )


def draw(parts: Parts) -> Iterator[Drawing]:
    """Fits and the zoomed crossing."""
    yield fits_figure(parts)
    yield zoom_figure(parts["NUTS"])


EXPERIMENT = Experiment(
    name="bnn",
    title="Bayesian network: variational inference against HMC",
    work=work,
    judge=judge,
    draw=draw,
    paper=PAPER,
    seeds=tuple(range(12)),
    quick_seeds=(ILLUSTRATION,),
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("jax", "numpyro", "optax"),
    illustration=ILLUSTRATION,
    reasons={
        GAINS.format(
            "noise-free"
        ): "The paper's conclusion, VI loses and HMC gains, holds in about half of the data seeds.",
        GAINS.format(
            "noisy"
        ): "With noise in the test targets it reverses: the noise has one size everywhere, so the band "
        "that doubts the gap is worse than the constant one.",
        SHOWN: "The data seed that comes nearest to the paper. HMC is the paper's own sampler (fixed step, one chain,"
        " 500 "
        "draws), NUTS the same posterior sampled well.",
    },
)
