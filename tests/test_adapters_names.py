"""ModelColumns are recognised by what people call them, and nothing is guessed where two could be meant."""

from fractions import Fraction
from typing import Any

import pytest

from uccurve.adapters._names import (
    Bounds,
    ModelColumns,
    key_columns,
    long_columns,
    model_columns,
    observed_column,
    told_coverage,
    told_quantile,
)

Three = tuple[str, str, str]


@pytest.mark.parametrize(
    ("names", "y", "models"),
    [
        (["y", "pred", "lower", "upper"], "y", {"model": ("pred", "lower", "upper")}),
        (["id", "Y_True", "Y_Pred", "LO", "HI"], "Y_True", {"model": ("Y_Pred", "LO", "HI")}),
        (
            [" Y ", "Pred", "Lower Bound", "Upper  Bound"],
            " Y ",
            {"model": ("Pred", "Lower Bound", "Upper  Bound")},
        ),
        (
            ["ds", "y", "yhat", "yhat_lower", "yhat_upper"],
            "y",
            {"model": ("yhat", "yhat_lower", "yhat_upper")},
        ),
        (
            ["y_true", "y_pred", "y_lower", "y_upper"],
            "y_true",
            {"model": ("y_pred", "y_lower", "y_upper")},
        ),
        (["y", "fit", "lwr", "upr"], "y", {"model": ("fit", "lwr", "upr")}),
        (
            ["actual", "forecast", "lower_bound", "upper_bound"],
            "actual",
            {"model": ("forecast", "lower_bound", "upper_bound")},
        ),
        (
            ["observed", "predicted", "lower", "upper"],
            "observed",
            {"model": ("predicted", "lower", "upper")},
        ),
        (
            ["y", ".pred", ".pred_lower", ".pred_upper"],
            "y",
            {"model": (".pred", ".pred_lower", ".pred_upper")},
        ),
        (
            ["y", "mean", "mean_se", "mean_ci_lower", "mean_ci_upper"],
            "y",
            {"model": ("mean", "mean_ci_lower", "mean_ci_upper")},
        ),
        (
            ["y", "mean", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"],
            "y",
            {"model": ("mean", "obs_ci_lower", "obs_ci_upper")},
        ),
        (
            [
                *(
                    "y",
                    "forecast_timestamp",
                    "forecast_value",
                    "standard_error",
                    "confidence_level",
                ),
                *("prediction_interval_lower_bound", "prediction_interval_upper_bound"),
                *("confidence_interval_lower_bound", "confidence_interval_upper_bound"),
            ],
            "y",
            {
                "model": (
                    "forecast_value",
                    "prediction_interval_lower_bound",
                    "prediction_interval_upper_bound",
                )
            },
        ),
        (
            ["y", "gbr_pred", "gbr_lower", "gbr_upper", "my.net.y_pred", "my.net.lo", "my.net.hi"],
            "y",
            {
                "gbr": ("gbr_pred", "gbr_lower", "gbr_upper"),
                "my.net": ("my.net.y_pred", "my.net.lo", "my.net.hi"),
            },
        ),
        (["y", "pred_a", "lower_a", "upper_a"], "y", {"a": ("pred_a", "lower_a", "upper_a")}),
        (["y", "pred_1", "lower_1", "upper_1"], "y", {"1": ("pred_1", "lower_1", "upper_1")}),
        (["y", "GBR", "GBR lower", "GBR upper"], "y", {"GBR": ("GBR", "GBR lower", "GBR upper")}),
        (["pred", "lower", "upper"], None, {"model": ("pred", "lower", "upper")}),
        (["y", "pred", "lower"], "y", {"model": ("pred", "lower")}),
        (["y", "lower", "upper"], "y", {"model": ("lower", "upper")}),
        (["a", "b"], None, {}),
    ],
)
def test_the_usual_names_are_recognised(
    names: list[str], y: str | None, models: dict[str, Three]
) -> None:
    assert observed_column(names) == y
    found = model_columns(names, y=y)
    assert {name: columns.names for name, columns in found.items()} == models
    assert told_coverage(found.values()) is None


@pytest.mark.parametrize(
    ("names", "model", "coverage"),
    [
        (["y", "yhat", "q05", "q95"], "model", "9/10"),
        (["y", "q5", "q50", "q95"], "model", "9/10"),
        (["y", "p5", "p50", "p95"], "model", "9/10"),
        (["y", "P2.5", "P50", "P97.5"], "model", "19/20"),
        (["y", "q0.025", "q0.5", "q0.975"], "model", "19/20"),
        (["y", "quantile_0.1", "median", "quantile_0.9"], "model", "4/5"),
        (["y", "AutoARIMA", "AutoARIMA-lo-90", "AutoARIMA-hi-90", "ETS"], "AutoARIMA", "9/10"),
        (["y", "Point Forecast", "Lo 95", "Hi 95"], "model", "19/20"),
        (["y", "net", "net: lower 80%", "net: upper 80%"], "net", "4/5"),
        (["y", "mean", "0.05", "0.5", "0.95"], "model", "9/10"),  # AutoGluon and GluonTS
        (["y", "sales_q0.050", "sales_q0.500", "sales_q0.950"], "sales", "9/10"),  # darts
        (["y", "NHITS_ql0.1", "NHITS_ql0.5", "NHITS_ql0.9"], "NHITS", "4/5"),
        (["y", "TimeGPT", "TimeGPT-q-10", "TimeGPT-q-90"], "TimeGPT", "4/5"),
        (
            ["y", "pred", "y_0.9_lower", "y_0.9_upper"],
            "model",
            "9/10",
        ),  # sktime, its column levels joined
        (["y", "fit", "95%_lower", "95%_upper"], "model", "19/20"),
    ],
)
def test_names_that_tell_their_coverage_are_believed(
    names: list[str], model: str, coverage: str
) -> None:
    found = model_columns(names, y="y")
    assert list(found) == [model]
    assert told_coverage(found.values()) == Fraction(coverage)


def test_several_levels_are_one_model_the_narrowest_first() -> None:
    found = model_columns(["y", "m", "m-hi-97.5", "m-lo-97.5", "m-lo-80", "m-hi-80"], y="y")
    inner, outer = (
        Bounds("m-lo-80", "m-hi-80", Fraction(4, 5)),
        Bounds("m-lo-97.5", "m-hi-97.5", Fraction(39, 40)),
    )
    assert found == {"m": ModelColumns("m", (inner, outer))}
    assert told_coverage(found.values()) is None
    quantiles = model_columns(["y", "a_pred", "a_q05", "a_q10", "a_q90", "a_q95"], y="y")["a"]
    assert quantiles.levels == (Fraction(4, 5), Fraction(9, 10))


def test_models_of_different_levels_tell_no_common_coverage() -> None:
    found = model_columns(["y", "a", "a-lo-90", "a-hi-90", "b", "b-lo-80", "b-hi-80"], y="y")
    assert list(found) == ["a", "b"]
    assert told_coverage(found.values()) is None


def test_a_nameless_model_gets_the_name_that_is_passed() -> None:
    assert list(model_columns(["y", "pred", "lower", "upper"], y="y", nameless="night run")) == [
        "night run"
    ]


def test_a_given_observation_is_no_longer_a_candidate() -> None:
    assert model_columns(["mean", "pred", "lo", "hi"], y="pred")["model"].pred == "mean"


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["pred", "lower", "lo", "upper"],
            r"`lower`, `lo` could all belong to model. Hint: rename or drop the others.",
        ),
        (["pred", "yhat", "lo", "hi"], r"`pred`, `yhat` could all belong to model."),
        (
            ["A", "A-lo-90", "A-hi-90", "A_pred", "A_lo", "A_hi"],
            r"`A-lo-90`, `A-hi-90`, `A_lo`, `A_hi` could all",
        ),
    ],
)
def test_where_two_could_be_meant_the_person_is_asked(names: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model_columns(names)


def test_two_observations_are_one_too_many() -> None:
    with pytest.raises(
        ValueError,
        match=r"`y`, `target` could all be the observation. Hint: choose one with `y_true`.",
    ):
        observed_column(["y", "target", "pred"])


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["q05", "q10", "q50", "q95"],
            r"levels of model must have both bounds: `q10` has no upper bound",
        ),
        (
            ["m", "m-lo-80", "m-hi-80", "m-hi-95"],
            r"levels of m must have both bounds: `m-hi-95` has no lower bound",
        ),
        (
            ["p0", "p5", "p50", "p95", "p100"],
            r"levels of model must lie between 0 and 1, both excluded; `p0` does not",
        ),
        (
            ["m", "m-lo-90", "m-hi-90", "m-lo-100", "m-hi-100"],
            r"between 0 and 1, both excluded; `m-lo-100` does not",
        ),
    ],
)
def test_levels_that_are_not_whole_are_refused(names: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        model_columns(names)


@pytest.mark.parametrize(
    ("names", "side", "columns", "level"),
    [
        (["q10", "q50"], None, ("q50", "q10"), "9/10"),
        (["m", "m-lo-90"], None, ("m", "m-lo-90"), "9/10"),
        (["m", "m-lo-90", "m-hi-90"], "upper", ("m", "m-hi-90"), "19/20"),
        (["order", "p90"], None, ("p90",), "9/10"),
        (["pred", "upper"], None, ("pred", "upper"), None),
        (["pred", "lower", "upper"], "lower", ("pred", "lower"), None),
        (["VaR"], None, ("VaR",), None),
        (["VaR_95"], None, ("VaR_95",), "19/20"),
        (["q0.95"], None, ("q0.95",), "19/20"),
    ],
)
def test_one_bound_alone_is_recognised(
    names: list[str], side: Any, columns: tuple[str, ...], level: str | None
) -> None:
    (found,) = model_columns(names, side=side).values()
    assert found.names == columns
    assert found.levels == (None if level is None else Fraction(level),)
    assert found.side in ("upper", "lower")


def test_two_bounds_alone_are_a_model_without_a_prediction() -> None:
    assert model_columns(["y", "lower", "upper"], y="y")["model"].names == ("lower", "upper")
    assert model_columns(["m-lo-90", "m-hi-90"])["m"].pred == ""


def test_a_lone_quantile_beside_plain_bounds_is_another_column() -> None:
    assert model_columns(["y", "pred", "lower", "upper", "q1"], y="y")["model"].names == (
        "pred",
        "lower",
        "upper",
    )


def test_the_median_is_the_prediction_where_there_is_no_other() -> None:
    assert model_columns(["mean", "0.1", "0.5", "0.9"])["model"][::2] == ("0.5", True)
    assert model_columns(["yhat", "q10", "q50", "q90"])["model"][::2] == ("yhat", False)
    assert model_columns(["mean", "q10", "q90"])["model"][::2] == ("mean", False)


def test_samples_are_one_model() -> None:
    names = ["y", *(f"sample_{i}" for i in range(3)), *(f"net_draw{i}" for i in range(2))]
    found = model_columns(names, y="y")
    assert {name: columns.names for name, columns in found.items()} == {
        "model": ("sample_0", "sample_1", "sample_2"),
        "net": ("net_draw0", "net_draw1"),
    }
    bounded = model_columns(["pred", "lower", "upper", "sample_1", "sample_2"])["model"]
    assert bounded.names == ("pred", "lower", "upper")
    assert model_columns(["y", "sample_1"], y="y") == {}


def test_one_row_per_quantile_is_a_long_table() -> None:
    hub = ["model_id", "location", "output_type", "output_type_id", "value", "observation"]
    assert long_columns(hub, y="observation") == (
        "output_type_id",
        "value",
        "model_id",
        "output_type",
        None,
    )
    assert long_columns(["quantile_level", "predicted", "observed"], y="observed") == (
        "quantile_level",
        "predicted",
        None,
        None,
        None,
    )
    assert long_columns(["y", "pred", "lower", "upper"], y="y") is None


def test_the_target_of_a_forecast_hub_says_what_is_forecast() -> None:
    hub = [
        "reference_date",
        "target",
        "horizon",
        "location",
        "target_end_date",
        "output_type",
        "output_type_id",
        "value",
    ]
    assert observed_column(hub) is None
    assert (
        observed_column(["target_end_date", "location", "target", "observation"]) == "observation"
    )
    assert observed_column(["timestamp", "target", "mean"]) == "target"


def test_series_times_and_horizons_are_keys() -> None:
    assert key_columns(["y", "Unique ID", "ds", "cutoff", "horizon", "pred"]) == [
        "Unique ID",
        "ds",
        "cutoff",
        "horizon",
    ]


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("0.05", "1/20"),
        ("sales_q0.05", "1/20"),
        ("p5", "1/20"),
        ("mean", None),
        ("horizon_5", None),
    ],
)
def test_a_quantile_is_told_by_the_end_of_its_name(name: str, level: str | None) -> None:
    assert told_quantile(name) == (None if level is None else Fraction(level))


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (
            ("net_pred", "net_lower", "net_uper"),
            "net has no upper bound: `net_uper` is not recognised",
        ),
        (
            ("net_prd", "net_lower", "net_upper"),
            "net has no prediction: `net_prd` is not recognised",
        ),
        (
            ("net_pred", "net_lowr", "net_uper"),
            "no lower bound and upper bound: `net_lowr`, `net_uper` are not",
        ),
        (("net_pred", "net_upper"), "net has no lower bound. Hint: rename or drop its columns"),
    ],
)
def test_a_misspelt_column_does_not_drop_its_model_silently(
    own: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        model_columns(["y", "flat_pred", "flat_lower", "flat_upper", *own], y="y")


def test_columns_that_only_look_like_a_part_of_a_model_are_left_alone() -> None:
    names = ["y", "pred", "lower", "upper", "lower_house", "upper_house", "house_age", "point_pred"]
    assert list(model_columns(names, y="y")) == ["model"]
