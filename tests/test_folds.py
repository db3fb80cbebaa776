"""Folds and repeated runs as one set of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import uccurve as ucc
from uccurve.evidence.models import repeated_rows

joined = ucc.Intervals.join


def fold(seed: int, n: int, **options: Any) -> ucc.Intervals:
    rng = np.random.default_rng(seed)
    return ucc.Intervals.from_bands(
        rng.normal(size=n), np.zeros(n), rng.gamma(2, size=n), **options
    )


def test_joined_folds_are_all_rows_in_order() -> None:
    folds = [fold(0, 5), fold(1, 3)]
    whole = joined(folds)
    for name in ("y_true", "y_pred", "lower", "upper", "lower_band", "upper_band"):
        assert_array_equal(
            getattr(whole, name), np.concatenate([getattr(part, name) for part in folds])
        )
    assert whole.symmetric
    assert joined(folds[:1]) is folds[0]


def test_weights_are_joined_as_given_and_missing_ones_count_1() -> None:
    whole = joined([fold(0, 2, weight=[3.0, 1.0]), fold(1, 2)])
    assert_array_equal(whole.weight, np.array([3, 1, 1, 1]) / 6)


def test_asymmetric_folds_keep_both_sides() -> None:
    one = fold(0, 4)
    other = ucc.Intervals.from_bands(one.y_true, one.y_pred, one.lower_band, 2 * one.upper_band)
    assert_array_equal(
        joined([one, other]).upper_band, np.concatenate([one.upper_band, 2 * one.upper_band])
    )


def test_raised_and_dropped_rows_are_counted_together() -> None:
    one = ucc.Intervals.from_bands([1.0, 2.0], [0.0, 0.0], [0.0, 1.0], min_band=0.5)
    assert joined([one, one]).raised == 2 * one.raised > 0


def test_runs_over_the_same_rows_are_recognised() -> None:
    one = fold(0, 4)
    other = ucc.Intervals.from_bands(one.y_true, one.y_pred + 1, one.lower_band)
    repeated = repeated_rows([one, other])
    assert repeated is not None
    assert_array_equal(repeated.row, [0, 1, 2, 3, 0, 1, 2, 3])
    assert repeated_rows([one, fold(1, 4)]) is None
    assert repeated_rows([one]) is None


def test_names_tell_which_rows_are_the_same() -> None:
    runs = [fold(0, 3), fold(1, 3)]
    repeated = repeated_rows(runs, [["a", "b", "c"], ["b", "c", "a"]])
    assert repeated is not None
    assert_array_equal(repeated.row, [0, 1, 2, 1, 2, 0])
    assert_array_equal(repeated.run, [0, 0, 0, 1, 1, 1])


def test_bad_folds_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        ValueError, match=r"a list of folds must hold at least one Intervals; it is empty\."
    ):
        joined([])
    with pytest.raises(TypeError, match=r"a list of folds must hold Intervals; item 1 is int\."):
        joined([fold(0, 2), 3])  # type: ignore[list-item]
    two = ucc.Intervals.from_bands(np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 2)))
    with pytest.raises(
        ValueError, match=r"must have the same outputs: fold 1 differs from fold 0\."
    ):
        joined([fold(0, 2), two])
    with pytest.raises(
        ValueError, match=r"`rows\[1\]` must hold one label per row: 2 labels for 3 rows"
    ):
        repeated_rows([fold(0, 2), fold(1, 3)], [[1, 2], [3, 4]])


def test_resampling_draws_the_repetitions_of_a_row_together() -> None:
    rng = np.random.default_rng(0)
    y, p, bands = rng.normal(size=60), np.zeros(60), rng.gamma(2, size=(2, 60))
    runs = [ucc.Intervals.from_bands(y, p, band) for band in bands]
    label = np.tile(np.arange(60), 2)
    repeated = ucc.assess({"runs": runs}, coverage=0.9, n_resamples=99).rows[0]
    labelled = ucc.assess({"runs": joined(runs)}, coverage=0.9, n_resamples=99, block=label).rows[0]
    apart = ucc.assess({"runs": joined(runs)}, coverage=0.9, n_resamples=99).rows[0]
    assert repeated.crps_skill == labelled.crps_skill
    assert repeated.crps_skill != apart.crps_skill


def test_folds_may_be_curves_of_one_kind() -> None:
    parts = [fold(0, 20), fold(1, 30)]
    curves = [ucc.UCC(part, vary="shift") for part in parts]
    whole = ucc.UCC(joined(parts), vary="shift")
    assert (
        ucc.assess({"m": curves}, coverage=0.8).to_dict()
        == ucc.assess({"m": whole}, coverage=0.8).to_dict()
    )
    with pytest.raises(
        ValueError, match=r"folds of a model must be of one kind, .*; those of 'm' differ"
    ):
        ucc.assess({"m": [curves[0], parts[1]]}, coverage=0.8)
