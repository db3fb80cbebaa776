"""One meaning, several engines: whatever holds the rows, the sketch is the one of the rows in memory.

All engines get the same rows and are held to the same numbers: bins, counts and extremes to the last bit, sums to the
rounding of their order. The cluster of Dask is a real one of local processes; Spark is a real session.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from refusal import CONVERT, DROP, FLOOR, UNIT, refused
from streamed import Room, agree
from uccurve.sketch import _second_pass
from uccurve.sketch._scan import collected
from uccurve.sketch.sketch import UCCSketch

pl = pytest.importorskip("polars")
Columns = dict[str, Any]
Make = Callable[[Columns], Any]

SPARK_WARNS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(SPARK_WARNS),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning"
    ),  # sockets that clusters leave to the end of the process
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
N = 600
COUNT = f"of {N} rows"


def rows() -> Columns:
    """Asymmetric, tied and weighted rows; on a bound, outside it by rounding, on y_pred, zero bands, never covered."""
    rng = np.random.default_rng(20)
    p, sigma = 10 * rng.normal(size=N), np.exp(rng.normal(size=N))
    lower, upper = p - sigma * rng.uniform(0.2, 3, N), p + sigma * rng.uniform(0.2, 3, N)
    y = p + sigma * rng.standard_t(3, size=N)
    y[:4], y[4:8], y[8:12] = upper[:4], lower[4:8], p[8:12]
    upper[12:15] = lower[15:18] = p[12:15]
    lower[15:18], p[12:15] = p[15:18], p[12:15]
    y[12:15], y[15], lower[18], upper[18], y[18] = p[12:15] + 1, p[15], p[18], p[18], p[18]
    p[19], upper[19], lower[19] = 1e8, 1e8 + 1.1, 1e8 - 1
    y[19] = np.nextafter(upper[19], np.inf)
    p[20:23], lower[20:23], upper[20:23], y[20:23] = 0.0, -1e9, 1e-9, [1e-12, 1.0, -1e-9]
    y[100:200], p[100:200], lower[100:200], upper[100:200] = (
        column[:100] for column in (y, p, lower, upper)
    )
    weight = rng.choice([0.0, 1.0, 0.3, 7.0], size=N)
    site = np.array(["north", "south", "east"])[rng.integers(0, 3, N)]
    labels = {"site": site, "day": rng.integers(1, 3, N), "series": rng.integers(0, 25, N)}
    return {
        "y": y,
        "yhat": p,
        "lo": lower,
        "hi": upper,
        "w": weight,
        **labels,
        "wide": lower - rng.uniform(0, 1, N),
    }


DATA = rows()
ROLES: Columns = {"y_true": "y", "y_pred": "yhat", "lower": "lo", "upper": "hi"}


def intervals(data: Columns, chosen: Any = slice(None), **options: Any) -> ucc.Intervals:
    y, p, lower, upper = (data[name][chosen] for name in ROLES.values())
    weight = data["w"][chosen] if options.pop("weight", None) else None
    return ucc.Intervals.from_bounds(y, p, lower, upper, weight=weight, **options)


def memory(data: Columns, chosen: Any = slice(None), **options: Any) -> UCCSketch:
    return UCCSketch().update(intervals(data, chosen, **options))


# ---- the engines


def _pandas(data: Columns) -> Any:
    return pytest.importorskip("pandas").DataFrame(
        data, index=range(len(next(iter(data.values()))), 0, -1)
    )


def _arrow(data: Columns) -> Any:
    return pytest.importorskip("pyarrow").table(data)


def _duckdb(data: Columns) -> Any:
    return pytest.importorskip("duckdb").connect(config={"threads": 2}).from_arrow(_arrow(data))


def _ibis(data: Columns) -> Any:
    return pytest.importorskip("ibis").memtable(_arrow(data))


@pytest.fixture(scope="module")
def _dask() -> Iterator[Make]:
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield lambda data: dd.from_pandas(_pandas(data).sort_index(), npartitions=3)


@pytest.fixture(scope="module")
def _spark(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    sql = pytest.importorskip("pyspark.sql")
    assert java
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "FATAL",
    }
    settings |= {"spark.ui.showConsoleProgress": "false", "spark.driver.bindAddress": "127.0.0.1"}
    settings |= {
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)
        session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    made = 0

    def make(data: Columns) -> Any:
        nonlocal made
        made += 1
        path = folder / f"{made}.parquet"
        pl.DataFrame(data).write_parquet(path)
        return session.read.parquet(str(path))

    yield make
    session.stop()


PLAIN: dict[str, Make] = {
    "pandas": _pandas,
    "polars": pl.DataFrame,
    "polars-lazy": pl.LazyFrame,
    "pyarrow": _arrow,
    "duckdb": _duckdb,
    "ibis": _ibis,
}
CLUSTERS: dict[str, Any] = {"dask": (), "spark": (pytest.mark.spark,)}
ENGINES = [*PLAIN, *(pytest.param(name, marks=marks) for name, marks in CLUSTERS.items())]


def with_each(values: dict[str, Any], *, on_clusters: int) -> list[Any]:
    """Engines with values of another parameter, by name; a cluster takes the first few here, and all of them in CI."""
    found = []
    for engine in (*PLAIN, *CLUSTERS):
        for place, (name, value) in enumerate(values.items()):
            later = (pytest.mark.ci,) if engine in CLUSTERS and place >= on_clusters else ()
            found.append(
                pytest.param(
                    engine, value, id=f"{engine}-{name}", marks=(*CLUSTERS.get(engine, ()), *later)
                )
            )
    return found


@pytest.fixture(scope="module", params=ENGINES)
def make(request: pytest.FixtureRequest) -> Make:
    """Rows as a frame of each engine in turn."""
    if request.param in PLAIN:
        return PLAIN[request.param]
    made: Make = request.getfixturevalue(f"_{request.param}")
    return made


@pytest.fixture(scope="module")
def frame(make: Make) -> Any:
    return make(DATA)


# ---- the same numbers


def test_an_engine_s_sketch_is_that_of_the_rows_in_memory(frame: Any) -> None:
    assert UCCSketch.from_frame(frame, **ROLES) == memory(DATA)


def test_brackets_from_an_engine_hold_the_exact_value(frame: Any) -> None:
    found = UCCSketch.from_frame(frame, **ROLES, weight="w", min_band=0.4)
    assert found == memory(DATA, weight=True, min_band=0.4)
    c, whole = found.ucc(), ucc.UCC(intervals(DATA, weight=True, min_band=0.4))
    low, high = c.bracket("area", axes=("excess", "deficit"))
    assert low <= whole.area(axes=("excess", "deficit")) <= high
    assert c.area() == pytest.approx(whole.area(), rel=1e-12)
    assert c.at(1.0).miss_rate == pytest.approx(whole.at(1.0).miss_rate, abs=1e-14)


def test_groups_come_from_one_pass_and_add_up(frame: Any) -> None:
    found = UCCSketch.from_frame(frame, **ROLES, by=["site", "day"])
    assert len(found) == 6
    for (site, day), sketch in found.items():
        assert sketch == memory(DATA, (DATA["site"] == site) & (DATA["day"] == day))
    assert sum(found.values(), UCCSketch()) == memory(DATA)


OPTIONS = {
    "weighted blocks": {"block": "series", "weight": "w"},
    "plain": {},
    "blocks": {"block": "series"},
    "weighted": {"weight": "w"},
}
BAD = {"nan": np.nan, "inf": np.inf, "null": None}


@pytest.mark.parametrize(
    ("make", "options"), with_each(OPTIONS, on_clusters=1), indirect=["make"], scope="module"
)
def test_an_engine_s_assessment_is_that_of_the_rows_in_memory(frame: Any, options: Columns) -> None:
    asked: Columns = {
        "y_true": "y",
        "coverage": 0.8,
        "by": ["site"],
        "min_band": 0.3,
        "resolution": 64,
    }
    models = {"a": ("yhat", "lo", "hi"), "b": ("yhat", "wide", "hi")}
    found = ucc.assess_frame(frame, models, **asked, **options)
    weight = DATA["w"] if "weight" in options else None
    exact = ucc.assess(
        {
            name: ucc.Intervals.from_bounds(
                DATA["y"], *(DATA[c] for c in columns), weight=weight, min_band=0.3
            )
            for name, columns in models.items()
        },
        coverage=0.8,
        by={"site": DATA["site"]},
        block=DATA["series"] if "block" in options else None,
    )
    assert found.verdict.model == exact.verdict.model
    agree(found.to_dict(), exact.to_dict(), Room(ends=0.03, factor=1 + 1 / 64))


@pytest.mark.spark
@pytest.mark.parametrize("count", [3, pytest.param(10, marks=pytest.mark.ci)])
def test_java_compiles_what_spark_makes_of_several_models(
    count: int,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Java interprets methods of more than 8,000 bytes, which takes ten times as long."""
    make: Make = request.getfixturevalue("_spark")
    sizes = list[int]()

    def measured(frame: Any) -> Any:
        capsys.readouterr()
        frame.to_native().explain("codegen")
        sizes.extend(map(int, re.findall(r"maxMethodCodeSize:(\d+)", capsys.readouterr().out)))
        return collected(frame)

    monkeypatch.setattr(_second_pass, "collected", measured)
    models = {str(k): tuple(f"{name}{k}" for name in ("yhat", "lo", "hi")) for k in range(count)}
    columns = {name: DATA[name.rstrip("0123456789")] for one in models.values() for name in one}
    frame = make({"y": DATA["y"], **columns})
    frame.sparkSession.conf.set(
        "spark.sql.adaptive.enabled", "false"
    )  # shows the code before it runs
    try:
        ucc.assess_frame(frame, models, y_true="y", coverage=0.8)
    finally:
        frame.sparkSession.conf.unset("spark.sql.adaptive.enabled")
    assert 1_000 < max(sizes) < 6_500  # other rows have longer ones


def test_bad_rows_are_counted_where_they_are_and_refused_with_the_sentence_of_memory(
    make: Make,
) -> None:
    bad = {name: np.array(column) for name, column in DATA.items()}
    bad["lo"][[30, 40]] = np.nan
    bad["hi"][50] = np.inf
    bad["yhat"][60] = 1e6
    refused(
        f"`lower` must be finite: 2 {COUNT} are not. {DROP}",
        UCCSketch.from_frame,
        make(bad),
        **ROLES,
    )
    with pytest.warns(
        ucc.DroppedRowsWarning, match=f"^dropped 3 {COUNT}: a value is missing or infinite$"
    ):
        found = UCCSketch.from_frame(make(bad), **ROLES, missing="drop", min_band=0.1)
    with pytest.warns(ucc.DroppedRowsWarning):
        assert found == memory(bad, missing="drop", min_band=0.1)
    assert found.dropped == 3


@pytest.mark.parametrize(
    ("make", "bad"), with_each(BAD, on_clusters=0), indirect=["make"], scope="module"
)
def test_no_value_that_is_missing_slips_through_beside_a_row_that_is_never_covered(
    make: Make, bad: Any
) -> None:
    rows = {
        "y": [1.0, 5.0, -4.0],
        "yhat": [0.0] * 3,
        "lo": [0.0, -1.0, -1.0],
        "hi": [0.0, 2.0, 2.0],
    }
    never = UCCSketch.from_frame(make(rows), **ROLES)
    assert np.isinf(never._state.critical.maximum.max())
    for i, (role, name) in enumerate(ROLES.items()):
        column = list(rows[name])
        column[2 if role == "upper" else 1] = bad  # a bound is on the side where the error is not
        floor: Columns = {"min_band": 0.5} if i % 2 else {}
        sentence = f"`{role}` must be finite: 1 of 3 rows is not. {DROP}"
        refused(sentence, UCCSketch.from_frame, make(rows | {name: column}), **ROLES, **floor)


# ---- refusals and input, where one engine stands for all


FIRST = {name: PLAIN[name] for name in ("pandas", "polars-lazy", "duckdb")}


@pytest.fixture(params=FIRST)
def small(request: pytest.FixtureRequest) -> Make:
    return FIRST[request.param]


def few(**changes: Any) -> Columns:
    data: Columns = {
        "y": [1.0, 2.0, 9.0],
        "yhat": [1.0, 2.0, 3.0],
        "lo": [0.0, 1.0, 2.0],
        "hi": [2.0, 3.0, 4.0],
    }
    return {name: np.array(column) for name, column in (data | changes).items()}


CROSSED = "`lower` must not exceed `upper`: 1 of 3 rows does. Hint: sort crossing quantiles first."
FAR: Columns = {"y": [1.0, 1.7e308, 9.0], "yhat": [1.0, -1.7e308, 3.0], "lo": [0.0, -1.7e308, 2.0]}
SIZE = "must be 0 or from 1e-100 to 1e+100 in size:"
SIGN = "`weight` must not be negative: 1 of 3 rows is. Hint: leave such rows out or give them weight 0."
ZERO = "`weight` must not be zero in every row: all 3 are. Hint: leave `weight` out to weight rows equally."
WIDE = "`y_true` must fit float64 exactly: 1 of 3 rows does not. Hint: subtract a common offset from all columns first."
LEFT = "`missing` must leave at least one row: all 3 have a missing or infinite value. Hint: look at the columns first."
NONE = "`y_true` must hold at least one row: `frame` has none. Hint: check earlier filters."
REFUSED: list[tuple[Columns, Columns, str]] = [
    ({"lo": [0.0, 5.0, 2.0]}, {}, CROSSED),
    ({"lo": [0.0, 5.0, 2.0]}, {"min_band": 1}, CROSSED),
    (
        {"yhat": [1.0, 7.0, -3.0]},
        {},
        f"`y_pred` must lie between `lower` and `upper`: 2 of 3 rows do not. {FLOOR}",
    ),
    ({"y": [1.0, np.inf, np.nan]}, {}, f"`y_true` must be finite: 2 of 3 rows are not. {DROP}"),
    (
        {"hi": [2.0, np.inf, 4.0]},
        {"min_band": "5%"},
        f"`upper` must be finite: 1 of 3 rows is not. {DROP}",
    ),
    (FAR, {}, f"`y_true` {SIZE} 1 of 3 rows is not. {UNIT}"),
    (
        {"y": [1e-200, 2.0, 9.0], "yhat": [0.0, 2.0, 3.0], "hi": [1e-150, 3.0, 4.0]},
        {},
        f"`y_true` {SIZE} 1 of 3 rows is not. {UNIT}",
    ),
    (
        {"hi": [2.0, 3.0, 1e160]},
        {},
        f"`upper` {SIZE} 1 of 3 rows is not. {UNIT}",
    ),
    (
        {"w": [1.0, 1e200, 1.0]},
        {"weight": "w"},
        f"`weight` {SIZE} 1 of 3 rows is not. Hint: divide all weights by a common unit first.",
    ),
    ({"w": [1.0, -1.0, 2.0]}, {"weight": "w"}, SIGN),
    ({"w": [0.0, 0.0, 0.0]}, {"weight": "w"}, ZERO),
    ({"y": [1, 2**53 + 1, 9]}, {}, WIDE),
    ({"y": [np.nan] * 3}, {"missing": "drop"}, LEFT),
    ({name: [] for name in ROLES.values()}, {}, NONE),
    (
        {"y": [np.nan, 2.0, 9.0], "lo": [0.0, 5.0, 2.0]},
        {"missing": "drop"},
        CROSSED.replace("3 rows", "2 rows"),
    ),
    ({"hi": [2.0, -1.7e308, 4.0]}, {"min_band": "5%"}, CROSSED),
    (
        {"y": [np.nan, 4.0, 5.0], "lo": [0.0, -1e308, -1e308], "hi": [2.0, 7e307, 7e307]},
        {"missing": "drop"},
        f"`lower` {SIZE} 2 of 2 rows are not. {UNIT}",
    ),
]


@pytest.mark.parametrize(("changes", "options", "sentence"), REFUSED)
def test_rows_are_refused_in_one_sentence(
    small: Make, changes: Columns, options: Columns, sentence: str
) -> None:
    data = few(**changes)
    if not len(data["y"]):
        data = {name: np.array([], np.float64) for name in data}
    refused(sentence, UCCSketch.from_frame, small(data), **ROLES, **options)


@pytest.mark.parametrize("bound", [{"lo": [np.inf, 1.0, 2.0]}, {"hi": [-np.inf, 3.0, 4.0]}])
def test_rows_are_dropped_for_infinite_bounds_that_a_least_band_would_hide(
    small: Make, bound: Columns
) -> None:
    data = few(**bound)
    with pytest.warns(ucc.DroppedRowsWarning, match="^dropped 1 of 3 rows"):
        found = UCCSketch.from_frame(small(data), **ROLES, missing="drop", min_band=0.5)
    with pytest.warns(ucc.DroppedRowsWarning):
        assert found == memory(data, missing="drop", min_band=0.5)


def test_whole_numbers_are_missing_or_too_large_in_arrow_s_columns_too() -> None:
    arrow = pytest.importorskip("pyarrow").table
    data = {name: column.astype(np.int64).tolist() for name, column in few().items()}
    missing, large = arrow(data | {"y": [None, 2, 9]}), arrow(data | {"y": [2**60 + 1, 2, 9]})
    refused(
        f"`y_true` must be finite: 1 of 3 rows is not. {DROP}",
        UCCSketch.from_frame,
        missing,
        **ROLES,
    )
    refused(WIDE, UCCSketch.from_frame, large, **ROLES)
    assert UCCSketch.from_frame(arrow(data), **ROLES) == memory(few())


def test_nulls_are_missing_values() -> None:
    frame = pl.LazyFrame(few()).with_columns(
        hi=pl.when(pl.col("y") > 5).then(None).otherwise(pl.col("hi"))
    )
    refused(
        f"`upper` must be finite: 1 of 3 rows is not. {DROP}", UCCSketch.from_frame, frame, **ROLES
    )


def test_text_unknown_columns_and_other_things_are_refused(small: Make) -> None:
    text = few(y=["1", "2", "3"])
    refused(
        f"`y_true` must hold numbers; it holds text. {CONVERT}",
        UCCSketch.from_frame,
        small(text),
        **ROLES,
        error=TypeError,
    )
    with pytest.raises(
        ValueError,
        match=r"^`by` must name a column of `frame`; got 'sit'\. Its columns are .*\. Did you mean 'site'\?$",
    ):
        UCCSketch.from_frame(small(few(site=["a", "a", "b"])), **ROLES, by="sit")
    with pytest.raises(ValueError, match=r"^`missing` must be one of raise, drop; got 'skip'\."):
        UCCSketch.from_frame(small(few()), **ROLES, missing="skip")  # type: ignore[arg-type]
    refused(
        "`frame` must be a data frame that narwhals supports; got list.",
        UCCSketch.from_frame,
        [1],
        **ROLES,
        error=TypeError,
    )


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, np.uint64])
def test_numbers_of_any_kind_are_taken_exactly(small: Make, kind: Any) -> None:
    data = {name: column.astype(kind) for name, column in few(y=[1, 2, 9]).items()}
    assert UCCSketch.from_frame(small(data), **ROLES) == UCCSketch().update(
        ucc.Intervals.from_bounds(*(data[name] for name in ROLES.values()))
    )


def test_a_share_of_the_mean_half_width_takes_weights_and_missing_rows_into_account(
    small: Make,
) -> None:
    data = {name: np.array(column) for name, column in DATA.items() if name not in ("site", "day")}
    data["y"][33] = np.nan
    with pytest.warns(ucc.DroppedRowsWarning):
        found = UCCSketch.from_frame(
            small(data), **ROLES, weight="w", min_band="40%", missing="drop"
        )
    with pytest.warns(ucc.DroppedRowsWarning):
        exact = intervals(data, weight=True, min_band="40%", missing="drop")
    assert found.raised == exact.raised > 0
    assert found.ucc().area() == pytest.approx(ucc.UCC(exact).area(), rel=1e-12)


def test_one_group_key_is_a_value_and_a_missing_key_is_none(small: Make) -> None:
    found = UCCSketch.from_frame(small(few(site=["a", None, "a"])), **ROLES, by="site")
    assert {key: sketch.rows for key, sketch in found.items()} == {"a": 2, None: 1}


def test_column_names_of_the_inside_are_free_for_data(small: Make) -> None:
    names = ["error", "critical", "mark", "histogram", "rows", "minimum"]
    data = few()
    renamed = dict(zip(names, data.values(), strict=False)) | {
        "by_0": data["y"],
        "number": data["y"],
    }
    roles: Columns = dict(zip(ROLES, names, strict=False))
    assert UCCSketch.from_frame(small(renamed), **roles) == UCCSketch.from_frame(
        small(data), **ROLES
    )


@pytest.mark.parametrize("band", [0.635, 0.907, 0.956])
def test_a_column_of_one_number_is_divided_by_as_any_other(band: float) -> None:
    import polars as pl

    y = np.append(np.nextafter(band, 9.0), np.abs(np.random.default_rng(3).normal(size=99)))
    bounds = {"y_pred": pl.lit(0.0), "lower": pl.lit(-5.0), "upper": pl.lit(band)}
    whole = ucc.Intervals.from_bounds(y, 0 * y, 0 * y - 5, 0 * y + band)
    lazy = pl.LazyFrame({"y_true": y}).with_columns(**bounds)
    for frame in (lazy, lazy.collect()):
        assert UCCSketch.from_frame(frame) == UCCSketch().update(whole)
    raised = lazy.with_columns(upper=pl.lit(0.01)).collect()
    assert UCCSketch.from_frame(raised, min_band=band).ucc().at(1.0).miss_rate == float(
        np.mean(y > band)
    )


def test_files_are_streamed_without_being_loaded(tmp_path: Path) -> None:
    half = N // 2
    for i, part in enumerate((slice(half), slice(half, None))):
        pl.DataFrame({name: column[part] for name, column in DATA.items()}).write_parquet(
            tmp_path / f"{i}.parquet"
        )
    assert UCCSketch.from_frame(pl.scan_parquet(tmp_path / "*.parquet"), **ROLES) == memory(DATA)
    duckdb = pytest.importorskip("duckdb")
    pl.concat([pl.read_parquet(tmp_path / f"{i}.parquet") for i in range(2)]).write_csv(
        tmp_path / "all.csv"
    )
    with duckdb.connect(os.fspath(tmp_path / "store.db")) as store:
        store.sql(f"CREATE TABLE predictions AS FROM '{tmp_path}/*.parquet'")
        for source in ("predictions", f"read_csv('{tmp_path}/all.csv')"):
            assert UCCSketch.from_frame(store.sql(f"FROM {source}"), **ROLES) == memory(DATA)
