"""Evidence: how much the days so far speak against a promise, whenever one looks.

Arrays have one entry per day first. Further axes are watched side by side, which is what simulations do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import Array

Side = Literal["both", "narrow", "wide"]
STAKES = (0.02, 0.05, 0.15, 0.35, 0.65, 0.95)  # shares of the largest stake that cannot lose everything
DISTANCES = np.array([0.5, 1.0, 2.0, 4.0, 8.0])  # alternatives of the t ratios, in standard deviations
FIRST = 20  # usual days that are only bet on, to learn how days scatter
LONGEST_MEMORY = 60  # degrees of freedom of a t ratio at most: tails of shares are longer than normal ones
FEWEST_MISSES = 5  # expected in a day; with fewer a share is too skew for a t ratio
USUAL = 0.25  # share of the median size from which the size of a day is usual
CERTAIN = 1e100  # where evidence ends, so that months of a broken promise stay within float64


@dataclass(frozen=True, slots=True)
class Boundary:
    """The largest or the smallest miss rate that a promise allows; `sign` is +1 where more is too much."""

    rate: float
    sign: int

    @property
    def stakes(self) -> Array:
        """What is bet, per unit of the miss rate."""
        most_lost = self.rate if self.sign > 0 else 1 - self.rate
        return np.array(STAKES) / most_lost

    def bets(self, shares: Array) -> Array:
        """What one unit has become after each day: valid whatever happens inside a day."""
        distance = shares - self.rate
        return 1 + self.sign * self.stakes * distance[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What each day leaves behind.

    Attributes
    ----------
    days : array
        Evidence after the day: so strong by chance once in that many days.
    since : array of int
        The day from which the strongest part of it comes.
    """

    days: Array
    since: Indices


def boundaries(alpha: float, tolerance: float, side: Side) -> list[Boundary]:
    """Return the miss rates between which a promise is kept; a side that nothing can break is left out."""
    sides: list[Boundary] = []
    if side != "wide" and alpha + tolerance < 1:
        sides.append(Boundary(alpha + tolerance, 1))
    if side != "narrow" and alpha - tolerance > 0:
        sides.append(Boundary(alpha - tolerance, -1))
    return sides


def of_promise(
    shares: Array,
    sizes: Array,
    *,
    alpha: float,
    tolerance: float,
    side: Side = "both",
    seasons: Sequence[int] | None = None,
) -> Evidence:
    """Return the evidence against a miss rate of `alpha`, from the miss shares of days and their numbers of rows.

    Parameters
    ----------
    shares : array
        Share of missed rows of each day.
    sizes : array
        Number of rows of each day.
    alpha, tolerance : float
        The promised miss rate, and by how much it may differ.
    side : {"both", "narrow", "wide"}
        What to ring for.
    seasons : sequence of int, optional
        The place of each day in a period, such as its weekday. Days are then compared with earlier ones of their place.

    Notes
    -----
    With L the factor that a day multiplies a bet or a likelihood ratio by, ``M = (M + 1) L`` sums over all days on
    which something may have begun (Shiryaev and Roberts). Under a kept promise its mean is at most the number of
    days, so it takes at least T days on average until it reaches T.
    """
    sizes = sizes.reshape(sizes.shape + (1,) * (shares.ndim - sizes.ndim))
    usual = are_usual(sizes)
    offsets, settled = _offsets(shares, usual, seasons)
    ready = settled & usual & (before(usual) >= FIRST) & (sizes * alpha >= FEWEST_MISSES)
    factors: list[Array] = []
    active: list[Array] = []
    for boundary in boundaries(alpha, tolerance, side):
        bets = boundary.bets(shares)
        distance = shares - offsets - boundary.rate
        deviation, degrees = _scatter(distance, sizes, usual, alpha)
        ratios = t_ratios(boundary.sign * distance / deviation, degrees)
        factors += [bets, ratios]
        active += [np.ones(bets.shape, bool), np.broadcast_to(ready[..., None], ratios.shape)]
    return accumulated(np.concatenate(factors, -1), np.concatenate(active, -1))


def of_difference(differences: Array) -> Evidence:
    """Return the evidence against equal scores, from the daily differences of two models; t ratios only."""
    earlier = before(np.ones_like(differences))
    squares = before(differences**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = differences / np.sqrt(squares / earlier)
    z = np.nan_to_num(z, nan=0.0, posinf=CERTAIN, neginf=-CERTAIN)
    degrees = np.clip(earlier, 1, LONGEST_MEMORY)
    factors = np.concatenate([t_ratios(z, degrees), t_ratios(-z, degrees)], -1)
    active = np.broadcast_to((earlier >= FIRST)[..., None], factors.shape)
    return accumulated(factors, active)


def accumulated(factors: Array, active: Flags) -> Evidence:
    """Return the mean over all elements of ``M = (M + 1) L``, and where the leading element has begun.

    >>> found = accumulated(np.array([[0.5], [4.0], [2.0]]), np.full((3, 1), True))
    >>> found.days.tolist(), found.since.tolist()
    ([0.5, 6.0, 14.0], [0, 1, 1])
    """
    total = np.zeros(factors.shape[1:])
    product = np.zeros(factors.shape[1:])
    start = np.zeros(factors.shape[1:], np.intp)
    days = np.empty(factors.shape[:-1])
    since = np.empty(factors.shape[:-1], np.intp)
    for day, factor in enumerate(factors):
        begins = product <= 1
        start = np.where(begins & active[day], day, start)
        longer = np.minimum(np.where(begins, 1, product) * factor, CERTAIN)
        product = np.where(active[day], longer, product)
        total = np.where(active[day], np.minimum((total + 1) * factor, CERTAIN), total)
        leading = np.expand_dims(total.argmax(-1), -1)
        days[day] = total.mean(-1)
        since[day] = np.take_along_axis(start, leading, -1)[..., 0]
    return Evidence(days, since)


def t_ratios(z: Array, degrees: Array) -> Array:
    """Return likelihood ratios of shifted t variables to one that is not shifted.

    Far out such a ratio falls back to 1, as if a catastrophe said nothing. From its extremes on it is kept constant,
    which adds at most a few hundredths to its mean.

    >>> t_ratios(np.array([0.0, 4.0, 400.0]), np.full(3, 60.0))[:, 2].round(1).tolist()
    [0.1, 188.9, 2574.4]
    """
    degrees = degrees[..., None]
    half = DISTANCES / 2
    reach = np.sqrt(half**2 + degrees)
    inside = np.clip(z[..., None], half - reach, half + reach)
    shifted = degrees + (inside - DISTANCES) ** 2
    ratios: Array = ((degrees + inside**2) / shifted) ** ((degrees + 1) / 2)
    return ratios


def before(values: Array | Flags) -> Array:
    """Return the sum over earlier days.

    >>> before(np.array([1.0, 2.0, 3.0])).tolist()
    [0.0, 1.0, 3.0]
    """
    sums = np.cumsum(values, axis=0, dtype=np.float64)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


def are_usual(sizes: Array) -> Flags:
    """Return whether each day has at least a quarter of the median size of the days up to then."""
    usual = np.empty(sizes.shape, bool)
    for day in range(len(sizes)):
        median = np.median(sizes[: day + 1], axis=0)
        usual[day] = sizes[day] >= USUAL * median
    return usual


def _scatter(distance: Array, sizes: Array, usual: Flags, alpha: float) -> tuple[Array, Array]:
    """Return the standard deviation of each day's share by chance and by day, from earlier days, and its degrees.

    The part by day is what earlier days scattered beyond chance, days weighted by their rows.
    """
    chance = alpha * (1 - alpha)
    earlier = before(np.broadcast_to(usual, distance.shape))
    rows = before(sizes * usual)
    squares = before(sizes * usual * distance**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_day = np.nan_to_num(np.maximum((squares - chance * earlier) / rows, 0))
    return np.sqrt(chance / sizes + by_day), np.clip(earlier, 1, LONGEST_MEMORY)


def _offsets(shares: Array, usual: Flags, seasons: Sequence[int] | None) -> tuple[Array, Flags]:
    """Return by how much the place in a period differs from the others, from earlier days, and whether that is known.

    The offsets of a whole period sum to 0: a change of all days is no offset.
    """
    if seasons is None:
        return np.zeros_like(shares), np.ones(shares.shape, bool)
    names, places = np.unique(np.array(seasons), return_inverse=True)
    means = np.zeros((len(names), *shares.shape))
    known = np.zeros(means.shape, bool)
    for place in range(len(names)):
        here = (places == place).reshape((-1,) + (1,) * (shares.ndim - 1)) & usual
        count = before(np.broadcast_to(here, shares.shape))
        known[place] = count >= 2
        means[place] = known[place] * before(here * shares) / np.maximum(count, 1)
    middle = means.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    days = np.arange(len(shares))
    settled = known[places, days]
    return np.where(settled, means[places, days] - middle, 0.0), settled
