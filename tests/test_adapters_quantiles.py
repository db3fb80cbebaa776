"""Quantile arrays in the style of GluonTS and darts, and predictions of quantile models."""

from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same, diabetes
from uccurve.adapters import from_quantiles, levels_from_quantiles

TRUE = [3.0, 5.0]
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
ARRAY = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.5], [4.0, 5.5], [9.0, 6.0]])  # quantiles first, as GluonTS has them


@pytest.mark.parametrize(
    ("quantiles", "options"),
    [
        (ARRAY, {"levels": LEVELS}),
        (ARRAY, {"levels": ["0.05", "0.25", "0.5", "0.75", "0.95"]}),  # forecast_keys of a GluonTS QuantileForecast
        (ARRAY.T, {"levels": [f"sales_q{q:.2f}" for q in LEVELS], "axis": -1}),  # components of a darts series
        (ARRAY[::-1], {"levels": LEVELS[::-1]}),
        (dict(zip(LEVELS, ARRAY, strict=True)), {}),
        ({f"{q}": row.tolist() for q, row in zip(LEVELS, ARRAY, strict=True)}, {}),
    ],
)
def test_all_forms_give_the_same_intervals(quantiles: Any, options: dict[str, Any]) -> None:
    found = levels_from_quantiles(TRUE, quantiles, **options)
    assert list(found) == [0.5, 0.9]
    assert_same(found[0.5], TRUE, ARRAY[2], ARRAY[1], ARRAY[3])
    assert_same(found[0.9], TRUE, ARRAY[2], ARRAY[0], ARRAY[4])
    assert_same(from_quantiles(TRUE, quantiles, level=0.9, **options), TRUE, ARRAY[2], ARRAY[0], ARRAY[4])
    assert ucc.UCC.from_levels(found).levels == (0.5, 0.9)


def test_levels_are_those_a_person_would_write() -> None:
    names = [0.005, 0.025, 0.1, 1 / 3, 0.5, 2 / 3, 0.9, 0.975, 0.995]
    found = levels_from_quantiles([0.0], np.arange(9.0)[:, None], levels=names)
    assert list(found) == [1 / 3, 0.8, 0.95, 0.99]


def test_several_outputs_or_series_keep_their_shape() -> None:
    cube = np.stack([ARRAY, ARRAY + 1], axis=2)
    found = from_quantiles(np.column_stack([TRUE, TRUE]), cube, levels=LEVELS, level=0.9)
    assert found.upper.tolist() == cube[4].tolist()


def test_bad_quantiles_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        ValueError, match=r"quantiles must come in pairs q and 1 - q: 0.05 has no 0.95. Given: 0.05, 0.5"
    ):
        from_quantiles(TRUE, ARRAY[:2], levels=[0.05, 0.5])
    with pytest.raises(ValueError, match="at least one pair q and 1 - q; there is the median only"):
        from_quantiles(TRUE, ARRAY[:1], levels=[0.5])
    with pytest.raises(ValueError, match=r"quantiles must not repeat; got 0.5, 0.5"):
        from_quantiles(TRUE, ARRAY[:2], levels=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"'mean' is none. Hint: leave a mean out, or pass it as y_pred"):
        from_quantiles(TRUE, ARRAY[:3], levels=["0.1", "mean", "0.9"])
    with pytest.raises(ValueError, match="`levels` must lie between 0 and 1, both excluded; got 5"):
        from_quantiles(TRUE, ARRAY[:2], levels=[5, 95])
    with pytest.raises(ValueError, match=r"must have 3 entries along axis 0.*its shape is \(5, 2\)"):
        from_quantiles(TRUE, ARRAY, levels=[0.1, 0.5, 0.9])
    with pytest.raises(ValueError, match="`levels` must name the quantiles of an array"):
        from_quantiles(TRUE, ARRAY)
    with pytest.raises(ValueError, match="`levels` go with an array"):
        from_quantiles(TRUE, {0.1: TRUE, 0.9: TRUE}, levels=[0.1, 0.9])
    with pytest.raises(ValueError, match="`y_pred` must be given: there is no median"):
        from_quantiles(TRUE, ARRAY[[0, 4]], levels=[0.1, 0.9])
    with pytest.raises(ValueError, match=r"`level` must be one of 0.5, 0.9. Hint: level=0.9"):
        from_quantiles(TRUE, ARRAY, levels=LEVELS)


def test_crossing_quantiles_are_counted() -> None:
    sentence = r"`quantiles` must not cross from one level to the next: 2 of 2 rows do, first row 0 \(9.0 > 2.0\)"
    with pytest.raises(ValueError, match=sentence):
        from_quantiles(TRUE, ARRAY[[4, 2, 0]], levels=[0.1, 0.5, 0.9])
    crossing = ARRAY.copy()
    crossing[3, 0] = 9.5  # above the 0.95 quantile
    with pytest.raises(ValueError, match=r"1 of 2 rows does, first row 0 \(9.5 > 9.0\)"):
        levels_from_quantiles(TRUE, crossing, levels=LEVELS)
    with pytest.raises(ValueError, match="nested in their upper bounds: 1 of 2 rows is not, first row 0"):
        ucc.UCC.from_levels(levels_from_quantiles(TRUE, crossing, levels=LEVELS, y_pred=ARRAY[2]))


def test_predictions_of_quantile_models_come_by_their_quantile() -> None:
    pytest.importorskip("sklearn")
    from sklearn.ensemble import GradientBoostingRegressor

    X, X_new, y, y_new = diabetes()
    base = {"loss": "quantile", "n_estimators": 5}
    models = {q: GradientBoostingRegressor(alpha=q, **base).fit(X, y) for q in (0.05, 0.5, 0.95)}
    lower, y_pred, upper = (model.predict(X_new) for model in models.values())
    found = from_quantiles(y_new, {q: model.predict(X_new) for q, model in models.items()})
    assert_same(found, y_new, y_pred, lower, upper)


def test_one_xgboost_model_brings_all_its_quantiles() -> None:
    xgboost = pytest.importorskip("xgboost")
    X, X_new, y, y_new = diabetes()
    common = {"objective": "reg:quantileerror", "n_estimators": 20, "max_depth": 2, "n_jobs": 1}
    model = xgboost.XGBRegressor(quantile_alpha=[0.1, 0.5, 0.9], **common).fit(X, y)
    columns = np.sort(model.predict(X_new).astype(np.float64), axis=1)
    found = from_quantiles(y_new, model.predict(X_new), levels=[0.1, 0.5, 0.9], axis=-1, min_band=0.0)
    crossed = (model.predict(X_new) != columns).any(axis=1)
    assert found.upper[~crossed].tolist() == columns[~crossed, 2].tolist()
    assert found.lower[~crossed].tolist() == columns[~crossed, 0].tolist()
    assert found.y_pred.tolist() == model.predict(X_new)[:, 1].astype(np.float64).tolist()
