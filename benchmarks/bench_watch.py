"""How often a watch rings for nothing, how soon it sees a broken promise, and what following the factor gains."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

import uccurve as ucc
from uccurve._vocabulary import Array
from uccurve.watch.evidence import DifferenceEvidence, Promise, PromiseEvidence

from .measure import Row

ALPHA = 0.1
TOLERANCE = 0.005
SEED = 314_159  # looked at once
LIMITS = (365, 1000)
WEEK = 7
WEEKEND = 0.03  # by how much the miss rate of a weekend differs
REFERENCE = 100  # days before a change
SLOWEST = 400  # days that a change is waited for
WORLD_DAYS = 400


Draw = Callable[[np.random.Generator, int], Array]


def _normal(rng: np.random.Generator, count: int) -> Array:
    return rng.normal(size=count)


def _long_tails(rng: np.random.Generator, count: int) -> Array:
    return rng.standard_t(3, size=count) / np.sqrt(3)


def _rarely(rng: np.random.Generator, count: int) -> Array:
    """Return 7 on one day in 50, and else a little below 0."""
    return np.where(rng.random(count) < 0.02, 7.0, -0.14 / 0.98)


def _skew(rng: np.random.Generator, count: int) -> Array:
    return rng.exponential(size=count) - 1


# Of mean 0 and standard deviation 1.
DIFFERENCES: dict[str, Draw] = {
    "normal": _normal,
    "long tails, t(3)": _long_tails,
    "skew, exponential": _skew,
}


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated."""

    monitors: int
    spans: int  # of 1,000 days
    changes: int
    worlds: int
    runs: int  # of the command, one per day
    kills: int


FULL = Size(monitors=1000, spans=2, changes=1000, worlds=10, runs=365, kills=200)
QUICK = Size(monitors=20, spans=1, changes=20, worlds=1, runs=3, kills=2)


@dataclass(slots=True)
class Days:
    """Days as they are simulated.

    Attributes
    ----------
    rows : function of a day
        Number of rows.
    sd : float
        Standard deviation of what a day adds to its miss rate.
    rate : float or array
        Miss rate, of all monitors or of each.
    memory : float
        Correlation of what a day adds with the day before.
    weekly : bool
        Whether weekends miss more often, and the promise is kept over the week.
    period : int, optional
        As a `Monitor` takes it.
    change : float, optional
        Miss rate after the reference days.
    tolerance : float
    draw : function of a generator and a count
        What days add, in standard deviations.
    """

    rows: Callable[[int], int]
    sd: float = 0.0
    rate: float | Array = ALPHA
    memory: float = 0.0
    weekly: bool = False
    period: int | None = None
    change: float | None = None
    tolerance: float = TOLERANCE
    draw: Draw = _normal
    effect: Array | float = field(default=0.0, init=False)

    def rates(self, day: int, monitors: int, rng: np.random.Generator) -> Array:
        """Return the miss rate of a day, of each monitor."""
        fresh = self.draw(rng, monitors) * self.sd
        if self.memory:
            fresh = self.memory * self.effect + np.sqrt(1 - self.memory**2) * fresh
        self.effect = fresh
        rate = self.rate
        if self.change is not None and day >= REFERENCE:
            rate = self.change
        if self.weekly:
            rate = rate + (WEEKEND if day % WEEK >= 5 else -WEEKEND * 2 / 5)
        return np.clip(rate + fresh, 0.0, 1.0)


def levels(days: Days, count: int, monitors: int, seed: int) -> Iterator[Array]:
    """Yield the evidence of many monitors after each day."""
    rng = np.random.default_rng([SEED, seed])
    promise = Promise(ALPHA, days.tolerance, period=days.period)
    evidence = PromiseEvidence.of(promise, (monitors,))
    for day in range(count):
        rows = days.rows(day)
        missed = rng.binomial(rows, days.rates(day, monitors, rng))
        place = day % (days.period or 1)
        evidence = evidence.after(missed / rows, float(rows), place)
        yield evidence.starts.mean


def first_alarms(days: Days, count: int, monitors: int, seed: int) -> dict[int, Array]:
    """Return the day of the first alarm of each monitor, by how rare false ones must be; -1 where none rang."""
    first = {limit: np.full(monitors, -1) for limit in LIMITS}
    for day, evidence in enumerate(levels(days, count, monitors, seed)):
        for limit, days_of_alarm in first.items():
            days_of_alarm[(days_of_alarm < 0) & (evidence >= limit)] = day
    return first


def run(quick: bool = False) -> list[Row]:
    """Rows of all tables."""
    size = QUICK if quick else FULL
    return [
        *false_alarms(size),
        *delays(size),
        *noise_of_the_factor(size),
        *contests(size),
        *following(size),
        *following_on_data(),
        *daily_runs(size),
        *killed_runs(size),
    ]


# ---- false alarms


def false_alarms(size: Size) -> Iterator[Row]:
    """Days to a false alarm, estimated by the days that were watched for each alarm."""
    for place, (name, days) in enumerate(kept_promises()):
        count = 1000 * size.spans
        first = first_alarms(days, count, size.monitors, place)
        rang = (first[1000] >= 0) & (first[1000] < 1000)
        yield {
            "a kept promise": name,
            "days per false alarm, 365 asked": _mean_days(first[365], count),
            "1,000 asked": _mean_days(first[1000], count),
            "rang within 1,000 days": _percent(np.mean(rang)),
        }


def kept_promises() -> Iterator[tuple[str, Days]]:
    """Yield days on which 90% are covered on average."""
    for rows in (100, 5000):
        for sd in (0.0, 0.014, 0.03):
            yield f"{rows:,} rows, daily effect of sd {sd:g}", Days(_always(rows), sd)
    for name, draw in (("long tails, t(3)", _long_tails), ("one day in 50 is bad", _rarely)):
        yield f"5,000 rows, sd .014, {name}", Days(_always(5000), 0.014, draw=draw)
    for rows in (100, 5000):
        yield f"{rows:,} rows, at the edge (89.5%), sd .014", Days(_always(rows), 0.014, rate=0.105)
    for period in (WEEK, None):
        how = "`period=7`" if period else "without `period`"
        weekly = Days(_always(5000), 0.014, weekly=True, period=period)
        yield f"5,000 rows, sd .014, weekends miss 4.2 points more, {how}", weekly
    yield "5,000 rows, weekends of 50, sd .014", Days(_weekends, 0.014)
    for sd in (0.014, 0.03):
        name = f"5,000 rows, AR(.5) days of sd {sd:g}: no promise"
        yield name, Days(_always(5000), sd, memory=0.5)


def _mean_days(first: Array, count: int) -> str:
    """Return the days that were watched for each alarm."""
    alarms = int(np.sum(first >= 0))
    watched = float(np.sum(np.where(first >= 0, first + 1, count)))
    if not alarms:
        return f"over {_rounded(watched)}"
    return _rounded(watched / alarms)


# ---- delays


def delays(size: Size) -> Iterator[Row]:
    """Days until a broken promise rings, once in 1,000 days by chance."""
    for place, (name, days) in enumerate(broken_promises()):
        row: Row = {"days to an alarm, median (90%)": name}
        for change in (0.13, 0.15, 0.2, 0.3):
            changed = replace(days, change=change)
            count = REFERENCE + SLOWEST
            first = first_alarms(changed, count, size.changes, 100 + 10 * place)[1000]
            late = first[(first < 0) | (first >= REFERENCE)]
            waited = np.where(late < 0, SLOWEST + 1, late - REFERENCE + 1)
            half, most = np.quantile(waited, [0.5, 0.9], method="higher")
            row[f"90 to {100 * (1 - change):.0f}%"] = f"{_waited(half)} ({_waited(most)})"
        yield row


def broken_promises() -> Iterator[tuple[str, Days]]:
    """Yield days whose miss rate will change."""
    for rows in (100, 5000):
        for sd in (0.0, 0.014, 0.03):
            yield f"{rows:,} rows, sd {sd:g}", Days(_always(rows), sd)
    for period in (WEEK, None):
        how = "`period=7`" if period else "without `period`"
        weekly = Days(_always(5000), 0.014, weekly=True, period=period)
        yield f"5,000 rows, sd 0.014, weekends differ, {how}", weekly


def _waited(days: float) -> str:
    return f"over {SLOWEST}" if days > SLOWEST else f"{days:.0f}"


# ---- the factor's own noise


def noise_of_the_factor(size: Size) -> Iterator[Row]:
    """How often a watch of intervals rings whose factor was learnt on few rows."""
    rng = np.random.default_rng([SEED, 5])
    for place, rows in enumerate((200, 500, 2000)):
        rank = int(np.ceil((rows + 1) * (1 - ALPHA)))
        rates = 1 - rng.beta(rank, rows + 1 - rank, size.monitors)
        allowed = ucc.Monitor(coverage=1 - ALPHA, calibrated_on=rows).tolerance
        row: Row = {
            "calibrated on": f"{rows:,} rows",
            "tolerance with `calibrated_on`": _percent(allowed),
        }
        for name, tolerance in (("without", TOLERANCE), ("with", allowed)):
            days = Days(_always(1000), 0.014, rate=rates, tolerance=tolerance)
            first = first_alarms(days, 1000, size.monitors, 200 + place)[1000]
            for count in (100, 1000):
                rang = np.mean((first >= 0) & (first < count))
                row[f"rang within {count:,} days, {name}"] = _percent(rang)
        yield row


# ---- champion and challenger


def contests(size: Size) -> Iterator[Row]:
    """How often an equal challenger rings, and how soon one that is better by a share of a day's deviation."""
    count = 1000 * size.spans
    for place, (name, draw) in enumerate(DIFFERENCES.items()):
        equal = _first_contest_alarms(draw, 0.0, count, size.monitors, 300 + place)
        row: Row = {
            "daily differences of two scores": f"{name}, once in 1,000 days",
            "days per false alarm": _mean_days(equal, count),
        }
        for better in (0.25, 0.5, 1.0):
            first = _first_contest_alarms(draw, better, SLOWEST, size.changes, 310 + place)
            waited = np.where(first < 0, SLOWEST + 1, first + 1)
            half, most = np.quantile(waited, [0.5, 0.9], method="higher")
            row[f"better by {better:g} sd"] = f"{_waited(half)} ({_waited(most)})"
        yield row


def _first_contest_alarms(draw: Draw, better: float, count: int, monitors: int, seed: int) -> Array:
    """Return the day of the first alarm of each pair of models; -1 where none rang."""
    rng = np.random.default_rng([SEED, seed])
    evidence = DifferenceEvidence.of((monitors,))
    first = np.full(monitors, -1)
    for day in range(count):
        evidence = evidence.after(better + draw(rng, monitors))
        first[(first < 0) & (evidence.starts.mean >= 1000)] = day
    return first


# ---- following


def following(size: Size) -> Iterator[Row]:
    """Coverage and score of the next day, of a factor that follows and of others."""
    for rows in (50, 2000):
        for world in WORLDS:
            results: list[dict[str, tuple[float, float]]] = []
            for run_number in range(size.worlds):
                rng = np.random.default_rng([SEED, rows, run_number, WORLDS.index(world)])
                spread = spreads(world, rng)
                criticals = [np.abs(rng.normal(size=rows)) * sd for sd in spread]
                results.append(raced(criticals, np.ones(len(criticals)), first=60))
            yield _race(f"{world}, {rows:,} rows a day", results)


WORLDS = ["still", "noisy", "jump of 1.6", "seasonal", "random walk"]


def spreads(world: str, rng: np.random.Generator) -> Array:
    """Return the standard deviation of the errors of each day."""
    days = np.arange(WORLD_DAYS)
    noise = rng.normal(size=WORLD_DAYS)
    logs = {
        "still": 0 * noise,
        "noisy": 0.15 * noise,
        "jump of 1.6": np.where(days < WORLD_DAYS // 2, 0.0, np.log(1.6)),
        "seasonal": 0.3 * np.sin(2 * np.pi * days / 120),
        "random walk": 0.03 * np.cumsum(noise),
    }
    spread: Array = np.exp(logs[world])
    return spread


def following_on_data() -> Iterator[Row]:
    """The same on real forecasts, where their files are there (``UCCURVE_DATA``)."""
    folder = Path(os.environ.get("UCCURVE_DATA", "shared/data"))
    traffic = folder / "Metro_Interstate_Traffic_Volume.csv"
    if traffic.exists():
        yield _race("traffic volume, 24 hours a day", [raced(*traffic_days(traffic), first=60)])
    else:
        print(f"following is not measured on traffic: there is no {traffic}", flush=True)
    hourly = folder / "panel" / "m4_hourly_cv.csv"
    if not hourly.exists():
        print(f"following is not measured on the panel: there is no {hourly}", flush=True)
    else:
        for model in ("AutoETS", "MSTL", "SeasonalNaive"):
            name = f"M4 hourly, {model}, 69 series an hour"
            yield _race(name, [raced(*hourly_days(hourly, model), first=30)])


def traffic_days(path: Path) -> tuple[list[Array], Array]:
    """Return the critical scales of each day, of weekly means with each hour's standard deviation."""
    when = pl.col("date_time").str.to_datetime("%Y-%m-%d %H:%M:%S")
    rows = (
        pl.read_csv(path, columns=["date_time", "traffic_volume"])
        .select(
            day=when.dt.date(), hour=when.dt.hour(), weekday=when.dt.weekday(), y="traffic_volume"
        )
        .filter(pl.col("day") >= pl.date(2015, 7, 1))
        .unique(["day", "hour"], keep="first")
    )
    is_fit = pl.col("day") < pl.date(2017, 1, 1)
    pred = rows.filter(is_fit).group_by("weekday", "hour").agg(pred=pl.col("y").mean())
    joined = rows.join(pred, on=["weekday", "hour"]).sort("day", "hour")
    error = (pl.col("y") - pl.col("pred")).abs()
    spread = joined.filter(is_fit).group_by("hour").agg(band=1.645 * (error**2).mean().sqrt())
    tested = joined.filter(~is_fit).join(spread, on="hour").sort("day")
    return _by_period(tested.with_columns(critical=error / pl.col("band")), "day")


def hourly_days(path: Path, model: str) -> tuple[list[Array], Array]:
    """Return the critical scales of each hour, in units of each series' own spread."""
    half = (pl.col(f"{model}-hi-80") - pl.col(f"{model}-lo-80")) / 2
    error = (pl.col("y") - pl.col(model)).abs()
    rows = pl.read_csv(path).with_columns(
        step=pl.col("ds") - pl.col("cutoff"),
        order=pl.col("cutoff").rank("dense").over("unique_id"),
        critical=error / half.clip(1e-9),
        band=half / pl.col("y").std().over("unique_id"),
    )
    hours = rows.with_columns(hour=pl.col("order").cast(pl.Int64) * 100 + pl.col("step"))
    return _by_period(hours, "hour")


def _by_period(rows: pl.DataFrame, name: str) -> tuple[list[Array], Array]:
    criticals: list[Array] = []
    bands: list[float] = []
    for part in rows.sort(name).partition_by(name, maintain_order=True):
        criticals.append(part["critical"].to_numpy())
        bands.append(float(part["band"].to_numpy().mean()))
    return criticals, np.array(bands)


def raced(criticals: list[Array], bands: Array, *, first: int) -> dict[str, tuple[float, float]]:
    """Return coverage and mean score of each way to choose the next day's factor, after the `first` days."""
    follow = ucc.FollowingCalibrator(coverage=1 - ALPHA)
    misses: dict[str, list[float]] = {}
    scores: dict[str, list[float]] = {}
    fixed = conformal(criticals[:first])
    weights = [float(len(critical)) for critical in criticals]
    for day, critical in enumerate(criticals):
        if day >= first:
            factors = {
                "following": follow.factor,
                "fixed": fixed,
                "rolling 14": conformal(criticals[day - 14 : day]),
                "rolling 60": conformal(criticals[max(day - 60, 0) : day]),
            }
            for name, factor in factors.items():
                misses.setdefault(name, []).append(float(np.mean(critical > factor)))
                beyond = float(np.mean(np.maximum(critical - factor, 0)))
                scores.setdefault(name, []).append(bands[day] * (factor + beyond / ALPHA))
        zeros = np.zeros(len(critical))
        follow.update(ucc.Intervals.from_bands(critical, zeros, np.ones(len(critical))))
    rows = weights[first:]
    return {
        name: (
            1 - float(np.average(misses[name], weights=rows)),
            float(np.average(scores[name], weights=rows)),
        )
        for name in misses
    }


def conformal(days: Iterable[Array]) -> float:
    """Return the conformal factor of some days."""
    critical = np.concatenate([*days])
    rank = int(np.ceil((len(critical) + 1) * (1 - ALPHA)))
    place = min(rank, len(critical)) - 1
    return float(np.partition(critical, place)[place])


def _race(name: str, results: list[dict[str, tuple[float, float]]]) -> Row:
    """Return coverage, and how much more the score is than the best one's."""
    row: Row = {"next day's factor: coverage (score above the best)": name}
    means = {way: np.mean([result[way] for result in results], axis=0) for way in results[0]}
    best = min(score for _, score in means.values())
    for way, (covered, score) in means.items():
        row[way] = f"{_percent(covered)} (+{100 * (score / best - 1):.1f}%)"
    return row


# ---- the command


def daily_runs(size: Size) -> Iterator[Row]:
    """How long a run of the command takes, day after day of a year, and how large its state becomes."""
    walls: list[float] = []
    cpus: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for day in range(size.runs):
            _write_day(folder, day)
            started = time.perf_counter()
            before = _time_of_children()
            subprocess.run(_watch(day), cwd=folder, check=True, capture_output=True)
            cpus.append(_time_of_children() - before)
            walls.append(time.perf_counter() - started)
            (folder / _name_of(day)).unlink()
        state = (folder / "state.json").stat().st_size
    yield {
        "job": f"`uccurve watch`, {size.runs} days of 5,000 rows, one run per day",
        "unit": "s",
        "cpu": float(np.median(cpus)),
        "longest cpu": float(np.max(cpus)),
        "at most": 1.0,
        "wall": float(np.median(walls)),
        "state kB": state / 1000,
    }


def _time_of_children() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def killed_runs(size: Size) -> Iterator[Row]:
    """What the state is after the command was killed at a random moment."""
    rng = np.random.default_rng([SEED, 6])
    seen = {"old": 0, "new": 0, "neither": 0}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        state = folder / "state.json"
        for day in (0, 1):
            _write_day(folder, day)
        subprocess.run(_watch(0), cwd=folder, check=True, capture_output=True)
        old = state.read_bytes()
        started = time.perf_counter()
        subprocess.run(_watch(1), cwd=folder, check=True, capture_output=True)
        whole = time.perf_counter() - started
        new = state.read_bytes()
        for _ in range(size.kills):
            state.write_bytes(old)
            process = subprocess.Popen(
                _watch(1), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(float(rng.uniform(0.3, 1.2)) * whole)
            process.send_signal(signal.SIGKILL)
            process.wait()
            after = state.read_bytes()
            seen["old" if after == old else "new" if after == new else "neither"] += 1
    yield {"killed at a random moment": f"{size.kills} times", **seen}


def _watch(day: int) -> list[str]:
    words = ["watch", "state.json", _name_of(day), "--coverage", "90%"]
    return [sys.executable, "-m", "uccurve", *words]


def _name_of(day: int) -> str:
    return f"{date(2026, 1, 1) + timedelta(day)}.csv"


def _write_day(folder: Path, day: int) -> None:
    """Write 5,000 rows of a kept promise."""
    rng = np.random.default_rng([SEED, 7, day])
    pred = rng.normal(20, 5, 5000)
    spread = np.exp(0.3 * rng.normal(size=5000))
    columns = {
        "y": pred + spread * rng.normal(size=5000),
        "pred": pred,
        "lower": pred - 1.645 * spread,
        "upper": pred + 1.645 * spread,
    }
    pl.DataFrame(columns).write_csv(folder / _name_of(day), float_precision=4)


# ---- words


def _always(rows: int) -> Callable[[int], int]:
    return lambda _: rows


def _weekends(day: int) -> int:
    return 50 if day % WEEK >= 5 else 5000


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _rounded(days: float) -> str:
    return f"{float(f'{days:.2g}'):,.0f}"
