"""Three hundred frames at random, streamed and in memory; `python tests/fuzz_frames.py` looks at any number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import uccurve.sketch._engines as engines
import uccurve.sketch._second_pass as second
from fuzz_frames import ENGINES, check
from streamed import DisagreementError
from uccurve.sketch._bins import SketchState
from uccurve.sketch._scan import col

pytest.importorskip("polars")
SOME = {"polars": 300, "pyarrow": 25, "pandas": 25, "duckdb": 25}
# Known to disagree: where few weighted rows are missed, streams take fewer degrees of freedom than memory, so that
# the interval of a score is too long. Whoever mends that takes the frame out of here.
TOO_LONG = {153}


@pytest.mark.parametrize("engine", SOME)
def test_frames_at_random_are_assessed_as_in_memory(engine: str) -> None:
    pytest.importorskip(engine)
    make = ENGINES[engine]()
    for seed in range(SOME[engine]):
        if seed in TOO_LONG:
            with pytest.raises(DisagreementError, match=r"score\.(low|high)"):
                check(seed, make)
            continue
        try:
            check(seed, make)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


# ---- that it sees


def _found(seeds: range = range(80)) -> bool:
    """Whether some of the first frames disagree."""
    for seed in seeds:
        try:
            check(seed)
        except (AssertionError, DisagreementError):
            return True
    return False


def _any_weight_counts(patch: pytest.MonkeyPatch) -> None:
    """As if constant weights were unequal: no conformal correction."""
    patch.setattr(SketchState, "unequal", property(lambda self: self.weighted))


def _bounds_are_not_raised(patch: pytest.MonkeyPatch) -> None:
    """As if `min_band` did not move the bounds of levels."""
    patch.setattr(second, "_bounds", lambda _, i: (col(f"lower_{i}"), col(f"upper_{i}")))


def _ties_are_missed(patch: pytest.MonkeyPatch) -> None:
    """As if an observation on its bound were outside."""

    def missed(_: Any, i: int) -> tuple[Any, Any]:
        return col("y_true") >= col(f"upper_{i}"), col("y_true") < col(f"lower_{i}")

    patch.setattr(engines, "sides_missed", missed)
    patch.setattr(second, "sides_missed", missed)


def _sums_are_too_large(patch: pytest.MonkeyPatch) -> None:
    """As if all sums of bins were too large by a millionth."""
    whole = engines._histogram

    def larger(*args: Any) -> Any:
        histogram = whole(*args)
        sums = {name: values * (1 + 1e-6) for name, values in histogram.sums.items()}
        return type(histogram)(histogram.bin, histogram.rows, histogram.maximum, sums)

    patch.setattr(engines, "_histogram", larger)


DEFECTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    _any_weight_counts,
    _bounds_are_not_raised,
    _ties_are_missed,
    _sums_are_too_large,
]


@pytest.mark.parametrize("plant", DEFECTS)
def test_a_planted_defect_is_seen(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert _found()
