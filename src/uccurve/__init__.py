"""Say whether prediction intervals are any good, which model has the better ones, and which calibration to ship."""

from . import adapters
from .assess import assess
from .assessment import Assessment
from .bootstrap import BootstrapInterval, bootstrap
from .calibrate import Calibration, IntervalCalibrator
from .checks import DroppedRowsWarning
from .crossings import Crossings, crossings
from .curve import UCC
from .intervals import Intervals
from .levels import LevelPoint, LevelsUCC
from .permutation import PermutationTest, permutation_test
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

__version__ = "0.1.0"
__all__ = [
    "UCC",
    "Assessment",
    "BootstrapInterval",
    "Calibration",
    "Crossings",
    "CurvePoints",
    "DroppedRowsWarning",
    "IntervalCalibrator",
    "Intervals",
    "LevelPoint",
    "LevelsUCC",
    "OperatingPoint",
    "PermutationTest",
    "adapters",
    "assess",
    "auucc_gain_score",
    "auucc_score",
    "bandwidth_score",
    "bootstrap",
    "crossings",
    "deficit_score",
    "excess_score",
    "interval_score",
    "miss_rate_score",
    "permutation_test",
    "ucc_curve",
]
