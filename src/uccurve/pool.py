"""Pool: the rows of two models together, brought to one mean half-width, and what each adds to an area."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .checks import Array, Axes, Metric
from .intervals import Intervals
from .profile import FALLING, Profile
from .question import CURVE_STATISTICS, Question
from .track import BENDS, Track, _vertices, kinks


def profiles(a: Intervals, b: Intervals, question: Question) -> tuple[Profile, Profile]:
    """Rows of two models in one unit; for answers of the curve as wide as each other, which leaves each curve as it is.

    A curve over the scale does not depend on the scale it is delivered at, and a curve over the shift not on a shift
    that widens. A mixture of the two models' rows does depend on both, so they are brought together first.
    """
    first, second = Profile.of(a, question.vary), Profile.of(b, question.vary)
    size = max(first.size, second.size)
    first, second = _in_units(first, size), _in_units(second, size)
    if question.statistic not in CURVE_STATISTICS:
        return first, second
    widths = first.half_width, second.half_width
    if question.vary == "scale":
        return first, _scaled(second, widths[0] / widths[1]) if min(widths) > 0 else second
    return _widened(first, widths[1] - widths[0]), _widened(second, widths[0] - widths[1])


def _in_units(profile: Profile, size: float) -> Profile:
    factor = profile.size / size
    if factor == 1:
        return profile
    bands = {name: getattr(profile, name) * factor for name in ("error", "active", "lower_band", "upper_band")}
    t = factor if profile.vary == "shift" else 1.0
    return replace(profile, size=size, critical=profile.critical * t, start=profile.start * t, **bands)


def _scaled(profile: Profile, factor: float) -> Profile:
    if factor == 1:
        return profile
    bands = {name: getattr(profile, name) * factor for name in ("active", "lower_band", "upper_band")}
    return replace(profile, critical=profile.critical / factor, **bands)


def _widened(profile: Profile, amount: float) -> Profile:
    if amount <= 0:
        return profile
    bands = {name: getattr(profile, name) + amount for name in ("active", "lower_band", "upper_band")}
    return replace(profile, critical=profile.critical - amount, start=profile.start - amount, **bands)


def pooled(first: Profile, second: Profile) -> Profile:
    """Rows of the first, then rows of the second."""
    start = min(first.start, second.start)

    def both(name: str) -> Array:
        return np.concatenate([getattr(first, name), getattr(second, name)])

    columns = {name: both(name) for name in ("error", "active", "lower_band", "upper_band", "critical")}
    if first.vary == "shift":
        columns["critical"][columns["error"] == 0] = start
    above = None
    if first.above is not None or second.above is not None:
        flags = [np.ones(len(p.error), bool) if p.above is None else p.above for p in (first, second)]
        above = np.concatenate(flags)
    weight = None if first.weight is None else both("weight")
    return Profile(first.vary, above=above, weight=weight, start=start, size=first.size, **columns)


def pull(profile: Profile, axes: Axes) -> Array:
    """How much the whole area grows with each row's weight, for one rising and one falling axis.

    Such an area is a sum over pairs of rows: what one adds to the rising metric while the other still adds to the
    falling one. So its derivative with respect to a row's weight is that row's falling metric against everybody's
    rising one, plus the reverse. It is linear in the weights, hence exact for differences of two halves of a pool.
    """
    falling, rising = sorted(axes, key=lambda name: name not in FALLING)
    track = Track(profile, kinks(profile.vary, axes))
    return _falling_part(track, profile, falling, rising) + _rising_part(track, profile, rising, falling)


def _falling_part(track: Track, profile: Profile, own: Metric, other: Metric) -> Array:
    values = track.values(other)
    if own == "miss_rate":
        return np.asarray(values[np.searchsorted(track.t, profile.critical)])
    below = np.append(0.0, np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(track.t)))
    return _ramps(track, profile, own, below)


def _rising_part(track: Track, profile: Profile, own: Metric, other: Metric) -> Array:
    values = track.values(other)
    heights = values[:-1] if other == "miss_rate" else (values[1:] + values[:-1]) / 2
    beyond = np.append(np.cumsum((heights * np.diff(track.t))[::-1])[::-1], 0.0)
    if own == "bandwidth" and profile.vary == "scale":
        return np.asarray((profile.lower_band / 2 + profile.upper_band / 2) * beyond[0])
    return _ramps(track, profile, own, beyond)


def _ramps(track: Track, profile: Profile, own: Metric, integral: Array) -> Array:
    """Sum over the bends of each row's own metric of its change of slope there times `integral` there."""
    out = np.zeros(len(profile.error))
    for kind, bend in BENDS[profile.vary][own].items():
        rows, position, mass = _vertices(profile, kind)
        out[rows] += bend * mass * integral[np.searchsorted(track.t, position)]
    return out
