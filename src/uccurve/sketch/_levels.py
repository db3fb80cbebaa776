"""Streamed levels: coverage of a model's own levels, their weighted interval score and PIT histogram, from sums."""

from __future__ import annotations

from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from uccurve._checks import Rule, miss_rate_of, sentence
from uccurve._distributions import order_statistic_ranks
from uccurve.compare._model import promise_of
from uccurve.compare.calibration import PIT, LevelRow

from ._engine_checks import Frame
from ._engines import col, flag

if TYPE_CHECKING:
    from ._model import StreamedModel
    from ._second_pass import Sums


def level_columns(rows: Frame, model: StreamedModel) -> dict[str, nw.Expr]:
    """For each level its width, on which side the observation is missed and by how much; and the WIS of all."""
    if not model.levels:
        return {}
    y, median = col("y_true"), col(f"y_pred_{model.place}")
    found = {"late": _positive(y - median), "on the median": flag(rows, y == median)}
    found |= {"below the median": flag(rows, y < median), "above the median": flag(rows, y > median)}
    score = (y - median).abs() * 0.5
    for k, (level, place) in enumerate(model.levels.items()):
        lower, upper = col(f"lower_{place}"), col(f"upper_{place}")
        late, early = _positive(y - upper), _positive(lower - y)
        found |= {f"width {k}": upper - lower, f"late {k}": late, f"early {k}": early}
        found |= {f"over {k}": flag(rows, y > upper), f"under {k}": flag(rows, y < lower)}
        score = score + (upper - lower) * float(miss_rate_of(level) / 2) + late + early
    for k, (inner, outer) in enumerate(pairwise(model.levels.values())):
        found[f"lower crossing {k}"] = flag(rows, col(f"lower_{inner}") < col(f"lower_{outer}"))
        found[f"upper crossing {k}"] = flag(rows, col(f"upper_{inner}") > col(f"upper_{outer}"))
    return found | {"wis": score * (1 / (len(model.levels) + 0.5))}


def _positive(value: nw.Expr) -> nw.Expr:
    return (value + value.abs()) * 0.5


def level_fields(i: int, model: StreamedModel, sums: Sums) -> dict[str, Any]:
    """Coverage of each level of a model, their weighted interval score (Bracher and others 2021) and PIT histogram."""
    _refuse_crossing(i, model, sums)
    count, late = len(model.levels), sums.mean(f"{i} late")
    share = 1 / (count + 0.5) / model.size
    width, after, before = ([sums.mean(f"{i} {name} {k}") for k in range(count)] for name in ("width", "late", "early"))
    tails = [float(miss_rate_of(level) / 2) for level in model.levels]
    return {
        "levels": tuple(_level(f"{i} {{}} {k}", level, model, sums) for k, level in enumerate(model.levels)),
        "pit": _pit(i, model, sums),
        "wis_dispersion": share * sum(tail * one for tail, one in zip(tails, width, strict=True)),
        "wis_underprediction": share * (late / 2 + sum(after)),
        "wis_overprediction": share * ((model.mean_error - late) / 2 + sum(before)),
    }


def _refuse_crossing(i: int, model: StreamedModel, sums: Sums) -> None:
    for k in range(len(model.levels) - 1):
        for side in ("lower", "upper"):
            if crossing := round(sums.sum(f"{i} {side} crossing {k}")):
                must, hint = f"be nested in their {side} bounds", "sort crossing quantiles first"
                rule = Rule("levels", must, ("is not", "are not"), hint)
                raise ValueError(f"{model.name}: {sentence(rule, crossing, sums.units.rows)}")


def _level(name: str, level: float, model: StreamedModel, sums: Sums) -> LevelRow:
    over, under, width = (sums.mean(name.format(one)) for one in ("over", "under", "width"))
    missed, change = sums.share({name.format("over"): 1.0, name.format("under"): 1.0})
    low, high = sums.units.share_ends(1 - missed, change, model.settings.confidence_level)
    fields = {"coverage": 1 - missed, "coverage_low": low, "coverage_high": high, "scale": model.level_scale(level)}
    fields |= {"missed_above": over, "missed_below": under, "half_width": width / 2 / model.size}
    return LevelRow(model=model.name, level=level, promise=promise_of(fields, level), **fields)


def _pit(i: int, model: StreamedModel, sums: Sums) -> PIT:
    """Count observations between the quantiles of the levels, as `compare.calibration.pit`."""
    tails = [miss_rate_of(one) / 2 for one in model.levels]
    edges = (0.0, *(float(tail) for tail in reversed(tails)), 0.5, *(float(1 - tail) for tail in tails), 1.0)
    sides = []
    for outside, inside in (("under", "below the median"), ("over", "above the median")):
        beyond = [f"{i} {outside} {k}" for k in reversed(range(len(tails)))] + [f"{i} {inside}"]
        sides.append([{beyond[0]: 1.0}, *({inner: 1.0, outer: -1.0} for outer, inner in pairwise(beyond))])
        sides[-1][-1][f"{i} on the median"] = 1.0
    each, bins = model.settings.confidence_level ** (1 / (len(edges) - 1)), []
    for width, flags in zip(np.diff(edges).tolist(), sides[0] + sides[1][::-1], strict=True):
        share, change = sums.share(flags)
        low, high, count = nan, nan, 1
        if sums.units.count > 1:
            count = max(int(sums.units.effective_rows(share, change, each)), 1)
            low, high = order_statistic_ranks(count, width, each)
        tied = sums.mean(f"{i} on the median") / 2 if f"{i} on the median" in flags else 0.0
        bins.append(((share - tied) / width, low / count / width, (high - 1) / count / width))
    return PIT(edges, *(tuple(map(float, column)) for column in zip(*bins, strict=True)))
