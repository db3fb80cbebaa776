"""Metro traffic: three sequence-to-sequence forecasters against their constant bands (Section 4.2 and Appendix)."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from uccurve import UCC, Intervals

from . import seq2seq
from .bands import (
    BM,
    COST_FACTOR,
    ED,
    absolute_error,
    all_differ,
    banded,
    beside_constants,
    costs,
    crossing,
    flat,
)
from .experiment import FIRST, SECOND, Arrays, Cells, Experiment, Findings, Parts, Settings, row
from .figures import Figures, canvas, draw_curves
from .loaders import WEEK, calendar_columns, hourly, traffic

PAST, AHEAD = 72, 24
HELD_OUT_WEEK = 10
SPLIT = np.datetime64("2017-01-01"), np.datetime64("2017-07-01")  # local time, as in the file
MODELS: dict[str, seq2seq.Kind] = {"JMS": "meta", "JMV": "variance", "DOMS": "dropout"}
ONLINE, TREES, INSIDE = "JMS online", "JMS online, trees", "DOMS inside"
BANDWIDTH, EXCESS = "BM gains, %", "ED gains, %"
FORECAST, EARLIER = "Forecast error, vehicles per hour", "Gains in the held-out half-year, %"
RANGES = {"area": (0.0, 1.0), "miss rate below 0.2": (0.0, 0.2), "miss rate above 0.2": (0.2, 1.0)}
SEEN_ERRORS = 3
SEEN, LAGS = (
    "ED gains of trees by the errors they see, %",
    {"none": 0, "the last": 1, "the last three": 3},
)


# ---- windows


def windows(data: Mapping[str, Any], starts: Any) -> seq2seq.Windows:
    """Return the windows that begin at `starts`."""
    before = starts[:, None] + np.arange(PAST)
    after = starts[:, None] + np.arange(PAST, PAST + AHEAD)
    at = {"past": before, "calendar": after, "target": after, "observed": after}
    arrays: Any = {
        name: np.asarray(data[name][rows], dtype=np.float32) for name, rows in at.items()
    }
    return seq2seq.Windows(**arrays)


def batches(
    data: Mapping[str, Any], period: str, size: int, *, seed: int
) -> Iterator[seq2seq.Windows]:
    """Yield random batches of training windows without end, each pass over all of them in a new order."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(data["starts"][period])
        for first in range(0, len(order) - size + 1, size):
            yield windows(data, order[first : first + size])


def window_starts(grid: pl.DataFrame) -> dict[str, Any]:
    """Return the starts of all windows without a long gap, by the period that holds all their predicted hours.

    Every tenth week of the training period is `inside`; `outside` are its windows that predict no hour of such a week.
    """
    usable = np.concatenate([[0], np.cumsum(grid["usable"].to_numpy())])
    length = PAST + AHEAD
    starts = np.flatnonzero(usable[length:] - usable[:-length] == length)
    time = grid["date_time"].to_numpy()
    first, last = starts + PAST, starts + length - 1
    train, (begins, ends) = (
        time[last] < SPLIT[0],
        ((hour // WEEK) % HELD_OUT_WEEK == 0 for hour in (first, last)),
    )
    return {
        "train": starts[train],
        "held out": starts[(time[first] >= SPLIT[0]) & (time[last] < SPLIT[1])],
        "test": starts[time[first] >= SPLIT[1]],
        "inside": starts[train & begins & ends],
        "outside": starts[train & ~begins & ~ends],
    }


def series(raw: pl.DataFrame) -> dict[str, Any]:
    """Return hourly arrays for the forecasters, scaled by the hours before the held-out period, and window starts."""
    grid = hourly(raw)
    observed, volume = grid["observed"].to_numpy(), grid["volume"].to_numpy()
    training = (grid["date_time"].to_numpy() < SPLIT[0]) & observed
    wet = np.log1p(grid.select("rain_1h", "snow_1h").to_numpy())
    weather = np.column_stack([volume, grid["temp"].to_numpy(), grid["clouds_all"].to_numpy(), wet])
    scaled = (weather - weather[training].mean(axis=0)) / weather[training].std(axis=0)
    calendar, center, unit = (
        calendar_columns(grid),
        float(volume[training].mean()),
        float(volume[training].std()),
    )
    found = {
        "volume": volume,
        "center": center,
        "unit": unit,
        "starts": window_starts(grid),
        "observed": observed,
    }
    return {
        **found,
        "target": (volume - center) / unit,
        "calendar": calendar,
        "past": np.column_stack([scaled, calendar]),
    }


# ---- bands


def forecasts(
    kind: seq2seq.Kind,
    seed: int,
    settings: Settings,
    *,
    train: str = "train",
    tune: str = "held out",
) -> Arrays:
    """Train one forecaster before 2017; predict the period that tunes and the test period (rows: observed hours)."""
    data = series(traffic())
    volume, center, unit = data["volume"], data["center"], data["unit"]
    params = seq2seq.train(
        batches(data, train, settings["batch"], seed=seed), kind, settings, seed=seed
    )
    found: Arrays = {}
    for name, period in (("held out", tune), ("test", "test")):
        starts = data["starts"][period][:: settings["stride"]]
        batch = windows(data, starts)
        value, band = seq2seq.predict(params, batch, kind, settings, seed=seed)
        seen = np.asarray(batch.observed) > 0
        hour = (starts[:, None] + PAST + np.arange(value.shape[1]))[seen]
        found[name] = banded((volume[hour], center + unit * value[seen]), unit * band[seen])
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
        columns.append(
            np.concatenate([np.full(lag, np.nan), np.where(follows, error[:-lag], np.nan)])
        )
        columns.append(np.abs(columns[-1]))
    return np.column_stack(columns)


def online_trees(part: Arrays, lags: int = SEEN_ERRORS, *, tuned: bool = True) -> Arrays:
    """Return the intervals of trees that learn the absolute error of a forecaster in the held-out half-year.

    The bands of that half-year, which tune the scale, come from trees that have not seen the same fifth of its weeks.
    """
    model = HistGradientBoostingRegressor(
        max_iter=100, max_leaf_nodes=15, learning_rate=0.05, random_state=0
    )
    y_true, y_pred, *_ = part["held out"]
    X, error, week = (
        features(part, "held out", lags),
        np.abs(y_true - y_pred),
        part["held out hour"] // WEEK,
    )
    bands = {"test": model.fit(X, error).predict(features(part, "test", lags))}
    if tuned:
        bands["held out"] = cross_val_predict(model, X, error, groups=week, cv=GroupKFold(5))
    smallest = 0.05 * error.mean()
    return part | {
        name: banded(part[name], np.maximum(band, smallest)) for name, band in bands.items()
    }


# ---- readings


def cells_of(name: str, part: Arrays) -> Cells:
    """Return all numbers of one forecaster: gains over the constant band, some at the held-out optimum of the cost."""
    test, held_out = intervals(part), intervals(part, "held out")
    curve, before = UCC(test), UCC(held_out)
    found = []
    for shown, tuning in ((curve, before), (UCC(flat(test)), UCC(flat(held_out)))):
        scale = tuning.cheapest(COST_FACTOR, axes=ED).scale
        found.append({**costs(shown, ED, scale), "MAE": absolute_error(shown, scale)})
    model, reference = found
    error = float(np.mean(np.abs(test.y_true - test.y_pred)))
    return {
        **row(
            BANDWIDTH,
            name,
            {measure: 100 * curve.gain(miss_rate=span) for measure, span in RANGES.items()},
        ),
        **row(
            EXCESS,
            name,
            {measure: 100 * (1 - model[measure] / reference[measure]) for measure in model},
        ),
        **row(EARLIER, name, {"BM": 100 * before.gain(), "ED": 100 * before.gain(axes=ED)}),
        **row(FORECAST, name, {"mean absolute error": error}),
    }


def judge(reading: str, parts: Parts, seed: int) -> Findings:
    """Judge a JMS, a JMV and a DOMS, each against the constant band around its own predictions.

    In the second reading these are an online JMS, the same JMV, and a DOMS tuned inside the training period; JMS with
    trees is added, and what trees gain with no error, the last one, or the last three to see.
    """
    jms, jmv, doms = MODELS if reading == FIRST else (ONLINE, "JMV", INSIDE)
    chosen = {name: parts[name] for name in (jms, jmv, doms)}
    chosen |= {TREES: online_trees(parts["JMS"])} if reading == SECOND else {}
    cells: Cells = {}
    for name, part in chosen.items():
        cells |= cells_of(name, part)
    for name in ("JMS", ONLINE) if reading == SECOND else ():
        shown = {
            label: intervals(online_trees(parts[name], lags, tuned=False))
            for label, lags in LAGS.items()
        }
        cells |= row(
            SEEN, name, {label: 100 * UCC(iv).gain(axes=ED) for label, iv in shown.items()}
        )
    models = {name: intervals(part) for name, part in chosen.items()}
    week = chosen[jms]["test hour"] // WEEK

    def differ(axes: Any, *names: str) -> bool:
        pairs = ({"model": models[name], "constant": flat(models[name])} for name in names)
        return all(all_differ(pair, axes=axes, seed=seed, block=week) for pair in pairs)

    wanted = [
        *((BANDWIDTH, measure) for measure in RANGES),
        (EXCESS, "area"),
        (EXCESS, "cost"),
        (EXCESS, "MAE"),
    ]
    area, low, high, excess, cost, mae = (
        [cells[t, name, m] for name in (jms, jmv, doms)] for t, m in wanted
    )
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


def draw(parts: Parts) -> Figures:
    """Return the curves as in the paper's Figure 15, with the second reading of JMS below the first."""
    found = {**parts, TREES: online_trees(parts["JMS"], tuned=False)}
    figure, panels = canvas(2, rows=4)
    for place, (first, *more) in enumerate((("JMS",), (TREES, ONLINE), ("JMV",), ("DOMS",))):
        iv = intervals(found[first])
        models = {
            first: iv,
            "Constant": flat(iv),
            **{name: intervals(found[name]) for name in more},
        }
        for ax, axes in zip(panels[2 * place :], (ED, BM), strict=False):
            draw_curves(ax, models, axes)
    return {"traffic-ucc": figure}


TUNED_INSIDE = partial(forecasts, "dropout", train="outside", tune="inside")
WORK = {name: partial(forecasts, kind) for name, kind in (MODELS | {ONLINE: "online"}).items()} | {
    INSIDE: TUNED_INSIDE
}
EXPERIMENT = Experiment("traffic", WORK, judge, draw, (FIRST, SECOND))
