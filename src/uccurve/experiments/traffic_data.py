"""The Metro Interstate Traffic Volume data as a gap-free hourly grid with a flag for what was observed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:  # the study has this data without the networks
    from .seq2seq import Windows

Array = np.ndarray[Any, Any]
PAST, AHEAD = 72, 24
WEEK = 7 * 24
LONGEST_FILLED = 2
HELD_OUT_WEEK = 10
SPLIT = np.datetime64("2017-01-01"), np.datetime64("2017-07-01")  # local time, as in the file
MOST_RAIN = 300.0  # mm in an hour; the world record is 305, and one row of the file says 9831


def hourly(raw: pl.DataFrame) -> pl.DataFrame:
    """Return one row per hour without gaps: no repeated hours, no impossible weather, holidays over their whole day.

    Volumes are filled over gaps of at most two hours; `observed` marks the hours that were measured, `usable` those
    with a volume.
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


def calendar_columns(grid: pl.DataFrame) -> Array:
    """Return hour (two harmonics), weekday, holiday and season of each row."""
    time = grid["date_time"]
    hour = 2 * np.pi * time.dt.hour().to_numpy() / 24
    year = 2 * np.pi * time.dt.ordinal_day().to_numpy() / 365.25
    waves = [np.sin(hour), np.cos(hour), np.sin(2 * hour), np.cos(2 * hour), np.sin(year), np.cos(year)]
    weekday = np.eye(7)[time.dt.weekday().to_numpy() - 1]
    return np.column_stack([*waves, weekday, grid["holiday"].to_numpy()])


@dataclass(frozen=True, eq=False, slots=True)
class Series:
    """The hourly arrays, the window starts of each period, and the unit of the volume."""

    volume: Array
    past: Array
    calendar: Array
    observed: Array
    starts: dict[str, Array]
    center: float
    unit: float

    def windows(self, starts: Array) -> "Windows":
        """Return the windows that begin at `starts`."""
        from .seq2seq import Windows

        before = starts[:, None] + np.arange(PAST)
        after = starts[:, None] + np.arange(PAST, PAST + AHEAD)
        target = (self.volume[after] - self.center) / self.unit
        arrays = self.past[before], self.calendar[after], target, self.observed[after]
        return Windows(*(np.asarray(a, dtype=np.float32) for a in arrays))  # type: ignore[arg-type]

    def batches(self, period: str, size: int, *, seed: int) -> "Iterator[Windows]":
        """Yield random batches of training windows without end, each pass over all of them in a new order."""
        rng = np.random.default_rng(seed)
        while True:
            order = rng.permutation(self.starts[period])
            for first in range(0, len(order) - size + 1, size):
                yield self.windows(order[first : first + size])


def window_starts(grid: pl.DataFrame) -> dict[str, Array]:
    """Return the starts of all windows without a long gap, by the period that holds all their predicted hours.

    Every tenth week of the training period is `inside`; `outside` are its windows that predict no hour of such a week.
    """
    usable = np.concatenate([[0], np.cumsum(grid["usable"].to_numpy())])
    length = PAST + AHEAD
    starts = np.flatnonzero(usable[length:] - usable[:-length] == length)
    time = grid["date_time"].to_numpy()
    first, last = starts + PAST, starts + length - 1
    train, (begins, ends) = time[last] < SPLIT[0], ((hour // WEEK) % HELD_OUT_WEEK == 0 for hour in (first, last))
    return {
        "train": starts[train],
        "held out": starts[(time[first] >= SPLIT[0]) & (time[last] < SPLIT[1])],
        "test": starts[time[first] >= SPLIT[1]],
        "inside": starts[train & begins & ends],
        "outside": starts[train & ~begins & ~ends],
    }


def series(raw: pl.DataFrame) -> Series:
    """Return everything the forecasters need, scaled by the hours before the held-out period."""
    grid = hourly(raw)
    training = (grid["date_time"].to_numpy() < SPLIT[0]) & grid["observed"].to_numpy()
    volume = grid["volume"].to_numpy()
    wet = np.log1p(grid.select("rain_1h", "snow_1h").to_numpy())
    weather = np.column_stack([volume, grid["temp"].to_numpy(), grid["clouds_all"].to_numpy(), wet])
    scaled = (weather - weather[training].mean(axis=0)) / weather[training].std(axis=0)
    calendar, starts, known = calendar_columns(grid), window_starts(grid), volume[training]
    past, observed = np.column_stack([scaled, calendar]), grid["observed"].to_numpy()
    return Series(volume, past, calendar, observed, starts, float(known.mean()), float(known.std()))
