"""Sources: what lies behind a path, be it a file, a folder, a pipe or standard input; each is read once."""

from __future__ import annotations

import glob
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from uccurve._outputs import shown_path
from uccurve._unpacking import is_packed, unpacked

from ._memory import room

WILDCARD = re.compile(r"[*?\[]")
PIECE = 1 << 20
"""Bytes that are read from a pipe at a time."""
SHARE = 0.5
"""Share of the free memory that a pipe, or a packed file once it is unpacked, may fill."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table is: a path, several paths (Parquet only), or the bytes of a pipe or of a packed file."""

    label: str
    name: str
    """What a model without a name of its own is called."""
    content: Path | list[Path] | bytes = field(repr=False)

    @classmethod
    def of(cls, path: str) -> Source:
        """Source at `path`; ``-`` is standard input."""
        if path == "-":
            if sys.stdin is None:
                raise OSError("standard input is closed. Hint: give the name of a file, or pipe one in.")
            return cls("standard input", "model", _content("standard input", sys.stdin.buffer))
        place = Path(path)
        if place.is_dir() or (WILDCARD.search(path) and not place.exists()):
            return cls._of_many(path)
        label, kind = shown_path(path), place.stat().st_mode
        if not stat.S_ISREG(kind):
            with place.open("rb", buffering=0) as pipe:
                _refuse_device(label, pipe, kind)
                return cls(label, "model", _content(label, pipe))
        with place.open("rb") as stream:
            if is_packed(stream.read(4)):
                stream.seek(0)
                return cls(label, Path(place.stem).stem, _content(label, stream))
        return cls(label, place.stem, place)

    @classmethod
    def _of_many(cls, path: str) -> Source:
        """All Parquet files of a folder or of a pattern."""
        folder = Path(path).is_dir()
        pattern = str(Path(glob.escape(path)) / "*.parquet") if folder else path
        names = glob.glob(pattern, recursive=True)  # noqa: PTH207  a pattern may start anywhere
        found = [Path(name) for name in sorted(names) if Path(name).is_file()]
        if not found:
            what = "is a folder without Parquet files" if folder else "matches no file"
            raise FileNotFoundError(f"{shown_path(path)} {what}.")
        for one in found:
            with one.open("rb") as stream:
                if stream.read(4) != b"PAR1":
                    raise ValueError(f"{shown_path(one)} is not a Parquet file; several files at once must be.")
        label = f"{shown_path(path)} ({len(found)} file{'s' if len(found) > 1 else ''})"
        name = WILDCARD.split(Path(path).stem)[0].strip("-_. ") or Path(path).parent.name or "model"
        return cls(label, name, found)

    @property
    def size(self) -> int:
        """Bytes as they are stored, or as they lie in memory."""
        if isinstance(self.content, bytes):
            return len(self.content)
        return sum(Path(one).stat().st_size for one in self.paths)

    @property
    def paths(self) -> list[str]:
        """Where its files are; none for bytes."""
        if isinstance(self.content, bytes):
            return []
        return list(map(str, self.content)) if isinstance(self.content, list) else [str(self.content)]

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Yield a stream of one file or of bytes."""
        if isinstance(self.content, bytes):
            yield io.BytesIO(self.content)
            return
        with Path(self.paths[0]).open("rb") as stream:
            yield stream


def refuse_two_readers(*paths: str) -> None:
    """Refuse standard input that is named more than once: it can be read once only."""
    if sum(path in ("-", "/dev/stdin", "/dev/fd/0") for path in paths) > 1:
        raise ValueError("standard input can be read once only. Hint: give - once.")


def _refuse_device(label: str, stream: io.RawIOBase, kind: int) -> None:
    """Refuse devices, some of which never end; terminals, pipes and sockets are read to their end."""
    endless = stat.S_ISCHR(kind) and not stream.isatty() and label != "/dev/null"
    if endless or stat.S_ISBLK(kind):
        raise ValueError(f"{label} is a device, not a file.")


def _content(label: str, stream: BinaryIO | io.RawIOBase) -> bytes:
    """Return all bytes of a stream, unpacked; more than the memory can hold are refused."""
    free = room()
    most = None if free is None else int(SHARE * free)
    pieces, size = [], 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if most is not None and size > most:
            raise MemoryError(f"{label} is larger than half of the free memory. Hint: save it as a file, unpacked.")
        pieces.append(piece)
    return unpacked(b"".join(pieces), name=label, limit=most)


def is_open(stream: Any) -> bool:
    """Whether a standard stream can be written to: it is None, or has no file, where the shell has closed it."""
    try:
        return stream is not None and not stream.closed and os.fstat(stream.fileno()) is not None
    except io.UnsupportedOperation:  # a stream of text in memory
        return True
    except (OSError, ValueError):
        return False
