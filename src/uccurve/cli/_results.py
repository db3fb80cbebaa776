"""Results: the files that a command writes, beside what it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from uccurve._outputs import check_apart, check_target, shown_path, written
from uccurve.compare._formats import short

from ._console import output, say
from ._sources import refuse_two_readers


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files to write, by the option that asks for them; ``-`` is standard output, None is not asked for."""

    paths: Mapping[str, str | Path | None]
    force: bool = False

    @property
    def leave_stdout(self) -> bool:
        """Whether standard output is left for what is printed."""
        return "-" not in map(str, self.paths.values())

    def check(self, *inputs: str) -> None:
        """Refuse what cannot be read or written before long work starts."""
        refuse_two_readers(*inputs)
        check_apart(self.paths, {f"the input {short(path, 60)}": path for path in inputs})
        streams = [option for option, path in self.paths.items() if str(path) == "-"]
        if len(streams) > 1:
            raise ValueError(f"{' and '.join(streams)} cannot both be standard output.")
        if streams:
            output()
        for path in self.paths.values():
            if path is not None and str(path) != "-":
                check_target(path, force=self.force)

    def write(self, option: str, text: Callable[[], str]) -> None:
        """Write a text file whole or not at all, where it is asked for."""
        path = self.paths[option]
        if path is not None and str(path) == "-":
            output().write(text())
        elif path is not None:
            with self.file(option) as place:
                place.write_text(text(), encoding="utf-8")

    @contextmanager
    def file(self, option: str, more: str = "") -> Iterator[Path]:
        """Yield the path that takes the place of a file once it is written, and say so."""
        path = Path(str(self.paths[option]))
        with written(path, force=self.force) as place:
            yield place
        say(f"written: {shown_path(path)}{more}")
