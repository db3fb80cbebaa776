"""Files: written whole or not at all, never over another one without being told to, and unpacked only to a limit."""

import glob
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any, BinaryIO

from ._arrays import blocks

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".uccurve-unfinished-"  # what the name of a temporary file contains
WAIT = 0.05  # seconds until a lock is tried again
SHOWN = 200  # characters of a path that are shown


@contextmanager
def written(path: str | Path, *, force: bool = False, follow_links: bool = True) -> Iterator[Path]:
    """Yield the path of a temporary file that takes the place of `path` once the block is done, and not if it fails.

    An existing file is replaced with `force` only. What is no file (a terminal, a pipe) is written through, and so is
    a symbolic link, unless `follow_links` is False: then the link itself is replaced. What killed runs left behind for
    the same `path` is removed.
    """
    target = Path(path)
    is_stream = (
        target.exists() and not target.is_file()
    )  # where a shell's link leads cannot be resolved
    if target.is_symlink() and follow_links and not is_stream:
        target = target.resolve()
    replaces_link = target.is_symlink()
    force = force or replaces_link
    check_target(target, force=force)
    if is_stream and (follow_links or not replaces_link):
        with tempfile.TemporaryDirectory() as folder:
            beside = Path(folder) / "output"
            yield beside
            target.write_bytes(beside.read_bytes())
        return
    prefix = f".{target.name[:40]}{UNFINISHED}"
    _remove_leftovers(target.parent, prefix)
    beside = target.with_name(f"{prefix}{token_hex(4)}{target.suffix}")
    with beside.open("xb") as stream:
        try:
            with suppress(OSError):  # a file system without locks
                _lock(stream)
            yield beside
            os.fsync(stream.fileno())
            check_target(target, force=force)  # it may have been created in the meantime
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def held(path: str | Path, *, seconds: float = 60.0) -> Iterator[None]:
    """Let one process at a time read a file and write it anew; the others wait, and give up after some `seconds`.

    The lock is on a hidden file beside it, which stays: the file itself is replaced. It ends with the process.
    """
    target = Path(path)
    check_target(target, force=True)
    beside = target.with_name(f".{target.name}.lock")
    deadline = monotonic() + seconds
    with beside.open("ab") as stream:
        while not _is_locked(stream):
            if monotonic() > deadline:
                raise OSError(
                    f"another process has been using {shown_path(path)} for {seconds:g} seconds."
                )
            sleep(WAIT)
        yield


def check_target(path: str | Path, *, force: bool) -> None:
    """Refuse a path that cannot be written to, before long work starts."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{shown_path(path)} is a folder: give the name of a file in it.")
    is_stream = target.exists() and not target.is_file()
    if not is_stream and not target.resolve().parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {shown_path(target.parent)} to write {shown_path(target.name)} to."
        )
    if target.is_file() and not force:
        raise FileExistsError(f"{shown_path(path)} exists already. Hint: --force replaces it.")


def check_apart(
    outputs: Mapping[str, str | Path | None], inputs: Mapping[str, str | Path | None]
) -> None:
    """Refuse two outputs with one path, and an output that is an input; what is None, or ``-``, is left out.

    Parameters
    ----------
    outputs, inputs
        Paths by what the sentence calls them, such as ``--json``.

    Examples
    --------
    >>> check_apart({"--json": "a.txt", "--report": "a.txt"}, {})
    Traceback (most recent call last):
    ValueError: --json and --report must be different files; both are a.txt.
    """
    seen = {name: path for name, path in inputs.items() if path is not None and str(path) != "-"}
    for name, path in outputs.items():
        if path is None or str(path) == "-":
            continue
        for other, earlier in seen.items():
            if _is_same_file(Path(path), Path(earlier)):
                raise ValueError(
                    f"{other} and {name} must be different files; both are {shown_path(path)}."
                )
        seen[name] = path


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, or would."""
    if path.exists() and other.exists():
        return path.samefile(other) and path.is_file()
    return path.resolve() == other.resolve()


def shown_path(path: str | Path) -> str:
    r"""Path as it appears in a sentence: its last characters, on one line, without any that steer a terminal.

    >>> shown_path("new\nline")
    'new\\nline'
    """
    text = str(path)
    plain = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in text[-SHOWN:]
    )
    return plain if len(plain) <= SHOWN and len(text) <= SHOWN else f"...{plain[-SHOWN:]}"


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what killed runs left behind: unfinished files that no living process has locked."""
    for path in folder.glob(f"{glob.escape(prefix)}*") if fcntl is not None else ():
        with suppress(OSError), path.open("r+b") as stream:
            _lock(stream)
            path.unlink()


def _is_locked(stream: BinaryIO) -> bool:
    """Whether an open file is ours now; False where another process has it."""
    try:
        _lock(stream)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _lock(stream: BinaryIO) -> None:
    """Lock an open file until it is closed; OSError where another process has."""
    if fcntl is not None:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


# ---- packed files

# gzip and Zstandard are measured first, so that a small file cannot fill the memory.
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# What unpacks to more than `RATIO` times its size, and to more than `SMALL` bytes, is not data but a bomb.
RATIO, SMALL = 100, 64 << 20
FEW = 1 << 10  # packed bytes that are read at a time: four of Zstandard may unpack to 128 KiB


def is_packed(start: bytes) -> bool:
    """Whether bytes that begin like this are packed."""
    return start.startswith((GZIP, ZSTD))


def unpacked(content: bytes, *, name: str, limit: int | None = None) -> bytes:
    r"""Return packed `content` unpacked, and any other as it is.

    Parameters
    ----------
    content : bytes
    name : str
        What a refusal calls it.
    limit : int, optional
        Refuse what unpacks to more bytes, before it is unpacked.

    Examples
    --------
    >>> import gzip
    >>> unpacked(gzip.compress(b"y,pred\n1,2\n"), name="a.csv.gz")
    b'y,pred\n1,2\n'
    >>> unpacked(gzip.compress(bytes(10**6)), name="a.csv.gz", limit=1000)
    Traceback (most recent call last):
    ValueError: a.csv.gz would unpack to more than 1,000 bytes, so it is refused.
    """
    if not is_packed(content):
        return content
    most = max(SMALL, RATIO * len(content))
    most = most if limit is None else min(most, limit)
    size = 0
    try:
        for piece in _pieces(content):
            size += len(piece)
            if size > most:
                raise ValueError(
                    f"{name} would unpack to more than {most:,} bytes, so it is refused."
                )
        return b"".join(_pieces(content))
    except EOFError as error:
        raise ValueError(
            f"{name} is packed but cannot be unpacked: {str(error).rstrip('.')}."
        ) from None


def _pieces(content: bytes) -> Iterator[bytes]:
    """What a few packed bytes after the other unpack to; EOFError where they cannot be."""
    begin: Callable[[], Any] = partial(zlib.decompressobj, wbits=31)  # gzip
    if content.startswith(ZSTD):
        try:
            import zstandard
        except ImportError:
            raise ImportError(
                'Zstandard files need zstandard: pip install "uccurve[cli]"'
            ) from None
        begin = zstandard.ZstdDecompressor().decompressobj
    frame = begin()
    try:
        for part in blocks(len(content), FEW):
            packed = content[part]
            while (
                packed := packed.lstrip(b"\0") if frame.eof else packed
            ):  # zeros may follow the end of gzip
                frame = begin() if frame.eof else frame
                yield frame.decompress(packed)
                packed = frame.unused_data
    except Exception as error:  # noqa: BLE001  # zlib's or zstandard's own
        raise EOFError(str(error)) from None
    if not frame.eof:
        raise EOFError("it ends too early")
