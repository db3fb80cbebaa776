"""Any data frame gives the same intervals: eager or lazy, whatever its index and column order."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import uccurve as ucc

DROP = 'Hint: pass missing="drop" to leave such rows out.'
pd, pl, pa = (
    pytest.importorskip("pandas"),
    pytest.importorskip("polars"),
    pytest.importorskip("pyarrow"),
)

DATA: dict[str, Any] = {
    "hi": [3.0, 4.0, 5.5],
    "y": [3.0, 2.0, -9.0],
    "lo": [0.5, 1.0, 3.0],
    "note": ["a", "b", "c"],
    "yhat": [1.0, 2.5, 5.0],
    "w": [1, 2, 5],
}
ROLES: dict[str, Any] = {"y_true": "y", "y_pred": "yhat", "lower": "lo", "upper": "hi"}

FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame,
    "pandas with a shuffled index": lambda data: pd.DataFrame(data, index=[2, 0, 1]),
    "pandas of Arrow": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
    "pandas nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "Polars": pl.DataFrame,
    "Polars lazy": pl.LazyFrame,
    "PyArrow": pa.table,
}


@pytest.fixture(params=FRAMES)
def make(request: pytest.FixtureRequest) -> Any:
    return FRAMES[request.param]


def refused(sentence: str, frame: Any, error: type[Exception] = ValueError, **options: Any) -> None:
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        ucc.Intervals.from_frame(frame, **{**ROLES, **options})


def test_every_frame_gives_the_intervals_of_its_columns(make: Any) -> None:
    iv = ucc.Intervals.from_frame(make(DATA), **ROLES, weight="w")
    plain = ucc.Intervals.from_bounds(
        DATA["y"], DATA["yhat"], DATA["lo"], DATA["hi"], weight=DATA["w"]
    )
    for name in ("y_true", "y_pred", "lower", "upper", "weight"):
        np.testing.assert_array_equal(getattr(iv, name), getattr(plain, name))


def test_columns_named_after_their_roles_need_no_names(make: Any) -> None:
    data = {"y_true": [1.0], "y_pred": [0.0], "lower": [-1.0], "upper": [2.0]}
    assert (
        repr(ucc.Intervals.from_frame(make_one(make, data)))
        == "Intervals(1 row, miss_rate 0, bandwidth 1.5)"
    )


def make_one(make: Any, data: dict[str, list[float]]) -> Any:
    """One row for every kind of frame, also those built with three index values."""
    three = make({name: column * 3 for name, column in data.items()})
    return three[:1] if hasattr(three, "iloc") else three.slice(0, 1)


def test_one_column_may_serve_two_roles(make: Any) -> None:
    iv = ucc.Intervals.from_frame(make(DATA), **{**ROLES, "upper": "yhat"})
    assert iv.upper_band.tolist() == [0.0, 0.0, 0.0]


def test_whole_numbers_and_options_pass_through(make: Any) -> None:
    data = {"y": [1, 2, 3], "yhat": [1, 5, 3], "lo": [0, 1, 2], "hi": [2, 4, 9]}
    iv = ucc.Intervals.from_frame(make(data), **ROLES, min_band=0.5)
    assert (iv.upper_band.tolist(), iv.raised) == ([1.0, 0.5, 6.0], 1)


def test_nulls_are_refused_or_dropped(make: Any) -> None:
    frame = make({**DATA, "lo": [0.5, None, 3.0]})
    sentence = f"`lower` must be finite: 1 of 3 rows is not, first row 1 (nan). {DROP}"
    refused(sentence, frame)
    with pytest.warns(ucc.DroppedRowsWarning) as caught:
        iv = ucc.Intervals.from_frame(frame, **ROLES, missing="drop")
    assert (iv.y_true.tolist(), iv.dropped) == ([3.0, -9.0], 1)
    assert caught[0].filename == __file__


def test_null_whole_numbers_are_refused(make: Any) -> None:
    frame = make({**DATA, "w": [1, None, 5]})
    sentence = f"`weight` must be finite: 1 of 3 rows is not, first row 1 (nan). {DROP}"
    refused(sentence, frame, weight="w")


def test_a_missing_column_is_named_with_what_there_is(make: Any) -> None:
    columns = "hi, y, lo, note, yhat, w"
    refused(
        f"`upper` must name a column of `frame`; got 'bound'. Its columns are {columns}.",
        make(DATA),
        upper="bound",
    )
    refused(
        f"`y_pred` must name a column of `frame`; got 'Yhat'. Its columns are {columns}. Did you mean 'yhat'?",
        make(DATA),
        y_pred="Yhat",
    )
    refused(
        f"`weight` must name a column of `frame`; got 'weight'. Its columns are {columns}.",
        make(DATA),
        weight="weight",
    )


def test_a_column_of_text_is_refused(make: Any) -> None:
    with pytest.raises(
        TypeError,
        match=r"^`lower` must hold numbers; (it|row 0) holds text\. Hint: convert it to float",
    ):
        ucc.Intervals.from_frame(make(DATA), **{**ROLES, "lower": "note"})


def test_an_empty_frame_is_refused() -> None:
    sentence = (
        "`y_true` must hold at least one row: its shape is (0,). Hint: check earlier filters."
    )
    for frame in (
        pd.DataFrame(DATA)[:0],
        pl.DataFrame(DATA)[:0],
        pl.LazyFrame(DATA).head(0),
        pa.table(DATA)[:0],
    ):
        refused(sentence, frame)


@pytest.mark.parametrize("frame", [[1, 2], {"y": [1.0]}, np.zeros((3, 4)), None, "data.csv"])
def test_what_is_no_data_frame_is_refused(frame: Any) -> None:
    sentence = f"`frame` must be a data frame that narwhals supports; got {type(frame).__name__}."
    refused(sentence, frame, TypeError)


def test_a_series_is_no_data_frame() -> None:
    refused(
        "`frame` must be a data frame that narwhals supports; got Series.",
        pl.Series([1.0]),
        TypeError,
    )


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([[1.0, 1.0, 0.0, 2.0, 5.0]], columns=["y", "yhat", "lo", "hi", "y"])
    refused("`frame` must not have two columns of one name. Hint: rename or drop one.", frame)
