"""Tables of results inside a hand-written page: each stands between two marks and is made anew from the JSON files.

    <!-- wine: Summary metrics -->             a table of an experiment
    <!-- wine, second: Summary metrics -->     the same table under the second reading
    <!-- wine: claims -->                      its claims; also: verdicts
    <!-- end -->

`python -m uccurve.experiments.markdown docs/paper-recomputed.md docs/paper` brings a page up to date.
"""

import json
import re
import sys
from pathlib import Path

from .experiment import FIRST
from .results import Result, tables
from .store import write_whole

BLOCK = re.compile(r"<!-- (?P<name>\w+)(, (?P<reading>\w+))?: (?P<table>[^\n]+?) -->\n.*?<!-- end -->", re.DOTALL)


def refreshed(text: str, folder: Path) -> str:
    r"""Return the page with every marked table made from the JSON files in `folder`.

    >>> import tempfile
    >>> claim = {"reading": "first", "text": "A wins", "where": "Sec. 1", "holds": 2, "seeds": 3}
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = (Path(name) / "toy.json").write_text(json.dumps({"rows": [], "claims": [claim], "verdicts": []}))
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
        table = "\n".join(f"| {' | '.join(line)} |" for line in [heading, ["---"] * len(heading), *lines])
        return f"{block[0].partition(chr(10))[0]}\n{table}\n\n<!-- end -->"

    return BLOCK.sub(fresh, text)


if __name__ == "__main__":
    page, results = map(Path, sys.argv[1:])
    write_whole(page, refreshed(page.read_text(encoding="utf-8"), results).encode())
