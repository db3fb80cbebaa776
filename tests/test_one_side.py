"""One bound, or one quantile: judged, compared, calibrated and shown as two bounds are, and held to peers."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve.evidence.clusters import clustering, neighbours_pvalue, runs_pvalue
from uccurve.evidence.contributions import crps_contributions
from uccurve.evidence.units import Blocks

Array = npt.NDArray[np.float64]
ROWS = 600
NORMAL = NormalDist()


class Demand:
    """Demand whose spread grows with its prediction, with bounds of one side."""

    def __init__(self, seed: int = 0, rows: int = ROWS) -> None:
        self.rng = np.random.default_rng(seed)
        self.y_pred = self.rng.uniform(5, 20, rows)
        self.sd = 0.2 * self.y_pred
        self.y = self.y_pred + self.sd * self.rng.normal(size=rows)

    def upper(self, factor: float = 1.3, **options: Any) -> ucc.Intervals:
        """Bands in proportion to the spread."""
        bound = self.y_pred + factor * self.sd
        return ucc.Intervals.from_bounds(self.y, self.y_pred, upper=bound, **options)

    def constant(self, width: float = 3.0) -> ucc.Intervals:
        """Bands of one width."""
        return ucc.Intervals.from_bounds(self.y, self.y_pred, upper=self.y_pred + width)

    def quantile(self, factor: float = 1.3, level: float = 0.95) -> ucc.Intervals:
        """A bound alone."""
        return ucc.Intervals.from_quantile(self.y, self.y_pred + factor * self.sd, level=level)


def mirrored(iv: ucc.Intervals) -> ucc.Intervals:
    """The same problem upside down."""
    return ucc.Intervals.from_bounds(-iv.y_true, -iv.y_pred, lower=-iv.upper)


# ---- scores of peers


@pytest.mark.parametrize("level", [0.5, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_the_score_is_the_pinball_loss_divided_by_the_miss_rate(
    level: float, is_weighted: bool
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    demand = Demand(1)
    weight = demand.rng.uniform(0.5, 2, ROWS) if is_weighted else None
    iv = demand.upper(weight=weight)
    loss = metrics.mean_pinball_loss(iv.y_true, iv.upper, alpha=level, sample_weight=weight)
    miss_rate = float(1 - Fraction(str(level)))
    for curve, scale in ((ucc.UCC(iv), 1.0), (ucc.UCC(iv, vary="shift"), 0.0)):
        assert_allclose(
            curve.interval_score(coverage=level, at=scale), loss / miss_rate, rtol=1e-12
        )
    below = ucc.UCC(mirrored(iv)) if weight is None else None
    if below is not None:
        assert_allclose(below.interval_score(coverage=level), loss / miss_rate, rtol=1e-12)


def test_the_score_as_shipped_is_the_pinball_loss_of_what_ships() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    iv = Demand(2).upper()
    row = ucc.assess(iv, coverage=0.95)["model"]
    shipped = iv.calibrated(scale=float(row.scale))
    loss = metrics.mean_pinball_loss(iv.y_true, shipped.upper, alpha=0.95)
    assert_allclose(float(row.score), loss / 0.05, rtol=1e-9)


def test_the_quantile_score_is_that_of_scoringrules() -> None:
    peer = pytest.importorskip("scoringrules")
    iv = Demand(3).quantile()
    losses = peer.quantile_score(iv.y_true, iv.upper, 0.95)
    assert_allclose(
        ucc.UCC(iv).interval_score(coverage=0.95), float(np.mean(losses)) / 0.05, rtol=1e-12
    )


def test_the_share_of_climatology_is_what_statsmodels_prints() -> None:
    """Of the quantile regression itself: one minus its loss over that of one quantile for all rows."""
    api = pytest.importorskip("statsmodels.api")
    demand = Demand(4)
    given = api.add_constant(demand.y_pred)
    fitted = api.QuantReg(demand.y, given).fit(q=0.9)
    bound = fitted.predict(given)
    parts = ucc.UCC(ucc.Intervals.from_quantile(demand.y, bound, level=0.9)).decompose(coverage=0.9)
    assert_allclose(1 - parts.delivered / parts.climatology, fitted.prsquared, rtol=1e-6)


# ---- what the theory says


@pytest.mark.parametrize("rows", [20, 50, 200])
@pytest.mark.parametrize("level", [0.8, 0.9])
@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_a_new_row_is_covered_with_exactly_the_conformal_probability(
    rows: int, level: float, vary: Any
) -> None:
    """Each of n + 1 rows is equally likely to be the new one; how many of them are covered is counted."""
    iv = Demand(rows, rows + 1).upper()
    covered = 0
    for new in range(rows + 1):
        others = np.delete(np.arange(rows + 1), new)
        calibrator = ucc.IntervalCalibrator(coverage=level, vary=vary).fit(iv[others])
        shipped = calibrator.apply(iv[[new]])
        covered += int(shipped.y_true[0] <= shipped.upper[0])
    rank = ceil((rows + 1) * Fraction(str(level)))
    assert covered == rank


def population(power: float, level: float) -> ucc.Intervals:
    """A grid of standard deviations and of errors, with bands that grow as a power of the standard deviation."""
    sd = np.repeat(np.linspace(0.5, 4, 15), 2000)
    place = np.tile((np.arange(2000) + 0.5) / 2000, 15)
    error = sd * np.array([NORMAL.inv_cdf(share) for share in place[:2000].tolist()] * 15)
    zero = np.zeros(len(sd))
    return ucc.Intervals.from_bounds(error, zero, upper=NORMAL.inv_cdf(level) * sd**power)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_true_quantiles_need_no_factor_and_have_the_smallest_score_as_shipped(level: float) -> None:
    powers = [0.0, 0.5, 0.8, 1.0, 1.2, 1.5, 2.0]
    curves = {power: ucc.UCC(population(power, level)) for power in powers}
    shipped = {power: curve.decompose(coverage=level).shipped for power, curve in curves.items()}
    assert min(shipped, key=shipped.__getitem__) == 1.0
    assert shipped[0.8] > 1.001 * shipped[1.0] < shipped[1.2]
    assert_allclose(curves[1.0].find(coverage=level, conformal=True).scale, 1, rtol=2e-3)


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_the_rows_of_the_potential_crps_add_up_to_that_of_the_curve(vary: Any) -> None:
    for iv in (Demand(5).upper(), mirrored(Demand(5).upper())):
        curve = ucc.UCC(iv, vary=vary)
        path = curve.path()
        rows = crps_contributions(path, curve.ramps(path))
        assert_allclose(path.mean(rows), curve.potential_crps(), rtol=1e-12)
        row = ucc.assess(curve)["model"]
        assert_allclose(float(row.crps), curve.potential_crps(), rtol=1e-12)


def test_the_potential_crps_over_shifts_of_a_constant_bound_is_that_of_the_sample() -> None:
    """The sample itself is then the predictive distribution, whose CRPS is half the mean distance of two draws."""
    y = Demand(6, 200).y
    curve = ucc.UCC(ucc.Intervals.from_quantile(y, np.zeros(200)))
    distances = np.abs(y[:, None] - y[None, :]).mean()
    assert_allclose(curve.potential_crps(), distances / 2, rtol=1e-12)


def test_a_cost_that_falls_without_end_is_refused() -> None:
    curve = ucc.UCC(Demand().quantile())
    with pytest.raises(ValueError, match=r"^the cost has no minimum: .+ Hint: weigh the deficit"):
        curve.cheapest(0.1)
    assert curve.cheapest(0.1, axes=("bandwidth", "deficit")).shift > -10


# ---- a bound without a prediction


def test_a_bound_without_a_prediction_is_judged_by_its_shift_everywhere() -> None:
    demand = Demand()
    sharp = demand.quantile()
    flat = ucc.Intervals.from_quantile(demand.y, demand.y_pred + 3, level=0.95)
    assert ucc.UCC(sharp).vary == "shift"
    with pytest.raises(ValueError, match=r'^`vary="scale"` needs a prediction'):
        ucc.UCC(sharp, vary="scale")
    a = ucc.assess({"sharp": sharp, "flat": flat})
    assert a.verdict.coverage == 0.95
    own = ucc.UCC(sharp).find(coverage=0.95, conformal=True).shift
    assert float(a["sharp"].move.estimate) == own
    assert_allclose(a.verdict.shift, own + a.verdict.choice.multiplier)
    assert re.match(
        r"Ship sharp's upper bound raised by \d\.\d+ for 95% coverage\. The bound moves up by \d",
        a.verdict.text,
    )
    passed = ucc.gate(flat, sharp.calibrated(shift=a.verdict.shift), coverage=0.95)
    assert passed.passed
    pockets = ucc.find_pockets(flat, {"y_pred": demand.y_pred}, coverage=0.95)
    assert all(pocket.move.kind == "shift" for pocket in pockets)
    calibrator = ucc.IntervalCalibrator(coverage=0.95, vary="shift").fit(sharp)
    lower, upper = calibrator.apply_bounds(None, upper=sharp.upper)
    assert_allclose(upper, sharp.upper + calibrator.shift_)
    assert np.isneginf(lower).all()


def test_what_needs_a_prediction_is_not_shown_of_a_bound_without_one() -> None:
    a = ucc.assess({"q": Demand().quantile(), "other": Demand().quantile(1.0)})
    row = a["q"]
    for value in (row.half_width, row.skill, row.crps_skill, *row.areas.values()):
        assert np.isnan(float(value))
    assert row.concentration == 0
    text = a.to_text(full=True)
    for word in ("half-width", "margin", "skill", "predictions save 0", "nan"):
        assert word not in text.replace("predictions save  ", "")
    assert "One bound for all rows would score" in text
    assert np.isnan(ucc.UCC(Demand().quantile()).skill())


def test_a_bound_that_may_ship_unchanged_says_nothing_of_its_width() -> None:
    a = ucc.assess({"q": Demand(7, 2000).quantile(1.7)})
    assert a.verdict.unchanged
    assert (
        "you can ship it unchanged." in a.verdict.text or "no rescaling needed." in a.verdict.text
    )


def test_the_distance_of_one_bound_is_called_a_margin_as_nothing_of_it_is_halved() -> None:
    demand = Demand()
    a = ucc.assess({"sharp": demand.upper(), "flat": demand.constant()}, coverage=0.95)
    assert re.search(r" Margin \d\.\d", a.verdict.text)
    assert "margin as shipped" in str(a)
    assert "half-width" not in str(a).lower()
    assert_allclose(
        float(a["sharp"].half_width),
        float(np.mean(1.3 * demand.sd)) * float(a["sharp"].scale),
        rtol=1e-12,
    )


def test_several_quantiles_of_one_side_need_a_prediction_and_are_then_levels() -> None:
    demand = Demand()
    levels = {level: demand.upper(NORMAL.inv_cdf(level) + 0.01) for level in (0.5, 0.8, 0.95)}
    a = ucc.assess({"own": levels, "flat": {0.8: demand.constant(2), 0.95: demand.constant(4)}})
    assert a.verdict.coverage == 0.95
    assert [row.level for row in a["own"].levels] == [0.5, 0.8, 0.95]
    assert a["own"].wis is None
    assert a["own"].pit is None
    bare = {0.8: demand.quantile(0.8, 0.8), 0.95: demand.quantile()}
    with pytest.raises(ValueError, match="`levels` of a single bound need a prediction"):
        ucc.UCC.from_levels(bare)


# ---- comparisons


def test_only_bounds_of_one_side_and_level_are_compared() -> None:
    demand = Demand()
    both = ucc.Intervals.from_std(demand.y, demand.y_pred, demand.sd)
    lower = ucc.Intervals.from_bounds(demand.y, demand.y_pred, lower=demand.y_pred - demand.sd)
    upper = demand.upper()
    with pytest.raises(ValueError, match=r"'a' is an upper bound, 'b' is two-sided\. Hint: assess"):
        ucc.assess({"a": upper, "b": both}, coverage=0.9)
    with pytest.raises(ValueError, match="'a' is an upper bound, 'b' is a lower bound"):
        ucc.assess({"a": upper, "b": lower}, coverage=0.9)
    with pytest.raises(
        ValueError, match=r"must be quantiles of the same level: 'a' has 0\.95, 'b'"
    ):
        ucc.assess({"a": demand.quantile(), "b": demand.quantile(1, 0.9)})


def test_an_infinite_bound_is_no_bound() -> None:
    demand = Demand()
    endless = np.full(ROWS, -np.inf)
    iv = ucc.Intervals.from_bounds(demand.y, demand.y_pred, endless, demand.y_pred + demand.sd)
    assert iv.side == "upper"
    endless[3] = 0.0
    with pytest.raises(ValueError, match=r"infinite in every row: 599 of 600 .+ side=\"upper\""):
        ucc.Intervals.from_bounds(demand.y, demand.y_pred, endless, demand.y_pred + demand.sd)


def test_a_lower_bound_is_an_upper_bound_upside_down() -> None:
    iv = Demand().upper()
    above, below = (ucc.assess(one, coverage=0.9)["model"] for one in (iv, mirrored(iv)))
    for name in ("coverage", "scale", "half_width", "score", "skill", "crps", "crps_skill"):
        one, other = getattr(above, name), getattr(below, name)
        assert_allclose(
            [one.value, one.low, one.high], [other.value, other.low, other.high], rtol=1e-9
        )
    assert above.missed_above == below.missed_below > above.missed_below == below.missed_above == 0


@pytest.mark.parametrize("has_prediction", [True, False])
def test_resampling_takes_bounds_of_one_side(has_prediction: bool) -> None:
    demand = Demand()
    given = {"a": demand.upper(), "b": demand.constant()}
    if not has_prediction:
        given = {
            name: ucc.Intervals.from_quantile(iv.y_true, iv.upper) for name, iv in given.items()
        }
    one, other = given.values()
    interval = ucc.bootstrap(one, statistic="score", coverage=0.9, n_resamples=100, seed=0)
    assert interval.low < interval.estimate < interval.high
    test = ucc.permutation_test(one, other, statistic="score", coverage=0.9, n_resamples=99, seed=0)
    assert 0 < test.pvalue <= 1
    row = ucc.assess(given, coverage=0.9, n_resamples=99)["a"]
    assert row.score.low < float(row.score) < row.score.high


def test_separate_tails_of_one_bound_are_refused() -> None:
    with pytest.raises(ValueError, match=r'^`tails="separate"` needs two bounds; .+ single upper'):
        ucc.IntervalCalibrator(coverage=0.9, tails="separate").fit(Demand().upper())


def test_one_bound_is_drawn_as_one() -> None:
    pytest.importorskip("matplotlib")
    for given in (Demand().upper(), Demand().quantile()):
        figure = ucc.assess({"a": given, "b": given.calibrated(shift=1)}, coverage=0.95).plot()
        words = " ".join(
            text.get_text() for text in figure.findobj(lambda x: hasattr(x, "get_text"))
        )
        assert "'s upper bound" in words
        assert "half-width" not in words
        assert ucc.UCC(given).plot().ax_.get_lines()


# ---- misses in runs


def runs_of(missed: list[int]) -> int:
    """Runs of misses, counted as one reads."""
    return sum(now and not before for before, now in zip([0, *missed], missed, strict=False))


def test_the_test_of_runs_is_an_enumeration_of_all_orders() -> None:
    from itertools import combinations

    rows, misses = 11, 4
    seen: dict[int, int] = {}
    for places in combinations(range(rows), misses):
        missed = [int(place in places) for place in range(rows)]
        seen[runs_of(missed)] = seen.get(runs_of(missed), 0) + 1
    total = sum(seen.values())
    for example in ([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0]):
        exact = sum(times for runs, times in seen.items() if runs <= runs_of(example)) / total
        assert_allclose(runs_pvalue(np.array(example) > 0), exact, rtol=1e-9)


def test_the_test_of_neighbours_is_close_to_all_orders() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=40) + np.repeat(rng.normal(size=10), 4)
    values -= values.mean()
    products = np.dot(values, np.roll(values, 1))
    orders = [rng.permutation(values) for _ in range(20_000)]
    share = np.mean([np.dot(order, np.roll(order, 1)) >= products for order in orders])
    assert_allclose(neighbours_pvalue(values), share, atol=0.01)


def volatile(seed: int = 1, rows: int = 1000) -> Array:
    """Losses whose spread comes and goes."""
    rng = np.random.default_rng(seed)
    losses = np.zeros(rows)
    variance = 1.0
    for day in range(1, rows):
        variance = 0.05 + 0.25 * losses[day - 1] ** 2 + 0.7 * variance
        losses[day] = np.sqrt(variance) * rng.normal()
    return losses


DAYS = np.datetime64("2022-01-03") + np.arange(1000)
NOTE = (
    r"misses come in runs: (\d+\.\d)% of the rows right after a miss are missed, (\d\.\d)% of all"
)


@pytest.mark.parametrize("block", [DAYS, DAYS.astype(str), 5])
def test_a_value_at_risk_that_is_wrong_for_weeks_is_said_to_be(block: Any) -> None:
    losses = volatile()
    bound = np.full(1000, np.quantile(losses, 0.95))
    a = ucc.assess({"VaR": ucc.Intervals.from_quantile(losses, bound)}, block=block)
    assert a["VaR"].promise == "kept"
    (note,) = [note for note in a.notes if "in runs" in note]
    found = re.search(NOTE, note)
    assert found is not None
    assert float(found[1]) > 2 * float(found[2])


def test_the_share_after_a_miss_is_counted() -> None:
    missed = np.zeros(60, np.bool_)
    missed[[3, 4, 5, 20, 40, 41]] = True
    iv = ucc.Intervals.from_bands(np.where(missed, 9.0, 0.0), np.zeros(60), np.ones(60))
    found = clustering(missed, Blocks.of(iv, np.arange(60)))
    assert found is not None
    assert (found.after_a_miss, found.overall) == (3 / 6, 0.1)


def test_days_of_many_rows_are_compared_with_the_day_before() -> None:
    rng = np.random.default_rng(2)
    day = np.repeat(np.arange(100), 20)
    bad = (day // 10) % 3 == 0
    y = rng.normal(size=2000) * np.where(bad, 2.0, 1.0)
    iv = ucc.Intervals.from_bands(y, np.zeros(2000), np.full(2000, 1.6))
    notes = ucc.assess(iv, coverage=0.9, block=day).notes
    assert any("in runs" in note for note in notes)


@pytest.mark.parametrize("block", [None, [f"patient {number}" for number in range(1000)]])
def test_rows_without_an_order_have_no_runs(block: Any) -> None:
    losses = volatile()
    bound = np.full(1000, np.quantile(losses, 0.95))
    a = ucc.assess({"VaR": ucc.Intervals.from_quantile(losses, bound)}, block=block)
    assert not [note for note in a.notes if "in runs" in note]


def test_independent_misses_are_said_to_come_in_runs_in_few_cases() -> None:
    rng = np.random.default_rng(3)
    single = [runs_pvalue(rng.uniform(size=250) < 0.05) <= 0.05 for _ in range(400)]
    counts = [rng.binomial(20, 0.1, size=60) - 2.0 for _ in range(400)]
    panels = [neighbours_pvalue(count - count.mean()) <= 0.05 for count in counts]
    assert np.mean(single) < 0.05
    assert np.mean(panels) < 0.08
