"""Running experiments: compute what is missing, judge every seed, draw, and write everything down."""

import json
from collections.abc import Sequence
from pathlib import Path

from ._names import NAMES, Progress
from .experiment import Experiment
from .figures import save
from .results import Result, as_json, result, tables
from .store import Arrays, cache_folder, finished, write_whole

TEMPLATE = Path(__file__).with_name("page.html")


def chosen_seeds(experiment: Experiment, *, quick: bool, seeds: int | None) -> tuple[int, ...]:
    """Return the experiment's own seeds, cut to `seeds` or continued by the next integers."""
    own = experiment.quick_seeds if quick else experiment.seeds
    if seeds is None:
        return own
    return (*own, *range(max(own) + 1, max(own) + 1 + seeds))[:seeds]


def run_one(experiment: Experiment, seeds: Sequence[int], *, quick: bool, folder: Path, progress: Progress) -> Result:
    """Compute, judge and draw one experiment, and write its files."""
    parts = {seed: experiment.parts(seed, quick=quick) for seed in seeds}
    total = sum(map(len, parts.values())) + len(seeds) + 1
    steps = iter(range(total))

    def step(label: str) -> None:
        progress(f"{experiment.name}: {label}", next(steps), total)

    done: dict[int, dict[str, Arrays]] = {}
    for seed, one in parts.items():
        done[seed] = {}
        for name, part in one.items():
            step(f"{name}, seed {seed}")
            done[seed][name] = finished(part, cache_folder() / "parts")
    judged = []
    for seed in seeds:
        step(f"curves, tests and scores, seed {seed}")
        judged.append(experiment.judge(done[seed], seed))
    step("figures")
    drawn = experiment.illustration if experiment.illustration in done else seeds[0]
    drawings = list(experiment.draw(done[drawn]))
    for drawing in drawings:
        save(drawing.figure, folder / drawing.name)
    found = result(experiment, seeds, judged, drawings, quick=quick)
    write_whole(folder / f"{experiment.name}.json", as_json(found))
    progress(f"{experiment.name}: done", total, total)
    return found


def page(results: Sequence[Result]) -> bytes:
    """Return the results as one HTML page; the figures stay files beside it."""
    from jinja2 import Environment

    template = Environment(autoescape=True, trim_blocks=True).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(results=results, tables=tables).encode()


def run_all(
    experiments: Sequence[Experiment], *, quick: bool, seeds: int | None, folder: Path, progress: Progress
) -> dict[str, Result]:
    """Run the experiments one after the other and write the page, which also shows the results of earlier runs."""
    found = {}
    for one in experiments:
        chosen = chosen_seeds(one, quick=quick, seeds=seeds)
        found[one.name] = run_one(one, chosen, quick=quick, folder=folder, progress=progress)
    files = [folder / f"{name}.json" for name in NAMES]
    kept = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]
    write_whole(folder / "index.html", page([one for one in kept if "readings" in one]))
    return found
