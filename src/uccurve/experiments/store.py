"""Finished parts of an experiment, kept on disk so that a run that stopped goes on where it was.

A part is a dictionary of arrays in one `.npz` file without pickles. Its name holds a digest of everything it depends
on, so other settings are another file, and it is written whole or not at all.
"""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from uccurve._outputs import written

Arrays = dict[str, np.ndarray[Any, Any]]


def cache_folder() -> Path:
    """Where downloads and finished parts are kept: `$UCCURVE_CACHE`, else `uccurve` in the user's cache folder."""
    named = os.environ.get("UCCURVE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uccurve"


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path`, in a new folder if need be, so that no reader ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with written(path, force=True) as beside:
        beside.write_bytes(content)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Installed versions by package name."""
    return {package: version(package) for package in packages}


@dataclass(frozen=True, slots=True)
class Part:
    """One computation worth keeping: what it depends on, and how to do it.

    Parameters
    ----------
    experiment, name : str
        Whose part it is and what it is called.
    depends : mapping
        Settings, seed, data and recipe number, as JSON can hold them.
    compute : callable
        Does the work when no file has it.
    """

    experiment: str
    name: str
    depends: Mapping[str, Any]
    compute: Callable[[], Arrays]

    def digest(self) -> str:
        """Short name of everything the part depends on."""
        text = json.dumps(dict(self.depends), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def path(self, folder: Path) -> Path:
        """The part's file under `folder`."""
        return folder / self.experiment / f"{self.name}-{self.digest()}.npz"

    def done(self, folder: Path) -> bool:
        """Whether a finished file exists."""
        return self.path(folder).exists()


def packed(arrays: Arrays) -> bytes:
    """The bytes of an `.npz` file; arrays that would need a pickle are refused."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"a part holds numbers and text only; {name!r} holds Python objects.")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpacked(path: Path) -> Arrays | None:
    """The arrays of a kept part, or None where the file is missing or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def finished(part: Part, folder: Path) -> Arrays:
    """The part's arrays: read if they were computed before, else computed now and kept.

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
        write_whole(path, packed(kept))
    return kept
