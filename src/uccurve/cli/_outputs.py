"""Outputs: files that are written whole or not at all, and never over another without being told to."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ._files import PATH, shown


@contextmanager
def written(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of `path` once the block is done, and not if it fails.

    An existing file is replaced with `force` only. What is no file (a terminal, a pipe) is written through.
    """
    target = Path(path)
    check_target(target, force=force)
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        with tempfile.TemporaryDirectory() as folder:
            beside = Path(folder) / "output"
            yield beside
            target.write_bytes(beside.read_bytes())
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=target.suffix, dir=target.resolve().parent)
    os.close(handle)
    try:
        yield Path(name)
        _settle(Path(name), target.resolve() if target.is_symlink() else target, force)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def check_target(path: str | Path, *, force: bool) -> None:
    """Refuse a path that cannot be written to, before long work starts."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{shown(str(path), PATH)} is a folder: give the name of a file in it.")
    if not target.resolve().parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {shown(str(target.parent), PATH)} to write {shown(target.name)} to."
        )
    if target.is_file() and not force:
        raise FileExistsError(f"{shown(str(path), PATH)} is already there. Hint: --force replaces it.")


def _settle(done: Path, target: Path, force: bool) -> None:
    """Move a finished file to its place, onto the disk, in one step."""
    with done.open("rb") as stream:
        os.fsync(stream.fileno())
    umask = os.umask(0)
    os.umask(umask)
    done.chmod(0o666 & ~umask)
    if force:
        done.replace(target)
        return
    try:
        os.link(done, target)
    except FileExistsError:
        raise FileExistsError(f"{shown(str(target), PATH)} appeared meanwhile. Hint: --force replaces it.") from None
    except OSError:  # a file system without hard links
        done.replace(target)
