"""A Bayesian network fitted by variational inference and by Hamiltonian Monte Carlo (Sections 1 and 4.1).

    y = w2 . relu(w1 x + b1) + b2 + noise,    every weight N(0, 1) a priori, noise sd given

NUTS and HMC are NumPyro's; the variational one is written in JAX because its restarts run at once under `vmap` and
each starts from a good place, which NumPyro's automatic guide does not.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from uccurve import UCC, Intervals
from uccurve.plots._drawing import GREY, PALETTE, mark_in_view

from .bands import BM, beside_constants, crossing
from .experiment import Arrays, Cells, Experiment, Findings, Floats, Parts, Settings, row
from .figures import Figures, canvas, draw_curves, draw_fit

Weights = dict[str, Array]
Factors = tuple[Weights, Weights]  # means and log standard deviations of the factorised posterior

INNER, OUTER = 1.0, 3.1
TRAIN, TEST, GRID = 70, 154, 401
TARGETS = ("noise-free", "noisy")
ZOOM = 1.5
GAIN, PARTIAL = "gain, %", "partial gain, %"
GAINS = "Gains, {} test targets"
SHOWN = "Gains of the illustration (data seed 3), noise-free test targets"
LIKELIHOOD = "Mean test log-likelihood"


# ---- the network and its posterior


def output(weights: Weights, x: Array) -> Array:
    """Return the network's output at `x`."""
    return jax.nn.relu(x[:, None] * weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def fresh_weights(key: Array, hidden: int) -> Weights:
    """Return starting weights: the first layer from the prior, the second small enough for a moderate output."""
    w1, b1, w2 = (jax.random.normal(one, (hidden,)) for one in jax.random.split(key, 3))
    return {"w1": w1, "b1": b1, "w2": w2 / hidden**0.5, "b2": jnp.zeros(())}


def posterior_draws(x: Array, y: Array, settings: Settings, *, seed: int, kernel: str) -> Weights:
    """Return draws of the weights by `NUTS` or by the paper's `HMC` (fixed step, unit mass, one chain, thinned)."""
    from numpyro.infer import HMC, MCMC, NUTS

    noise: float = settings["noise"]

    def potential(weights: Weights) -> Array:
        fit = jnp.sum((y - output(weights, x)) ** 2) / noise**2
        return 0.5 * (fit + sum(jnp.sum(w**2) for w in weights.values()))

    first, *keys = jax.random.split(jax.random.key(seed), settings["chains"] + 1)
    if kernel == "NUTS":
        method = NUTS(potential_fn=potential, max_tree_depth=settings["tree_depth"])
        warmup, draws, thinning = settings["warmup"], settings["draws"], 1
    else:
        # Without trajectory_length=None NumPyro keeps its default length of 2 pi and ignores num_steps.
        fixed: dict[str, Any] = {
            "trajectory_length": None,
            "adapt_step_size": False,
            "adapt_mass_matrix": False,
        }
        size = {"step_size": settings["hmc_step"], "num_steps": settings["hmc_leapfrog"]}
        method, keys = HMC(potential_fn=potential, **size, **fixed), keys[:1]
        warmup, thinning = settings["hmc_burn_in"], settings["hmc_thinning"]
        draws = settings["hmc_iterations"] - warmup
    starts = [fresh_weights(key, settings["hidden"]) for key in keys]
    start = jax.tree.map(lambda *each: jnp.stack(each), *starts) if len(starts) > 1 else starts[0]
    chains: Any = {"num_chains": len(starts), "chain_method": "sequential", "thinning": thinning}
    mcmc = MCMC(method, num_warmup=warmup, num_samples=draws, **chains, progress_bar=False)
    mcmc.run(first, init_params=start)
    return dict(mcmc.get_samples())


def variational_draws(factors: Factors, *, draws: int, key: Array) -> Weights:
    """Return weights drawn from the factorised posterior."""
    mean, log_scale = factors
    keys = dict(zip(mean, jax.random.split(key, len(mean)), strict=True))
    return {
        name: value
        + jnp.exp(log_scale[name]) * jax.random.normal(keys[name], (draws, *value.shape))
        for name, value in mean.items()
    }


def elbo(factors: Factors, key: Array, x: Array, y: Array, settings: Settings) -> Array:
    """Return the evidence lower bound from some draws; the divergence from the prior is exact."""
    (mean, log_scale), noise = factors, float(settings["noise"])
    draws = variational_draws(factors, draws=settings["samples"], key=key)
    values = jax.vmap(output, in_axes=(0, None))(draws, x)
    fit = -0.5 * jnp.sum((y - values) ** 2, axis=-1).mean() / noise**2
    gap = sum(
        jnp.sum(jnp.exp(2 * log_scale[n]) + mean[n] ** 2 - 1 - 2 * log_scale[n]) for n in mean
    )
    return fit - 0.5 * gap


@partial(jax.jit, static_argnames="settings")
def climb(key: Array, x: Array, y: Array, settings: Settings) -> tuple[Factors, Array]:
    """Return the factors of one restart after all Adam steps, and their bound over the last tenth."""
    mean, steps = fresh_weights(key, settings["hidden"]), settings["steps"]
    start = mean, jax.tree.map(lambda m: jnp.full_like(m, np.log(settings["initial_scale"])), mean)
    adam = optax.adam(optax.cosine_decay_schedule(settings["rate"], steps, alpha=0.02))

    def tick(carry: tuple[Factors, Any], key: Array) -> tuple[tuple[Factors, Any], Array]:
        factors, memory = carry
        value, slope = jax.value_and_grad(lambda f: -elbo(f, key, x, y, settings))(factors)
        change, memory = adam.update(slope, memory)
        return (optax.apply_updates(factors, change), memory), -value

    keys = jax.random.split(jax.random.fold_in(key, 1), steps)
    (factors, _), bounds = jax.lax.scan(tick, (start, adam.init(start)), keys)
    return factors, bounds[-steps // 10 :].mean()


def variational(x: Array, y: Array, settings: Settings, *, seed: int) -> Factors:
    """Return the restart with the highest evidence bound."""
    keys = jax.random.split(jax.random.key(seed), settings["restarts"])
    factors, bounds = jax.vmap(lambda key: climb(key, x, y, settings))(keys)
    mean, log_scale = jax.tree.map(lambda a: a[int(jnp.argmax(bounds))], factors)
    return mean, log_scale


def functions(weights: Weights, x: Floats) -> Floats:
    """Return the network's output (draws, points) for every draw of the weights."""
    values = jax.jit(jax.vmap(output, in_axes=(0, None)))(weights, jnp.asarray(x, jnp.float32))
    return np.asarray(values, dtype=np.float64)


def log_likelihood(values: Floats, y: Floats, noise: float) -> float:
    """Return the mean log predictive density of `y` under the draws `values`."""
    density = -0.5 * ((y - values) / noise) ** 2 - np.log(noise * np.sqrt(2 * np.pi))
    peak = density.max(axis=0)
    return float(np.mean(peak + np.log(np.mean(np.exp(density - peak), axis=0))))


# ---- the experiment


def data(seed: int, noise: float) -> Arrays:
    """Return a noisy cubic: training points on both sides of a gap, test points everywhere, with and without noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(INNER, OUTER, TRAIN) * rng.choice([-1.0, 1.0], TRAIN)
    x_test = rng.uniform(-OUTER, OUTER, TEST)
    y = 0.1 * x**3 + rng.normal(0.0, noise, TRAIN)
    free = 0.1 * x_test**3
    return {
        "train": np.stack([x, y]),
        "x": x_test,
        "noise-free": free,
        "noisy": free + rng.normal(0.0, noise, TEST),
    }


def fitted(method: str, seed: int, settings: Settings) -> Arrays:
    """Return predictive mean and standard deviation at the test points and on an even grid, and log-likelihoods."""
    found, noise = data(seed, settings["noise"]), settings["noise"]
    x, y = jnp.asarray(found["train"], jnp.float32)
    if method == "VI":
        factors, draws = (
            variational(x, y, settings, seed=seed),
            settings["chains"] * settings["draws"],
        )
        weights = variational_draws(factors, draws=draws, key=jax.random.key(seed + 1))
    else:
        weights = posterior_draws(x, y, settings, seed=seed, kernel=method)
    grid = np.linspace(-OUTER, OUTER, GRID)
    values = functions(weights, found["x"])
    test, even = (
        np.stack([drawn.mean(axis=0), np.sqrt(drawn.var(axis=0) + noise**2)])
        for drawn in (values, functions(weights, grid))
    )
    likelihoods = {
        f"log-likelihood {name}": np.array(log_likelihood(values, found[name], noise))
        for name in TARGETS
    }
    return {**found, "test": test, "grid": np.stack([grid, *even]), **likelihoods}


def intervals(part: Arrays, targets: str = "noise-free", within: float = OUTER) -> Intervals:
    """Return the predictive standard deviation as a band, at the test points with |x| up to `within`."""
    inside = np.abs(part["x"]) <= within
    return Intervals.from_std(part[targets][inside], *part["test"][:, inside])


def judge(_reading: str, parts: Parts, _seed: int) -> Findings:
    """Judge VI and HMC (by NUTS), each against its own constant band, for both kinds of targets."""
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
    zoomed = intervals(parts["NUTS"], within=ZOOM)
    claims = {"curves cross": crossing(zoomed, zoomed.constant(), axes=BM)}
    for targets in TARGETS:
        table = GAINS.format(targets)
        (vi, hmc), (vi_part, hmc_part) = (
            [cells[table, n, m] for n in ("VI", "NUTS")] for m in (GAIN, PARTIAL)
        )
        claims |= {
            f"VI loses, {targets}": vi < 0,
            f"HMC gains, {targets}": hmc > 0,
            f"HMC gains more, {targets}": hmc > vi,
            f"partial signs, {targets}": hmc_part > 0 > vi_part,
            f"HMC gains more in part, {targets}": hmc_part > vi_part,
            f"likelihood, {targets}": cells[LIKELIHOOD, "VI", targets]
            > cells[LIKELIHOOD, "NUTS", targets],
        }
    models = beside_constants({name: intervals(parts[name]) for name in ("VI", "NUTS")})
    return Findings(
        cells, claims, models, orders=(("Constant (VI)", "VI"), ("NUTS", "Constant (NUTS)"))
    )


def draw(parts: Parts) -> Figures:
    """Return each method's fit, and the gap: intervals at two miss rates (points A to D), and curves that cross."""
    fits, panels = canvas(len(parts))
    for ax, (method, part) in zip(panels, parts.items(), strict=True):
        x, mean, std = part["grid"]
        fit = {"two standard deviations": Intervals.from_std(0.1 * x**3, mean, 2 * std)}
        title = f"{method}, test log-likelihood {float(part['log-likelihood noisy']):.2f}"
        draw_fit(ax, x, 0.1 * x**3, fit, points=part["train"], title=title)
    part = parts["NUTS"]
    order = np.argsort(part["x"])
    order = order[np.abs(part["x"][order]) <= ZOOM]
    x, iv = part["x"][order], intervals(part)[order]
    zoom, (*panels, right) = canvas(3)
    models = {"HMC": iv, "Constant": iv.constant()}
    draw_curves(right, models)
    for ax, letters, miss in zip(panels, ("AC", "BD"), (0.7, 0.2), strict=True):
        shown = {}
        for letter, color, (name, one) in zip(
            letters, (PALETTE[0], GREY), models.items(), strict=True
        ):
            point = UCC(one).find(miss_rate=miss)
            shown[f"{letter}: {name}, bandwidth {point.bandwidth:.2f}"] = one.calibrated(
                scale=point.scale
            )
            mark_in_view(right, point.bandwidth, point.miss_rate, marker="o", color=color)
            right.annotate(
                f" {letter}", (point.bandwidth, point.miss_rate), fontweight="bold", va="bottom"
            )
        draw_fit(ax, x, iv.y_true, shown, title=f"miss rate {miss:.1f}")
    return {"bnn-fits": fits, "bnn-zoom": zoom}


EXPERIMENT = Experiment(
    "bnn", {method: partial(fitted, method) for method in ("VI", "NUTS", "HMC")}, judge, draw
)
