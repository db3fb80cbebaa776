"""Frames: named columns of any data frame as arrays, through narwhals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _refusals as checks

if TYPE_CHECKING:
    import narwhals as nw
    from narwhals.typing import IntoFrame


def columns(frame: IntoFrame, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns `names` (role to column name) of `frame` as arrays by role; lazy frames are collected."""
    import narwhals as nw

    chosen = opened(frame, names.items()).select(*dict.fromkeys(names.values()))
    eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    return {role: eager[name].to_numpy() for role, name in names.items()}


def opened(
    frame: IntoFrame, names: Iterable[tuple[str, str | None]]
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return `frame` for narwhals; refuse what is none or lacks one of the columns `names` (role and column name)."""
    import narwhals as nw

    try:
        native = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"`frame` must be a data frame that narwhals supports; got {type(frame).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        raise ValueError(
            "`frame` must not have two columns of one name. Hint: rename or drop one."
        ) from None
    found = native.collect_schema().names()
    for role, name in names:
        if name is not None and name not in found:
            raise ValueError(
                f"`{role}` must name a column of `frame`; got {name!r}. Its columns are {', '.join(map(str, found))}."
                f"{checks.nearest(name, found)}"
            )
    return native
