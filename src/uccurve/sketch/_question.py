"""Question: models that are columns of one frame, and the two passes that answer what is asked about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any

import narwhals as nw

from uccurve import _checks as checks
from uccurve._checks import DroppedRowsWarning
from uccurve._distributions import binomial_tail, hypergeometric_tail
from uccurve._frames import opened
from uccurve.compare.results import AssessmentSettings, Segment
from uccurve.compare.segments import adjusted_segments
from uccurve.intervals import Missing

from ._bins import checked
from ._engine_checks import all_finite, floats, refuse_nested
from ._engines import col, job, states, when
from ._findings import Findings
from ._model import StreamedModel
from ._rows import State
from ._second_pass import Sums, second_pass
from ._units import Coverages, joined_label, lower_share_test

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Columns = Sequence[Any]
"""Names of a model's columns: y_pred, lower, upper; or y_pred and a mapping from level to lower and upper."""
Groups = Mapping[tuple[Any, ...], State]
"""States of the rows with each combination of labels."""
ROLES = ("y_pred", "lower", "upper")


@dataclass(frozen=True)
class Question:
    """What is asked about the models of a frame; as in `assess_frame`."""

    models: Mapping[str, Columns]
    y_true: str
    weight: str | None
    block: str | None
    features: Sequence[tuple[str, ...]]
    min_band: float | str | None
    missing: Missing
    resolution: int

    def __post_init__(self) -> None:
        checks.choice("missing", self.missing, ("raise", "drop"))
        checked(self.resolution)

    @cached_property
    def labels(self) -> list[str]:
        """Columns that hold labels of segments."""
        return list(dict.fromkeys(name for feature in self.features for name in feature))

    @cached_property
    def levels(self) -> dict[str, dict[float, tuple[str, str]]]:
        """Columns of the models that have several levels, narrowest first."""
        found = {name: columns[1] for name, columns in self.models.items() if isinstance(columns[1], Mapping)}
        for name, levels in found.items():
            if not levels or not all(0 < checks.real("level", level) < 1 for level in levels):
                raise ValueError(f"`models[{name!r}]` must have levels between 0 and 1, both excluded.")
        return {name: dict(sorted(levels.items())) for name, levels in found.items()}

    def findings(self, frame: IntoFrame, settings: AssessmentSettings) -> Findings:
        """Assess the models in two passes."""
        native, columns = self._with_delivered(self._opened(frame), settings.shown_coverage)
        floors, groups = self._first_pass(native.to_native(), columns)
        models = []
        for name, parts in groups.items():
            level = min(settings.shown_coverage, max(self.levels[name])) if name in self.levels else None
            state = State.union(list(parts.values()))
            models.append(StreamedModel(name, state, settings, y_pred=columns[name][0], level=level))
        sums = self._second_pass(native, columns, models, floors)
        segments = [
            segment
            for i, model in enumerate(models)
            for segment in self._segments(model, groups[model.name], sums.coverages(i))
        ]
        levels = {
            model.name: sums.level_fields(i, model, list(self.levels[model.name]))
            for i, model in enumerate(models)
            if model.name in self.levels
        }
        return Findings(models, sums.evidence(models), segments, levels, _engine(native))

    def _opened(self, frame: IntoFrame) -> Any:
        """Return the frame; rows without some value have no observation where such rows are dropped."""
        if not self.models:
            raise ValueError("`models` must name at least one model.")
        bounds: dict[str, str] = {}
        for name, columns in self.models.items():
            given = list(columns)
            if name in self.levels:
                given = [columns[0], *(bound for pair in self.levels[name].values() for bound in pair)]
            elif len(given) != 3:
                raise ValueError(f"`models[{name!r}]` must be three columns: y_pred, lower, upper; got {columns!r}.")
            bounds |= {f"models[{name!r}][{i}]": column for i, column in enumerate(given)}
        numbers = {"y_true": self.y_true} | bounds | ({} if self.weight is None else {"weight": self.weight})
        labels = {f"by[{i}]": name for i, name in enumerate(self.labels)} | (
            {} if self.block is None else {"block": self.block}
        )
        native = opened(frame, numbers | labels)
        refuse_nested(native.collect_schema(), labels.values())
        if self.missing != "drop" or len(self.models) + len(self.levels) == 1:
            return native
        complete = all_finite(dict.fromkeys(numbers.values()))
        return native.with_columns(when(complete).then(col(self.y_true)).alias(self.y_true))

    def _with_delivered(self, native: Any, coverage: float) -> tuple[Any, dict[str, Columns]]:
        """Add the delivered bounds of models of several levels: straight lines between the two nearest levels."""
        columns, added = dict(self.models), dict[str, nw.Expr]()
        for i, (name, levels) in enumerate(self.levels.items()):
            y_pred = self.models[name][0]
            known = {0.0: (y_pred, y_pred)} | levels
            above = min((level for level in known if level >= coverage), default=max(known))
            below = max(level for level in known if level < above)
            share = min((coverage - below) / (above - below), 1.0)
            names = f"delivered_lower_{i}", f"delivered_upper_{i}"
            for one, low, high in zip(names, known[below], known[above], strict=True):
                added[one] = col(high) if share == 1 else col(low) + (col(high) - col(low)) * share
            columns[name] = (y_pred, *names)
        return native.with_columns(**added) if added else native, columns

    def _first_pass(self, frame: Any, columns: Mapping[str, Columns]) -> tuple[list[float | None], dict[str, Groups]]:
        """Sketch of each model for each combination of labels, and the minimum bands that its rows were raised to."""
        floors, groups = list[float | None](), dict[str, Groups]()
        options: Any = {"min_band": self.min_band, "missing": self.missing, "resolution": self.resolution}
        for name, own in columns.items():
            names = {"y_true": self.y_true, **dict(zip(ROLES, own, strict=True)), "weight": self.weight}
            with warnings.catch_warnings():
                if groups:  # the same rows are dropped for all models, and said once
                    warnings.simplefilter("ignore", DroppedRowsWarning)
                try:
                    asked = job(frame, names, by=self.labels, **options)
                    groups[name] = states(asked)
                except (TypeError, ValueError) as error:
                    raise error if len(columns) == 1 else type(error)(f"{name}: {error}") from None
            floors.append(asked.floor)
        return floors, groups

    def _second_pass(
        self,
        native: Any,
        columns: Mapping[str, Columns],
        models: Sequence[StreamedModel],
        floors: Sequence[float | None],
    ) -> Sums:
        """Sums of the influence of the rows, by block and labels where these matter."""
        names = {"y_true": self.y_true} | ({} if self.weight is None else {"weight": self.weight})
        for i, (model, own) in enumerate(columns.items()):
            names |= {f"{role}_{i}": name for role, name in zip(ROLES, own, strict=True)}
            for k, bounds in enumerate(self.levels.get(model, {}).values()):
                names |= {f"{end}_{i}_{k}": name for end, name in zip(("lower", "upper"), bounds, strict=True)}
        keys = {} if self.block is None else {"block": self.block}
        if self.block is not None or self.weight is not None:
            keys |= {f"by_{i}": name for i, name in enumerate(self.labels)}
        numbers = {role: value for role, value in floats(native.collect_schema(), names).items() if role in names}
        rows = native.select(**numbers, **{key: col(name) for key, name in keys.items()}).lazy()
        rows = rows.filter(all_finite(names)) if self.missing == "drop" else rows
        rows = rows if self.weight is None else rows.filter(col("weight") > 0)
        levels = [len(self.levels.get(name, ())) for name in columns]
        return second_pass(rows, models, floors, keys=[*keys], levels=levels)

    def _segments(self, model: StreamedModel, groups: Groups, coverages: Coverages) -> list[Segment]:
        """One model on the segments of each feature, p-values adjusted for all of them."""
        found = []
        for feature in self.features:
            places = [self.labels.index(name) for name in feature]
            for label, parts in _by_label(groups, places).items():
                part = StreamedModel(model.name, State.union(parts), model.settings)
                found.append(_segment(model, part, (", ".join(feature), label), coverages.of_label(places, label)))
        return adjusted_segments(found, model.settings.confidence_level)


def _by_label(groups: Groups, places: Sequence[int]) -> dict[str, list[State]]:
    """States of the rows with each label of a feature."""
    unlabelled = sum(state.rows + state.dropped for key, state in groups.items() if None in key)
    if unlabelled:
        total = sum(state.rows + state.dropped for state in groups.values())
        raise ValueError(
            f"`by` must hold a label in each row: {unlabelled} of {total} rows have none. "
            "Hint: give such rows a label of their own."
        )
    found: dict[str, list[State]] = {}
    for key, state in groups.items():
        if state.rows:
            found.setdefault(joined_label(key[place] for place in places), []).append(state)
    return dict(sorted(found.items()))


def _segment(whole: StreamedModel, part: StreamedModel, key: tuple[str, str], coverages: Coverages) -> Segment:
    """One model on one segment, with the one-sided p-value of too little coverage."""
    level, promised = whole.settings.confidence_level, whole.settings.coverage
    rows, total = part.state.rows, part.state.total
    inside = coverages.inside(part.coverage, total, rows)
    units, pvalue, others, left = inside.units, nan, whole.state.rows - rows, nan
    shipped = 1 - part.curve.at(whole.target.value).miss_rate if isfinite(whole.target.value) else nan
    if promised is not None and units.count > 1:
        count = units.effective_rows(part.coverage, inside.change, level)
        pvalue = binomial_tail((1 - part.coverage) * count, count, float(whole.alpha))
        left = nan if isnan(shipped) else binomial_tail((1 - shipped) * count, count, float(whole.alpha))
    elif promised is None and others and units.equal:
        pvalue = hypergeometric_tail(part.missed, rows, whole.missed, whole.state.rows)
    elif promised is None and others:
        rest = whole.state.total - total
        share = (whole.coverage * whole.state.total - part.coverage * total) / rest
        pvalue = lower_share_test(inside, coverages.outside(share, rest, others))
    ends = units.share_ends(part.coverage, inside.change, level)
    return replace(part.segment(key, pvalue, ends), shipped_coverage=shipped, shipped_pvalue=left)


def _engine(frame: Any) -> str:
    """Return the name of the engine that holds a frame."""
    name = str(frame.implementation.value)
    return "spark" if name.startswith("pyspark") else name
