"""Train bands for the area under the curve: an objective for boosters, a loss for networks, and a regressor."""

from typing import TYPE_CHECKING, Any

from ._objective import area_loss, area_objective

if TYPE_CHECKING:
    from ._regressor import BandRegressor as BandRegressor

__all__ = ["BandRegressor", "area_loss", "area_objective"]


def __getattr__(name: str) -> Any:
    """Bring scikit-learn only when its estimator is asked for."""
    if name != "BandRegressor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from ._regressor import BandRegressor
    except ModuleNotFoundError as error:
        raise ImportError(
            'BandRegressor needs scikit-learn: pip install "uccurve[sklearn]"'
        ) from error
    return BandRegressor


def __dir__() -> list[str]:
    return sorted([*globals(), "BandRegressor"])
