"""The compiled loop: the bins of Polars' own grouping, from batches; `test_engines` holds it to the rows in memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from uccurve.sketch import _batches, _engines
from uccurve.sketch._bins import Splitting, bins, last
from uccurve.sketch.sketch import UCCSketch

pl = pytest.importorskip("polars")
pytest.importorskip("numba")
N = 5_000
COLUMNS = {name: (f"p_{name}", f"lo_{name}", f"hi_{name}") for name in "abc"}
MODELS: dict[str, Any] = COLUMNS | {"c": ("p_c", {0.5: ("in_c", "out_c"), 0.9: ("lo_c", "hi_c")})}


def frame() -> Any:
    """Three models with heavy tails, ties, zero bands and gaps; one of two levels."""
    rng = np.random.default_rng(41)
    spread, center = np.exp(rng.normal(size=N)), 10 * rng.normal(size=N)
    data = {"y_true": center + spread * rng.standard_t(3, size=N), "w": rng.choice([0.0, 0.5, 2.0], N)}
    for name, columns in COLUMNS.items():
        p = center + 0.2 * rng.normal(size=N)
        below, above = (spread * np.exp(0.6 * rng.normal(size=N)) for _ in range(2))
        below[:5] = 0
        data |= dict(zip(columns, (p, p - below, p + above), strict=True))
        data |= {f"in_{name}": p - below / 3, f"out_{name}": p + above / 3}
    data["y_true"][100:200] = data["hi_a"][100:200]
    return pl.DataFrame(
        data | {"day": np.arange(N) // 100, "gone": np.where(np.arange(N) % 50, data["y_true"], np.nan)}
    )


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each batch that the loop takes; few are enough for it."""
    taken, add = [], _batches._add

    def counted(scan: Any, batch: Any, *others: Any) -> None:
        taken.append(len(batch))
        add(scan, batch, *others)

    monkeypatch.setattr(_batches, "_add", counted)
    monkeypatch.setattr(_engines, "worth", lambda scan: min(_batches.worth(scan), 1))
    monkeypatch.setattr(_batches, "BATCH", 3_000)
    return taken


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "blocks": {"block": "day"},
    "weights": {"weight": "w"},
    "floor": {"min_band": "10%", "resolution": 64},
    "missing": {"y_true": "gone", "missing": "drop"},
}


@pytest.mark.filterwarnings("ignore::uccurve.DroppedRowsWarning")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_an_assessment_is_that_of_the_engine_s_own_grouping(
    eager: list[int], monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    models = COLUMNS if "min_band" in options else MODELS  # levels may cross where bands are raised
    found = ucc.assess_frame(frame().lazy(), models, coverage=0.8, **options)
    assert sum(eager) == N
    monkeypatch.setattr(_engines, "worth", lambda _: 0)
    exact = ucc.assess_frame(frame().lazy(), models, coverage=0.8, **options)
    assert sum(eager) == N
    assert found.verdict.text == exact.verdict.text
    for row, same in zip(found.to_dict()["models"].values(), exact.to_dict()["models"].values(), strict=True):
        numbers = {name: value for name, value in same.items() if isinstance(value, float)}
        assert {name: row[name] for name in numbers} == pytest.approx(numbers, rel=1e-9, nan_ok=True)
    assert [one.pvalue for one in found.comparisons] == pytest.approx(
        [one.pvalue for one in exact.comparisons], rel=1e-6
    )


def test_few_rows_are_not_worth_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engines, "compiled", lambda: pytest.fail("compiled"))
    roles: dict[str, Any] = dict(zip(("y_pred", "lower", "upper"), COLUMNS["a"], strict=True))
    found = UCCSketch.from_frame(frame().lazy(), **roles)
    assert found == UCCSketch.from_frame(frame().to_arrow(), **roles)


def test_without_numba_polars_groups_the_rows(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_batches, "find_spec", lambda _: None)
    assert ucc.assess_frame(frame().lazy(), COLUMNS, coverage=0.9)["a"].n == N
    assert not eager


def test_reading_ends_at_the_first_rows_that_are_refused(eager: list[int]) -> None:
    bad = frame().with_columns(lo_b=pl.when(pl.col("day") == 0).then(pl.col("hi_b") + 1).otherwise(pl.col("lo_b")))
    with pytest.raises(ValueError, match=r"^b: `lower` must not exceed `upper`: 100 of 5000 rows do\."):
        ucc.assess_frame(bad.lazy(), COLUMNS, coverage=0.9)
    assert 0 < sum(eager) < N


@pytest.mark.parametrize("resolution", [16, 128])
def test_a_bin_is_read_off_the_bits_of_its_mark(resolution: int) -> None:
    rng = np.random.default_rng(5)
    numbers = np.append(
        np.exp(60 * rng.normal(size=3_000)), [0.0, 5e-324, 1e-300, 0.5, 1.0, np.nextafter(1, 2), np.inf]
    )
    places = np.array([_batches._place(number, Splitting.at(resolution)) for number in numbers]) - last(resolution) - 1
    np.testing.assert_array_equal(places, bins(numbers, resolution))


def test_threads_that_fail_say_so(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(_engines, "compiled", lambda: broken)
    with pytest.raises(MemoryError, match="no room"):
        ucc.assess_frame(frame().lazy(), COLUMNS, coverage=0.9)
    assert 0 < sum(eager) < N


def test_numba_that_fails_to_load_is_done_without(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    _batches.compiled.cache_clear()
    assert ucc.assess_frame(frame().lazy(), COLUMNS, coverage=0.9)["a"].n == N
    _batches.compiled.cache_clear()
    assert not eager


def test_polars_without_batches_groups_the_rows(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl, "__version__", "1.9.0")
    assert ucc.assess_frame(frame().lazy(), COLUMNS, coverage=0.9)["a"].n == N
    assert not eager


ROLES: dict[str, Any] = {"y_true": "y", "y_pred": "p", "lower": "lo", "upper": "hi"}
SMALL = {"y": [1.0, 2.0, 3.0], "p": [0.0] * 3, "lo": [-1.0] * 3, "hi": [1.0] * 3}
EDGES = {
    "a band of minus zero": {"hi": [-0.0, 1.0, 1.0]},
    "an error equal to a tiny band": {"y": [1e-300, 2e-300, 3e-300], "lo": [-1e-300] * 3, "hi": [1e-300] * 3},
}


@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_rows_at_the_edge_are_binned_as_in_memory(eager: list[int], changes: dict[str, Any]) -> None:
    data = SMALL | changes
    whole = ucc.Intervals.from_bounds(*(np.array(data[name]) for name in ("y", "p", "lo", "hi")))
    assert UCCSketch.from_frame(pl.LazyFrame(data), **ROLES) == UCCSketch().update(whole)
    assert sum(eager) == 3


def test_a_ratio_that_overflows_is_refused(eager: list[int]) -> None:
    data = SMALL | {"y": [1e150, 2.0, 3.0], "hi": [1e-200, 1.0, 1.0]}
    with pytest.raises(ValueError, match="must stay within float64"):
        UCCSketch.from_frame(pl.LazyFrame(data), **ROLES)
    assert sum(eager) == 3


def test_an_integer_that_does_not_fit_may_be_in_a_row_that_is_dropped(eager: list[int]) -> None:
    data = SMALL | {"y": [2**53 + 1, 2, 3], "lo": [np.nan, -1.0, -1.0]}
    with pytest.warns(ucc.DroppedRowsWarning, match="^dropped 1 of 3 rows"):
        assert UCCSketch.from_frame(pl.LazyFrame(data), **ROLES, missing="drop").rows == 2
    assert sum(eager) == 3
