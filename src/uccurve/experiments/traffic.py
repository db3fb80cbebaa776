"""Metro traffic: three sequence-to-sequence forecasters against their constant bands (Section 4.2 and Appendix)."""

from collections.abc import Callable, Iterator
from dataclasses import asdict

import numpy as np

from uccurve import UCC, Intervals

from . import seq2seq
from .experiment import Cell, Claim, Drawing, Experiment, Parts, Settings, Verdict
from .figures import canvas, draw_curves
from .store import Arrays
from .summary import BM, COST_FACTOR, ED, absolute_error, all_differ, costs, crossing, flat
from .traffic_data import PAST, series

MODELS: dict[str, seq2seq.Kind] = {"JMS": "meta", "JMV": "variance", "DOMS": "dropout"}
BANDWIDTH, EXCESS = "Gains on bandwidth/miss rate, %", "Gains on excess/deficit, %"
FORECAST, EARLIER = "Forecast error, vehicles an hour", "Gains in the held-out half-year, %"
WEEK = 7 * 24
WHERE = "App., Traffic Volume Data"
SETTINGS: Settings = {**asdict(seq2seq.Settings()), "stride": 5}
QUICK: Settings = {
    **asdict(seq2seq.Settings(hidden=16, meta_hidden=8, updates=60, batch=48, passes=8, peak_rate=1e-2)),
    "stride": 61,
}


def forecasts(kind: seq2seq.Kind, seed: int, settings: Settings) -> Arrays:
    """Train one forecaster before 2017; predict the held-out half-year and the test period (rows: observed hours)."""
    from .loaders import traffic

    data = series(traffic())
    effort = seq2seq.Settings(**{name: value for name, value in settings.items() if name != "stride"})
    params = seq2seq.train(data.batches(effort.batch, seed=seed), kind, effort, seed=seed)
    found: Arrays = {}
    for period in ("held out", "test"):
        starts = data.starts[period][:: settings["stride"]]
        windows = data.windows(starts)
        value, band = seq2seq.predict(params, windows, kind, effort, seed=seed)
        seen = np.asarray(windows.observed) > 0
        hour = starts[:, None] + PAST + np.arange(value.shape[1])
        y_true, y_pred = data.volume[hour][seen], (data.center + data.unit * value)[seen]
        half = (data.unit * band)[seen]
        found[period] = np.stack([y_true, y_pred, y_pred - half, y_pred + half])
        found[f"{period} hour"] = hour[seen]
    return found


def work(seed: int, settings: Settings) -> dict[str, Callable[[], Arrays]]:
    """One part a model."""
    return {name: lambda kind=kind: forecasts(kind, seed, settings) for name, kind in MODELS.items()}  # type: ignore[misc]


PAPER: dict[Cell, float] = {
    **{(BANDWIDTH, name, "area"): gain for name, gain in (("JMS", 4.9), ("JMV", 3.2), ("DOMS", -4.0))},
    **{
        (EXCESS, name, measure): gain
        for name, row in (
            ("JMS", (75.5, 40.5, 59.3, 21.8)),
            ("JMV", (42.7, 24.1, 30.4, 18.2)),
            ("DOMS", (15.5, -11.5, 10.0, -17.8)),
        )
        for measure, gain in zip(("area", "cost", "optimal cost", "MAE"), row, strict=True)
    },
}


def intervals(part: Arrays, period: str = "test") -> Intervals:
    """The intervals of a period, one row an observed hour of a window."""
    return Intervals.from_bounds(*part[period])


def excess_gains(part: Arrays) -> dict[str, float]:
    """Gains on excess/deficit: area, cost at the held-out optimum, optimal cost, and MAE at the held-out optimum."""
    test, held_out = intervals(part), intervals(part, "held out")
    found = []
    for shown, tuning in ((test, held_out), (flat(test), flat(held_out))):
        curve, scale = UCC(shown), UCC(tuning).cheapest(COST_FACTOR, axes=ED).scale
        found.append({**costs(curve, "ED", ED, scale, 1.0), "ED MAE": absolute_error(curve, scale)})
    model, constant = found
    return {name.removeprefix("ED "): 100 * (1 - model[name] / constant[name]) for name in model}


def cells_of(name: str, part: Arrays) -> dict[Cell, float]:
    """All numbers of one forecaster."""
    curve, before = UCC(intervals(part)), UCC(intervals(part, "held out"))
    y_true, y_pred, *_ = part["test"]
    return {
        (BANDWIDTH, name, "area"): 100 * curve.gain(),
        (BANDWIDTH, name, "miss rate below 0.2"): 100 * curve.gain(miss_rate=(0, 0.2)),
        (BANDWIDTH, name, "miss rate above 0.2"): 100 * curve.gain(miss_rate=(0.2, 1)),
        **{(EXCESS, name, measure): gain for measure, gain in excess_gains(part).items()},
        (EARLIER, name, "bandwidth/miss rate"): 100 * before.gain(),
        (EARLIER, name, "excess/deficit"): 100 * before.gain(axes=ED),
        (FORECAST, name, "mean absolute error"): float(np.mean(np.abs(y_true - y_pred))),
    }


def differs(part: Arrays, axes: tuple[str, str], seed: int) -> bool:
    """Whether a forecaster's area differs from its constant band's at p < 0.01; whole weeks are swapped at once."""
    iv = intervals(part)
    block = part["test hour"] // WEEK
    return all_differ({"model": iv, "constant": flat(iv)}, axes=axes, seed=seed, block=block)  # type: ignore[arg-type]


def judge(parts: Parts, seed: int) -> Verdict:
    """Each forecaster against the constant band around its own predictions."""
    cells: dict[Cell, float] = {}
    for name, part in parts.items():
        cells |= cells_of(name, part)
    area = {name: cells[BANDWIDTH, name, "area"] for name in MODELS}
    excess = {name: cells[EXCESS, name, "area"] for name in MODELS}
    low, high = (
        {name: cells[BANDWIDTH, name, f"miss rate {side} 0.2"] for name in MODELS} for side in ("below", "above")
    )
    crossed = {name: crossing(intervals(part), flat(intervals(part)), axes=BM) for name, part in parts.items()}
    apart = {(n, a): differs(part, a, seed) for n, part in parts.items() for a in (BM, ED)}
    tuned_gains = [cells[EXCESS, "DOMS", measure] for measure in ("cost", "MAE")]
    blocks = "at p < 0.01 (weeks swapped as blocks)"
    claims = (
        Claim("JMS and JMV gain over their constant bands", "Sec. 4.2", area["JMS"] > 0 and area["JMV"] > 0),
        Claim("DOMS loses against its constant band", "Sec. 4.2", area["DOMS"] < 0),
        Claim("The gains rank JMS, JMV, DOMS", "Sec. 4.2", area["JMS"] > area["JMV"] > area["DOMS"]),
        Claim("Below a miss rate of 0.2, JMS and JMV outperform constant", "Sec. 4.2", min(low["JMS"], low["JMV"]) > 0),
        Claim("Above it, constant outperforms JMS and JMV", WHERE, max(high["JMS"], high["JMV"]) < 0),
        Claim("The curves of JMS and JMV cross their constant bands'", "Sec. 4.2", crossed["JMS"] and crossed["JMV"]),
        Claim("The curve of DOMS crosses its constant band's", "Sec. 4.2", crossed["DOMS"]),
        Claim("On ED all gain, DOMS least", "Table 6", 0 < excess["DOMS"] < min(excess["JMS"], excess["JMV"])),
        Claim("On ED JMS gains most", "Table 6", excess["JMS"] > excess["JMV"]),
        Claim("DOMS has negative gains in cost and MAE at the held-out scale", "Table 6", max(tuned_gains) < 0),
        Claim(f"On BM, JMS and JMV differ from constant {blocks}", WHERE, apart["JMS", BM] and apart["JMV", BM]),
        Claim(f"On BM, DOMS differs from constant {blocks}", WHERE, apart["DOMS", BM]),
        Claim(f"On ED, JMS and JMV differ from constant {blocks}", WHERE, apart["JMS", ED] and apart["JMV", ED]),
        Claim(f"On ED, DOMS differs from constant {blocks}", WHERE, apart["DOMS", ED]),
    )
    return Verdict(cells, claims)


def curves_figure(parts: Parts) -> Drawing:
    """One panel a forecaster and pair of axes."""
    figure, panels = canvas(3, width=4.4, rows=2)
    for column, (name, part) in enumerate(parts.items()):
        iv = intervals(part)
        for ax, axes, xmax in ((panels[column], BM, 1500), (panels[column + 3], ED, 800)):
            draw_curves(ax, {name: iv, "Constant": flat(iv)}, axes=axes, unit_name="vehicles an hour", xmax=xmax)
            ax.set_title(f"{name}: gain {100 * UCC(iv).gain(axes=axes):+.1f} %", fontsize=10)
    return Drawing(
        "traffic-ucc",
        figure,
        "UCCs of the three forecasters and their constant bands: bandwidth/miss rate above, excess/deficit below (the "
        "paper's Figures 9 and 15).",
    )


def draw(parts: Parts) -> Iterator[Drawing]:
    """The curves."""
    yield curves_figure(parts)


EXPERIMENT = Experiment(
    name="traffic",
    title="Metro traffic: LSTM forecasters",
    work=work,
    judge=judge,
    draw=draw,
    paper=PAPER,
    seeds=(0, 1, 2, 3, 4),
    quick_seeds=(0,),
    settings=SETTINGS,
    quick_settings=QUICK,
    stack=("jax", "optax"),
    reasons={
        BANDWIDTH: "Reproduced, but that JMS is not ahead of JMV: both gain where few hours may be missed and lose "
        "where many may, DOMS loses.",
        EXCESS: "JMV is reproduced; JMS gains as much as JMV but not 75.5 %, and DOMS gains less than published. The "
        "paper refers for its networks to a manuscript that is not public. A worse forecast leaves more to gain: the "
        "quick run, whose forecasts err nearly three times as much, gains about 60 % with JMS.",
        EARLIER: "In the half-year before the test period all gains on bandwidth/miss rate are negative: their sign "
        "depends on the period.",
    },
)
