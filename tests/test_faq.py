"""Each error message that the questions page is keyed by is one that users really read."""

import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from pages import DOCS

ROWS = [1.0, 2.0, 4.0]
FINE = ucc.Intervals.from_bands(ROWS, y_pred=[0.0, 0.0, 0.0], lower_band=[1.0, 2.0, 3.0])
NEVER = ucc.Intervals.from_bands(ROWS, y_pred=[0.0, 0.0, 0.0], lower_band=[1.0, 2.0, 0.0])
WEIGHTED = ucc.Intervals.from_bands(ROWS, [0.0] * 3, [1.0, 2.0, 3.0], weight=[1.0, 2.0, 3.0])
OTHER = ucc.Intervals.from_bands(
    [1.0, 2.0, 5.0], y_pred=[0.0, 0.0, 0.0], lower_band=[1.0, 2.0, 3.0]
)
LEVEL = ucc.Intervals.from_bands([1.0, 1.0], y_pred=[0.0, 0.0], lower_band=[1.0, 2.0])


def bounds(**changed: Any) -> Callable[[], object]:
    given = {
        "y_true": ROWS,
        "y_pred": ROWS,
        "lower": [0.0, 1.0, 2.0],
        "upper": [2.0, 3.0, 5.0],
        **changed,
    }
    return lambda: ucc.Intervals.from_bounds(**given)


def frame() -> object:
    pandas = pytest.importorskip("pandas")
    return ucc.Intervals.from_frame(
        pandas.DataFrame({"y_true": ROWS, "lower": ROWS, "upper": ROWS, "yhat": ROWS})
    )


def dropped() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return bounds(y_true=[1.0, np.nan, 4.0], missing="drop")()


def other_group() -> object:
    fitted = ucc.IntervalCalibrator(coverage=0.3).fit(FINE, groups=["a", "a", "b"])
    return fitted.apply(FINE, groups=["a", "b", "c"])


def without_matplotlib() -> object:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "matplotlib", None)
        return ucc.UCC(FINE).plot()


CAUSES: dict[str, Callable[[], object]] = {
    "`lower` must not exceed `upper`": bounds(lower=[0.0, 9.0, 2.0]),
    "`y_pred` must lie between `lower` and `upper`": bounds(y_pred=[1.0, 9.0, 4.0]),
    "`lower_band` must not be negative": lambda: ucc.Intervals.from_bands(
        ROWS, ROWS, [1.0, -1.0, 2.0]
    ),
    "`y_true` must be finite": bounds(y_true=[1.0, np.inf, 4.0]),
    "`upper` must have the shape of `y_true`": bounds(upper=[[2.0], [3.0], [5.0]]),
    "`y_true` must hold numbers": bounds(y_true=["1", "2", "4"]),
    "`y_true` must hold at least one row": bounds(y_true=[], y_pred=[], lower=[], upper=[]),
    "`y_true` must fit float64 exactly": bounds(y_true=[2**53 + 1, 2, 4]),
    "`weight` must not be negative": bounds(weight=[1.0, -1.0, 1.0]),
    "`y_pred` must name a column of `frame`": frame,
    "`min_band` must be a number of at least 0": bounds(min_band="wide"),
    "dropped 1 of 3 rows": dropped,
    "`coverage` must lie between 0 and 1": lambda: ucc.assess(FINE, coverage=90),
    "give `coverage` or `miss_rate`, not both": lambda: ucc.UCC(FINE).find(
        coverage=0.9, miss_rate=0.1
    ),
    "`axes` must be two of": lambda: ucc.UCC(FINE).area(axes=("exces", "deficit")),  # type: ignore[arg-type]
    "no scale reaches miss_rate=0": lambda: ucc.UCC(NEVER).find(miss_rate=0),
    "`conformal` at miss_rate=0.01 needs at least 99 rows": lambda: ucc.UCC(FINE).find(
        miss_rate=0.01, conformal=True
    ),
    "`conformal` counts rows, so it needs equal weights": lambda: ucc.UCC(WEIGHTED).find(
        miss_rate=0.5, conformal=True
    ),
    "`confidence` needs conformal=True": lambda: ucc.UCC(FINE).find(coverage=0.5, confidence=0.9),
    "give one target to find": lambda: ucc.UCC(FINE).find(),
    "give one range only": lambda: ucc.UCC(FINE).area(miss_rate=(0, 1), bandwidth=(0, 1)),
    "`reference` must have the same y_true": lambda: ucc.UCC(FINE).gain(reference=OTHER),
    '`unit="std"` needs a y_true that varies': lambda: ucc.UCC(LEVEL).area(unit="std"),
    "`levels` must be nested": lambda: ucc.UCC.from_levels(
        {0.5: FINE, 0.9: FINE.calibrated(scale=0.5)}
    ),
    "`models` 'one' and 'two' must have the same y_true": lambda: ucc.assess(
        {"one": FINE, "two": OTHER}
    ),
    "`a` and `b` must have the same rows": lambda: ucc.permutation_test(FINE, LEVEL),
    "`a` must have a finite area": lambda: ucc.permutation_test(NEVER, FINE),
    "a bootstrap needs at least two": lambda: ucc.bootstrap(FINE, block=3),
    "`block` must hold one label per row": lambda: ucc.bootstrap(FINE, block=["a", "b"]),
    "this IntervalCalibrator is not fitted": lambda: ucc.IntervalCalibrator(miss_rate=0.1).apply(
        FINE
    ),
    "`groups` must have been seen at fit": other_group,
    "plots need matplotlib": without_matplotlib,
}


@pytest.mark.parametrize("sentence", CAUSES)
def test_the_sentence_is_what_users_read(sentence: str) -> None:
    with pytest.raises((ValueError, TypeError, ImportError, Warning), match=re.escape(sentence)):
        CAUSES[sentence]()


def test_every_message_of_the_page_has_a_cause_here() -> None:
    text = (DOCS / "faq.md").read_text(encoding="utf-8")
    keys = re.findall(r"^(\S.*)\n:   ", text[text.index("## Error messages") :], re.MULTILINE)
    assert keys == list(CAUSES)
