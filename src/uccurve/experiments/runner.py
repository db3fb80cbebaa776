"""Running experiments: compute what is missing, judge every seed, draw, and write everything down."""

import json
from collections.abc import Sequence
from pathlib import Path

from ._names import NAMES, Progress
from .experiment import Drawing, Experiment, Parts
from .figures import save
from .page import page
from .results import Result, as_json, result
from .store import cache_folder, finished, write_whole


def chosen_seeds(experiment: Experiment, *, quick: bool, seeds: int | None) -> tuple[int, ...]:
    """The experiment's own seeds, cut to `seeds` or continued by the next integers."""
    own = experiment.quick_seeds if quick else experiment.seeds
    if seeds is None:
        return own
    return (*own, *range(max(own) + 1, max(own) + 1 + seeds))[:seeds]


def run_one(experiment: Experiment, seeds: Sequence[int], *, quick: bool, folder: Path, progress: Progress) -> Result:
    """Compute, judge and draw one experiment, and write its files."""
    parts = {seed: experiment.parts(seed, quick=quick) for seed in seeds}
    total = sum(map(len, parts.values())) + len(seeds) + 1
    step = 0
    done: dict[int, Parts] = {}
    for seed in seeds:
        arrays = {}
        for name, part in parts[seed].items():
            progress(f"{experiment.name}: {name}, seed {seed}", step, total)
            arrays[name] = finished(part, cache_folder() / "parts")
            step += 1
        done[seed] = arrays
    verdicts = []
    for seed in seeds:
        progress(f"{experiment.name}: curves and tests, seed {seed}", step, total)
        verdicts.append(experiment.judge(done[seed], seed))
        step += 1
    progress(f"{experiment.name}: figures", step, total)
    shown = experiment.illustration if experiment.illustration in done else seeds[0]
    drawings: list[Drawing] = []
    for drawing in experiment.draw(done[shown]):
        save(drawing.figure, folder / drawing.name)
        drawings.append(drawing)
    found = result(experiment, seeds, verdicts, drawings, quick=quick)
    write_whole(folder / f"{experiment.name}.json", as_json(found))
    progress(f"{experiment.name}: done", total, total)
    return found


def kept(folder: Path) -> list[Result]:
    """All results in the folder, of this and of earlier runs, in the paper's order."""
    files = [folder / f"{name}.json" for name in NAMES]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def run_all(
    experiments: Sequence[Experiment], *, quick: bool, seeds: int | None, folder: Path, progress: Progress
) -> dict[str, Result]:
    """Run the experiments one after the other and write the page that shows them all."""
    found = {
        experiment.name: run_one(
            experiment,
            chosen_seeds(experiment, quick=quick, seeds=seeds),
            quick=quick,
            folder=folder,
            progress=progress,
        )
        for experiment in experiments
    }
    write_whole(folder / "index.html", page(kept(folder)).encode())
    return found
