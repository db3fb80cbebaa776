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


CHANGED = "its names and numbers must be those that were written"
HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "it is not JSON"),
    "cut off": (GOOD[:-5], "it is not JSON"),
    "not UTF-8": (b"\xff\xfe\xfa", "it is not JSON"),
    "deep": ("[" * 100_000, "it is not JSON"),
    "huge number": (GOOD.replace('"raised":0', '"raised":' + "9" * 5000), "it is not JSON"),
    "a list": ("[]", "it must be an object, not list"),
    "another version": (changed(lambda b: b.update(version=1)), "`version` must be 4"),
    "version true": (changed(lambda b: b.update(version=True)), "`version` must be 4"),
    "other bins": (changed(lambda b: b.update(bits=8)), CHANGED),
    "no such bins": (changed(lambda b: b.update(bits=9)), CHANGED),
    "a name too many": (changed(lambda b: b.update(evil=1)), CHANGED),
    "a name too few": (changed(lambda b: b.pop("crossover")), CHANGED),
    "weighted maybe": (changed(lambda b: b.update(weighted=1)), CHANGED),
    "negative count": (changed(lambda b: b.update(dropped=-1)), CHANGED),
    "infinite total": (changed(lambda b: b.update(y_sum=float("inf"))), CHANGED),
    "text for numbers": (changed(lambda b: b["critical"].update(error=["1"] * 5)), CHANGED),
    "true for a number": (changed(lambda b: b["critical"]["rows"].__setitem__(0, True)), CHANGED),
    "NaN": (changed(lambda b: b["critical"]["error"].__setitem__(0, float("nan"))), CHANGED),
    "1e999": (GOOD.replace('"y_sum":22.0', '"y_sum":1e999'), CHANGED),
    "10**400": (changed(lambda b: b["errors"]["error"].__setitem__(0, 10**400)), CHANGED),
    "negative sum": (changed(lambda b: b["critical"]["active"].__setitem__(0, -1.0)), CHANGED),
    "no list": (changed(lambda b: b["critical"].update(bin="64")), CHANGED),
    "no object": (changed(lambda b: b.update(critical=[])), CHANGED),
    "short array": (changed(lambda b: b["critical"]["rows"].pop()), CHANGED),
    "too many bins": (changed(lambda b: b["errors"].update({k: [1] * 40_000 for k in b["errors"]})), CHANGED),
    "bin out of range": (changed(lambda b: b["critical"]["bin"].__setitem__(0, -99_999)), CHANGED),
    "bins in disorder": (changed(lambda b: b["critical"]["bin"].reverse()), CHANGED),
    "no rows": (changed(lambda b: b["critical"]["rows"].__setitem__(0, 0)), CHANGED),
    "outside its bin": (changed(lambda b: b["critical"]["maximum"].__setitem__(0, 7.0)), CHANGED),
    "null inside": (changed(lambda b: b["critical"]["maximum"].__setitem__(0, None)), CHANGED),
    "mean outside its bin": (changed(lambda b: b["critical"]["scale"].__setitem__(0, 9.0)), CHANGED),
    "errors that do not fit": (changed(lambda b: b["critical"]["error"].__setitem__(0, 1.0)), CHANGED),
    "crossovers that do not fit": (changed(lambda b: b["crossover"]["error"].__setitem__(0, 99.0)), CHANGED),
    "weights that do not fit": (changed(lambda b: b["critical"]["weight"].__setitem__(1, 1.0)), CHANGED),
    "more rows here than there": (changed(lambda b: b["errors"]["rows"].__setitem__(0, 9)), CHANGED),
    "active beyond width": (changed(lambda b: b["critical"]["width"].__setitem__(0, 0.0)), CHANGED),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_with_the_reason(name: str) -> None:
    text, reason = HOSTILE[name]
    with pytest.raises(
        ValueError, match=r"^`text` must be the JSON of a sketch: .*Hint: read what"
    ) as refusal:
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
