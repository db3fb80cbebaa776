"""Names of the experiments, and one of them by name."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from uccurve import _checks as checks

if TYPE_CHECKING:
    from .experiment import Experiment

NAMES = ("concepts", "synthetic", "gap", "bnn", "housing", "wine", "traffic")
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done and how many there are."""


def load(name: str) -> "Experiment":
    """Return one experiment by name."""
    checks.choice("names", name, NAMES)
    try:
        found: Experiment = import_module(f".{name}", __package__).EXPERIMENT
    except ImportError as error:
        raise ImportError(f'experiments need {error.name}: pip install "uccurve[experiments]"') from error
    return found
