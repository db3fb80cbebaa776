"""Evidence against a promise: as its definition in slow loops says, and rare while the promise is kept."""

from __future__ import annotations

from math import gamma, pi, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from uccurve.watch.days import place_of
from uccurve.watch.evidence import DifferenceEvidence, Promise, PromiseEvidence, Side

Array = NDArray[np.float64]

ALPHA = 0.1
TOLERANCE = 0.005
STAKES = (0.02, 0.05, 0.15, 0.35, 0.65, 0.95)


def evidence_after(
    shares: Array, sizes: Array, *, side: Side = "both", period: int | None = None
) -> tuple[Array, list[int]]:
    """Evidence after each day, of one monitor or of many, and the start of the leading element."""
    found = PromiseEvidence.of(Promise(ALPHA, TOLERANCE, side, period), shares.shape[1:])
    levels: list[Array] = []
    starts: list[int] = []
    for day, (share, size) in enumerate(zip(shares, sizes, strict=True)):
        found = found.after(share, float(size), day % (period or 1))
        levels.append(found.starts.mean)
        starts.append(int(np.max(found.starts.since)))
    return np.array(levels), starts


def t_density(z: float, degrees: float) -> float:
    size = gamma((degrees + 1) / 2) / gamma(degrees / 2) / sqrt(degrees * pi)
    return float(size * (1 + z * z / degrees) ** (-(degrees + 1) / 2))


def ratio(z: float, delta: float, degrees: float) -> float:
    """Likelihood ratio, which grows with the square beyond 3.5 standard deviations."""
    near = min(max(z, -3.5), 3.5)
    return max(z / 3.5, 1) ** 2 * t_density(near - delta, degrees) / t_density(near, degrees)


def slowly(shares: Array, sizes: Array) -> list[float]:
    """Evidence after each day, by the definition: every start, every element, no recursion."""
    evidence: list[float] = []
    factors = [elements(shares, sizes, day) for day in range(len(shares))]
    for day in range(len(shares)):
        sums = []
        for element in range(22):
            total = 0.0
            for start in range(day + 1):
                # a t ratio begins on no day on which it says nothing
                if factors[start][element] is not None:
                    total += float(
                        np.prod([row[element] or 1.0 for row in factors[start : day + 1]])
                    )
            sums.append(total)
        evidence.append(sum(sums) / 22)
    return evidence


def elements(shares: Array, sizes: Array, day: int) -> list[float | None]:
    found: list[float | None] = []
    for sign in (1, -1):
        rate = ALPHA + sign * TOLERANCE
        lost = rate if sign > 0 else 1 - rate
        found += [1 + sign * stake / lost * (shares[day] - rate) for stake in STAKES]
        usual = [i for i in range(day) if sizes[i] >= np.median(sizes[: i + 1]) / 4]
        speaks = len(usual) >= 20 and sizes[day] >= np.median(sizes[: day + 1]) / 4
        if not speaks:
            found += [None] * 5
            continue
        squares = sum(sizes[i] * (shares[i] - rate) ** 2 for i in usual)
        rows = sum(sizes[i] for i in usual)
        by_day = max(0.0, (squares - ALPHA * (1 - ALPHA) * len(usual)) / rows)
        z = sign * (shares[day] - rate) / sqrt(ALPHA * (1 - ALPHA) / sizes[day] + by_day)
        degrees = min(len(usual), 60)
        found += [ratio(z, delta, degrees) for delta in (0.5, 1, 2, 4, 8)]
    return found


def test_evidence_is_what_its_definition_says() -> None:
    rng = np.random.default_rng(0)
    sizes = np.where(np.arange(40) % 7 == 6, 100, rng.integers(800, 1200, 40)).astype(float)
    rates = np.clip(np.where(np.arange(40) < 32, 0.1, 0.13) + 0.01 * rng.normal(size=40), 0, 1)
    shares = rng.binomial(sizes.astype(int), rates) / sizes
    found, _ = evidence_after(shares, sizes)
    assert_allclose(found, slowly(shares, sizes), rtol=1e-9)


def simulated(
    days: int,
    rows: int,
    *,
    sd: float = 0.0,
    rate: float = 0.1,
    change: float | None = None,
    seed: int = 0,
) -> Array:
    """Evidence of 100 monitors, whose miss rate changes after 60 days where that is asked."""
    rng = np.random.default_rng(seed)
    rates = np.full((days, 1), rate)
    if change is not None:
        rates[60:] = change
    shares = rng.binomial(rows, np.clip(rates + sd * rng.normal(size=(days, 100)), 0, 1)) / rows
    return evidence_after(shares, np.full(days, rows))[0]


@pytest.mark.parametrize("rows", [100, 5000])
@pytest.mark.parametrize("sd", [0.0, 0.014, 0.03])
def test_false_alarms_are_rare(rows: int, sd: float) -> None:
    rings = (simulated(365, rows, sd=sd) >= 365).any(axis=0)
    assert rings.mean() <= 0.3  # 63% would be allowed


def test_at_the_edge_of_the_promise_false_alarms_are_still_as_rare_as_promised() -> None:
    rings = (simulated(365, 5000, sd=0.014, rate=0.105) >= 365).any(axis=0)
    assert 0.02 <= rings.mean() <= 0.63


@pytest.mark.parametrize(("change", "most"), [(0.13, 12), (0.15, 5), (0.2, 2), (0.3, 2)])
def test_a_broken_promise_is_seen_within_days(change: float, most: int) -> None:
    rings = simulated(160, 5000, sd=0.014, change=change)[60:] >= 1000
    assert rings.any(axis=0).all()
    assert np.median(rings.argmax(axis=0) + 1) <= most


def test_bands_that_became_too_wide_are_seen_too() -> None:
    rings = simulated(160, 5000, sd=0.014, change=0.06)[60:] >= 1000
    assert np.median(rings.argmax(axis=0) + 1) <= 10


def test_it_says_where_the_change_began() -> None:
    rng = np.random.default_rng(1)
    shares = rng.binomial(5000, np.where(np.arange(80) < 60, 0.1, 0.15)) / 5000
    _, since = evidence_after(shares, np.full(80, 5000))
    assert since[-1] == 60


@pytest.mark.parametrize("rows", [200, 5000])
def test_days_with_long_tails_ring_no_more_often(rows: int) -> None:
    rng = np.random.default_rng(6)
    rates = np.clip(0.1 + 0.014 * rng.standard_t(3, size=(365, 100)) / np.sqrt(3), 0, 1)
    shares = rng.binomial(rows, rates) / rows
    found, _ = evidence_after(shares, np.full(365, rows))
    assert (found >= 365).any(axis=0).mean() <= 0.3  # 63% would be allowed


def test_days_of_very_different_size_do_not_ring_by_themselves() -> None:
    rng = np.random.default_rng(2)
    sizes = np.where(np.arange(700) % 7 >= 5, 50, 5000)[:, None]
    rates = 0.1 + 0.014 * rng.normal(size=(700, 50))
    shares = rng.binomial(sizes, rates) / sizes
    found, _ = evidence_after(shares, sizes[:, 0])
    assert (found >= 1000).any(axis=0).mean() <= 0.1


def test_a_weekly_pattern_hides_no_change_and_is_none() -> None:
    rng = np.random.default_rng(3)
    weekend = np.where(np.arange(200) % 7 >= 5, 0.05, -0.02)
    for change, rings in ((0.0, False), (0.04, True)):
        rates = 0.1 + weekend + np.where(np.arange(200) < 120, 0, change)
        shares = rng.binomial(1000, rates) / 1000
        found, _ = evidence_after(shares, np.full(200, 1000), period=7)
        assert (found.max() >= 1000) == rings


def test_small_days_are_only_bet_on() -> None:
    shares = np.full(60, 0.1)
    shares[-1] = 0.9
    few, _ = evidence_after(shares, np.full(60, 20))
    many, _ = evidence_after(shares, np.full(60, 1000))
    assert few[-1] < 1000 < many[-1]


def test_one_side_alone_is_watched_where_that_is_asked() -> None:
    shares = np.r_[np.full(40, 0.1), np.full(20, 0.02)]
    sizes = np.full(60, 1000)
    wide, _ = evidence_after(shares, sizes, side="wide")
    narrow, _ = evidence_after(shares, sizes, side="narrow")
    assert wide[-1] > 1e6
    assert narrow[-1] < 100
    assert Promise(0.25, 0.5).boundaries == [(0.75, 1)]


def evidence_of_differences(differences: Array) -> Array:
    found = DifferenceEvidence.of(differences.shape[1:])
    levels: list[Array] = []
    for day in differences:
        found = found.after(day)
        levels.append(found.starts.mean)
    return np.array(levels)


def test_differences_ring_for_a_better_model_and_not_for_an_equal_one() -> None:
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(365, 100))
    equal = evidence_of_differences(noise)
    better = evidence_of_differences(noise + 0.5)
    assert (equal >= 365).any(axis=0).mean() <= 0.63
    assert (better[:200] >= 365).any(axis=0).all()


def test_one_extraordinary_day_rings_for_no_model() -> None:
    rng = np.random.default_rng(5)
    heavy = evidence_of_differences(rng.standard_t(3, size=(365, 100)))
    assert (heavy >= 365).any(axis=0).mean() <= 0.3
    noise = rng.normal(size=60)
    noise[-1] = 1e6
    assert evidence_of_differences(noise)[-1] < 100


def test_a_day_is_placed_by_its_date_and_not_by_its_order() -> None:
    days = ["2026-03-02", "2026-03-09", "2026-03-11"]
    monday, next_monday, wednesday = (place_of(day, 0, 7) for day in days)
    assert monday == next_monday
    assert (wednesday - monday) % 7 == 2
    assert [place_of(day, 0, 7) for day in (3, 10, 11)] == [3, 3, 4]
    assert [place_of(day, order, 2) for order, day in enumerate("abc")] == [0, 1, 0]


def test_a_sum_of_seasons_hides_no_change_of_all_days() -> None:
    shares = np.where(np.arange(120) < 60, 0.1, 0.16) + np.where(
        np.arange(120) % 7 == 0, 0.06, -0.01
    )
    found, since = evidence_after(shares, np.full(120, 1000), period=7)
    assert found[59] < 1000 < found[70]
    assert since[-1] == 60
