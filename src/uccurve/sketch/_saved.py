"""Sketch JSON: a sketch as text, with a digest of its numbers, so that no changed or damaged text is read."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np

from ._bins import ARRAYS, OCTAVES, RESOLUTIONS, Histogram, bits
from ._state import COUNTS, SUMS, TOTALS, State

HEAD = {"format": "uccurve sketch", "version": 3, "octaves": OCTAVES}
LONGEST = 2**27  # maximum number of characters that is read; the largest sketch has fewer


def to_json(state: State) -> str:
    """Write a sketch: single numbers first, then the arrays of each histogram; infinity is null."""
    body: dict[str, Any] = HEAD | {"digest": _digest(state), "bits": bits(state.resolution)}
    body |= {name: getattr(state, name) for name in ("weighted", *COUNTS, *TOTALS)}
    for name, found in state.histograms.items():
        arrays = {key: values.tolist() for key, values in found.arrays.items()}
        body[name] = arrays | {"maximum": [None if value == np.inf else value for value in arrays["maximum"]]}
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def _digest(state: State) -> str:
    """Digest of all numbers, however a database may have rewritten their text."""
    single = [state.resolution, state.weighted, *(getattr(state, name) for name in (*COUNTS, *TOTALS))]
    arrays = [values for found in state.histograms.values() for values in found.arrays.values()]
    return sha256(b"".join(np.asarray(part, "<f8").tobytes() for part in (single, *arrays))).hexdigest()


def from_json(text: str | bytes) -> State:
    """Read a sketch; ValueError where the text is not one."""
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
    for name, value in HEAD.items():
        if body.get(name) != value or isinstance(body.get(name), bool):
            raise _refusal(f"`{name}` must be {value!r}, as this version of uccurve writes it")
    try:
        state = _state(body)
        same = json.loads(to_json(state)) == body
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        same = False
    if not same:
        raise _refusal("its names and numbers must be those that were written; some are not")
    return state


def _state(body: dict[str, Any]) -> State:
    """State of what was written; an error of some kind, or another state, where it was changed."""
    resolution = {bits(one): one for one in RESOLUTIONS}[body["bits"]]
    parts: dict[str, Any] = {name: body[name] for name in (*COUNTS, *TOTALS)} | {"weighted": body["weighted"] is True}
    for name, sums in SUMS.items():
        if any(isinstance(value, bool | str) for values in body[name].values() for value in values):
            raise TypeError(name)
        given = {key: np.array(body[name][key], np.float64) for key in (*ARRAYS, *sums)}
        number, rows = (given[key].astype(np.int64) for key in ("bin", "rows"))
        maximum = np.where(np.isnan(given["maximum"]), np.inf, given["maximum"])  # null
        parts[name] = Histogram(number, rows, maximum, {key: given[key] for key in sums})
    return State(**parts, resolution=resolution)


def _refusal(what: str) -> ValueError:
    return ValueError(f"`text` must be the JSON of a sketch: {what}. Hint: read what UCCSketch.to_json wrote.")
