"""A sketch comes back from its JSON to the last bit, and no other text is accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import uccurve as ucc
from strategies import Data, mixed
from uccurve.sketch.sketch import UCCSketch

IV = ucc.Intervals.from_bands(
    [1, 2, 4, 9, 5, 1], y_pred=[0] * 6, lower_band=[1, 1, 4, 4, 1, 0], upper_band=[1, 3, 4, 5, 1, 0]
)
GOOD = UCCSketch().update(IV).to_json()


@given(data=mixed(12, never=True))
def test_json_keeps_every_bit(data: Data) -> None:
    s = UCCSketch().update(data.intervals())
    back = UCCSketch.from_json(s.to_json())
    assert back == s
    assert back.to_json() == s.to_json() == UCCSketch.from_json(s.to_json().encode()).to_json()


def test_json_is_plain_and_has_no_infinity() -> None:
    body = json.loads(GOOD, parse_constant=pytest.fail)
    assert body["critical"]["maximum"][-1] is None
    assert body["critical"]["rows"] == [1, 2, 1, 1, 1]
    assert UCCSketch.from_json(UCCSketch().to_json()) == UCCSketch()


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    body = json.loads(GOOD)
    change(body)
    return json.dumps(body)


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "it is not JSON"),
    "cut off": (GOOD[:-5], "it is not JSON"),
    "not UTF-8": (b"\xff\xfe\xfa", "it is not JSON"),
    "deep": ("[" * 100_000, "it is not JSON"),
    "huge number": (GOOD.replace('"raised":0', '"raised":' + "9" * 5000), "it is not JSON"),
    "a list": ("[]", "it must be an object, not list"),
    "another version": (changed(lambda b: b.update(version=1)), "`version` must be 2"),
    "version true": (changed(lambda b: b.update(version=True)), "`version` must be 2"),
    "other bins": (changed(lambda b: b.update(bits=8)), "must lie in their bins"),
    "no such bins": (changed(lambda b: b.update(bits=9)), "`bits` must be one of 5, 6, 7, 8"),
    "a name too many": (changed(lambda b: b.update(evil=1)), "its names must be"),
    "a name too few": (changed(lambda b: b.pop("crossover")), "its names must be"),
    "weighted maybe": (changed(lambda b: b.update(weighted=1)), "`weighted` must be true or false"),
    "negative count": (changed(lambda b: b.update(dropped=-1)), "`dropped` must hold integers"),
    "infinite total": (changed(lambda b: b.update(y_sum=float("inf"))), "`y_sum` must hold finite numbers"),
    "text for numbers": (changed(lambda b: b["critical"].update(error=["1"] * 5)), "`critical.error` must hold"),
    "true for a number": (changed(lambda b: b["critical"]["rows"].__setitem__(0, True)), "`critical.rows` must hold"),
    "NaN": (changed(lambda b: b["critical"]["error"].__setitem__(0, float("nan"))), "must hold finite"),
    "1e999": (GOOD.replace('"y_sum":22.0', '"y_sum":1e999'), "`y_sum` must hold finite numbers"),
    "10**400": (changed(lambda b: b["errors"]["error"].__setitem__(0, 10**400)), "within float64"),
    "negative sum": (changed(lambda b: b["critical"]["active"].__setitem__(0, -1.0)), "of at least 0"),
    "no list": (changed(lambda b: b["critical"].update(bin="64")), "`critical` must have the arrays"),
    "no object": (changed(lambda b: b.update(critical=[])), "`critical` must have the arrays"),
    "short array": (changed(lambda b: b["critical"]["rows"].pop()), "of one length"),
    "too many bins": (changed(lambda b: b["errors"].update({k: [1] * 40_000 for k in b["errors"]})), "of one length"),
    "bin out of range": (changed(lambda b: b["critical"]["bin"].__setitem__(0, -99_999)), "integers from -4097"),
    "bins in disorder": (changed(lambda b: b["critical"]["bin"].reverse()), "`critical.bin` must ascend"),
    "no rows": (changed(lambda b: b["critical"]["rows"].__setitem__(0, 0)), "integers from 1"),
    "outside its bin": (changed(lambda b: b["critical"]["maximum"].__setitem__(0, 7.0)), "must lie in their bins"),
    "null inside": (changed(lambda b: b["critical"]["maximum"].__setitem__(0, None)), "must lie in their bins"),
    "mean outside its bin": (changed(lambda b: b["critical"]["scale"].__setitem__(0, 9.0)), "must fit its bins"),
    "errors that do not fit": (changed(lambda b: b["critical"]["error"].__setitem__(0, 1.0)), "must fit its bins"),
    "crossovers that do not fit": (changed(lambda b: b["crossover"]["error"].__setitem__(0, 99.0)), "must fit its bin"),
    "weights that do not fit": (changed(lambda b: b["critical"]["weight"].__setitem__(1, 1.0)), "the number of rows"),
    "more rows here than there": (changed(lambda b: b["errors"]["rows"].__setitem__(0, 9)), "count the same rows"),
    "active beyond width": (changed(lambda b: b["critical"]["width"].__setitem__(0, 0.0)), "must not exceed"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_with_the_reason(name: str) -> None:
    text, reason = HOSTILE[name]
    with pytest.raises(ValueError, match=r"^`text` must be the JSON of a sketch: .*Hint: read what") as refusal:
        UCCSketch.from_json(text)
    assert reason in str(refusal.value)


@pytest.mark.parametrize("text", [None, 3, {"format": "uccurve sketch"}])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(TypeError, match="must be a str or bytes"):
        UCCSketch.from_json(text)


@given(at=st.integers(0, len(GOOD) - 1), character=st.characters(codec="ascii"))
def test_a_changed_character_never_breaks_more_than_the_reading(at: int, character: str) -> None:
    try:
        back = UCCSketch.from_json(GOOD[:at] + character + GOOD[at + 1 :])
    except ValueError:
        return
    low, high = back.ucc().bracket("area", axes=("bandwidth", "bandwidth"))
    assert np.isinf(high) or low <= high
