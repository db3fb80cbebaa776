"""Forecasting libraries that are too large to install here: frames and arrays in exactly the form they returned.

Each was run on a small panel with several levels, quantiles or samples; the names below are those of its columns.
"""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import uccurve as ucc
from adapted import assert_same
from uccurve.adapters import levels_from_posterior, levels_from_quantiles, models_from_frame

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
ROWS = 60
TRUE = RNG.normal(size=ROWS)
CENTRE = RNG.normal(size=ROWS) / 4

# The columns of each library's frame. 0 is the prediction, -80 and 80 are the bounds of the level 80%; columns without
# a number hold something else.
STATSFORECAST = (  # 2.1.1, cross_validation(level=[80, 95]); the order of columns differs between models
    "unique_id, ds, cutoff, y, AutoETS: 0, AutoETS-lo-95: -95, AutoETS-lo-80: -80, AutoETS-hi-80: 80,"
    "AutoETS-hi-95: 95, Theta: 0, Theta-lo-80: -80, Theta-hi-80: 80, Theta-lo-95: -95, Theta-hi-95: 95"
)
STATSFORECAST_97_5 = "unique_id, ds, cutoff, y, Theta: 0, Theta-lo-97.5: -97.5, Theta-hi-97.5: 97.5"
MLFORECAST = (  # 1.1.0, cross_validation(prediction_intervals=, level=[80, 95])
    "unique_id, ds, cutoff, y, lr: 0, lr-lo-95: -95, lr-lo-80: -80, lr-hi-80: 80, lr-hi-95: 95"
)
NEURALFORECAST = (  # 3.3.0, MLP with MQLoss(level=), DistributionLoss, IQLoss and MQLoss(quantiles=)
    "unique_id, ds, cutoff, MQ-median: 0, MQ-lo-95: -95, MQ-lo-80: -80, MQ-hi-80: 80, MQ-hi-95: 95,"
    "Dist: 0, Dist-median, Dist-lo-95: -95, Dist-lo-80: -80, Dist-hi-80: 80, Dist-hi-95: 95, IQ_ql0.5: 0,"
    "MQQ-lo-80.0: -80, MQQ-median: 0, MQQ-hi-80.0: 80, y"
)
AUTOGLUON = (  # timeseries 1.6.3, predict() joined with the observations
    "item_id, timestamp, mean, 0.05: -90, 0.1: -80, 0.5: 0, 0.9: 80, 0.95: 90, target"
)
DARTS = (  # 0.41.0, predict_likelihood_parameters=True, to_dataframe()
    "sales_q0.050: -90, sales_q0.100: -80, sales_q0.500: 0, sales_q0.900: 80, sales_q0.950: 90, y"
)
SKFORECAST = (  # 0.26.0, backtesting_forecaster(interval=[0.05, 0.1, 0.5, 0.9, 0.95])
    "fold, pred: 0, q_0.05: -90, q_0.1: -80, q_0.5, q_0.9: 80, q_0.95: 90, y"
)
SKFORECAST_BOUNDS = "fold, pred: 0, lower_bound: -90, upper_bound: 90, y"
PROPHET = (  # 1.5.0, predict; the parts of the forecast have bounds too
    "ds, trend, yhat_lower: -90, yhat_upper: 90, trend_lower, trend_upper, additive_terms, additive_terms_lower,"
    "additive_terms_upper, yearly, yearly_lower, yearly_upper, multiplicative_terms, multiplicative_terms_lower,"
    "multiplicative_terms_upper, yhat: 0, y"
)
CHRONOS = (  # as its documentation shows predict_df
    "item_id, timestamp, target_name, predictions: 0, 0.1: -80, 0.5: 0, 0.9: 80, y"
)
NEURALPROPHET = (  # as its documentation shows predict with quantiles=[0.05, 0.95]
    "ds, y, yhat1: 0, yhat1 5.0%: -90, yhat1 95.0%: 90, trend, season_weekly"
)


def frame(columns: str) -> Any:
    """A frame with such columns."""

    def values(name: str, held: str) -> Any:
        if name in ("y", "target"):
            return TRUE
        return CENTRE + float(held) / 100 if held else np.arange(float(ROWS))

    named = (column.strip().partition(": ") for column in columns.split(","))
    return pd.DataFrame({name: values(name, held) for name, _, held in named})


@pytest.mark.parametrize(
    ("columns", "levels"),
    [
        (STATSFORECAST, {"AutoETS": [0.8, 0.95], "Theta": [0.8, 0.95]}),
        (STATSFORECAST_97_5, {"Theta": [0.975]}),
        (MLFORECAST, {"lr": [0.8, 0.95]}),
        (NEURALFORECAST, {"MQ": [0.8, 0.95], "Dist": [0.8, 0.95], "MQQ": [0.8]}),
        (AUTOGLUON, {"model": [0.8, 0.9]}),
        (DARTS, {"sales": [0.8, 0.9]}),
        (SKFORECAST, {"model": [0.8, 0.9]}),
        (SKFORECAST_BOUNDS, {"model": [0.9]}),
        (PROPHET, {"model": [0.9]}),
        (CHRONOS, {"model": [0.8]}),
        (NEURALPROPHET, {"yhat1": [0.9]}),
    ],
)
def test_the_models_and_levels_of_a_library_s_frame_are_found(
    columns: str, levels: dict[str, Any]
) -> None:
    found = models_from_frame(frame(columns))
    assert {name: list(one) if isinstance(one, dict) else None for name, one in found.items()} == {
        name: own if len(own) > 1 else None for name, own in levels.items()
    }
    a = ucc.assess(found, coverage=0.9)
    assert {row.name: [one.level for one in row.levels] for row in a.rows} == {
        name: own if len(own) > 1 else [] for name, own in levels.items()
    }
    for name, own in levels.items():
        one = found[name]
        for level in own:
            intervals = one[level] if isinstance(one, dict) else one
            assert isinstance(intervals, ucc.Intervals)
            assert_same(
                intervals,
                TRUE,
                CENTRE,
                CENTRE - level,
                CENTRE + level,
            )


def test_a_model_that_cannot_predict_the_first_rows_takes_them_from_all_models() -> None:
    # statsforecast 2.1.1, forecast_fitted_values: SeasonalNaive has no values for the first season
    fitted = frame(
        "unique_id, ds, y, ETS: 0, ETS-lo-90: -90, ETS-hi-90: 90, Naive: 0, Naive-lo-90: -90, Naive-hi-90: 90"
    )
    fitted.loc[:6, ["Naive", "Naive-lo-90", "Naive-hi-90"]] = np.nan
    with pytest.raises(
        ValueError, match=r"^Naive: `y_pred` must be finite: 7 of 60 rows are not, first row 0"
    ):
        models_from_frame(fitted)
    with pytest.warns(ucc.DroppedRowsWarning, match="dropped 7 of 60 rows") as told:
        complete = models_from_frame(fitted, missing="drop")
    assert {str(one.message) for one in told} == {
        "dropped 7 of 60 rows: a value is missing or infinite, first in row 0"
    }
    assert [row.n for row in ucc.assess(complete, coverage=0.9).rows] == [53, 53]


def test_bootstrapped_predictions_are_samples() -> None:
    # skforecast 0.26.0, predict_bootstrapping and backtesting_forecaster(interval="bootstrapping")
    draws = CENTRE + RNG.normal(size=(150, ROWS))
    boot = pd.DataFrame(
        {
            "fold": 0,
            "pred": CENTRE,
            **{f"pred_boot_{i}": draw for i, draw in enumerate(draws)},
            "y": TRUE,
        }
    )
    found = models_from_frame(boot)["model"]
    assert isinstance(found, dict)
    expected = levels_from_posterior(TRUE, draws)
    assert list(found) == list(expected)
    assert_array_equal(found[0.9].upper, expected[0.9].upper)


def test_quantiles_may_be_named_by_numbers() -> None:
    # sktime 1.2.0, predict_quantiles(alpha=[0.05, 0.5, 0.95])["sales"]: the alphas are floats
    found = models_from_frame(
        pd.DataFrame({0.05: CENTRE - 2, 0.5: CENTRE, 0.95: CENTRE + 2, "y": TRUE})
    )["model"]
    assert_same(found, TRUE, CENTRE, CENTRE - 2, CENTRE + 2)  # type: ignore[arg-type]  # one level is Intervals
    whole = pd.DataFrame({("sales", 0.9, "lower"): CENTRE, ("sales", 0.9, "upper"): CENTRE})
    with pytest.raises(
        TypeError, match=r"it has \('sales', 0.9, 'lower'\). Hint: choose the variable"
    ):
        models_from_frame(whole)


class Forecast:
    """As gluonts 0.17.0 has it, of samples or of quantiles: one object for each series and window."""

    def __init__(self, samples: Any) -> None:
        self.samples = samples

    def quantile(self, q: float) -> Any:
        return np.sort(self.samples, axis=0)[int(np.round((len(self.samples) - 1) * q))]


def test_forecasts_of_gluonts_are_one_quantile_after_the_other() -> None:
    forecasts = [
        Forecast(CENTRE[part] + RNG.normal(size=(100, 20))) for part in np.split(np.arange(ROWS), 3)
    ]
    quantiles = {
        q: np.concatenate([f.quantile(q) for f in forecasts]) for q in (0.05, 0.25, 0.5, 0.75, 0.95)
    }
    found = levels_from_quantiles(TRUE, quantiles)
    assert_same(found[0.9], TRUE, quantiles[0.5], quantiles[0.05], quantiles[0.95])
    samples = np.concatenate([f.samples for f in forecasts], axis=1)
    assert ucc.assess(levels_from_posterior(TRUE, samples), coverage=0.9).rows[0].n == ROWS


def test_samples_of_darts_are_found_by_their_dimension() -> None:
    # darts 0.41.0, series.data_array() of a stochastic forecast
    xarray = pytest.importorskip("xarray")
    draws = CENTRE + RNG.normal(size=(99, ROWS))
    array = xarray.DataArray(draws.T[:, None, :], dims=("time", "component", "sample"))
    found = levels_from_posterior(TRUE, array[:, 0])
    assert_array_equal(found[0.9].upper, levels_from_posterior(TRUE, draws)[0.9].upper)
