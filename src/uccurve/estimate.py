"""Estimate: a number with its confidence interval, the move that a calibration makes, and results as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, nan
from typing import Any, Literal

import numpy as np

MoveKind = Literal["scale", "shift"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its confidence interval, which are nan where nothing is known about chance.

    `float()` and `format()` take the value.

    Examples
    --------
    >>> score = Estimate(1.684, 1.52, 1.87)
    >>> float(score), f"{score:.2f}", str(score)
    (1.684, '1.68', '1.684 [1.52, 1.87]')
    """

    value: float
    low: float = nan
    high: float = nan

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __str__(self) -> str:
        if not self.has_interval:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known; an end may be infinite."""
        return self.low <= self.high

    @property
    def is_finite(self) -> bool:
        """Whether the value is a finite number."""
        return isfinite(self.value)

    def times(self, factor: float) -> "Estimate":
        """Return value and ends multiplied by a positive factor."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


UNKNOWN = Estimate(nan)


@dataclass(frozen=True, slots=True)
class Move:
    """What calibrates bands: a factor on them (scale), or an amount added to them (shift).

    Examples
    --------
    >>> move = Move("shift", Estimate(0.5, 0.4, 0.7))
    >>> float(move.shift), float(move.scale)
    (0.5, nan)
    """

    kind: MoveKind
    estimate: Estimate

    @property
    def scale(self) -> Estimate:
        """The factor; nan for a shift."""
        return self.estimate if self.kind == "scale" else UNKNOWN

    @property
    def shift(self) -> Estimate:
        """The amount; nan for a factor."""
        return self.estimate if self.kind == "shift" else UNKNOWN

    @property
    def is_reachable(self) -> bool:
        """Whether some finite factor or amount reaches the target."""
        return self.estimate.is_finite


def record(result: Any) -> dict[str, Any]:
    """Return a result as a plain dict; a move is its scale and its shift, of which one is None."""
    out: dict[str, Any] = {}
    for item in fields(result):
        value = getattr(result, item.name)
        if isinstance(value, Move):
            out["scale"] = plain(value.scale)
            out["shift"] = plain(value.shift)
        else:
            out[item.name] = plain(value)
    return out


def plain(value: Any) -> Any:
    """Return what JSON can hold; what is infinite or undefined is None.

    >>> plain({"scale": float("inf"), "axes": ("bandwidth", "miss_rate")})
    {'scale': None, 'axes': ['bandwidth', 'miss_rate']}
    """
    if is_dataclass(value):
        return record(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
