"""Say which model's prediction intervals to ship, at what scale, and how sure that is."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import scores
from ._refusals import Refusal
from ._vocabulary import DroppedRowsWarning
from .curve import UCC
from .intervals import Intervals
from .points import Curve, CurvePoints, Decomposition, OperatingPoint
from .scores import *  # noqa: F403  # `scores.__all__` says what they are

if TYPE_CHECKING:
    from . import adapters as adapters, plots as plots, train as train
    from .adapters._libraries import make_interval_scorer as make_interval_scorer
    from .calibrate import Calibration as Calibration, IntervalCalibrator as IntervalCalibrator
    from .calibrate.estimators import IntervalRegressor as IntervalRegressor
    from .calibrate.following import FollowingCalibrator as FollowingCalibrator
    from .assess.assemble import assess as assess
    from .resampling.bootstrap import BootstrapInterval as BootstrapInterval, bootstrap as bootstrap
    from .resampling.bootstrap import (
        ConfidenceBand as ConfidenceBand,
        confidence_band as confidence_band,
    )
    from .crossings import Crossings as Crossings, crossings as crossings
    from .resampling.permutation import (
        PermutationTest as PermutationTest,
        permutation_test as permutation_test,
    )
    from .points import Estimate as Estimate, Move as Move
    from .gate import Gate as Gate, gate as gate
    from .results import Assessment as Assessment, ModelRow as ModelRow, Verdict as Verdict
    from .pockets import find_pockets as find_pockets
    from .pockets.results import Pocket as Pocket, Pockets as Pockets
    from .plots.display import UCCDisplay as UCCDisplay
    from .sketch.assess import assess_frame as assess_frame, assess_sketches as assess_sketches
    from .sketch.sketch import SketchUCC as SketchUCC, UCCSketch as UCCSketch
    from .watch import Monitor as Monitor, Step as Step

__version__ = "0.3.0"
# Modules that are imported when one of their names is first used, so that the core alone is quick to import.
_LATER = {
    "adapters": ("adapters",),
    "adapters._libraries": ("make_interval_scorer",),
    "calibrate": ("Calibration", "IntervalCalibrator"),
    "calibrate.estimators": ("IntervalRegressor",),
    "calibrate.following": ("FollowingCalibrator",),
    "assess.assemble": ("assess",),
    "resampling.bootstrap": ("BootstrapInterval", "ConfidenceBand", "bootstrap", "confidence_band"),
    "crossings": ("Crossings", "crossings"),
    "resampling.permutation": ("PermutationTest", "permutation_test"),
    "points": ("Estimate", "Move"),
    "gate": ("Gate", "gate"),
    "results": ("Assessment", "ModelRow", "Verdict"),
    "pockets": ("find_pockets",),
    "pockets.results": ("Pocket", "Pockets"),
    "plots": ("plots",),
    "plots.display": ("UCCDisplay",),
    "sketch.assess": ("assess_frame", "assess_sketches"),
    "sketch.sketch": ("SketchUCC", "UCCSketch"),
    "train": ("train",),
    "watch": ("Monitor", "Step"),
}
_ROOMS = ("adapters", "plots", "train")
_MODULE = {name: module for module, names in _LATER.items() for name in names}
__all__ = [
    "UCC",
    "Curve",
    "CurvePoints",
    "Decomposition",
    "DroppedRowsWarning",
    "Intervals",
    "OperatingPoint",
    "Refusal",
]
__all__ += scores.__all__
__all__ += [name for name in _MODULE if name != "IntervalRegressor"]  # which needs scikit-learn


def __getattr__(name: str) -> Any:
    """Import what is behind a public name when it is first used."""
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f".{_MODULE[name]}", __name__)
    except ModuleNotFoundError as error:  # which only scikit-learn can be
        raise ImportError(f'{name} needs scikit-learn: pip install "uccurve[sklearn]"') from error
    value = module if name in _ROOMS else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE})


class _FrontDoor(ModuleType):
    """The package, in which a room never hides the function of its own name, such as `assess`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS or name not in _MODULE or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
