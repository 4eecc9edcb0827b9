"""``pegasos predict``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegasos.cli.arguments import ModelFile, Overwrite, ReadArguments, SayArguments, Threads, takes
from pegasos.cli.exits import CommandError, UsageError, ends

if TYPE_CHECKING:
    from pegasos.cli.metrics import Tally
    from pegasos.cli.say import Voice
    from pegasos.data.dataset import Data, Options
    from pegasos.model.linear import LinearModel


@ends
@takes
def predict(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows to predict; labels in it are compared.")],
    out: Annotated[
        Path | None, typer.Argument(help="Where predictions go, a line a row; stdout without it.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Scores instead of classes.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Probabilities of all classes instead.")
    ] = False,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="A confusion matrix and scores per class, too.")
    ] = False,
    threads: Threads = None,
    overwrite: Overwrite = False,
    *,
    read: ReadArguments,
    say: SayArguments,
) -> None:
    """Predict the classes of rows, block by block.

    With labels in the data the accuracy is told as well: on stdout if predictions go to a file.

    Examples:

      pegasos predict a9a.model a9a.t predictions.txt --metrics

      pegasos predict reviews.model new.csv --scores
    """
    from pegasos.cli.metrics import Tally
    from pegasos.cli.reading import options_like
    from pegasos.cli.say import Voice
    from pegasos.export import read_any

    voice = Voice(say)
    if scores and probabilities:
        raise UsageError("--scores and --probabilities exclude each other")
    if out is not None and str(out) in ("-", "/dev/stdout"):
        out = None
    if out is None and say.json:
        raise UsageError("--json needs a file for the predictions: stdout can carry only one")
    found = read_any(model)
    if probabilities and found.calibrators is None:
        raise CommandError(
            f"{model} has no probabilities: train it in Python with probability=True, and save it"
        )
    options = options_like(found, data, read, n_jobs=threads)
    kind = "scores" if scores else "probabilities" if probabilities else "classes"
    tally = Tally(found)
    with ExitStack() as stack:
        if out is None:
            write: Any = sys.stdout.buffer.write
        else:
            from pegasos.util.atomic import atomic_write

            write = stack.enter_context(atomic_write(out, overwrite=overwrite)).write
        for text in lines(found, data, options, kind, tally):
            write(text)
    sys.stdout.flush()
    tell(voice, tally, metrics, results=out is not None)
    if out is not None:
        voice.finish()


def prepared_blocks(model: LinearModel, path: Path, options: Options) -> Iterator[tuple[Data, Any]]:
    """The rows of a file as the model wants them: (what was read, X)."""
    from pegasos.data import blocks

    for block in blocks(path, options, light=True):
        yield block, as_wide(model.prepared(block).X, model.features)


def as_wide(X: Any, features: int) -> Any:
    """X with so many columns: what a model has not seen has no weight."""
    from pegasos.util import sparse

    if X.shape[1] == features:
        return X
    if X.shape[1] > features:
        return X[:, :features]
    if not sparse.issparse(X):
        raise CommandError(
            f"the rows have {X.shape[1]} features, the model {features}: are they the same columns?"
        )
    return sparse.Csr(X.data, X.indices, X.indptr, features)


def lines(
    model: LinearModel, path: Path, options: Options, kind: str, tally: Tally
) -> Iterator[bytes]:
    """Predictions as text, a block at a time; labels are counted on the way."""
    from pegasos.cli.metrics import text_of_classes, text_of_numbers

    for block, X in prepared_blocks(model, path, options):
        scores = model.scores(X)
        tally.add(block, scores)
        if kind == "classes":
            yield text_of_classes(model, model.chosen_codes(scores))
        elif kind == "scores":
            yield text_of_numbers(scores)
        else:
            yield text_of_numbers(model.probabilities(X))


def tell(voice: Voice, tally: Tally, metrics: bool, results: bool) -> None:
    """What the labels say about the predictions; ``results``: on stdout, too."""
    from pegasos.cli.say import table_lines

    if tally.widest > tally.model.features:
        voice.tell(
            f"note: the data have {tally.widest:,} features, the model {tally.model.features:,}: "
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
    from pegasos.cli.metrics import Tally

    tally = Tally(model)
    for block, X in prepared_blocks(model, path, options):
        tally.add(block, model.scores(X))
    if not tally.scored.rows:
        raise CommandError(f"{path} has no labels to compare with")
    return tally.scored.accuracy
