"""Pool: the rows of two models together, brought to one mean half-width, and what each adds to an area."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uccurve._checks import FALLING, Array, Axes, Metric
from uccurve.intervals import Intervals
from uccurve.profile import Indices, Profile, blocks
from uccurve.track import BENDS, vertices

from .question import CURVE_STATISTICS, Question


def refuse_other_rows(a: Intervals, b: Intervals) -> None:
    """Refuse two models whose rows are not the same."""
    for name, intervals in (("a", a), ("b", b)):
        if not isinstance(intervals, Intervals):
            raise TypeError(
                f"`{name}` must be Intervals; got {type(intervals).__name__}. Hint: see Intervals.from_bounds."
            )
    if a.y_true.shape != b.y_true.shape:
        raise ValueError(
            f"`a` and `b` must have the same rows: {len(a)} against {len(b)}"
            f"{'' if len(a) != len(b) else f', shapes {a.y_true.shape} against {b.y_true.shape}'}."
        )
    different = np.flatnonzero((a.y_true != b.y_true).reshape(len(a), -1).any(axis=1))
    if len(different):
        raise ValueError(
            f"`a` and `b` must have the same y_true: {len(different)} of {len(a)} rows differ, "
            f"first row {different[0]}. Hint: put the rows of both models in the same order."
        )
    if not np.array_equal(a.weight, b.weight):
        raise ValueError("`a` and `b` must have the same weights: a row counts as much for one model as for the other.")


def shares(intervals: Intervals) -> Array:
    """Weights of the rows that carry any; they sum to 1."""
    weight = intervals.weight.ravel()
    return np.asarray(weight[weight > 0])


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
    out, rises = np.zeros(len(profile.error)), dict(BENDS[profile.vary][rising])
    steps = falling == "miss_rate"
    if profile.vary == "scale" and (rising == "bandwidth" or not steps):
        out = _pull_by_sums(profile, rising, falling)
        rises.pop("critical", None)  # what is left is where excess is not overshoot
    for fall, fall_bend in ({"critical": 1.0} if steps else BENDS[profile.vary][falling]).items():
        for rise, rise_bend in rises.items():
            _add_pairs(out, profile, (rise, fall), rise_bend * fall_bend, steps=steps)
    return out


def _pull_by_sums(profile: Profile, rising: Metric, falling: Metric) -> Array:
    """Without order: the area is a mean band times a mean, for overshoot less half the square of the mean error."""
    other = profile.critical if falling == "miss_rate" else profile.error * profile.critical / 2
    if rising == "bandwidth":
        out = (profile.lower_band + profile.upper_band) * (profile.mean(other) / 2)
        out += profile.half_width * other
        return out
    out = profile.active * profile.mean(other)
    out += profile.mean(profile.active) * other
    out -= profile.error * profile.mean(profile.error)
    return out


def _add_pairs(out: Array, profile: Profile, kinds: tuple[str, str], bend: float, *, steps: bool) -> None:
    """Add what ramps that begin at one kind of vertex have together with ramps (or steps) that end at another.

    A ramp of slope m from p and one of slope n to q have the area m n max(0, q - p)^2 / 2 together; a ramp and a step
    of height n have m n max(0, q - p).
    """
    (rise_rows, p, rise_mass), (fall_rows, q, fall_mass) = (vertices(profile, kind) for kind in kinds)
    if steps:
        fall_mass = np.ones(len(q))
    power = 1 if steps else 2
    out[fall_rows] += bend * fall_mass * _gaps(q, p, _weighted(profile, rise_rows, rise_mass), power, sign=1)
    out[rise_rows] += bend * rise_mass * _gaps(p, q, _weighted(profile, fall_rows, fall_mass), power, sign=-1)


def _weighted(profile: Profile, rows: Indices | slice, mass: Array) -> Array:
    """Masses times the weights as shares of all."""
    return mass / profile.total if profile.weight is None else mass * profile.weight[rows] / profile.total


def _gaps(places: Array, positions: Array, masses: Array, power: int, *, sign: int) -> Array:
    """Sum of mass |place - position|^power / power! over the positions below each place (sign 1) or above."""
    if not len(positions):
        return np.zeros(len(places))
    order = np.argsort(positions)[::sign]
    at, slope = positions[order], masses[order]
    del order, masses
    at *= sign
    np.cumsum(slope, out=slope)
    line = _steps(at)
    line[1:] *= slope[:-1]
    np.cumsum(line, out=line)
    sums = [slope, line]
    if power == 2:
        square = _steps(at)
        for before in blocks(len(at) - 1):
            here = slice(before.start + 1, before.stop + 1)
            square[here] *= square[here] / 2 * slope[before] + line[before]
        sums.append(np.cumsum(square, out=square))
    out = np.empty(len(places))
    for part in blocks(len(places)):
        out[part] = _polynomial(sign * places[part], at, sums)
    return out


def _steps(at: Array) -> Array:
    """Return what each number is more than the one before; not by `np.diff`, which copies first."""
    out = np.zeros(len(at))
    np.subtract(at[1:], at[:-1], out=out[1:])
    return out


def _polynomial(places: Array, at: Array, sums: list[Array]) -> Array:
    """Return what `sums` have become on the way from the last position to each place; 0 before the first."""
    last = np.searchsorted(at, places, side="right") - 1
    gone = places - at[last]
    value = sums[-1][last] + gone * sums[-2][last]
    if len(sums) == 3:
        value += gone * gone / 2 * sums[0][last]
    value[last < 0] = 0.0
    return value
