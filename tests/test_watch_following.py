"""A factor that follows keeps its coverage and costs hardly more than the best of what could have been chosen."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import uccurve as ucc

Array = NDArray[np.float64]

DAYS = 400
START = 60
Rng = np.random.Generator
WORLDS: dict[str, Callable[[Rng], Array]] = {
    "still": lambda _: np.ones(DAYS),
    "noisy": lambda rng: np.exp(0.3 * rng.normal(size=DAYS)),
    "jump": lambda _: np.where(np.arange(DAYS) < DAYS / 2, 1.0, 1.6),
    "seasonal": lambda _: np.exp(0.4 * np.sin(2 * np.pi * np.arange(DAYS) / 365)),
    "walk": lambda rng: np.exp(np.cumsum(0.03 * rng.normal(size=DAYS))),
}


def unit_bands(errors: Array) -> ucc.Intervals:
    return ucc.Intervals.from_bands(errors, np.zeros_like(errors), np.ones_like(errors))


def factor_of(errors: Array) -> float:
    return ucc.UCC(unit_bands(errors)).find(coverage=0.9, conformal=True).scale


@pytest.mark.parametrize("world", WORLDS)
def test_the_factor_follows_in_every_world(world: str) -> None:
    rng = np.random.default_rng(0)
    size = WORLDS[world](rng)
    errors = np.abs(rng.normal(size=(DAYS, 100))) * size[:, None]
    follow = ucc.FollowingCalibrator(coverage=0.9).fit(unit_bands(errors[:START].ravel()))
    fixed = factor_of(errors[:START].ravel())
    covered: list[float] = []
    losses: dict[str, list[float]] = {"follow": [], "fixed": [], "14 days": [], "60 days": []}
    for day in range(START, DAYS):
        factors = {
            "follow": follow.factor,
            "fixed": fixed,
            "14 days": factor_of(errors[day - 14 : day].ravel()),
            "60 days": factor_of(errors[day - 60 : day].ravel()),
        }
        for name, factor in factors.items():
            losses[name].append(0.1 * factor + float(np.maximum(errors[day] - factor, 0).mean()))
        covered.append(float((errors[day] <= follow.factor).mean()))
        follow.update(unit_bands(errors[day]))
    means = {name: float(np.mean(values)) for name, values in losses.items()}
    assert_allclose(np.mean(covered), 0.9, atol=0.006)
    assert means["follow"] <= 1.01 * min(means.values())


def slow_update(
    logs: list[float], losses: list[float], errors: Array, alpha: float
) -> tuple[list[float], list[float]]:
    """One day by the definition."""
    rates = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
    day = []
    for log in logs:
        over = [max(0.0, error - np.exp(log)) for error in errors]
        day.append(alpha * np.exp(log) + sum(over) / len(over))
    moved = []
    for rate, log in zip(rates, logs, strict=True):
        missed = sum(error > np.exp(log) for error in errors) / len(errors)
        moved.append(log + rate * (missed - alpha) / alpha / 4)
    mean = sum(day) / 6
    return moved, [0.97 * old + new / mean for old, new in zip(losses, day, strict=True)]


def test_a_day_moves_the_experts_as_defined() -> None:
    rng = np.random.default_rng(1)
    errors = np.abs(rng.normal(size=(6, 50))) * np.linspace(1, 2, 6)[:, None]
    follow = ucc.FollowingCalibrator(coverage=0.8).fit(unit_bands(errors[0]))
    logs = [float(np.log(follow.factor))] * 6
    losses = [0.0] * 6
    for day in errors[1:]:
        follow.update(unit_bands(day))
        logs, losses = slow_update(logs, losses, day, 0.2)
    weights = np.exp(-5 * (np.array(losses) - min(losses)))
    assert_allclose(follow.factor, np.exp(np.average(logs, weights=weights)), rtol=1e-12)


def test_bounds_of_new_rows_get_the_factor_of_the_next_day() -> None:
    follow = ucc.FollowingCalibrator(coverage=0.9)
    follow.update(unit_bands(np.linspace(0.1, 3, 100)))
    lower, upper = follow.apply([10.0], [9.0], [12.0])
    assert_allclose([lower[0], upper[0]], [10 - follow.factor, 10 + 2 * follow.factor])


def test_a_row_that_no_factor_covers_moves_it_and_breaks_nothing() -> None:
    follow = ucc.FollowingCalibrator(coverage=0.9).fit(unit_bands(np.linspace(0.1, 3, 100)))
    before = follow.factor
    bands = np.r_[0.0, 0.0, np.ones(8)]
    follow.update(ucc.Intervals.from_bands(np.full(10, 0.5), np.zeros(10), bands))
    assert before < follow.factor < 10


def test_json_keeps_it_and_nothing_else_is_read() -> None:
    follow = ucc.FollowingCalibrator(coverage=0.9)
    for seed in range(5):
        follow.update(unit_bands(np.random.default_rng(seed).normal(size=50)))
    text = follow.to_json()
    back = ucc.FollowingCalibrator.from_json(text)
    assert (back.factor, back.days, back.to_json()) == (follow.factor, 5, text)
    for wrong in (
        "[]",
        "{}",
        text.replace("0.9", "0.8"),
        json.dumps(follow.to_dict() | {"logs": [1.0]}),
    ):
        with pytest.raises(ValueError, match="`text` must be the state of a FollowingCalibrator"):
            ucc.FollowingCalibrator.from_json(wrong)
