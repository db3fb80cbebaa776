"""Methods of the study, all for a coverage of 90%: each is fitted by one call, which returns what predicts.

They share one learner (gradient boosting of one size), the folds in which it is cross-fitted, and thereby the point
prediction, wherever a method leaves the learner to its user. A method's library is imported when it is fitted.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uccurve import IntervalRegressor
from uccurve.train import BandRegressor

from .experiment import Floats
from .tabular import meta_bands

Predict = Callable[
    [Floats], tuple[Floats, Floats, Floats]
]  # returns predictions, lower and upper bounds of new rows
Method = Callable[
    [Floats, Floats, int], Predict
]  # fits a method on features and targets with a seed

COVERAGE = 0.9
LOW, HIGH = 0.05, 0.95
NORMAL = 1.6448536269514722  # the normal distribution's quantile at HIGH
# The learner: the number and size of the trees that `BandRegressor` has by default.
SIZE = {"max_iter": 100, "max_leaf_nodes": 8, "min_samples_leaf": 20, "learning_rate": 0.1}
# Share of the training rows that CQR is conformalised on, and that the paper's Meta learns its bands from.
HELD_OUT = 0.25
AT_ONCE = (
    250  # rows that CV+ predicts at once: it needs memory for this number times the training rows
)


def learner(seed: int, **loss: Any) -> Any:
    """Return the regressor that all boosted methods use, for the mean or for another loss."""
    return HistGradientBoostingRegressor(early_stopping=False, random_state=seed, **SIZE, **loss)


def quantile(seed: int, level: float) -> Any:
    """Return the same for a quantile."""
    return learner(seed, loss="quantile", quantile=level)


def folds(seed: int) -> KFold:
    """Return the folds of every cross-fitted method."""
    return KFold(5, shuffle=True, random_state=seed)


def unseen_errors(X: Floats, y: Floats, seed: int) -> Floats:
    """Return the learner's errors on rows that it has not seen."""
    return np.asarray(y - cross_val_predict(learner(seed), X, y, cv=folds(seed)))


def around(factor: float, y_pred: Floats, band: Floats) -> tuple[Floats, Floats, Floats]:
    """Return predictions with bounds on both sides, a factor times the band away."""
    half_width = np.maximum(factor * band, 0.0)
    return y_pred, y_pred - half_width, y_pred + half_width


def of_object(make: Callable[[int], Any]) -> Method:
    """Return an object with `fit` and `predict_interval` as a method; without `predict` it gets the learner's."""

    def method(X: Floats, y: Floats, seed: int) -> Predict:
        model = make(seed)
        model.fit(X, y)
        point = model if hasattr(model, "predict") else learner(seed).fit(X, y)
        return lambda new: (point.predict(new), *model.predict_interval(new))

    return method


def cross_fitted(band: Callable[[int], Any], point: Callable[[int], Any] = learner) -> Method:
    """Return a point prediction with bands of a regressor of its absolute errors, cross-fitted and calibrated by us."""

    def make(seed: int) -> IntervalRegressor:
        return IntervalRegressor(
            point(seed), band=band(seed), coverage=COVERAGE, cv=folds(seed), random_state=seed
        )

    return of_object(make)


def quantile_boosting(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit two quantiles and use them as they are."""
    point, *bounds = (
        one.fit(X, y) for one in (learner(seed), quantile(seed, LOW), quantile(seed, HIGH))
    )
    return lambda new: (
        point.predict(new),
        *np.sort([bound.predict(new) for bound in bounds], axis=0),
    )


def meta(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit the paper's Meta: a quantile of the absolute errors on rows held out from its base."""
    point = learner(seed).fit(X, y)
    band = meta_bands((X, y), learner(seed), quantile(seed, COVERAGE), share=HELD_OUT, state=seed)
    return lambda new: around(1.0, point.predict(new), band(new))


def gaussian_likelihood(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit mean and log-variance: the gamma deviance of squared errors is the Gaussian likelihood of their variance."""
    squares = unseen_errors(X, y, seed) ** 2
    point = learner(seed).fit(X, y)
    variance = learner(seed, loss="gamma").fit(X, np.maximum(squares, 1e-8 * squares.mean()))
    return lambda new: around(NORMAL, point.predict(new), np.sqrt(variance.predict(new)))


def normalised(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit normalised conformal prediction by crepes: difficulty is the mean absolute error of the 25 nearest rows."""
    from crepes import ConformalRegressor
    from crepes.extras import DifficultyEstimator

    errors, point, scaler = (
        unseen_errors(X, y, seed),
        learner(seed).fit(X, y),
        StandardScaler().fit(X),
    )
    near = {"X": scaler.transform(X), "residuals": errors, "beta": 0.01 * np.abs(errors).mean()}
    leave_one_out, difficulty = (
        DifficultyEstimator().fit(**near, oob=True),
        DifficultyEstimator().fit(**near),
    )
    conformal = ConformalRegressor().fit(errors, sigmas=leave_one_out.apply())

    def predict(new: Floats) -> tuple[Floats, Floats, Floats]:
        y_pred, sigmas = point.predict(new), difficulty.apply(scaler.transform(new))
        return y_pred, *conformal.predict_int(y_pred, sigmas=sigmas, confidence=COVERAGE).T

    return predict


def cqr(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit conformalised quantile regression by MAPIE, whose point prediction is the median."""
    from mapie.regression import ConformalizedQuantileRegressor

    seen, held_out, y_seen, y_held_out = train_test_split(
        X, y, test_size=HELD_OUT, random_state=seed
    )
    model = ConformalizedQuantileRegressor(quantile(seed, 0.5), confidence_level=COVERAGE).fit(
        seen, y_seen
    )
    model.conformalize(held_out, y_held_out)
    return lambda new: (
        model.predict(new),
        *np.sort(model.predict_interval(new)[1][:, :, 0].T, axis=0),
    )


def cv_plus(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit CV+ by MAPIE."""
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(
        learner(seed), confidence_level=COVERAGE, cv=folds(seed), random_state=seed
    )
    model.fit_conformalize(X, y)

    def predict(new: Floats) -> tuple[Floats, Floats, Floats]:
        blocks = np.array_split(new, 1 + len(new) // AT_ONCE)
        bounds = np.concatenate([model.predict_interval(block)[1][:, :, 0] for block in blocks]).T
        return model.predict(new, aggregate_predictions=None), *bounds

    return predict


def forest_of(seed: int) -> Any:
    """Return the forest that both forest methods use."""
    return RandomForestRegressor(100, min_samples_leaf=3, max_features=0.5, random_state=seed)


def quantile_forest(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit Meinshausen's quantile forest: a leaf keeps one of its rows at random, all trees make the distribution."""
    forest = forest_of(seed).fit(X, y)
    leaves, trees, rng = forest.apply(X), np.arange(len(forest)), np.random.default_rng(seed)
    kept = np.zeros((leaves.max() + 1, len(trees)))
    for tree in trees:
        rows = rng.permutation(len(y))
        kept[leaves[rows, tree], tree] = y[rows]
    return lambda new: (
        forest.predict(new),
        *np.quantile(kept[forest.apply(new), trees], [LOW, HIGH], axis=1),
    )


def gaussian_process(X: Floats, y: Floats, seed: int) -> Predict:
    """Fit a Gaussian process with a length scale per feature and noise of one size."""
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], 3.0), (1e-1, 1e4)) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
    model = make_pipeline(StandardScaler(), process).fit(X, y)
    return lambda new: around(NORMAL, *model.predict(new, return_std=True))


def area_bands(metric: Any) -> Callable[[int], Any]:
    """Return bands trained for the area under a metric vs. bandwidth."""
    return lambda seed: BandRegressor(("bandwidth", metric), backend="lightgbm", random_state=seed)


# What each is, and the package behind it, is in `study.toml`.
METHODS: dict[str, Method] = {
    "Constant": cross_fitted(lambda _: DummyRegressor()),
    "Quantile GBR": quantile_boosting,
    "CQR": cqr,
    "CV+": cv_plus,
    "Normalised": normalised,
    "Meta": meta,
    "Gaussian": gaussian_likelihood,
    "Quantile forest": quantile_forest,
    "GP": gaussian_process,
    "Ours (BM)": cross_fitted(area_bands("miss_rate")),
    "Ours (BD)": cross_fitted(area_bands("deficit")),
    "Ours (forest)": cross_fitted(area_bands("deficit"), forest_of),
    "Ours (quantile)": cross_fitted(lambda seed: quantile(seed, COVERAGE)),
}
