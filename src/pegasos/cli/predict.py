"""``pegasos predict``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from pegasos.certificate import Floats
from pegasos.cli.commands import Predict
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.reading import options_like
from pegasos.cli.say import Voice, class_name, table_lines
from pegasos.data import blocks
from pegasos.data.dataset import Data, Options
from pegasos.export import read_any
from pegasos.model.linear import LinearModel
from pegasos.report import Scored, about_model
from pegasos.util import sparse
from pegasos.util.atomic import atomic_write


def predict(voice: Voice, given: Predict) -> None:
    """Predict the classes of rows, and compare them with labels."""
    out = given.out
    if given.scores and given.probabilities:
        raise UsageError("--scores and --probabilities exclude each other")
    if out is not None and str(out) in ("-", "/dev/stdout"):
        out = None
    if out is None and given.say.json:
        raise UsageError("--json needs a file for the predictions: stdout can carry only one")
    model = read_any(given.model)
    if given.probabilities and model.calibrators is None:
        raise CommandError(
            f"{given.model} has no probabilities: train it in Python with probability=True, and "
            "save it"
        )
    options = options_like(model, given.data, given.read, n_jobs=given.threads)
    tally = Tally(Scored(about_model(model), most=0))
    with ExitStack() as stack:
        write: Any = sys.stdout.buffer.write
        if out is not None:
            write = stack.enter_context(atomic_write(out, overwrite=given.overwrite)).write
        for block, X in prepared_blocks(model, given.data, options):
            scores = model.scores(X)
            tally.add(block, scores)
            if given.probabilities:
                write(text_of_numbers(model.probabilities(X)))
            elif given.scores:
                write(text_of_numbers(scores))
            else:
                write(text_of_classes(model, model.chosen_codes(scores)))
    sys.stdout.flush()
    tell(voice, tally, given.metrics, results=out is not None)


def prepared_blocks(model: LinearModel, path: Path, options: Options) -> Iterator[tuple[Data, Any]]:
    """The rows of a file as the model wants them: (what was read, X)."""
    for block in blocks(path, options, light=True):
        yield block, as_wide(model.prepared(block).X, model.features)


def as_wide(X: Any, features: int) -> Any:
    """X with so many columns: what a model has not seen has no weight."""
    if X.shape[1] == features:
        return X
    if X.shape[1] > features:
        return X[:, :features]
    if not sparse.issparse(X):
        raise CommandError(
            f"the rows have {X.shape[1]} features, the model {features}: are they the same columns?"
        )
    return sparse.Csr(X.data, X.indices, X.indptr, features)


class Tally:
    """Rows that were predicted; those with labels are counted by the class predicted."""

    def __init__(self, scored: Scored) -> None:
        """``scored`` counts rows with labels."""
        self.scored = scored
        self.rows = self.widest = self.skipped = 0
        self.notes: dict[str, None] = {}

    def add(self, block: Data, scores: Floats, **more: Any) -> None:
        """Count a block; ``more`` is for ``Scored.add``."""
        self.rows += block.n
        self.skipped += block.bad_count
        self.notes |= dict.fromkeys(block.notes)
        if block.X is not None:
            self.widest = max(self.widest, block.X.shape[1])
        if block.y is not None:
            self.scored.add(scores, block.y, label_names=block.label_names, **more)

    def table(self) -> list[dict[str, Any]]:
        """The confusion matrix, or of labels their counts: each with its precision and recall."""
        per, names = self.scored.per_class, self.scored.about.classes
        if self.scored.about.labels:
            counts = {"rows": per.rows, "said": per.said, "both": per.hits}
        else:
            counts = {f"as {name}": self.scored.counts[:, k] for k, name in enumerate(names)}
        return [
            {"class": name}
            | {what: int(count[k]) for what, count in counts.items()}
            | {"precision": float(per.precision[k]), "recall": float(per.recall[k])}
            for k, name in enumerate(names)
        ]


def text_of_classes(model: LinearModel, chosen: Any) -> bytes:
    """A class a line; of labels, those of a row with commas."""
    names = [class_name(value).encode() for value in model.classes]
    if model.scheme != "labels":
        ends = [name + b"\n" for name in names]
        return b"".join([ends[code] for code in chosen.tolist()])
    indicator = sparse.csr_matrix(chosen)
    found = indicator.indices.tolist()
    starts = indicator.indptr.tolist()
    return b"".join(
        b",".join([names[j] for j in found[lo:hi]]) + b"\n" for lo, hi in pairwise(starts)
    )


def text_of_numbers(values: Floats) -> bytes:
    """Numbers a line, tabs between them; they read back as the same bits."""
    if values.ndim == 1:
        return "".join([f"{value!r}\n" for value in values.tolist()]).encode()
    return "".join(["\t".join(map(repr, row)) + "\n" for row in values.tolist()]).encode()


def tell(voice: Voice, tally: Tally, metrics: bool, results: bool) -> None:
    """What the labels say about the predictions; ``results``: on stdout, too."""
    known = tally.scored.about.features
    if tally.widest > known:
        voice.tell(
            f"note: the data have {tally.widest:,} features, the model {known:,}: "
            "the rest has no weight"
        )
    if tally.skipped:
        voice.tell(f"note: {tally.skipped:,} bad lines were skipped: they have no prediction")
    if results:
        voice.result(rows=tally.rows)
    scored = tally.scored
    if not scored.rows:
        return
    if results:
        voice.result(accuracy=scored.accuracy)
    voice.tell(f"accuracy {100 * scored.accuracy:.2f}% of {scored.rows:,} rows")
    if scored.unknown:
        voice.tell(f"note: {scored.unknown:,} rows are of classes the model does not know")
    if metrics and results:
        voice.table("classes", tally.table())
    elif metrics:
        voice.tell(*table_lines(tally.table()))


def accuracy_on(model: LinearModel, path: Path, options: Options) -> float:
    """The accuracy on the rows of a file."""
    tally = Tally(Scored(about_model(model), most=0))
    for block, X in prepared_blocks(model, path, options):
        tally.add(block, model.scores(X))
    if not tally.scored.rows:
        raise CommandError(f"{path} has no labels to compare with")
    return tally.scored.accuracy
