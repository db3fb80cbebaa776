"""Unpacking: gzip and Zstandard, measured first, so that a small file cannot fill the memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator

from ._arrays import blocks

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PIECE = 1 << 20  # Bytes that are unpacked at a time
# What unpacks to more than `RATIO` times its size, and to more than `SMALL` bytes, is not data but a bomb.
RATIO, SMALL = 100, 64 << 20
FEW = 1 << 10  # Packed bytes of Zstandard that are read at a time: a block of four may unpack to 128 KiB


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
    ValueError: a.csv.gz would unpack to more than 1,000 bytes, and is not unpacked.
    """
    if not is_packed(content):
        return content
    pieces = _gzip_pieces if content.startswith(GZIP) else _zstd_pieces
    most = max(SMALL, RATIO * len(content))
    most = most if limit is None else min(most, limit)
    size = 0
    try:
        for piece in pieces(content):
            size += len(piece)
            if size > most:
                raise ValueError(f"{name} would unpack to more than {most:,} bytes, and is not unpacked.")
        return b"".join(pieces(content))
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} is packed but cannot be unpacked: {str(error).rstrip('.')}.") from None


def _gzip_pieces(content: bytes) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _zstd_pieces(content: bytes) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise ImportError('Zstandard files need zstandard: pip install "uccurve[cli]"') from None
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        for part in blocks(len(content), FEW):
            packed = content[part]
            while packed:
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(packed)
                packed = frame.unused_data
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None
    if not frame.eof:
        raise EOFError("it ends too early")
