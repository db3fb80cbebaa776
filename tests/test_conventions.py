"""Columns are found by what people call them, and nothing is guessed where two could be meant."""

import pytest

from uccurve.cli._conventions import Columns, Taken, model_option, taken


@pytest.mark.parametrize(
    ("names", "y", "models"),
    [
        (["y", "pred", "lower", "upper"], "y", {"model": ("pred", "lower", "upper")}),
        (["id", "Y_True", "Y_Pred", "LO", "HI"], "Y_True", {"model": ("Y_Pred", "LO", "HI")}),
        (["actual", "yhat", "q05", "q95"], "actual", {"model": ("yhat", "q05", "q95")}),
        (["target", "q5", "q50", "q95"], "target", {"model": ("q50", "q5", "q95")}),
        (["y", "q0.025", "q0.5", "q0.975"], "y", {"model": ("q0.5", "q0.025", "q0.975")}),
        (["ds", "y", "yhat", "yhat_lower", "yhat_upper"], "y", {"model": ("yhat", "yhat_lower", "yhat_upper")}),
        (["y_true", "y_pred", "y_lower", "y_upper"], "y_true", {"model": ("y_pred", "y_lower", "y_upper")}),
        (
            ["y", "gbr_pred", "gbr_lower", "gbr_upper", "my.net.y_pred", "my.net.lo", "my.net.hi"],
            "y",
            {"gbr": ("gbr_pred", "gbr_lower", "gbr_upper"), "my.net": ("my.net.y_pred", "my.net.lo", "my.net.hi")},
        ),
        (["y", "pred_a", "lower_a", "upper_a"], "y", {"a": ("pred_a", "lower_a", "upper_a")}),
        (
            ["unique_id", "ds", "y", "AutoARIMA", "AutoARIMA-lo-90", "AutoARIMA-hi-90", "ETS"],
            "y",
            {"AutoARIMA": ("AutoARIMA", "AutoARIMA-lo-90", "AutoARIMA-hi-90")},
        ),
        (
            ["y", "m", "m-lo-80", "m-hi-80", "m-lo-97.5", "m-hi-97.5"],
            "y",
            {"m-80": ("m", "m-lo-80", "m-hi-80"), "m-97.5": ("m", "m-lo-97.5", "m-hi-97.5")},
        ),
        (["pred", "lower", "upper"], None, {"model": ("pred", "lower", "upper")}),
        (["y", "pred", "lower"], "y", {}),
        (["y", "lower", "upper"], "y", {}),
        (["y", "m-lo-90", "m-hi-90"], "y", {}),
        (["a", "b"], None, {}),
    ],
)
def test_the_usual_names_are_taken(names: list[str], y: str | None, models: dict[str, tuple[str, str, str]]) -> None:
    assert taken(names) == Taken(y, {name: Columns(*columns) for name, columns in models.items()})


def test_a_nameless_model_gets_the_name_that_is_passed() -> None:
    assert list(taken(["y", "pred", "lower", "upper"], nameless="night run").models) == ["night run"]


def test_a_given_observation_is_no_longer_a_candidate() -> None:
    assert taken(["y", "target", "pred", "lo", "hi"], y="target").y == "target"
    assert taken(["mean", "pred", "lo", "hi"], y="pred").models["model"].pred == "mean"


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["y", "target", "pred", "lo", "hi"], r"`y`, `target` could all be the observation. Hint: say which by --y."),
        (["y", "pred", "lower", "lo", "upper"], r"`lower`, `lo` could all belong to model. Hint: .* --model model="),
        (["y", "pred", "yhat", "lo", "hi"], r"`pred`, `yhat` could all belong to model."),
        (
            ["y", "a_pred", "a_q05", "a_q10", "a_q90", "a_q95"],
            r"`a_q05`, `a_q95`, `a_q10`, `a_q90` could all belong to a",
        ),
        (["y", "A", "A-lo-90", "A-hi-90", "A_pred", "A_lo", "A_hi"], r"`A-lo-90`, `A-hi-90`, `A_lo`, `A_hi` could all"),
    ],
)
def test_where_two_could_be_meant_the_person_is_asked(names: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        taken(names)


def test_a_model_option_names_three_columns() -> None:
    assert model_option("A=p,l,u") == ("A", Columns("p", "l", "u"))
    assert model_option('A b=p=1,"l,1",u') == ("A b", Columns("p=1", "l,1", "u"))


@pytest.mark.parametrize("text", ["", "A", "A=", "=p,l,u", "A=p,l", "A=p,l,u,w", "A=p,,u", " =p,l,u"])
def test_any_other_model_option_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a model is written NAME=PRED,LOWER,UPPER"):
        model_option(text)
