"""Methods of the study: recipes that fit rows with one of three settings, and how their intervals are calibrated.

Every recipe is tuned and cross-fitted by the same `Bench`, so a method never sees another budget than its rivals.
A forecast is an array of seven rows: the point prediction, then lower and upper bounds for each of `LEVELS`.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from uccurve.train import BandRegressor

from ._study_bench import LEVELS, Bench, Fit, Predict, Rows, Tuned, scaled_by, shifted_by
from .experiment import Floats

NORMAL = np.array([1.2815515655446004, 1.6448536269514722, 1.959963984540054])
TAILS = np.array([(1 - level) / 2 for level in LEVELS])
# The three settings of every method, small to large. Trees and leaves of all that is boosted:
Sizes = tuple[tuple[int, int], ...]
BOOSTED: Sizes = ((40, 4), (80, 8), (120, 15))
LARGER: Sizes = ((120, 15), (300, 15), (600, 31))  # of CQR (larger), which was added after the run
LEAF_ROWS = (10, 5, 2)  # of forests
NEIGHBOURS = (50, 25, 10)  # of normalised bands
DEPTHS = (2, 3, 4)  # of the trees of natural-gradient boosting
NATURAL_STEPS, NATURAL_RATE = 75, 0.1
HELD_OUT = (
    0.25  # share of the training rows that CQR (split) is shifted by, and that Meta learns from
)
KERNELS = (RBF, partial(Matern, nu=2.5), partial(Matern, nu=1.5))


# ---- forecasts


def around(y_pred: Floats, bands: Floats) -> Floats:
    """Return a forecast with bands on both sides of the prediction: one for all levels, or one for each."""
    each = np.maximum(np.broadcast_to(bands, (len(LEVELS), len(y_pred))), 0.0)
    return np.vstack([y_pred, y_pred - each, y_pred + each])


def between(lower: Floats, upper: Floats, y_pred: Floats | None = None) -> Floats:
    """Return a forecast with these bounds; where two cross, they change places."""
    centre = (lower[0] + upper[0]) / 2 if y_pred is None else y_pred
    return np.vstack([centre, np.minimum(lower, upper), np.maximum(lower, upper)])


# ---- recipes


def boosting(setting: int, seed: int, sizes: Sizes = BOOSTED, **loss: Any) -> Any:
    """Return LightGBM's booster: the learner of every method that leaves the choice to its user."""
    from lightgbm import LGBMRegressor

    trees, leaves = sizes[setting]
    size: Any = {"n_estimators": trees, "num_leaves": leaves}
    same: Any = {"deterministic": True, "force_row_wise": True, "n_jobs": 1, "verbose": -1}
    return LGBMRegressor(random_state=seed, **size, **same, **loss)


def boosted_quantile(setting: int, seed: int, quantile: float) -> Any:
    """Return the same for a quantile."""
    return boosting(setting, seed, objective="quantile", alpha=quantile)


def larger_quantile(setting: int, seed: int, quantile: float) -> Any:
    """Return the same with more and larger trees to choose from."""
    return boosting(setting, seed, LARGER, objective="quantile", alpha=quantile)


def sklearn_quantile(setting: int, seed: int, quantile: float) -> Any:
    """Return scikit-learn's booster for a quantile."""
    trees, leaves = BOOSTED[setting]
    size = {"max_iter": trees, "max_leaf_nodes": leaves}
    loss = {"loss": "quantile", "quantile": quantile}
    return HistGradientBoostingRegressor(early_stopping=False, random_state=seed, **size, **loss)


def point(rows: Rows, setting: int, seed: int) -> Predict:
    """Fit the mean, with one width for all rows."""
    model = boosting(setting, seed).fit(rows.X, rows.y)
    return lambda X, _: around(model.predict(X), np.ones(len(X)))


def quantiles(make: Callable[[int, int, float], Any]) -> Fit:
    """Return a recipe that fits a model for each bound of each level."""

    def fit(rows: Rows, setting: int, seed: int) -> Predict:
        lows = [make(setting, seed, tail).fit(rows.X, rows.y) for tail in TAILS]
        highs = [make(setting, seed, 1 - tail).fit(rows.X, rows.y) for tail in TAILS]

        def predict(X: Floats, _: Any) -> Floats:
            lower = np.array([model.predict(X) for model in lows])
            upper = np.array([model.predict(X) for model in highs])
            return between(lower, upper)

        return predict

    return fit


def forest(rows: Rows, setting: int, seed: int) -> Predict:
    """Fit a quantile forest, with its own mean."""
    from quantile_forest import RandomForestQuantileRegressor

    leaf = LEAF_ROWS[setting]
    model = RandomForestQuantileRegressor(
        100, min_samples_leaf=leaf, max_features=0.5, random_state=seed, n_jobs=1
    ).fit(rows.X, rows.y)

    def predict(X: Floats, _: Any) -> Floats:
        mean = model.predict(X, quantiles="mean")
        bounds = model.predict(X, quantiles=[*TAILS, *(1 - TAILS)]).T
        return between(bounds[:3], bounds[3:], mean)

    return predict


def nearest(rows: Rows, setting: int, _: int) -> Predict:
    """Fit crepes' difficulty: the mean absolute error of the nearest rows."""
    from crepes.extras import DifficultyEstimator

    errors = rows.y - rows.y_pred
    scaler = StandardScaler().fit(rows.X)
    near = {"k": NEIGHBOURS[setting], "beta": 0.01 * np.abs(errors).mean()}
    difficulty = DifficultyEstimator().fit(scaler.transform(rows.X), residuals=errors, **near)
    return lambda X, y_pred: around(y_pred, difficulty.apply(scaler.transform(X)))


def gaussian(rows: Rows, setting: int, seed: int) -> Predict:
    """Fit the log-variance: the gamma deviance of squared errors is the Gaussian likelihood of their variance."""
    squares = (rows.y - rows.y_pred) ** 2
    target = np.maximum(squares, 1e-8 * squares.mean())
    model = boosting(setting, seed, objective="gamma").fit(rows.X, target)
    return lambda X, y_pred: around(y_pred, np.outer(NORMAL, np.sqrt(model.predict(X))))


def natural_gradient(rows: Rows, setting: int, seed: int) -> Predict:
    """Boost mean and log standard deviation of a normal distribution along the natural gradient."""
    centre, unit = rows.y.mean(), rows.y.std()
    y = (rows.y - centre) / unit
    rng = np.random.RandomState(seed)
    mean, log_std = np.zeros(len(y)), np.zeros(len(y))
    steps = []

    def tree(target: Floats) -> Any:
        shape = {"max_depth": DEPTHS[setting], "min_samples_leaf": 5}
        return DecisionTreeRegressor(random_state=rng, **shape).fit(rows.X, target)

    for _ in range(NATURAL_STEPS):
        z = (y - mean) / np.exp(log_std)
        step = tree(y - mean), tree((z**2 - 1) / 2)
        steps.append(step)
        mean += NATURAL_RATE * step[0].predict(rows.X)
        log_std += NATURAL_RATE * step[1].predict(rows.X)

    def predict(X: Floats, _: Any) -> Floats:
        means = sum(one.predict(X) for one, _ in steps)
        logs = sum(one.predict(X) for _, one in steps)
        std = unit * np.exp(NATURAL_RATE * logs)
        return around(centre + unit * NATURAL_RATE * means, np.outer(NORMAL, std))

    return predict


def process(rows: Rows, setting: int, seed: int) -> Predict:
    """Fit a Gaussian process."""
    kernel = ConstantKernel() * KERNELS[setting](3.0, length_scale_bounds=(1e-1, 1e4))
    noisy = kernel + WhiteKernel(0.1)
    model = GaussianProcessRegressor(noisy, normalize_y=True, random_state=seed)
    whole = make_pipeline(StandardScaler(), model).fit(rows.X, rows.y)

    def predict(X: Floats, _: Any) -> Floats:
        mean, std = whole.predict(X, return_std=True)
        return around(mean, np.outer(NORMAL, std))

    return predict


def with_prediction(X: Floats, y_pred: Floats) -> Floats:
    """Return the features with the prediction as one more."""
    return np.column_stack([X, y_pred])


def error_quantiles(X: Floats, errors: Floats, setting: int, seed: int) -> Predict:
    """Fit boosted quantiles of absolute errors, one for each level."""
    models = [boosted_quantile(setting, seed, level).fit(X, errors) for level in LEVELS]

    def predict(new: Floats, y_pred: Floats) -> Floats:
        features = with_prediction(new, y_pred)
        return around(y_pred, np.array([model.predict(features) for model in models]))

    return predict


def quantile_bands(rows: Rows, setting: int, seed: int) -> Predict:
    """Fit quantiles of the errors of unseen rows."""
    errors = np.abs(rows.y - rows.y_pred)
    return error_quantiles(with_prediction(rows.X, rows.y_pred), errors, setting, seed)


def meta(rows: Rows, setting: int, seed: int) -> Predict:
    """Fit the paper's Meta: quantiles of the absolute errors on rows held out from its own base."""
    seen, unseen, y_seen, y_unseen = train_test_split(
        rows.X, rows.y, test_size=HELD_OUT, random_state=seed
    )
    predicted = boosting(setting, seed).fit(seen, y_seen).predict(unseen)
    errors = np.abs(y_unseen - predicted)
    return error_quantiles(with_prediction(unseen, predicted), errors, setting, seed)


def area_bands(metric: Any) -> Fit:
    """Return a recipe for bands that are trained for the area under a metric vs. bandwidth."""

    def fit(rows: Rows, setting: int, seed: int) -> Predict:
        trees, leaves = BOOSTED[setting]
        model = BandRegressor(
            ("bandwidth", metric),
            n_estimators=trees,
            max_leaf_nodes=leaves,
            backend="lightgbm",
            random_state=seed,
        )
        features = with_prediction(rows.X, rows.y_pred)
        model.fit(features, np.abs(rows.y - rows.y_pred))
        return lambda X, y_pred: around(y_pred, model.predict(with_prediction(X, y_pred)))

    return fit


# ---- methods


@dataclass(frozen=True, slots=True)
class Answer:
    """Forecasts of the test rows, as they come and as shipped, and the setting that was chosen."""

    plain: Floats
    shipped: Floats
    setting: int


Method = Callable[[Bench], Answer]


def scaled(name: str, fit: Fit, centre: str = "point") -> Method:
    """Return a recipe, tuned and cross-fitted, with each level's bands times its conformal factor."""

    def method(bench: Bench) -> Answer:
        y_pred = tuned_centre(bench, centre)
        tuned = bench.tuned(name, fit, y_pred)
        plain = tuned.final(bench.X_test, centre_of_test(bench, y_pred))
        return Answer(plain, scaled_by(bench.y, tuned.unseen, plain), tuned.setting)

    return method


def tuned_centre(bench: Bench, centre: str) -> Tuned | None:
    """Return the tuned point prediction that bands are put around; None for recipes with their own."""
    recipes = {"point": point, "forest": forest}
    return bench.tuned(centre, recipes[centre]) if centre in recipes else None


def centre_of_test(bench: Bench, centre: Tuned | None) -> Floats:
    """Return the point prediction of the test rows."""
    if centre is None:
        return np.zeros(len(bench.X_test))
    forecast = centre.final(bench.X_test, np.zeros(len(bench.X_test)))
    return np.asarray(forecast[0])


def constant(bench: Bench) -> Answer:
    """Return one width for all rows."""
    return scaled("point", point, "")(bench)


def shifted(name: str, fit: Fit) -> Method:
    """Return conformalised quantile regression: a recipe, cross-fitted, whose bounds are moved by an amount."""

    def method(bench: Bench) -> Answer:
        tuned = bench.tuned(name, fit)
        plain = tuned.final(bench.X_test, np.zeros(len(bench.X_test)))
        return Answer(plain, shifted_by(bench.y, tuned.unseen, plain), tuned.setting)

    return method


def split_quantiles(bench: Bench) -> Answer:
    """Return conformalised quantile regression with a split; the setting is the one that cross-fitting chose."""
    fit = quantiles(boosted_quantile)
    setting = bench.tuned("boosted quantiles", fit).setting
    rows = bench.rows()
    seen, held_out = bench.split(HELD_OUT)
    with bench.timed():
        model = fit(rows.at(seen), setting, bench.seed)
    plain = model(bench.X_test, np.zeros(len(bench.X_test)))
    unseen = model(rows.X[held_out], rows.y_pred[held_out])
    return Answer(plain, shifted_by(rows.y[held_out], unseen, plain), setting)


def cv_plus(bench: Bench) -> Answer:
    """Return CV+: quantiles of each row's residual on both sides of what the model says that has not seen the row."""
    tuned = bench.tuned("point", point)
    residual = np.abs(bench.y - tuned.unseen[0])
    nothing = np.zeros(len(bench.X_test))
    by_fold = np.array([model(bench.X_test, nothing)[0] for model in tuned.models])
    centres = by_fold[bench.fold_of_row]
    n = len(residual)
    lower, upper = [], []
    for level in LEVELS:
        rank = min(int(np.ceil(level * (n + 1))), n)
        lower.append(np.partition(centres - residual[:, None], n - rank, axis=0)[n - rank])
        upper.append(np.partition(centres + residual[:, None], rank - 1, axis=0)[rank - 1])
    y_pred = tuned.final(bench.X_test, nothing)[0]
    forecast = between(np.array(lower), np.array(upper), y_pred)
    return Answer(forecast, forecast, tuned.setting)


def of_objects(models: Any) -> Method:
    """Return a reader's object, or three of them to choose from, as a method; each fit has its own copy."""
    choice = list(models) if isinstance(models, list | tuple) else [models] * 3

    def fit(rows: Rows, setting: int, _: int) -> Predict:
        model = deepcopy(choice[setting])
        model.fit(rows.X, rows.y)

        def predict(X: Floats, _: Any) -> Floats:
            bounds = [checked(model, X, level) for level in LEVELS]
            return between(
                np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])
            )

        return predict

    return scaled("own", fit, "")


def checked(model: Any, X: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the bounds of a reader's object, or refuse them by its name."""
    bounds = np.asarray(model.predict_interval(X, coverage=level), float)
    if bounds.shape != (2, len(X)) or not np.isfinite(bounds).all():
        raise ValueError(
            f"predict_interval of {type(model).__name__} must return lower and upper bounds, "
            f"{len(X)} finite numbers each."
        )
    return bounds[0], bounds[1]


# What each is, and the package behind it, is in `study.toml`.
METHODS: Mapping[str, Method] = {
    "Constant": constant,
    "CV+": cv_plus,
    "CQR (split)": split_quantiles,
    "CQR": shifted("boosted quantiles", quantiles(boosted_quantile)),
    "LightGBM": scaled("boosted quantiles", quantiles(boosted_quantile), ""),
    "Quantile GBR": scaled("sklearn quantiles", quantiles(sklearn_quantile), ""),
    "Quantile forest": scaled("forest", forest, ""),
    "Normalised": scaled("nearest", nearest),
    "Gaussian": scaled("gaussian", gaussian),
    "NGBoost": scaled("natural gradient", natural_gradient, ""),
    "GP": scaled("process", process, ""),
    "Meta": scaled("meta", meta),
    "Ours (BM)": scaled("bands BM", area_bands("miss_rate")),
    "Ours (BD)": scaled("bands BD", area_bands("deficit")),
    "Ours (forest)": scaled("bands BD, forest", area_bands("deficit"), "forest"),
    "Ours (quantile)": scaled("error quantiles", quantile_bands),
    "CQR (larger)": shifted("larger quantiles", quantiles(larger_quantile)),
}
