"""Finished parts of an experiment, kept on disk so that an interrupted run resumes where it stopped.

A part is a dictionary of arrays in one `.npz` file without pickles. Its name holds a digest of everything it depends
on, so other settings mean another file, and it is written whole or not at all. What no run can have written is refused
before any array is read.
"""

import hashlib
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from uccurve._outputs import shown_path, written

Arrays = dict[str, np.ndarray[Any, Any]]
LARGEST = 256 << 20
"""Bytes to which a part may unpack; the largest of the paper has a twentieth of it."""


def cache_folder() -> Path:
    """Return where downloads and finished parts are kept: `$UCCURVE_CACHE`, or `uccurve` in the user's cache folder."""
    named = os.environ.get("UCCURVE_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uccurve"


def write_whole(path: Path, content: bytes, *, follow_links: bool = True) -> None:
    """Write `content` to `path`, in a new folder if need be, so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path, force=True, follow_links=follow_links) as beside:
        beside.write_bytes(content)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return installed versions by package name."""
    return {package: version(package) for package in packages}


@dataclass(frozen=True, slots=True)
class Part:
    """One computation worth keeping.

    Parameters
    ----------
    experiment, name : str
        Whose part it is and what it is called.
    depends : mapping
        Settings, seed, recipe number and library versions, as JSON can hold them.
    compute : callable
        Computes the arrays when no file has them.
    """

    experiment: str
    name: str
    depends: Mapping[str, Any]
    compute: Callable[[], Arrays]

    def path(self, folder: Path) -> Path:
        """Return the part's file under `folder`, whose name holds a digest of everything it depends on."""
        digest = hashlib.sha256(json.dumps(dict(self.depends), sort_keys=True).encode()).hexdigest()
        return folder / self.experiment / f"{self.name}-{digest[:16]}.npz"


def packed(arrays: Arrays) -> bytes:
    """Return the bytes of an `.npz` file; arrays that would need a pickle are refused."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"a part holds numbers and text only; {name!r} holds Python objects.")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpacked(path: Path) -> Arrays | None:
    """Return the arrays of a kept part, or None where the file is missing or damaged; refuse what is no part."""
    if not path.exists():
        return None
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise refused(path, f"is not a regular file of at most {LARGEST:,} bytes")
    try:
        with zipfile.ZipFile(path) as kept:
            if sum(entry.file_size for entry in kept.infolist()) > LARGEST:
                raise refused(path, f"would unpack to more than {LARGEST:,} bytes")
            return {entry.filename.removesuffix(".npy"): array_of(kept, entry, path) for entry in kept.infolist()}
    except (EOFError, zipfile.BadZipFile, zlib.error):
        return None


def array_of(kept: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> np.ndarray[Any, Any]:
    """Return one array, if its header describes as many bytes as the file holds, of numbers or text."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
        raise refused(path, f"holds {entry.filename[:40]!r}, packed in another way or encrypted")
    with kept.open(entry) as stream:
        try:
            np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        except ValueError:
            raise refused(path, f"holds {entry.filename[:40]!r}, which is not an array") from None
        if dtype.kind not in "biufU" or dtype.itemsize * math.prod(shape) != entry.file_size - stream.tell():
            raise refused(path, f"holds {entry.filename[:40]!r}, an array of another kind or size than it says")
        stream.seek(0)
        array: np.ndarray[Any, Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def refused(path: Path, why: str) -> OSError:
    """Return what to raise for a file that is no part."""
    return OSError(f"the kept part {shown_path(path)} {why}, so no run has written it. Hint: remove it.")


def finished(part: Part, folder: Path) -> Arrays:
    """Return the part's arrays: read if they were computed before, else computed now and kept.

    >>> import tempfile
    >>> part = Part("demo", "squares", {"seed": 0}, lambda: {"square": np.arange(4) ** 2})
    >>> with tempfile.TemporaryDirectory() as name:
    ...     first, again = finished(part, Path(name)), finished(part, Path(name))
    >>> again["square"]
    array([0, 1, 4, 9])
    """
    path = part.path(folder)
    kept = unpacked(path)
    if kept is None:
        kept = part.compute()
        write_whole(path, packed(kept), follow_links=False)
    return kept
