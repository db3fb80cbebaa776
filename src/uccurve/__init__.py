"""Say whether prediction intervals are any good, which model has the better ones, and which calibration to ship."""

from typing import TYPE_CHECKING, Any

from . import adapters
from ._checks import DroppedRowsWarning
from .calibrate.calibrator import Calibration, IntervalCalibrator
from .calibrate.scorers import make_interval_scorer
from .compare.assess import assess
from .compare.assessment import Assessment
from .compare.band import ConfidenceBand, confidence_band
from .compare.bootstrap import bootstrap
from .compare.crossings import Crossings, crossings
from .compare.permutation import PermutationTest, permutation_test
from .compare.replicates import BootstrapInterval
from .curve import UCC
from .intervals import Intervals
from .levels.curve import LevelPoint, LevelsUCC
from .plots.display import UCCDisplay
from .points import CurvePoints, OperatingPoint
from .scores import (
    auucc_gain_score,
    auucc_score,
    bandwidth_score,
    deficit_score,
    excess_score,
    interval_score,
    miss_rate_score,
    ucc_curve,
)
from .sketch.sketch import UCCSketch

if TYPE_CHECKING:
    from .calibrate.estimators import IntervalRegressor as IntervalRegressor

__version__ = "0.1.0"
__all__ = [
    "UCC",
    "Assessment",
    "BootstrapInterval",
    "Calibration",
    "ConfidenceBand",
    "Crossings",
    "CurvePoints",
    "DroppedRowsWarning",
    "IntervalCalibrator",
    "Intervals",
    "LevelPoint",
    "LevelsUCC",
    "OperatingPoint",
    "PermutationTest",
    "UCCDisplay",
    "UCCSketch",
    "adapters",
    "assess",
    "auucc_gain_score",
    "auucc_score",
    "bandwidth_score",
    "bootstrap",
    "confidence_band",
    "crossings",
    "deficit_score",
    "excess_score",
    "interval_score",
    "make_interval_scorer",
    "miss_rate_score",
    "permutation_test",
    "ucc_curve",
]


def __getattr__(name: str) -> Any:
    """Bring scikit-learn only when its estimator is asked for."""
    if name != "IntervalRegressor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from .calibrate.estimators import IntervalRegressor
    except ModuleNotFoundError as error:
        raise ImportError('IntervalRegressor needs scikit-learn: pip install "uccurve[sklearn]"') from error
    return IntervalRegressor


def __dir__() -> list[str]:
    return sorted([*globals(), "IntervalRegressor"])
