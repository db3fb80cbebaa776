"""Experiments run, seeds put together, and written down: JSON, figures, and tables for a terminal, HTML and Markdown.

In a hand-written Markdown page each table stands between two marks and is made anew from the JSON files:

    <!-- wine: Summary metrics -->             a table of an experiment
    <!-- wine, second: Summary metrics -->     the same table under the second reading
    <!-- wine: claims -->                      its claims; also: verdicts
    <!-- end -->

`python -m paper.results docs/paper-recomputed.md docs/paper` brings a page up to date.
"""

import json
import math
import platform
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .experiment import FIRST, Experiment, Findings, printed
from .store import versions, write_json, write_whole

Result = dict[str, Any]
Progress = Callable[[str, int, int], None]
LIBRARIES = ("uccurve", "numpy", "scikit-learn")
FOLDER = Path(__file__).parent
BLOCK = re.compile(
    r"<!-- (?P<name>\w+)(, (?P<reading>\w+))?: (?P<table>[^\n]+?) -->\n.*?<!-- end -->", re.DOTALL
)


# ---- from seeds to a result


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


def result(
    experiment: Experiment, judged: Mapping[int, Mapping[str, Findings]], *, quick: bool
) -> Result:
    """Return everything that a page or a test needs to know of an experiment, ready for JSON.

    Rows have our mean and spread beside the paper's value, in the order in which the findings name them; claims, and
    rankings by a proper score, have the number of seeds in which they hold.
    """
    words, paper = experiment.words, experiment.paper
    found: Result = {
        "experiment": experiment.name,
        "title": words["title"],
        "quick": quick,
        "seeds": list(judged),
        "settings": dict(experiment.settings(quick=quick)),
        "versions": {"python": platform.python_version()}
        | versions((*LIBRARIES, *words["libraries"])),
        "readings": {},
        "rows": [],
        "claims": [],
        "verdicts": [],
        "figures": [
            {"name": name, "caption": caption} for name, caption in words["captions"].items()
        ],
        "reasons": words.get("reasons", {}),
    }
    for name in experiment.readings:
        by_seed = {seed: one[name] for seed, one in judged.items() if name in one}
        found["readings"][name] = {
            "seeds": list(by_seed),
            "note": words.get(name, {}).get("note", ""),
        }
        for cell in dict.fromkeys(cell for one in by_seed.values() for cell in one.cells):
            about = dict(zip(("reading", "table", "model", "measure"), (name, *cell), strict=True))
            values = ours([one.cells[cell] for one in by_seed.values() if cell in one.cells])
            found["rows"].append(
                about | {"ours": values, "paper": finite(paper.get(cell, math.nan))}
            )
        for text, where in dict.fromkeys(claim for one in by_seed.values() for claim in one.claims):
            holds = sum(one.claims[text, where] for one in by_seed.values())
            claim = {
                "reading": name,
                "text": text,
                "where": where,
                "holds": int(holds),
                "seeds": len(by_seed),
            }
            found["claims"].append(claim)
        found["verdicts"] += [
            {"reading": name, "seed": seed, **one.verdict} for seed, one in by_seed.items()
        ]
    return found


def write_page(folder: Path) -> None:
    """Write the page, which also shows the results of earlier runs."""
    files = [folder / f"{name}.json" for name in printed()]
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]
    page = rendered(
        "page.html", results=[one for one in results if "readings" in one], tables=tables
    )
    write_whole(folder / "index.html", page.encode())


def rendered(template: str, **content: Any) -> str:
    """Return a template of this folder, filled in; what goes into HTML is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    lines: Any = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    environment = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=select_autoescape(), **lines
    )
    return environment.get_template(template).render(**content)


def run_one(
    experiment: Experiment, folder: Path, *, quick: bool, seeds: int | None, progress: Progress
) -> Result:
    """Compute what is missing, judge every seed, draw one, and write the experiment's files."""
    from .figures import save

    work = {
        seed: experiment.parts(seed, quick=quick) for seed in experiment.seeds(seeds, quick=quick)
    }
    total, steps = sum(len(parts) + 1 for parts in work.values()), count()

    def step(label: str) -> None:
        progress(f"{experiment.name}: {label}", next(steps), total)

    judged: dict[int, dict[str, Findings]] = {}
    figures: dict[str, Any] = {}
    for seed, computing in work.items():
        parts = {}
        for name, compute in computing.items():
            step(f"{name}, seed {seed}")
            parts[name] = compute()
        step(f"curves, tests and scores, seed {seed}")
        judged[seed] = experiment.judge(parts, seed)
        if seed == experiment.illustration or not figures:
            figures = experiment.draw(parts)
    for name, figure in figures.items():
        save(figure, folder / name)
    found = result(experiment, judged, quick=quick)
    write_json(folder / f"{experiment.name}.json", found)
    step("done")
    return found


# ---- from a result to tables


def shown(row: Mapping[str, Any]) -> str:
    """Return ours with its spread, and the paper's in brackets, all to the digit that their size deserves.

    >>> shown(
    ...     {"table": "Areas", "measure": "BM", "ours": {"mean": 0.1384, "sd": 0.01}, "paper": 0.15}
    ... )
    '0.138 ± 0.010 (0.150)'
    >>> shown(
    ...     {
    ...         "table": "Gains, %",
    ...         "measure": "BM",
    ...         "ours": {"mean": 4.44, "sd": None},
    ...         "paper": None,
    ...     }
    ... )
    '4.4'
    """
    mean, spread, paper = row["ours"]["mean"], row["ours"]["sd"], row["paper"]
    size = abs(mean or 0.0)
    short = size >= 10 or "%" in row["table"] + row["measure"] or row["measure"] == "rank"
    digits = 0 if size >= 1000 else 1 if short else 3
    text = "–" if mean is None else f"{round(mean, digits) + 0.0:.{digits}f}"
    text += "" if spread is None else f" ± {spread:.{digits}f}"
    return text if paper is None else f"{text} ({paper:.{digits}f})"


def tables(found: Result, reading: str = FIRST) -> dict[str, list[list[str]]]:
    """Return the tables of a reading as lines of text, the heading first: numbers, claims and verdicts.

    Numbers have a line per model and a column per measure. Verdicts say which models they choose, in how many seeds,
    and in how many of these the runner-up is significantly worse.
    """
    numbers, said, verdicts = (
        [one for one in found[kind] if one["reading"] == reading]
        for kind in ("rows", "claims", "verdicts")
    )
    lines: dict[str, list[list[str]]] = {}
    for table in dict.fromkeys(row["table"] for row in numbers):
        cells = {
            (row["model"], row["measure"]): shown(row) for row in numbers if row["table"] == table
        }
        measures = list(dict.fromkeys(measure for _, measure in cells))
        lines[table] = [["", *measures]]
        for model in dict.fromkeys(model for model, _ in cells):
            lines[table].append([model, *(cells.get((model, measure), "") for measure in measures)])
    lines["claims"] = [["holds in", "claim", "where"]]
    lines["claims"] += [
        [f"{one['holds']} of {one['seeds']}", one["text"], one["where"]] for one in said
    ]
    if verdicts:
        lines["verdicts"] = [
            ["model to ship", "chosen in", "significantly better than the next in"]
        ]
    decided = Counter(one["model"] for one in verdicts if one["decided"])
    for model, times in Counter(one["model"] for one in verdicts).items():
        lines["verdicts"].append(
            [model, f"{times} of {len(verdicts)}", f"{decided[model]} of {times}"]
        )
    return lines


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


def without_what_always_holds(lines: list[list[str]]) -> list[list[str]]:
    """Return the claims that fail in some seed, and one line that counts the others.

    >>> without_what_always_holds(
    ...     [["2 of 3", "A", "p. 1"], ["3 of 3", "B", ""], ["3 of 3", "C", ""]]
    ... )
    [['2 of 3', 'A', 'p. 1'], ['3 of 3', 'each of 2 others', '']]
    """
    kept: list[list[str]] = []
    always: list[list[str]] = []
    for line in lines:
        holds, _, seeds = line[0].split()
        (always if holds == seeds else kept).append(line)
    if always:
        others = "the other one" if len(always) == 1 else f"each of {len(always)} others"
        kept.append([always[0][0], others, ""])
    return kept


def refreshed(text: str, folder: Path) -> str:
    r"""Return a Markdown page with every marked table made from the JSON files in `folder`.

    >>> import tempfile
    >>> claim = {"reading": "first", "text": "A wins", "where": "Sec. 1", "holds": 2, "seeds": 3}
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (Path(name) / "toy.json").write_text(
    ...         json.dumps({"rows": [], "claims": [claim], "verdicts": []})
    ...     )
    ...     print(refreshed("<!-- toy: claims -->\nold\n<!-- end -->", Path(name)))
    <!-- toy: claims -->
    | holds in | claim | where |
    | --- | --- | --- |
    | 2 of 3 | A wins | Sec. 1 |
    <BLANKLINE>
    <!-- end -->
    """

    def fresh(block: re.Match[str]) -> str:
        found: Result = json.loads((folder / f"{block['name']}.json").read_text(encoding="utf-8"))
        heading, *lines = tables(found, block["reading"] or FIRST)[block["table"]]
        if block["table"] == "claims":
            lines = without_what_always_holds(lines)
        table = "\n".join(
            f"| {' | '.join(line)} |" for line in [heading, ["---"] * len(heading), *lines]
        )
        return f"{block[0].partition(chr(10))[0]}\n{table}\n\n<!-- end -->"

    return BLOCK.sub(fresh, text)


if __name__ == "__main__":
    page, results = map(Path, sys.argv[1:])
    write_whole(page, refreshed(page.read_text(encoding="utf-8"), results).encode())
