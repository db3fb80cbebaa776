"""Unpacking: gzip and Zstandard, measured first, so that a small file cannot fill the memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PIECE = 1 << 20
"""Bytes that are unpacked at a time."""
RATIO, SMALL = 100, 64 << 20
"""What unpacks to more than `RATIO` times its size, and to more than `SMALL` bytes, is not data but a bomb."""
BLOCK = 128 << 10
"""Bytes to which one block of Zstandard unpacks at most."""


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
    most = max(SMALL, RATIO * len(content))
    most = most if limit is None else min(most, limit)
    try:
        if content.startswith(GZIP):
            _refuse_more(sum(map(len, _gzip_pieces(content, most))), most, name)
            return b"".join(_gzip_pieces(content, most))
        size = _zstd_size(content)
        _refuse_more(size, max(most, BLOCK), name)
        return _zstd(content, size)
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} is packed but cannot be unpacked: {str(error).rstrip('.')}.") from None


def _refuse_more(size: int, most: int, name: str) -> None:
    if size > most:
        raise ValueError(f"{name} would unpack to more than {most:,} bytes, and is not unpacked.")


def _gzip_pieces(content: bytes, most: int) -> Iterator[bytes]:
    """Pieces of a gzip file, until they are more than `most` bytes."""
    size = 0
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        while size <= most and (piece := stream.read(PIECE)):
            size += len(piece)
            yield piece


def _zstd_size(content: bytes) -> int:
    """Bytes to which a Zstandard file unpacks at most, from the sizes of its blocks; nothing is unpacked."""
    place, size = 0, 0
    while place < len(content):
        if 0x50 <= content[place] <= 0x5F and content[place + 1 : place + 4] == b"\x2a\x4d\x18":  # may be skipped
            place += 8 + int.from_bytes(content[place + 4 : place + 8], "little")
            continue
        if content[place : place + 4] != ZSTD:
            raise EOFError("it holds something else too")
        try:
            place, size = _zstd_frame(content, place, size)
        except IndexError:
            place = len(content) + 1
    if place > len(content):
        raise EOFError("it ends too early")
    return size


def _zstd_frame(content: bytes, place: int, size: int) -> tuple[int, int]:
    """Where a frame ends and how large all is up to there (RFC 8878, section 3.1.1)."""
    descriptor = content[place + 4]
    single, checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    dictionary, content_size = (0, 1, 2, 4)[descriptor & 3], (single, 2, 4, 8)[descriptor >> 6]
    place += 5 + (1 - single) + dictionary + content_size
    last = 0
    while not last:
        header = content[place] | content[place + 1] << 8 | content[place + 2] << 16
        last, kind, length = header & 1, header >> 1 & 3, header >> 3
        size += min(length, BLOCK) if kind < 2 else BLOCK  # raw, one byte repeated, or compressed
        place += 3 + (1 if kind == 1 else length)
    return place + 4 * checksum, size


def _zstd(content: bytes, size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise ImportError('Zstandard files need zstandard: pip install "uccurve[cli]"') from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as stream:
            found: bytes = stream.read(size)
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None
    return found
