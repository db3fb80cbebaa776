"""Shapes: what JSON from outside must look like, and a sentence where it does not."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from ._refusals import shown


class Kind(NamedTuple):
    """What a value must be: the words for it, and the test."""

    words: str
    holds: Callable[[Any], bool]


# A kind of value, an object with these names and no others, or a list that is not empty.
Shape = Kind | dict[str, Any] | list[Any]
ANY = Kind("anything", lambda _: True)
TEXT = Kind("text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("an integer of at least 1", lambda value: type(value) is int and value > 0)
NUMBER = Kind("a finite number", lambda value: type(value) in (int, float) and abs(value) < 1e308)
SIZE = Kind("a finite number of at least 0", lambda value: NUMBER.holds(value) and value >= 0)


def exactly(expected: object) -> Kind:
    """Return the kind that is one value alone."""
    return Kind(repr(expected), lambda value: type(value) is type(expected) and value == expected)


def or_null(kind: Kind) -> Kind:
    """Return a kind that may also be null."""
    return Kind(f"{kind.words}, or null", lambda value: value is None or kind.holds(value))


def list_of(kind: Kind, words: str) -> Kind:
    """Return the kind of a list, which may be empty."""
    return Kind(words, lambda value: isinstance(value, list) and all(map(kind.holds, value)))


def parsed(text: str | bytes, shape: Shape) -> Any:
    """Return what JSON text holds; ValueError for another shape, NaN, repeated names and deep nests.

    >>> parsed('{"rows": 0}', {"rows": COUNT})
    Traceback (most recent call last):
    ValueError: `rows` must be an integer of at least 1; got 0
    """
    try:
        data = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    check(data, shape)
    return data


def check(value: Any, shape: Shape, name: str = "") -> None:
    """Refuse a value of another shape; `name` is what sentences call it, nothing for the whole."""
    what = f"`{name}`" if name else "it"
    if isinstance(shape, Kind):
        if not shape.holds(value):
            raise ValueError(f"{what} must be {shape.words}; got {shown(value)}")
    elif isinstance(shape, list):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{what} must be a list that is not empty")
        for one in value:
            check(one, shape[0], name)
    else:
        if not isinstance(value, dict):
            raise ValueError(f"{what} must be an object; got {shown(value)}")
        for word, names in (("lacks", shape.keys() - value.keys()), ("has unknown", value.keys() - shape.keys())):
            if names:
                raise ValueError(f"{what} {word} {', '.join(f'`{one:.40}`' for one in sorted(names)[:5])}")
        for key, inner in shape.items():
            check(value[key], inner, key)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a name is repeated")
    return data
