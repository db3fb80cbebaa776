"""Running experiments: compute what is missing, judge every seed, draw, and write everything down."""

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ._names import NAMES, Progress
from .experiment import Experiment
from .findings import Findings
from .results import Result, as_json, result, tables
from .store import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATE = Path(__file__).with_name("page.html")


def run_all(
    experiments: Sequence[Experiment], *, quick: bool, seeds: int | None, folder: Path, progress: Progress
) -> dict[str, Result]:
    """Run the experiments one after the other and write the page, which also shows the results of earlier runs."""
    found = {}
    for one in experiments:
        chosen = one.seeds(seeds, quick=quick)
        found[one.name] = run_one(one, chosen, quick=quick, folder=folder, progress=progress)
    write_whole(folder / "index.html", page(folder))
    return found


def run_one(experiment: Experiment, seeds: Sequence[int], *, quick: bool, folder: Path, progress: Progress) -> Result:
    """Compute, judge and draw one experiment, and write its files."""
    from .figures import save

    total = sum(len(experiment.parts(seed, quick=quick)) + 1 for seed in seeds) + 1
    steps = count()

    def step(label: str) -> None:
        progress(f"{experiment.name}: {label}", next(steps), total)

    judged: dict[int, dict[str, Findings]] = {}
    figures: dict[str, Figure] = {}
    for seed in seeds:
        parts = experiment.computed(seed, quick=quick, step=step)
        step(f"curves, tests and scores, seed {seed}")
        judged[seed] = experiment.judge(parts, seed)
        if seed == experiment.illustration or not figures:
            figures = experiment.draw(parts)
    step("figures")
    for name, figure in figures.items():
        save(figure, folder / name)
    found = result(experiment, judged, quick=quick)
    write_whole(folder / f"{experiment.name}.json", as_json(found))
    step("done")
    return found


def page(folder: Path) -> bytes:
    """Return the results in a folder as one HTML page; the figures stay files beside it."""
    from jinja2 import Environment

    files = [folder / f"{name}.json" for name in NAMES]
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]
    template = Environment(autoescape=True, trim_blocks=True).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(results=[one for one in results if "readings" in one], tables=tables).encode()
