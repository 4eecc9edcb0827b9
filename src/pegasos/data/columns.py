"""Which column of a table is the label, the weight, the text, and which are features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pegasos.data.dataset import Data, DataError, Options

LABEL_NAMES = ("label", "y", "target", "class")
"""Headers that a label goes by, the likeliest first; in any case of letters."""

NO_NUMBER = "not a number: one-hot encode the column, or if it is text name it (text=, --text)"


@dataclass(frozen=True)
class Columns:
    """Numbers of columns, from 0."""

    count: int  # of the whole table
    names: tuple[str, ...] | None
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
        names = None if self.names is None else tuple(self.names[at] for at in self.features)
        return Data(
            X if self.text is None else None,
            y,
            weight if self.weight is not None else None,
            feature_names=names if self.text is None else None,
            text=text if self.text is not None else None,
            notes=self.notes,
            **bad,
        )

    def called(self, at: int) -> str:
        """A column as people know it."""
        return f"field {at + 1}" + (f" ({self.names[at]!r})" if self.names else "")


def assign(path: Any, names: Sequence[str] | None, count: int, options: Options) -> Columns:
    """What each of ``count`` columns is, by the options and the header.

    Without ``options.label`` it is a column of ``LABEL_NAMES``, else the first one; none where
    the declared number of features takes all columns.
    """
    weight = None
    if options.weight_there or _has(options.weight, names, count):
        weight = _find(path, "weight", options.weight, names, count)
    text = _find(path, "text", options.text, names, count)
    taken = {at for at in (weight, text) if at is not None}
    label, note = _label(path, names, count, taken, options)
    if weight is not None and weight in (label, text):
        raise DataError(path, f"column {options.weight!r} cannot be the weight and something else")
    if text is not None and text == label:
        raise DataError(path, f"column {options.text!r} cannot be the text and the label")
    taken |= {at for at in (label,) if at is not None}
    others = tuple(at for at in range(count) if at not in taken)
    notes: tuple[str, ...] = (note,) if note else ()
    if text is not None and others:
        unused = ", ".join(names[at] if names else str(at) for at in others[:10])
        more = f" and {len(others) - 10} more" if len(others) > 10 else ""
        notes += (f"beside the text these columns are not used: {unused}{more}",)
    if text is None and not others:
        raise DataError(path, "there is no column of features: is the delimiter right?")
    return Columns(
        count,
        None if names is None else tuple(names),
        () if text is not None else others,
        None if options.labels is False else label,
        weight,
        text,
        notes,
    )


def _label(
    path: Any, names: Sequence[str] | None, count: int, taken: set[int], options: Options
) -> tuple[int | None, str]:
    if options.label is not None:
        if options.labels is None and not _has(options.label, names, count):
            return None, f"there is no column {options.label!r}: rows have no labels"
        return _find(path, "label", options.label, names, count), ""
    lower = [name.strip().lower() for name in names or ()]
    for name in LABEL_NAMES:
        if name in lower and lower.index(name) not in taken:
            at = lower.index(name)
            return at, f"the label is column {at} ({(names or ())[at]!r}), by its name"
    if options.labels is False:
        return None, ""
    free = [at for at in range(count) if at not in taken]
    no_room = options.text is None and len(free) == options.features
    if no_room or not free:
        if options.labels:
            raise DataError(path, f"none of the {count} columns is left for the label")
        return None, "all columns are features: rows have no labels" if no_room else ""
    called = f" ({names[free[0]]!r})" if names else ""
    return free[0], f"the label is column {free[0]}{called}, the first; label= names another"


def _number(ref: str | int, names: Sequence[str] | None) -> int | None:
    """``ref`` as a number, where it is one: 3, -1, and "3" if no header is called so."""
    if isinstance(ref, int):
        return ref
    if names is not None and ref in names:
        return None
    digits = ref.removeprefix("-")
    return int(ref) if digits.isascii() and digits.isdigit() else None


def _has(ref: str | int | None, names: Sequence[str] | None, count: int) -> bool:
    if ref is None:
        return False
    number = _number(ref, names)
    return -count <= number < count if number is not None else ref in (names or ())


def _find(
    path: Any, what: str, ref: str | int | None, names: Sequence[str] | None, count: int
) -> int | None:
    if ref is None:
        return None
    if not _has(ref, names, count):
        number = _number(ref, names)
        if number is not None:
            known = f"columns go from 0 to {count - 1}, or from -1 back to -{count}"
        elif names is None:
            known = "the file has no header, so give its number, from 0"
        else:
            known = "there are " + ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise DataError(path, f"no column {ref!r} for the {what}: {known}")
    number = _number(ref, names)
    if number is not None:
        return number % count
    found = [at for at, name in enumerate(names or ()) if name == ref]
    if len(found) > 1:
        raise DataError(path, f"{len(found)} columns are called {ref!r}: give a number, from 0")
    return found[0]
