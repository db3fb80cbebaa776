"""Gating: two models' files, or one, or a saved assessment, to a gate that says yes or no."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from uccurve._outputs import shown_path
from uccurve.compare.gate import Gate, SavedScore, gate

from ._assessing import choose_coverage, look_into
from ._console import say, show_text
from ._loading import Part, Request, load
from ._results import check_outputs, named_inputs, write_text
from ._sources import refuse_two_readers
from ._tables import listed

LIMIT = 64 << 20
"""Bytes that a saved assessment may have."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Where the two models are: their files, and their names in these."""

    baseline: str
    proposed: str | None
    old: str | None = None
    new: str | None = None

    @property
    def files(self) -> list[str]:
        """The files, that of the proposed model first: segments and blocks are its columns."""
        return [self.baseline] if self.proposed is None else [self.proposed, self.baseline]

    def names(self, found: Sequence[Part]) -> tuple[str, str]:
        """Return the baseline and the proposed model."""
        if self.proposed is None:
            models = list(found[0].models)
            if self.old is None and self.new is None and len(models) == 2:
                return models[0], models[1]
            return _chosen(models, self.old, "--baseline"), _chosen(models, self.new, "--proposed")
        return (
            _chosen(list(found[1].models), self.old, "--baseline"),
            _chosen(list(found[0].models), self.new, "--proposed"),
        )


@dataclass(frozen=True, slots=True)
class Reports:
    """Files to write besides what is printed; ``-`` goes to standard output in place of the lines."""

    json: str | None
    markdown: str | None
    force: bool

    def check(self, inputs: Mapping[str, str]) -> None:
        """Refuse what cannot be written before long work starts."""
        if self.json == self.markdown == "-":
            raise ValueError("--json and --markdown cannot both be standard output.")
        check_outputs({"--json": self.json, "--markdown": self.markdown}, inputs, force=self.force)

    def write(self, found: Gate) -> None:
        """Write the files, then print one line per check."""
        if self.json is not None:
            text = json.dumps(found.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
            write_text(self.json, text + "\n", force=self.force)
        if self.markdown is not None:
            write_text(self.markdown, found.to_markdown(), force=self.force)
        if "-" not in (self.json, self.markdown):
            show_text(found.to_text().splitlines())


def gate_files(sides: Sides, request: Request, reports: Reports, *, coverage: Fraction | None, **options: Any) -> Gate:
    """Judge the proposed model; `options` as in `uccurve.compare.gate`."""
    refuse_two_readers(*sides.files)
    reports.check(named_inputs(*sides.files))
    saved = _saved_assessment(sides.baseline) if sides.proposed is not None else None
    files = sides.files if saved is None else sides.files[:1]
    found, request = look_into(files, request)
    promised = choose_coverage(coverage, found)
    if promised is None:
        raise ValueError("a gate needs to know what is promised. Hint: --coverage 90%.")
    loaded = load(found, request)
    old: Any
    if saved is not None:
        old, new = (
            SavedScore.of(saved, coverage=promised, name=sides.old),
            _chosen(list(found[0].models), sides.new, "--proposed"),
        )
        names = (old.name if old.name != new else f"{old.name} (saved)", new)
    else:
        names = sides.names(found)
        old, new = loaded.models[names[0]], names[1]
    say(f"baseline: {names[0]}; proposed: {names[1]}")
    asked: Any = {"coverage": promised, "by": loaded.by, "block": loaded.block, "names": names}
    outcome = gate(old, loaded.models[new], **asked, **options)
    reports.write(outcome)
    return outcome


def _chosen(models: Sequence[str], name: str | None, option: str) -> str:
    """Return the model that is meant among those of a file."""
    if name is None and len(models) == 1:
        return models[0]
    if name is None or name not in models:
        what = "which model is meant?" if name is None else f"no model is called {name}."
        raise ValueError(f"{what} There are {listed(models)}. Hint: {option} NAME.")
    return name


def _saved_assessment(path: str) -> dict[str, Any] | None:
    """Return the assessment that a JSON file holds; None where the file is something else."""
    place = Path(path)
    if path == "-" or not place.is_file():
        return None
    with place.open("rb") as stream:
        if not stream.read(64).lstrip().startswith(b"{"):
            return None
        stream.seek(0)
        text = stream.read(LIMIT)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or "models" not in data or data.get("schema") != 1:
        raise ValueError(f"{shown_path(path)} must be intervals, or an assessment that `uccurve assess --json` wrote.")
    return data
