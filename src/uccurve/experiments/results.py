"""Verdicts of several seeds as one result: rows with our mean and deviation beside the paper's value, and claims."""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from .experiment import Drawing, Experiment, Verdict
from .store import versions

Result = dict[str, Any]


def finite(value: float) -> float | None:
    """The value as JSON can hold it: None where it is not finite."""
    return float(f"{value:.8g}") if math.isfinite(value) else None


def ours(values: Sequence[float]) -> dict[str, Any]:
    """Mean, sample deviation and each seed's value.

    >>> ours([1.0, 3.0])
    {'mean': 2.0, 'sd': 1.4142136, 'values': [1.0, 3.0]}
    """
    known = np.asarray([v for v in values if math.isfinite(v)])
    mean = finite(float(known.mean())) if len(known) else None
    spread = finite(float(known.std(ddof=1))) if len(known) > 1 else None
    return {"mean": mean, "sd": spread, "values": [finite(v) for v in values]}


def rows(verdicts: Sequence[Verdict], paper: Mapping[Any, float]) -> list[dict[str, Any]]:
    """One row a cell, in the order in which the verdicts name them; a seed without a cell counts as missing."""
    cells = list(dict.fromkeys(cell for verdict in verdicts for cell in verdict.cells))
    return [
        {
            "table": cell[0],
            "model": cell[1],
            "measure": cell[2],
            "ours": ours([verdict.cells[cell] for verdict in verdicts if cell in verdict.cells]),
            "paper": finite(paper[cell]) if cell in paper else None,
        }
        for cell in cells
    ]


def claims(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Each claim with the number of seeds in which it holds."""
    found: dict[tuple[str, str], list[bool]] = {}
    for verdict in verdicts:
        for claim in verdict.claims:
            found.setdefault((claim.text, claim.where), []).append(bool(claim.holds))
    return [{"text": t, "where": w, "holds": sum(h), "seeds": len(h)} for (t, w), h in found.items()]


def result(
    experiment: Experiment,
    seeds: Sequence[int],
    verdicts: Sequence[Verdict],
    drawings: Sequence[Drawing],
    *,
    quick: bool,
) -> Result:
    """Everything that a page or a test needs to know of an experiment, ready for JSON."""
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "quick": quick,
        "seeds": list(seeds),
        "settings": dict(experiment.quick_settings if quick else experiment.settings),
        "versions": {"python": platform.python_version(), "uccurve": version("uccurve"), "numpy": np.__version__}
        | versions(experiment.stack),
        "rows": rows(verdicts, experiment.paper),
        "claims": claims(verdicts),
        "figures": [{"name": drawing.name, "caption": drawing.caption} for drawing in drawings],
        "reasons": dict(experiment.reasons),
    }


def as_json(found: Result) -> bytes:
    """The result's file."""
    return (json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def tables(found: Result) -> dict[str, tuple[list[str], list[str], dict[tuple[str, str], dict[str, Any]]]]:
    """The rows as tables: name to (models, measures, row by model and measure)."""
    made: dict[str, tuple[list[str], list[str], dict[tuple[str, str], dict[str, Any]]]] = {}
    for row in found["rows"]:
        models, measures, cells = made.setdefault(row["table"], ([], [], {}))
        if row["model"] not in models:
            models.append(row["model"])
        if row["measure"] not in measures:
            measures.append(row["measure"])
        cells[row["model"], row["measure"]] = row
    return made


def decimals(row: Mapping[str, Any]) -> int:
    """Digits after the point that a row deserves: one for percentages, else by the size of its mean."""
    size = abs(row["ours"]["mean"] or 0.0)
    if size >= 1000:
        return 0
    return 1 if size >= 10 or "%" in row["table"] + row["measure"] else 3


def shown(row: Mapping[str, Any] | None) -> str:
    """Ours with its deviation, and the paper's in brackets, all to the same digit.

    >>> shown({"table": "Areas", "measure": "BM", "ours": {"mean": 0.1384, "sd": 0.01}, "paper": 0.15})
    '0.138 ± 0.010 (0.150)'
    >>> shown({"table": "Gains, %", "measure": "BM", "ours": {"mean": 4.44, "sd": None}, "paper": None})
    '4.4'
    """
    if row is None:
        return ""
    mean, deviation, digits = row["ours"]["mean"], row["ours"]["sd"], decimals(row)
    text = "–" if mean is None else f"{mean:.{digits}f}"
    if deviation is not None:
        text += f" ± {deviation:.{digits}f}"
    return text if row["paper"] is None else f"{text} ({row['paper']:.{digits}f})"


def as_text(found: Result) -> str:
    """The tables and claims for a terminal: ours ± deviation over the seeds, the paper's value in brackets."""
    blocks = [
        f"{found['experiment']}: {found['title']} ({len(found['seeds'])} seeds{', quick' if found['quick'] else ''})"
    ]
    for name, (models, measures, cells) in tables(found).items():
        head = ["", *measures]
        body = [[model, *(shown(cells.get((model, measure))) for measure in measures)] for model in models]
        widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
        lines = [
            "  ".join(
                text.rjust(w) if i else text.ljust(w) for i, (text, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in [head, *body]
        ]
        blocks.append("\n".join([f"{name}: ours (paper)", *lines]))
    said = [f"  holds in {c['holds']} of {c['seeds']}  {c['text']} [{c['where']}]" for c in found["claims"]]
    return "\n\n".join([*blocks, "\n".join(["What the paper says:", *said])] if said else blocks)
