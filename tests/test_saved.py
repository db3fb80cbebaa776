"""Whatever stands in a saved file, it is read as what it is, or refused in one sentence that names the field."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uccurve import _saved
from uccurve._saved import (
    COUNT,
    NUMBER,
    SHARE,
    TEXT,
    Growing,
    among,
    list_of,
    or_null,
    parsed,
    sealed,
    unsealed,
    version,
)

ROW = {"name": TEXT, "score": or_null(NUMBER)}
SHAPE = {
    "schema": version(2),
    "kind": among("a", "b"),
    "rows": [ROW],
    "n": COUNT,
    "ends": list_of(NUMBER, "numbers"),
}
GOOD: dict[str, Any] = {
    "schema": 1,
    "kind": "a",
    "rows": [{"name": "m", "score": 1.5}],
    "n": 3,
    "ends": [],
}


def test_what_fits_is_read_as_it_is() -> None:
    assert parsed(json.dumps(GOOD), SHAPE) == GOOD
    assert parsed(json.dumps(GOOD).encode(), SHAPE) == GOOD


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a later version": (
        {"schema": 3},
        r"`schema` must be 2, or an earlier version .*upgrade.*; got 3",
    ),
    "a true version": ({"schema": True}, "`schema` must be 2"),
    "another kind": ({"kind": "c"}, "`kind` must be one of a, b; got 'c'"),
    "a list of nothing": ({"rows": []}, "`rows` must be a list that is not empty"),
    "no row": ({"rows": [1]}, r"`rows\[0\]` must be an object; got 1"),
    "a row without a field": ({"rows": [{"name": "m"}]}, r"`rows\[0\]` lacks `score`"),
    "a row with another field": (
        {"rows": [{"name": "m", "score": 1, "x": 1}]},
        r"`rows\[0\]` has unknown `x`",
    ),
    "a score in words": (
        {"rows": [{"name": "m", "score": "1"}]},
        r"in `rows\[0\]`, `score` must be a finite number",
    ),
    "a count that is none": ({"n": 2.0}, r"`n` must be an integer of at least 1; got 2\.0"),
    "an end beyond float64": ({"ends": [1e308]}, "`ends` must be numbers"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_does_not_fit_is_refused_by_its_field(case: str) -> None:
    change, sentence = BROKEN[case]
    with pytest.raises(ValueError, match=sentence):
        parsed(json.dumps(GOOD | change), SHAPE)


TEXTS: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "it is not JSON"),
    "half a file": (json.dumps(GOOD)[:40], "it is not JSON"),
    "bytes that are no text": (b'{"a": "\xff"}', "it is not UTF-8 text"),
    "NaN": ('{"a": NaN}', "NaN is not a number"),
    "Infinity": ('{"a": -Infinity}', "-Infinity is not a number"),
    "a name twice": ('{"a": 1, "a": 2}', "a name is repeated"),
    "a nest": ("[" * 100_000, "nested too deeply|not JSON"),
    "a small nest": ("[" * 60 + "]" * 60, "nested too deeply"),
    "an integer of 10,000 digits": (f'{{"a": {"7" * 10_000}}}', "an integer of 10000 digits"),
    "a list": ("[]", r"it must be an object; got \[\]"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_hostile_text_is_refused(case: str) -> None:
    text, sentence = TEXTS[case]
    with pytest.raises(ValueError, match=sentence):
        parsed(text, {"a": NUMBER})


@pytest.mark.parametrize("number", ["1e308", "-1e309", "1e400", "9" * 309])
def test_a_number_that_would_become_infinite_is_refused(number: str) -> None:
    with pytest.raises(ValueError, match="`a` must be a finite number"):
        parsed(f'{{"a": {number}}}', {"a": NUMBER})


def test_too_large_a_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_saved, "LARGEST", 1 << 20)
    with pytest.raises(ValueError, match="it is larger than 1 MB"):
        parsed(" " * (1 << 20) + "{}", {})


def test_a_growing_object_ignores_what_a_later_version_added() -> None:
    assert parsed('{"a": 1, "new": [2]}', Growing({"a": NUMBER}))["a"] == 1
    with pytest.raises(ValueError, match="it lacks `a`"):
        parsed('{"new": [2]}', Growing({"a": NUMBER}))


def test_a_file_is_named_where_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"a": 2}', encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"state\.json must be a share: `a` must be a number from 0 to 1; got 2\."
    ):
        _saved.read(path, {"a": SHARE}, "a share")


def test_a_seal_tells_of_any_change() -> None:
    shape = Growing({"a": NUMBER})
    text = sealed({"a": 1.25, "b": [1, 2]})
    assert unsealed(text, shape) == {"a": 1.25, "b": [1, 2]}
    for changed in (
        text.replace("1.25", "1.26"),
        text.replace("[1,2]", "[2,1]"),
        json.dumps({"a": 1.25}),
    ):
        assert changed != text
        with pytest.raises(ValueError, match="it was edited or damaged"):
            unsealed(changed, shape)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    _saved.replace(path, "old")
    _saved.replace(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert [*tmp_path.iterdir()] == [path]


LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner)
)


@given(place=st.sampled_from(sorted(GOOD)), value=ANYTHING)
def test_any_other_value_is_read_or_refused_and_nothing_else_happens(
    place: str, value: Any
) -> None:
    with suppress(ValueError):
        data = parsed(json.dumps(GOOD | {place: value}), SHAPE)
        _saved.check(data, SHAPE)
        assert data[place] == value
