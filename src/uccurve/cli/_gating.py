"""Gating: two models' files, or one, or a saved assessment, to a gate that says yes or no."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from uccurve.compare.gate import Gate, SavedScore, gate

from ._assessing import choose_coverage, look_into
from ._console import say, show_text
from ._loading import Part, load
from ._options import Request
from ._results import Outputs
from ._saved import json_text
from ._sources import Source
from ._tables import listed


def gate_files(
    files: tuple[str, str | None],
    names: tuple[str | None, str | None],
    request: Request,
    outputs: Outputs,
    *,
    coverage: Fraction | None,
    **options: Any,
) -> Gate:
    """Judge a proposed model by the baseline, each by its file and its name in it; `options` as in `compare.gate`."""
    outputs.check(*(path for path in files if path is not None))
    first = Source.of(files[0])
    saved = _saved(first)
    if saved is not None and files[1] is None:
        raise ValueError(f"{first.label} is a saved assessment: give the intervals of the new model too.")
    sources = [source for source in (files[1], None if saved else first) if source is not None]
    found, request = look_into(sources, request)  # the proposed model first: segments and blocks are its columns
    promised = choose_coverage(coverage, found)
    if promised is None:
        raise ValueError("a gate needs to know what is promised. Hint: --coverage 90%.")
    models, labels = load(found, request)
    baseline: Any
    if saved is not None:
        baseline = SavedScore.of(saved, coverage=promised, name=names[0])
        new = _chosen(found[0], names[1], "--proposed")
        old = baseline.name if baseline.name != new else f"{baseline.name} (saved)"
    else:
        old, new = _names(found, *names)
        baseline = models[old]
    say(f"baseline: {old}; proposed: {new}")
    outcome = gate(baseline, models[new], coverage=promised, names=(old, new), **labels, **options)
    outputs.write("--json", lambda: json.dumps(outcome.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    outputs.write("--markdown", outcome.to_markdown)
    if outputs.leave_stdout:
        show_text(outcome.to_text().splitlines())
    return outcome


def _saved(source: Source) -> Any:
    """Return the saved assessment that a file holds; None for another file."""
    text = json_text(source)
    try:
        data = json.loads(text) if text else None
    except (ValueError, RecursionError):
        data = {}
    if data is not None and (data.get("schema") != 1 or not isinstance(data.get("models"), dict)):
        raise ValueError(f"{source.label} must be intervals, or an assessment that `uccurve assess --json` wrote.")
    return data


def _names(found: Sequence[Part], old: str | None, new: str | None) -> tuple[str, str]:
    """Return the baseline and the proposed model, which stand in this order where one file has both."""
    models = list(found[0].models)
    if len(found) == 1 and old is None and new is None and len(models) == 2:
        return models[0], models[1]
    return _chosen(found[-1], old, "--baseline"), _chosen(found[0], new, "--proposed")


def _chosen(part: Part, name: str | None, option: str) -> str:
    """Return the model that is meant among those of a file, also by its name there where both files have it."""
    models = list(part.models)
    meant = [one for one in models if name in (None, one, one.partition(": ")[2])]
    if len(meant) != 1:
        what = f"no model is called {name}." if name is not None and not meant else "which model is meant?"
        raise ValueError(f"{what} There are {listed(models)}. Hint: {option} NAME.")
    return meant[0]
