"""Metro traffic: three sequence-to-sequence forecasters against their constant bands (Section 4.2 and Appendix)."""

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from uccurve import UCC, Intervals

from . import seq2seq
from .bands import BM, ED, banded, beside_constants, flat, with_constant
from .experiment import FIRST, SECOND, Experiment, Parts, Reading, Settings
from .figures import canvas, draw_curves
from .findings import Cells, Findings, row
from .loaders import traffic
from .store import Arrays
from .summary import COST_FACTOR, absolute_error, all_differ, costs, crossing
from .traffic_data import PAST, WEEK, series

MODELS: dict[str, seq2seq.Kind] = {"JMS": "meta", "JMV": "variance", "DOMS": "dropout"}
ONLINE, TREES, INSIDE = "JMS online", "JMS online, trees", "DOMS inside"
BANDWIDTH, EXCESS = "BM gains, %", "ED gains, %"
FORECAST, EARLIER = "Forecast error, vehicles per hour", "Gains in the held-out half-year, %"
RANGES = {"area": (0.0, 1.0), "miss rate below 0.2": (0.0, 0.2), "miss rate above 0.2": (0.2, 1.0)}
SEEN_ERRORS = 3
SEEN, LAGS = "ED gains of trees by the errors they see, %", {"none": 0, "the last": 1, "the last three": 3}


def forecasts(
    kind: seq2seq.Kind, seed: int, settings: Settings, *, train: str = "train", tune: str = "held out"
) -> Arrays:
    """Train one forecaster before 2017; predict the period that tunes and the test period (rows: observed hours)."""
    data = series(traffic())
    effort = seq2seq.Settings(**{name: value for name, value in settings.items() if name != "stride"})
    params = seq2seq.train(data.batches(train, effort.batch, seed=seed), kind, effort, seed=seed)
    found: Arrays = {}
    for name, period in (("held out", tune), ("test", "test")):
        starts = data.starts[period][:: settings["stride"]]
        windows = data.windows(starts)
        value, band = seq2seq.predict(params, windows, kind, effort, seed=seed)
        seen = np.asarray(windows.observed) > 0
        hour = (starts[:, None] + PAST + np.arange(value.shape[1]))[seen]
        found[name] = banded(data.volume[hour], data.center + data.unit * value[seen], data.unit * band[seen])
        found[f"{name} hour"] = hour
    return found


def intervals(part: Arrays, period: str = "test") -> Intervals:
    """Return the intervals of a period, one row per observed hour of a window."""
    return Intervals.from_bounds(*part[period])


def features(part: Arrays, period: str, lags: int = SEEN_ERRORS) -> Any:
    """Return what the trees see: the errors of the hours before in the same window, prediction, band and hour."""
    y_true, y_pred, lower, _ = part[period]
    hour, error = part[f"{period} hour"], y_true - y_pred
    columns = [y_pred, y_pred - lower, hour % 24, hour % WEEK]
    for lag in range(1, lags + 1):
        follows = hour[lag:] - hour[:-lag] == lag
        columns.append(np.concatenate([np.full(lag, np.nan), np.where(follows, error[:-lag], np.nan)]))
        columns.append(np.abs(columns[-1]))
    return np.column_stack(columns)


def online_trees(part: Arrays, lags: int = SEEN_ERRORS, *, tuned: bool = True) -> Arrays:
    """Return the intervals of trees that learn the absolute error of a forecaster in the held-out half-year.

    The bands of that half-year, which tune the scale, come from trees that have not seen the same fifth of its weeks.
    """
    model = HistGradientBoostingRegressor(max_iter=100, max_leaf_nodes=15, learning_rate=0.05, random_state=0)
    y_true, y_pred, *_ = part["held out"]
    X, error, week = features(part, "held out", lags), np.abs(y_true - y_pred), part["held out hour"] // WEEK
    bands = {"test": model.fit(X, error).predict(features(part, "test", lags))}
    if tuned:
        bands["held out"] = cross_val_predict(model, X, error, groups=week, cv=GroupKFold(5))
    found = dict(part)
    for period, band in bands.items():
        y_true, y_pred, *_ = part[period]
        found[period] = banded(y_true, y_pred, np.maximum(band, 0.05 * error.mean()))
    return found


def tree_cells(parts: Parts) -> Cells:
    """Return what trees gain on the test rows if they see no error, the last one, or the last three."""
    cells: Cells = {}
    for name in ("JMS", ONLINE):
        shown = {label: online_trees(parts[name], lags, tuned=False) for label, lags in LAGS.items()}
        cells |= row(SEEN, name, {label: 100 * UCC(intervals(part)).gain(axes=ED) for label, part in shown.items()})
    return cells


def excess_gains(part: Arrays) -> dict[str, float]:
    """Return the gains on ED: area, cost at the held-out optimum, optimal cost, and MAE at the held-out optimum."""
    test, held_out = intervals(part), intervals(part, "held out")
    found = []
    for shown, tuning in ((test, held_out), (flat(test), flat(held_out))):
        curve, scale = UCC(shown), UCC(tuning).cheapest(COST_FACTOR, axes=ED).scale
        found.append({**costs(curve, ED, scale), "MAE": absolute_error(curve, scale)})
    model, reference = found
    return {measure: 100 * (1 - model[measure] / reference[measure]) for measure in model}


def cells_of(name: str, part: Arrays) -> Cells:
    """Return all numbers of one forecaster."""
    curve, before = UCC(intervals(part)), UCC(intervals(part, "held out"))
    y_true, y_pred, *_ = part["test"]
    tables = {
        BANDWIDTH: {measure: 100 * curve.gain(miss_rate=span) for measure, span in RANGES.items()},
        EXCESS: excess_gains(part),
        EARLIER: {"BM": 100 * before.gain(), "ED": 100 * before.gain(axes=ED)},
        FORECAST: {"mean absolute error": float(np.mean(np.abs(y_true - y_pred)))},
    }
    return {cell: value for table, values in tables.items() for cell, value in row(table, name, values).items()}


def findings(chosen: dict[str, Arrays], seed: int) -> Findings:
    """Judge a JMS, a JMV and a DOMS, in this order, each against the constant band around its own predictions."""
    cells: Cells = {}
    for name, part in chosen.items():
        cells |= cells_of(name, part)
    models = {name: intervals(part) for name, part in chosen.items()}
    jms, jmv, doms, *_ = chosen
    week = chosen[jms]["test hour"] // WEEK

    def three(table: str, measure: str) -> list[float]:
        return [cells[table, name, measure] for name in (jms, jmv, doms)]

    def differ(axes: Any, *names: str) -> bool:
        pairs = ({"model": models[name], "constant": flat(models[name])} for name in names)
        return all(all_differ(pair, axes=axes, seed=seed, block=week) for pair in pairs)

    area, low, high = (three(BANDWIDTH, measure) for measure in RANGES)
    excess, cost, mae = (three(EXCESS, measure) for measure in ("area", "cost", "MAE"))
    crossed = [crossing(models[name], flat(models[name]), axes=BM) for name in (jms, jmv, doms)]
    claims = {
        "JMS and JMV gain": min(area[:2]) > 0,
        "DOMS loses": area[2] < 0,
        "order": area[0] > area[1] > area[2],
        "gains below": min(low[:2]) > 0,
        "JMS and JMV cross": all(crossed[:2]),
        "DOMS crosses": crossed[2],
        "all gain on ED": 0 < excess[2] < min(excess[:2]),
        "JMS gains most on ED": excess[0] > excess[1],
        "DOMS is badly tuned": max(cost[2], mae[2]) < 0,
        "losses above": max(high[:2]) < 0,
        "JMS and JMV differ on BM": differ(BM, jms, jmv),
        "DOMS differs on BM": differ(BM, doms),
        "JMS and JMV differ on ED": differ(ED, jms, jmv),
        "DOMS differs on ED": differ(ED, doms),
    }
    orders = ((jms, f"Constant ({jms})"), (jmv, f"Constant ({jmv})"), (f"Constant ({doms})", doms))
    return Findings(cells, claims, beside_constants(models), block=week, orders=orders)


def judge(parts: Parts, seed: int) -> Findings:
    """Judge the three forecasters, whose bands see what the predictions see."""
    return findings({name: parts[name] for name in MODELS}, seed)


def judge_online(parts: Parts, seed: int) -> Findings:
    """Judge the forecasters with the online JMS in place of JMS, and with a DOMS tuned inside the training period."""
    chosen = {name: parts[name] for name in (ONLINE, "JMV", INSIDE)}
    found = findings({**chosen, TREES: online_trees(parts["JMS"])}, seed)
    return replace(found, cells=found.cells | tree_cells(parts))


def draw(parts: Parts) -> dict[str, Figure]:
    """Return the curves as in the paper's Figure 15, with the second reading of JMS below the first."""
    found = {**parts, TREES: online_trees(parts["JMS"], tuned=False)}
    figure, panels = canvas(2, rows=4)
    for place, names in enumerate((("JMS",), (TREES, ONLINE), ("JMV",), ("DOMS",))):
        models = {name: intervals(found[name]) for name in names}
        for ax, axes in zip(panels[2 * place :], (ED, BM), strict=False):
            draw_curves(ax, with_constant(models), axes)
    return {"traffic-ucc": figure}


WORK = {name: partial(forecasts, kind) for name, kind in MODELS.items()}
TUNED_INSIDE = partial(forecasts, "dropout", train="outside", tune="inside")
SECOND_WORK = {ONLINE: partial(forecasts, "online"), INSIDE: TUNED_INSIDE}
READINGS = {FIRST: Reading(WORK, judge), SECOND: Reading(SECOND_WORK, judge_online)}
EXPERIMENT = Experiment("traffic", READINGS, draw, asdict(seq2seq.Settings()))
