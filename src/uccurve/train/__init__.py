"""Train bands for the area under the curve, with boosters and networks; and a forest that predicts intervals."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._objective import area_loss, area_objective

if TYPE_CHECKING:
    from ._forest import QuantileForest as QuantileForest
    from ._regressor import BandRegressor as BandRegressor

__all__ = ["BandRegressor", "QuantileForest", "area_loss", "area_objective"]
ESTIMATORS = {"BandRegressor": "._regressor", "QuantileForest": "._forest"}


def __getattr__(name: str) -> Any:
    """Bring scikit-learn only when its estimator is asked for."""
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(ESTIMATORS[name], __name__), name)
    except ModuleNotFoundError as error:
        raise ImportError(f'{name} needs scikit-learn: pip install "uccurve[sklearn]"') from error


def __dir__() -> list[str]:
    return sorted([*globals(), *ESTIMATORS])
