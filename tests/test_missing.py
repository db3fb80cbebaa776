"""Rows that some models lack: who lacks which, what is compared, and what is said."""

from __future__ import annotations

import json
from contextlib import nullcontext
from math import exp, log
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numpy.testing import assert_allclose

import uccurve as ucc

N = 240
Flags = npt.NDArray[np.bool_]
GONE: dict[str, Flags | None] = {
    "a": np.arange(N) < 20,
    "b": (np.arange(N) >= 10) & (np.arange(N) < 50),
    "c": None,
}


def models(seed: int = 0) -> dict[str, ucc.Intervals]:
    """Three models of the same rows, two of which have no prediction for some."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=N)
    given = {}
    for quality, (name, gone) in enumerate(GONE.items(), 1):
        y_pred = 0.3 * quality * rng.normal(size=N)
        band = np.full(N, 1.0 + 0.2 * quality)
        if gone is not None:
            y_pred[gone] = np.nan
        with pytest.warns(ucc.DroppedRowsWarning) if gone is not None else nullcontext():
            given[name] = ucc.Intervals.from_bands(y, y_pred, band, missing="drop")
    return given


def has(name: str) -> Flags:
    """Which rows a model has."""
    gone = GONE[name]
    return np.ones(N, np.bool_) if gone is None else ~gone


def complete() -> Flags:
    return np.arange(N) >= 50


def test_models_that_lack_different_rows_are_refused_with_what_would_help() -> None:
    with pytest.raises(
        ValueError, match=r'must have the same rows: of 240, a lacks 20, b lacks 40.*missing="drop"'
    ):
        ucc.assess(models(), coverage=0.9)


def test_dropped_rows_are_those_that_some_model_lacks() -> None:
    given = models()
    label = np.where(np.arange(N) < 50, "first", "rest")
    found = ucc.assess(given, coverage=0.9, missing="drop", by=label)
    assert found.missing is not None
    assert (found.missing.dropped, found.missing.kept) == (50, N - 50)
    assert found.missing.lacking == {"a": 20, "b": 40, "c": 0}
    assert found.missing.vanished == ("first",)
    assert [segment.label for segment in found.segments] == ["rest"] * 3
    on_shared = {name: iv[complete()[has(name)]] for name, iv in given.items()}
    expected = ucc.assess(on_shared, coverage=0.9)
    for row in found.rows:
        assert row.score == expected[row.name].score
        assert row.n == N - 50


def test_what_was_dropped_stands_in_the_verdict_and_in_the_json() -> None:
    found = ucc.assess(models(), coverage=0.9, missing="drop")
    assert "50" in found.verdict.text.splitlines()[-1] or "50 rows" in found.verdict.text
    assert "b" in found.verdict.text
    saved = json.loads(found.to_json())["missing"]
    assert saved["dropped"] == 50
    assert saved["lacking"] == {"a": 20, "b": 40, "c": 0}


def test_labels_may_be_of_the_given_rows_or_of_those_that_are_left() -> None:
    given = models()
    given_rows, left = np.arange(N) // 10, (np.arange(N) // 10)[complete()]
    results = [
        ucc.assess(given, coverage=0.9, missing="drop", block=block) for block in (given_rows, left)
    ]
    assert results[0].to_json() == results[1].to_json()


def test_one_model_with_dropped_rows_says_so() -> None:
    found = ucc.assess(models()["a"], coverage=0.9)
    assert found.missing is not None
    assert found.missing.lacking == {"model": 20}
    assert any("20 rows with missing values were dropped" in note for note in found.notes)


def shared(given: dict[str, ucc.Intervals], first: str, second: str) -> dict[str, ucc.Intervals]:
    """Two models on the rows that both have."""
    both = has(first) & has(second)
    return {name: given[name][both[has(name)]] for name in (first, second)}


def test_pairwise_each_model_has_its_own_rows_and_pairs_the_rows_that_both_have() -> None:
    given = models()
    found = ucc.assess(given, coverage=0.9, missing="pairwise")
    assert [row.n for row in found.rows] == [220, 200, 240]
    for row in found.rows:
        alone = ucc.assess(given[row.name], coverage=0.9).rows[0]
        assert row.score == alone.score
        assert row.coverage == alone.coverage
    for pair in found.comparisons:
        two = ucc.assess(shared(given, pair.first, pair.second), coverage=0.9)
        (expected,) = two.comparisons
        assert_allclose(pair.difference.value, expected.difference.value)
        assert_allclose(pair.pvalue, expected.pvalue)
        scores = [two[name].score.value for name in (pair.first, pair.second)]
        assert_allclose(pair.ratio, scores[0] / scores[1])


def test_pairwise_ranks_by_the_geometric_mean_of_score_ratios_on_shared_rows() -> None:
    given = models(3)
    found = ucc.assess(given, coverage=0.9, missing="pairwise")
    means = {}
    for name in given:
        logs = [0.0]
        for other in given:
            if other != name:
                two = ucc.assess(shared(given, name, other), coverage=0.9)
                logs.append(log(two[name].score.value / two[other].score.value))
        means[name] = exp(sum(logs) / len(logs))
    assert [row.name for row in found.ranking] == sorted(means, key=means.__getitem__)


def test_pairwise_says_who_lacks_what_and_does_not_correct_the_choice() -> None:
    given = {name: iv.calibrated(scale=0.5) for name, iv in models().items()}
    found = ucc.assess(given, coverage=0.9, missing="pairwise", block=np.arange(N) // 4)
    assert found.missing is not None
    assert found.missing.lacking == {"a": 20, "b": 40, "c": 0}
    assert found.missing.dropped == 0
    if not found.verdict.decided:
        assert not found.verdict.choice.corrected


def test_pairwise_refuses_models_that_share_no_row() -> None:
    y = np.linspace(-1, 2, 40)
    nothing: dict[str, Any] = {}
    for name, rows in (("x", np.arange(40) < 20), ("y", np.arange(40) >= 20)):
        with pytest.warns(ucc.DroppedRowsWarning):
            nothing[name] = ucc.Intervals.from_bands(
                y, np.where(rows, 0.0, np.nan), np.ones(40), missing="drop"
            )
    sentence = r"`models` must share rows pair by pair: 'x' and 'y' have none in common\. Hint: "
    with pytest.raises(ValueError, match=sentence):
        ucc.assess(nothing, coverage=0.9, missing="pairwise")
    with pytest.raises(ValueError, match=r"`models` must share at least one row"):
        ucc.assess(nothing, coverage=0.9, missing="drop")
