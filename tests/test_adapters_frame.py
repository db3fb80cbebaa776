"""Models are found in any data frame by the names of its columns, as quantiles, samples or rows of a forecast hub."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import uccurve as ucc
from adapted import assert_same
from uccurve.adapters import SortedQuantilesWarning, levels_from_quantiles, models_from_frame

RNG = np.random.default_rng(0)
ROWS = 40
TRUE = RNG.normal(size=ROWS)
CENTRE = RNG.normal(size=ROWS) / 4
QUANTILES = {
    0.05: CENTRE - 2,
    0.25: CENTRE - 0.5,
    0.5: CENTRE,
    0.75: CENTRE + 0.75,
    0.95: CENTRE + 2.5,
}


@pytest.fixture(params=["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
def made(request: pytest.FixtureRequest) -> Any:
    """A function from columns to a data frame of some library."""
    library, _, lazy = request.param.partition("-")
    module = pytest.importorskip(library)

    def make(columns: dict[str, Any]) -> Any:
        if library == "duckdb":
            return module.from_df(pytest.importorskip("pandas").DataFrame(columns))
        frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
        return frame.lazy() if lazy else frame

    return make


def pandas_frame(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def hub(*models: str, **changes: Any) -> dict[str, Any]:
    """One row per quantile, as forecast hubs have them, the models one after the other."""
    shift = {model: i / 10 for i, model in enumerate(models)}
    rows = [
        (
            model,
            f"series {i // 10}",
            i % 10,
            "quantile",
            str(level),
            values[i] + shift[model],
            TRUE[i],
        )
        for model in models
        for level, values in QUANTILES.items()
        for i in range(ROWS)
    ]
    names = (
        "model_id",
        "location",
        "horizon",
        "output_type",
        "output_type_id",
        "value",
        "observation",
    )
    return {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    } | changes


def assert_levels(found: Any, shift: float = 0.0) -> None:
    assert list(found) == [0.5, 0.9]
    for level, low, high in ((0.5, 0.25, 0.75), (0.9, 0.05, 0.95)):
        assert_same(found[level], TRUE, *(QUANTILES[q] + shift for q in (0.5, low, high)))


@pytest.mark.parametrize(
    "name", ["{}", "q{}", "p{:.0%}", "quantile_{}", "sales_q{:.3f}", "NHITS_ql{}"]
)
def test_quantile_columns_are_one_model_with_levels(name: str) -> None:
    columns = {name.format(level).rstrip("%"): values for level, values in QUANTILES.items()}
    (found,) = models_from_frame(pandas_frame({"y": TRUE, **columns})).values()
    assert_levels(found)
    assert ucc.assess({"m": found}, coverage=0.9).verdict.model == "m"


def test_rows_of_a_hub_are_put_together_by_their_keys(made: Any) -> None:
    found = models_from_frame(made(hub("A", "B")))
    assert list(found) == ["A", "B"]
    assert_levels(found["A"])
    assert_levels(found["B"], 0.1)
    assert {row.name for row in ucc.assess(found, coverage=0.9).rows} == {"A", "B"}


def test_the_order_of_a_hub_s_rows_does_not_matter(made: Any) -> None:
    order = np.random.default_rng(1).permutation(5 * ROWS)
    shuffled = {name: [values[i] for i in order] for name, values in hub("A").items()}
    found = models_from_frame(made(shuffled))["A"]
    assert isinstance(found, dict)
    assert_array_equal(np.sort(found[0.9].upper), np.sort(QUANTILES[0.95]))
    assert_array_equal(found[0.9].upper - found[0.9].y_pred, 2.5 + 0 * found[0.9].y_pred)


def test_samples_are_central_intervals_of_many_levels(made: Any) -> None:
    draws = RNG.normal(size=(99, ROWS))
    found = models_from_frame(
        made({"y": TRUE, **{f"sample_{i}": draw for i, draw in enumerate(draws)}})
    )["model"]
    assert isinstance(found, dict)
    assert_allclose(found[0.9].upper, np.quantile(draws, 0.95, axis=0))
    assert_allclose(found[0.5].lower, np.quantile(draws, 0.25, axis=0))
    assert_allclose(found[0.5].y_pred, np.median(draws, axis=0))
    assert ucc.assess(found).rows[0].n == ROWS


def test_one_level_is_plain_intervals_and_weights_are_a_column() -> None:
    columns = {
        "actual": TRUE,
        "fit": CENTRE,
        "lwr": CENTRE - 1,
        "upr": CENTRE + 2,
        "w": np.arange(ROWS),
    }
    found = models_from_frame(pandas_frame(columns), weight="w", min_band=1.5)["model"]
    assert isinstance(found, ucc.Intervals)
    assert_allclose(found.weight, np.arange(ROWS) / np.arange(ROWS).sum())
    assert found.raised == ROWS


def test_crossing_quantiles_are_refused_or_sorted_and_counted() -> None:
    crossing = {level: values.copy() for level, values in QUANTILES.items()}
    for level in (0.25, 0.5):  # the median of rows 3 and 7 lies below the first quartile
        crossing[level][[3, 7]] = QUANTILES[0.75 - level][[3, 7]]
    frame = pandas_frame({"y": TRUE, **{f"q{level}": values for level, values in crossing.items()}})
    sentence = r"^model: `quantiles` must not cross .*: 2 of 40 rows do, first row 3 .* pass crossing=\"sort\""
    with pytest.raises(ValueError, match=sentence):
        models_from_frame(frame)
    with pytest.warns(
        SortedQuantilesWarning, match="model: sorted crossing quantiles in 2 of 40 rows"
    ):
        assert_levels(models_from_frame(frame, crossing="sort")["model"])
    with pytest.warns(SortedQuantilesWarning, match="in 2 of 40 rows"):
        assert_levels(levels_from_quantiles(TRUE, crossing, crossing="sort"))
    with pytest.raises(
        ValueError, match=r"`crossing` must be one of raise, sort; got 'srt'\. Did you mean 'sort'"
    ):
        models_from_frame(frame, crossing="srt")  # type: ignore[arg-type]


def test_a_prediction_that_is_no_quantile_is_not_sorted() -> None:
    frame = pandas_frame(
        {"y": [1.0, 2.0], "pred": [5.0, 1.5], "q10": [4.0, 3.0], "q90": [6.0, 1.0]}
    )
    with pytest.warns(SortedQuantilesWarning, match="in 1 of 2 rows"):
        found = models_from_frame(frame, crossing="sort")["model"]
    assert isinstance(found, ucc.Intervals)
    assert found.y_pred.tolist() == [5.0, 1.5]
    assert found.lower.tolist() == [4.0, 1.0]


def test_rows_of_a_hub_that_are_no_quantiles_are_left_out() -> None:
    with_means = {name: [*values, values[0]] for name, values in hub("A").items()}
    with_means["output_type"][-1], with_means["output_type_id"][-1] = "mean", None
    assert_levels(models_from_frame(pandas_frame(with_means))["A"])  # a mean is no loss
    with_means["output_type"][-1], with_means["output_type_id"][-1] = "cdf", "3"
    with pytest.warns(
        ucc.DroppedRowsWarning, match="dropped 1 of 201 rows: their output_type is not quantile"
    ):
        assert_levels(models_from_frame(pandas_frame(with_means))["A"])


def test_a_forecast_that_lacks_a_quantile_is_refused_or_dropped() -> None:
    short = {name: values[:-1] for name, values in hub("A").items()}
    with pytest.raises(
        ValueError, match="`upper` must be finite: 1 of 40 rows is not, first row 39"
    ):
        models_from_frame(pandas_frame(short))
    with pytest.warns(ucc.DroppedRowsWarning, match="dropped 1 of 40 rows"):
        found = models_from_frame(pandas_frame(short), missing="drop")["A"]
    assert isinstance(found, dict)
    assert [len(one) for one in found.values()] == [ROWS - 1] * 2  # one row less at every level
    assert ucc.assess(found).rows[0].n == ROWS - 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"output_type_id": ["1.5"] * 200},
            "`quantile` must lie between 0 and 1, both excluded; got 1.5",
        ),
        (
            {"output_type_id": ["low"] * 200},
            "`quantile` must be a number between 0 and 1; got 'low'",
        ),
        (
            {"output_type_id": ["0.5"] * 200},
            r"`output_type_id` must occur once in each forecast \(.*\): 200 of 200 rows are repeated, first row 0",
        ),
        (
            {"output_type": ["cdf"] * 200},
            "column output_type must be 'quantile' or 'sample' in at least one row",
        ),
        (
            {"observation": list(range(200))},
            "`observation` must be the same in all rows of a forecast: 160 of 200 rows",
        ),
        ({"horizon": list(range(200))}, "must be finite"),
    ],
)
def test_a_hub_that_cannot_be_put_together_is_refused(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        models_from_frame(pandas_frame(hub("A", **changes)))


def only(*levels: str) -> dict[str, Any]:
    """A hub with some of its quantiles."""
    rows = hub("A")
    kept = [i for i, level in enumerate(rows["output_type_id"]) if level in levels]
    return {name: [values[i] for i in kept] for name, values in rows.items()}


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            {"pred": CENTRE, "lower": CENTRE, "upper": CENTRE},
            "`frame` must have a column of observations",
        ),
        (
            {"y": TRUE, "x": TRUE},
            r"`frame` must have a prediction with its bounds, quantiles or samples .* It has y, x\.",
        ),
        (
            {"y": TRUE, "q50": CENTRE},
            "`frame` must have a prediction with its bounds, quantiles or samples",
        ),
        (
            {"y": TRUE, "q05": CENTRE, "q10": CENTRE, "q50": CENTRE, "q95": CENTRE},
            "`q10` has no upper bound",
        ),
        (
            only("0.5"),
            "A: quantiles must hold at least one pair q and 1 - q; there is the median only",
        ),
        (only("0.05", "0.5", "0.75"), "A: quantiles must come in pairs q and 1 - q: 0.05 has no"),
        (
            only("0.05", "0.25", "0.75", "0.95"),
            "A must have a median, the quantile 0.5, as its prediction",
        ),
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(columns: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        models_from_frame(pandas_frame(columns))


def test_columns_that_are_named_must_be_there() -> None:
    frame = pandas_frame({"y": TRUE, "pred": CENTRE, "lower": CENTRE - 1, "upper": CENTRE + 1})
    with pytest.raises(
        ValueError,
        match=r"`y_true` must name a column of `frame`; got 'Y'\. Its columns are y, pred",
    ):
        models_from_frame(frame, y_true="Y")
    with pytest.raises(
        ValueError, match=r"`weight` must name a column of `frame`; got 'w'\. Its columns are"
    ):
        models_from_frame(frame, weight="w")
    with pytest.raises(
        TypeError, match="`frame` must be a data frame that narwhals supports; got list"
    ):
        models_from_frame([1])  # type: ignore[arg-type]
