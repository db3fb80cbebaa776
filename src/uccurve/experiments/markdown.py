"""Tables of results inside a hand-written page: each stands between two marks and is made anew from the JSON files.

    <!-- synthetic: Summary metrics -->        a table of an experiment
    <!-- synthetic: claims -->                 its claims
    <!-- end -->

`python -m uccurve.experiments.markdown docs/paper-recomputed.md docs/paper` brings a page up to date.
"""

import json
import re
import sys
from pathlib import Path

from .results import Result, shown, tables
from .store import write_whole

BLOCK = re.compile(r"<!-- (?P<name>\w+): (?P<table>.+?) -->\n.*?<!-- end -->", re.DOTALL)


def line(cells: list[str]) -> str:
    """One row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def table_of(found: Result, name: str) -> str:
    """One table of a result: ours ± deviation, the paper's value in brackets."""
    models, measures, cells = tables(found)[name]
    body = [[model, *(shown(cells.get((model, measure))) for measure in measures)] for model in models]
    return "\n".join(map(line, [["", *measures], ["---"] * (len(measures) + 1), *body]))


def claims_of(found: Result) -> str:
    """The claims of a result with the number of seeds in which each holds."""
    body = [[f"{claim['holds']} of {claim['seeds']}", claim["text"], claim["where"]] for claim in found["claims"]]
    return "\n".join(map(line, [["holds in", "what the paper says", "where"], ["---"] * 3, *body]))


def refreshed(text: str, folder: Path) -> str:
    r"""The page with every marked table made from the JSON files in `folder`.

    >>> import tempfile
    >>> claim = {"text": "A wins", "where": "Sec. 1", "holds": 2, "seeds": 3}
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (Path(name) / "toy.json").write_text(json.dumps({"rows": [], "claims": [claim]}))
    ...     print(refreshed("<!-- toy: claims -->\nold\n<!-- end -->", Path(name)))
    <!-- toy: claims -->
    | holds in | what the paper says | where |
    | --- | --- | --- |
    | 2 of 3 | A wins | Sec. 1 |
    <BLANKLINE>
    <!-- end -->
    """

    def fresh(block: re.Match[str]) -> str:
        found: Result = json.loads((folder / f"{block['name']}.json").read_text(encoding="utf-8"))
        table = claims_of(found) if block["table"] == "claims" else table_of(found, block["table"])
        return f"<!-- {block['name']}: {block['table']} -->\n{table}\n\n<!-- end -->"

    return BLOCK.sub(fresh, text)


if __name__ == "__main__":
    page, results = map(Path, sys.argv[1:])
    write_whole(page, refreshed(page.read_text(encoding="utf-8"), results).encode())
