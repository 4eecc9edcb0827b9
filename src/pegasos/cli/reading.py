"""Data files, as the options say."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasos.cli.arguments import ReadArguments
from pegasos.cli.commands import Train
from pegasos.cli.exits import UsageError
from pegasos.cli.say import Voice, class_name, percent
from pegasos.data import FORMATS, format_of
from pegasos.data import read as read_data
from pegasos.data.dataset import Data, Options
from pegasos.steps import Step, scale, text
from pegasos.util import sparse, threads
from pegasos.util.classes import classes_and_codes

if TYPE_CHECKING:
    from pegasos.model.linear import LinearModel

TABLES = ("csv", "parquet", "arrow")
_SHOWN_CLASSES = 5
_SHOWN_BAD_LINES = 5


def options_of(
    given: ReadArguments,
    *,
    text_column: str | int | None = None,
    labels: bool | None = None,
    n_jobs: int | None = None,
) -> Options:
    """The options of the command line as those of the readers."""
    if given.zero_based and given.guess_base:
        raise UsageError("--zero-based and --auto-based exclude each other")
    if n_jobs == 0:
        raise UsageError("--threads must be at least 1, or negative to leave cores free")
    format, delimiter = given.format, given.delimiter
    if format not in (None, "tsv", "feather", *FORMATS):
        raise UsageError(f"--format {format}: one of {', '.join(FORMATS)}, tsv, feather")
    if format == "tsv":
        format, delimiter = "csv", delimiter or "\t"
    return Options(
        format="arrow" if format == "feather" else format,
        features=given.features,
        zero_based="auto" if given.guess_base else given.zero_based,
        multilabel=given.multilabel,
        skip_bad_lines=given.skip_bad_lines,
        label=column(given.label),
        labels=labels,
        weight=column(given.weight),
        text=text_column,
        header=given.header,
        delimiter=delimiter,
        threads=None if n_jobs is None else threads.resolve(n_jobs, 0),
    )


def options_like(
    model: LinearModel,
    path: Path,
    given: ReadArguments,
    *,
    labels: bool | None = None,
    n_jobs: int | None = None,
) -> Options:
    """The same, for rows like those the model was trained on: its columns are the default."""
    text_column = model.data.get("text_column")
    options = options_of(given, text_column=text_column, labels=labels, n_jobs=n_jobs)
    format = options.format or format_of(path)
    if format == "svmlight" and model.scheme == "labels":
        options = replace(options, multilabel=True)
    if format == "svmlight" and model.data.get("first_index") == 0 and not options.zero_based:
        options = replace(options, zero_based=True)
    if format not in TABLES:
        return options
    if options.label is None:
        options = replace(options, label=model.data.get("label_column"))
    if options.weight is None and "weight_column" in model.data:
        there = bool(labels)  # new rows need neither labels nor weights
        options = replace(options, weight=model.data["weight_column"], weight_there=there)
    if options.text is None and options.features is None:
        options = replace(options, features=model.features)  # one column more is the label
    return options


def column(name: str | None) -> str | int | None:
    """A column by number, if it is one."""
    if name is not None and name.lstrip("-").isdigit():
        return int(name)
    return name


def columns_of(job: Train) -> dict[str, Any]:
    """The columns that were named, for a model to remember."""
    named = {
        "text_column": column(job.prepare.text),
        "label_column": column(job.read.label),
        "weight_column": column(job.read.weight),
    }
    return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Prepared:
    """Rows of numbers, and where they came from."""

    data: Data
    steps: tuple[Step, ...]  # what made them of the file's rows
    options: Options  # how the file was read
    columns: dict[str, Any]  # those that were named
    seconds: float  # all of this took


def read_prepared(voice: Voice, path: Path, job: Train) -> Prepared:
    """Read rows to train on, prepare them, and say what there is."""
    began = time.perf_counter()
    prepare = job.prepare
    for name, value, known in (
        ("--scale", prepare.scale, scale.METHODS),
        ("--text-as", prepare.text_as, text.METHODS),
    ):
        if value not in known:
            raise UsageError(f"{name} {value}: one of {', '.join(known)}")
    text_column, n_jobs = column(prepare.text), job.fit.threads
    options = options_of(job.read, text_column=text_column, labels=True, n_jobs=n_jobs)
    data = read_data(path, options, light=True)
    steps: list[Step] = []
    if data.text is not None:
        steps.append(text.TextStep.fit(data.text, prepare.text_as))
        data = steps[-1].apply(data)
    if prepare.scale != "none":
        steps.append(scale.ScaleStep.fit(prepare.scale, data.X))
        data = steps[-1].apply(data)
    seconds = time.perf_counter() - began
    describe(voice, path, data)
    return Prepared(data, tuple(steps), options, columns_of(job), seconds)


def classes_of(y: Any) -> tuple[Any, Any]:
    """The classes, whole numbers as such, and the class of each row."""
    if y.dtype.kind == "f" and np.array_equal(y, np.rint(y)) and (np.abs(y) < 2**53).all():
        y = y.astype(np.int64)
    return classes_and_codes(y)


def describe(voice: Voice, path: Any, data: Data) -> None:
    """Rows, features, values, classes and their shares; what was decided and left out."""
    n, d = data.X.shape
    values = data.X.nnz if sparse.issparse(data.X) else data.X.size
    density = percent(values / max(1, n * d))
    voice.detail(rows=n, features=d, values=values)
    voice.tell(f"{path}: {n:,} rows, {d:,} features, {values:,} values ({density} of all)")
    for note in data.notes:
        voice.tell(f"  {note}")
    if data.bad_count:
        voice.detail(skipped_lines=data.bad_count)
        voice.tell(f"  {data.bad_count:,} bad lines were skipped:")
    for bad in data.bad_lines[:_SHOWN_BAD_LINES]:
        voice.tell(f"    line {bad.line}, column {bad.column}: {bad.what}")
    if data.y is None:
        return
    if data.y.ndim == 2:
        mean = data.y.sum() / max(1, n)
        voice.tell(f"  {data.y.shape[1]:,} labels, {mean:.3g} a row")
        return
    classes, codes = classes_of(data.y)
    counts = np.bincount(codes)
    voice.detail(classes=[class_name(c) for c in classes], class_rows=counts)
    largest = np.argsort(-counts, kind="stable")[:_SHOWN_CLASSES]
    shares = ", ".join(f"{class_name(classes[k])} {percent(counts[k] / n)}" for k in largest)
    more = f", and {classes.size - largest.size} more" if classes.size > largest.size else ""
    voice.tell(f"  {classes.size} classes: {shares}{more}")
