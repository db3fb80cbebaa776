"""Sequence-to-sequence LSTM forecasters that also say how wrong they may be, in JAX and optax.

An encoder reads the past hours, a decoder writes the coming ones from the calendar and its own previous prediction.
All kinds share that body: `meta` learns its absolute error with a second LSTM, `online` does so with the observed error
of the hour before as one more input, `variance` predicts a log-variance under the Gaussian likelihood, `dropout` keeps
its dropout masks on and uses the spread of many passes.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from .experiment import Floats, Settings

Kind = Literal["meta", "online", "variance", "dropout"]
Weights = dict[str, Array]
Params = dict[str, Weights]
State = tuple[Array, Array]  # output and cell of an LSTM layer
Fit = tuple[Params, optax.OptState]
# One dropout mask per sequence for inputs, states and outputs, as Gal and Ghahramani keep them.
Masks = Mapping[str, Array | float]
NO_MASKS: Masks = dict.fromkeys(("past", "encoder", "calendar", "decoder", "output"), 1.0)
LOG_VARIANCE = (-9.0, 4.0)
SMALLEST_BAND = 1e-3


class Windows(NamedTuple):
    """A batch: what the encoder reads, the calendar of the coming hours, their values, and which were observed."""

    past: Array
    calendar: Array
    target: Array
    observed: Array


def scaled(key: Array, *shape: int) -> Array:
    """Return random weights that keep the size of their inputs."""
    return jax.random.normal(key, shape) * float((1.0 / shape[0]) ** 0.5)


def lstm_weights(key: Array, inputs: int, hidden: int) -> Weights:
    """Return the weights of one LSTM layer; the forget gate starts open."""
    left, right = jax.random.split(key)
    open_gate = jnp.zeros(4 * hidden).at[hidden : 2 * hidden].set(1.0)
    return {
        "x": scaled(left, inputs, 4 * hidden),
        "h": scaled(right, hidden, 4 * hidden),
        "b": open_gate,
    }


def initial(key: Array, kind: Kind, settings: Settings, windows: Windows) -> Params:
    """Return fresh weights of a forecaster for windows like these."""
    keys, hidden, meta_hidden = (
        jax.random.split(key, 5),
        settings["hidden"],
        settings["meta_hidden"],
    )
    past, calendar = windows.past.shape[2], windows.calendar.shape[2]
    params = {
        "encoder": lstm_weights(keys[0], past, hidden),
        "decoder": lstm_weights(keys[1], calendar + 1, hidden),
        "mean": {"w": scaled(keys[2], hidden), "b": jnp.zeros(())},
    }
    if kind == "variance":
        params["log_variance"] = {"w": scaled(keys[3], hidden), "b": jnp.zeros(())}
    if kind in ("meta", "online"):
        params["meta"] = lstm_weights(
            keys[3], hidden + calendar + 1 + (kind == "online"), meta_hidden
        )
        params["band"] = {"w": scaled(keys[4], meta_hidden), "b": jnp.zeros(())}
    return params


def step(weights: Weights, state: State, drive: Array, mask: Array | float) -> State:
    """Take one LSTM step: `drive` is the input's share of the gates, `mask` acts on the recurrent state."""
    h, c = state
    take, forget, candidate, out = jnp.split(drive + (h * mask) @ weights["h"], 4, axis=-1)
    c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(take) * jnp.tanh(candidate)
    return jax.nn.sigmoid(out) * jnp.tanh(c), c


def run_lstm(weights: Weights, inputs: Array, mask: Array | float = 1.0) -> tuple[State, Array]:
    """Return the last state and all outputs (time first) of a layer over `inputs` (batch, time, columns)."""
    drive = jnp.swapaxes(inputs @ weights["x"] + weights["b"], 0, 1)
    zero = jnp.zeros((inputs.shape[0], weights["h"].shape[0]))

    def tick(state: State, x: Array) -> tuple[State, Array]:
        state = step(weights, state, x, mask)
        return state, state[0]

    return jax.lax.scan(tick, (zero, zero), drive)


def decode(
    params: Params, state: State, last: Array, calendar: Array, masks: Masks
) -> tuple[Array, Array]:
    """Return outputs and predictions (time first); each step sees the calendar and the previous prediction."""
    weights, head = params["decoder"], params["mean"]
    drive = jnp.swapaxes((calendar * masks["calendar"]) @ weights["x"][:-1] + weights["b"], 0, 1)

    def tick(carry: tuple[State, Array], x: Array) -> tuple[Any, tuple[Array, Array]]:
        state, previous = carry
        state = step(weights, state, x + previous[:, None] * weights["x"][-1], masks["decoder"])
        value = (state[0] * masks["output"]) @ head["w"] + head["b"]
        return (state, value), (state[0], value)

    return jax.lax.scan(tick, (state, last), drive)[1]


def previous_errors(windows: Windows, values: Array) -> Array:
    """Return the error of the hour before (batch, hours): 0 for the first hour, and where it was not observed."""
    errors = (windows.target - values) * windows.observed
    return jax.lax.stop_gradient(jnp.pad(errors[:, :-1], ((0, 0), (1, 0))))


def forecast(
    params: Params, windows: Windows, masks: Masks, kind: Kind
) -> tuple[Array, Array | None]:
    """Return predictions and bands, both (batch, hours); `dropout` has no band of its own."""
    state, _ = run_lstm(params["encoder"], windows.past * masks["past"], masks["encoder"])
    outputs, steps = decode(params, state, windows.past[:, -1, 0], windows.calendar, masks)
    values, band = steps.T, None
    if kind == "variance":
        head = params["log_variance"]
        band = jnp.exp(0.5 * jnp.clip(outputs @ head["w"] + head["b"], *LOG_VARIANCE)).T
    if kind in ("meta", "online"):
        seen = [jnp.swapaxes(outputs, 0, 1), windows.calendar, values[..., None]]
        seen += [previous_errors(windows, values)[..., None]] if kind == "online" else []
        _, hidden = run_lstm(params["meta"], jnp.concatenate(seen, axis=-1))
        band = (
            jax.nn.softplus(hidden @ params["band"]["w"] + params["band"]["b"]) + SMALLEST_BAND
        ).T
    return values, band


def draw_masks(key: Array, windows: Windows, settings: Settings) -> Masks:
    """Return fresh dropout masks for a batch, scaled so that their mean is 1."""
    batch, keep = windows.past.shape[0], 1.0 - settings["dropout"]
    state = batch, settings["hidden"]
    shapes = [
        (batch, 1, windows.past.shape[2]),
        state,
        (batch, 1, windows.calendar.shape[2]),
        state,
        state,
    ]
    keys = jax.random.split(key, len(shapes))
    masks = (
        jax.random.bernoulli(k, keep, shape) / keep for k, shape in zip(keys, shapes, strict=True)
    )
    return dict(zip(NO_MASKS, masks, strict=True))


def loss(params: Params, key: Array, windows: Windows, kind: Kind, settings: Settings) -> Array:
    """Return the mean loss of the observed hours; with a meta model error over band, plus the band's squared error."""
    masks = draw_masks(key, windows, settings) if kind == "dropout" else NO_MASKS
    values, band = forecast(params, windows, masks, kind)
    error = windows.target - values
    if band is None:
        rows = error**2
    elif kind == "variance":
        rows = 0.5 * (error / band) ** 2 + jnp.log(band)
    else:
        size = jnp.abs(error)
        rows = 0.1 * size / jax.lax.stop_gradient(band) + (band - jax.lax.stop_gradient(size)) ** 2
    return jnp.sum(rows * windows.observed) / jnp.sum(windows.observed)


def optimiser(settings: Settings) -> optax.GradientTransformation:
    """Return AdamW with a one-cycle rate and clipped gradients."""
    rate = optax.cosine_onecycle_schedule(settings["updates"], settings["peak_rate"])
    decay = optax.adamw(rate, weight_decay=settings["weight_decay"])
    return optax.chain(optax.clip_by_global_norm(settings["clip"]), decay)


@partial(jax.jit, static_argnames=("kind", "settings"))
def update(fit: Fit, key: Array, windows: Windows, *, kind: Kind, settings: Settings) -> Fit:
    """Take one training step."""
    params, memory = fit
    change, memory = optimiser(settings).update(
        jax.grad(loss)(params, key, windows, kind, settings), memory, params
    )
    return optax.apply_updates(params, change), memory


def train(batches: Iterator[Windows], kind: Kind, settings: Settings, *, seed: int) -> Params:
    """Return the weights after all updates, each with the next of the batches."""
    key, windows = jax.random.key(seed), next(batches)
    params = initial(key, kind, settings, windows)
    fit = params, optimiser(settings).init(params)
    for index in range(settings["updates"]):
        fit = update(fit, jax.random.fold_in(key, index), windows, kind=kind, settings=settings)
        windows = next(batches)
    return fit[0]


@partial(jax.jit, static_argnames="settings")
def sample(params: Params, key: Array, windows: Windows, settings: Settings) -> tuple[Array, Array]:
    """Return mean and spread of many passes with fresh dropout masks."""

    def once(key: Array) -> Array:
        return forecast(params, windows, draw_masks(key, windows, settings), "dropout")[0]

    values = jax.lax.map(once, jax.random.split(key, settings["passes"]))
    return values.mean(axis=0), values.std(axis=0)


def predict(
    params: Params, windows: Windows, kind: Kind, settings: Settings, *, seed: int
) -> tuple[Floats, Floats]:
    """Return predictions and bands (windows, hours) of a trained forecaster."""
    if kind == "dropout":
        value, band = sample(params, jax.random.key(seed), windows, settings)
    else:
        value, band = jax.jit(forecast, static_argnames="kind")(
            params, windows, NO_MASKS, kind=kind
        )
    return np.asarray(value, dtype=np.float64), np.asarray(band, dtype=np.float64)
