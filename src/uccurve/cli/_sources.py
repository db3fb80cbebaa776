"""Sources: what lies behind a path, be it a file, a folder, a pipe or standard input; each is read once."""

import glob
import io
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

from uccurve._outputs import shown_path
from uccurve._unpacking import is_packed, unpacked

WILDCARD = re.compile(r"[*?\[]")
PIECE = 1 << 20  # bytes that are read from a pipe at a time
SHARE = 0.5  # of the free memory that a pipe, or a packed file once it is unpacked, may fill
JSON_LIMIT = 64 << 20  # bytes that a saved result may have


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table is: the path of a file, several paths (Parquet only), or the bytes of a pipe or of a packed file.

    `name` is what a model without a name of its own is called.
    """

    label: str
    name: str
    content: list[str] | bytes = field(repr=False)

    @classmethod
    def of(cls, path: str) -> Self:
        """Source at `path`; ``-`` is standard input."""
        if path == "-":
            if sys.stdin is None:
                raise OSError(
                    "standard input is closed. Hint: give the name of a file, or pipe one in."
                )
            return cls("standard input", "model", _content("standard input", sys.stdin.buffer))
        place = Path(path)
        if place.is_dir() or (WILDCARD.search(path) and not place.exists()):
            return cls._of_many(path)
        label = shown_path(path)
        with place.open("rb", buffering=0) as stream:
            if place.is_file():
                if not is_packed(stream.read(4)):
                    return cls(label, place.stem, [path])
                stream.seek(0)
                return cls(label, Path(place.stem).stem, _content(label, stream))
            if place.is_block_device() or (
                place.is_char_device() and not stream.isatty() and path != os.devnull
            ):
                raise ValueError(f"{label} is a device, not a file.")
            return cls(label, "model", _content(label, stream))

    @classmethod
    def _of_many(cls, path: str) -> Self:
        """All Parquet files of a folder or of a pattern."""
        folder = Path(path).is_dir()
        pattern = str(Path(glob.escape(path)) / "*.parquet") if folder else path
        found = [
            name for name in sorted(glob.glob(pattern, recursive=True)) if Path(name).is_file()
        ]  # noqa: PTH207  a pattern may start anywhere
        if not found:
            what = "is a folder without Parquet files" if folder else "matches no file"
            raise FileNotFoundError(f"{shown_path(path)} {what}.")
        for one in found:
            with Path(one).open("rb") as stream:
                if stream.read(4) != b"PAR1":
                    raise ValueError(
                        f"{shown_path(one)} is not a Parquet file; several files at once must be."
                    )
        label = f"{shown_path(path)} ({len(found)} file{'s' if len(found) > 1 else ''})"
        name = WILDCARD.split(Path(path).stem)[0].strip("-_. ") or Path(path).parent.name or "model"
        return cls(label, name, found)

    @property
    def size(self) -> int:
        """Bytes as they are stored, or as they lie in memory."""
        return (
            len(self.content)
            if isinstance(self.content, bytes)
            else sum(map(os.path.getsize, self.content))
        )

    def opened(self) -> BinaryIO:
        """Return a stream of the bytes, or of the first file."""
        return (
            io.BytesIO(self.content)
            if isinstance(self.content, bytes)
            else Path(self.content[0]).open("rb")
        )

    def json_text(self) -> bytes:
        """Return the text where it begins like a JSON object; nothing of any other."""
        with self.opened() as stream:
            text = stream.read(64)
            return text + stream.read(JSON_LIMIT) if text.lstrip().startswith(b"{") else b""


def _content(label: str, stream: BinaryIO | io.RawIOBase) -> bytes:
    """Return all bytes of a stream, unpacked; more than the memory can hold are refused."""
    free = room()
    most = None if free is None else int(SHARE * free)
    pieces, size = [], 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if most is not None and size > most:
            raise MemoryError(
                f"{label} is larger than half of the free memory. Hint: save it as a file, unpacked."
            )
        pieces.append(piece)
    return unpacked(b"".join(pieces), name=label, limit=most)


def room() -> int | None:
    """Bytes that this process may still take; None where the system does not tell.

    It is the minimum of what the machine has free, what its container may use and what the process was limited to.
    """
    free = re.search(r"MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"))
    most, used = (_text(f"/sys/fs/cgroup/memory.{name}").strip() for name in ("max", "current"))
    contained = max(0, int(most) - int(used)) if most.isdecimal() and used.isdecimal() else None
    limits = (1024 * int(free[1]) if free else None, contained, _address_space())
    return min((limit for limit in limits if limit is not None), default=None)


def _address_space() -> int | None:
    """What is left of the address space that `ulimit -v` allows; None without such a limit."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    used = re.search(r"VmSize:\s+(\d+) kB", _text("/proc/self/status"))
    return max(0, most - 1024 * int(used[1])) if used else most


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
