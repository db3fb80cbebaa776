"""Names of the experiments, and one of them by name."""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment

NAMES = ("concepts", "synthetic", "gap", "bnn", "housing", "wine", "traffic")
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many steps are done and how many there are."""


def load(name: str) -> "Experiment":
    """Return one experiment by name."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"`names` must be among {', '.join(NAMES)}, or all; got {name!r}.{hint}")
    try:
        found: Experiment = import_module(f".{name}", __package__).EXPERIMENT
    except ImportError as error:
        raise ImportError(f'experiments need {error.name}: pip install "uccurve[experiments]"') from error
    return found
