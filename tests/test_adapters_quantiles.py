"""Quantile arrays in the style of GluonTS and darts, and predictions of quantile models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import levels_from_quantiles

TRUE = [3.0, 5.0]
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
ARRAY = np.array(
    [[0.0, 1.0], [1.0, 2.0], [2.0, 3.5], [4.0, 5.5], [9.0, 6.0]]
)  # quantiles first, as GluonTS has them


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (LEVELS, ARRAY),
        (
            ["0.05", "0.25", "0.5", "0.75", "0.95"],
            ARRAY,
        ),  # forecast_keys of a GluonTS QuantileForecast
        ([f"sales_q{q:.2f}" for q in LEVELS], ARRAY),  # components of a darts series
        (LEVELS[::-1], ARRAY[::-1]),
        (LEVELS, ARRAY.tolist()),
    ],
)
def test_all_names_give_the_same_intervals(names: Any, values: Any) -> None:
    found = levels_from_quantiles(TRUE, dict(zip(names, values, strict=True)))
    assert list(found) == [0.5, 0.9]
    assert_same(found[0.5], TRUE, ARRAY[2], ARRAY[1], ARRAY[3])
    assert_same(found[0.9], TRUE, ARRAY[2], ARRAY[0], ARRAY[4])
    assert ucc.UCC.from_levels(found).levels == (0.5, 0.9)


def named(levels: Sequence[Any], values: Any = ARRAY) -> dict[Any, Any]:
    """The first rows by these levels."""
    return dict(zip(levels, values, strict=False))


def test_levels_are_those_a_person_would_write() -> None:
    names = [0.005, 0.025, 0.1, 1 / 3, 0.5, 2 / 3, 0.9, 0.975, 0.995]
    found = levels_from_quantiles([0.0], named(names, np.arange(9.0)[:, None]))
    assert list(found) == [1 / 3, 0.8, 0.95, 0.99]


def test_several_outputs_or_series_keep_their_shape() -> None:
    cube = np.stack([ARRAY, ARRAY + 1], axis=2)
    found = levels_from_quantiles(np.column_stack([TRUE, TRUE]), named(LEVELS, cube))[0.9]
    assert found.upper.tolist() == cube[4].tolist()


def test_bad_quantiles_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        ValueError,
        match=r"quantiles must come in pairs q and 1 - q: 0.05 has no 0.95. Given: 0.05, 0.5",
    ):
        levels_from_quantiles(TRUE, named([0.05, 0.5]))
    with pytest.raises(ValueError, match="at least one pair q and 1 - q; there is the median only"):
        levels_from_quantiles(TRUE, named([0.5]))
    with pytest.raises(ValueError, match=r"quantiles must not repeat; got 0.5, q50"):
        levels_from_quantiles(TRUE, named([0.5, "q50"]))
    with pytest.raises(
        ValueError, match=r"'mean' is none. Hint: leave a mean out, or pass it as y_pred"
    ):
        levels_from_quantiles(TRUE, named(["0.1", "mean", "0.9"]))
    with pytest.raises(
        ValueError, match="`quantiles` must lie between 0 and 1, both excluded; got 5"
    ):
        levels_from_quantiles(TRUE, named([5, 95]))
    with pytest.raises(
        TypeError, match="`quantiles` must map each quantile level to its values; got ndarray"
    ):
        levels_from_quantiles(TRUE, ARRAY)
    with pytest.raises(ValueError, match="`y_pred` must be given: there is no median"):
        levels_from_quantiles(TRUE, named([0.1, 0.9], ARRAY[[0, 4]]))


def test_crossing_quantiles_are_counted() -> None:
    sentence = r"`quantiles` must not cross from one level to the next: 2 of 2 rows do, first row 0 \(9.0 > 2.0\)"
    with pytest.raises(ValueError, match=sentence):
        levels_from_quantiles(TRUE, named([0.1, 0.5, 0.9], ARRAY[[4, 2, 0]]))
    crossing = ARRAY.copy()
    crossing[3, 0] = 9.5  # above the 0.95 quantile
    with pytest.raises(ValueError, match=r"1 of 2 rows does, first row 0 \(9.5 > 9.0\)"):
        levels_from_quantiles(TRUE, named(LEVELS, crossing))
    with pytest.raises(
        ValueError, match="nested in their upper bounds: 1 of 2 rows is not, first row 0"
    ):
        ucc.UCC.from_levels(levels_from_quantiles(TRUE, named(LEVELS, crossing), y_pred=ARRAY[2]))


def test_predictions_of_quantile_models_come_by_their_quantile() -> None:
    pytest.importorskip("sklearn")
    from sklearn.ensemble import GradientBoostingRegressor

    X, X_new, y, y_new = diabetes()
    base = {"loss": "quantile", "n_estimators": 5}
    models = {q: GradientBoostingRegressor(alpha=q, **base).fit(X, y) for q in (0.05, 0.5, 0.95)}
    lower, y_pred, upper = (model.predict(X_new) for model in models.values())
    found = levels_from_quantiles(y_new, {q: model.predict(X_new) for q, model in models.items()})
    assert_same(found[0.9], y_new, y_pred, lower, upper)


def test_one_xgboost_model_brings_all_its_quantiles() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, X_new, y, y_new = diabetes()
    common = {"objective": "reg:quantileerror", "n_estimators": 20, "max_depth": 2, "n_jobs": 1}
    model = xgboost.XGBRegressor(quantile_alpha=[0.1, 0.5, 0.9], **common).fit(X, y)
    columns = np.sort(model.predict(X_new).astype(np.float64), axis=1)
    found = levels_from_quantiles(
        y_new, named([0.1, 0.5, 0.9], model.predict(X_new).T), min_band=0.0
    )[0.8]
    crossed = (model.predict(X_new) != columns).any(axis=1)
    assert found.upper[~crossed].tolist() == columns[~crossed, 2].tolist()
    assert found.lower[~crossed].tolist() == columns[~crossed, 0].tolist()
    assert found.y_pred.tolist() == model.predict(X_new)[:, 1].astype(np.float64).tolist()


def test_quantiles_of_one_side_are_levels_of_that_side() -> None:
    y = [1.0, 2.0, 3.0]
    given = {0.1: [0.0] * 3, 0.5: [1.0] * 3, 0.8: [2.0] * 3, 0.95: [4.0] * 3}
    upper = levels_from_quantiles(y, given, side="upper")
    assert {level: iv.upper.tolist()[0] for level, iv in upper.items()} == {0.8: 2.0, 0.95: 4.0}
    assert {iv.side for iv in upper.values()} == {"upper"}
    (lower,) = levels_from_quantiles(y, given, side="lower").values()
    assert (lower.level, lower.side, lower.lower.tolist()) == (0.9, "lower", [0.0] * 3)
    (alone,) = levels_from_quantiles(y, {0.95: given[0.95]}, side="upper").values()
    assert (alone.level, alone.has_prediction) == (0.95, False)
    with pytest.raises(ValueError, match="several quantiles of one side are measured from it"):
        levels_from_quantiles(y, {0.8: given[0.8], 0.95: given[0.95]}, side="upper")
    with pytest.raises(ValueError, match=r"needs a quantile below the median; got 0\.95"):
        levels_from_quantiles(y, {0.95: given[0.95]}, side="lower")
    with pytest.raises(ValueError, match=r'judge one side by side="upper" or side="lower"\.$'):
        levels_from_quantiles(y, {0.5: given[0.5], 0.95: given[0.95]})
