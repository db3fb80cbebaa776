"""Streaming: an assessment of files that stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uccurve.compare.results import AssessmentSettings
from uccurve.sketch import _findings as frames
from uccurve.sketch._bins import PER_OCTAVE
from uccurve.sketch.assess import StreamedAssessment, assessed

from ._loading import Part
from ._options import Request
from ._scans import Engine, frame


def stream(found: Sequence[Part], request: Request, engine: Engine, settings: AssessmentSettings) -> StreamedAssessment:
    """Assess the models of files without loading them."""
    _refuse_what_needs_rows(found, request, engine)
    parts = [_findings(part, request, engine, settings) for part in found]
    if len(parts) > 1 and any(model.state.dropped for part in parts for model in part.models):
        raise ValueError(
            "rows of several files cannot be matched while they are streamed, and some lack a value. "
            "Hint: put all models into one file, or --engine memory."
        )
    return assessed(parts, settings)


def _refuse_what_needs_rows(found: Sequence[Part], request: Request, engine: Engine) -> None:
    """Refuse what cannot be done one row at a time."""
    if request.on and len(found) > 1:
        raise ValueError("--on matches rows in memory. Hint: put all models into one file, or --engine memory.")
    if any(columns.samples for part in found for columns in part.models.values()):
        raise ValueError("samples are made into quantiles in memory. Hint: --engine memory.")
    if isinstance(request.block, int):
        raise ValueError(
            f"--block {request.block} counts rows that follow each other, and {engine} keeps no order. "
            "Hint: --block COLUMN with one label per block, or --engine memory."
        )


def _findings(part: Part, request: Request, engine: Engine, settings: AssessmentSettings) -> frames.Findings:
    """Assess the models of one file."""
    models: dict[str, Any] = {}
    for name, columns in part.models.items():
        bounds = {float(one.level or 0): (one.lower, one.upper) for one in columns.bounds}
        models[name] = (columns.pred, bounds) if len(bounds) > 1 else (columns.pred, *next(iter(bounds.values())))
    try:
        rows = frame(engine, part.table, part.numbers(request), request.labels)
    except NotImplementedError as error:  # PyArrow's, for types that it cannot read
        why = str(error).rpartition(": ")[2]
        raise ValueError(f"{engine} cannot read {part.table.label}: {why}. Hint: --engine polars.") from None
    asked = frames.Request(
        weight=request.weight,
        block=request.block if isinstance(request.block, str) else None,
        features=request.by or (),
        min_band=request.min_band,
        missing=request.missing,
        resolution=PER_OCTAVE,
    )
    return frames.findings(_sorted(rows, part) if request.sort_crossing else rows, models, str(part.y), asked, settings)


def _sorted(rows: Any, part: Part) -> Any:
    """Put crossing bounds in ascending order."""
    import narwhals as nw

    changed: list[nw.Expr] = []
    for columns in part.models.values():
        for lower, upper, *_ in columns.bounds:
            changed += [nw.min_horizontal(lower, upper).alias(lower), nw.max_horizontal(lower, upper).alias(upper)]
    return nw.from_native(rows).with_columns(*changed).to_native()
