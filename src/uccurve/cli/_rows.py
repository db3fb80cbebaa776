"""Rows: the same rows of several files, matched by keys, and without those that lack a number."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce

import polars as pl

from uccurve._checks import DroppedRowsWarning
from uccurve.compare._formats import short

from ._tables import listed


def matched_rows(
    frames: Sequence[pl.DataFrame], labels: Sequence[str], keys: Sequence[Sequence[str]], *, drop: bool
) -> list[pl.DataFrame]:
    """Return the rows of every file matched by its keys, in the order of the first file with the most keys.

    A file with fewer keys has a row for several of another. Keys that repeat within a file are refused. Rows that not
    all files have are refused, or left out with `drop`.
    """
    most, fewest = max(keys, key=len), min(keys, key=len)
    frames = _with_equal_types(frames, most)
    for frame, label, own in zip(frames, labels, keys, strict=True):
        _refuse_repeated(frame, label, own)
    common = frames[keys.index(most)].select(most)
    for frame, own in zip(frames, keys, strict=True):
        common = common.join(frame, on=own, how="semi", maintain_order="left")
    if not len(common):
        raise ValueError(f"files must have rows in common by {listed(fewest)}: none of them has the same key.")
    alone = [frame.join(common, on=own, how="anti") for frame, own in zip(frames, keys, strict=True)]
    lost = [(label, rows, len(frame)) for label, rows, frame in zip(labels, alone, frames, strict=True) if len(rows)]
    if lost and not drop:
        label, rows, total = lost[0]
        raise ValueError(
            f"files must have the same rows by {listed(fewest)}: {len(rows)} of {total} rows of {label} have no match "
            f"in another file, first {_shown_key(rows, fewest)}. Hint: --missing drop compares the common rows."
        )
    if lost:
        counts = ", ".join(f"{len(rows)} of {label}" for label, rows, _ in lost)
        warnings.warn(f"dropped rows without a match in every file: {counts}", DroppedRowsWarning, stacklevel=2)
    joined = zip(frames, keys, strict=True)
    return [pl.DataFrame(common.join(frame, on=own, how="left", maintain_order="left")) for frame, own in joined]


def refuse_other_rows(frames: Sequence[pl.DataFrame], labels: Sequence[str], keys: Sequence[str]) -> None:
    """Refuse files that do not hold the same rows in the same order, by their number and the `keys` they share."""
    hint = f"Hint: --on {','.join(keys) or 'KEYS'} matches them."
    if any(len(frame) != len(frames[0]) for frame in frames):
        counts = ", ".join(f"{label} {len(frame):,}" for label, frame in zip(labels, frames, strict=True))
        raise ValueError(f"files must have the same rows: {counts}. {hint}")
    if not keys or len(frames) == 1:
        return
    first, *others = (frame.select(keys) for frame in _with_equal_types(frames, keys))
    for label, other in zip(labels[1:], others, strict=True):
        if not other.equals(first) and other.sort(keys).equals(first.sort(keys)):
            raise ValueError(f"{label} must have its rows in the order of {labels[0]} by {listed(keys)}. {hint}")


def complete_rows(frames: Sequence[pl.DataFrame], numbers: Sequence[Sequence[str]]) -> list[pl.DataFrame]:
    """Return the rows on which every model has all its numbers: models are compared on the same rows."""
    total = len(frames[0])
    finite = [
        frame[name].is_finite().fill_null(value=False)
        for frame, names in zip(frames, numbers, strict=True)
        for name in names
    ]
    whole = reduce(pl.Series.__and__, finite)
    if not whole.any():
        raise ValueError(f"all {total:,} rows have a missing value.")
    if not whole.all():
        dropped = total - int(whole.sum())
        message = f"dropped {dropped} of {total} rows: they have a missing or infinite value"
        warnings.warn(message, DroppedRowsWarning, stacklevel=2)
    return [frame.filter(whole) for frame in frames]


def _with_equal_types(frames: Sequence[pl.DataFrame], keys: Sequence[str]) -> list[pl.DataFrame]:
    """Return keys that not all files hold in the same type as text, so that a CSV file matches a Parquet file."""
    mixed = [name for name in keys if len({frame[name].dtype for frame in frames if name in frame.columns}) > 1]
    texts = [pl.col(name).cast(pl.String) for name in mixed]
    return [frame.with_columns(text for text in texts if text.meta.output_name() in frame.columns) for frame in frames]


def _refuse_repeated(frame: pl.DataFrame, label: str, keys: Sequence[str]) -> None:
    repeated = frame.select(keys).is_duplicated()
    if repeated.any():
        first = frame.select(keys).filter(repeated)
        raise ValueError(
            f"--on must name each row once: {int(repeated.sum())} of {len(frame)} rows of {label} share their key, "
            f"first {_shown_key(first, keys)}. Hint: name more columns."
        )


def _shown_key(rows: pl.DataFrame, keys: Sequence[str]) -> str:
    return short(", ".join(str(rows[name][0]) for name in keys), 60)
