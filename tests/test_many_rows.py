"""Large sets against sums taken row by row: what depends on size (blocks, sorting, running sums) shows only here.

The exact oracle is too slow for these. Over the bandwidth, which is linear in the scale, each row's part of an area is
an integral in closed form that needs no order; the other pairs are compared on 1500 rows with every metric evaluated
from the definition at every breakpoint, in extended precision.
"""

from __future__ import annotations

import gc
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import uccurve as ucc
from oracle import METRICS, PAIRS

Wide = NDArray[np.longdouble]


class Rows:
    """Asymmetric, weighted rows with ties, in extended precision, and their metrics by definition."""

    def __init__(self, n: int, seed: int, ties: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.error = rng.standard_t(3, n)
        self.lower, self.upper = rng.lognormal(0, 1, n), rng.lognormal(0.3, 0.7, n)
        if ties:
            self.error, self.lower, self.upper = (
                np.round(8 * v) / 8 for v in (self.error, self.lower, self.upper)
            )
            self.lower, self.upper = np.maximum(self.lower, 0.125), np.maximum(self.upper, 0.125)
        self.weight = rng.integers(0, 4, n).astype(float)
        self.intervals = ucc.Intervals.from_bands(
            self.error, np.zeros(n), self.lower, self.upper, weight=self.weight
        )
        keep = self.weight > 0
        wide = [
            np.asarray(v[keep], np.longdouble)
            for v in (self.error, self.lower, self.upper, self.weight)
        ]
        self.r, self.w = np.abs(wide[0]), wide[3] / wide[3].sum()
        self.a, self.o = (
            np.where(wide[0] >= 0, wide[2], wide[1]),
            np.where(wide[0] >= 0, wide[1], wide[2]),
        )

    @property
    def critical(self) -> Any:
        return self.r / self.a

    def metrics(self, k: Any) -> dict[str, Any]:
        """Every metric at one scale, or at a column of scales."""
        covered = self.critical <= k
        over = np.where(covered, k * self.a - self.r, 0)
        parts = {
            "miss_rate": ~covered,
            "bandwidth": k * (self.a + self.o) / 2,
            "excess": np.where(covered, np.minimum(over, k * self.o + self.r), 0),
            "deficit": np.where(covered, 0, self.r - k * self.a),
            "overshoot": over,
        }
        return {name: np.sum(self.w * part, axis=-1) for name, part in parts.items()}

    def over_bandwidth(self, name: str) -> Any:
        """The area of one metric over the bandwidth: half width times the sum of each row's own integral over k."""
        end, k, a, o, r = np.max(self.critical), self.critical, self.a, self.o, self.r
        crossover = np.where(a > o, np.minimum(2 * r / np.where(a > o, a - o, 1), end), end)
        rising = a * (crossover - k) ** 2 / 2
        after = o * (end**2 - crossover**2) / 2 + r * (end - crossover)
        parts = {
            "miss_rate": k,
            "deficit": r * k / 2,
            "overshoot": a * (end - k) ** 2 / 2,
            "excess": rising + after,
            "bandwidth": (a + o) / 2 * end**2 / 2,
        }
        return np.sum(self.w * (a + o) / 2) * np.sum(self.w * parts[name])


@cache
def large(ties: bool) -> tuple[Rows, Any]:
    rows = Rows(150_000, seed=11, ties=ties)
    return rows, ucc.UCC(rows.intervals)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_the_area_over_the_bandwidth_of_many_rows_is_the_sum_of_each_rows_integral(
    metric: str, ties: bool
) -> None:
    rows, c = large(ties)
    np.testing.assert_allclose(
        c.area(axes=("bandwidth", metric)), float(rows.over_bandwidth(metric)), rtol=1e-11
    )


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("scale", [0.0, 0.01, 0.5, 1.0, 2.125, 7.0, 1e3])
def test_the_metrics_of_many_rows_are_the_sums_of_the_definition(scale: float, ties: bool) -> None:
    rows, c = large(ties)
    point, exact = c.at(scale), rows.metrics(np.longdouble(scale))
    for name in METRICS:
        np.testing.assert_allclose(getattr(point, name), float(exact[name]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("metric", METRICS)
def test_the_points_of_many_rows_lie_on_the_curve(metric: str, ties: bool) -> None:
    rows, c = large(ties)
    points = c.points(axes=(metric, "miss_rate"))
    assert np.all(np.diff(points.scale) > 0)
    for i in np.linspace(0, len(points.scale) - 1, 9).astype(int):
        k = points.scale[i]
        exact = rows.metrics(
            np.max(rows.critical[rows.critical.astype(float) == k], initial=np.longdouble(k))
        )
        np.testing.assert_allclose(points.x[i], float(exact[metric]), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(points.y[i], float(exact["miss_rate"]), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_critical_places_that_differ_in_their_last_bits_keep_their_order_and_their_ties(
    vary: Any,
) -> None:
    n, rng = 200_000, np.random.default_rng(12)
    steps = rng.integers(0, 5000, n)
    error = 1.0 + steps * np.finfo(float).eps
    error[: n // 2] = rng.uniform(0.5, 2.0, n // 2)
    points: Any = ucc.UCC(
        ucc.Intervals.from_bands(error, np.zeros(n), np.ones(n)), vary=vary
    ).points()
    start, critical = (0.0, error) if vary == "scale" else (-1.0, error - 1.0)
    levels, counts = np.unique(np.append(critical, start), return_counts=True)
    np.testing.assert_array_equal(getattr(points, vary), levels)
    counts[0] -= 1  # the start is a place, not a row
    np.testing.assert_array_equal(points.y, (n - np.cumsum(counts)) / n)


@pytest.mark.parametrize(
    "n", [1, 2, 3, 255, 256, 257, 1023, 1024, 1025, 65535, 65536, 65537, 131073]
)
def test_no_row_is_lost_where_blocks_of_rows_meet(n: int) -> None:
    error = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    c = ucc.UCC(ucc.Intervals.from_bands(error, np.zeros(n), np.full(n, 2.0), np.ones(n)))
    points = c.points(axes=("bandwidth", "miss_rate"))
    np.testing.assert_array_equal(points.scale, np.arange(n + 1.0))
    np.testing.assert_array_equal(points.y, np.arange(n, -1, -1) / n)
    np.testing.assert_allclose(
        c.area(axes=("bandwidth", "deficit")), 1.5 * (n + 1) * (2 * n + 1) / 12, rtol=1e-12
    )
    np.testing.assert_allclose(c.at(float(n)).overshoot, n - (n + 1) / 2, rtol=1e-12)


@cache
def brute(vary: str) -> tuple[Any, dict[str, Wide]]:
    """A curve of 1500 rows, and every metric at all its breakpoints from the definition."""
    rows = Rows(1500, seed=13)
    c: Any = ucc.UCC(rows.intervals, vary=vary)  # type: ignore[arg-type]
    if vary == "scale":
        crossover = 2 * rows.r / np.where(rows.a > rows.o, rows.a - rows.o, np.inf)
        places = np.unique(
            np.concatenate([[0], rows.critical, crossover[crossover < np.max(rows.critical)]])
        )
        return c, rows.metrics(places[:, None])
    events = np.concatenate([-rows.a, -rows.o, rows.r - rows.a, 2 * rows.r - rows.a])
    found = [_shifted(rows, d) for d in np.unique(events[events <= np.max(rows.r - rows.a)])]
    return c, {name: np.array([values[name] for values in found]) for name in METRICS}


def _shifted(rows: Rows, d: Any) -> dict[str, Any]:
    a, o, r, w = np.maximum(rows.a + d, 0), np.maximum(rows.o + d, 0), rows.r, rows.w
    covered = r <= a
    parts = {
        "miss_rate": ~covered,
        "bandwidth": (a + o) / 2,
        "excess": np.where(covered, np.minimum(a - r, o + r), 0),
        "deficit": np.where(covered, 0, r - a),
        "overshoot": np.where(covered, a - r, 0),
    }
    return {name: np.sum(w * part) for name, part in parts.items()}


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_every_area_of_a_thousand_rows_is_the_integral_over_all_breakpoints(vary: str) -> None:
    c, values = brute(vary)
    for x, y in PAIRS:
        left, right = values[y][:-1], values[y][1:]
        height: Any = (left + right) / 2
        if x != y and "miss_rate" in (x, y):
            height = right if x == "miss_rate" else left
        exact = abs(np.sum(np.diff(values[x]) * height))
        np.testing.assert_allclose(
            c.area(axes=(x, y)), float(exact), rtol=1e-11, err_msg=f"{x}, {y}"
        )


def test_no_metric_turns_back_between_scales_that_are_next_to_each_other() -> None:
    rng = np.random.default_rng(5)
    band = rng.lognormal(size=(40, 50))
    error = band * (np.geomspace(0.1, 10, 40)[:, None] * (1 + np.arange(50) * np.finfo(float).eps))
    table = ucc.UCC(ucc.Intervals.from_bands(error.ravel(), np.zeros(2000), band.ravel())).table()
    for name in METRICS:
        change = np.diff(table[name]) * (-1 if name in ("miss_rate", "deficit") else 1)
        assert change.min() >= 0, name


def test_an_assessment_that_is_no_longer_needed_frees_its_memory_at_once() -> None:
    n = 20_000
    rng = np.random.default_rng(5)
    models = {
        name: ucc.Intervals.from_bands(rng.normal(size=n), np.zeros(n), rng.lognormal(size=n))
        for name in ("A", "B")
    }
    shared = {
        name: ucc.Intervals.from_bands(models["A"].y_true, np.zeros(n), iv.upper_band)
        for name, iv in models.items()
    }
    ucc.assess(
        {name: iv[:50] for name, iv in shared.items()}, coverage=0.9
    )  # what is imported stays
    gc.collect()
    gc.disable()  # what refers to itself would wait for the collector, with all its columns
    tracemalloc.start()
    try:
        ucc.assess(shared, coverage=0.9)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert left < 8 * n  # bytes of a single column
