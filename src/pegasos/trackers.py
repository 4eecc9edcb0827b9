"""Callbacks that write down how a run goes: to a file, to MLflow, to TensorBoard.

    pegasos.LinearSVC(callbacks=[JSONLinesLogger("run.jsonl")]).fit(X, y)

Each record is written as it comes, so that a run that is killed leaves all but the last. Of several
problems the worst gap, and the mean objective, are logged; the JSON lines have those of each, too.
"""

from __future__ import annotations

import csv
import json
import os
from abc import ABC, abstractmethod
from typing import IO, Any

import numpy as np

from pegasos.run.history import Record

COLUMNS = ("epoch", "seconds", "examples", "primal", "dual", "gap", "relative_gap", "score")


def numbers(record: Record) -> dict[str, float | None]:
    """A record as single numbers: the worst gap, means of the objectives; None if unknown."""
    found: dict[str, float | None] = {
        "epoch": float(record.epoch),
        "seconds": float(record.seconds),
        "examples": int(record.examples),
        "primal": float(np.mean(record.primal)),
        "dual": float(np.mean(record.dual)),
        "gap": float(np.max(record.gap)),
        "relative_gap": float(np.max(record.relative_gap)),
        "score": None if record.score is None else float(record.score),
    }
    return {name: v if v is None or np.isfinite(v) else None for name, v in found.items()}


class _FileLogger(ABC):
    """Adds a line for every record; the file is there from the first one on."""

    def __init__(self, path: str | os.PathLike[str], *, append: bool = False) -> None:
        """``append`` goes on after what is in the file; without, that is replaced."""
        self.path, self.append = os.fspath(path), append

    def __call__(self, record: Record) -> None:
        """Write the record, and bring it to disk as far as the system's buffers."""
        mode = "a" if self.append else "w"
        with open(self.path, mode, newline="", encoding="utf-8") as file:
            self.append = True  # a second fit with the same logger, or a copy of it, goes on
            self.write(file, record)

    @abstractmethod
    def write(self, file: IO[str], record: Record) -> None:
        """One record."""


class JSONLinesLogger(_FileLogger):
    """A JSON object a line: the columns, and of several problems ``relative_gaps`` of each."""

    def write(self, file: IO[str], record: Record) -> None:
        """One record."""
        line: dict[str, Any] = dict(numbers(record))
        if np.ndim(record.relative_gap):
            gaps = np.asarray(record.relative_gap).tolist()
            line["relative_gaps"] = [gap if np.isfinite(gap) else None for gap in gaps]
        file.write(json.dumps(line, allow_nan=False) + "\n")


class CSVLogger(_FileLogger):
    """A line of comma-separated values, under a heading; empty where nothing is known."""

    def write(self, file: IO[str], record: Record) -> None:
        """One record, under a heading if it is the first of the file."""
        rows = csv.DictWriter(file, COLUMNS)  # which writes None as nothing
        if file.tell() == 0:
            rows.writeheader()
        rows.writerow(numbers(record))


class MLflowLogger:
    """Metrics of the active MLflow run; a step is a record. Needs the extra ``mlflow``."""

    def __init__(self, prefix: str = "pegasos/") -> None:
        """Names of the metrics begin with ``prefix``."""
        try:
            import mlflow
        except ImportError:
            raise ImportError("MLflowLogger needs MLflow: pip install 'pegasos[mlflow]'") from None
        self._log, self.prefix, self.step = mlflow.log_metrics, prefix, 0

    def __call__(self, record: Record) -> None:
        """Log what is known."""
        known = {self.prefix + name: v for name, v in numbers(record).items() if v is not None}
        self._log(known, step=self.step)
        self.step += 1


class TensorBoardLogger:
    """Scalars for TensorBoard over rows visited. A folder needs the extra ``tensorboard``."""

    def __init__(self, where: Any, prefix: str = "pegasos/") -> None:
        """``where`` is a folder, or a SummaryWriter of torch or of tensorboardX."""
        if not hasattr(where, "add_scalar"):
            try:
                from tensorboardX import SummaryWriter
            except ImportError:
                raise ImportError(
                    "a folder for TensorBoard needs a writer: pip install 'pegasos[tensorboard]', "
                    "or give a SummaryWriter of torch"
                ) from None
            where = SummaryWriter(os.fspath(where))
        self.writer, self.prefix = where, prefix

    def __call__(self, record: Record) -> None:
        """Write what is known."""
        for name, value in numbers(record).items():
            if value is not None and name != "examples":
                self.writer.add_scalar(self.prefix + name, value, record.examples)
        self.writer.flush()
