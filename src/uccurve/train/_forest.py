"""A quantile forest: prediction intervals from the training rows in the leaves of a random forest."""

from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from uccurve import _refusals as checks
from uccurve._arrays import Indices
from uccurve._vocabulary import Array

AT_ONCE = 1 << 22  # values that are sorted at a time


class QuantileForest(RandomForestRegressor):  # type: ignore[misc]  # sklearn is untyped
    """A random forest that also predicts intervals: quantiles of one training row per leaf and tree.

    Parameters
    ----------
    coverage : float
        Share of new observations that should lie inside.
    n_estimators, min_samples_leaf, max_features, n_jobs, random_state
        As in `sklearn.ensemble.RandomForestRegressor`.

    Attributes
    ----------
    kept_ : array of shape (leaves, trees)
        The target of the training row that each leaf keeps.

    Notes
    -----
    Meinshausen's forest weighs all training rows of the leaves that a new row falls into. One row for each leaf, drawn
    at random, estimates the same distribution from as many values as there are trees, in a fraction of the memory.
    The intervals come as they are: `uccurve.IntervalRegressor` calibrates them.

    References
    ----------
    Meinshausen (2006), Quantile Regression Forests.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> y = X[:, 0] * rng.normal(size=2000)
    >>> model = QuantileForest(coverage=0.8, random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval([[0.1], [0.9]])
    >>> (upper - lower).round(1).tolist()  # the true ones are 2.56 standard deviations wide
    [0.2, 2.6]
    """

    def __init__(
        self,
        coverage: float = 0.9,
        *,
        n_estimators: int = 100,
        min_samples_leaf: int = 5,
        max_features: float | int | str | None = 0.5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_estimators,
            min_samples_leaf=min_samples_leaf,
            max_features=max_features,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.coverage = coverage

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the forest, and draw the row that each leaf keeps.

        Parameters
        ----------
        X : array_like of shape (n, features)
        y : array_like of shape (n,)
        sample_weight : array_like of shape (n,), optional
        """
        checks.miss_rate_of(self.coverage)
        target = column_or_1d(y, warn=True)
        super().fit(X, target, sample_weight)
        leaves = self.apply(X)
        self.kept_ = np.zeros((leaves.max() + 1, len(self.estimators_)))
        for place, tree in enumerate(self.estimators_):
            order = random_order(len(target), sample_weight, tree.random_state)
            self.kept_[leaves[order, place], place] = target[order]  # the last one stays
        return self

    def predict_interval(self, X: Any) -> tuple[Array, Array]:
        """Predict the bounds.

        Returns
        -------
        lower, upper : arrays of shape (n,)
        """
        check_is_fitted(self, "kept_")
        leaves = self.apply(X)
        trees = np.arange(leaves.shape[1])
        miss_rate = float(checks.miss_rate_of(self.coverage))
        tails = (miss_rate / 2, 1 - miss_rate / 2)
        bounds = [
            np.quantile(self.kept_[block, trees], tails, axis=1)
            for block in np.array_split(leaves, 1 + leaves.size // AT_ONCE)
        ]
        lower, upper = np.concatenate(bounds, axis=1)
        return lower, upper

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def random_order(n: int, weight: Any, seed: int) -> Indices:
    """Return rows in an order in which the last of any set is each row with a probability like its weight."""
    waiting = np.random.default_rng(seed).exponential(size=n)
    if weight is not None:
        share = np.asarray(weight, np.float64)
        waiting = np.divide(waiting, share, out=np.full(n, np.inf), where=share > 0)
    return np.argsort(-waiting)
