"""Settings that cannot be are refused in one sentence, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from refusal import (
    FLOOR,
    HUGE,
    LOWER,
    METRICS,
    REACH,
    UNIT,
    UPPER,
    P,
    Y,
    bands,
    bounds,
    refused,
    two,
    with_value,
)
from uccurve import _refusals as checks

# ---- min_band


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("5", "'5'"),
        ("-5%", "'-5%'"),
        ("%", "'%'"),
        ("nan%", "'nan%'"),
        ("1e400%", "'1e400%'"),
        ("five", "'five'"),
        (-1, "-1"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        (True, "True"),
        (1j, "1j"),
        ([1], "[1]"),
        ({}, "{}"),
        (np.array([1.0, 2.0]), "array([1., 2.])"),
        (np.array([1.0]), "array([1.])"),
        (b"5%", "b'5%'"),
        (10**400, f"1{'0' * 47}... (401 characters)"),
    ],
)
def test_an_unclear_minimum_band_is_refused(value: Any, shown: str) -> None:
    sentence = (
        "`min_band` must be a number of at least 0 in units of y_true, or a percentage of the mean half-width "
        f'such as "5%"; {shown} is neither.'
    )
    refused(sentence, bounds, min_band=value)
    refused(sentence, bands, min_band=value)


def test_a_share_of_a_negative_mean_half_width_is_refused() -> None:
    sentence = (
        "`min_band` must be a number here: the mean half-width, of which it is 5%, is -1. "
        "Hint: pass a number in units of y_true."
    )
    refused(sentence, bands, lower_band=[1.0, 1.0, -5.0], min_band="5%")


def test_a_minimum_band_beyond_float64_is_refused() -> None:
    sentence = (
        "`min_band` must keep the bounds within 1e+100: 1 of 1 row leaves it, first row 0 (-1.1e+100). "
        "Hint: pass a smaller number."
    )
    refused(sentence, ucc.Intervals.from_bounds, [0.0], [1e99], [0.0], [1e99], min_band=1.2e100)


# ---- other ways to make or change intervals


def test_intervals_are_built_by_name() -> None:
    sentence = (
        "build Intervals with Intervals.from_bounds, from_bands, from_std, from_samples, from_quantile or "
        "from_frame."
    )
    refused(sentence, ucc.Intervals, Y, P, LOWER, UPPER, error=TypeError)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"scale": -1}, "`scale` must be a finite number of at least 0; got -1."),
        ({"scale": np.nan}, "`scale` must be a finite number of at least 0; got nan."),
        ({"shift": np.inf}, "`shift` must be a finite number; got inf."),
        (
            {"scale": 10**400},
            f"`scale` must be a finite number of at least 0; got 1{'0' * 47}... (401 characters).",
        ),
        (
            {"scale": 1e308},
            (
                "`scale` must keep the bounds within 1e+100: 3 of 3 rows leave it, first row 0 (-1e+308). "
                "Hint: pass a smaller number."
            ),
        ),
        (
            {"shift": HUGE},
            (
                "`shift` must keep the bounds within 1e+100: 3 of 3 rows leave it, first row 0 (-1.7e+308). "
                "Hint: pass a smaller number."
            ),
        ),
    ],
)
def test_a_calibration_beyond_float64_is_refused(option: dict[str, Any], sentence: str) -> None:
    iv = ucc.Intervals.from_bands(
        [0.0, 1.0, 2.0], [0.0, 1.0, 1e99], [1.0, 1.0, 1.0], [0.5, 2.0, 1e99]
    )
    refused(sentence, iv.calibrated, **option)


@pytest.mark.parametrize("value", ["2", None, [2.0], np.array([2.0]), 2j, True, b"2"])
def test_a_setting_that_is_no_number_is_refused(value: Any) -> None:
    refused(
        f"`scale` must be a number; got {value!r}.",
        bounds().calibrated,
        error=TypeError,
        scale=value,
    )
    refused(
        f"`shift` must be a number; got {value!r}.",
        bounds().calibrated,
        error=TypeError,
        shift=value,
    )
    refused(
        f"`scale` must be a number; got {value!r}.", ucc.UCC(bounds()).at, value, error=TypeError
    )


@pytest.mark.parametrize(
    ("rows", "error", "sentence"),
    [
        (0, TypeError, "rows are chosen by a slice, a mask or a list of row numbers; got 0."),
        ("a", TypeError, "rows are chosen by a slice, a mask or a list of row numbers; got 'a'."),
        (
            [0.5],
            TypeError,
            "rows are chosen by a slice, a mask or a list of row numbers; got [0.5].",
        ),
        (
            [[0, 1]],
            TypeError,
            "rows are chosen by a slice, a mask or a list of row numbers; got [[0, 1]].",
        ),
        (None, TypeError, "rows are chosen by a slice, a mask or a list of row numbers; got None."),
        ([0, 3], IndexError, "rows are numbered from 0 to 2; got 3."),
        ([-4], IndexError, "rows are numbered from 0 to 2; got -4."),
        (
            [True, False],
            IndexError,
            "a mask must have one entry per row: it has 2 entries for 3 rows.",
        ),
        ([], ValueError, "at least one row must be chosen: [] chooses none of 3."),
        (
            slice(2, 1),
            ValueError,
            "at least one row must be chosen: slice(2, 1, None) chooses none of 3.",
        ),
        (
            [False] * 3,
            ValueError,
            "at least one row must be chosen: [False, False, False] chooses none of 3.",
        ),
    ],
)
def test_rows_that_cannot_be_chosen_are_refused(
    rows: Any, error: type[Exception], sentence: str
) -> None:
    refused(sentence, bounds().__getitem__, rows, error=error)


def test_rows_without_weight_are_no_choice() -> None:
    some = ucc.Intervals.from_bands([1.0, 2.0, 3.0], [0.0] * 3, [1.0] * 3, weight=[1.0, 0.0, 0.0])
    assert repr(some[:2]) == "Intervals(2 rows, miss_rate 0, bandwidth 1)"
    refused("`weight` must not be zero in every row that is chosen.", some.__getitem__, [1, 2])


# ---- what is asked of a curve


def test_a_curve_is_made_of_intervals() -> None:
    sentence = "`intervals` must be Intervals; got list. Hint: see Intervals.from_bounds."
    refused(sentence, ucc.UCC, Y, error=TypeError)
    refused(
        "`vary` must be one of scale, shift; got 'scal'. Did you mean 'scale'?",
        ucc.UCC,
        bounds(),
        vary="scal",
    )


@pytest.mark.parametrize(
    ("axes", "sentence"),
    [
        (
            ("exces", "deficit"),
            f"`axes` must be two of {METRICS}; got 'exces'. Did you mean 'excess'?",
        ),
        (
            ("deficit", "Bandwith"),
            f"`axes` must be two of {METRICS}; got 'Bandwith'. Did you mean 'bandwidth'?",
        ),
        (
            ("MISS RATE", "deficit"),
            f"`axes` must be two of {METRICS}; got 'MISS RATE'. Did you mean 'miss_rate'?",
        ),
        (("price", "deficit"), f"`axes` must be two of {METRICS}; got 'price'."),
        ((1, "deficit"), f"`axes` must be two of {METRICS}; got 1."),
        ("excess", f"`axes` must be two of {METRICS}, first x, then y; got 'excess'."),
        (("excess",), f"`axes` must be two of {METRICS}, first x, then y; got ('excess',)."),
        (None, f"`axes` must be two of {METRICS}, first x, then y; got None."),
    ],
)
def test_unknown_axes_are_refused_with_the_nearest_name(axes: Any, sentence: str) -> None:
    c = ucc.UCC(bounds())
    for ask in (
        c.area,
        c.gain,
        c.points,
        c.concentration,
        lambda axes: c.cost(0.1, axes=axes),
        lambda axes: c.cheapest(0.1, axes=axes),
    ):
        refused(sentence, ask, axes=axes)
    refused(sentence, ucc.auucc_score, Y, P, LOWER, UPPER, axes=axes)


@pytest.mark.parametrize(
    ("span", "sentence"),
    [
        ((0.5, 0), "`miss_rate` must be a range (low, high) with 0 <= low <= high; got (0.5, 0)."),
        ((-1, 1), "`miss_rate` must be a range (low, high) with 0 <= low <= high; got (-1, 1)."),
        (
            (np.nan, 1),
            "`miss_rate` must be a range (low, high) with 0 <= low <= high; got (nan, 1).",
        ),
        ((0,), "`miss_rate` must be a range (low, high); got (0,)."),
        (0.5, "`miss_rate` must be a range (low, high); got 0.5."),
        ("01", "`miss_rate` must be a range (low, high); got '01'."),
        (("a", "b"), "`miss_rate` must be a range (low, high); got ('a', 'b')."),
    ],
)
def test_a_range_that_is_none_is_refused(span: Any, sentence: str) -> None:
    refused(sentence, ucc.UCC(bounds()).area, miss_rate=span)
    refused(sentence, ucc.UCC(bounds()).gain, miss_rate=span)


def test_several_ranges_or_targets_are_refused() -> None:
    c = ucc.UCC(bounds())
    refused(
        "give one range only; got `miss_rate` and `deficit`.",
        c.area,
        miss_rate=(0, 1),
        deficit=(0, 1),
    )
    refused("give one target only; got `miss_rate` and `excess`.", c.find, miss_rate=0.1, excess=1)
    refused("give one target to find, such as coverage=0.9.", c.find)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ({"miss_rate": 5}, "`miss_rate` must be a finite number from 0 to 1; got 5."),
        ({"miss_rate": np.nan}, "`miss_rate` must be a finite number from 0 to 1; got nan."),
        ({"bandwidth": -0.1}, "`bandwidth` must be a finite number of at least 0; got -0.1."),
        ({"excess": np.inf}, "`excess` must be a finite number of at least 0; got inf."),
    ],
)
def test_a_target_outside_the_metric_is_refused(target: dict[str, Any], sentence: str) -> None:
    refused(sentence, ucc.UCC(bounds()).find, **target)


@pytest.mark.parametrize("vary", ["scale", "shift", "levels"])
@pytest.mark.parametrize(
    ("coverage", "error", "rule"),
    [
        (0, ValueError, "must lie between 0 and 1, both excluded; got 0"),
        (1, ValueError, "must lie between 0 and 1, both excluded; got 1"),
        (1.0, ValueError, "must lie between 0 and 1, both excluded; got 1.0"),
        (90, ValueError, "must lie between 0 and 1, both excluded; got 90"),
        (-0.1, ValueError, "must lie between 0 and 1, both excluded; got -0.1"),
        ("90", TypeError, "must be a number between 0 and 1; got '90'"),
        ("90%", TypeError, "must be a number between 0 and 1; got '90%'"),
        (True, TypeError, "must be a number between 0 and 1; got True"),
        (np.nan, TypeError, "must be a number between 0 and 1; got nan"),
        ([0.9], TypeError, "must be a number between 0 and 1; got [0.9]"),
    ],
)
def test_a_coverage_that_is_no_share_is_refused_with_the_way_to_write_it(
    coverage: Any, error: type[Exception], rule: str, vary: Any
) -> None:
    c = ucc.UCC.from_levels({0.9: bounds()}) if vary == "levels" else ucc.UCC(bounds(), vary=vary)
    for ask in (c.find, c.interval_score, c.decompose):
        refused(f"`coverage` {rule}. Hint: 90% is 0.9.", ask, coverage=coverage, error=error)


def test_a_score_needs_its_coverage() -> None:
    sentence = "`coverage` must be a number between 0 and 1; got None. Hint: 90% is 0.9."
    refused(sentence, ucc.UCC(bounds()).interval_score, coverage=None, error=TypeError)


@pytest.mark.parametrize("kind", [float, np.float32, np.float16, np.longdouble, str])
def test_a_coverage_is_the_decimal_that_was_written_in_any_precision(kind: Any) -> None:
    error = np.arange(1.0, 11.0)
    c = ucc.UCC(ucc.Intervals.from_bands(error, np.zeros(10), np.ones(10)))
    share: Any = Fraction if kind is str else kind
    assert c.find(coverage=share(kind("0.8"))).miss_rate == 0.2
    assert c.find(miss_rate=share(kind("0.3"))).miss_rate == 0.3
    levels = ucc.UCC.from_levels({0.5: c.intervals, 0.8: c.intervals.calibrated(scale=2)})
    assert levels.decompose(coverage=share(kind("0.8"))) == levels.decompose(coverage=0.8)


def test_a_coverage_beside_another_target_is_refused() -> None:
    c = ucc.UCC(bounds())
    sentence = "give `coverage` or `miss_rate`, not both: a coverage of 0.9 is a miss rate of 0.1."
    refused(sentence, c.find, coverage=0.9, miss_rate=0.1)
    refused("give one target only; got `coverage` and `deficit`.", c.find, coverage=0.9, deficit=1)


def test_a_confidence_without_a_conformal_target_is_refused() -> None:
    c = ucc.UCC(bounds())
    targets: list[dict[str, Any]] = [{"coverage": 0.5}, {"miss_rate": 0.5}, {"deficit": 1.0}]
    for target in targets:
        refused(
            "`confidence` needs conformal=True: it is about new rows.",
            c.find,
            **target,
            confidence=0.9,
        )
    rule = "`confidence` must"
    for number in (0, 1, 90):
        sentence = f"{rule} lie between 0 and 1, both excluded; got {number}. Hint: 90% is 0.9."
        refused(sentence, c.find, coverage=0.5, conformal=True, confidence=number)
    sentence = f"{rule} be a number between 0 and 1; got '90%'. Hint: 90% is 0.9."
    refused(sentence, c.find, coverage=0.5, conformal=True, confidence="90%", error=TypeError)
    sentence = (
        "`conformal` at miss_rate=0.5 with confidence 0.95 needs at least 5 rows; there are 3. "
        "Hint: use more calibration rows or a larger `miss_rate`."
    )
    refused(sentence, c.find, coverage=0.5, conformal=True, confidence=0.95)


def test_a_target_that_no_scale_reaches_is_refused() -> None:
    hint = "Hint: raise zero bands with `min_band`."
    c = ucc.UCC(bands(lower_band=[1.0, 1.0, 0.0]))  # the third error has no band on its side
    refused(
        f"no scale reaches miss_rate=0.25: the smallest is 0.3333. {hint}", c.find, miss_rate=0.25
    )
    refused(f"no scale reaches deficit=2: the smallest is 2.333. {hint}", c.find, deficit=2)
    flat = ucc.UCC(bands(lower_band=[0.0, 0.0, 0.0]))
    refused(f"no scale reaches bandwidth=0.5: the largest is 0. {hint}", flat.find, bandwidth=0.5)
    refused(f"no scale reaches overshoot=1: the largest is 0. {hint}", flat.find, overshoot=1)


def test_too_few_rows_for_a_conformal_rank_are_refused() -> None:
    c = ucc.UCC(bounds())
    hint = "Hint: use more calibration rows or a larger `miss_rate`."
    sentence = f"`conformal` at miss_rate=0.05 needs at least 19 rows; there are 3. {hint}"
    refused(sentence, c.find, miss_rate=0.05, conformal=True)
    refused(sentence, c.find, miss_rate=Fraction(1, 20), conformal=True)
    refused(sentence, ucc.UCC(bounds(), vary="shift").find, miss_rate=0.05, conformal=True)


def test_a_conformal_target_that_cannot_be_counted_is_refused() -> None:
    c, weighted = ucc.UCC(bounds()), ucc.UCC(bounds(weight=[1, 2, 3]))
    sentence = (
        "`conformal` needs a miss_rate above 0: no number of rows covers every new one for sure."
    )
    refused(sentence, c.find, miss_rate=0, conformal=True)
    refused(
        "`conformal` needs a target coverage or miss_rate, not deficit.",
        c.find,
        deficit=1,
        conformal=True,
    )
    sentence = "`conformal` counts rows, so it needs equal weights. Hint: leave `weight` out."
    refused(sentence, weighted.find, miss_rate=0.3, conformal=True)
    sentence = (
        "no scale reaches miss_rate=0.25 with conformal rank 3 of 3: the smallest is 0.3333. "
        "Hint: raise zero bands with `min_band`."
    )
    refused(
        sentence, ucc.UCC(bands(lower_band=[1.0, 1.0, 0.0])).find, miss_rate=0.25, conformal=True
    )


def test_costs_and_shares_outside_0_to_1_are_refused() -> None:
    c = ucc.UCC(bounds())
    refused("`c` must be a finite number from 0 to 1; got 2.", c.cost, 2)
    refused("`c` must be a finite number from 0 to 1; got -1.", c.cheapest, -1)
    refused("`share` must be a finite number from 0 to 1; got 50.", c.concentration, share=50)
    sentence = "`axes` must include miss_rate or deficit, which belong to single rows; got ('bandwidth', 'excess')."
    refused(sentence, c.concentration, axes=("bandwidth", "excess"))


@pytest.mark.parametrize(
    "unit", ["Std", 0, -1.0, np.nan, np.inf, None, [2.0], np.array([1.0, 2.0]), True]
)
def test_an_unknown_unit_is_refused(unit: Any) -> None:
    sentence = f"`unit` must be 'raw', 'std' or a finite number above 0; got {unit!r}."
    c = ucc.UCC(bounds())
    refused(sentence, c.area, unit=unit)
    refused(sentence, c.table, unit=unit)
    refused(sentence, c.find, bandwidth=1, unit=unit)


@pytest.mark.parametrize("constant", [1.0, 0.1, 1e99])
def test_a_unit_of_constant_observations_is_refused(constant: float) -> None:
    sentence = '`unit="std"` needs a y_true that varies; all values are equal.'
    refused(sentence, ucc.UCC(bands(y_true=[constant] * 3)).area, unit="std")
    weighted = bands(y_true=[constant, constant, 5.0], weight=[1, 3, 0])
    refused(sentence, ucc.UCC(weighted).area, unit="std")


def test_a_reference_of_other_rows_is_refused() -> None:
    sentence = "`reference` must have the same y_true: a gain compares intervals of the same rows."
    refused(sentence, ucc.UCC(bounds()).gain, reference=bands(y_true=[0.0, 1.0, 8.0]))
    refused(sentence, ucc.UCC(bounds()).gain, reference=ucc.UCC(bounds()[:2]))
    sentence = "`reference` must be Intervals or a curve; got list."
    refused(sentence, ucc.UCC(bounds()).gain, reference=[1.0], error=TypeError)


# ---- scores


METRIC_SCORES = [
    ucc.auucc_score,
    ucc.auucc_gain_score,
    ucc.bandwidth_score,
    ucc.excess_score,
    ucc.deficit_score,
]


@pytest.mark.parametrize("score", METRIC_SCORES)
def test_scores_name_their_own_arguments(score: Callable[..., Any]) -> None:
    sentence = (
        "`sample_weight` must not be negative: 1 of 3 rows is, first row 2 (-1.0). "
        "Hint: leave such rows out or give them weight 0."
    )
    refused(sentence, score, Y, P, LOWER, UPPER, sample_weight=[1, 2, -1])
    refused(sentence, score, two(Y), two(P), two(LOWER), two(UPPER), sample_weight=[1, 2, -1])
    sentence = "`y_true` must be finite: 1 of 3 rows is not, first row 0 (nan). Hint: leave such rows out first."
    refused(sentence, score, [np.nan, 1, 2], P, LOWER, UPPER)
    sentence = (
        "`y_pred` must lie between `lower` and `upper`: 1 of 3 rows does not, first row 0 (7.0 outside [-1.0, 1.0]). "
        f"{FLOOR}"
    )
    refused(sentence, score, Y, with_value(P, 0, 7.0), LOWER, UPPER)
    assert np.isfinite(score(Y, with_value(P, 0, 7.0), LOWER, UPPER, min_band="5%"))


@pytest.mark.parametrize(
    "score", [ucc.miss_rate_score, lambda *a, **k: ucc.interval_score(*a, coverage=0.9, **k)]
)
def test_scores_without_a_prediction_refuse_alike(score: Callable[..., Any]) -> None:
    sentence = (
        "`lower` must not exceed `upper`: 1 of 3 rows does, first row 2 (5.0 > 3.0). "
        "Hint: sort crossing quantiles first."
    )
    refused(sentence, score, Y, with_value(LOWER, 2, 5.0), UPPER)
    sentence = (
        "`sample_weight` must have one value per row: its shape is (2,) where `y_true` has (3, 2). "
        "Hint: leave `sample_weight` out to weight rows equally."
    )
    refused(sentence, score, two(Y), two(LOWER), two(UPPER), sample_weight=[1, 2])


@pytest.mark.parametrize("coverage", [0, 1, 5])
def test_an_interval_score_needs_a_coverage_between_0_and_1(coverage: float) -> None:
    sentence = (
        f"`coverage` must lie between 0 and 1, both excluded; got {coverage}. Hint: 90% is 0.9."
    )
    refused(sentence, ucc.interval_score, Y, LOWER, UPPER, coverage=coverage)


def test_an_interval_score_needs_a_width_that_float64_holds() -> None:
    sentence = f"`upper` {REACH.replace('y_pred', 'lower')} (1.7e+308 against -1.7e+308). {UNIT}"
    refused(sentence, ucc.interval_score, [0.0], [-HUGE], [HUGE], coverage=0.9)
    sentence = f"`y_true` {REACH.replace('y_pred', 'lower')} (-1.7e+308 against 1.7e+308). {UNIT}"
    refused(sentence, ucc.interval_score, [-HUGE], [HUGE], [HUGE], coverage=0.9)


def test_a_misspelt_name_is_compared_with_the_options_whatever_their_case() -> None:
    assert checks.nearest("ols", ["OLS", "Mean8"]) == " Did you mean 'OLS'?"
    assert checks.nearest("Y_TRU", ["y_true", "y_pred"]) == " Did you mean 'y_true'?"
    assert checks.nearest("something else", ["OLS"]) == ""
