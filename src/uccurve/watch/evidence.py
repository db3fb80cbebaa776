"""Evidence: how much the days so far speak against a promise, whenever one looks.

It grows by one day at a time. Arrays have one entry per monitor: nothing for one of them, and leading axes for many
that are watched side by side, which is what simulations do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import Array

Side = Literal["both", "narrow", "wide"]
STAKES = np.array(
    [0.02, 0.05, 0.15, 0.35, 0.65, 0.95]
)  # shares of the largest stake that cannot lose everything
DISTANCES = np.array(
    [0.5, 1.0, 2.0, 4.0, 8.0]
)  # alternatives of the t ratios, in standard deviations
FIRST = 20  # days from which a t ratio learns how days scatter, before it speaks
LONGEST_MEMORY = (
    60  # degrees of freedom of a t ratio at most: tails of shares are longer than normal ones
)
FEWEST_MISSES = 5  # expected in a day; with fewer a share is too skew for a t ratio
FAR = 3.5  # standard deviations from which a day is extraordinary: days and scores have long tails
USUAL = 0.25  # share of the median size from which the size of a day is usual
RECENT = 60  # days whose median size is the usual one
CERTAIN = 1e100  # where evidence ends, so that months of a broken promise stay within float64


@dataclass(frozen=True, slots=True)
class Promise:
    """A miss rate that may differ a little, and what to ring for.

    Attributes
    ----------
    alpha, tolerance : float
        The promised miss rate, and by how much it may differ.
    side : {"both", "narrow", "wide"}
    period : int, optional
        Length of a pattern that repeats. Days are then compared with earlier ones of their place in it.
    """

    alpha: float
    tolerance: float
    side: Side = "both"
    period: int | None = None

    @property
    def boundaries(self) -> list[tuple[float, int]]:
        """Miss rates between which the promise is kept, with +1 where more is too much; without what cannot break."""
        largest = self.alpha + self.tolerance
        smallest = self.alpha - self.tolerance
        sides: list[tuple[float, int]] = []
        if self.side != "wide" and largest < 1:
            sides.append((largest, 1))
        if self.side != "narrow" and smallest > 0:
            sides.append((smallest, -1))
        return sides

    @property
    def rates(self) -> Array:
        """The miss rates of the boundaries."""
        return np.array([rate for rate, _ in self.boundaries])

    @property
    def signs(self) -> Array:
        """Their signs."""
        return np.array([float(sign) for _, sign in self.boundaries])

    @property
    def chance(self) -> float:
        """Variance of a single row."""
        return self.alpha * (1 - self.alpha)


@dataclass(frozen=True, slots=True, eq=False)
class Starts:
    """What bets and ratios have become, over all days on which something may have begun (Shiryaev and Roberts).

    With L the factor by which a day multiplies a bet or a likelihood ratio, ``total = (total + 1) L`` is the sum over
    all starts. Under a kept promise its mean is at most the number of days, so it takes at least T days on average
    until it reaches T.

    Attributes
    ----------
    total, product : array
        Sum over all starts, and the largest product of a single start.
    start : array of int
        The day on which that one began.
    days : int
        Number of days.
    """

    total: Array
    product: Array
    start: Indices
    days: int = 0

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> Self:
        """No days yet."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape, np.intp))

    def after(self, factors: Array, *, active: Flags | bool = True) -> Self:
        """One day more; elements that are not active stay as they are.

        >>> starts = Starts.of((1,))
        >>> for factor in (0.5, 4.0, 2.0):
        ...     starts = starts.after(np.array([factor]))
        ...     print(starts.mean, starts.since)
        0.5 0
        6.0 1
        14.0 1
        """
        begins = self.product <= 1
        product = np.where(begins, 1, self.product) * factors
        total = (self.total + 1) * factors
        return replace(
            self,
            total=np.where(active, np.minimum(total, CERTAIN), self.total),
            product=np.where(active, np.minimum(product, CERTAIN), self.product),
            start=np.where(active & begins, self.days, self.start),
            days=self.days + 1,
        )

    @property
    def mean(self) -> Array:
        """Evidence: so strong by chance once in that many days."""
        mean: Array = self.total.mean(axis=-1)
        return mean

    @property
    def leading(self) -> Indices:
        """The element with the strongest evidence."""
        leading: Indices = self.total.argmax(axis=-1)
        return leading

    @property
    def since(self) -> Indices:
        """The day on which the leading element has begun."""
        start: Indices = np.take_along_axis(self.start, self.leading[..., None], -1)[..., 0]
        return start


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """How days have scattered about each boundary.

    Attributes
    ----------
    days, rows : float
        Number of days, and of their rows.
    squares : array
        Sum of squared distances from each boundary, times the rows of the day.
    """

    squares: Array
    days: int = 0
    rows: float = 0.0

    def after(self, distance: Array, size: float) -> Self:
        """One day more."""
        return replace(
            self,
            squares=self.squares + size * distance**2,
            days=self.days + 1,
            rows=self.rows + size,
        )

    def deviation(self, size: float, chance: float) -> Array:
        """Return the standard deviation of the share of a day: by chance, and by what days scattered beyond it."""
        by_day = np.zeros_like(self.squares)
        if self.rows:
            by_day = np.maximum(self.squares - chance * self.days, 0) / self.rows
        return np.sqrt(chance / size + by_day)

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return min(max(self.days, 1), LONGEST_MEMORY)


@dataclass(frozen=True, slots=True, eq=False)
class Seasons:
    """By how much the shares of each place in a period differ from the others.

    Attributes
    ----------
    counts : array of int
        Number of days of each place.
    sums : array
        Sum of their shares; places are the last axis.
    """

    counts: Indices
    sums: Array

    def offset(self, place: int) -> Array:
        """Return by how much a place differs; the offsets of a whole period sum to 0."""
        known = self.counts >= 1
        means = self.sums[..., known] / self.counts[known]
        mean_here: Array = self.sums[..., place] / self.counts[place]
        offset: Array = mean_here - means.mean(axis=-1)
        return offset

    def is_known(self, place: int) -> bool:
        """Whether every place was seen, and this one twice."""
        return bool(self.counts.min() >= 1 and self.counts[place] >= 2)

    def after(self, share: Array, place: int) -> Self:
        """One day more."""
        counts = self.counts.copy()
        counts[place] += 1
        sums = self.sums.copy()
        sums[..., place] += share
        return replace(self, counts=counts, sums=sums)


@dataclass(frozen=True, slots=True, eq=False)
class PromiseEvidence:
    """Evidence against a promise: bets and t ratios on the miss shares of days.

    Bets are valid whatever happens inside a day. A t ratio compares a day with how earlier days scattered, so it needs
    some of them, enough rows, and as many as are usual.
    """

    promise: Promise
    starts: Starts
    scatter: Scatter
    seasons: Seasons
    sizes: tuple[float, ...] = ()

    @classmethod
    def of(cls, promise: Promise, monitors: tuple[int, ...] = ()) -> Self:
        """No days yet."""
        sides = len(promise.boundaries)
        places = promise.period or 1
        return cls(
            promise,
            starts=Starts.of((*monitors, sides * (len(STAKES) + len(DISTANCES)))),
            scatter=Scatter(np.zeros((*monitors, sides))),
            seasons=Seasons(np.zeros(places, np.intp), np.zeros((*monitors, places))),
        )

    @property
    def is_learning(self) -> bool:
        """Whether too few days were seen to know how they scatter."""
        return self.scatter.days < FIRST

    @property
    def leading_sign(self) -> int:
        """Whether the strongest evidence is for too many misses (1) or too few (-1); of one monitor."""
        signs = self.promise.signs
        elements = np.r_[np.repeat(signs, len(STAKES)), np.repeat(signs, len(DISTANCES))]
        return int(elements[self.starts.leading])

    def after(self, share: npt.ArrayLike, size: float, place: int = 0) -> Self:
        """One day more.

        Parameters
        ----------
        share : float or array
            Share of missed rows.
        size : float
            Number of rows.
        place : int
            Where in its period the day is, such as its weekday.
        """
        shares = np.asarray(share, np.float64)
        usual = bool(size >= USUAL * np.median([*self.sizes, size]))
        known = self.promise.period is None or self.seasons.is_known(place)
        bets = self._bets(shares)
        distance = self._distance(shares, place, known=known)
        ratios = self._ratios(distance, size)
        enough = size * self.promise.alpha >= FEWEST_MISSES
        speaks = usual and known and enough and not self.is_learning
        active = np.r_[np.full(bets.shape[-1], True), np.full(ratios.shape[-1], speaks)]
        factors = np.concatenate([bets, ratios], axis=-1)
        return replace(
            self,
            starts=self.starts.after(factors, active=active),
            scatter=self.scatter.after(distance, size) if usual and known else self.scatter,
            seasons=self.seasons.after(shares, place) if usual else self.seasons,
            sizes=(*self.sizes, float(size))[-RECENT:],
        )

    def _bets(self, shares: Array) -> Array:
        """What one unit of each bet has become after the day."""
        rates = self.promise.rates
        most_lost = np.where(self.promise.signs > 0, rates, 1 - rates)
        gain = self.promise.signs * (shares[..., None] - rates) / most_lost
        return _flat(1 + gain[..., None] * STAKES)

    def _distance(self, shares: Array, place: int, *, known: bool) -> Array:
        """How far the day is from each boundary, beyond what its place in the period explains."""
        usual_here = self.seasons.offset(place) if known and self.promise.period else 0.0
        distance: Array = (shares - usual_here)[..., None] - self.promise.rates
        return distance

    def _ratios(self, distance: Array, size: float) -> Array:
        """Likelihood ratios of the day."""
        deviation = self.scatter.deviation(size, self.promise.chance)
        return _flat(t_ratios(self.promise.signs * distance / deviation, self.scatter.degrees))


@dataclass(frozen=True, slots=True, eq=False)
class DifferenceEvidence:
    """Evidence that two models score differently, from the daily differences of their scores; t ratios only."""

    starts: Starts
    scatter: Scatter

    @classmethod
    def of(cls, monitors: tuple[int, ...] = ()) -> Self:
        """No days yet."""
        return cls(Starts.of((*monitors, 2 * len(DISTANCES))), Scatter(np.zeros(monitors)))

    @property
    def is_learning(self) -> bool:
        """Whether too few days were seen to know how they scatter."""
        return self.scatter.days < FIRST

    def after(self, difference: npt.ArrayLike) -> Self:
        """One day more."""
        values = np.asarray(difference, np.float64)
        deviation = self.scatter.deviation(1.0, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.nan_to_num(values / deviation, posinf=FAR, neginf=-FAR)
        z = np.clip(z, -FAR, FAR)  # one day makes no model better
        both = np.stack([z, -z], axis=-1)
        ratios = _flat(t_ratios(both, self.scatter.degrees))
        return replace(
            self,
            starts=self.starts.after(ratios, active=not self.is_learning),
            scatter=self.scatter.after(values, 1.0),
        )


def t_ratios(z: Array, degrees: int) -> Array:
    """Return likelihood ratios of shifted t variables to one that is not shifted.

    Beyond 3.5 standard deviations they grow with the square only: one extraordinary day is no change of all days,
    unless it is a catastrophe. Otherwise daily effects with long tails, t(3), ring every 380 days instead of 1,000.

    >>> t_ratios(np.array([0.0, 3.5, 7.0]), 60)[:, 2].round(1).tolist()
    [0.1, 94.0, 376.2]
    """
    near = np.clip(z[..., None], -FAR, FAR)
    beyond = np.maximum(z[..., None] / FAR, 1.0) ** 2
    shifted = degrees + (near - DISTANCES) ** 2
    ratios: Array = beyond * ((degrees + near**2) / shifted) ** ((degrees + 1) / 2)
    return ratios


def _flat(elements: Array) -> Array:
    """Return the elements of all sides in one axis."""
    return elements.reshape(*elements.shape[:-2], -1)
