"""Results: what was found in the features, as data that words, plots and files are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

from uccurve.estimate import UNKNOWN, Estimate, Move
from uccurve.pockets import sentences
from uccurve.pockets.features import FeatureKind
from uccurve.pockets.power import PocketPower
from uccurve.pockets.regions import PocketKind
from uccurve.pockets.rules import Region
from uccurve.words import records

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Pocket:
    """A region of the features where shipped intervals are covered too rarely, or far too often.

    It was found on one half of the blocks. All numbers but `n` are of the other half, which had no part in choosing it.

    Attributes
    ----------
    kind : {"too narrow", "too wide"}
    region : Region
        The rule, which can be applied to new rows.
    title : str
        The rule in words.
    n, tested, blocks : int
        Number of rows in the region, how many of them are in the tested half, and in how many blocks.
    coverage : Estimate
        As shipped.
    target : float
        The coverage that was promised.
    pvalue : float
        One-sided, adjusted for all regions of both halves and both kinds.
    bound : float
        The coverage is at most this (for "too wide": at least this), for all regions at once.
    move : Move
        Factor (or shift) of the bands as delivered that this region needs.
    after : Estimate
        Coverage with the factor that the half where it was found would have given the region.
    halves : int
        2 where both halves found it independently.
    """

    model: str
    kind: PocketKind
    region: Region
    title: str
    n: int
    tested: int
    blocks: int
    coverage: Estimate
    target: float
    pvalue: float
    bound: float
    move: Move
    after: Estimate
    halves: int = 1


@dataclass(frozen=True, slots=True)
class MapAxis:
    """One axis of a map: a feature, cut at `edges`, or with one place for each of its labels."""

    feature: str
    kind: FeatureKind
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """Coverage as shipped on the two features that tell most about it; rows of y, each from left to right in x."""

    x: MapAxis
    y: MapAxis
    coverage: tuple[tuple[float, ...], ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPockets:
    """What the features tell about the misses of one model as shipped.

    Attributes
    ----------
    shipped : Move
        The factor (or shift) that ships.
    pvalue : float
        Of the test of whether anything in the features predicts a miss, adjusted over models; nan where not tested.
    predictable : bool
        Whether that is significant; regions are named only then.
    lowest_risk, highest_risk : float
        Smallest and largest miss rate of the regions, on the half that they were not found on.
    explained : float
        Share of the variance of misses that the regions predict, on rows that they were not found on.
    excess_risk : float
        What peers call the excess risk of the target coverage, by these regions.
    pockets, wide : tuple of Pocket
        Regions that are covered too rarely, and those that are covered far too often, the surest first.
    elsewhere, elsewhere_after : Estimate
        Coverage outside all of them, as shipped, and with a factor of their own.
    power : PocketPower or None
        What would have been found.
    map : FeatureMap or None
    reason : str
        Why nothing was tested, where nothing was.
    """

    model: str
    shipped: Move
    pvalue: float = nan
    predictable: bool = False
    lowest_risk: float = nan
    highest_risk: float = nan
    explained: float = nan
    excess_risk: float = nan
    pockets: tuple[Pocket, ...] = ()
    wide: tuple[Pocket, ...] = ()
    elsewhere: Estimate = UNKNOWN
    elsewhere_after: Estimate = UNKNOWN
    power: PocketPower | None = None
    map: FeatureMap | None = None
    reason: str = ""

    @property
    def regions(self) -> tuple[Region, ...]:
        """The rules of all pockets, the surest first, as calibration by pocket applies them."""
        both = sorted([*self.pockets, *self.wide], key=lambda pocket: pocket.pvalue)
        return tuple(pocket.region for pocket in both)

    @property
    def headline(self) -> str:
        """One sentence for a verdict; empty where nothing was tested."""
        return sentences.headline(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, or could have been."""
        return tuple(sentences.of_model(self))


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Pockets:
    """The result of `find_pockets`; `len()` is how many pockets were found, in all models.

    Attributes
    ----------
    coverage : float
        The coverage that was promised.
    models : tuple of ModelPockets
    features : tuple of str
        Those in which regions were sought.
    rows : int
        Number of rows in which they were sought.
    notes : tuple of str
        Features that were left out, and samples.
    """

    coverage: float
    models: tuple[ModelPockets, ...]
    features: tuple[str, ...]
    rows: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(len(model.pockets) for model in self.models)

    def __iter__(self) -> Iterator[Pocket]:
        for model in self.models:
            yield from model.pockets

    def __getitem__(self, name: str) -> ModelPockets:
        for model in self.models:
            if model.model == name:
                return model
        raise KeyError(
            f"no model is called {name!r}; there are {', '.join(one.model for one in self.models)}"
        )

    @property
    def text(self) -> str:
        """All sentences, one per line."""
        return "\n".join(sentences.of_all(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists."""
        return records.record(self)

    def plot(self, name: str | None = None) -> Figure:
        """Draw the regions of a model on its two strongest features."""
        from uccurve.plots._pockets import pockets

        return pockets(self, name)

    def __repr__(self) -> str:
        return self.text
