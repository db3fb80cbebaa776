"""Findings of several seeds as one result: rows with our mean and spread beside the paper's value, claims, verdicts."""

import json
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .experiment import FIRST, Experiment
from .findings import SCORES, Cells, Findings
from .store import versions

Result = dict[str, Any]
Lines = list[list[str]]
LIBRARIES = ("uccurve", "numpy", "scikit-learn")


def finite(value: float) -> float | None:
    """Return the value as JSON can hold it: to eight digits, 0 where it is only rounding, None where it is not finite.

    >>> finite(1 / 3), finite(-2e-14), finite(math.inf)
    (0.33333333, 0.0, None)
    """
    if not math.isfinite(value):
        return None
    return float(f"{value:.8g}") if abs(value) > 1e-10 else 0.0


def ours(values: Sequence[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation and each seed's value.

    >>> ours([1.0, 3.0])
    {'mean': 2.0, 'sd': 1.4142136, 'values': [1.0, 3.0]}
    """
    known = np.asarray([v for v in values if math.isfinite(v)])
    mean = finite(float(known.mean())) if len(known) else None
    spread = finite(float(known.std(ddof=1))) if len(known) > 1 else None
    return {"mean": mean, "sd": spread, "values": [finite(v) for v in values]}


def rows(found: Sequence[Findings], paper: Cells) -> Iterator[dict[str, Any]]:
    """Yield one row per cell, in the order in which the findings name them; seeds without the cell are left out."""
    for cell in dict.fromkeys(cell for one in found for cell in one.cells):
        values = ours([one.cells[cell] for one in found if cell in one.cells])
        known = finite(paper[cell]) if cell in paper else None
        yield dict(zip(("table", "model", "measure"), cell, strict=True)) | {"ours": values, "paper": known}


def claims(found: Sequence[Findings], said: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Yield each sentence of the paper, and each ranking by a proper score, with the seeds in which it holds."""
    held = [
        (text, where, [one.claims[key] for one in found])
        for where, sentences in said.items()
        for key, text in sentences.items()
    ]
    held += [(text, SCORES, [one.ranks[text] for one in found]) for text in (found[0].ranks if found else {})]
    for text, where, holds in held:
        yield {"text": text, "where": where, "holds": sum(map(bool, holds)), "seeds": len(holds)}


def result(experiment: Experiment, judged: Mapping[int, Mapping[str, Findings]], *, quick: bool) -> Result:
    """Return everything that a page or a test needs to know of an experiment, ready for JSON."""
    words = experiment.words
    found: Result = {
        "experiment": experiment.name,
        "title": words["title"],
        "quick": quick,
        "seeds": list(judged),
        "settings": dict(experiment.settings(quick=quick)),
        "versions": {"python": platform.python_version()} | versions((*LIBRARIES, *words["libraries"])),
        "readings": {},
        "rows": [],
        "claims": [],
        "verdicts": [],
        "figures": [{"name": name, "caption": caption} for name, caption in words["captions"].items()],
        "reasons": words.get("reasons", {}),
    }
    for name in experiment.readings:
        by_seed = {seed: one[name] for seed, one in judged.items() if name in one}
        found["readings"][name] = {"seeds": list(by_seed), "note": words.get(name, {}).get("note", "")}
        lists = {
            "rows": rows([*by_seed.values()], experiment.paper),
            "claims": claims([*by_seed.values()], words["claims"]),
            "verdicts": ({"seed": seed, **one.verdict} for seed, one in by_seed.items()),
        }
        for kind, entries in lists.items():
            found[kind] += [{"reading": name, **entry} for entry in entries]
    return found


def as_json(found: Result) -> bytes:
    """Return the result's file."""
    return (json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()


def decimals(row: Mapping[str, Any]) -> int:
    """Return the digits after the point that a row deserves: one for percentages and ranks, else by size."""
    size = abs(row["ours"]["mean"] or 0.0)
    if size >= 1000:
        return 0
    return 1 if size >= 10 or "%" in row["table"] + row["measure"] or row["measure"] == "rank" else 3


def shown(row: Mapping[str, Any] | None) -> str:
    """Return ours with its spread, and the paper's in brackets, all to the same digit.

    >>> shown({"table": "Areas", "measure": "BM", "ours": {"mean": 0.1384, "sd": 0.01}, "paper": 0.15})
    '0.138 ± 0.010 (0.150)'
    >>> shown({"table": "Gains, %", "measure": "BM", "ours": {"mean": 4.44, "sd": None}, "paper": None})
    '4.4'
    """
    if row is None:
        return ""
    mean, spread, digits = row["ours"]["mean"], row["ours"]["sd"], decimals(row)
    text = "–" if mean is None else f"{round(mean, digits) + 0.0:.{digits}f}"
    if spread is not None:
        text += f" ± {spread:.{digits}f}"
    return text if row["paper"] is None else f"{text} ({row['paper']:.{digits}f})"


def tables(found: Result, reading: str = FIRST) -> dict[str, Lines]:
    """Return the tables of a reading as lines of text, the heading first: numbers, claims and verdicts."""
    numbers, said, chosen = (
        [one for one in found[kind] if one["reading"] == reading] for kind in ("rows", "claims", "verdicts")
    )
    names = dict.fromkeys(row["table"] for row in numbers)
    return {name: list(number_lines([row for row in numbers if row["table"] == name])) for name in names} | {
        "claims": [["holds in", "claim", "where"]]
        + [[f"{one['holds']} of {one['seeds']}", one["text"], one["where"]] for one in said],
        "verdicts": list(verdict_lines(chosen)),
    }


def number_lines(table: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield the lines of a table of numbers: a model per line, a measure per column."""
    cells = {(row["model"], row["measure"]): row for row in table}
    measures = list(dict.fromkeys(measure for _, measure in cells))
    yield ["", *measures]
    for model in dict.fromkeys(model for model, _ in cells):
        yield [model, *(shown(cells.get((model, measure))) for measure in measures)]


def verdict_lines(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield which models the verdicts choose, in how many seeds, and in how many of these the runner-up is worse."""
    yield ["model to ship", "chosen in", "significantly better than the next in"]
    for model in dict.fromkeys(one["model"] for one in verdicts):
        decided = [one["decided"] for one in verdicts if one["model"] == model]
        yield [model, f"{len(decided)} of {len(verdicts)}", f"{sum(decided)} of {len(decided)}"]


def as_text(found: Result) -> str:
    """Return the tables for a terminal: ours ± standard deviation over the seeds, the paper's value in brackets."""
    blocks = []
    for reading, about in found["readings"].items():
        title = f"{found['experiment']}: {found['title']} ({len(about['seeds'])} seeds{', quick' * found['quick']})"
        blocks.append(title if reading == FIRST else f"{title}, {reading} reading. {about['note']}")
        for name, lines in tables(found, reading).items():
            widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
            text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
            blocks.append("\n".join([f"{name}: ours (paper)", *text]))
    return "\n\n".join(blocks)
