"""Power: which pocket would have been found, where none was."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from uccurve._distributions import binomial_tail

PROBABILITY = 0.8
SHARES = (
    0.05,
    0.1,
    0.2,
)  # sizes of a pocket, of which the smallest one that could be found is told
TESTS = 16  # of two trees with a pocket, on two sides
BLURRED = 0.15  # share of a found region that lies outside the pocket it is found for
HEADROOM = 0.9  # of the tested rows, for a tree that does not see every pocket


@dataclass(frozen=True, slots=True)
class PocketPower:
    """A pocket of a `share` of the rows that covers less than `coverage` is found with this `probability`.

    >>> smallest_found(effective=4000.0, alpha=0.1, confidence_level=0.95)
    PocketPower(share=0.05, coverage=0.73, probability=0.8)
    """

    share: float
    coverage: float
    probability: float = PROBABILITY


def smallest_found(
    *, effective: float, alpha: float, confidence_level: float
) -> PocketPower | None:
    """Return the smallest pocket that would have been found; None where none would.

    `effective` is the number of independent rows that the data are worth. One half of them tests what the other half
    found, at the level that is left for each of `TESTS` regions.
    """
    for share in SHARES:
        rows = int(share * effective * HEADROOM / 2)
        for percent in range(int(100 * (1 - alpha)) - 1, 0, -1):
            miss_rate = 1 - percent / 100
            if detection(rows, miss_rate, alpha, (1 - confidence_level) / TESTS) >= PROBABILITY:
                return PocketPower(share, percent / 100)
    return None


def detection(rows: int, miss_rate: float, alpha: float, level: float) -> float:
    """Return the probability that a region of so many rows is shown to miss more often than `alpha`."""
    blurred = (1 - BLURRED) * miss_rate + BLURRED * alpha
    count = _critical_count(rows, alpha, round(level, 9))
    return binomial_tail(count, rows, blurred) if count <= rows else 0.0


@lru_cache(maxsize=64)
def _critical_count(rows: int, alpha: float, level: float) -> int:
    """Return the smallest number of misses that is significant."""
    for count in range(rows + 1):
        if binomial_tail(count, rows, alpha) <= level:
            return count
    return rows + 1
