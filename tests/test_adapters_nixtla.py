"""Frames in Nixtla's form, of many models and levels, come through from any library that narwhals supports."""

from typing import Any

import pytest

import uccurve as ucc
from adapted import assert_same
from uccurve.adapters import models_from_frame

COLUMNS = {
    "unique_id": ["a", "a", "b"],
    "ds": [1, 2, 1],
    "y": [10.0, 12.0, 7.0],
    "AutoARIMA": [9.0, 11.0, 8.0],
    "AutoARIMA-lo-90": [5.0, 8.0, 6.5],
    "AutoARIMA-lo-50": [8.0, 10.0, 7.5],
    "AutoARIMA-hi-50": [10.0, 13.0, 9.0],
    "AutoARIMA-hi-90": [14.0, 15.0, 9.5],
    "N-HiTS-lo-90.0": [6.0, 9.0, 5.0],
    "N-HiTS-median": [9.5, 12.5, 6.0],
    "N-HiTS-hi-90.0": [15.0, 16.0, 9.0],
    "Naive": [9.0, 10.0, 7.0],
}


@pytest.fixture(params=["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
def frame(request: pytest.FixtureRequest) -> Any:
    library, _, lazy = request.param.partition("-")
    module = pytest.importorskip(library)
    if library == "duckdb":
        pandas = pytest.importorskip("pandas")
        return module.from_df(pandas.DataFrame(COLUMNS))
    made = module.table(COLUMNS) if library == "pyarrow" else module.DataFrame(COLUMNS)
    return made.lazy() if lazy else made


def test_every_model_comes_by_name_and_level(frame: Any) -> None:
    found: Any = models_from_frame(frame)
    assert list(found) == ["AutoARIMA", "N-HiTS"]
    assert list(found["AutoARIMA"]) == [0.5, 0.9]
    true = COLUMNS["y"]
    for level in (50, 90):
        columns = (COLUMNS[f"AutoARIMA{end}"] for end in ("", f"-lo-{level}", f"-hi-{level}"))
        assert_same(found["AutoARIMA"][level / 100], true, *columns)
    assert_same(
        found["N-HiTS"],
        true,
        *(COLUMNS[f"N-HiTS-{end}"] for end in ("median", "lo-90.0", "hi-90.0")),
    )
    assert ucc.UCC.from_levels(found["AutoARIMA"]).levels == (0.5, 0.9)


def pandas_frame(**changes: Any) -> Any:
    pandas = pytest.importorskip("pandas")
    data = {name: values for name, values in {**COLUMNS, **changes}.items() if values is not None}
    return pandas.DataFrame(data)


def test_levels_of_other_sizes_are_read_as_written() -> None:
    frame = pandas_frame(**{"AutoARIMA-lo-99.5": [0.0] * 3, "AutoARIMA-hi-99.5": [20.0] * 3})
    found: Any = models_from_frame(frame)
    assert list(found["AutoARIMA"]) == [0.5, 0.9, 0.995]


def test_weights_and_floors_go_through() -> None:
    found: Any = models_from_frame(pandas_frame(w=[1, 0, 1]), weight="w", min_band=2.0)
    assert found["AutoARIMA"][0.9].weight.tolist() == [0.5, 0.0, 0.5]
    assert found["AutoARIMA"][0.9].raised == 2


def test_a_frame_without_the_columns_says_which_it_has() -> None:
    with pytest.raises(
        ValueError, match=r"AutoARIMA must have both bounds: `AutoARIMA-lo-90` has no upper bound"
    ):
        models_from_frame(pandas_frame(**{"AutoARIMA-hi-90": None}))
    with pytest.raises(
        ValueError,
        match="AutoARIMA: a model of several levels must have a prediction beside its bounds",
    ):
        models_from_frame(pandas_frame(AutoARIMA=None))
    with pytest.raises(ValueError, match=r"got 'target'\. Its columns are .*unique_id, ds, y"):
        models_from_frame(pandas_frame(), y_true="target")
