"""Metro traffic: three sequence-to-sequence forecasters against their constant bands (Section 4.2 and Appendix)."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from uccurve import UCC, Intervals

from . import seq2seq
from .experiment import FIRST, SECOND, Cell, Drawing, Experiment, Findings, Parts, Reading, Settings, Work
from .figures import canvas, draw_curves
from .loaders import traffic
from .store import Arrays
from .summary import (
    BM,
    COST_FACTOR,
    ED,
    Axes,
    absolute_error,
    all_differ,
    beside_constants,
    constant,
    costs,
    crossing,
    flat,
)
from .traffic_data import PAST, WEEK, series
from .trees import banded

MODELS: dict[str, seq2seq.Kind] = {"JMS": "meta", "JMV": "variance", "DOMS": "dropout"}
ONLINE, TREES, INSIDE = "JMS online", "JMS online, trees", "DOMS inside"
BANDWIDTH, EXCESS = "BM gains, %", "ED gains, %"
FORECAST, EARLIER = "Forecast error, vehicles per hour", "Gains in the held-out half-year, %"
SEEN_ERRORS = 3
SETTINGS: Settings = {**asdict(seq2seq.Settings()), "stride": 5}
QUICK: Settings = {
    **asdict(seq2seq.Settings(hidden=16, meta_hidden=8, updates=60, batch=48, passes=8, peak_rate=1e-2)),
    "stride": 61,
}


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
        hour = starts[:, None] + PAST + np.arange(value.shape[1])
        y_pred = (data.center + data.unit * value)[seen]
        found[name] = banded(data.volume[hour][seen], y_pred, (data.unit * band)[seen])
        found[f"{name} hour"] = hour[seen]
    return found


def work(seed: int, settings: Settings) -> Work:
    """Each model is a part."""
    return {name: lambda kind=kind: forecasts(kind, seed, settings) for name, kind in MODELS.items()}  # type: ignore[misc]


def further_work(seed: int, settings: Settings) -> Work:
    """Train the online model, and the dropout model without some weeks of the training period."""
    return {
        ONLINE: lambda: forecasts("online", seed, settings),
        INSIDE: lambda: forecasts("dropout", seed, settings, train="outside", tune="inside"),
    }


def intervals(part: Arrays, period: str = "test") -> Intervals:
    """Return the intervals of a period, one row per observed hour of a window."""
    return Intervals.from_bounds(*part[period])


def features(part: Arrays, period: str) -> Any:
    """Return what the trees see: the errors of the hours before in the same window, prediction, band and hour."""
    y_true, y_pred, lower, _ = part[period]
    hour, error = part[f"{period} hour"], y_true - y_pred
    columns = [y_pred, y_pred - lower, hour % 24, hour % WEEK]
    for lag in range(1, SEEN_ERRORS + 1):
        follows = hour[lag:] - hour[:-lag] == lag
        columns.append(np.concatenate([np.full(lag, np.nan), np.where(follows, error[:-lag], np.nan)]))
        columns.append(np.abs(columns[-1]))
    return np.column_stack(columns)


def online_trees(part: Arrays) -> Arrays:
    """Return the intervals of trees that learn the absolute error of a forecaster in the held-out half-year.

    The bands of that half-year, which tune the scale, come from trees that have not seen the same fifth of its weeks.
    """
    model = HistGradientBoostingRegressor(max_iter=100, max_leaf_nodes=15, learning_rate=0.05, random_state=0)
    y_true, y_pred, *_ = part["held out"]
    X, error, week = features(part, "held out"), np.abs(y_true - y_pred), part["held out hour"] // WEEK
    bands = {
        "held out": cross_val_predict(model, X, error, groups=week, cv=GroupKFold(5)),
        "test": model.fit(X, error).predict(features(part, "test")),
    }
    floor = 0.05 * error.mean()
    found = dict(part)
    for period, band in bands.items():
        y_true, y_pred, *_ = part[period]
        found[period] = banded(y_true, y_pred, np.maximum(band, floor))
    return found


def excess_gains(part: Arrays) -> dict[str, float]:
    """Return the gains on ED: area, cost at the held-out optimum, optimal cost, and MAE at the held-out optimum."""
    test, held_out = intervals(part), intervals(part, "held out")
    found = []
    for shown, tuning in ((test, held_out), (flat(test), flat(held_out))):
        curve, scale = UCC(shown), UCC(tuning).cheapest(COST_FACTOR, axes=ED).scale
        found.append({**costs(curve, "ED", ED, scale, 1.0), "ED MAE": absolute_error(curve, scale)})
    model, reference = found
    return {name.removeprefix("ED "): 100 * (1 - model[name] / reference[name]) for name in model}


def cells_of(name: str, part: Arrays) -> dict[Cell, float]:
    """Return all numbers of one forecaster."""
    curve, before = UCC(intervals(part)), UCC(intervals(part, "held out"))
    y_true, y_pred, *_ = part["test"]
    return {
        (BANDWIDTH, name, "area"): 100 * curve.gain(),
        (BANDWIDTH, name, "miss rate below 0.2"): 100 * curve.gain(miss_rate=(0, 0.2)),
        (BANDWIDTH, name, "miss rate above 0.2"): 100 * curve.gain(miss_rate=(0.2, 1)),
        **{(EXCESS, name, measure): gain for measure, gain in excess_gains(part).items()},
        (EARLIER, name, "BM"): 100 * before.gain(),
        (EARLIER, name, "ED"): 100 * before.gain(axes=ED),
        (FORECAST, name, "mean absolute error"): float(np.mean(np.abs(y_true - y_pred))),
    }


def differs(part: Arrays, axes: Axes, seed: int) -> bool:
    """Return whether a forecaster's area differs from its constant band's at p < 0.01; whole weeks are swapped."""
    iv = intervals(part)
    return all_differ({"model": iv, "constant": flat(iv)}, axes=axes, seed=seed, block=part["test hour"] // WEEK)


def findings(chosen: dict[str, Arrays], seed: int) -> Findings:
    """Judge a JMS, a JMV and a DOMS, in this order, each against the constant band around its own predictions."""
    cells: dict[Cell, float] = {}
    for name, part in chosen.items():
        cells |= cells_of(name, part)
    jms, jmv, doms, *_ = chosen
    area = {name: cells[BANDWIDTH, name, "area"] for name in chosen}
    excess = {name: cells[EXCESS, name, "area"] for name in chosen}
    low, high = ({n: cells[BANDWIDTH, n, f"miss rate {side} 0.2"] for n in chosen} for side in ("below", "above"))
    crossed = {name: crossing(intervals(part), flat(intervals(part)), axes=BM) for name, part in chosen.items()}
    apart = {(n, a): differs(chosen[n], a, seed) for n in (jms, jmv, doms) for a in (BM, ED)}
    swapped = "at p < 0.01 (weeks swapped as blocks)"
    claims = {
        "Sec. 4.2": {
            "JMS and JMV gain over their constant bands": area[jms] > 0 and area[jmv] > 0,
            "DOMS loses against its constant band": area[doms] < 0,
            "The gains rank JMS, JMV, DOMS": area[jms] > area[jmv] > area[doms],
            "Below a miss rate of 0.2, JMS and JMV outperform constant": min(low[jms], low[jmv]) > 0,
            "The curves of JMS and JMV cross their constant bands'": crossed[jms] and crossed[jmv],
            "The curve of DOMS crosses its constant band's": crossed[doms],
        },
        "Table 6": {
            "On ED all gain, DOMS least": 0 < excess[doms] < min(excess[jms], excess[jmv]),
            "On ED JMS gains most": excess[jms] > excess[jmv],
            "DOMS has negative gains in cost and MAE at the tuned scale": (
                max(cells[EXCESS, doms, "cost"], cells[EXCESS, doms, "MAE"]) < 0
            ),
        },
        "App., Traffic Volume Data": {
            "Above a miss rate of 0.2, constant outperforms JMS and JMV": max(high[jms], high[jmv]) < 0,
            f"On BM, JMS and JMV differ from constant {swapped}": apart[jms, BM] and apart[jmv, BM],
            f"On BM, DOMS differs from constant {swapped}": apart[doms, BM],
            f"On ED, JMS and JMV differ from constant {swapped}": apart[jms, ED] and apart[jmv, ED],
            f"On ED, DOMS differs from constant {swapped}": apart[doms, ED],
        },
    }
    models = beside_constants({name: intervals(part) for name, part in chosen.items()})
    orders = ((jms, constant(jms)), (jmv, constant(jmv)), (constant(doms), doms))
    return Findings(cells, claims, models, block=chosen[jms]["test hour"] // WEEK, orders=orders)


def judge(parts: Parts, seed: int) -> Findings:
    """Judge the three forecasters, whose bands see what the predictions see."""
    return findings({name: parts[name] for name in MODELS}, seed)


def judge_online(parts: Parts, seed: int) -> Findings:
    """Judge the forecasters with the online JMS in place of JMS, and with a DOMS tuned inside the training period."""
    chosen = {name: parts[name] for name in (ONLINE, "JMV", INSIDE)}
    return findings({**chosen, TREES: online_trees(parts["JMS"])}, seed)


def draw(parts: Parts) -> Iterator[Drawing]:
    """Yield the curves, a column per forecaster and a row per pair of axes; the online JMS stands beside JMS."""
    names = ("JMS", ONLINE, "JMV", "DOMS")
    figure, panels = canvas(len(names), width=3.9, rows=2)
    for column, name in enumerate(names):
        iv = intervals(parts[name])
        for row, (axes, xmax) in enumerate(((BM, 1500), (ED, 800))):
            ax = panels[column + row * len(names)]
            draw_curves(ax, {name: iv, "Constant": flat(iv)}, axes=axes, unit_name="vehicles per hour", xmax=xmax)
            ax.set_title(f"{name}: gain {100 * UCC(iv).gain(axes=axes):+.1f}%", fontsize=10)
    yield Drawing("traffic-ucc", figure)


EXPERIMENT = Experiment(
    name="traffic",
    readings={FIRST: Reading(work, judge), SECOND: Reading(further_work, judge_online)},
    draw=draw,
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("jax", "optax"),
)
