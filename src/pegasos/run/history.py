"""What a run leaves behind of its way: one record per certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, relative_gap

COLUMNS = ("epoch", "seconds", "examples", "primal", "dual", "gap", "relative_gap")


@dataclass(frozen=True)
class Record:
    """One certificate and when it was taken. Callbacks receive it."""

    epoch: float  # passes over the data
    seconds: float  # since the call, checks of the input and certificates included
    examples: int  # rows visited
    certificate: Certificate
    score: float | None = None  # of the validation set, if there is one

    @property
    def primal(self) -> Any:
        """P, a float or one per lane."""
        return self.certificate.primal

    @property
    def dual(self) -> Any:
        """D, a float or one per lane."""
        return self.certificate.dual

    @property
    def gap(self) -> Any:
        """P - D."""
        return self.certificate.gap

    @property
    def relative_gap(self) -> Any:
        """P / D - 1."""
        return self.certificate.relative_gap


@dataclass(frozen=True)
class Pace:
    """How far a run is between two records. Callbacks that have a ``tick`` are called with it."""

    epoch: float
    seconds: float
    examples: int
    row_bytes: float  # of a row, on average


def tick(callbacks: Iterable[Callable[[Record], Any]], pace: Pace) -> None:
    """Tell the callbacks that want to know."""
    for callback in callbacks:
        told = getattr(callback, "tick", None)
        if told is not None:
            told(pace)


def want_records(callbacks: Iterable[Callable[[Record], Any]]) -> bool:
    """Whether some of them want certificates sooner than the run itself does.

    One that ``only_watches``, as a progress line does, takes what comes: looking at a fit must not
    change it.
    """
    return not all(getattr(callback, "only_watches", False) for callback in callbacks)


def asked_to_stop(callbacks: Iterable[Callable[[Record], Any]], record: Record) -> bool:
    """Call every callback with the record; whether one of them returned True."""
    answers = [callback(record) for callback in callbacks]  # each one is called
    return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)


_MOST_KEPT = 200  # records of a history that goes into a file


class History(Mapping[str, NDArray[Any]]):
    """The records as a table: ``history["gap"]`` is a column, ``history.records`` the rows.

    A column has one entry per record, or (records, lanes) for several lanes. Being a mapping of
    columns, it goes straight into ``pandas.DataFrame`` for a single lane.
    """

    def __init__(self, records: list[Record]) -> None:
        """Keep the records."""
        self.records = tuple(records)
        scored = any(record.score is not None for record in records)
        self.columns = (*COLUMNS, "score") if scored else COLUMNS

    def __getitem__(self, column: str) -> NDArray[Any]:
        """One column."""
        if column not in self.columns:
            raise KeyError(f"no column {column!r}; there are {', '.join(self.columns)}")
        return np.array([getattr(record, column) for record in self.records])

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self.columns)

    def __len__(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def kept(self) -> dict[str, list[float]]:
        """What files keep of it: of at most 200 records the means over lanes, and the worst gap.

        ``relative_gap`` is that of the means: a bound on all lanes together.
        """
        last = len(self.records) - 1
        chosen = np.unique(np.linspace(0, last, min(last + 1, _MOST_KEPT)).round().astype(int))
        records = [self.records[at] for at in chosen]
        if not records:
            return {}
        primal = np.array([np.mean(record.primal) for record in records])
        dual = np.array([np.mean(record.dual) for record in records])
        return {
            "seconds": [float(record.seconds) for record in records],
            "epoch": [float(record.epoch) for record in records],
            "primal": primal.tolist(),
            "dual": dual.tolist(),
            "relative_gap": relative_gap(primal, dual).tolist(),
            "worst_gap": [float(np.max(record.relative_gap)) for record in records],
        }

    def __repr__(self) -> str:
        """The size, and the last record."""
        if not self.records:
            return "History(no records)"
        last = self.records[-1]
        return (
            f"History({len(self.records)} records, last: epoch {last.epoch:g}, "
            f"{last.seconds:.3g} s, {last.certificate})"
        )
