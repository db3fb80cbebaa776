"""Columns are recognised by what people call them, and nothing is guessed where two could be meant."""

from fractions import Fraction

import pytest

from uccurve.cli._conventions import Bounds, Columns, detect_columns, model_option, split_names, told_coverage

Three = tuple[str, str, str]


@pytest.mark.parametrize(
    ("names", "y", "models"),
    [
        (["y", "pred", "lower", "upper"], "y", {"model": ("pred", "lower", "upper")}),
        (["id", "Y_True", "Y_Pred", "LO", "HI"], "Y_True", {"model": ("Y_Pred", "LO", "HI")}),
        ([" Y ", "Pred", "Lower Bound", "Upper  Bound"], " Y ", {"model": ("Pred", "Lower Bound", "Upper  Bound")}),
        (["ds", "y", "yhat", "yhat_lower", "yhat_upper"], "y", {"model": ("yhat", "yhat_lower", "yhat_upper")}),
        (["y_true", "y_pred", "y_lower", "y_upper"], "y_true", {"model": ("y_pred", "y_lower", "y_upper")}),
        (["y", "fit", "lwr", "upr"], "y", {"model": ("fit", "lwr", "upr")}),
        (
            ["actual", "forecast", "lower_bound", "upper_bound"],
            "actual",
            {"model": ("forecast", "lower_bound", "upper_bound")},
        ),
        (["observed", "predicted", "lower", "upper"], "observed", {"model": ("predicted", "lower", "upper")}),
        (["y", ".pred", ".pred_lower", ".pred_upper"], "y", {"model": (".pred", ".pred_lower", ".pred_upper")}),
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
                *("y", "forecast_timestamp", "forecast_value", "standard_error", "confidence_level"),
                *("prediction_interval_lower_bound", "prediction_interval_upper_bound"),
                *("confidence_interval_lower_bound", "confidence_interval_upper_bound"),
            ],
            "y",
            {"model": ("forecast_value", "prediction_interval_lower_bound", "prediction_interval_upper_bound")},
        ),
        (
            ["y", "gbr_pred", "gbr_lower", "gbr_upper", "my.net.y_pred", "my.net.lo", "my.net.hi"],
            "y",
            {"gbr": ("gbr_pred", "gbr_lower", "gbr_upper"), "my.net": ("my.net.y_pred", "my.net.lo", "my.net.hi")},
        ),
        (["y", "pred_a", "lower_a", "upper_a"], "y", {"a": ("pred_a", "lower_a", "upper_a")}),
        (["y", "pred_1", "lower_1", "upper_1"], "y", {"1": ("pred_1", "lower_1", "upper_1")}),
        (["y", "GBR", "GBR lower", "GBR upper"], "y", {"GBR": ("GBR", "GBR lower", "GBR upper")}),
        (["pred", "lower", "upper"], None, {"model": ("pred", "lower", "upper")}),
        (["y", "pred", "lower"], "y", {}),
        (["y", "lower", "upper"], "y", {}),
        (["y", "m-lo-90", "m-hi-90"], "y", {}),
        (["a", "b"], None, {}),
    ],
)
def test_the_usual_names_are_recognised(names: list[str], y: str | None, models: dict[str, Three]) -> None:
    found = detect_columns(names)
    assert found.y == y
    assert {name: columns.names for name, columns in found.models.items()} == models
    assert told_coverage(found.models.values()) is None


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
    ],
)
def test_names_that_tell_their_coverage_are_believed(names: list[str], model: str, coverage: str) -> None:
    found = detect_columns(names)
    assert list(found.models) == [model]
    assert told_coverage(found.models.values()) == Fraction(coverage)


def test_several_levels_are_one_model_the_narrowest_first() -> None:
    found = detect_columns(["y", "m", "m-hi-97.5", "m-lo-97.5", "m-lo-80", "m-hi-80"]).models
    inner, outer = Bounds("m-lo-80", "m-hi-80", Fraction(4, 5)), Bounds("m-lo-97.5", "m-hi-97.5", Fraction(39, 40))
    assert found == {"m": Columns("m", (inner, outer))}
    assert told_coverage(found.values()) is None
    quantiles = detect_columns(["y", "a_pred", "a_q05", "a_q10", "a_q90", "a_q95"]).models["a"]
    assert quantiles.levels == (Fraction(4, 5), Fraction(9, 10))


def test_models_of_different_levels_tell_no_common_coverage() -> None:
    found = detect_columns(["y", "a", "a-lo-90", "a-hi-90", "b", "b-lo-80", "b-hi-80"]).models
    assert list(found) == ["a", "b"]
    assert told_coverage(found.values()) is None


def test_a_nameless_model_gets_the_name_that_is_passed() -> None:
    assert list(detect_columns(["y", "pred", "lower", "upper"], nameless="night run").models) == ["night run"]


def test_a_given_observation_is_no_longer_a_candidate() -> None:
    assert detect_columns(["y", "target", "pred", "lo", "hi"], y="target").y == "target"
    assert detect_columns(["mean", "pred", "lo", "hi"], y="pred").models["model"].pred == "mean"


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["y", "target", "pred", "lo", "hi"], r"`y`, `target` could all be the observation. Hint: choose one by --y."),
        (["y", "pred", "lower", "lo", "upper"], r"`lower`, `lo` could all belong to model. Hint: .* --model model="),
        (["y", "pred", "yhat", "lo", "hi"], r"`pred`, `yhat` could all belong to model."),
        (["y", "A", "A-lo-90", "A-hi-90", "A_pred", "A_lo", "A_hi"], r"`A-lo-90`, `A-hi-90`, `A_lo`, `A_hi` could all"),
    ],
)
def test_where_two_could_be_meant_the_person_is_asked(names: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        detect_columns(names)


def test_a_model_option_names_three_columns() -> None:
    assert model_option("A=p,l,u") == ("A", Columns("p", (Bounds("l", "u"),)))
    assert model_option('A b=p=1,"l,1",u') == ("A b", Columns("p=1", (Bounds("l,1", "u"),)))
    assert model_option("A=p,x_q05,x_q95")[1].levels == (Fraction(9, 10),)


@pytest.mark.parametrize("text", ["", "A", "A=", "=p,l,u", "A=p,l", "A=p,l,u,w", "A=p,,u", " =p,l,u"])
def test_any_other_model_option_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a model is written NAME=PRED,LOWER,UPPER"):
        model_option(text)


def test_names_with_commas_go_in_quotes() -> None:
    assert split_names('a, "b, c" ,d') == ["a", "b, c", "d"]
