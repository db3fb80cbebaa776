"""Files: what lies behind a path, be it a file, a folder, a database, a pipe or standard input.

One path may hold the files of several models, a folder for each, and several files may hold one model, a date for each.
"""

import glob
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Self

import polars as pl

from uccurve._files import is_packed, shown_path, unpacked
from uccurve._refusals import counted
from uccurve.words.formats import listed

from ._databases import DATABASE, is_address, is_database, table_of

WILDCARD = re.compile(r"[*?\[]")
PIECE = 1 << 20  # bytes that are read from a pipe at a time
SHARE = 0.5  # of the free memory that a pipe, or a packed file once it is unpacked, may fill
JSON_LIMIT = 64 << 20  # bytes that a saved result may have
TABLES = (".parquet", ".pq", ".csv", ".tsv")  # what is read in a folder
# Folders of a hub that hold a folder for each model, and those that hold what was observed.
OF_MODELS = ("model-output", "data-processed", "model-forecasts")
OF_TRUTH = ("target-data", "data-truth")
TRUTH_NAMES = ("oracle-output", "time-series")  # hubverse's own, the first one first
PARTITION = re.compile(r"([^=/]+)=([^/]*)")
DATE = re.compile(
    r"[-_. ]*(?<!\d)(?:19|20)\d{2}[-_.]?(?:0[1-9]|1[0-2])[-_.]?(?:[0-2]\d|3[01])(?!\d)"
)
NUMBERED = re.compile(r"[\d._-]*")  # what names a year, a month, a part


@dataclass(frozen=True, slots=True)
class FileSource:
    """Where a table is: the paths of one or more files, the bytes of a pipe or of a packed file, or rows at hand.

    `name` is what a model without a name of its own is called, `partitions` are what the folders of each file say of
    its rows, as in ``day=2026-03-01``, and `path` is what was given.
    """

    label: str
    name: str
    content: list[str] | bytes | pl.DataFrame = field(repr=False)
    partitions: tuple[Mapping[str, str], ...] = ()
    path: str = ""

    @classmethod
    def of(cls, path: str) -> Self:
        """Source at `path`, which must be one table; ``-`` is standard input."""
        if path == "-":
            if sys.stdin is None:
                raise OSError(
                    "standard input is closed. Hint: give the name of a file, or pipe one in."
                )
            content = _content("standard input", sys.stdin.buffer)
            return cls("standard input", "model", content, path=path)
        if is_address(path):
            label, name, frame = table_of(path)
            return cls(label, name, frame, path=path)
        place = Path(path)
        if place.is_dir():
            return cls._of_folder(path)
        if WILDCARD.search(path) and not place.exists():
            return cls._of_pattern(path)
        return cls._of_file(path)

    @classmethod
    def each_of(cls, path: str) -> list[Self]:
        """Return each file behind a path by itself, with what the folders on its way say of its rows."""
        if is_address(path) or not Path(path).is_dir():
            return [cls.of(path)]
        files = _files_in(Path(path))
        if not files:
            raise FileNotFoundError(f"{shown_path(path)} is a folder without CSV or Parquet files.")
        _refuse_model_folders(path)
        return [cls._of_many(file, [file], Path(file).stem)._within(path) for file in files]

    def _within(self, folder: str) -> Self:
        """Return a file as one of a folder's partitions."""
        partition = _partitions(folder, self.path)
        return replace(self, partitions=(partition,) if partition else ())

    @classmethod
    def _of_file(cls, path: str) -> Self:
        place = Path(path)
        label = shown_path(path)
        with place.open("rb", buffering=0) as stream:
            if place.is_file():
                start = stream.read(16)
                if is_database(start):
                    table_of(f"{path}{DATABASE}")  # which refuses it, and names its tables
                if not is_packed(start) and _is_text(path):
                    return cls(label, _without_date(place.stem) or place.stem, [path], path=path)
                stream.seek(0)
                stem = Path(place.stem).stem
                return cls(label, _without_date(stem) or stem, _content(label, stream), path=path)
            if place.is_block_device() or (
                place.is_char_device() and not stream.isatty() and path != os.devnull
            ):
                raise ValueError(f"{label} is a device, not a file.")
            return cls(label, "model", _content(label, stream), path=path)

    @classmethod
    def _of_folder(cls, path: str) -> Self:
        """All files of a folder and of its partitions, which are one table."""
        files = _files_in(Path(path))
        if not files:
            raise FileNotFoundError(f"{shown_path(path)} is a folder without CSV or Parquet files.")
        _refuse_model_folders(path)
        return cls._of_many(path, files, Path(path).resolve().name or "model")

    @classmethod
    def _of_pattern(cls, path: str) -> Self:
        """All files that a pattern names, which are one table."""
        names = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  a pattern may start anywhere
        files = [name for name in names if Path(name).is_file()]
        if not files:
            raise FileNotFoundError(f"{shown_path(path)} matches no file.")
        fixed = WILDCARD.split(Path(path).stem)[0]
        name = "" if NUMBERED.fullmatch(fixed) else _without_date(fixed).strip("-_. ")
        folder = Path(path).parent
        if not WILDCARD.search(str(folder)):
            folder = folder.resolve()
        return cls._of_many(path, files, name or folder.name or "model")

    @classmethod
    def _of_many(cls, path: str, files: Sequence[str], name: str) -> Self:
        kinds = {_is_parquet(file) for file in files}
        for file in files:
            if file.endswith((".parquet", ".pq")) and not _is_parquet(file):
                raise ValueError(f"{shown_path(file)} is not a Parquet file.")
        if len(kinds) > 1:
            raise ValueError(
                f"{shown_path(path)} holds CSV and Parquet files: which ones are meant? "
                f"Hint: '{path.rstrip('/')}/*.csv' in quotes reads those of one kind."
            )
        label = shown_path(path)
        if [path] != files:
            label += f" ({counted(len(files), 'file')})"
        partitions = tuple(_partitions(path, file) for file in files)
        if not any(partitions):
            partitions = ()
        return cls(label, name, list(files), partitions, path)

    @property
    def size(self) -> int:
        """Bytes as they are stored, or as they lie in memory."""
        if isinstance(self.content, pl.DataFrame):
            return int(self.content.estimated_size())
        if isinstance(self.content, bytes):
            return len(self.content)
        return sum(map(os.path.getsize, self.content))

    def opened(self) -> BinaryIO:
        """Return a stream of the bytes, or of the first file."""
        if isinstance(self.content, pl.DataFrame):
            return io.BytesIO()
        if isinstance(self.content, bytes):
            return io.BytesIO(self.content)
        return Path(self.content[0]).open("rb")

    def json_text(self) -> bytes:
        """Return the text where it begins like a JSON object; nothing of any other."""
        with self.opened() as stream:
            text = stream.read(64)
            return text + stream.read(JSON_LIMIT) if text.lstrip().startswith(b"{") else b""


def sources_of(paths: Sequence[str | FileSource]) -> list[FileSource]:
    """Return the tables behind the paths: a folder of folders is one per model, files that differ by date are one."""
    sources: list[FileSource] = []
    for path in paths:
        if isinstance(path, FileSource):
            sources.append(path)
        elif path != "-" and Path(path).is_dir():
            sources += [FileSource.of(model) for model in _model_folders(Path(path)) or [path]]
        else:
            sources.append(FileSource.of(path))
    return _named_apart(_stacked(sources))


def truth_in(paths: Sequence[str]) -> str | None:
    """Return the file of what was observed in a hub, where one of the paths is a hub."""
    for path in paths:
        for folder in OF_TRUTH:
            place = Path(path) / folder
            if place.is_dir():
                return _truth_file(place)
    return None


def _truth_file(folder: Path) -> str:
    """Return the only file of a folder, or the one with the name that hubs give it."""
    files = _files_in(folder)
    for name in TRUTH_NAMES:
        named = [file for file in files if Path(file).stem == name]
        if named:
            return named[0]
    if len(files) == 1:
        return files[0]
    shown = listed([Path(file).name for file in files])
    raise ValueError(
        f"which file of {shown_path(folder)} holds what was observed? It has {shown}. Hint: --truth FILE."
    )


def _model_folders(folder: Path) -> list[str]:
    """Return the folders of a folder that hold a model each; none where the folder is one table."""
    for name in OF_MODELS:
        if (folder / name).is_dir():
            folder = folder / name
            break
    inside = [place for place in sorted(folder.iterdir()) if not place.name.startswith(".")]
    if any(place.is_file() and _is_table(place) for place in inside):
        return []
    folders = [place for place in inside if place.is_dir() and _files_in(place)]
    if all(PARTITION.fullmatch(place.name) or NUMBERED.fullmatch(place.name) for place in folders):
        return []
    return [str(place) for place in folders]


def _refuse_model_folders(path: str) -> None:
    """Refuse a folder of folders that hold a model each where one table is read."""
    models = _model_folders(Path(path))
    if models:
        first = shown_path(models[0])
        raise ValueError(
            f"{shown_path(path)} holds a folder for each model, and one table is read here. "
            f"Hint: give one of them, such as {first}."
        )


def _files_in(folder: Path) -> list[str]:
    """Return the tables in a folder and in the folders in it."""
    files = []
    for place in sorted(folder.rglob("*")):
        hidden = any(part.startswith((".", "_")) for part in place.relative_to(folder).parts)
        if not hidden and _is_table(place) and place.is_file():
            files.append(str(place))
    return files


def _is_text(path: str) -> bool:
    """Whether a name can be written in UTF-8, which engines need."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_table(place: Path) -> bool:
    return place.suffix.lower() in TABLES


def _is_parquet(path: str) -> bool:
    with Path(path).open("rb") as stream:
        return stream.read(4) == b"PAR1"


def _partitions(path: str, file: str) -> dict[str, str]:
    """Return what the folders of a file say of its rows.

    >>> _partitions("rows", "rows/day=2026-03-01/shop=7/part-0.parquet")
    {'day': '2026-03-01', 'shop': '7'}
    """
    inner = file.removeprefix(path.rstrip("/")) if not WILDCARD.search(path) else file
    matches = map(PARTITION.fullmatch, Path(inner).parent.parts)
    return {match[1]: match[2] for match in matches if match is not None}


def _without_date(name: str) -> str:
    """Return a name without the date at its beginning or end, which tells no model.

    >>> _without_date("2023-11-06-EuroCOVIDhub-baseline"), _without_date("net_20260301")
    ('EuroCOVIDhub-baseline', 'net')
    """
    for date in DATE.finditer(name):
        if date.start() == 0 or date.end() == len(name):
            rest = name[: date.start()] + name[date.end() :]
            return rest.strip("-_. ")
    return name


def _stacked(sources: Sequence[FileSource]) -> list[FileSource]:
    """Return sources with files that differ by the date in their name as one."""
    groups: dict[tuple[str, str], list[FileSource]] = {}
    for number, source in enumerate(sources):
        groups.setdefault(_model_key(source, number), []).append(source)
    return [_as_one(group) if len(group) > 1 else group[0] for group in groups.values()]


def _model_key(source: FileSource, number: int) -> tuple[str, str]:
    """Return what the files of one model have in common; of a file without a date, what it has alone."""
    place = Path(source.path)
    dated = isinstance(source.content, list) and place.is_file() and DATE.search(place.stem)
    if not dated:
        return ("", str(number))
    return (str(place.parent), _without_date(place.stem) + place.suffix)


def _as_one(sources: Sequence[FileSource]) -> FileSource:
    """Return files of one model as one source."""
    first = sources[0]
    files: list[str] = []
    for source in sources:
        if isinstance(source.content, list):
            files += source.content
    folder = Path(first.path).parent
    name = _without_date(Path(first.path).stem) or folder.resolve().name or "model"
    return FileSource._of_many(f"{folder}/*{name}*", files, name)


def _named_apart(sources: Sequence[FileSource]) -> list[FileSource]:
    """Return sources under different names: where they have the same, by the part of their paths that differs."""
    names = [source.name for source in sources]
    if len({*names}) == len(names):
        return list(sources)
    parts = [_path_parts(source) for source in sources]
    first = 0
    while (
        all(len(part) > first + 1 for part in parts) and len({part[first] for part in parts}) == 1
    ):
        first += 1
    last = 0
    while (
        all(len(part) > first + last + 1 for part in parts)
        and len({part[-1 - last] for part in parts}) == 1
    ):
        last += 1
    named = ["/".join(part[first : len(part) - last]) for part in parts]
    apart = []
    for number, (source, name) in enumerate(zip(sources, named, strict=True), 1):
        unique = named.count(name) == 1
        apart.append(replace(source, name=name if unique else f"{name} {number}"))
    return apart


def _path_parts(source: FileSource) -> list[str]:
    """Return the parts of a path, the last one without its ending."""
    if not isinstance(source.content, list) or not source.path:
        return [source.name]
    place = Path(source.path)
    return [*place.parent.parts, place.stem]


def _content(label: str, stream: BinaryIO | io.RawIOBase) -> bytes:
    """Return all bytes of a stream, unpacked; more than the memory can hold are refused."""
    free = room()
    most = None if free is None else int(SHARE * free)
    pieces, size = [], 0
    while piece := stream.read(PIECE):
        size += len(piece)
        if most is not None and size > most:
            raise MemoryError(
                f"{label} is larger than half of the free memory. Hint: save it as a file, unpacked."
            )
        pieces.append(piece)
    return unpacked(b"".join(pieces), name=label, limit=most)


def room() -> int | None:
    """Bytes that this process may still take; None where the system does not tell.

    It is the minimum of what the machine has free, what its container may use and what the process was limited to.
    """
    free = re.search(r"MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"))
    most = _text("/sys/fs/cgroup/memory.max").strip()
    used = _text("/sys/fs/cgroup/memory.current").strip()
    contained = max(0, int(most) - int(used)) if most.isdecimal() and used.isdecimal() else None
    limits = (1024 * int(free[1]) if free else None, contained, _address_space())
    return min((limit for limit in limits if limit is not None), default=None)


def _address_space() -> int | None:
    """What is left of the address space that `ulimit -v` allows; None without such a limit."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return None
    used = re.search(r"VmSize:\s+(\d+) kB", _text("/proc/self/status"))
    return max(0, most - 1024 * int(used[1])) if used else most


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
