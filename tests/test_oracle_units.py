"""Units, score functions and several outputs against the definitions in exact arithmetic (tests/oracle.py)."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import uccurve as ucc
from closeness import TOLERANCE, area_slack, extent, level, near, slack
from oracle import METRICS, written
from strategies import Data, dyadic, fractions, pairs, varies


@given(data=dyadic(6), vary=varies, pair=pairs, unit=st.sampled_from(["std", 4.0, 0.3]))
def test_a_unit_divides_all_but_the_miss_rate(
    data: Data, vary: str, pair: tuple[str, str], unit: str | float
) -> None:
    oracle, c = data.oracle(vary), data.curve(vary)
    mean = sum((row.weight * row.y_true for row in oracle.rows), Fraction(0))
    spread = sqrt(sum((row.weight * (row.y_true - mean) ** 2 for row in oracle.rows), Fraction(0)))
    one = Fraction(spread if isinstance(unit, str) else unit)
    assume(one > 0)
    per = {metric: Fraction(1) if metric == "miss_rate" else one for metric in METRICS}
    (x, y), t = pair, oracle.end
    product = per[x] * per[y]
    near(
        c.area(axes=pair, unit=unit),
        oracle.area(x, y) / product,
        area_slack(oracle, x, y) / product,
    )
    point, points = c.at(float(t), unit=unit), c.points(axes=pair, unit=unit)
    for metric in METRICS:
        near(
            getattr(point, metric),
            oracle.value(metric, t) / per[metric],
            slack(oracle, metric, t) / per[metric],
        )
    near(
        float(points.x[0]),
        oracle.value(x, oracle.start) / per[x],
        slack(oracle, x, oracle.start) / per[x],
    )
    off = slack(oracle, x, t) / per[x] + slack(oracle, y, t) / per[y]
    cost = (oracle.value(x, t) / per[x] + oracle.value(y, t) / per[y]) / 2
    near(c.cost(0.5, axes=pair, at=float(t), unit=unit), cost, off)
    cheapest = min(
        (oracle.value(x, k) / per[x] + oracle.value(y, k) / per[y]) / 2 for k in oracle.breakpoints
    )
    off = TOLERANCE * (extent(oracle, x) / per[x] + extent(oracle, y) / per[y])
    near(c.cheapest(0.5, axes=pair, unit=unit).cost, cheapest, off)


@given(data=dyadic(8), part=fractions, unit=st.sampled_from([4.0, 0.25]))
def test_levels_and_ranges_are_read_in_the_unit(data: Data, part: Fraction, unit: float) -> None:
    oracle, c = data.oracle(), data.curve("scale")
    top = float(level(oracle, "bandwidth", part))
    assume(top > 0)
    np.testing.assert_allclose(
        c.find(bandwidth=top / unit, unit=unit).scale, c.find(bandwidth=top).scale, rtol=1e-12
    )
    whole = c.area(axes=("bandwidth", "miss_rate"), bandwidth=(0, top))
    found = c.area(axes=("bandwidth", "miss_rate"), bandwidth=(0, top / unit), unit=unit)
    np.testing.assert_allclose(found, whole / unit, rtol=1e-12)


@given(data=dyadic(8, never=True), alpha=st.sampled_from([0.05, 0.1, 0.5]))
def test_the_score_functions_are_the_metrics_of_the_delivered_bounds(
    data: Data, alpha: float
) -> None:
    oracle, iv, one = data.oracle(), data.intervals(), Fraction(1)
    bounds: Any = (iv.lower, iv.upper)
    for metric in ("bandwidth", "excess", "deficit"):
        found = getattr(ucc, f"{metric}_score")(
            data.y_true, data.y_pred, *bounds, sample_weight=data.weight
        )
        near(found, oracle.value(metric, one), slack(oracle, metric, one))
    near(
        ucc.miss_rate_score(data.y_true, *bounds, sample_weight=data.weight),
        oracle.value("miss_rate", one),
    )
    found = ucc.interval_score(data.y_true, *bounds, coverage=1 - alpha, sample_weight=data.weight)
    near(found, oracle.interval_score(written(alpha)))


@given(data=dyadic(8), pair=pairs)
def test_the_score_of_an_area_is_the_area_of_the_delivered_bounds(
    data: Data, pair: tuple[str, str]
) -> None:
    oracle, iv = data.oracle(), data.intervals()
    axes: Any = pair
    columns = (data.y_true, data.y_pred, iv.lower, iv.upper)
    found = ucc.auucc_score(*columns, axes=axes, sample_weight=data.weight)
    near(found, oracle.area(*pair), area_slack(oracle, *pair))
    x, y, scales = ucc.ucc_curve(*columns, axes=axes, sample_weight=data.weight)
    points = data.curve("scale").points(axes=pair)
    for ours, theirs in ((x, points.x), (y, points.y), (scales, points.scale)):
        np.testing.assert_array_equal(ours, theirs)


@given(
    data=dyadic(8, weighted=False).filter(lambda data: len(data.y_true) % 2 == 0),
    vary=varies,
    pair=pairs,
)
def test_two_outputs_are_the_flattened_rows(data: Data, vary: Any, pair: tuple[str, str]) -> None:
    columns = [
        np.reshape(v, (-1, 2)) for v in (data.y_true, data.y_pred, data.lower_band, data.upper_band)
    ]
    weight = np.arange(1.0, len(columns[0]) + 1)
    flat = Data(
        data.y_true,
        data.y_pred,
        data.lower_band,
        data.upper_band,
        tuple(np.repeat(weight, 2).tolist()),
    )
    oracle = flat.oracle(vary)
    axes: Any = pair
    found = ucc.UCC(ucc.Intervals.from_bands(*columns, weight=weight), vary=vary).area(axes=axes)
    near(found, oracle.area(*pair), area_slack(oracle, *pair))
