"""Say which model's prediction intervals to ship, at what scale, and how sure that is."""

from typing import TYPE_CHECKING, Any

from . import adapters, train
from ._checks import DroppedRowsWarning
from .calibrate.calibrator import Calibration, IntervalCalibrator
from .calibrate.scorers import make_interval_scorer
from .compare.assess import assess
from .compare.band import ConfidenceBand, confidence_band
from .compare.bootstrap import BootstrapInterval, bootstrap
from .compare.crossings import Crossings, crossings
from .compare.permutation import PermutationTest, permutation_test
from .compare.results import Assessment, Verdict
from .curve import UCC
from .intervals import Intervals
from .plots.display import UCCDisplay
from .points import CurvePoints, Decomposition, OperatingPoint
from .protocol import Curve
from .scores import (
    WISDecomposition,
    auucc_gain_score,
    auucc_score,
    bandwidth_score,
    coverage_score,
    crps_score,
    deficit_score,
    excess_score,
    interval_score,
    miss_rate_score,
    pinball_score,
    skill_score,
    ucc_curve,
    wis_decomposition,
    wis_score,
)
from .sketch.curve import SketchUCC
from .sketch.sketch import UCCSketch

if TYPE_CHECKING:
    from .calibrate.estimators import IntervalRegressor as IntervalRegressor

__version__ = "0.2.0"
__all__ = [
    "UCC",
    "Assessment",
    "BootstrapInterval",
    "Calibration",
    "ConfidenceBand",
    "Crossings",
    "Curve",
    "CurvePoints",
    "Decomposition",
    "DroppedRowsWarning",
    "IntervalCalibrator",
    "Intervals",
    "OperatingPoint",
    "PermutationTest",
    "SketchUCC",
    "UCCDisplay",
    "UCCSketch",
    "Verdict",
    "WISDecomposition",
    "adapters",
    "assess",
    "auucc_gain_score",
    "auucc_score",
    "bandwidth_score",
    "bootstrap",
    "confidence_band",
    "coverage_score",
    "crossings",
    "crps_score",
    "deficit_score",
    "excess_score",
    "interval_score",
    "make_interval_scorer",
    "miss_rate_score",
    "permutation_test",
    "pinball_score",
    "skill_score",
    "train",
    "ucc_curve",
    "wis_decomposition",
    "wis_score",
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
