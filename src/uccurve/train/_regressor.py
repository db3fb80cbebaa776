"""A scikit-learn regressor of bands, trained for the area by Newton boosting of their logarithm."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from uccurve._vocabulary import Array, Axes
from uccurve.curve import UCC
from uccurve.intervals import Intervals

from ._objective import DEFICIT, absolute_errors, derivatives, finite_errors, power

FEW_ROWS = 10_000  # lightGBM advises against many threads on no more rows than these
FEATURES: dict[str, Any] = {
    "dtype": np.float32,
    "accept_sparse": "csr",
    "accept_large_sparse": False,
    "ensure_all_finite": "allow-nan",
}
# Whether errors are finite is for our own refusals to say.
TARGET: dict[str, Any] = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False}


class TrainingRows(NamedTuple):
    """Features, the errors' sizes ``r^p`` in a unit that makes their mean 1, and weights."""

    X: Any
    size: Array
    weight: Array

    def at(self, index: Any) -> Self:
        """Return some of the rows."""
        return type(self)(self.X[index], self.size[index], self.weight[index])


def held_out_area(rows: TrainingRows, raw: Array) -> float:
    """Return the area of held-out rows, up to a factor: ``E[band] E[size / band]``."""
    band = np.exp(raw)
    width = np.average(band, weights=rows.weight)
    return float(width * np.average(rows.size / band, weights=rows.weight))


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Trees, or a whole booster, whose predictions add up to the logarithm of the band."""

    parts: Sequence[Any]
    n_trees: int
    learning_rate: float = 1.0  # share of each prediction that is taken
    options: Mapping[str, Any] = field(default_factory=dict)  # for their predict

    def raw(self, X: Any) -> Array:
        """Return the logarithm of the band, in units of the constant band."""
        total = np.zeros(X.shape[0])
        for part in self.parts:
            total += part.predict(X, **self.options)
        return self.learning_rate * total


def boosted_trees(
    rows: TrainingRows, held_out: TrainingRows | None, settings: Any, seed: int
) -> Ensemble:
    """Boost scikit-learn's trees, at most until the area of held-out rows stops falling; `settings` as attributes."""
    random = np.random.RandomState(seed)
    raw = np.zeros(len(rows.size))
    steps = (_newton_step(rows, raw, settings, random) for _ in range(settings.n_estimators))
    trees = list(steps) if held_out is None else _stopped_early(steps, held_out, settings)
    return Ensemble(trees, len(trees), settings.learning_rate, {"check_input": False})


def _stopped_early(
    steps: Iterable[DecisionTreeRegressor], held_out: TrainingRows, settings: Any
) -> list[DecisionTreeRegressor]:
    """Return the trees up to the smallest area of held-out rows; stop when it has not fallen for some of them."""
    trees = []
    raw = np.zeros(len(held_out.size))
    areas = [held_out_area(held_out, raw)]
    for tree in steps:
        trees.append(tree)
        raw += settings.learning_rate * tree.predict(held_out.X, check_input=False)
        areas.append(held_out_area(held_out, raw))
        if len(trees) - np.nanargmin(areas) >= settings.n_iter_no_change:
            break
    return trees[: int(np.nanargmin(areas))]


def _newton_step(
    rows: TrainingRows, raw: Array, settings: Any, random: Any
) -> DecisionTreeRegressor:
    """Return a tree whose leaves are Newton steps, fitted with the Hessian as weight, and add it to `raw`."""
    gradient, hessian = derivatives(rows.size, raw)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=settings.max_leaf_nodes,
        min_samples_leaf=settings.min_samples_leaf,
        random_state=random,
    )
    tree.fit(rows.X, -gradient / hessian, sample_weight=rows.weight * hessian)
    leaf = tree.tree_.weighted_n_node_samples
    shrinkage = leaf / (leaf + settings.l2_regularization)
    tree.tree_.value[:, 0, 0] *= shrinkage  # -G / H becomes -G / (H + l2)
    raw += settings.learning_rate * tree.predict(rows.X, check_input=False)
    return tree


def boosted_by_lightgbm(
    rows: TrainingRows, held_out: TrainingRows | None, settings: Any, seed: int
) -> Ensemble:
    """Boost LightGBM's trees, at most until the area of held-out rows stops falling; `settings` as attributes."""
    try:
        import lightgbm
    except ModuleNotFoundError as error:
        raise ImportError('backend="lightgbm" needs LightGBM: pip install lightgbm') from error

    size = rows.size.astype(np.float32)  # as LightGBM computes
    weight = rows.weight.astype(np.float32)

    def objective(raw: Array, _: Any) -> tuple[Any, Any]:
        gradient, hessian = derivatives(size, raw.astype(np.float32))
        return weight * gradient, weight * hessian

    params = _lightgbm_parameters(settings, len(size), seed)
    data = lightgbm.Dataset(rows.X, label=rows.size, params=params).construct()
    if not any(data.feature_num_bin(column) for column in range(data.num_feature())):
        return Ensemble((), 0)  # LightGBM stops with an error where every feature is constant
    train = partial(lightgbm.train, params | {"objective": objective}, data, settings.n_estimators)
    if held_out is None:
        return Ensemble([train()], settings.n_estimators)

    def area(raw: Array, _: Any) -> tuple[str, float, bool]:
        return "area", held_out_area(held_out, raw), False

    unseen = data.create_valid(held_out.X, label=held_out.size)
    stop = lightgbm.early_stopping(settings.n_iter_no_change, verbose=False)
    booster = train(valid_sets=[unseen], feval=area, callbacks=[stop])
    without_trees = held_out_area(held_out, np.zeros(len(held_out.size)))
    if not booster.best_score["valid_0"]["area"] < without_trees:
        return Ensemble((), 0)
    best = booster.best_iteration
    return Ensemble([booster], best, options={"num_iteration": best})


def _lightgbm_parameters(settings: Any, rows: int, seed: int) -> dict[str, Any]:
    """Return the settings under LightGBM's names."""
    return {
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.max_leaf_nodes,
        "min_data_in_leaf": settings.min_samples_leaf,
        "lambda_l2": settings.l2_regularization,
        "feature_pre_filter": False,  # it would leave too few rows without any feature
        "metric": "none",
        "num_threads": 1 if rows <= FEW_ROWS else 0,
        "seed": seed,
        "verbosity": -1,
    }


BACKENDS: Mapping[str, Any] = {"sklearn": boosted_trees, "lightgbm": boosted_by_lightgbm}


class BandRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Learn bands with the smallest area under the curve, by boosting.

    Fit it to errors ``y_true - y_pred`` of rows that the point prediction has not seen, such as those of
    ``cross_val_predict``. Its bands are right up to one common factor, which `IntervalCalibrator` finds.

    Parameters
    ----------
    axes : {("bandwidth", "deficit"), ("bandwidth", "miss_rate")}
        The area to minimise; see `uccurve.train.area_objective` for what the best bands are.
    sides : {"symmetric", "separate"}
        ``"symmetric"``: one band per row from absolute errors. ``"separate"``: a lower and an upper band from signed
        errors.
    n_estimators : int
        Number of trees, for each side; the largest number with early stopping.
    learning_rate : float
        Share of each Newton step that is taken, above 0 and at most 1.
    max_leaf_nodes : int
        Leaves per tree.
    min_samples_leaf : int
        Minimum number of rows per leaf.
    l2_regularization : float
        Shrinks the step of a leaf to ``H / (H + l2_regularization)`` of itself, where H is the sum of its rows'
        Hessians, about 2 per row: by default a leaf of 100 rows takes half of its step.
    n_iter_no_change : int or None
        Early stopping: hold `validation_fraction` of the rows out, stop when their area has not fallen for this many
        trees, and keep the trees up to the smallest area. None uses all rows and all trees.
    validation_fraction : float or int
        Share (or number) of the rows held out for early stopping.
    backend : {"sklearn", "lightgbm"}
        Whose trees to use; LightGBM, where installed, is many times as fast on many rows.
    random_state : int, RandomState or None
        For the held-out rows and the trees.

    Attributes
    ----------
    n_trees_ : tuple of int
        Trees kept: those of the band, or those of the lower and of the upper band.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    On deficit vs. bandwidth the best band is the conditional root mean square of the error, ``sqrt(E[r^2 | x])``; on
    miss_rate vs. bandwidth it is ``sqrt(m E[r | x])``, where m is the mean of r and puts the band in units of y. With
    separate sides each is ``sqrt(2 E[...])`` with errors on the other side counted as 0, so that both modes agree
    where errors are symmetric.

    Each tree is fitted to -gradient / Hessian of the loss with the Hessian as weight. The mean in a leaf is then
    ``tanh(d)``, where d is the way to the leaf's minimum, so a Newton step never overshoots and the training loss falls
    with every tree.

    The defaults were chosen on synthetic, diabetes, housing, wine and traffic data of 200 to 8,000 rows. On small data
    shrinkage beats early stopping, which takes rows away from training; on many thousand rows more leaves may pay.
    Missing values in `X` are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (2000, 1))
    >>> error = (1 + 2 * X[:, 0]) * rng.normal(size=2000)
    >>> BandRegressor(random_state=0).fit(X, np.abs(error)).predict([[0.0], [1.0]]).round()
    array([1., 3.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "axes": "no_validation",
        "sides": [StrOptions({"symmetric", "separate"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, None, closed="neither")],
        "backend": [StrOptions({*BACKENDS})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        axes: Axes = DEFICIT,
        *,
        sides: Literal["symmetric", "separate"] = "symmetric",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 8,
        min_samples_leaf: int = 20,
        l2_regularization: float = 200.0,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.2,
        backend: Literal["sklearn", "lightgbm"] = "sklearn",
        random_state: Any = None,
    ) -> None:
        self.axes = axes
        self.sides = sides
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.backend = backend
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # sklearn is untyped
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn bands from errors.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, features)
        y : array_like of shape (n,)
            Absolute errors, or signed errors ``y_true - y_pred`` with ``sides="separate"``.
        sample_weight : array_like of shape (n,), optional
            Only their ratios count; a row of weight 0 is left out.
        """
        X, errors, weight = self._rows(X, y, sample_weight, reset=True)
        by_side = _by_side(errors, self.sides)
        p = power(self.axes)
        sizes = (by_side / by_side.max()) ** p
        means = np.average(sizes, axis=0, weights=weight)
        unit = by_side.max() * means.sum() ** (1 / p)
        # each side's constant band, in units of y
        self._factors = unit * np.sqrt(len(means) * means / means.sum())
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        train, held_out = self._split(len(errors), seed)
        self._ensembles: list[Ensemble] = []
        for size in (sizes / means).T:
            rows = TrainingRows(X, size, weight)
            unseen = None if held_out is None else rows.at(held_out)
            self._ensembles.append(BACKENDS[self.backend](rows.at(train), unseen, self, seed))
        self.n_trees_ = tuple(ensemble.n_trees for ensemble in self._ensembles)
        return self

    def _split(self, count: int, seed: int) -> tuple[Any, Any]:
        """Return the rows to train on, and those held out for early stopping; None where there is none."""
        if self.n_iter_no_change is None:
            return slice(None), None
        train, held_out = train_test_split(
            np.arange(count), test_size=self.validation_fraction, random_state=seed
        )
        return train, held_out

    def predict(self, X: Any) -> Array:
        """Predict bands, all above 0.

        Returns
        -------
        array of shape (n,), or (n, 2) with the lower and the upper band where sides are separate
        """
        check_is_fitted(self)
        bands = self._bands(_accepted(validate_data(self, X, reset=False, **FEATURES)))
        return bands[:, 0] if self.sides == "symmetric" else bands

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the gain of the bands on the axes they were trained for: 1 minus their area over the constant band's.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, features)
        y : array_like of shape (n,)
            Errors, as for `fit`.
        sample_weight : array_like of shape (n,), optional
        """
        check_is_fitted(self)
        X, errors, weight = self._rows(X, y, sample_weight, reset=False)
        absolute_errors(errors if self.sides == "symmetric" else np.abs(errors))
        bands = self._bands(X)
        middle = np.zeros(len(errors))
        intervals = Intervals.from_bands(errors, middle, *bands.T, weight=weight)
        return UCC(intervals).gain(axes=self.axes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.sides == "symmetric"
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True  # a band is no estimate of the error itself
        return tags

    def _rows(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Array, Array]:
        """Return features, errors and weights of the rows that have one; weights have a mean of 1."""
        X, y = validate_data(self, X, y, reset=reset, validate_separately=(FEATURES, TARGET))
        errors = column_or_1d(y, warn=True)
        check_consistent_length(X, errors)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counted = weight > 0
        if not counted.any():
            raise ValueError("`sample_weight` must not be zero in every row.")
        if not counted.all():
            X = X[counted]
            errors = errors[counted]
            weight = weight[counted]
        return _accepted(X), errors, weight / weight.mean()

    def _bands(self, X: Any) -> Array:
        """Return one column of bands, or one for each side."""
        logarithms = [ensemble.raw(X) for ensemble in self._ensembles]
        bands: Array = self._factors * np.exp(np.column_stack(logarithms))
        return bands


def _accepted(X: Any) -> Any:
    """Return features as LightGBM takes them too: it knows sparse matrices but no sparse arrays."""
    return csr_matrix(X) if issparse(X) else X


def _by_side(y: Array, sides: str) -> Array:
    """Return errors as columns: one of absolute errors, or those below and those above the prediction."""
    if sides == "symmetric":
        return absolute_errors(y)[:, None]
    errors = finite_errors(y)
    for side, present in (("below", errors < 0), ("above", errors > 0)):
        if not present.any():
            raise ValueError(
                f"`y` must hold signed errors of both signs for separate sides: none lies {side} its prediction. "
                'Hint: pass y_true - y_pred, or absolute errors with sides="symmetric".'
            )
    return np.column_stack([np.maximum(-errors, 0), np.maximum(errors, 0)])
