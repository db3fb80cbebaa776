"""Put numbers of UQ360 0.2 beside ours, for the page on coming from UQ360.

pip download uq360==0.2 --no-deps
python docs/compare_uq360.py uq360-0.2-py3-none-any.whl

The wheel is not installed: its metrics are loaded from it, with two names that SciPy has dropped since put back.
"""

import contextlib
import io
import sys
from typing import Any

import numpy as np
import scipy.integrate

import uccurve as ucc


def uq360(wheel: str) -> Any:
    """UQ360's regression metrics and curve, from its wheel."""
    scipy.integrate.trapz = scipy.integrate.trapezoid
    scipy.integrate.simps = scipy.integrate.simpson
    sys.path.insert(0, wheel)
    from uq360 import metrics  # type: ignore[import-not-found]  # in the wheel

    return metrics


def data() -> ucc.Intervals:
    """Asymmetric bands of 200 rows, predictions away from zero."""
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 5, 200)
    y = x + rng.normal(size=200) * x / 4
    return ucc.Intervals.from_bands(
        y, x, x / 3 * rng.uniform(0.5, 1.5, 200), x / 2 * rng.uniform(0.5, 1.5, 200)
    )


def fitted(metrics: Any, iv: ucc.Intervals, **options: Any) -> Any:
    """UQ360's curve of our intervals."""
    columns = np.column_stack([iv.y_pred, iv.lower_band, iv.upper_band])
    return metrics.UncertaintyCharacteristicsCurve(**options).fit(columns, iv.y_true)


def say(what: str, theirs: Any, ours: Any) -> None:
    """One line of the comparison."""
    sys.stdout.write(f"{what:64} {theirs:>12.6g} {ours:>12.6g}\n")


def main() -> None:
    """Print what both say of the same rows."""
    metrics, iv = uq360(sys.argv[1]), data()
    c = ucc.UCC(iv)
    sys.stdout.write(f"{'':64} {'UQ360':>12} {'uccurve':>12}\n")
    with contextlib.redirect_stdout(io.StringIO()):
        u = fitted(metrics, iv, normalize=False)
        default = fitted(metrics, iv)
        rows = (
            list(areas(metrics, u, default, iv, c))
            + list(points(u, c))
            + list(oddities(metrics, iv))
        )
    for row in rows:
        say(*row)


def areas(metrics: Any, u: Any, default: Any, iv: ucc.Intervals, c: ucc.UCC) -> Any:
    """Coverage, width, areas and gains."""
    yield (
        "picp, coverage_score",
        metrics.picp(iv.y_true, iv.lower, iv.upper),
        1 - c.at(1.0).miss_rate,
    )
    yield "mpiw, 2 x bandwidth_score", metrics.mpiw(iv.lower, iv.upper), 2 * c.at(1.0).bandwidth
    ours = c.area(axes=("overshoot", "miss_rate"), unit="std")
    yield "area, missrate vs. excess, normalised (its default)", default.get_AUUCC(), ours
    for x, y in (("bandwidth", "missrate"), ("bandwidth", "deficit"), ("excess", "deficit")):
        u.set_coordinates(x, y, normalize=False)
        names: Any = (x.replace("excess", "overshoot"), y.replace("missrate", "miss_rate"))
        yield f"area, {y} vs. {x}, raw", u.get_AUUCC(), c.area(axes=names)
    u.set_coordinates("bandwidth", "missrate", normalize=False)
    yield (
        "partial area, missrate vs. bandwidth, miss rate 0 to 0.1",
        u.get_AUUCC(partial_y=(0.0, 0.1)),
        c.area(miss_rate=(0, 0.1)),
    )
    gain = c.gain(axes=("overshoot", "miss_rate"))
    theirs = metrics.regression_metrics.auucc_gain(iv.y_true, iv.y_pred, iv.lower, iv.upper)
    yield "auucc_gain, gain on miss_rate vs. overshoot", theirs, gain
    yield "  the same from our gain g by g / (1 - g)", theirs, gain / (1 - gain)


def points(u: Any, c: ucc.UCC) -> Any:
    """Operating points and costs."""
    u.set_coordinates("bandwidth", "missrate", normalize=False)
    recipe = u.get_specific_operating_point(req_y_axis_value=0.05)
    best = u.minimize_cost(0.1, 0.9, augment_cost_by_normfactor=False, search=("scale",))
    yield "scale for a miss rate of 0.05", recipe["modvalue"], c.find(miss_rate=0.05).scale
    yield "  miss rate that it claims there", recipe["new_y"], c.find(miss_rate=0.05).miss_rate
    yield "minimum cost 0.1 bandwidth + 0.9 missrate", best["cost"], c.cheapest(0.1).cost
    yield "  at scale", best["modvalue"], c.cheapest(0.1).scale
    scales = np.array([row[0] for row in u.plotdata_for_scale[0]])
    lost = sum(
        round(row[1] * len(scales)) != np.sum(scales > row[0]) for row in u.plotdata_for_scale[0]
    )
    yield "vertices (of 200) whose own row is lost to rounding", lost, 0


def oddities(metrics: Any, iv: ucc.Intervals) -> Any:
    """What normalising does to the miss rate, two rows to an area, and a zero band to a prediction of zero."""
    u = fitted(metrics, iv, normalize=False)
    u.set_coordinates(normalize=True)
    yield (
        "miss rate as delivered, after set_coordinates(normalize=True)",
        u.get_OP()[1],
        ucc.UCC(iv).at(1.0).miss_rate,
    )
    small = ucc.Intervals.from_bands([1.0, 2.0], [0.0, 1.0], [1.0, 1.0])
    u = fitted(metrics, small, normalize=False)
    u.set_coordinates("bandwidth", "missrate", normalize=False)
    yield "area of two rows", u.get_AUUCC(), ucc.UCC(small).area()
    prediction, band = iv.y_pred.copy(), iv.lower_band.copy()
    prediction[0], band[1] = 0.0, 0.0
    u = fitted(
        metrics,
        ucc.Intervals.from_bands(iv.y_true, prediction, band, iv.upper_band),
        normalize=False,
    )
    yield "error of a row predicted 0, where another row has a zero band", u.d[0][0], iv.y_true[0]


if __name__ == "__main__":
    main()
