"""The paper's three public data sets: from your folder, from the cache, or from where they were published.

The folder in `$UCCURVE_DATA` comes first, then the cache folder, then the original source. Each file is known by its
size and SHA-256, so a damaged, truncated or different file is refused wherever it came from.
"""

import hashlib
import http.client
import io
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from uccurve._outputs import written
from uccurve._unpacking import unpacked

from .experiment import Floats
from .store import cache_folder

Name = Literal["housing", "wine", "traffic"]
TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Source:
    """One published file: its name, its address, and the fingerprints (size, SHA-256) of its known copies."""

    file: str
    url: str
    fingerprints: tuple[tuple[int, str], ...]

    @property
    def limit(self) -> int:
        """Bytes that no copy exceeds, whatever its line endings are."""
        return 2 * max(size for size, _ in self.fingerprints)


SOURCES: dict[Name, Source] = {
    "housing": Source(
        "boston_house_prices.csv",
        "https://raw.githubusercontent.com/scikit-learn/scikit-learn/1.1.3/sklearn/datasets/data/boston_house_prices.csv",
        ((34742, "d98212636026544fc9b9c0f372e5f819872e6fa6fa757ab025efdda22180f2d6"),),
    ),
    "wine": Source(
        "winequality-white.csv",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality/winequality-white.csv",
        (
            (264424, "460e47bcddee5e93beece1fa3b495a7274d739b9f22ae76ab5be40545417c60a"),
            (264426, "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836"),
        ),
    ),
    "traffic": Source(
        "Metro_Interstate_Traffic_Volume.csv",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00492/Metro_Interstate_Traffic_Volume.csv.gz",
        ((3188251, "3ec6b8844c4e5e20904855c81079a30e4342da20b7010e78606a244e539f29f6"),),
    ),
}


class DataError(OSError):
    """A data file is missing, damaged, or cannot be fetched."""


def checked(content: bytes, source: Source, origin: str) -> bytes:
    """Return the content, if it is a known copy of the published file; line endings may be those of any system."""
    plain = content.replace(b"\r\n", b"\n")
    if (len(plain), hashlib.sha256(plain).hexdigest()) in source.fingerprints:
        return plain
    sizes = " or ".join(f"{size:,}" for size, _ in source.fingerprints)
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
    except (urllib.error.URLError, OSError, http.client.HTTPException, ValueError) as error:
        raise DataError(
            f"{source.file} could not be fetched from {source.url} ({error}). Hint: without a connection, put the file "
            f"into a folder and name that folder in the environment variable UCCURVE_DATA."
        ) from error


def data(name: Name) -> bytes:
    """Return the checked content of a data set's file, fetched and cached if it is nowhere yet.

    What was checked is what is returned: nothing is read from the disk a second time.
    """
    source = SOURCES[name]
    given = os.environ.get("UCCURVE_DATA")
    cached = cache_folder() / "data" / source.file
    for path in ([Path(given) / source.file] if given else []) + [cached]:
        if path.is_file():
            with path.open("rb") as stream:
                return checked(stream.read(source.limit + 1), source, str(path))
    content = checked(download(source), source, source.url)
    cached.parent.mkdir(parents=True, exist_ok=True)
    with written(cached, force=True, follow_links=False) as beside:
        beside.write_bytes(content)
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
