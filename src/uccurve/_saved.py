"""Saved results: the one reader of JSON that somebody else may have written, edited or damaged.

A shape says what the JSON must look like, field by field. Whatever differs is refused in one sentence that names the
field, and the file where there is one. What passes holds no NaN, no infinity and no number beyond 1e308.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ._files import shown_path, written
from ._refusals import shown

LARGEST = 64 << 20  # bytes of JSON that are read at most
DEEPEST = 40  # lists and objects within each other, far more than any shape has
LONGEST_INTEGER = 4000  # digits; Python converts 4,300 at most
MOST = 1 << 53  # what counts stay below, so that they are exact as float64


class Kind(NamedTuple):
    """What a value must be: the words for it, and the test."""

    words: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Growing:
    """An object with these names, and perhaps others that a later version has added, which are ignored."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ruled:
    """An object of a shape whose fields must also fit each other.

    >>> interval = Growing({"low": NUMBER, "high": NUMBER})
    >>> ruled = Ruled(
    ...     interval, "`low` must not exceed `high`", lambda fields: fields["low"] <= fields["high"]
    ... )
    >>> parsed('{"low": 2, "high": 1}', ruled)
    Traceback (most recent call last):
    ValueError: `low` must not exceed `high`
    """

    shape: Any
    words: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Named:
    """An object whose names are free, such as those of models, and whose values all have one shape; not empty."""

    shape: Any


@dataclass(frozen=True, slots=True)
class OrNull:
    """A shape, or null."""

    shape: Any


# A kind of value, an object with these names and no others, one that may grow, whose fields fit each other or whose
# names are free, a shape that may be null, or a list that is not empty.
Shape = Kind | Growing | Ruled | Named | OrNull | dict[str, Any] | list[Any]
ANY = Kind("anything", lambda _: True)
TEXT = Kind("text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WHOLE = Kind("an integer of at least 0", lambda value: type(value) is int and 0 <= value < MOST)
COUNT = Kind("an integer of at least 1", lambda value: WHOLE.holds(value) and value > 0)
NUMBER = Kind("a finite number", lambda value: type(value) in (int, float) and abs(value) < 1e308)
SIZE = Kind("a finite number of at least 0", lambda value: NUMBER.holds(value) and value >= 0)
POSITIVE = Kind("a finite number above 0", lambda value: NUMBER.holds(value) and value > 0)
SHARE = Kind("a number from 0 to 1", lambda value: NUMBER.holds(value) and 0 <= value <= 1)
PROPORTION = Kind(
    "a number between 0 and 1, both excluded", lambda value: NUMBER.holds(value) and 0 < value < 1
)


def exactly(expected: object) -> Kind:
    """Return the kind that is one value alone."""
    return Kind(repr(expected), lambda value: type(value) is type(expected) and value == expected)


def among(*options: str) -> Kind:
    """Return the kind of a text that is one of a few."""
    return Kind(f"one of {', '.join(options)}", lambda value: value in options)


def or_null(kind: Kind) -> Kind:
    """Return a kind that may also be null."""
    return Kind(f"{kind.words}, or null", lambda value: value is None or kind.holds(value))


def list_of(kind: Kind, words: str) -> Kind:
    """Return the kind of a list, which may be empty."""
    return Kind(words, lambda value: isinstance(value, list) and all(map(kind.holds, value)))


def ordered(kind: Kind, *names: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return a rule for `Ruled`: these fields, of which some may be null, must not fall.

    >>> ordered(NUMBER, "low", "value", "high")({"low": 1, "value": 0, "high": 2})
    False
    """

    def holds(fields: Mapping[str, Any]) -> bool:
        values = [fields[name] for name in names if fields[name] is not None]
        return all(map(kind.holds, values)) and values == sorted(values)

    return holds


def version(latest: int) -> Kind:
    """Return the kind of a version number that this reader knows."""
    words = f"{latest}, or an earlier version (a later uccurve may have written it: upgrade)"
    return Kind(words, lambda value: type(value) is int and 1 <= value <= latest)


def parsed(text: str | bytes, shape: Shape) -> Any:
    """Return what JSON text holds; ValueError for another shape, NaN, repeated names and deep nests.

    >>> parsed('{"rows": 0}', {"rows": COUNT})
    Traceback (most recent call last):
    ValueError: `rows` must be an integer of at least 1; got 0
    """
    data = _loaded(text)
    check(data, shape)
    return data


def read(path: str | Path, shape: Shape, what: str) -> Any:
    """Return what a JSON file holds; `what` says in a sentence what the file must be."""
    place = Path(path)
    with place.open("rb") as stream:
        text = stream.read(LARGEST + 1)
    try:
        return parsed(text, shape)
    except ValueError as error:
        raise ValueError(f"{shown_path(place)} must be {what}: {error}.") from None


def replace(path: str | Path, text: str) -> None:
    """Write a file in the place of an earlier one: whoever reads it sees the old text or the new one, never a part."""
    with written(path, force=True) as beside:
        beside.write_text(text, encoding="utf-8")


def sealed(data: Mapping[str, Any]) -> str:
    """Return an object as JSON with a digest of its content, so that `unsealed` notices any change.

    >>> sealed({"rows": 3})
    '{"rows":3,"digest":"32a461613f889715"}'
    """
    whole = {**data, "digest": _digest(data)}
    return json.dumps(whole, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def unsealed(text: str | bytes, shape: Shape) -> Any:
    """Return what `sealed` wrote, without its digest; ValueError where anything was changed."""
    data = _loaded(text)
    check(data, shape)
    digest = data.pop("digest", None)
    if digest != _digest(data):
        raise ValueError("it was edited or damaged, as its `digest` says")
    return data


def check(value: Any, shape: Shape, name: str = "") -> None:
    """Refuse a value of another shape; `name` is the field, with where it stands; nothing for the whole."""
    if isinstance(shape, Kind):
        if not shape.holds(value):
            raise ValueError(f"{_called(name)} must be {shape.words}; got {shown(value)}")
    elif isinstance(shape, list):
        _check_list(value, shape[0], name)
    elif isinstance(shape, Growing):
        _check_object(value, shape.fields, name)
    elif isinstance(shape, OrNull):
        if value is not None:
            check(value, shape.shape, name)
    elif isinstance(shape, Ruled):
        check(value, shape.shape, name)
        if not shape.holds(value):
            raise ValueError(f"in `{name}`, {shape.words}" if name else shape.words)
    elif isinstance(shape, Named):
        _check_named(value, shape.shape, name)
    else:
        _check_object(value, shape, name)
        _refuse_names("has unknown", value.keys() - shape.keys(), name)


def _check_list(value: Any, inner: Shape, name: str) -> None:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{_called(name)} must be a list that is not empty")
    for place, item in enumerate(value):
        check(item, inner, f"{name}[{place}]")


def _check_named(value: Any, inner: Shape, name: str) -> None:
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{_called(name)} must be an object that is not empty; got {shown(value)}")
    for key, item in value.items():
        short = f"{key:.40}"
        check(item, inner, f"{name}.{short}" if name else short)


def _check_object(value: Any, fields: Mapping[str, Any], name: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{_called(name)} must be an object; got {shown(value)}")
    _refuse_names("lacks", fields.keys() - value.keys(), name)
    for key, inner in fields.items():
        check(value[key], inner, f"{name}.{key}" if name else key)


def _refuse_names(word: str, names: set[str], name: str) -> None:
    if names:
        first = sorted(names)[:5]
        raise ValueError(f"{_called(name)} {word} {', '.join(f'`{key:.40}`' for key in first)}")


def _called(name: str) -> str:
    """Return what a sentence calls a field.

    >>> _called("models[2].levels[0].lower"), _called("rows"), _called("")
    ('in `models[2].levels[0]`, `lower`', '`rows`', 'it')
    """
    where, _, field = name.rpartition(".")
    if where:
        return f"in `{where}`, `{field}`"
    return f"`{field}`" if field else "it"


def _loaded(text: str | bytes) -> Any:
    """Return what JSON text holds, whatever it is."""
    if len(text) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST >> 20} MB")
    try:
        data = json.loads(
            text, parse_constant=_no_constant, parse_int=_integer, object_pairs_hook=_no_repeats
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _refuse_depth(data)
    return data


def _refuse_depth(data: Any) -> None:
    """Refuse nests that would exhaust whoever walks through them."""
    layer = [data]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for value in layer:
            if isinstance(value, dict):
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        layer = inner
    if layer:
        raise ValueError("it is nested too deeply")


def _digest(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, allow_nan=False)
    return sha256(text.encode()).hexdigest()[:16]


def _integer(digits: str) -> int:
    if len(digits) > LONGEST_INTEGER:
        raise ValueError(f"it holds an integer of {len(digits)} digits")
    return int(digits)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a name is repeated")
    return data
