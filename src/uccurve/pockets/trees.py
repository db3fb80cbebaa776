"""Trees: what learns where misses are frequent; shallow trees name regions, boosted ones test the whole.

A shallow tree that splits greedily cannot see an interaction: each feature alone shows nothing. So the first split is
chosen together with the two that follow it, among all of them, where that gains clearly more.

For the test of the whole, blocks are put in random order. A model of boosted trees learns on the first 40% of the rows
and predicts the next fifth, then learns on 60%, then on 80%. What is tested was never learnt from, and no row serves on
both sides: the parts are a martingale, so the test holds its level. Cross-fitting that lets each fold learn from all
others does not: each pair of rows then counts twice, and equal risks are called predictable in up to 13% of data sets
at a level of 5%.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import floor, log10, nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uccurve._arrays import Flags, Indices
from uccurve._distributions import t_tail
from uccurve._vocabulary import Array
from uccurve.pockets.features import DAY, Condition, Feature, Region

if TYPE_CHECKING:
    from uccurve.pockets.regions import ShippedRows, Surroundings

MOST_LEAVES = 8
SMALLEST_SHARE = 0.05  # of the rows, in a leaf
MOST_BINS = 32
LEAST_GAIN = (
    9.0  # of a split, in units of the variance of the score: what the best of noise reaches
)
MARGIN = 8.0  # by which looking ahead must gain more than splitting greedily
LOOKED_AHEAD = 40  # features, the strongest ones, among which pairs are looked at
LARGEST = 1e200  # of the numbers of a feature; scikit-learn cuts none beyond 1e300
SMALLEST_SPAN = 1e-290  # of a feature whose cuts are rounded
LEAST_LABEL = 10  # rows of a label that is grouped by its own score
ORDERED_NOISE = 2 / np.pi  # gain per label of noise that was put in order
BinRange = tuple[int, int]  # first and last bin


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """How one feature is cut, as learnt from the rows that a tree is grown on.

    Numbers have a bin up to each of the `edges` and one beyond; labels have one each in the order of their score, and
    one for all others. What is missing is in the last bin.
    """

    feature: Feature
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of bins."""
        if self.feature.kind == "category":
            return len(self.labels) + 1
        return len(self.edges) + 2

    @property
    def penalty(self) -> float:
        """Gain of a split that the order of the labels alone would bring."""
        return ORDERED_NOISE * max(len(self.labels) - 2, 0)

    def codes(self, feature: Feature) -> npt.NDArray[np.uint8]:
        """Return the bin of each row."""
        absent = np.isnan(feature.values)
        if feature.kind == "category":
            bin_of = {label: number for number, label in enumerate(self.labels)}
            rest = len(self.labels)
            bins = np.array([*(bin_of.get(label, rest) for label in feature.labels), rest])
            code = bins[np.where(absent, -1, feature.values).astype(np.intp)]
        else:
            code = np.searchsorted(self.edges, feature.values, side="left")
            code[absent] = self.count - 1
        return code.astype(np.uint8)

    def condition(self, first: int, last: int) -> Condition:
        """Return what rows in a range of bins fulfil."""
        feature = self.feature
        top = last == self.count - 1
        if feature.kind == "category":
            labels = self.labels[:first] if top else self.labels[first : last + 1]
            return Condition(
                feature.name, "category", labels=tuple(sorted(labels)), excluded=top, missing=top
            )
        missing = top and bool(np.isnan(feature.values).any())
        if first == self.count - 1:
            return Condition(feature.name, feature.kind, known=False, missing=True)
        above = self.edges[first - 1] if first > 0 else None
        at_most = self.edges[last] if last < len(self.edges) else None
        return Condition(feature.name, feature.kind, above=above, at_most=at_most, missing=missing)


def binned(feature: Feature, score: Array) -> Bins:
    """Cut a feature by the rows of `feature` and their scores."""
    if feature.kind == "category":
        return Bins(feature, labels=_labels_by_score(feature, score))
    return Bins(feature, edges=_edges(feature))


def _labels_by_score(feature: Feature, score: Array) -> tuple[str, ...]:
    """Return the most frequent labels, in the order of their mean score."""
    known = ~np.isnan(feature.values)
    code = feature.values[known].astype(np.intp)
    counts = np.bincount(code, minlength=len(feature.labels))
    sums = np.bincount(code, score[known], len(feature.labels))
    frequent = np.argsort(-counts, kind="stable")[: MOST_BINS - 1]
    frequent = frequent[counts[frequent] >= LEAST_LABEL]
    means = sums[frequent] / counts[frequent]
    ordered = frequent[np.argsort(means, kind="stable")]
    return tuple(feature.labels[number] for number in ordered)


def _edges(feature: Feature) -> tuple[float, ...]:
    """Return readable numbers that cut a feature into bins of about as many rows each."""
    values = feature.known
    values = values[np.isfinite(values)]
    if not len(values):
        return ()
    if feature.kind == "flag":
        return (0.5,)
    distinct = np.unique(values)
    if len(distinct) <= MOST_BINS - 2:
        return _as_floats(distinct[:-1])
    quantiles = np.quantile(values, np.linspace(0, 1, MOST_BINS)[1:-1])
    if quantiles[-1] - quantiles[0] < SMALLEST_SPAN:
        return _as_floats(np.unique(quantiles))
    step = _step(feature, quantiles)
    rounded = [float(f"{multiple * step:.12g}") for multiple in np.round(quantiles / step)]
    return tuple(sorted(set(rounded)))


def _as_floats(values: Array) -> tuple[float, ...]:
    return tuple(values.tolist())


def _step(feature: Feature, quantiles: Array) -> float:
    """Return what edges are rounded to: about a hundredth of the range, or whole days and hours."""
    span = float(quantiles[-1] - quantiles[0])
    if feature.kind == "date":
        steps = (DAY, 3600, 60, 1)
        return next((step for step in steps if span > 50 * step), 1e-3)
    return float(10.0 ** floor(log10(span / 100)))


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What a tree is grown on: rows as bins, with their scores and weights."""

    bins: Sequence[Bins]
    codes: npt.NDArray[np.uint8]  # one row per feature
    score: Array
    weight: Array
    least: float  # rows of a leaf

    @classmethod
    def of(cls, features: Sequence[Feature], score: Array, weight: Array | None = None) -> Ground:
        """Cut features, and bring the score to mean 0 and variance 1."""
        weights = np.ones(len(score)) if weight is None else weight / weight.mean()
        centred = score - np.average(score, weights=weights)
        deviation = np.sqrt(np.average(centred**2, weights=weights))
        scaled = centred / deviation if deviation > 0 else centred
        bins = [binned(feature, scaled) for feature in features]
        codes = [part.codes(feature) for part, feature in zip(bins, features, strict=True)]
        return cls(bins, np.array(codes), scaled, weights, SMALLEST_SHARE * len(score))

    @property
    def width(self) -> int:
        """The largest number of bins."""
        return max(part.count for part in self.bins)

    @property
    def penalties(self) -> Array:
        """Penalty of each feature."""
        return np.array([part.penalty for part in self.bins])


class Split(NamedTuple):
    """A split of some rows by one feature."""

    feature: int
    cut: int  # last bin of the low side
    gain: float  # by how much the sum of squares falls


@dataclass(slots=True, eq=False)
class Node:
    """A region of a tree, and the two that it is split into where it is."""

    rows: Indices
    ranges: dict[int, BinRange] = field(default_factory=dict)
    region: Region = field(default_factory=Region)
    children: tuple[Node, ...] = ()

    def leaves(self) -> Iterator[Node]:
        """Yield the regions that are not split."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A grown tree, and how much each feature gained in it."""

    root: Node
    gains: Array


def grow(ground: Ground) -> Tree:
    """Grow a tree of at most `MOST_LEAVES` leaves, always splitting where that gains most."""
    root = Node(np.arange(len(ground.score)))
    gains = np.zeros(len(ground.bins))
    open_splits = [(root, first_split(ground, root))]
    leaves = 1
    while leaves < MOST_LEAVES:
        node, split = max(open_splits, key=lambda pair: pair[1].gain)
        if split.gain < LEAST_GAIN:
            break
        open_splits.remove((node, split))
        _divide(ground, node, split)
        gains[split.feature] += split.gain
        open_splits += [(child, best_split(ground, child.rows)) for child in node.children]
        leaves += 1
    return Tree(root, gains)


def _divide(ground: Ground, node: Node, split: Split) -> None:
    """Split a node into two."""
    number, cut = split.feature, split.cut
    first, last = node.ranges.get(number, (0, ground.bins[number].count - 1))
    low = ground.codes[number][node.rows] <= cut
    node.children = (
        _child(ground, node, number, (first, cut), low),
        _child(ground, node, number, (cut + 1, last), ~low),
    )


def _child(ground: Ground, node: Node, number: int, bins: BinRange, inside: Flags) -> Node:
    ranges = {**node.ranges, number: bins}
    conditions = [ground.bins[place].condition(*part) for place, part in ranges.items()]
    return Node(node.rows[inside], ranges, Region(tuple(conditions)))


def first_split(ground: Ground, root: Node) -> Split:
    """Return the best first split: greedy, unless looking ahead gains clearly more."""
    greedy = best_split(ground, root.rows)
    if len(ground.bins) < 2:
        return greedy
    total = looked_ahead(ground, root.rows)
    place = np.unravel_index(int(np.argmax(total)), total.shape)
    ahead = float(total[place])
    reached = float(total[greedy.feature, greedy.cut])
    if ahead < max(reached + MARGIN, LEAST_GAIN + MARGIN):
        return greedy
    return Split(int(place[0]), int(place[1]), ahead)


def best_split(ground: Ground, rows: Indices) -> Split:
    """Return the split of some rows that gains most; its gain is 0 where there is none."""
    gains = _gains(ground, rows)
    place = np.unravel_index(int(np.argmax(gains)), gains.shape)
    return Split(int(place[0]), int(place[1]), float(max(gains[place], 0.0)))


def _gains(ground: Ground, rows: Indices) -> Array:
    """Return the gain of every split, by feature and cut."""
    score = ground.score[rows]
    weight = ground.weight[rows]
    shape = (len(ground.bins), ground.width)
    counts = np.empty(shape)
    weights = np.empty(shape)
    sums = np.empty(shape)
    for number, codes in enumerate(ground.codes):
        code = codes[rows]
        counts[number] = np.bincount(code, minlength=shape[1])
        weights[number] = np.bincount(code, weight, shape[1])
        sums[number] = np.bincount(code, weight * score, shape[1])
    low = Groups(counts, weights, sums).cumulated(1)
    whole = low.at(slice(None), slice(-1, None))
    gains = low.value(ground.least) + (whole - low).value(ground.least)
    return gains - whole.value(0) - ground.penalties[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows, weights and weighted scores of many groups of rows."""

    counts: Array
    weights: Array
    sums: Array

    def cumulated(self, *axes: int) -> Groups:
        """Return the sums up to each bin, along some axes."""
        arrays = [self.counts, self.weights, self.sums]
        for axis in axes:
            arrays = [np.cumsum(array, axis) for array in arrays]
        return Groups(*arrays)

    def at(self, *place: slice) -> Groups:
        """Return some of the groups."""
        return Groups(self.counts[place], self.weights[place], self.sums[place])

    def __sub__(self, other: Groups) -> Groups:
        counts = self.counts - other.counts
        return Groups(counts, self.weights - other.weights, self.sums - other.sums)

    def transposed(self) -> Groups:
        """Return the same with the two features swapped."""
        return Groups(self.counts.T, self.weights.T, self.sums.T)

    def value(self, least: float) -> Array:
        """Return how much a group's own mean explains; minus infinity where it has too few rows."""
        enough = (self.counts >= least) & (self.weights > 0)
        weights = np.where(enough, self.weights, 1.0)
        return np.where(enough, self.sums**2 / weights, -np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Explained:
    """How much the best second split explains on either side of each first split, by feature and cut."""

    low: Array
    high: Array

    def keep(self, first: int, table: Groups, least: float, penalty: float) -> None:
        """Keep what the second feature of a table explains, where it is the best so far."""
        everything = slice(None)
        above = table.at(slice(-1, None), everything) - table
        for side, best in ((table, self.low), (above, self.high)):
            whole = side.at(everything, slice(-1, None))
            split = side.value(least) + (whole - side).value(least)
            unsplit = whole.value(least)[:, 0]
            explained = np.maximum(split.max(axis=1) - penalty, unsplit)
            best[first] = np.maximum(best[first], explained)


def looked_ahead(ground: Ground, rows: Indices) -> Array:
    """Return the gain of every first split together with the best split of either side."""
    alone = _gains(ground, rows)
    strongest = np.argsort(-alone.max(axis=1), kind="stable")[:LOOKED_AHEAD]
    best = Explained(np.full(alone.shape, -np.inf), np.full(alone.shape, -np.inf))
    for first, second in combinations(sorted(strongest.tolist()), 2):
        table = _pair(ground, rows, first, second)
        best.keep(first, table, ground.least, ground.bins[second].penalty)
        best.keep(second, table.transposed(), ground.least, ground.bins[first].penalty)
    score = ground.score[rows]
    weight = ground.weight[rows]
    whole = float(np.sum(weight * score)) ** 2 / float(np.sum(weight))
    total: Array = best.low + best.high - whole - ground.penalties[:, None]
    return total


def _pair(ground: Ground, rows: Indices, first: int, second: int) -> Groups:
    """Return the rows up to each pair of bins of two features."""
    width = ground.width
    code = ground.codes[first][rows].astype(np.intp) * width + ground.codes[second][rows]
    weight = ground.weight[rows]
    shape = (width, width)
    columns = (np.ones(len(rows)), weight, weight * ground.score[rows])
    arrays: list[Array] = []
    for column in columns:
        sums = np.bincount(code, column, width * width)
        arrays.append(sums.reshape(shape).astype(np.float64, copy=False))
    return Groups(*arrays).cumulated(0, 1)


PARTS = (0.4, 0.6, 0.8, 1.0)  # shares of the rows at which one part ends and the next begins
FEWEST_ROWS = 100
MANY_ROWS = 200_000  # from which several threads learn faster than one
FEWEST_BLOCKS = 20
NEEDS = 'find_pockets needs scikit-learn: pip install "uccurve[sklearn]"'


@dataclass(frozen=True, slots=True)
class RiskTest:
    """The test of the whole: its t statistic with degrees of freedom, and the one-sided p-value."""

    statistic: float
    degrees: int
    pvalue: float


def savage_scores(values: Array) -> Array:
    """Return ``-log(1 - rank / (n + 1))``, equal for ties: how unusually large a value is, whatever its scale."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = last - (counts - 1) / 2
    scores: Array = -np.log1p(-middle / (len(values) + 1))
    return scores[place]


def shuffled(data: Surroundings, seed: int) -> tuple[Indices, Array]:
    """Return the rows with their blocks in random order, and the share of the rows at the end of each row's block."""
    place = np.random.default_rng(seed).permutation(data.count)[data.of_row]
    order = np.argsort(place, kind="stable")
    last = np.searchsorted(place[order], place[order], side="right")
    return order, last / len(order)


def risk_test(model: ShippedRows, data: Surroundings) -> RiskTest:
    """Test whether features predict which rows a model misses."""
    order, reached = shuffled(data, data.asked.seed)
    score = savage_scores(model.critical)
    influence = np.zeros(len(order))
    for start, end in pairwise(PARTS):
        learnt = order[reached <= start]
        tested = order[(reached > start) & (reached <= end)]
        if len(learnt) and len(tested):
            columns = [_column(feature, score, learnt) for feature in data.features]
            risk = predicted(np.column_stack(columns), score, model.weights, (learnt, tested))
            influence[tested] = sqrt(len(learnt)) * _covariance(risk, model.take(tested))
    return _tested(influence, model, data)


def predicted(matrix: Array, score: Array, weights: Array, parts: tuple[Indices, Indices]) -> Array:
    """Return what boosted trees that learnt on some rows predict for others, in mean 0 and variance 1."""
    learnt, tested = parts
    boosting = _boosting(len(learnt))
    is_weighted = bool(np.ptp(weights) > 0)  # scikit-learn cuts weighted rows ten times as slowly
    sample_weight = weights[learnt] if is_weighted else None
    with _threads_for(len(learnt)):
        boosting.fit(matrix[learnt], score[learnt], sample_weight=sample_weight)
        risk: Array = boosting.predict(matrix[tested])
    risk = risk - np.average(risk, weights=weights[tested])
    size = float(np.sqrt(np.average(risk**2, weights=weights[tested])))
    return risk / size if size > 1e-9 else np.zeros(len(risk))


def _boosting(rows: int) -> Any:
    """Return a small model of boosted trees."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ModuleNotFoundError as error:
        raise ImportError(NEEDS) from error
    return HistGradientBoostingRegressor(
        max_iter=60,
        learning_rate=0.08,
        max_leaf_nodes=8,
        min_samples_leaf=max(10, rows // 40),
        l2_regularization=5.0,
        early_stopping=False,
        random_state=0,
    )


def _threads_for(rows: int) -> AbstractContextManager[Any]:
    """Let few rows be learnt from by one thread: on a busy machine several would wait for each other."""
    from threadpoolctl import threadpool_limits  # which comes with scikit-learn

    if rows >= MANY_ROWS:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="openmp")
    return limits


def _column(feature: Feature, score: Array, learnt: Indices) -> Array:
    """Return a feature as numbers; labels by the order of their score among the rows that are learnt from."""
    if feature.kind != "category":
        return _finite(feature.values)
    bins = binned(feature.take(learnt), score[learnt])
    return bins.codes(feature).astype(np.float64)


def _finite(values: Array) -> Array:
    """Return numbers that scikit-learn can cut: infinite ones become the largest of the others, large ones smaller."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values
    clipped: Array = np.clip(values, finite.min(), finite.max())
    largest = float(np.abs(finite).max())
    return clipped / largest if largest > LARGEST else clipped


def _covariance(risk: Array, model: ShippedRows) -> Array:
    """Return each row's part of the covariance of predicted risk and misses."""
    missed = ~model.covered
    weights = model.weights
    centred = missed - np.average(missed, weights=weights)
    return weights * risk * centred


def _tested(influence: Array, model: ShippedRows, data: Surroundings) -> RiskTest:
    """Return the t test of a sum over blocks that should be 0 where nothing predicts a miss."""
    sums = np.bincount(data.of_row, influence, data.count)
    missing = np.unique(data.of_row[~model.covered])
    tested = np.unique(data.of_row[influence != 0])
    degrees = min(len(tested), len(np.intersect1d(missing, tested))) - 1
    error = sqrt(float(np.sum(sums**2)))
    if degrees < 1:
        return RiskTest(nan, degrees, nan)
    if error <= 0:
        return RiskTest(0.0, degrees, 1.0)
    statistic = float(sums.sum()) / error
    half = t_tail(statistic, degrees) / 2
    return RiskTest(statistic, degrees, half if statistic > 0 else 1 - half)
