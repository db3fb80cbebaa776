"""The paper's three public data sets: from your folder, from the cache, or from where they were published.

The folder in `$UCCURVE_DATA` comes first, then the cache folder, then the original source. Each file is known by its
size and SHA-256, so a damaged, truncated or different file is refused wherever it came from.
"""

import hashlib
import http.client
import io
import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from uccurve._unpacking import unpacked

from .experiment import printed
from .findings import Floats
from .store import cache_folder, write_whole

TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Source:
    """One published file: its name, its address, and the SHA-256 by size in bytes of its known copies."""

    file: str
    url: str
    copies: dict[str, str]

    @property
    def limit(self) -> int:
        """Bytes that no copy exceeds, whatever its line endings are."""
        return 2 * max(map(int, self.copies))


SOURCES = {name: Source(**words["source"]) for name, words in printed().items() if "source" in words}


class DataError(OSError):
    """A data file is missing, damaged, or cannot be fetched."""


def checked(content: bytes, source: Source, origin: str) -> bytes:
    """Return the content, if it is a known copy of the published file; line endings may be those of any system."""
    plain = content.replace(b"\r\n", b"\n")
    if source.copies.get(str(len(plain))) == hashlib.sha256(plain).hexdigest():
        return plain
    sizes = " or ".join(f"{int(size):,}" for size in source.copies)
    raise DataError(
        f"{origin} is not the published {source.file}: it has {len(plain):,} bytes where {sizes} are expected, "
        f"or other contents. Hint: remove it, or fetch {source.url} again."
    )


def download(source: Source) -> bytes:
    """Return the published file, unpacked; no more is fetched or unpacked than the file can have."""
    try:
        with urllib.request.urlopen(source.url, timeout=TIMEOUT) as answer:  # noqa: S310  the addresses are ours
            content: bytes = answer.read(source.limit + 1)
        return unpacked(content, name=source.url, limit=source.limit)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DataError(
            f"{source.file} could not be fetched from {source.url} ({error}). Hint: without a connection, put the file "
            f"into a folder and name that folder in the environment variable UCCURVE_DATA."
        ) from error


def data(name: str) -> bytes:
    """Return the checked content of a data set's file, fetched and cached if it is nowhere yet.

    What was checked is what is returned: nothing is read from the disk a second time.
    """
    source = SOURCES[name]
    given, cached = os.environ.get("UCCURVE_DATA"), cache_folder() / "data" / source.file
    for path in ([Path(given) / source.file] if given else []) + [cached]:
        if path.is_file():
            with path.open("rb") as stream:
                return checked(stream.read(source.limit + 1), source, str(path))
    content = checked(download(source), source, source.url)
    write_whole(cached, content, follow_links=False)
    return content


def table(content: bytes, **options: Any) -> tuple[Floats, Floats]:
    """Return the columns but the last as features, and the last as target."""
    rows = pl.read_csv(io.BytesIO(content), infer_schema_length=None, **options).cast(pl.Float64).to_numpy()
    return rows[:, :-1], rows[:, -1]


def housing() -> tuple[Floats, Floats]:
    """Return Boston Housing: 506 rows of 13 features, and the median value in thousands of dollars."""
    return table(data("housing"), skip_rows=1)


def wine() -> tuple[Floats, Floats]:
    """Return white wine: 4898 rows of 11 measurements, and the quality as an integer."""
    return table(data("wine"), separator=";")


def traffic() -> pl.DataFrame:
    """Return Metro Interstate Traffic Volume: 48,204 rows as published."""
    return pl.read_csv(io.BytesIO(data("traffic")), infer_schema_length=None)
