"""A run as arrays and a little JSON, and back: what a checkpoint keeps of it.

The solver's state is arrays already. Besides there are: the schedule, the lanes that are live and
those that wait, the records, and the model that was certified last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Certificate, Floats
from pegasos.run.history import Record
from pegasos.run.schedule import Schedule
from pegasos.state import Arrays, expect

Lanes = tuple[NDArray[np.intp], int]
"""Lanes that are trained together, and the rows that were visited for them before."""

_BOUNDS = ("primal", "dual", "rounding")


@dataclass
class Model:
    """What was certified last, of all lanes."""

    W: Floats  # (features + 1, K)
    b: Floats  # (K,)
    duals: Floats  # (n, K), or (0, K) where nobody asks for them
    certificate: Certificate

    def arrays(self) -> Arrays:
        """By name."""
        bounds = {name: np.asarray(getattr(self.certificate, name)) for name in _BOUNDS}
        return {"W": self.W, "b": self.b, "duals": self.duals, **bounds}

    @classmethod
    def of(cls, arrays: Arrays, like: Model) -> Model:
        """From what ``arrays`` gave; ``like`` has the shapes of another."""
        expected = like.arrays()
        for name, array in expected.items():
            found = arrays[name]
            same = found.shape == array.shape and found.dtype == np.float64
            expect(same, f"{name} has the shape {found.shape}, not {array.shape}")
            expect(np.isfinite(found).all(), f"{name} is not finite")
        bounds = (arrays[name] for name in _BOUNDS)
        proof = Certificate(*bounds, signed=like.certificate.signed)
        expect((proof.dual <= proof.primal + proof.rounding).all(), "its bounds contradict")
        return cls(arrays["W"], arrays["b"], arrays["duals"], proof)


def record_arrays(records: list[Record]) -> Arrays:
    """Records, a column each."""
    columns: Arrays = {
        f"record/{name}": np.array([getattr(record, name) for record in records], dtype=np.float64)
        for name in ("epoch", "seconds", "examples")
    }
    for name in _BOUNDS:
        bounds = [getattr(record.certificate, name) for record in records]
        columns[f"record/{name}"] = np.array(bounds, dtype=np.float64)
    scores = [np.nan if record.score is None else record.score for record in records]
    columns["record/score"] = np.array(scores, dtype=np.float64)
    return columns


def records_of(arrays: Arrays) -> list[Record]:
    """From what ``record_arrays`` gave."""
    epoch, seconds, examples, score = (
        arrays[f"record/{name}"].tolist() for name in ("epoch", "seconds", "examples", "score")
    )
    bounds = [arrays[f"record/{name}"] for name in _BOUNDS]
    expect(np.isfinite([*epoch, *seconds, *examples]).all(), "its records are not finite")
    return [
        Record(
            epoch[i], seconds[i], int(examples[i]),
            Certificate(*(column[i] for column in bounds)),
            None if np.isnan(score[i]) else score[i],
        )
        for i in range(len(epoch))
    ]  # fmt: skip


def schedule_values(schedule: Schedule) -> dict[str, Any]:
    """When certificates are due."""
    return vars(schedule).copy()


def schedule_of(values: dict[str, Any], n: int, every: float | None) -> Schedule:
    """From what ``schedule_values`` gave, for a run over n rows."""
    schedule = Schedule(n, every)
    plain = {name: values[name] for name in vars(schedule)}
    counts = [plain[name] for name in ("first", "last", "next_due", "next_stop", "apart")]
    expect(plain["n"] == n and plain["every"] == schedule.every, "its schedule is another run's")
    expect(plain["growth"] in (1.25, 4.0), "its schedule does not grow")
    expect(all(whole(count) for count in counts) and min(counts[0], *counts[2:]) > 0, "no schedule")
    vars(schedule).update(plain)
    return schedule


def lanes_values(groups: list[Lanes]) -> list[Any]:
    """Lanes that wait."""
    return [[lanes.tolist(), spent] for lanes, spent in groups]


def lanes_of(values: list[Any], count: int) -> list[Lanes]:
    """From what ``lanes_values`` gave, of ``count`` lanes."""
    for lanes, spent in values:
        known = all(whole(lane) and lane < count for lane in lanes)
        expect(known and len(set(lanes)) == len(lanes) > 0 and whole(spent), "lanes of another run")
    return [(np.array(lanes, dtype=np.intp), spent) for lanes, spent in values]


def whole(value: Any) -> bool:
    """Whether it is a count."""
    return type(value) is int and 0 <= value < 1 << 60
