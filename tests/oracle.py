"""The definitions as slow loops in exact rational arithmetic.

Nothing here is shared with the package: every metric is read off the bounds of one row after the other, every area is a
sum over the pieces between two breakpoints, and every float that comes in is the fraction it stands for. Slow, and
right by inspection. The one float that is ever kept is ``inf``, the critical scale of a row that no scale covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, inf

METRICS = ("miss_rate", "bandwidth", "excess", "deficit", "overshoot")
FALLING = ("miss_rate", "deficit")
PAIRS = [(x, y) for x in METRICS for y in METRICS]
HALF = Fraction(1, 2)

Level = float | Fraction
Range = tuple[str, Level, Level]  # a metric and the two ends of its range


@dataclass(frozen=True)
class Row:
    """One observation with its prediction and both bands, before any calibration.

    ``side`` says which bounds are judged, ``low`` and ``high`` what an observation can be.
    """

    y_true: Fraction
    y_pred: Fraction
    lower_band: Fraction
    upper_band: Fraction
    weight: Fraction
    side: str = "both"
    low: Fraction | float = -inf
    high: Fraction | float = inf

    @property
    def towards(self) -> Fraction:
        """Distance of the observation from the prediction, towards the only bound."""
        z = self.y_true - self.y_pred
        return -z if self.side == "lower" else z

    @property
    def error(self) -> Fraction:
        if self.side != "both":
            return max(self.towards, Fraction(0))
        return abs(self.y_true - self.y_pred)

    @property
    def is_above(self) -> bool:
        """Whether the band that counts is the upper one."""
        return self.side == "upper" or (self.side == "both" and self.y_true >= self.y_pred)

    @property
    def active(self) -> Fraction:
        return self.upper_band if self.is_above else self.lower_band

    @property
    def other(self) -> Fraction:
        return self.lower_band if self.is_above else self.upper_band

    @property
    def limits(self) -> tuple[Fraction | float, Fraction | float]:
        """How far the band that counts and the other one can reach."""
        below, above = self.y_pred - self.low, self.high - self.y_pred
        return (above, below) if self.is_above else (below, above)

    def raw_bounds(self, vary: str, t: Fraction) -> tuple[Fraction, Fraction]:
        """Both bounds as the path moves them; a single bound moves past the prediction."""
        if vary == "scale":
            return self.y_pred - t * self.lower_band, self.y_pred + t * self.upper_band
        lower, upper = self.lower_band + t, self.upper_band + t
        if self.side == "both":
            lower, upper = max(lower, Fraction(0)), max(upper, Fraction(0))
        return (
            self.y_pred - lower,
            self.y_pred + upper,
        )

    def bounds(self, vary: str, t: Fraction) -> tuple[Fraction, Fraction]:
        """Both bounds, which end where the support does."""
        lower, upper = (min(max(end, self.low), self.high) for end in self.raw_bounds(vary, t))
        return Fraction(lower), Fraction(upper)

    def shares(self, lower: Fraction, upper: Fraction) -> dict[str, Fraction]:
        """What this row adds to each metric when its interval is the closed one from ``lower`` to ``upper``."""
        if self.side != "both":
            return self._shares_of_one(upper if self.side == "upper" else lower)
        below, above, none = self.y_true - lower, upper - self.y_true, Fraction(0)
        covered = below >= 0 and above >= 0
        on_error_side = above if self.y_true >= self.y_pred else below
        return {
            "miss_rate": Fraction(not covered),
            "bandwidth": (upper - lower) / 2,
            "excess": min(below, above) if covered else none,
            "deficit": none if covered else min(abs(below), abs(above)),
            "overshoot": on_error_side if covered else none,
        }

    def _shares_of_one(self, bound: Fraction) -> dict[str, Fraction]:
        """The same where one bound is all there is."""
        sign = -1 if self.side == "lower" else 1
        room, none = sign * (bound - self.y_true), Fraction(0)
        covered = room >= 0
        reach = sign * (bound - self.y_pred)
        return {
            "miss_rate": Fraction(not covered),
            "bandwidth": reach,
            "excess": room if covered else none,
            "deficit": none if covered else -room,
            "overshoot": max(reach - self.error, none) if covered else none,
        }


def rows(
    y_true: Sequence[float],
    y_pred: Sequence[float],
    lower_band: Sequence[float],
    upper_band: Sequence[float],
    weight: Sequence[float] | None = None,
    *,
    side: str = "both",
    support: tuple[float | None, float | None] = (None, None),
    unit: Sequence[float] | None = None,
) -> list[Row]:
    """Exact rows in their units; weights are brought to the sum 1 and rows without weight left out."""
    exact = [Fraction(w) for w in (weight if weight is not None else [1.0] * len(y_true))]
    total = sum(exact)
    low, high = (
        default if end is None else Fraction(end)
        for end, default in zip(support, (-inf, inf), strict=True)
    )
    sizes = [Fraction(size) for size in (unit if unit is not None else [1.0] * len(y_true))]
    columns = zip(y_true, y_pred, lower_band, upper_band, exact, sizes, strict=True)
    return [
        Row(
            Fraction(y) / size,
            Fraction(p) / size,
            Fraction(lo) / size,
            Fraction(up) / size,
            w / total,
            side,
            low / size if isinstance(low, Fraction) else low,
            high / size if isinstance(high, Fraction) else high,
        )
        for y, p, lo, up, w, size in columns
        if w
    ]


class Oracle:
    """Every answer of a curve over scales or shifts, one loop each."""

    def __init__(self, rows: Sequence[Row], vary: str = "scale") -> None:
        self.rows = list(rows)
        self.vary = vary
        self._seen: dict[Fraction, dict[str, Fraction]] = {}

    @property
    def side(self) -> str:
        """Which bounds are judged, in every row."""
        return self.rows[0].side

    @property
    def sides(self) -> int:
        """How many bounds are judged."""
        return 2 if self.side == "both" else 1

    @property
    def has_support(self) -> bool:
        """Whether bounds end somewhere."""
        return self.rows[0].low > -inf or self.rows[0].high < inf

    @property
    def unbounded(self) -> bool:
        """Whether the path shifts a single bound, which starts nowhere."""
        return self.vary == "shift" and self.side != "both"

    # ---- where the curve runs

    @cached_property
    def start(self) -> Fraction:
        if self.unbounded:
            # just before the first row is covered, and before any bound leaves the support's end
            first = [row.towards - row.active for row in self.rows]
            for row in self.rows:
                limit = row.limits[1]
                if isinstance(limit, Fraction):
                    first.append(-limit - row.active)
            return min(first) - Fraction(1, 10**30)
        if self.vary != "shift":
            return Fraction(0)
        return -max(max(row.lower_band, row.upper_band) for row in self.rows)

    def critical(self, row: Row) -> Fraction | float:
        """Smallest scale or shift that covers the row."""
        if self.unbounded:
            return self.start if row.towards <= -row.limits[1] else row.towards - row.active
        if row.error == 0:
            return self.start
        if self.vary == "shift":
            return row.error - row.active
        return row.error / row.active if row.active else inf

    @cached_property
    def criticals(self) -> list[Fraction]:
        """The distinct finite critical values in rising order."""
        return sorted({t for t in map(self.critical, self.rows) if isinstance(t, Fraction)})

    @cached_property
    def never(self) -> Fraction:
        """Weight of the rows that nothing covers."""
        return sum((row.weight for row in self.rows if self.critical(row) == inf), Fraction(0))

    @cached_property
    def end(self) -> Fraction:
        return max([self.start, *self.criticals])

    @cached_property
    def breakpoints(self) -> list[Fraction]:
        """Start, end, and all values between them where any metric may jump or change its slope."""
        found = {self.start, *self.criticals}
        for row in self.rows:
            a, o, r = row.active, row.other, row.error
            if self.vary == "shift":
                found |= {-a, -o, 2 * r - a, r - a}
            elif a > o:
                found.add(2 * r / (a - o))
            for band, distances in ((a, self._ends_of(row)), (o, self._ends_of(row)[::-1])):
                for distance in distances:
                    if isinstance(distance, Fraction) and self.vary == "shift":
                        found.add(distance - band)
                    elif isinstance(distance, Fraction) and band:
                        found.add(distance / band)
        return sorted(t for t in found if self.start <= t <= self.end)

    @staticmethod
    def _ends_of(row: Row) -> list[Fraction | float]:
        """Lengths of the band that counts, then in reverse of the other, at which a support changes a slope."""
        limit, other_limit = row.limits
        r = row.error
        return [limit, -other_limit, other_limit + 2 * r, limit - 2 * r, -limit, other_limit]

    # ---- values

    def values(self, t: Fraction) -> dict[str, Fraction]:
        if t not in self._seen:
            total = dict.fromkeys(METRICS, Fraction(0))
            for row in self.rows:
                for metric, share in row.shares(*row.bounds(self.vary, t)).items():
                    total[metric] += row.weight * share if share else 0
            self._seen[t] = total
        return self._seen[t]

    def value(self, metric: str, t: Fraction) -> Fraction:
        return self.values(t)[metric]

    def reach(self, metric: str, level: Level) -> Fraction | None:
        """Smallest value on the curve at which a rising metric is at least, a falling one at most, the level."""
        if (
            metric == "miss_rate"
        ):  # a level is the float a caller can write, 0.3 for three rows of ten
            reached = [t for t in self.breakpoints if float(self.value(metric, t)) <= level]
            return reached[0] if reached else None
        sign = -1 if metric == "deficit" else 1
        goal = sign * Fraction(level)
        before: tuple[Fraction, Fraction] | None = None
        for t in self.breakpoints:
            now = sign * self.value(metric, t)
            if now >= goal:
                return (
                    t
                    if before is None
                    else before[0] + (t - before[0]) * (goal - before[1]) / (now - before[1])
                )
            before = (t, now)
        return None

    def cost(self, c: float | Fraction, x: str, y: str, t: Fraction) -> Fraction:
        return Fraction(c) * self.value(x, t) + (1 - Fraction(c)) * self.value(y, t)

    def cheapest(self, c: float | Fraction, x: str, y: str) -> tuple[Fraction, Fraction]:
        """The smallest cost on the curve and the first place that has it."""
        return min((self.cost(c, x, y, t), t) for t in self.breakpoints)

    def conformal(self, alpha: Fraction) -> Fraction | float | None:
        """The order statistic of split conformal prediction, counted with ties; none where the rows are too few."""
        rank = ceil((len(self.rows) + 1) * (1 - alpha))
        ordered = sorted(map(self.critical, self.rows))
        return ordered[max(rank, 1) - 1] if rank <= len(ordered) else None

    def shipped(self, alpha: Fraction) -> Fraction | float | None:
        """What ships for a miss rate: the conformal place; with unequal weights the first that reaches it."""
        if len({row.weight for row in self.rows}) == 1:
            return self.conformal(alpha)
        covered = Fraction(0)
        for row in sorted(self.rows, key=self.critical):
            covered += row.weight
            if covered >= 1 - alpha:
                return self.critical(row)
        return None

    def interval_score(self, alpha: Fraction) -> Fraction:
        """Mean width plus 2/alpha times the distance of what lies outside, of the intervals as delivered."""
        return self.score(alpha, Fraction(0 if self.vary == "shift" else 1))

    def score(self, alpha: Fraction, t: Fraction) -> Fraction:
        """Interval score at one scale or shift, from the bounds of one row after the other."""
        if self.side != "both":
            values = self.values(t)
            return values["bandwidth"] + values["deficit"] / alpha - self.mean_towards
        total = Fraction(0)
        for row in self.rows:
            lower, upper = row.bounds(self.vary, t)
            outside = max(lower - row.y_true, Fraction(0)) + max(row.y_true - upper, Fraction(0))
            total += row.weight * (upper - lower + 2 / alpha * outside)
        return total

    @property
    def mean_towards(self) -> Fraction:
        """Mean distance of the observations from the predictions, towards the only bound."""
        return sum((row.weight * row.towards for row in self.rows), Fraction(0))

    def best_score(self, alpha: Fraction) -> Fraction:
        """Smallest interval score over all breakpoints."""
        return min(self.score(alpha, t) for t in self.breakpoints)

    def climatology(self, alpha: Fraction) -> Fraction:
        """Smallest interval score of one interval for all rows, over all pairs of observed values."""
        observed = sorted({row.y_true for row in self.rows})
        scores = []
        if self.side != "both":
            sign = -1 if self.side == "lower" else 1
            for bound in observed:
                rooms = [(row.weight, sign * (bound - row.y_true)) for row in self.rows]
                scores.append(
                    sum(
                        (w * (room + max(-room, Fraction(0)) / alpha) for w, room in rooms),
                        Fraction(0),
                    )
                )
            return min(scores)
        for i, lower in enumerate(observed):
            for upper in observed[i:]:
                below = sum(
                    (row.weight * max(lower - row.y_true, Fraction(0)) for row in self.rows),
                    Fraction(0),
                )
                above = sum(
                    (row.weight * max(row.y_true - upper, Fraction(0)) for row in self.rows),
                    Fraction(0),
                )
                scores.append(upper - lower + 2 / alpha * (below + above))
        return min(scores)

    def potential_crps(self) -> Fraction:
        """Integral over alpha from 0 to 1 of the smallest alpha * bandwidth + deficit.

        Each breakpoint is a line over alpha. From alpha = 0 on, where the smallest deficit is the best, the walk goes
        to the first place where a line of smaller slope comes down to the present one, and goes on with that.
        """
        lines = [(self.value("bandwidth", t), self.value("deficit", t)) for t in self.breakpoints]
        deficit, slope = min((y, x) for x, y in lines)
        alpha, total = Fraction(0), Fraction(0)
        while alpha < 1:
            meetings = [((y - deficit) / (slope - x), x, y) for x, y in lines if x < slope]
            following, x, y = min([*meetings, (Fraction(1), slope, deficit)])
            following = min(following, Fraction(1))
            total += deficit * (following - alpha) + slope * (following**2 - alpha**2) / 2
            alpha, slope, deficit = following, x, y
        return total if self.side == "both" else 2 * total - self.mean_towards

    # ---- areas

    def area(self, x: str, y: str, within: Range | None = None) -> Fraction | float:
        """Integral of y over x along the curve, or along the part where one metric lies in its range."""
        if self.never and within is None and not (x in FALLING and y in FALLING):
            return inf
        if within is not None and within[0] == x == "miss_rate":
            return self._cut_steps(y, Fraction(within[1]), Fraction(within[2]))
        first, last = (self.start, self.end) if within is None else self._ends(*within)
        places = sorted({first, last, *(t for t in self.breakpoints if first < t < last)})
        total = Fraction(0)
        for left, right in pairwise(places):
            total += self._piece(x, y, left, right)
        return abs(total)

    def _piece(self, x: str, y: str, left: Fraction, right: Fraction) -> Fraction:
        """Integral over one piece without a slope change; the miss rate keeps its left value until the right end."""
        step = self.value(x, right) - self.value(x, left)
        if x != y and x == "miss_rate":
            return step * self.value(y, right)
        if x != y and y == "miss_rate":
            return step * self.value(y, left)
        return step * (self.value(y, left) + self.value(y, right)) / 2

    def _ends(self, metric: str, low: Level, high: Level) -> tuple[Fraction, Fraction]:
        first, last = (high, low) if metric in FALLING else (low, high)
        found = self.reach(metric, first), self.reach(metric, last)
        return tuple(self.end if t is None else t for t in found)  # type: ignore[return-value]  # two in, two out

    def _cut_steps(self, y: str, low: Fraction, high: Fraction) -> Fraction:
        """Miss rate on x and as the range: each of its jumps counts as far as it lies in the range."""
        total = Fraction(0)
        places = self.breakpoints
        inside = [min(max(self.value("miss_rate", t), low), high) for t in places]
        if y == "miss_rate":
            return (inside[0] ** 2 - inside[-1] ** 2) / 2
        for i in range(1, len(places)):
            total += (inside[i - 1] - inside[i]) * self.value(y, places[i])
        return total

    def constant(self) -> Oracle:
        """The reference: the same errors with equal bands everywhere."""
        width = sum(
            (row.weight * (row.lower_band + row.upper_band) for row in self.rows), Fraction(0)
        )
        if self.side != "both":
            width = 2 * sum((row.weight * row.active for row in self.rows), Fraction(0))
        band = width / 2 or Fraction(1)
        return Oracle(
            [replace(row, lower_band=band, upper_band=band) for row in self.rows], self.vary
        )

    def gain(
        self, x: str, y: str, within: Range | None = None, reference: Oracle | None = None
    ) -> Fraction | float:
        theirs = (reference or self.constant()).area(x, y, within)
        return (theirs - self.area(x, y, within)) / theirs

    def concentration(self, x: str, y: str, share: Fraction) -> int:
        """Smallest number of rows that carry a share of the area under the miss rate or the deficit on y.

        A row carries the area under its own miss or shortfall.
        """
        parts = [Fraction(0)] * len(self.rows)
        for left, right in pairwise(self.breakpoints):
            step = abs(self.value(x, right) - self.value(x, left))
            for i, row in enumerate(self.rows):
                before, after = (
                    row.weight * row.shares(*row.bounds(self.vary, t))[y] for t in (left, right)
                )
                parts[i] += step * (
                    after
                    if x == "miss_rate"
                    else before
                    if y == "miss_rate"
                    else (before + after) / 2
                )
        parts.sort(reverse=True)
        return next(n for n in range(1, len(parts) + 1) if sum(parts[:n]) >= share * sum(parts))


def written(alpha: float | Fraction) -> Fraction:
    """The fraction a caller meant: 0.07 is 7/100 and 1/3 a third, although neither is a float."""
    if isinstance(alpha, Fraction):
        return alpha
    for denominator in range(1, 2001):
        candidate = Fraction(round(alpha * denominator), denominator)
        if float(candidate) == alpha:
            return candidate
    return Fraction(repr(alpha))
