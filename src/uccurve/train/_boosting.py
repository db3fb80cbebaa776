"""Newton boosting of the logarithm of a band, by scikit-learn's trees or by LightGBM."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from uccurve._vocabulary import Array

from ._objective import derivatives

FEW_ROWS = 10_000  # lightGBM advises against many threads on no more rows than these


class Rows(NamedTuple):
    """Features, the errors' sizes ``r^p`` in a unit that makes their mean 1, and weights."""

    X: Any
    size: Array
    weight: Array

    def at(self, index: Any) -> Self:
        """Return some of the rows."""
        return type(self)(self.X[index], self.size[index], self.weight[index])


def held_out_area(rows: Rows, raw: Array) -> float:
    """Return the area of held-out rows, up to a factor: ``E[band] E[size / band]``."""
    band = np.exp(raw)
    return float(
        np.average(band, weights=rows.weight) * np.average(rows.size / band, weights=rows.weight)
    )


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


def boosted_trees(rows: Rows, held_out: Rows | None, settings: Any, seed: int) -> Ensemble:
    """Boost scikit-learn's trees, at most until the area of held-out rows stops falling; `settings` as attributes."""
    random, raw = np.random.RandomState(seed), np.zeros(len(rows.size))
    steps = (_newton_step(rows, raw, settings, random) for _ in range(settings.n_estimators))
    trees = list(steps) if held_out is None else _stopped_early(steps, held_out, settings)
    return Ensemble(trees, len(trees), settings.learning_rate, {"check_input": False})


def _stopped_early(
    steps: Iterable[DecisionTreeRegressor], held_out: Rows, settings: Any
) -> list[DecisionTreeRegressor]:
    """Return the trees up to the smallest area of held-out rows; stop when it has not fallen for some of them."""
    trees, raw = [], np.zeros(len(held_out.size))
    areas = [held_out_area(held_out, raw)]
    for tree in steps:
        trees.append(tree)
        raw += settings.learning_rate * tree.predict(held_out.X, check_input=False)
        areas.append(held_out_area(held_out, raw))
        if len(trees) - np.nanargmin(areas) >= settings.n_iter_no_change:
            break
    return trees[: int(np.nanargmin(areas))]


def _newton_step(rows: Rows, raw: Array, settings: Any, random: Any) -> DecisionTreeRegressor:
    """Return a tree whose leaves are Newton steps, fitted with the Hessian as weight, and add it to `raw`."""
    gradient, hessian = derivatives(rows.size, raw)
    tree = DecisionTreeRegressor(
        max_leaf_nodes=settings.max_leaf_nodes,
        min_samples_leaf=settings.min_samples_leaf,
        random_state=random,
    )
    tree.fit(rows.X, -gradient / hessian, sample_weight=rows.weight * hessian)
    leaf = tree.tree_.weighted_n_node_samples
    tree.tree_.value[:, 0, 0] *= leaf / (
        leaf + settings.l2_regularization
    )  # -G / H becomes -G / (H + l2)
    raw += settings.learning_rate * tree.predict(rows.X, check_input=False)
    return tree


def boosted_by_lightgbm(rows: Rows, held_out: Rows | None, settings: Any, seed: int) -> Ensemble:
    """Boost LightGBM's trees, at most until the area of held-out rows stops falling; `settings` as attributes."""
    try:
        import lightgbm
    except ModuleNotFoundError as error:
        raise ImportError('backend="lightgbm" needs LightGBM: pip install lightgbm') from error

    size, weight = (
        rows.size.astype(np.float32),
        rows.weight.astype(np.float32),
    )  # as LightGBM computes

    def objective(raw: Array, _: Any) -> tuple[Any, Any]:
        gradient, hessian = derivatives(size, raw.astype(np.float32))
        return weight * gradient, weight * hessian

    params: dict[str, Any] = {
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.max_leaf_nodes,
        "min_data_in_leaf": settings.min_samples_leaf,
        "lambda_l2": settings.l2_regularization,
        "feature_pre_filter": False,  # it would leave too few rows without any feature
        "metric": "none",
        "num_threads": 1 if len(size) <= FEW_ROWS else 0,
        "seed": seed,
        "verbosity": -1,
    }
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
    better = booster.best_score["valid_0"]["area"] < held_out_area(
        held_out, np.zeros(len(held_out.size))
    )
    if not better:
        return Ensemble((), 0)
    return Ensemble(
        [booster], booster.best_iteration, options={"num_iteration": booster.best_iteration}
    )
