"""What every experiment consists of: parts to compute, a verdict a seed, figures, and the paper's values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uccurve.experiments.store import Arrays, Part, versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Settings = Mapping[str, Any]
Cell = tuple[str, str, str]
"""Table, model and measure: the address of one number."""
Parts = Mapping[str, Arrays]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, where it stands, and whether this seed's numbers bear it out."""

    text: str
    where: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one seed says: a number for each cell, and the claims."""

    cells: Mapping[Cell, float]
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure with its file name, the caption under it and the figure of the paper it stands for."""

    name: str
    figure: "Figure"
    caption: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper.

    `work` lists what has to be computed for a seed; `judge` and `draw` read the finished parts of a seed. `seeds` and
    `settings` are those of the full run, the `quick_` ones those of the quick run. `illustration` is the seed drawn.
    """

    name: str
    title: str
    work: Callable[[int, Settings], dict[str, Callable[[], Arrays]]]
    judge: Callable[[Parts, int], Verdict]
    draw: Callable[[Parts], Iterator[Drawing]]
    paper: Mapping[Cell, float]
    seeds: tuple[int, ...]
    quick_seeds: tuple[int, ...]
    settings: Settings
    quick_settings: Settings
    stack: tuple[str, ...]
    recipe: int = 1
    illustration: int = 0
    reasons: Mapping[str, str] = field(default_factory=dict)

    def parts(self, seed: int, *, quick: bool) -> dict[str, Part]:
        """The parts of a seed, each keyed by all it depends on: settings, seed, recipe and library versions."""
        settings = self.quick_settings if quick else self.settings
        depends = {"seed": seed, "recipe": self.recipe, "settings": dict(settings), "versions": versions(self.stack)}
        return {
            name: Part(self.name, f"{name}-seed{seed}".replace(" ", "-"), {**depends, "part": name}, compute)
            for name, compute in self.work(seed, settings).items()
        }
