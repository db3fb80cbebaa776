"""Results: what was found in the features, as data that words, plots and files are made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, isfinite, isnan, log10, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from uccurve._arrays import Flags, Indices
from uccurve._vocabulary import Array
from uccurve.pockets.features import (
    ELSEWHERE,
    Feature,
    FeatureKind,
    Region,
    labels_of_rows,
    read_features,
    value_in_words,
)
from uccurve.pockets.regions import PocketKind, PocketPower, ShippedRows
from uccurve.points import UNKNOWN, Estimate, Move, record
from uccurve.words.formats import Cell, amount, counted, coverage, factor, listed, p, share, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uccurve.pockets.regions import PocketPower


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
    """One axis of a map: a feature, cut at `edges`, or with one place for each of its labels.

    `has_missing` says whether rows without a value have a place of their own after the `edges`.
    """

    feature: str
    kind: FeatureKind
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    has_missing: bool = False

    @property
    def places(self) -> tuple[str, ...]:
        """What each place along the axis is called."""
        if self.labels:
            return self.labels
        ends = self._ends()
        ranges = [f"{low} to {high}" for low, high in pairwise(ends)]
        return (*ranges, "missing") if self.has_missing else tuple(ranges)

    def _ends(self) -> list[str]:
        """Edges in words; numbers with as many decimals as tell two edges apart."""
        if self.kind == "date":
            return [value_in_words(edge, self.kind) for edge in self.edges]
        step = (self.edges[-1] - self.edges[0]) / (len(self.edges) - 1)
        if not 1e-4 < step < 1e6:
            return [f"{edge:.4g}" for edge in self.edges]
        decimals = max(0, 1 - floor(log10(step)))
        return [f"{edge:.{decimals}f}" for edge in self.edges]

    def middles(self) -> Feature:
        """Return a value in each place, as a feature."""
        count = len(self.places)
        if self.kind == "category":
            return Feature(self.feature, self.kind, np.arange(count, dtype=float), self.labels)
        if self.labels:
            return Feature(self.feature, self.kind, np.array([0.0, 1.0, np.nan])[:count])
        edges = np.array(self.edges)
        middles = np.append((edges[1:] + edges[:-1]) / 2, np.nan)
        return Feature(self.feature, self.kind, middles[:count])


@dataclass(frozen=True, slots=True)
class FeatureMap:
    """Coverage as shipped on the two features that tell most about it; rows of y, each from left to right in x."""

    x: MapAxis
    y: MapAxis
    coverage: tuple[tuple[float, ...], ...]
    rows: tuple[tuple[int, ...], ...]

    def inside(self, region: Region) -> Flags:
        """Return which cells lie in a region, by their middles; none where other features cut it."""
        x = self.x.middles()
        y = self.y.middles()
        shape = len(y), len(x)
        if not {condition.feature for condition in region.conditions} <= {x.name, y.name}:
            return np.zeros(shape, np.bool_)
        across = x.take(np.tile(np.arange(shape[1]), shape[0]))
        along = y.take(np.repeat(np.arange(shape[0]), shape[1]))
        return region.holds([across, along]).reshape(shape)


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
        Regions that are covered too rarely, and those that are covered far too often, the most significant first.
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
        """The rules of all pockets, the most significant first, as calibration by pocket applies them."""
        both = sorted([*self.pockets, *self.wide], key=lambda pocket: pocket.pvalue)
        return tuple(pocket.region for pocket in both)

    def labels(self, features: Any) -> list[str]:
        """Return the pocket of each row, the most significant first, or "elsewhere": groups of an `IntervalCalibrator`.

        Parameters
        ----------
        features : data frame or mapping from name to array
            Of any rows, also new ones.
        """
        return labels_of_rows(self.regions, read_features(features))

    @property
    def headline(self) -> str:
        """One sentence for a verdict; empty where nothing was tested."""
        return headline(self)

    @property
    def summary(self) -> tuple[str, ...]:
        """What was found without the numbers of each pocket, which a table has."""
        return tuple(summary(self))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, or could have been."""
        return tuple(of_model(self))


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
            f"no model is called {name!r}; there are {listed([model.model for model in self.models])}"
        )

    @property
    def text(self) -> str:
        """All sentences, one per line."""
        return "\n".join(of_all(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists."""
        return record(self)

    def plot(self, name: str | None = None) -> Figure:
        """Draw the regions of a model on its two strongest features."""
        from uccurve.plots._pockets import pockets

        return pockets(self, name)

    def __repr__(self) -> str:
        return self.text


CELLS = 10  # along each axis
OTHERS = "others"
REMEDIES = 3  # pockets whose coverage with a factor of their own is told


def feature_map(
    model: ShippedRows, features: Sequence[Feature], strength: Array
) -> FeatureMap | None:
    """Return the map of the two strongest features; None where fewer than two tell anything."""
    strongest = np.argsort(-strength, kind="stable")[:2]
    if len(strongest) < 2 or strength[strongest[0]] <= 0:
        return None
    x, across = _axis(features[strongest[0]])
    y, along = _axis(features[strongest[1]])
    shape = (len(y.places), len(x.places))
    cell = along * shape[1] + across
    rows = np.bincount(cell, minlength=shape[0] * shape[1])
    weights = np.bincount(cell, model.weights, len(rows))
    covered = np.bincount(cell, model.weights * model.covered, len(rows))
    shares = np.divide(covered, weights, out=np.full(len(rows), np.nan), where=weights > 0)
    return FeatureMap(
        x=x,
        y=y,
        coverage=tuple(map(tuple, shares.reshape(shape).tolist())),
        rows=tuple(map(tuple, rows.reshape(shape).tolist())),
    )


def _axis(feature: Feature) -> tuple[MapAxis, Indices]:
    """Return an axis, and the place of each row along it."""
    if feature.kind in ("category", "flag"):
        return _label_axis(feature)
    known = feature.known
    known = known[np.isfinite(known)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, CELLS + 1)))
    place = np.searchsorted(edges[1:-1], feature.values, side="left")
    place[np.isnan(feature.values)] = len(edges) - 1
    has_missing = bool(np.isnan(feature.values).any())
    axis = MapAxis(feature.name, feature.kind, tuple(edges.tolist()), has_missing=has_missing)
    return axis, place


def _label_axis(feature: Feature) -> tuple[MapAxis, Indices]:
    names = feature.labels if feature.kind == "category" else ("no", "yes")
    code = np.where(np.isnan(feature.values), len(names), feature.values).astype(np.intp)
    counts = np.bincount(code, minlength=len(names) + 1)[:-1]
    shown = np.sort(np.argsort(-counts, kind="stable")[: CELLS - 1])
    place = np.full(len(names) + 1, len(shown))
    place[shown] = np.arange(len(shown))
    labels = [names[number] for number in shown]
    if (place[code] == len(shown)).any():
        labels.append(OTHERS)
    return MapAxis(feature.name, feature.kind, labels=tuple(labels)), place[code]


def of_all(pockets: Pockets) -> Iterator[str]:
    """Yield all sentences, those of each model under its name where there are several."""
    for model in pockets.models:
        lines = of_model(model)
        if len(pockets.models) == 1:
            yield from lines
        else:
            yield from (f"{short(model.model)}: {line}" for line in lines)
    yield from pockets.notes


def of_model(model: ModelPockets) -> list[str]:
    """Return what was found in one model: the whole first, then each region, then what remedies it."""
    if isnan(model.pvalue):
        return [f"Pockets were not tested: {model.reason}."]
    if not model.predictable:
        return [nothing(model)]
    lines = [whole(model)]
    lines += [narrow(pocket, model.shipped) for pocket in model.pockets]
    lines += [wide(pocket, model.shipped) for pocket in model.wide]
    return [*lines, *remedy(model)]


def summary(model: ModelPockets) -> list[str]:
    """Return the sentences of one model but for those on each region."""
    lines = of_model(model)
    return [lines[0], *remedy(model)]


def headline(model: ModelPockets) -> str:
    """Return one sentence for a verdict."""
    if isnan(model.pvalue):
        return ""
    if not model.pockets:
        return of_model(model)[0]
    first = model.pockets[0]
    more = len(model.pockets) - 1
    others = f" and {counted(more, 'more pocket')}" if more else ""
    return (
        f"Fails where {first.title}{others}: covers {percent(first.coverage.value)} of {promised(first)} as shipped, "
        f"bands there need {change(first.move)}."
    )


def whole(model: ModelPockets) -> str:
    """Return what the test of the whole says where it is significant."""
    risks = f"between {percent(model.lowest_risk)} and {percent(model.highest_risk)} by region"
    line = f"Misses can be predicted from the features ({adjusted(model.pvalue)}): {risks}."
    if model.pockets or model.wide:
        return line
    return f"{line} No single region is shown to fail."


def nothing(model: ModelPockets) -> str:
    """Return what could have been found, where nothing was."""
    line = f"Nothing in the features predicts a miss ({adjusted(model.pvalue)})"
    return f"{line}; {detectable(model.power)}."


def detectable(power: PocketPower | None) -> str:
    """Return the pocket that would have been found."""
    if power is None:
        return "there are too few rows to find a pocket of a fifth of them or less"
    return (
        f"a pocket of {coverage(power.share)} of the rows that covers less than {coverage(power.coverage)} "
        f"would have been found with {coverage(power.probability)} probability"
    )


def narrow(pocket: Pocket, shipped: Move) -> str:
    """Return what is known of a region that is covered too rarely."""
    return (
        f"{pocket.title}: {counted(pocket.n, 'row')}, covers {interval(pocket.coverage)} of {promised(pocket)} "
        f"as shipped, at most {share(pocket.bound)} ({adjusted(pocket.pvalue)}); bands there need "
        f"{change(pocket.move)}{instead(shipped)}{_confirmed(pocket)}."
    )


def wide(pocket: Pocket, shipped: Move) -> str:
    """Return what is known of a region that is covered too often."""
    return (
        f"{pocket.title}: {counted(pocket.n, 'row')}, covers {interval(pocket.coverage)}, more than the promised "
        f"{promised(pocket)} ({adjusted(pocket.pvalue)}); {change(pocket.move)} would do{instead(shipped)}"
        f"{_confirmed(pocket)}."
    )


def remedy(model: ModelPockets) -> Iterator[str]:
    """Yield what calibration by pocket does, checked on the half that had no part in it."""
    changed = [*model.pockets, *model.wide]
    if not changed:
        return
    effects = [
        _effect(pocket.title, pocket.coverage, pocket.after) for pocket in changed[:REMEDIES]
    ]
    if isfinite(model.elsewhere.value):
        effects.append(_effect(ELSEWHERE, model.elsewhere, model.elsewhere_after))
    yield (
        "A factor for each pocket, learnt on one half of the data and checked on the other, changes the coverage: "
        f"{'; '.join(effects)}."
    )


def _effect(title: str, before: Estimate, after: Estimate) -> str:
    return f"{title} from {percent(before.value)} to {percent(after.value)}"


def change(move: Move) -> str:
    """Return a factor, or what is added."""
    value = move.estimate.value
    if not isfinite(value):
        return "more rows for a factor"
    cell: Cell = amount(value) if move.kind == "shift" else factor(value)
    return str(cell)


def instead(shipped: Move) -> str:
    """Return what ships elsewhere, but for bands that ship unchanged."""
    unchanged = 1.0 if shipped.kind == "scale" else 0.0
    return "" if shipped.estimate.value == unchanged else f" instead of {change(shipped)}"


def interval(estimate: Estimate) -> str:
    """Return a share with its interval."""
    return str(share(estimate.value, estimate.low, estimate.high))


def percent(value: float) -> str:
    """Return a share in whole percent, with a digit more near both ends.

    >>> percent(0.714), percent(0.016), percent(0.996)
    ('71%', '1.6%', '99.6%')
    """
    if isnan(value):
        return str(share(value))
    near_the_end = min(value, 1 - value) < 0.03
    return f"{100 * value:.1f}%" if near_the_end and value not in (0, 1) else f"{100 * value:.0f}%"


def promised(pocket: Pocket) -> str:
    """Return the coverage that was promised."""
    return str(coverage(pocket.target))


def adjusted(pvalue: float) -> str:
    """Return an adjusted p-value."""
    return f"adjusted {p(pvalue)}"


def _confirmed(pocket: Pocket) -> str:
    return "; both halves of the data show it" if pocket.halves > 1 else ""
