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
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from uccurve._files import shown_path, written

Arrays = dict[str, np.ndarray[Any, Any]]
LARGEST = (
    256 << 20
)  # bytes to which a part may unpack; the largest of the paper has a twentieth of it


def cache_folder() -> Path:
    """Return where downloads and finished parts are kept: `$UCCURVE_CACHE`, or `uccurve` in the user's cache folder."""
    named = os.environ.get("UCCURVE_CACHE")
    return (
        Path(named)
        if named
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uccurve"
    )


def part_path(experiment: str, name: str, depends: Mapping[str, Any]) -> Path:
    """Return a part's file, whose name holds a digest of settings, seed, recipe and whatever else it depends on."""
    digest = hashlib.sha256(json.dumps(dict(depends), sort_keys=True).encode()).hexdigest()
    plain = re.sub(r"\W+", "-", name)
    return cache_folder() / "parts" / experiment / f"{plain}-{digest[:16]}.npz"


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return installed versions by package name."""
    return {package: version(package) for package in packages}


def write_whole(path: Path, content: bytes, *, follow_links: bool = True) -> None:
    """Write `content` to `path`, in a new folder if need be, so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path, force=True, follow_links=follow_links) as beside:
        beside.write_bytes(content)


def write_json(path: Path, found: Mapping[str, Any]) -> None:
    """Write a result's file."""
    write_whole(
        path, (json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()
    )


def finished(path: Path, compute: Callable[[], Arrays]) -> Arrays:
    """Return a part's arrays: read if they were computed before, else computed now and kept.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     path = Path(name) / "squares.npz"
    ...     first, again = (finished(path, lambda: {"square": np.arange(4) ** 2}) for _ in range(2))
    >>> again["square"]
    array([0, 1, 4, 9])
    """
    kept = unpacked(path)
    if kept is None:
        kept, buffer = compute(), io.BytesIO()
        np.savez_compressed(buffer, **kept)  # type: ignore[arg-type]
        write_whole(path, buffer.getvalue(), follow_links=False)
    return kept


def unpacked(path: Path) -> Arrays | None:
    """Return the arrays of a kept part, or None where the file is missing or damaged; refuse what is no part."""
    if not path.exists():
        return None
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise ValueError(f"is not a regular file of at most {LARGEST:,} bytes")
        with zipfile.ZipFile(path) as kept:
            if sum(entry.file_size for entry in kept.infolist()) > LARGEST:
                raise ValueError(f"would unpack to more than {LARGEST:,} bytes")
            return {
                entry.filename.removesuffix(".npy"): array_of(kept, entry)
                for entry in kept.infolist()
            }
    except (EOFError, zipfile.BadZipFile, zlib.error):
        return None
    except ValueError as why:
        raise OSError(
            f"the kept part {shown_path(path)} {why}, so no run has written it. Hint: remove it."
        ) from None


def array_of(kept: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """Return one array, if its header describes as many bytes as the file holds, of numbers or text."""
    name = entry.filename[:40]
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
        raise ValueError(f"holds {name!r}, packed in another way or encrypted")
    with kept.open(entry) as stream:
        try:
            np.lib.format.read_magic(stream)
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        except ValueError:
            raise ValueError(f"holds {name!r}, which is not an array") from None
        if (
            dtype.kind not in "biufU"
            or dtype.itemsize * math.prod(shape) != entry.file_size - stream.tell()
        ):
            raise ValueError(f"holds {name!r}, an array of another kind or size than it says")
        stream.seek(0)
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
