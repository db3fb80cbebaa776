"""What an experiment is: parts to compute, readings of the paper that judge them, figures, and the paper's values."""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uccurve import Intervals

from .store import Arrays, Part, versions
from .today import today

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Settings = Mapping[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Cell = tuple[str, str, str]
"""Table, model and measure: the address of one number."""
Claims = Mapping[str, Mapping[str, bool]]
"""Where the paper says what, and whether one seed's numbers bear it out."""
Parts = Mapping[str, Arrays]
Work = dict[str, Callable[[], Arrays]]
"""What has to be computed for a seed, by the name of the part."""

FIRST, SECOND = "first", "second"


@dataclass(frozen=True, slots=True)
class Findings:
    """What one seed says under one reading.

    Attributes
    ----------
    cells : mapping
        A number for each cell.
    claims : mapping
        The paper's claims.
    models : mapping
        The test intervals, for the scores of today.
    unit : float
        What these scores are divided by.
    block : array, optional
        One label per row where rows depend on each other.
    orders : tuple of tuples of str
        The paper's rankings of the models, the best first, to be checked by these scores.
    verdict : mapping
        What these scores decide, once they are taken.
    """

    cells: Mapping[Cell, float]
    claims: Claims
    models: Mapping[str, Intervals]
    unit: float = 1.0
    block: Floats | None = None
    orders: tuple[tuple[str, ...], ...] = ()
    verdict: Mapping[str, Any] = field(default_factory=dict)

    def scored(self) -> "Findings":
        """Return the same with the scores of today."""
        found = today(self.models, self.orders, unit=self.unit, block=self.block)
        cells, claims = {**self.cells, **found.cells}, {**self.claims, **found.claims}
        return replace(self, cells=cells, claims=claims, verdict=found.verdict)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the paper's recipe.

    `work` lists what has to be computed for a seed beyond the parts of earlier readings; `judge` reads all finished
    parts of a seed. `more` settings are added to the experiment's; only seeds below `seeds` are used.
    """

    work: Callable[[int, Settings], Work]
    judge: Callable[[Parts, int], Findings]
    more: Settings = field(default_factory=dict)
    seeds: int | None = None


class Drawing(NamedTuple):
    """A figure with its file name."""

    name: str
    figure: "Figure"


@cache
def printed() -> dict[str, Any]:
    """Return what the paper prints, and our words on it, by experiment."""
    return tomllib.loads(Path(__file__).with_name("paper.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper.

    `seeds` and `settings` are those of the full run, the `quick_` ones those of the quick run. The parts depend on the
    versions of the libraries in `stack`, and on their own code by `recipe`. `illustration` is the seed drawn.
    """

    name: str
    readings: Mapping[str, Reading]
    draw: Callable[[Parts], Iterator[Drawing]]
    settings: Settings
    quick_settings: Settings
    stack: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    quick_seeds: tuple[int, ...] = (0,)
    recipe: int = 1
    illustration: int = 0

    @property
    def words(self) -> Mapping[str, Any]:
        """Title, reasons under tables, captions of figures, and the note on a second reading."""
        return printed()[self.name]  # type: ignore[no-any-return]

    @property
    def paper(self) -> dict[Cell, float]:
        """The paper's values."""
        return {
            (table, model, measure): value
            for table, rows in self.words["values"].items()
            for model, values in rows.items()
            if model != "measures"
            for measure, value in zip(rows["measures"], values, strict=True)
            if not math.isnan(value)  # one that the paper does not print
        }

    def parts(self, seed: int, *, quick: bool) -> dict[str, Part]:
        """Return the parts of a seed, each keyed by all it depends on: settings, seed, recipe and library versions."""
        found = {}
        for reading in self.readings.values():
            if reading.seeds is not None and seed >= reading.seeds:
                continue
            settings = {**(self.quick_settings if quick else self.settings), **reading.more}
            depends = {"seed": seed, "recipe": self.recipe, "settings": settings, "versions": versions(self.stack)}
            for name, compute in reading.work(seed, settings).items():
                file = f"{name}-seed{seed}".replace(" ", "-")
                found[name] = Part(self.name, file, {**depends, "part": name}, compute)
        return found

    def judge(self, parts: Parts, seed: int) -> dict[str, Findings]:
        """Return what each reading whose parts are there says, with the scores of today."""
        return {
            name: reading.judge(parts, seed).scored()
            for name, reading in self.readings.items()
            if set(reading.work(seed, self.settings)) <= set(parts)
        }
