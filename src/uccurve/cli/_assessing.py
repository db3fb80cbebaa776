"""Assessing and gating: from files to a verdict, or to a yes or no; in memory where they fit, else streamed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from uccurve.assess.assemble import assess
from uccurve.curve import UCC
from uccurve.gate import Gate, SavedScore, gate
from uccurve.points import Curve
from uccurve.results import Assessment
from uccurve.words.formats import listed
from uccurve.words.tables import layout

from ._loading import Part, labels_of, load, look_into
from ._options import Engine, Request, joined_names
from ._output import Outputs, say, show
from ._sources import Source
from ._streaming import choose_engine, stream

Pair = tuple[str | None, str | None]  # of the baseline and of the proposed model


def assess_files(
    paths: Sequence[str],
    request: Request,
    outputs: Outputs,
    *,
    full: bool,
    engine: Engine | None,
    **options: Any,
) -> None:
    """Assess the models in the files; `options` as in `uccurve.assess`. Files too large for memory are streamed."""
    outputs.check(*paths)
    found, request, options["coverage"] = look_into(paths, request, options["coverage"])
    engine = engine or choose_engine(found, request)
    if engine != "memory":
        assessment: Assessment = stream(found, request, engine, options)
    else:
        models, frame = load(found, request)
        asked: Any = options | labels_of(frame, request)
        if options["n_resamples"] is not None:  # slow: what is known at once comes at once
            quick = assess(models, **{**asked, "n_resamples": None, "progress": False})
            say(f"without resampling: {quick.verdict}", at_once=True)
        assessment = assess(models, **asked)
    best = assessment.verdict.model
    path, part = next(pair for pair in zip(paths, found, strict=True) if best in pair[1].models)
    reading = _read_again(path, part, request, best, assessment.curves[best])
    write(
        assessment,
        outputs,
        full=full,
        files=[path for path in paths if path != "-"],
        reading=reading,
    )


def _read_again(
    path: str, part: Part, request: Request, name: str, curve: Curve
) -> list[str] | None:
    """Return a model's file and the options with which `calibrate` reads it as here; None where it cannot.

    It takes no weights, no samples and no observations of another file, and a minimum band as a number only.
    """
    columns, minimum = part.models[name], request.min_band
    if request.weight is not None or part.y is None or columns.samples:
        return None
    if isinstance(minimum, str):  # the smallest band of a single level, where any was raised to it
        if not isinstance(curve, UCC) or curve.levels:
            return None
        rows = curve.intervals
        minimum = float(min(rows.lower_band.min(), rows.upper_band.min())) if rows.raised else None
    read = replace(request, min_band=minimum).written(
        "y", "missing", "min_band", "sort_crossing", "decimal", "na"
    )
    if len(columns.bounds) == 1 and (request.models or len(part.models) > 1):
        read += ["--model", f"{name.partition('=')[0] or 'model'}={joined_names(columns.names)}"]
    return [
        "calibration.csv" if path.startswith(("-", "/dev/")) else path,
        *read,
    ]  # what was piped is gone


def write(found: Assessment, outputs: Outputs, *, full: bool = False, **files: Any) -> None:
    """Write each file whole or not at all, then print the verdict and the tables; `files` as in `page`."""
    if outputs.paths["--report"] is not None:
        from uccurve.report._page import page

        outputs.write("--report", lambda: page(found, **files))
    if outputs.paths["--plot"] is not None:
        with outputs.file("--plot") as path:
            found.plot().savefig(
                path, dpi=150, format=str(outputs.paths["--plot"]).rpartition(".")[2].lower()
            )
    outputs.write("--json", lambda: found.to_json() + "\n")
    if not outputs.streams:
        show(layout(found, full=full))


def gate_files(
    files: Pair,
    names: Pair,
    request: Request,
    outputs: Outputs,
    *,
    coverage: float | None,
    **options: Any,
) -> Gate:
    """Judge a proposed model by the baseline, each by its file and its name in it; `options` as in `compare.gate`."""
    outputs.check(*(path for path in files if path is not None))
    first = Source.of(str(files[0]))
    saved = _saved(first)
    if saved is not None and files[1] is None:
        raise ValueError(
            f"{first.label} is a saved assessment: give the intervals of the new model too."
        )
    sources = [source for source in (files[1], None if saved else first) if source is not None]
    found, request, coverage = look_into(
        sources, request, coverage
    )  # the labels are those of PROPOSED
    if coverage is None:
        raise ValueError("a gate needs to know what is promised. Hint: --coverage 90%.")
    models, frame = load(found, request)
    own, baseline = list(found[0].models), None
    if saved is None and len(found) == 1 and names == (None, None) and len(own) == 2:
        old, new = own
    else:
        new = _chosen(found[0], names[1], "--proposed")
        baseline = None if saved is None else SavedScore.of(saved, coverage=coverage, name=names[0])
        old = _chosen(found[-1], names[0], "--baseline") if baseline is None else baseline.name
        old = f"{old} (saved)" if baseline is not None and old == new else old
    say(f"baseline: {old}; proposed: {new}")
    asked: Any = {"coverage": coverage, "names": (old, new), **labels_of(frame, request), **options}
    outcome = gate(models[old] if baseline is None else baseline, models[new], **asked)
    outputs.write(
        "--json",
        lambda: json.dumps(outcome.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n",
    )
    outputs.write("--markdown", outcome.to_markdown)
    if not outputs.streams:
        show([outcome.to_text()])
    return outcome


def _saved(source: Source) -> Any:
    """Return the saved assessment that a file holds; None for another file."""
    text = source.json_text()
    try:
        data = json.loads(text) if text else None
    except (ValueError, RecursionError):
        data = {}
    if data is not None and (data.get("schema") != 1 or not isinstance(data.get("models"), dict)):
        raise ValueError(
            f"{source.label} must be intervals, or an assessment that `uccurve assess --json` wrote."
        )
    return data


def _chosen(part: Part, name: str | None, option: str) -> str:
    """Return the model that is meant among those of a file, also by its name there where both files have it."""
    models = list(part.models)
    meant = [one for one in models if name in (None, one, one.partition(": ")[2])]
    if len(meant) != 1:
        what = (
            f"no model is called {name}."
            if name is not None and not meant
            else "which model is meant?"
        )
        raise ValueError(f"{what} There are {listed(models)}. Hint: {option} NAME.")
    return meant[0]
