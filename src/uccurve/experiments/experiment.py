"""What an experiment is: parts to compute, readings of the paper that judge them, figures, and the paper's values."""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .findings import Cells, Findings
from .store import Arrays, Part, cache_folder, finished, versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Settings = Mapping[str, Any]
Parts = Mapping[str, Arrays]
Work = Mapping[str, Callable[[int, Settings], Arrays]]
"""What computes each part of a seed."""

FIRST, SECOND = "first", "second"


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the paper's recipe.

    `work` computes what it needs beyond the parts of earlier readings, and `drawn` what only the seed that is drawn
    needs; `judge` reads all parts of a seed.
    """

    work: Work
    judge: Callable[[Parts, int], Findings]
    drawn: Work = field(default_factory=dict)


@cache
def printed() -> dict[str, Any]:
    """Return what `paper.toml` says of each experiment."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper; `draw` returns figures by file name, and settings are added to the `defaults`."""

    name: str
    readings: Mapping[str, Reading]
    draw: "Callable[[Parts], dict[str, Figure]]"
    defaults: Settings = field(default_factory=dict)

    @property
    def words(self) -> Mapping[str, Any]:
        """What `paper.toml` says of the experiment."""
        return printed()[self.name]  # type: ignore[no-any-return]

    @property
    def illustration(self) -> int:
        """The seed that is drawn."""
        return int(self.words.get("illustration", 0))

    @property
    def paper(self) -> Cells:
        """The paper's values."""
        return {
            (table, model, measure): value
            for table, rows in self.words["values"].items()
            for model, values in rows.items()
            if model != "measures"
            for measure, value in zip(rows["measures"], values, strict=True)
            if not math.isnan(value)  # one that the paper does not print
        }

    def seeds(self, count: int | None = None, *, quick: bool = False) -> tuple[int, ...]:
        """Return the seeds of a full or a quick run, cut to a `count` or continued by the next integers."""
        own = self.words.get("quick_seeds", [0]) if quick else range(self.words["seeds"])
        return (*own, *range(max(own) + 1, max(own) + 1 + (count or 0)))[: count or len(own)]

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the settings of a full or a quick run."""
        changed = self.words.get("quick", {}) if quick else {}
        return {**self.defaults, **self.words.get("settings", {}), **changed}

    def parts(self, seed: int, *, quick: bool) -> dict[str, Part]:
        """Return the parts of a seed, each keyed by all it depends on: settings, seed, recipe and library versions."""
        found = {}
        common = {"seed": seed, "recipe": self.words.get("recipe", 1), "versions": versions(self.words["libraries"])}
        for name, reading in self.readings.items():
            about = self.words.get(name, {})
            if seed >= about.get("seeds", math.inf):
                continue
            settings = {**self.settings(quick=quick), **about.get("settings", {})}
            for part, compute in {**reading.work, **(reading.drawn if seed == self.illustration else {})}.items():
                file, depends = f"{part}-seed{seed}".replace(" ", "-"), {**common, "settings": settings, "part": part}
                found[part] = Part(self.name, file, depends, partial(compute, seed, settings))
        return found

    def computed(self, seed: int, *, quick: bool, step: Callable[[str], None] = lambda _: None) -> Parts:
        """Return the arrays of a seed's parts, from the cache where they are kept; `step` hears what comes next."""
        found = {}
        for name, part in self.parts(seed, quick=quick).items():
            step(f"{name}, seed {seed}")
            found[name] = finished(part, cache_folder() / "parts")
        return found

    def judge(self, parts: Parts, seed: int) -> dict[str, Findings]:
        """Return what each reading whose parts are there says, with proper scores."""
        complete = {name: one for name, one in self.readings.items() if set(one.work) <= set(parts)}
        return {name: one.judge(parts, seed).scored() for name, one in complete.items()}
