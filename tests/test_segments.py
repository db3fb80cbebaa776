"""Segments by labels and by equal-count bins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import uccurve as ucc
from uccurve.assess.segments import SegmentRows, segment_rows
from uccurve.evidence.units import Blocks


def segments(
    by: Any, rows: int, bins: int = 4, block: Any = None, **options: Any
) -> list[SegmentRows]:
    iv = ucc.Intervals.from_bands(np.zeros(rows), np.zeros(rows), np.ones(rows), **options)
    return segment_rows(by, Blocks.of(iv, block), bins)


def sizes(by: Any, rows: int, bins: int = 4) -> dict[str, int]:
    return {f"{part.feature} {part.label}": len(part.rows) for part in segments(by, rows, bins)}


def test_labels_of_any_kind_make_a_segment_each() -> None:
    assert sizes(["x", "y", "x"], 3) == {"segment x": 2, "segment y": 1}
    assert sizes(np.array(["b", "a", "b"], object), 3) == {"segment b": 2, "segment a": 1}
    assert sizes([True, False, True], 3) == {"segment False": 1, "segment True": 2}
    assert sizes([3, 1, 3], 3) == {"segment 1": 1, "segment 3": 2}


def test_several_features_keep_their_names() -> None:
    assert sizes({"sex": ["f", "m"], "age": [30, 60]}, 2) == {
        "sex f": 1,
        "sex m": 1,
        "age 30": 1,
        "age 60": 1,
    }


def test_a_series_brings_its_name() -> None:
    pandas = pytest.importorskip("pandas")
    assert sizes(pandas.Series(["n", "s"], name="side"), 2) == {"side n": 1, "side s": 1}


def test_numbers_are_cut_into_bins_of_equal_count() -> None:
    values = np.random.default_rng(0).permutation(100) / 8
    assert sizes(values, 100) == {
        "segment 0 to 3": 25,
        "segment 3.125 to 6.125": 25,
        "segment 6.25 to 9.25": 25,
        "segment 9.375 to 12.38": 25,
    }


def test_few_different_integers_are_labels_and_many_are_numbers() -> None:
    """Hours, weekdays and codes of sites are not cut."""
    assert len(segments(list(range(24)) * 2, 48, 4)) == 24
    assert len(segments(list(range(51)), 51, 4)) == 4


def test_ties_stay_in_one_bin() -> None:
    values = [0.0] * 70 + list(np.arange(1.0, 31.0))
    assert sizes(values, 100) == {"segment 0": 70, "segment 1 to 5": 5, "segment 6 to 30": 25}


@given(st.lists(st.integers(0, 30).map(float), min_size=1, max_size=60), st.integers(1, 6))
def test_every_row_is_in_one_bin_and_bins_are_in_order(values: list[float], bins: int) -> None:
    found = segments(values, len(values), bins)
    assert_array_equal(
        np.sort(np.concatenate([part.rows for part in found])), np.arange(len(values))
    )
    limits = [
        (np.array(values)[part.rows].min(), np.array(values)[part.rows].max()) for part in found
    ]
    assert len(found) <= bins
    assert all(high < low for (_, high), (low, _) in pairwise(limits))


def test_rows_are_numbered_among_those_that_carry_weight_and_keep_their_blocks() -> None:
    found = segments(
        ["a", "a", "b", "b", "c"], 5, block=[7, 8, 8, 8, 9], weight=[0.0, 1.0, 1.0, 1.0, 0.0]
    )
    assert [(part.label, part.rows.tolist(), part.blocks.count) for part in found] == [
        ("a", [0], 1),
        ("b", [1, 2], 1),
    ]


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        (["a", "b"], r"`by` must hold one label per row: 2 labels"),
        ({"age": [1, 2]}, r"`by\['age'\]` must hold one label per row: 2 labels"),
        (
            [1.0, np.nan, 2.0],
            r"`by` must hold a label in each row: 1 of 3 rows has none, first row 1",
        ),
        (
            ["a", None, "b"],
            r"`by` must hold a label in each row: 1 of 3 rows has none, first row 1",
        ),
        (
            np.ma.array([1, 2, 3], mask=[False, True, False]),
            r"`by` must hold a label in each row: 1 of 3 rows has none, first row 1",
        ),
    ],
)
def test_bad_labels_are_refused_in_a_sentence(by: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        segments(by, 3)
