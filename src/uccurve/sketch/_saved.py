"""Sketch JSON: a sketch as text, and the checks that refuse any text that cannot be the sketch of some rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array

from ._bins import ARRAYS, OCTAVES, RESOLUTIONS, Histogram, Integers, bins, bits, last, lower_ends
from ._state import COUNTS, SUMS, TOTALS, State

FORMAT = "uccurve sketch"
VERSION = 2
HEAD = {"format": FORMAT, "version": VERSION, "octaves": OCTAVES}
LONGEST = 2**27
"""Maximum number of characters that is read; the largest sketch has fewer."""
ROUNDING = 1e-6
"""Relative error that sums of many rows may have."""


def to_json(state: State) -> str:
    """Write a sketch: single numbers first, then the arrays of each histogram; infinity is null."""
    body: dict[str, Any] = HEAD | {"bits": bits(state.resolution)}
    body |= {name: getattr(state, name) for name in ("weighted", *COUNTS, *TOTALS)}
    for name, found in state.histograms.items():
        body[name] = {key: _plain(values) for key, values in found.arrays.items()}
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    return [None if value == np.inf else value for value in values.tolist()]


def from_json(text: str | bytes) -> State:
    """Read a sketch; ValueError where the text is not one."""
    body = _object(text)
    for name, value in HEAD.items():
        if body.get(name) != value or isinstance(body.get(name), bool):
            raise _refusal(f"`{name}` must be {value!r}, as this version of uccurve writes it")
    resolution = next((one for one in RESOLUTIONS if body.get("bits") == bits(one)), None)
    if resolution is None:
        raise _refusal(f"`bits` must be one of {', '.join(str(bits(one)) for one in RESOLUTIONS)}")
    expected = {*HEAD, "bits", "weighted", *COUNTS, *TOTALS, *SUMS}
    if set(body) != expected:
        raise _refusal(f"its names must be {', '.join(sorted(expected))}")
    if not isinstance(body["weighted"], bool):
        raise _refusal("`weighted` must be true or false")
    parts: dict[str, Any] = {"weighted": body["weighted"], "resolution": resolution}
    parts |= {name: _integers(name, [body[name]], minimum=0).item() for name in COUNTS}
    parts |= {name: _reals(name, [body[name]]).item() for name in TOTALS}
    parts |= {name: _histogram(name, body[name], sums, resolution) for name, sums in SUMS.items()}
    state = State(**parts)
    _check(state)
    return state


def _refusal(what: str) -> ValueError:
    return ValueError(f"`text` must be the JSON of a sketch: {what}. Hint: read what UCCSketch.to_json wrote.")


def _object(text: str | bytes) -> dict[str, Any]:
    if not isinstance(text, str | bytes):
        raise TypeError(f"`text` must be a str or bytes; got {type(text).__name__}.")
    if len(text) > LONGEST:
        raise _refusal(f"it must not be longer than {LONGEST} characters; it has {len(text)}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"it is not JSON ({type(error).__name__})") from None
    if not isinstance(body, dict):
        raise _refusal(f"it must be an object, not {type(body).__name__}")
    return body


def _histogram(name: str, given: Any, sums: tuple[str, ...], resolution: int) -> Histogram:
    keys, end = (*ARRAYS, *sums), last(resolution) + 1
    if not isinstance(given, dict) or set(given) != set(keys) or not all(isinstance(v, list) for v in given.values()):
        raise _refusal(f"`{name}` must have the arrays {', '.join(keys)}")
    if len({len(values) for values in given.values()}) > 1 or len(given["bin"]) > 2 * end + 1:
        raise _refusal(f"the arrays of `{name}` must be of one length, of at most {2 * end + 1}")
    if not given["bin"]:
        return Histogram.empty(sums)
    found = Histogram(
        _integers(f"{name}.bin", given["bin"], minimum=-end, maximum=end),
        _integers(f"{name}.rows", given["rows"], minimum=1),
        _reals(f"{name}.maximum", given["maximum"], minimum=0.0, null=np.inf),
        {one: _reals(f"{name}.{one}", given[one], minimum=0.0) for one in sums},
    )
    if np.any(np.diff(found.bin) <= 0):
        raise _refusal(f"`{name}.bin` must ascend")
    if np.any(bins(found.maximum, resolution) != found.bin):
        raise _refusal(f"`{name}.maximum` must lie in their bins")
    return found


def _integers(name: str, values: list[Any], *, minimum: int, maximum: int = 2**53) -> Integers:
    if not all(type(value) is int and minimum <= value <= maximum for value in values):
        raise _refusal(f"`{name}` must hold integers from {minimum} to {maximum}")
    return np.array(values, np.int64)


def _reals(name: str, values: list[Any], *, minimum: float = -np.inf, null: float | None = None) -> Array:
    """Return finite numbers of at least `minimum`; `null` replaces null where it is given."""
    numbers = [null if value is None else value for value in values]
    if not all(type(value) in (int, float) for value in numbers):
        raise _refusal(f"`{name}` must hold numbers")
    try:
        out = np.array(numbers, np.float64)
    except OverflowError:
        raise _refusal(f"`{name}` must hold numbers within float64") from None
    known = np.array([value is not None for value in values], np.bool_)
    if np.any(~np.isfinite(out[known])) or np.any(out < minimum):
        raise _refusal(f"`{name}` must hold finite numbers{'' if minimum < 0 else ' of at least 0'}")
    return out


def _check(state: State) -> None:
    """Refuse sums that no rows between the extremes of their bins could have."""
    critical, crossover, errors = state.critical, state.crossover, state.errors
    if critical.rows.sum() != errors.rows.sum() or crossover.rows.sum() > critical.rows.sum():
        raise _refusal("all histograms must count the same rows")
    if not state.weighted and any(np.any(found.sums["weight"] != found.rows) for found in (critical, errors)):
        raise _refusal("`weight` must be the number of rows where rows have no weights")
    finite = critical.where(~critical.infinite)
    for name, found in (("critical", finite), ("crossover", crossover), ("errors", errors)):
        sums, low = found.sums, lower_ends(found.bin, state.resolution)
        if name == "critical":
            _between("critical.scale", found, low, sums["weight"], sums["scale"])
        mass = sums[{"critical": "active", "crossover": "gap", "errors": "weight"}[name]]
        _between(f"{name}.error", found, low, mass, sums["error"] * (1 + (name == "crossover")))
        _between(f"{name}.product", found, low, sums["error"], sums["product"])
    if np.any(critical.sums["active"] > critical.sums["width"] * (1 + ROUNDING)):
        raise _refusal("`critical.active` must not exceed `critical.width`")
    if np.any(critical.infinite & (critical.sums["scale"] + critical.sums["product"] > 0)):
        raise _refusal("uncoverable rows have no `scale` and no `product`")
    for one in ("weight", "error"):
        totals = critical.total(one), errors.total(one)
        if abs(totals[0] - totals[1]) > ROUNDING * max(totals):
            raise _refusal(f"all histograms must have the same total `{one}`")


def _between(name: str, found: Histogram, low: Array, mass: Array, moment: Array) -> None:
    """Refuse a moment that no mass between the lowest and the highest position of its bin could have."""
    low = np.where(found.rows == 1, found.maximum, low)
    slack = ROUNDING * mass * found.maximum
    if np.any(moment < mass * low - slack) or np.any(moment > mass * found.maximum + slack):
        raise _refusal(f"`{name}` must fit its bins")
