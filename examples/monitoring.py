"""Watch prediction intervals in production: one sketch per day, kept as JSON, merged into weeks, judged by a gain.

Run it as ``python examples/monitoring.py [FOLDER]``. It makes up four weeks of forecasts. In the last one the model
has lost track of what makes its errors large: it delivers one width for all rows, just wide enough to keep the miss
rate where it was. The miss rate does not notice; the gain over the reference week does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import uccurve as ucc

AXES = ("bandwidth", "deficit")
TOLERANCE = 0.05
"""How much larger the area of a week may be before someone is called; look at a few good weeks to choose it."""
ROWS = 5_000


def forecasts(rng: np.random.Generator, *, informed: bool) -> ucc.Intervals:
    """Return one day: errors of very different spread, and 90% intervals that know about it, or do not."""
    spread = np.exp(0.7 * rng.normal(size=ROWS))
    error = spread * rng.normal(size=ROWS)
    band = 1.645 * spread if informed else np.full(ROWS, np.quantile(np.abs(error), 0.9))
    y_pred = 20 + 5 * rng.normal(size=ROWS)
    return ucc.Intervals.from_bands(y_pred + error, y_pred, band)


def keep(folder: Path, day: int, intervals: ucc.Intervals) -> Path:
    """Write the sketch of a day to a file, completely or not at all."""
    path = folder / f"day-{day:02}.json"
    draft = path.with_suffix(".draft")
    draft.write_text(ucc.UCCSketch().update(intervals).to_json(), encoding="utf-8")
    return draft.replace(path)


def week(folder: Path, number: int) -> ucc.UCCSketch:
    """Merge the seven days of a week; the order does not matter."""
    days = [folder / f"day-{day:02}.json" for day in range(7 * number, 7 * number + 7)]
    return sum((ucc.UCCSketch.from_json(day.read_text(encoding="utf-8")) for day in days), ucc.UCCSketch())


def alarm(gain: tuple[float, float]) -> bool:
    """Return whether the gain is certainly too low: the whole bracket lies below the tolerance."""
    return gain[1] < -TOLERANCE


def main(folder: Path) -> list[bool]:
    """Keep four weeks, then compare each with the first; return the alarms."""
    rng = np.random.default_rng(1)
    for day in range(28):
        keep(folder, day, forecasts(rng, informed=day < 21))
    reference, alarms = week(folder, 0), []
    for number in range(1, 4):
        c = week(folder, number).ucc()
        gain = c.bracket("gain", axes=AXES, reference=reference)
        alarms.append(alarm(gain))
        print(  # noqa: T201  # a script speaks to the terminal
            f"week {number}: {c.sketch.rows} rows, miss rate {c.at(1.0).miss_rate:.3f}, "
            f"gain over week 0 {gain[0]:+.3f} to {gain[1]:+.3f}{'  ALARM' if alarms[-1] else ''}"
        )
    return alarms


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
