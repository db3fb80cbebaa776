"""Time UQ360 0.2 and collect what it answers; runs in a Python of its own, without uccurve.

``python uq360_worker.py DATA.npz`` reads y_true, y_pred, lower_band and upper_band and prints one line of JSON.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

for old, new in (
    ("trapz", "trapezoid"),
    ("simps", "simpson"),
):  # gone from SciPy since UQ360 was released
    if not hasattr(scipy.integrate, old):
        setattr(scipy.integrate, old, getattr(scipy.integrate, new))

from uq360.metrics.uncertainty_characteristics_curve import (  # type: ignore[import-not-found]  # noqa: E402
    UncertaintyCharacteristicsCurve,
)


def fitted(columns: Any, axes: tuple[str, str], *, shift: bool = False) -> Any:
    """Return a fitted curve of UQ360 in raw units."""
    y_true, *inputs = columns
    curve = UncertaintyCharacteristicsCurve(normalize=False, precompute_bias_data=shift)
    curve.set_coordinates(x_axis_name=axes[0], y_axis_name=axes[1], normalize=False)
    with contextlib.redirect_stdout(io.StringIO()):
        return curve.fit(np.column_stack(inputs), y_true)


def answer(ask: Callable[[], Any]) -> Any:
    """Return what a call gives, or the name of the error it raises."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  # whatever it raises is a finding
        return type(error).__name__


def timed(columns: Any) -> dict[str, Any]:
    """Seconds of fit and area, and how many vertices count a row too few as covered."""
    cpu, wall = time.process_time(), time.perf_counter()
    curve = fitted(columns, ("bandwidth", "missrate"))
    area = curve.get_AUUCC()
    seconds = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    n = len(columns[0])
    counted = np.array([round((1 - vertex[1]) * n) for vertex in curve.plotdata_for_scale[0]])
    lost = int(np.count_nonzero(counted < np.arange(1, n + 1)))
    return {**seconds, "area": float(area), "lost": lost}


def findings(columns: Any) -> dict[str, Any]:
    """Answers on a few hundred rows, on one row, and on a prediction of 0 with a zero band."""
    few = [column[:400] for column in columns]
    on = {
        axes: fitted(few, axes, shift=True)
        for axes in (("bandwidth", "missrate"), ("missrate", "bandwidth"), ("excess", "deficit"))
    }
    headline = on["bandwidth", "missrate"]
    touched = fitted(
        [np.array([5.0, 2.0]), np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.0, 1.0])],
        ("bandwidth", "missrate"),
    )
    return {
        "area": float(headline.get_AUUCC()),
        "area over shift": float(headline.get_AUUCC(vary_bias=True)),
        "area of swapped axes": float(on["missrate", "bandwidth"].get_AUUCC()),
        "area of deficit vs. excess": float(on["excess", "deficit"].get_AUUCC()),
        "partial area": float(headline.get_AUUCC(partial_y=(0.1, 0.3))),
        "miss rate found for 0.099": float(
            headline.get_specific_operating_point(req_y_axis_value=0.099)["new_y"]
        ),
        "area of one row": answer(
            lambda: float(fitted([c[:1] for c in few], ("bandwidth", "missrate")).get_AUUCC())
        ),
        "area of two rows": answer(
            lambda: float(fitted([c[:2] for c in few], ("bandwidth", "missrate")).get_AUUCC())
        ),
        "error of a prediction of 0 beside a zero band": float(touched.d[0][0]),
    }


def main() -> None:
    """Read the data and print the answers."""
    data = np.load(sys.argv[1])
    columns = [data[name] for name in ("y_true", "y_pred", "lower_band", "upper_band")]
    print(json.dumps({"timed": timed(columns), "findings": findings(columns)}))


if __name__ == "__main__":
    main()
