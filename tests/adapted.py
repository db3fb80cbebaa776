"""What the tests of the adapters share: one small real data set, and the comparison with intervals built by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.testing import assert_array_equal

from uccurve import Intervals


def diabetes() -> tuple[Any, Any, Any, Any]:
    """X and y of scikit-learn's diabetes data, 300 rows to train and 142 to judge by."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order[:300]], X[order[300:]], y[order[:300]], y[order[300:]]


def assert_same(found: Intervals, y_true: Any, y_pred: Any, lower: Any, upper: Any) -> None:
    """Fail unless the adapter's intervals are these arrays, bit for bit."""
    by_hand = Intervals.from_bounds(y_true, y_pred, lower, upper)
    for name in ("y_true", "y_pred", "lower", "upper", "lower_band", "upper_band"):
        assert_array_equal(getattr(found, name), getattr(by_hand, name), err_msg=name)
