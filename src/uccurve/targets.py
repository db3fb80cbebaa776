"""Targets: the least scale (or shift) that reaches a value of one metric, or a conformal rank."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np

from . import _checks as checks
from ._checks import FALLING, NO_RANK, Array, Metric, as_written
from .profile import Profile
from .track import Track, sum_error


def least(track: Track, profile: Profile, name: Metric, target: float, *, past_end: bool = False) -> float | None:
    """Return the least t at which the metric reaches `target`; None where none does.

    The curve ends where all rows are covered; a rising metric goes on after it where `past_end` or no end says so.
    """
    t = track.reach(name, target)
    if t is None and name != "miss_rate":  # a greatest or least value that rounding moved away from the target
        off = sum_error(len(profile.critical))
        t = track.reach(name, target * (1 + off if name in FALLING else 1 - off))
    if t is None and name not in FALLING and np.isfinite(target) and (past_end or profile.endless):
        return _beyond(profile, name, target)
    return t


def cheapest_of(costs: Array) -> int:
    """Place of the first of the costs that only rounding tells from the least one."""
    return int(np.argmax(costs <= costs.min() * (1 + sum_error(len(costs)))))


def _beyond(profile: Profile, name: Metric, target: float) -> float | None:
    """Return the t after the last critical one at which a rising metric reaches `target`. O(n) a step of bisection."""
    covered = np.isfinite(profile.critical)
    growth = {"bandwidth": profile.active + profile.other, "overshoot": np.where(covered, profile.active, 0)}
    last = growth.get(name, np.where(covered, np.minimum(profile.active, profile.other), 0))
    if profile.vary == "scale" and not last.any():  # without other bands nothing rises after the last bend
        greatest = profile.at(2 * profile.end)[name]
        if greatest < target * (1 - sum_error(len(profile.critical))):
            return None
        target = min(target, greatest)
    low, step = profile.end, max(abs(profile.end), 1.0)
    while profile.at(low + step)[name] < target:
        low, step = low + step, 2 * step
        if not np.isfinite(low + step):
            return None
    high = low + step
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if profile.at(middle)[name] < target else (low, middle)
    return high


def conformal_t(profile: Profile, target: float | Fraction) -> float:
    """Return the critical t of the conformal rank; by selection, O(n)."""
    checks.real("miss_rate", target, 0, 1)
    if profile.weight is not None and np.ptp(profile.weight) > 0:
        raise ValueError("`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out.")
    alpha, n = as_written(target), len(profile.critical)
    rank = ceil((n + 1) * (1 - alpha))
    if rank > n:
        if not alpha:
            raise ValueError(NO_RANK)
        raise ValueError(
            f"`conformal` at miss_rate={float(target):g} needs at least {ceil(1 / alpha) - 1} rows; there are {n}. "
            "Hint: use more calibration rows or a larger miss_rate."
        )
    t = float(np.partition(profile.critical, rank - 1)[rank - 1]) if rank else profile.start
    if np.isinf(t):
        raise ValueError(
            f"no {profile.vary} reaches miss_rate={float(target):g} with conformal rank {rank} of {n}: "
            "too many errors lie on the side of a zero band. Hint: raise them by `min_band`."
        )
    return t
