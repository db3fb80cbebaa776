"""A panel of forecasts on real data: 24 series (hours of the day), three models, three levels each."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy import stats

import uccurve as ucc

Array = NDArray[np.float64]

LEVELS = (0.8, 0.9, 0.95)
PARTS = {"fit": 0, "calibrate": 1, "test": 2}


@pytest.fixture(scope="module")
def panel(shared_data: Path) -> pl.DataFrame:
    """Hourly volumes of three years with the three models' predictions, one row per day and hour."""
    source = pl.read_csv(
        shared_data / "Metro_Interstate_Traffic_Volume.csv", columns=["date_time", "traffic_volume"]
    )
    when = pl.col("date_time").str.to_datetime("%Y-%m-%d %H:%M:%S")
    rows = source.select(
        day=when.dt.date(), hour=when.dt.hour(), weekday=when.dt.weekday(), y="traffic_volume"
    )
    rows = (
        rows.filter(pl.col("day") >= pl.date(2015, 7, 1))
        .unique(["day", "hour"], keep="first")
        .sort("day", "hour")
    )
    part = (
        pl.when(pl.col("day") < pl.date(2017, 1, 1))
        .then(0)
        .when(pl.col("day") < pl.date(2017, 12, 1))
        .then(1)
    )
    rows = rows.with_columns(part=part.otherwise(2), y=pl.col("y").cast(pl.Float64))
    fit = rows.filter(pl.col("part") == 0)
    weekly = fit.group_by("weekday", "hour").agg(weekly=pl.col("y").mean())
    daily = fit.group_by("hour").agg(daily=pl.col("y").mean())
    last = rows.select("day", "hour", last="y").with_columns(pl.col("day") + pl.duration(days=7))
    joined = (
        rows.join(weekly, on=["weekday", "hour"])
        .join(daily, on="hour")
        .join(last, on=["day", "hour"])
    )
    return joined.sort("day", "hour")


def levels(panel: pl.DataFrame, name: str, part: str) -> dict[float, ucc.Intervals]:
    """Normal intervals with each hour's standard deviation in the first part: too narrow where tails are heavy."""
    fit = panel.filter(pl.col("part") == 0)
    spread = fit.group_by("hour").agg(std=((pl.col("y") - pl.col(name)) ** 2).mean().sqrt())
    rows = panel.filter(pl.col("part") == PARTS[part]).join(
        spread, on="hour", maintain_order="left"
    )
    y, mean, std = (rows[column].to_numpy() for column in ("y", name, "std"))
    return {
        level: ucc.Intervals.from_bands(y, mean, std * stats.norm.ppf((1 + level) / 2))
        for level in LEVELS
    }


def days(panel: pl.DataFrame, part: str) -> Array:
    return panel.filter(pl.col("part") == PARTS[part])["day"].to_physical().to_numpy() // 14


def test_three_forecasters_of_three_levels_are_three_rows_and_three_pairs(
    panel: pl.DataFrame,
) -> None:
    assert panel["hour"].n_unique() == 24
    models = {name: levels(panel, name, "calibrate") for name in ("weekly", "daily", "last")}
    hour = panel.filter(pl.col("part") == 1)["hour"].to_numpy()
    found = ucc.assess(
        models, coverage=0.9, block=days(panel, "calibrate"), by={"hour": hour.astype(str)}
    )
    assert (len(found.rows), len(found.comparisons), len(found.wis_comparisons)) == (3, 3, 3)
    assert len(found.segments) == 3 * 24
    assert found.verdict.model == "weekly"
    assert found.verdict.text.startswith("Ship weekly with bands × ")
    off = [
        level.level
        for level in found["weekly"].levels
        if level.promise != "kept" and level.level != 0.9
    ]
    assert off  # four sentences have no room for them: the table of levels says so
    delivered = {level.level: level for level in found["weekly"].levels}
    for level in off:
        kept = delivered[level].coverage
        assert not kept.low <= level <= kept.high


def test_calibrated_levels_are_nested_and_each_covers_what_it_promises(panel: pl.DataFrame) -> None:
    past, future = levels(panel, "weekly", "calibrate"), levels(panel, "weekly", "test")
    shipped = {
        level: future[level].calibrated(
            scale=ucc.UCC(past[level]).find(coverage=level, conformal=True).scale
        )
        for level in LEVELS
    }
    found = ucc.assess({"weekly": shipped}, block=days(panel, "test"))[
        "weekly"
    ]  # refused unless the levels are nested
    for level in found.levels:
        assert level.coverage.low <= level.level <= level.coverage.high
