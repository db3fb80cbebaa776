"""The Metro Interstate Traffic Volume data as a gap-free hourly grid with a flag for what was observed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from uccurve.experiments.seq2seq import Windows

PAST, AHEAD = 72, 24
LONGEST_FILLED = 2
SPLIT = np.datetime64("2017-01-01"), np.datetime64("2017-07-01")  # local time, as in the file
MOST_RAIN = 300.0  # mm in an hour; the world record is 305, and one row of the file says 9831


def hourly(raw: pl.DataFrame) -> pl.DataFrame:
    """One row an hour without gaps: repeated hours dropped, impossible weather mended, holidays over their whole day.

    Volumes are filled over gaps of at most two hours; `observed` tells the hours that were measured and
    `usable` those with a volume.
    """
    rows = raw.with_columns(pl.col("date_time").str.to_datetime("%Y-%m-%d %H:%M:%S")).sort("date_time")
    rows = rows.unique("date_time", keep="first", maintain_order=True)
    holidays = rows.filter(pl.col("holiday") != "None")["date_time"].dt.date().implode()
    grid = rows.upsample("date_time", every="1h").with_columns(
        pl.col("date_time").dt.date().is_in(holidays).alias("holiday"),
        pl.when(pl.col("temp") > 0).then("temp").interpolate().forward_fill().backward_fill(),
        pl.when(pl.col("rain_1h") <= MOST_RAIN).then("rain_1h").fill_null(0.0),
        pl.col("snow_1h").fill_null(0.0),
        pl.col("clouds_all").cast(pl.Float64).interpolate(),
        pl.col("traffic_volume").is_not_null().alias("observed"),
        pl.col("traffic_volume").cast(pl.Float64).interpolate().alias("volume"),
    )
    run = pl.col("observed").rle_id()
    short = pl.col("observed") | (pl.len().over(run) <= LONGEST_FILLED)
    return grid.with_columns(short.alias("usable"))


def calendar_columns(grid: pl.DataFrame) -> np.ndarray[Any, Any]:
    """Hour (two harmonics), weekday, holiday and season of each row."""
    time = grid["date_time"]
    hour = 2 * np.pi * time.dt.hour().to_numpy() / 24
    year = 2 * np.pi * time.dt.ordinal_day().to_numpy() / 365.25
    waves = [np.sin(hour), np.cos(hour), np.sin(2 * hour), np.cos(2 * hour), np.sin(year), np.cos(year)]
    weekday = np.eye(7)[time.dt.weekday().to_numpy() - 1]
    return np.column_stack([*waves, weekday, grid["holiday"].to_numpy()])


def standardised(values: np.ndarray[Any, Any], among: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Columns minus their mean over their deviation, both taken over the rows `among`."""
    return np.asarray((values - values[among].mean(axis=0)) / values[among].std(axis=0))


@dataclass(frozen=True, eq=False, slots=True)
class Series:
    """The hourly arrays, the window starts of each period, and the unit of the volume."""

    volume: np.ndarray[Any, Any]
    past: np.ndarray[Any, Any]
    calendar: np.ndarray[Any, Any]
    observed: np.ndarray[Any, Any]
    starts: dict[str, np.ndarray[Any, Any]]
    center: float
    unit: float

    def windows(self, starts: np.ndarray[Any, Any]) -> Windows:
        """The windows that begin at `starts`."""
        before = starts[:, None] + np.arange(PAST)
        after = starts[:, None] + np.arange(PAST, PAST + AHEAD)
        target = (self.volume[after] - self.center) / self.unit
        arrays = self.past[before], self.calendar[after], target, self.observed[after]
        return Windows(*(np.asarray(a, dtype=np.float32) for a in arrays))  # type: ignore[arg-type]

    def batches(self, size: int, *, seed: int) -> Iterator[Windows]:
        """Endless random batches of training windows, each pass over all of them in a new order."""
        rng = np.random.default_rng(seed)
        while True:
            order = rng.permutation(self.starts["train"])
            for first in range(0, len(order) - size + 1, size):
                yield self.windows(order[first : first + size])


def window_starts(grid: pl.DataFrame) -> dict[str, np.ndarray[Any, Any]]:
    """Starts of all windows without a long gap, by the period that holds all their predicted hours."""
    usable = np.concatenate([[0], np.cumsum(grid["usable"].to_numpy())])
    length = PAST + AHEAD
    starts = np.flatnonzero(usable[length:] - usable[:-length] == length)
    time = grid["date_time"].to_numpy()
    first, last = time[starts + PAST], time[starts + length - 1]
    train_end, held_out_end = SPLIT
    return {
        "train": starts[last < train_end],
        "held out": starts[(first >= train_end) & (last < held_out_end)],
        "test": starts[first >= held_out_end],
    }


def series(raw: pl.DataFrame) -> Series:
    """Everything the forecasters need, scaled by the hours before the held-out period."""
    grid = hourly(raw)
    training = (grid["date_time"].to_numpy() < SPLIT[0]) & grid["observed"].to_numpy()
    volume = grid["volume"].to_numpy()
    wet = np.log1p(grid.select("rain_1h", "snow_1h").to_numpy())
    weather = np.column_stack([volume, grid["temp"].to_numpy(), grid["clouds_all"].to_numpy(), wet])
    calendar = calendar_columns(grid)
    return Series(
        volume=volume,
        past=np.column_stack([standardised(weather, training), calendar]),
        calendar=calendar,
        observed=grid["observed"].to_numpy(),
        starts=window_starts(grid),
        center=float(volume[training].mean()),
        unit=float(volume[training].std()),
    )
