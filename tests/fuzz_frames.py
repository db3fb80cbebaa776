"""Frames at random, assessed as streams and in memory: every number of both is held together.

As a command it looks at as many frames as it is told and prints the first disagreements:

    python tests/fuzz_frames.py --frames 20000 --engine polars
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import uccurve as ucc
from streamed import ENDS_OF_WEIGHTED, Room, agree

LEVELS = ((0.5, 0.9), (0.5, 0.8, 0.95), (0.9,), (0.2, 0.6))
SIZES = (3, 9, 40, 150, 400, 400, 400)


@dataclass(frozen=True)
class Frame:
    """Rows with the columns of some models, and what is asked about them."""

    rows: dict[str, Any]
    models: dict[str, Any]
    options: dict[str, Any]
    min_band: float | str | None
    weight: str | None

    def streamed(self, make: Callable[[dict[str, Any]], Any]) -> ucc.Assessment:
        """Assess the frame that an engine holds."""
        drop: Any = "drop" if None in self.rows["y"] else "raise"
        return ucc.assess_frame(
            make(self.rows),
            self.models,
            y_true="y",
            weight=self.weight,
            min_band=self.min_band,
            missing=drop,
            **self.options,
        )

    def exact(self) -> ucc.Assessment:
        """Assess the same rows in memory."""
        kept = pl.DataFrame(self.rows).drop_nulls("y")
        options = dict(self.options)
        by = options.pop("by", None)
        block = options.pop("block", None)
        models = {name: self._in_memory(kept, columns) for name, columns in self.models.items()}
        return ucc.assess(
            models,
            by=None if by is None else {name: kept[name].to_numpy() for name in by},
            block=None if block is None else kept[block].to_numpy(),
            **options,
        )

    def _in_memory(self, kept: pl.DataFrame, columns: tuple[Any, ...]) -> Any:
        y_pred, *bounds = columns
        if len(bounds) == 2:
            return self._intervals(kept, y_pred, *bounds)
        return {level: self._intervals(kept, y_pred, *ends) for level, ends in bounds[0].items()}

    def _intervals(self, kept: pl.DataFrame, *names: str) -> ucc.Intervals:
        weight = None if self.weight is None else kept[self.weight].to_numpy()
        columns = [kept[name].to_numpy() for name in ("y", *names)]
        return ucc.Intervals.from_bounds(*columns, weight=weight, min_band=self.min_band)


def frame_of(seed: int) -> Frame:
    """Return the frame of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, SIZES[rng.integers(len(SIZES))] + 1))
    decimals = (0, 1, 6, 15)[rng.integers(4)]
    spread = np.exp(rng.normal(size=n) * (0.0, 0.7)[rng.integers(2)])
    size = (1.0, 1.0, 1e-3, 1e5)[rng.integers(4)] if decimals > 1 else 3.0
    pred = np.round(size * rng.normal(size=n), decimals)
    error = size * spread * rng.standard_t((3, 30)[rng.integers(2)], size=n)
    if rng.random() < 0.05:
        error *= 0
    y = np.round(pred + error, decimals)
    rows: dict[str, Any] = {"y": y.tolist(), "p": pred.tolist()}
    models: dict[str, Any] = {}
    same_levels = LEVELS[rng.integers(len(LEVELS))] if rng.random() < 0.3 else None
    for name in "abc"[: rng.integers(1, 4)]:
        models[name] = _model(rng, name, rows, Scale(spread, size, decimals, same_levels))
    options: dict[str, Any] = {"coverage": (None, 0.5, 0.8, 0.9, 0.9, 0.95)[rng.integers(6)]}
    if same_levels and options["coverage"] is None and len(same_levels) > 1:
        options["coverage"] = 0.8
    _add_labels(rng, n, rows, options)
    weight = _add_weights(rng, n, rows)
    if rng.random() < 0.2:
        options["unit"] = ("std", 2.5)[rng.integers(2)]
    if rng.random() < 0.2:
        options |= {"c": 0.3, "partial": (0.05, 0.3)}
    if rng.random() < 0.15:
        rows["y"][1:] = [None if rng.random() < 0.2 else value for value in rows["y"][1:]]
    floor = None
    if rng.random() < 0.3:
        floor = (0.4 * size, "30%", 1e-9 * size)[rng.integers(3)]
    return Frame(rows, models, options, floor, weight)


class Scale(NamedTuple):
    """Size and rounding of the numbers of a frame, and the levels of its models."""

    spread: Any
    size: float
    decimals: int
    levels: tuple[float, ...] | None


def _model(
    rng: np.random.Generator, name: str, rows: dict[str, Any], scale: Scale
) -> tuple[Any, ...]:
    """Add the columns of a model, and return what names them."""
    spread, size, decimals, levels = scale
    n = len(spread)
    pred = "p"
    centre = np.array(rows["p"])
    if rng.random() < 0.2:
        pred = f"p_{name}"
        centre = np.round(centre + 0.2 * size * rng.normal(size=n), decimals)
        rows[pred] = centre.tolist()
    share = (0.0, 0.0, 0.3)[rng.integers(3)]
    below, above = (
        np.where(
            rng.random(n) < share, 0.0, size * spread * np.exp((0.3, 0.9)[k] * rng.normal(size=n))
        )
        for k in range(2)
    )
    if rng.random() < 0.4:
        above = below
    columns = {}
    for level in levels or (0.9,):
        factor = 1.6 * level**2
        ends = f"{name}_low_{level}", f"{name}_high_{level}"
        rows[ends[0]] = (centre - np.round(factor * below, decimals)).tolist()
        rows[ends[1]] = (centre + np.round(factor * above, decimals)).tolist()
        columns[level] = ends
    return (pred, *columns[0.9]) if levels is None else (pred, columns)


def _add_labels(
    rng: np.random.Generator, n: int, rows: dict[str, Any], options: dict[str, Any]
) -> None:
    if rng.random() < 0.4:
        rows["site"] = rng.choice(["north", "south", "a, b"], n).tolist()
        rows["kind"] = rng.integers(0, 3, n).tolist()
        options["by"] = (["site"], ["kind"], ["site", "kind"])[rng.integers(3)]
    if rng.random() < 0.4:
        count = max(1, int(n // rng.integers(1, 9)))
        rows["day"] = rng.integers(0, count, n).tolist()
        if rng.random() < 0.3:
            rows["day"] = [f"day {day}" for day in rows["day"]]
        options["block"] = "day"


def _add_weights(rng: np.random.Generator, n: int, rows: dict[str, Any]) -> str | None:
    kind = rng.integers(8)
    if kind < 4:
        return None
    weights = (
        np.ones(n),
        np.full(n, 0.3),
        rng.choice([1.0, 2.0, 0.5], n),
        rng.choice([0.0, 1.0, 7.0], n),
    )
    rows["w"] = weights[kind - 4].tolist()
    return "w"


def outcome(call: Callable[[], ucc.Assessment]) -> ucc.Assessment | str:
    """Return an assessment, or the sentence that refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except ValueError as error:
            return str(error)


def check(seed: int, make: Callable[[dict[str, Any]], Any] = pl.LazyFrame) -> None:
    """Fail unless the frame of a seed is assessed alike, or refused by both."""
    frame = frame_of(seed)
    found = outcome(lambda: frame.streamed(make))
    exact = outcome(frame.exact)
    if isinstance(found, str) or isinstance(exact, str):
        both = isinstance(found, str) and isinstance(exact, str)
        assert both, f"streamed: {found if isinstance(found, str) else 'assessed'}; {exact!s:.200}"
        return
    unequal = frame.weight is not None and len({*frame.rows[frame.weight]}) > 1
    agree(
        found.to_dict(),
        exact.to_dict(),
        Room(ends=ENDS_OF_WEIGHTED, ranks=False) if unequal else None,
    )


def main() -> int:
    """Look at many frames; return 1 where some disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--engine", choices=list(ENGINES), default="polars")
    parser.add_argument("--show", type=int, default=10)
    asked = parser.parse_args()
    kinds: Counter[str] = Counter()
    for seed in range(asked.first, asked.first + asked.frames):
        try:
            check(seed, ENGINES[asked.engine]())
        except Exception as error:  # noqa: BLE001  # a fuzzer counts whatever goes wrong
            kind = f"{type(error).__name__} {str(error).split(':')[0].rpartition('.')[2]}"
            kinds[kind] += 1
            if kinds[kind] <= asked.show:
                sys.stdout.write(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}\n")
    sys.stdout.write(f"{asked.frames} frames, {kinds.total()} disagree: {dict(kinds)}\n")
    return int(bool(kinds))


def _polars() -> Any:
    return pl.LazyFrame


def _arrow() -> Any:
    return lambda rows: pl.DataFrame(rows).to_arrow()


def _pandas() -> Any:
    return lambda rows: pl.DataFrame(rows).to_pandas()


def _duckdb() -> Any:
    import duckdb

    store = duckdb.connect(config={"threads": 1})
    return lambda rows: store.from_arrow(pl.DataFrame(rows).to_arrow())


def _ibis() -> Any:
    import ibis

    return lambda rows: ibis.memtable(pl.DataFrame(rows).to_arrow())


def _dask() -> Any:
    import dask.dataframe

    divide: Any = dask.dataframe.from_pandas
    return lambda rows: divide(pl.DataFrame(rows).to_pandas(), npartitions=2)


ENGINES = {
    "polars": _polars,
    "pyarrow": _arrow,
    "pandas": _pandas,
    "duckdb": _duckdb,
    "ibis": _ibis,
    "dask": _dask,
}

if __name__ == "__main__":
    raise SystemExit(main())
