"""Edges of a sketch's bins, found by asking the bins themselves."""

import numpy as np

from uccurve._vocabulary import Array
from uccurve.sketch._bins import PER_OCTAVE, Integers, bins, bits


def edges(numbers: Integers, resolution: int = PER_OCTAVE) -> Array:
    """Return the largest float of each bin between the outermost ones."""
    octave, part = np.divmod(numbers, resolution)
    middle = (2.0 * (resolution + part) + 1) / (4 * resolution)
    near = np.ldexp(middle / (1 + 2.0 ** -bits(resolution)), octave)
    steps = [near]
    for _ in range(2):
        steps = [np.nextafter(steps[0], 0.0), *steps, np.nextafter(steps[-1], np.inf)]
    inside = np.stack([bins(step, resolution) <= numbers for step in steps])
    found: Array = np.take_along_axis(np.stack(steps), inside.sum(axis=0)[None] - 1, axis=0)[0]
    return found
