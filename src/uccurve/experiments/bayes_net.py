"""A Bayesian network with one hidden layer and three approximations of its posterior: NUTS, plain HMC, mean-field VI.

    y = w2 . relu(w1 x + b1) + b2 + noise,    every weight N(0, 1) a priori, noise sd given

NUTS and HMC are NumPyro's; the variational one is written in JAX because its restarts run at once under `vmap` and
each starts from a good place, which NumPyro's automatic guide does not.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from .findings import Floats

Weights = dict[str, Array]
Factors = tuple[Weights, Weights]  # means and log standard deviations of the factorised posterior


@dataclass(frozen=True, slots=True)
class Settings:
    """Network, noise and size of the inference."""

    hidden: int = 100
    noise: float = 0.5
    chains: int = 4
    warmup: int = 300
    draws: int = 500
    tree_depth: int = 8
    steps: int = 10_000
    restarts: int = 5
    samples: int = 20
    rate: float = 1e-2
    initial_scale: float = 0.02
    hmc_iterations: int = 50_000
    hmc_burn_in: int = 40_000
    hmc_thinning: int = 20
    hmc_step: float = 5e-4
    hmc_leapfrog: int = 100


def mean_function(weights: Weights, x: Array) -> Array:
    """Return the network's output at `x`."""
    return jax.nn.relu(x[:, None] * weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def log_joint(weights: Weights, x: Array, y: Array, noise: float) -> Array:
    """Return the log of likelihood times prior, up to a constant."""
    fit = jnp.sum((y - mean_function(weights, x)) ** 2) / noise**2
    return -0.5 * (fit + sum(jnp.sum(w**2) for w in weights.values()))


def fresh_weights(key: Array, hidden: int) -> Weights:
    """Return starting weights: the first layer from the prior, the second small enough for a moderate output."""
    keys = jax.random.split(key, 3)
    return {
        "w1": jax.random.normal(keys[0], (hidden,)),
        "b1": jax.random.normal(keys[1], (hidden,)),
        "w2": jax.random.normal(keys[2], (hidden,)) / hidden**0.5,
        "b2": jnp.zeros(()),
    }


def posterior_draws(x: Floats, y: Floats, settings: Settings, *, seed: int, kernel: str) -> Weights:
    """Return draws of the weights by `nuts` or by the paper's `hmc` (fixed step, unit mass, one chain, thinned)."""
    from numpyro.infer import HMC, MCMC, NUTS

    data = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)

    def potential(weights: Weights) -> Array:
        return -log_joint(weights, *data, settings.noise)

    keys = jax.random.split(jax.random.key(seed), settings.chains + 1)
    if kernel == "nuts":
        method = NUTS(potential_fn=potential, max_tree_depth=settings.tree_depth)
        length: dict[str, Any] = {"num_warmup": settings.warmup, "num_samples": settings.draws}
        chains: dict[str, Any] = {"num_chains": settings.chains, "chain_method": "sequential"}
        start = jax.vmap(partial(fresh_weights, hidden=settings.hidden))(keys[1:])
        start = start if settings.chains > 1 else jax.tree.map(lambda a: a[0], start)
    else:
        # Without trajectory_length=None NumPyro keeps its default length of 2 pi and ignores num_steps.
        fixed: dict[str, Any] = {"trajectory_length": None, "adapt_step_size": False, "adapt_mass_matrix": False}
        method = HMC(potential_fn=potential, step_size=settings.hmc_step, num_steps=settings.hmc_leapfrog, **fixed)
        kept = settings.hmc_iterations - settings.hmc_burn_in
        length, chains = {"num_warmup": settings.hmc_burn_in, "num_samples": kept}, {"thinning": settings.hmc_thinning}
        start = fresh_weights(keys[1], settings.hidden)
    mcmc = MCMC(method, **length, **chains, progress_bar=False)
    mcmc.run(keys[0], init_params=start)
    draws: Weights = mcmc.get_samples()
    return draws


def variational_draws(factors: Factors, *, draws: int, key: Array) -> Weights:
    """Return weights drawn from the factorised posterior."""
    mean, log_scale = factors
    keys = dict(zip(mean, jax.random.split(key, len(mean)), strict=True))
    return {
        name: value + jnp.exp(log_scale[name]) * jax.random.normal(keys[name], (draws, *value.shape))
        for name, value in mean.items()
    }


def elbo(factors: Factors, key: Array, x: Array, y: Array, settings: Settings) -> Array:
    """Return the evidence lower bound from `settings.samples` draws; the divergence from the prior is exact."""
    mean, log_scale = factors
    draws = variational_draws(factors, draws=settings.samples, key=key)
    output = jax.vmap(mean_function, in_axes=(0, None))(draws, x)
    fit = -0.5 * jnp.sum((y - output) ** 2, axis=-1).mean() / settings.noise**2
    gap = sum(jnp.sum(jnp.exp(2 * log_scale[n]) + mean[n] ** 2 - 1 - 2 * log_scale[n]) for n in mean)
    return fit - 0.5 * gap


@partial(jax.jit, static_argnames="settings")
def climb(key: Array, x: Array, y: Array, settings: Settings) -> tuple[Factors, Array]:
    """Return the factors of one restart after `settings.steps` Adam steps, and their bound over the last tenth."""
    mean = fresh_weights(key, settings.hidden)
    start = mean, jax.tree.map(lambda m: jnp.full_like(m, np.log(settings.initial_scale)), mean)
    adam = optax.adam(optax.cosine_decay_schedule(settings.rate, settings.steps, alpha=0.02))

    def tick(carry: tuple[Factors, Any], key: Array) -> tuple[tuple[Factors, Any], Array]:
        factors, memory = carry
        value, slope = jax.value_and_grad(lambda f: -elbo(f, key, x, y, settings))(factors)
        change, memory = adam.update(slope, memory)
        return (optax.apply_updates(factors, change), memory), -value

    keys = jax.random.split(jax.random.fold_in(key, 1), settings.steps)
    (factors, _), bounds = jax.lax.scan(tick, (start, adam.init(start)), keys)
    return factors, bounds[-settings.steps // 10 :].mean()


def variational(x: Floats, y: Floats, settings: Settings, *, seed: int) -> tuple[Factors, Floats]:
    """Return the restart with the highest evidence bound, and the bounds of all."""
    keys = jax.random.split(jax.random.key(seed), settings.restarts)
    data = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
    factors, bounds = jax.vmap(lambda key: climb(key, *data, settings))(keys)
    best = int(jnp.argmax(bounds))
    return jax.tree.map(lambda a: a[best], factors), np.asarray(bounds, dtype=np.float64)


def functions(weights: Weights, x: Floats) -> Floats:
    """Return the network's output (draws, points) for every draw of the weights."""
    values = jax.jit(jax.vmap(mean_function, in_axes=(0, None)))(weights, jnp.asarray(x, jnp.float32))
    return np.asarray(values, dtype=np.float64)


def log_likelihood(values: Floats, y: Floats, noise: float) -> float:
    """Return the mean log predictive density of `y` under the draws `values`."""
    density = -0.5 * ((y - values) / noise) ** 2 - np.log(noise * np.sqrt(2 * np.pi))
    peak = density.max(axis=0)
    return float(np.mean(peak + np.log(np.mean(np.exp(density - peak), axis=0))))
