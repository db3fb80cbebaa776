"""What an experiment is: parts to compute, readings of the paper that judge them, figures, and the paper's values."""

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from uccurve import Intervals, assess

from . import store

Arrays = store.Arrays
Floats = np.ndarray[Any, np.dtype[np.float64]]
Cells = dict[tuple[str, str, str], float]  # numbers by table, model and measure
Models = dict[str, Intervals]
Parts = Mapping[str, Arrays]

FIRST, SECOND = "first", "second"
COVERAGE = 0.95
SCORES, DECOMPOSITION = "Proper scores", "Interval score as delivered"
# Of the score as delivered, by the name of its field, with the sign of those that are not a score.
CONTRIBUTIONS = ("delivered", "climatology", "- prediction", "- bands", "+ rescaling")
RANKED_BY = {"score": "interval score at 95% as shipped", "crps": "potential CRPS"}


class Settings(dict[str, Any]):
    """Settings of a run, with the hash that JAX needs to compile for them once."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Return the hash of all of them."""
        return hash(json.dumps(self, sort_keys=True))


@cache
def printed() -> dict[str, Any]:
    """Return what `paper.toml` says of each experiment."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))


def row(table: str, model: str, values: Mapping[str, float]) -> Cells:
    """Return the cells of one model in one table.

    >>> row("Areas", "GBR", {"BM": 0.6})
    {('Areas', 'GBR', 'BM'): 0.6}
    """
    return {(table, model, measure): value for measure, value in values.items()}


@dataclass(frozen=True, slots=True)
class Findings:
    """What one seed says under one reading.

    Attributes
    ----------
    cells : mapping
        A number for each cell.
    claims : mapping
        Whether the numbers bear out what the paper says, by the name that `paper.toml` gives each claim.
    models : mapping
        The test intervals, for proper scores.
    unit : float
        What these scores are divided by.
    block : array, optional
        One label per row where rows depend on each other.
    orders : tuple of tuples of str
        The paper's rankings of the models, the best first, to be checked by these scores.
    verdict : mapping
        What these scores decide; empty before `scored`.
    """

    cells: Cells
    claims: Mapping[Any, bool]
    models: Models
    unit: float = 1.0
    block: Floats | None = None
    orders: tuple[tuple[str, ...], ...] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict)


def scored(found: Findings, said: Mapping[str, Mapping[str, str]]) -> Findings:
    """Return findings with proper scores and a verdict, and with claims by sentence and where the paper has it."""
    assessment = assess(
        found.models, coverage=COVERAGE, block=found.block, unit=found.unit, progress=False
    )
    cells = dict(found.cells)
    for name in found.models:
        model, parts = assessment[name], assessment[name].decomposition
        scores = {
            "rank": model.rank,
            "score": float(model.score),
            "half-width": float(model.half_width),
            "skill, %": 100 * float(model.skill),
            "BM gain, %": 100 * float(model.gains["bandwidth_miss_rate"]),
            "coverage as delivered, %": 100 * float(model.coverage),
            "factor": float(model.scale),
        }
        contributions = {label: getattr(parts, label.split()[-1]) for label in CONTRIBUTIONS}
        cells |= row(SCORES, name, scores) | row(DECOMPOSITION, name, contributions)
    claims = {
        (text, where): found.claims[key]
        for where, texts in said.items()
        for key, text in texts.items()
    }
    for order, (score, words) in product(found.orders, RANKED_BY.items()):
        values = [float(getattr(assessment[name], score)) for name in order]
        rises = all(better < worse for better, worse in pairwise(values))
        claims[f"The {words} ranks {', '.join(order)}", SCORES] = rises
    verdict = {
        name: getattr(assessment.verdict, name)
        for name in ("model", "runner_up", "decided", "text")
    }
    return replace(found, cells=cells, claims=claims, verdict=verdict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper.

    Attributes
    ----------
    work : mapping
        What computes each part of a seed.
    read : callable
        Returns what the parts of a seed say under a reading of the paper's recipe.
    draw : callable
        Returns figures by file name.
    readings : tuple of str
    """

    name: str
    work: Mapping[str, Callable[[int, Settings], Arrays]]
    read: Callable[[str, Parts, int], Findings]
    draw: Callable[[Parts], dict[str, Any]]
    readings: tuple[str, ...] = (FIRST,)

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
        """The paper's values; nan where it prints none."""
        return {
            (table, model, measure): value
            for table, rows in self.words.get("values", {}).items()
            for model, values in rows.items()
            if model != "measures"
            for measure, value in zip(rows["measures"], values, strict=True)
        }

    def seeds(self, count: int | None = None, *, quick: bool = False) -> tuple[int, ...]:
        """Return the seeds of a full or a quick run, cut to a `count` or continued by the next integers."""
        own = self.words.get("quick_seeds", [0]) if quick else range(self.words["seeds"])
        return (*own, *range(max(own) + 1, max(own) + 1 + (count or 0)))[: count or len(own)]

    def settings(self, *, quick: bool = False) -> Settings:
        """Return the settings of a full or a quick run."""
        changed = self.words.get("quick", {}) if quick else {}
        return Settings({**self.words["settings"], **changed})

    def parts(self, seed: int, *, quick: bool) -> dict[str, Callable[[], Arrays]]:
        """Return what computes or reads each part of a seed, kept by settings, seed, recipe and library versions."""
        settings, versions = self.settings(quick=quick), store.versions(self.words["libraries"])
        depends = {
            "seed": seed,
            "settings": settings,
            "recipe": self.words.get("recipe", 1),
            "versions": versions,
        }
        left_out = () if seed == self.illustration else self.words.get("only_drawn", ())
        work = {name: compute for name, compute in self.work.items() if name not in left_out}
        path = {
            name: store.part_path(self.name, f"{name}-seed{seed}", {**depends, "part": name})
            for name in work
        }
        return {
            name: partial(store.finished, path[name], partial(work[name], seed, settings))
            for name in work
        }

    def judge(self, parts: Parts, seed: int) -> dict[str, Findings]:
        """Return what each reading says, with proper scores; some are for the first seeds only."""
        chosen = [
            name for name in self.readings if seed < self.words.get(name, {}).get("seeds", math.inf)
        ]
        return {name: scored(self.read(name, parts, seed), self.words["claims"]) for name in chosen}
