"""Unpacking: gzip and Zstandard, measured first, so that a small file cannot fill the memory."""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ._arrays import blocks

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
