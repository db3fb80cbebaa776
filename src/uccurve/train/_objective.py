"""The loss of a single row whose mean is smallest where the area is, with its gradient and Hessian."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from uccurve import _refusals as checks
from uccurve._vocabulary import HEADLINE, Array, Axes

DEFICIT: Axes = ("bandwidth", "deficit")
# The p of the loss ``z + r^p / z``, by the axes whose area it minimises.
POWERS: Mapping[Axes, int] = {HEADLINE: 1, DEFICIT: 2}


def power(axes: Any) -> int:
    """Return the p of the axes; refuse axes that have no such loss, and name the nearest that have."""
    pair = checks.axes(axes)
    if pair not in POWERS:
        near = HEADLINE if "miss_rate" in pair else DEFICIT
        raise ValueError(
            f"`axes` must be {HEADLINE} or {DEFICIT} to train for; got {pair}. Did you mean {near}?"
        )
    return POWERS[pair]


def absolute_errors(y: npt.ArrayLike) -> Array:
    """Return absolute errors as floats; refuse what cannot be any, and errors that are all zero."""
    errors = finite_errors(y)
    hint = 'pass np.abs(y_true - y_pred), or signed errors to BandRegressor(sides="separate")'
    rule = checks.Rule("y", "hold absolute errors", ("is negative", "are negative"), hint)
    checks.rows(errors < 0, rule, lambda row: f"{errors[row]:.4g}")
    if not errors.any():
        raise ValueError(
            "`y` must hold an error above 0: all are 0. Hint: pass errors of rows the model has not seen."
        )
    return errors


def finite_errors(y: npt.ArrayLike) -> Array:
    """Return errors as floats; refuse NaN and infinity."""
    errors = np.asarray(y, np.float64)
    rule = checks.Rule("y", "be finite", ("is not", "are not"), "leave such rows out")
    checks.rows(~np.isfinite(errors), rule, lambda row: str(errors[row]))
    return errors


def derivatives(
    size: npt.NDArray[Any], raw: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return gradient and Hessian of ``exp(raw) + size / exp(raw)`` over raw, for each row, in the precision given."""
    width = np.exp(raw)
    ratio = size / width
    return width - ratio, width + ratio


@dataclass(frozen=True, slots=True, repr=False)
class AreaObjective:
    """Gradient and Hessian for boosters; made by `area_objective`."""

    axes: Axes

    def __call__(
        self,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Return the loss's gradient and Hessian at raw predictions ``y_pred = log(band)``, for each row."""
        size = absolute_errors(y_true) ** POWERS[self.axes]
        gradient, hessian = derivatives(size, np.asarray(y_pred, np.float64))
        weight = np.asarray(1.0 if sample_weight is None else sample_weight, np.float64)
        return weight * gradient, weight * hessian

    def __repr__(self) -> str:
        return f"area_objective({self.axes})"


def area_objective(axes: Axes) -> AreaObjective:
    """Return an objective for LightGBM and XGBoost that trains bands for the smallest area.

    The booster learns the logarithm of a symmetric band from absolute errors of rows that the point prediction has not
    seen; the band is ``np.exp(booster.predict(X))``, up to a factor, which calibration supplies.

    Parameters
    ----------
    axes : {("bandwidth", "miss_rate"), ("bandwidth", "deficit")}
        The area to minimise.

    Returns
    -------
    callable
        ``objective(y_true, y_pred, sample_weight=None) -> (gradient, hessian)`` for the ``objective=`` of
        ``LGBMRegressor`` and ``XGBRegressor``; `y_true` are absolute errors, `y_pred` raw predictions. It pickles.

    Notes
    -----
    With a band z and an absolute error r,

        E[z] E[r^p / z] = (min over c of E[c z + r^p / (c z)])^2 / 4,

    and the left side is the area, for p = 1 on miss_rate vs. bandwidth, for p = 2 twice the area on deficit vs.
    bandwidth. So the loss ``z + r^p / z`` of single rows minimises the area itself; its minimum is ``z = sqrt(E[r^p |
    x])``. With ``z = exp(f)`` the gradient is ``z - r^p / z`` and the Hessian ``z + r^p / z``: convex in f, and a
    Newton step never overshoots. Divide the errors by their mean before you fit, because a step is 1 at the most, and
    boosters start at f = 0; XGBoost does so with ``base_score=0``.

    Examples
    --------
    >>> gradient, hessian = area_objective(("bandwidth", "deficit"))(
    ...     [0.5, 1.0, 3.0], [0.0, 0.0, 0.0]
    ... )
    >>> gradient.tolist(), hessian.tolist()
    ([0.75, 0.0, -8.0], [1.25, 2.0, 10.0])
    """
    power(axes)
    return AreaObjective(checks.axes(axes))


def area_loss(
    y_true: Any,
    y_pred: Any,
    lower_band: Any,
    upper_band: Any = None,
    *,
    axes: Axes = DEFICIT,
    sample_weight: Any = None,
) -> Any:
    """Return the mean loss whose minimum has the smallest area, for arrays that a network is trained on.

    Only arithmetic is used, so gradients pass through JAX arrays, PyTorch tensors and whatever else computes as numpy
    does.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        Observations and predictions. Fixed predictions should be of rows they were not trained on; p = 2 can also
        train both at once.
    lower_band, upper_band : array of shape (n,)
        Distances from `y_pred` to the bounds, all above 0, such as the exponential of a network's output. Without
        `upper_band` both are `lower_band`.
    axes : {("bandwidth", "deficit"), ("bandwidth", "miss_rate")}
        The area to minimise.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float or array without dimensions
        Mean of ``(l + u) / 2 + r^p / a``, with l and u the bands, r the absolute error and a the band on its side;
        see `area_objective`.

    Examples
    --------
    >>> import numpy as np
    >>> y_true, y_pred = np.array([1.0, 5.0]), np.array([2.0, 3.0])
    >>> float(
    ...     area_loss(
    ...         y_true, y_pred, lower_band=np.array([1.0, 2.0]), upper_band=np.array([3.0, 4.0])
    ...     )
    ... )
    3.5
    """
    p = power(axes)
    error = y_true - y_pred
    size = abs(error)
    if upper_band is None:
        loss = lower_band + size**p / lower_band
    else:
        above, below = (size + error) / 2, (size - error) / 2
        loss = (lower_band + upper_band) / 2 + above**p / upper_band + below**p / lower_band
    return (
        loss.mean() if sample_weight is None else (sample_weight * loss).sum() / sample_weight.sum()
    )
