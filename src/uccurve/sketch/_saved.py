"""Sketch JSON: a sketch as text, and the checks that no text passes which is not the sketch of some rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from uccurve._checks import Array

from ._bins import BITS, LAST, NEVER, NOTHING, OCTAVES, ZERO, Histogram, Integers, bins
from ._rows import COUNTS, SUMS, TOTALS

if TYPE_CHECKING:
    from .sketch import UCCSketch

FORMAT = "uccurve sketch"
VERSION = 1
HEAD = {"format": FORMAT, "version": VERSION, "bits": BITS, "octaves": OCTAVES}
LONGEST = 2**27
"""Characters of the longest text that is read; the largest sketch has fewer."""
OFF = 1e-6
"""Share by which sums of many rows may miss what their extremes allow."""


def to_json(sketch: UCCSketch) -> str:
    """Write a sketch: single numbers first, then the arrays of each histogram; infinity is null."""
    body: dict[str, Any] = HEAD | {name: getattr(sketch, name) for name in ("weighted", *COUNTS, *TOTALS)}
    for name in SUMS:
        found: Histogram = getattr(sketch, name)
        arrays: dict[str, npt.NDArray[Any]] = {
            "bin": found.bin,
            "rows": found.rows,
            "least": found.least,
            "greatest": found.greatest,
        }
        body[name] = {key: _plain(values) for key, values in (*arrays.items(), *found.sums.items())}
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    return [None if value == np.inf else value for value in values.tolist()]


def state(text: str | bytes) -> dict[str, Any]:
    """Read a sketch's parts; ValueError where the text is no sketch."""
    body = _object(text)
    for name, value in HEAD.items():
        if body.get(name) != value or isinstance(body.get(name), bool):
            raise _refusal(f"`{name}` must be {value!r}, as this version of uccurve writes it")
    expected = {*HEAD, "weighted", *COUNTS, *TOTALS, *SUMS}
    if set(body) != expected:
        raise _refusal(f"its names must be {', '.join(sorted(expected))}")
    if not isinstance(body["weighted"], bool):
        raise _refusal("`weighted` must be true or false")
    parts: dict[str, Any] = {"weighted": body["weighted"]}
    parts |= {name: _whole(name, [body[name]], least=0).item() for name in COUNTS}
    parts |= {name: _reals(name, [body[name]]).item() for name in TOTALS}
    for name, sums in SUMS.items():
        parts[name] = _histogram(name, body[name], sums)
    _agree(parts)
    return parts


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
        raise _refusal(f"it is no JSON ({type(error).__name__})") from None
    if not isinstance(body, dict):
        raise _refusal(f"it must be an object, not {type(body).__name__}")
    return body


def _histogram(name: str, given: Any, sums: tuple[str, ...]) -> Histogram:
    keys = ("bin", "rows", "least", "greatest", *sums)
    if not isinstance(given, dict) or set(given) != set(keys) or not all(isinstance(v, list) for v in given.values()):
        raise _refusal(f"`{name}` must have the arrays {', '.join(keys)}")
    if len({len(values) for values in given.values()}) > 1 or len(given["bin"]) > 2 * LAST + 3:
        raise _refusal(f"the arrays of `{name}` must be of one length, of at most {2 * LAST + 3}")
    if not given["bin"]:
        return Histogram.empty(sums)
    found = Histogram(
        _whole(f"{name}.bin", given["bin"], least=ZERO, most=NEVER),
        _whole(f"{name}.rows", given["rows"], least=1),
        _reals(f"{name}.least", given["least"], least=0.0, null=np.inf),
        _reals(f"{name}.greatest", given["greatest"], least=0.0, null=np.inf),
        {one: _reals(f"{name}.{one}", given[one], least=0.0) for one in sums},
    )
    if np.any(np.diff(found.bin) <= 0):
        raise _refusal(f"`{name}.bin` must ascend")
    if np.any(found.least > found.greatest) or any(
        np.any(bins(ends) != found.bin) for ends in (found.least, found.greatest)
    ):
        raise _refusal(f"`{name}.least` and `{name}.greatest` must lie in their bins, in this order")
    return found


def _whole(name: str, values: list[Any], *, least: int, most: int = 2**53) -> Integers:
    if not all(type(value) is int and least <= value <= most for value in values):
        raise _refusal(f"`{name}` must hold whole numbers from {least} to {most}")
    return np.array(values, np.int64)


def _reals(name: str, values: list[Any], *, least: float = -np.inf, null: float | None = None) -> Array:
    """Return finite numbers of at least `least`; where `null` is given it stands for null."""
    numbers = [null if value is None else value for value in values]
    if not all(type(value) in (int, float) for value in numbers):
        raise _refusal(f"`{name}` must hold numbers")
    try:
        out = np.array(numbers, np.float64)
    except OverflowError:
        raise _refusal(f"`{name}` must hold numbers within float64") from None
    known = np.array([value is not None for value in values], np.bool_)
    if np.any(~np.isfinite(out[known])) or np.any(out < least):
        raise _refusal(f"`{name}` must hold finite numbers{'' if least < 0 else ', not negative'}")
    return out


def _agree(parts: dict[str, Any]) -> None:
    """Refuse sums that no rows between the extremes of their bins could have."""
    critical, folds, errors = (parts[name] for name in ("critical", "folds", "errors"))
    if critical.rows.sum() != errors.rows.sum() or folds.rows.sum() > critical.rows.sum():
        raise _refusal("all histograms must count the same rows")
    if not parts["weighted"] and any(np.any(found.sums["weight"] != found.rows) for found in (critical, errors)):
        raise _refusal("`weight` must be the number of rows where they have no weights")
    finite, sums = critical.without(NEVER), critical.without(NEVER).sums
    _between("critical.scale", finite, sums["weight"], sums["scale"])
    _between("critical.error", finite, sums["active"], sums["error"])
    _between("critical.product", finite, sums["error"], sums["product"])
    _between("errors.error", errors, errors.sums["weight"], errors.sums["error"])
    _between("errors.product", errors, errors.sums["error"], errors.sums["product"])
    gap = 2 * folds.sums["active"] - folds.sums["width"]
    _between("folds.error", folds, gap, 2 * folds.sums["error"], 2 * folds.sums["active"])
    _between("folds.product", folds, folds.sums["error"], folds.sums["product"])
    if np.any(critical.sums["active"] > critical.sums["width"] * (1 + OFF)):
        raise _refusal("`critical.active` must not exceed `critical.width`")
    if np.any((critical.bin == NEVER) & (critical.sums["scale"] + critical.sums["product"] > 0)):
        raise _refusal("rows that nothing covers have no `scale` and no `product`")
    for one in ("weight", "error"):
        totals = critical.total(one), errors.total(one)
        if abs(totals[0] - totals[1]) > OFF * max(totals):
            raise _refusal(f"all histograms must have the same total `{one}`")


def _between(name: str, found: Histogram, mass: Array, moment: Array, size: Array = NOTHING) -> None:
    """Refuse a moment that lies outside what the mass can have between the least and the greatest position."""
    slack = OFF * (mass if len(size) != len(mass) else size + mass) * found.greatest
    if np.any(moment < mass * found.least - slack) or np.any(moment > mass * found.greatest + slack):
        raise _refusal(f"`{name}` must fit the extremes of its bins")
