"""Watch prediction intervals in production: one sketch per day, kept as JSON, and a verdict on each week from its days.

Run it as ``python examples/monitoring.py [FOLDER]``. It makes up four weeks of forecasts. In the last one the model
has lost track of what makes its errors large: it delivers one width for all rows, just wide enough to keep the miss
rate where it was. The coverage does not notice; the skill does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import uccurve as ucc
from uccurve.points import Estimate
from uccurve.results import ModelRow

CHECKS = 52
"""How many weeks are looked at before a false alarm may be expected with probability 5%."""
CONFIDENCE = 1 - 0.05 / CHECKS
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


def week(folder: Path, number: int) -> list[ucc.UCCSketch]:
    """Read the seven days of a week: the blocks whose differences show what chance does."""
    days = [folder / f"day-{day:02}.json" for day in range(7 * number, 7 * number + 7)]
    return [ucc.UCCSketch.from_json(day.read_text(encoding="utf-8")) for day in days]


def assessed(days: list[ucc.UCCSketch]) -> ModelRow:
    """Return the numbers of a week, with intervals that allow for all the weeks that are looked at."""
    return ucc.assess_sketches({"model": days}, coverage=0.9, confidence_level=CONFIDENCE)["model"]


def alarm(now: ModelRow, reference: ModelRow) -> bool:
    """Return whether the coverage is too low, or the skill below that of the reference week, and not by chance."""
    return now.promise == "too narrow" or now.skill.high < reference.skill.low


def main(folder: Path) -> list[bool]:
    """Keep four weeks, then compare each with the first; return the alarms."""
    rng = np.random.default_rng(1)
    for day in range(28):
        keep(folder, day, forecasts(rng, informed=day < 21))
    reference = assessed(week(folder, 0))
    alarms: list[bool] = []
    for number in range(1, 4):
        now = assessed(week(folder, number))
        alarms.append(alarm(now, reference))
        line = f"week {number}: coverage {shown(now.coverage)}, skill {shown(now.skill)}"
        print(f"{line}  ALARM" if alarms[-1] else line)  # noqa: T201  # a script speaks to the terminal
    return alarms


def shown(estimate: Estimate) -> str:
    """Return a number with its interval."""
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
