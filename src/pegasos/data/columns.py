"""Which column of a table is the label, the weight, the text, and which are features."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pegasos.data.dataset import Data, DataError, Options

LABEL_NAMES = ("label", "y", "target", "class")
"""Headers that a label goes by, the likeliest first; in any case of letters."""

NO_NUMBER = "not a number: one-hot encode the column, or if it is text name it (text=, --text)"


@dataclass(frozen=True)
class Header:
    """The columns of a table; people refer to them by number or by name."""

    path: Any
    names: tuple[str, ...]  # empty without a header
    count: int

    def called(self, at: int) -> str:
        """A column as people know it."""
        return f"field {at + 1}{self.name(at)}"

    def name(self, at: int) -> str:
        """What follows the number of a column where it has a name."""
        return f" ({self.names[at]!r})" if self.names else ""

    def place(self, ref: str | int | None) -> int | None:
        """Where a column is, by its name or by its number: 3, -1, and "3" if none is called so."""
        if ref in self.names:
            return self.names.index(str(ref))
        number = _number(ref)
        if number is None or not -self.count <= number < self.count:
            return None
        return number % self.count

    def find(self, what: str, ref: str | int | None) -> int | None:
        """The same; DataError for a column that is not there, or is there twice."""
        at, times = self.place(ref), self.names.count(str(ref))
        if ref is None or (at is not None and times < 2):
            return at
        if at is not None:
            what = f"{times} columns are called {ref!r}: give a number, from 0"
            raise DataError(self.path, what)
        if _number(ref) is not None:
            known = f"columns go from 0 to {self.count - 1}, or from -1 back to -{self.count}"
        elif not self.names:
            known = "the file has no header, so give its number, from 0"
        else:
            known = "there are " + ", ".join(self.names[:10]) + ", ..." * (len(self.names) > 10)
        raise DataError(self.path, f"no column {ref!r} for the {what}: {known}")


def _number(ref: str | int | None) -> int | None:
    if isinstance(ref, str):
        return int(ref) if re.fullmatch("-?[0-9]+", ref) else None
    return ref


@dataclass(frozen=True)
class Columns(Header):
    """What each column is, by their numbers from 0."""

    features: tuple[int, ...]  # none if there is a text
    label: int | None
    weight: int | None
    text: int | None
    notes: tuple[str, ...]

    @property
    def numbers(self) -> list[int]:
        """Those that hold numbers whatever the label is: the features, then the weight."""
        return [*self.features, *(() if self.weight is None else (self.weight,))]

    def data(self, X: Any, y: Any, weight: Any, text: list[str] | None, **bad: Any) -> Data:
        """Rows of these columns; what is not among them is left out."""
        if self.weight is None:
            weight = None
        if self.text is not None:
            return Data(None, y, weight, text=text, notes=self.notes, **bad)
        names = tuple(self.names[at] for at in self.features) if self.names else None
        return Data(X, y, weight, feature_names=names, notes=self.notes, **bad)


def assign(path: Any, names: Sequence[str] | None, count: int, options: Options) -> Columns:
    """What each of ``count`` columns is, by the options and the header.

    Without ``options.label`` it is a column of ``LABEL_NAMES``, else the first one; none where
    the declared number of features takes all columns.
    """
    header = Header(path, tuple(names or ()), count)
    weight = header.place(options.weight)
    if options.weight_there or weight is not None:
        weight = header.find("weight", options.weight)
    text = header.find("text", options.text)
    label, note = _label(header, [at for at in range(count) if at not in (weight, text)], options)
    if weight is not None and weight in (label, text):
        raise DataError(path, f"column {options.weight!r} cannot be the weight and something else")
    if text is not None and text == label:
        raise DataError(path, f"column {options.text!r} cannot be the text and the label")
    others = tuple(at for at in range(count) if at not in (weight, text, label))
    notes: tuple[str, ...] = (note,) if note else ()
    if text is not None and others:
        unused = ", ".join(header.names[at] if names else str(at) for at in others[:10])
        more = f" and {len(others) - 10} more" if len(others) > 10 else ""
        notes += (f"beside the text these columns are not used: {unused}{more}",)
    if text is None and not others:
        raise DataError(path, "there is no column of features: is the delimiter right?")
    label = None if options.labels is False else label
    features = others if text is None else ()
    return Columns(path, header.names, count, features, label, weight, text, notes)


def _label(header: Header, free: list[int], options: Options) -> tuple[int | None, str]:
    """Its column, one that is ``free`` unless it was named, and for people how it was found."""
    if options.label is not None:
        if options.labels is None and header.place(options.label) is None:
            return None, f"there is no column {options.label!r}: rows have no labels"
        return header.find("label", options.label), ""
    lower = [name.strip().lower() for name in header.names]
    for at in (lower.index(name) for name in LABEL_NAMES if name in lower):
        if at in free:
            return at, f"the label is column {at}{header.name(at)}, by its name"
    if options.labels is False:
        return None, ""
    no_room = options.text is None and len(free) == options.features
    if no_room or not free:
        if options.labels:
            raise DataError(
                header.path, f"none of the {header.count} columns is left for the label"
            )
        return None, "all columns are features: rows have no labels" if no_room else ""
    at = free[0]
    return at, f"the label is column {at}{header.name(at)}, the first; label= names another"
