"""``pegasos train``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli.arguments import (
    FitArguments,
    Lam,
    Overwrite,
    PrepareArguments,
    ReadArguments,
    SayArguments,
    Strength,
    takes,
)
from pegasos.cli.exits import CommandError, ends


@ends
@takes(read=ReadArguments, prepare=PrepareArguments, fit=FitArguments, say=SayArguments)
def train(
    data: Annotated[Path, typer.Argument(help="Rows and labels to train on.")],
    model: Annotated[
        Path | None, typer.Argument(help="Where the model goes; DATA.model without it.")
    ] = None,
    C: Strength = None,
    lam: Lam = None,
    evaluate: Annotated[
        Path | None, typer.Option("--eval", help="Rows to measure the accuracy on.")
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option("-v", "--cv", help="Measure the accuracy by this many folds, too.", min=2),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Take no more memory than this (300M, 2G): rows are read a block at a time from a "
            "cache, which is made first.",
        ),
    ] = None,
    cache_dir: Annotated[
        Path | None, typer.Option("--cache-dir", help="Where that cache goes; beside DATA.")
    ] = None,
    overwrite: Overwrite = False,
    *,
    read: ReadArguments,
    prepare: PrepareArguments,
    fit: FitArguments,
    say: SayArguments,
) -> None:
    """Train a model, and prove how close to the optimum it is.

    Ctrl-C saves the best model so far, with what is proven about it. Exit codes: 0 certified,
    3 saved but the gap is above tol, 130 interrupted and saved, 1 error.

    Examples:

      pegasos train rcv1.svm

      pegasos train a9a a9a.model --C 0.1 --tol 1e-4 --eval a9a.t

      pegasos train reviews.csv --text review --label stars

      pegasos train big.svm --memory 2G
    """
    from pegasos.cli.fitting import training_of
    from pegasos.cli.reading import read_prepared
    from pegasos.cli.saving import check_target, code_of, fit_and_save
    from pegasos.cli.say import Voice

    voice = Voice(say)
    if model is None and data.exists() and not (data.is_file() or data.is_dir()):
        raise CommandError(f"{data} is no file to name the model after: give MODEL")
    if cv is not None and read.multilabel:
        raise CommandError("--cv takes classes, not rows with several labels")
    target = model or data.with_name(data.name + ".model")
    check_target(target, overwrite)
    training_of(fit, C, lam, 0.0)  # wrong options are told before the file is read
    if memory is None:
        rows = read_prepared(voice, data, read, prepare, fit.threads)
    else:
        from pegasos.cli.large import parsed_size, read_large

        if fit.multi_class != "ovr":
            raise CommandError(f"--multi-class {fit.multi_class} needs the rows in memory")
        if cv is not None:
            raise CommandError("--cv needs the rows in memory: leave out --memory")
        budget = parsed_size(memory)
        rows = read_large(voice, data, read, prepare, fit.threads, budget, cache_dir)
    fitted, asked = fit_and_save(voice, fit, rows, target, overwrite, C=C, lam=lam)
    try:
        if cv is not None and not asked:
            from pegasos.cli.cv import cross_validated

            training = training_of(fit, C, lam, time.perf_counter())
            voice.result(cv_accuracy=cross_validated(training, rows.data, fit, cv))
        if evaluate is not None and not asked:
            from pegasos.cli.predict import accuracy_on

            voice.result(eval_accuracy=accuracy_on(fitted.model, evaluate, rows.options))
        voice.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {target}") from None
    raise typer.Exit(code_of(fitted))
