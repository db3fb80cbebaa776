"""Track: days in order, of which the last ones are kept, and what all of them say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from .days import Label, is_before

KEPT = 400  # days by themselves; of earlier ones only what they say together


class _Labelled(Protocol):
    @property
    def label(self) -> Label: ...


ItemT = TypeVar("ItemT", bound=_Labelled)


class _Running(Protocol):
    """What days say, which grows by a day."""

    def after(self, day: Any, /) -> Self: ...

    def anew(self) -> Self: ...


StateT = TypeVar("StateT", bound=_Running)


@dataclass(slots=True)
class Track(Generic[ItemT, StateT]):
    """Days in order, of which the last ones are kept, and what they say.

    Attributes
    ----------
    base, now
        What all days before those that are kept say, and what all say.
    days : list
        Days that are kept.
    acknowledged : list of label
        Days after which an alarm was acknowledged.
    forgotten : label or None
        The last day that is not kept.
    """

    base: StateT
    now: StateT
    days: list[ItemT] = field(default_factory=list)
    acknowledged: list[Label] = field(default_factory=list)
    forgotten: Label | None = None

    @classmethod
    def of(cls, start: StateT) -> Self:
        """No days yet."""
        return cls(start, start)

    def copy(self) -> Self:
        """Return another one of the same days."""
        return replace(self, days=[*self.days], acknowledged=[*self.acknowledged])

    def acknowledge(self) -> None:
        """Start anew: what rang until the last day is known."""
        if self.days and self.days[-1].label not in self.acknowledged:
            self.acknowledged.append(self.days[-1].label)
            self.now = self.now.anew()

    def has_taken(self, label: Label) -> bool:
        """Whether a day was taken, or is older than all that are kept after many."""
        return self.is_forgotten(label) or self.find(label) is not None

    def is_forgotten(self, label: Label) -> bool:
        """Whether a day is older than all that are kept after many."""
        return self.forgotten is not None and not is_before(self.forgotten, label)

    def find(self, label: Label) -> ItemT | None:
        """Return a day that was taken."""
        place = self._place_of(label)
        here = self.days[place : place + 1]
        return here[0] if here and here[0].label == label else None

    def take(self, day: ItemT, *, replace: bool) -> None:
        """Add a day after the others; or in its place, with `replace`."""
        place = self._place_of(day.label)
        if place == len(self.days) and not self.is_forgotten(day.label):
            self.days.append(day)
            self.now = self.now.after(day)
        else:
            self._refuse(day, replace=replace)
            taken = self.days[place].label == day.label
            self.days[place : place + taken] = [day]
            self._replay()
        self._forget()

    def remove(self, label: Label) -> None:
        """Take a day back."""
        day = self.find(label)
        if day is not None:
            self.days.remove(day)
            self._replay()

    def history(self) -> Iterator[tuple[ItemT, StateT]]:
        """Yield each kept day with what was known after it."""
        state = self.base
        for day in self.days:
            state = state.after(day)
            yield day, state
            if day.label in self.acknowledged:
                state = state.anew()

    def _place_of(self, label: Label) -> int:
        place = len(self.days)
        while place and not is_before(self.days[place - 1].label, label):
            place -= 1
        return place

    def _replay(self) -> None:
        self.now = self.base
        for day, state in self.history():
            self.now = state.anew() if day.label in self.acknowledged else state

    def _forget(self) -> None:
        while len(self.days) > KEPT:
            day = self.days.pop(0)
            self.base = self.base.after(day)
            self.forgotten = day.label
            if day.label in self.acknowledged:
                self.acknowledged.remove(day.label)
                self.base = self.base.anew()

    def _refuse(self, day: ItemT, *, replace: bool) -> None:
        """Refuse a day that is not a new one after all others, unless it may replace."""
        if self.is_forgotten(day.label):
            raise ValueError(
                f"days must come in order: {day.label} is before the last {KEPT} days, of which alone each is kept."
            )
        if replace:
            return
        if self.find(day.label) is not None:
            raise ValueError(
                f"each day is taken once, and {day.label} was taken already. "
                "Hint: for late rows, give all rows of the day with replace=True."
            )
        raise ValueError(
            f"days must come in order: {day.label} is before {self.days[-1].label}, the last one taken. "
            "Hint: replace=True puts it in its place."
        )
