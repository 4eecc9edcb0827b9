"""``pegasos train``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pegasos.cli.arguments import (
    FitArguments,
    Lam,
    Overwrite,
    PrepareArguments,
    ReadArguments,
    SaveArguments,
    SayArguments,
    Strength,
    takes,
)
from pegasos.cli.exits import CommandError, UsageError, ends

if TYPE_CHECKING:
    from pegasos.cli.fitting import Fitted
    from pegasos.cli.job import Job
    from pegasos.cli.reading import Prepared
    from pegasos.cli.say import Voice
    from pegasos.data.dataset import Options


@ends
@takes
def train(
    data: Annotated[
        Path | None, typer.Argument(help="Rows and labels to train on.", show_default=False)
    ] = None,
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
            "cache, which is made first. Without it that is done if they would not fit.",
        ),
    ] = None,
    cache_dir: Annotated[
        Path | None, typer.Option("--cache-dir", help="Where that cache goes; beside DATA.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Train on the Dask cluster of this scheduler. DATA is a folder or a pattern "
            "('data/*.parquet') of files that its workers can read, a part each.",
        ),
    ] = None,
    dask_timeout: Annotated[
        float,
        typer.Option(
            "--dask-timeout", help="Seconds without a sign of life after which a worker is lost."
        ),
    ] = 60.0,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Make a page about the model (HTML): of the rows of --eval, or of the training "
            "rows.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    *,
    read: ReadArguments,
    prepare: PrepareArguments,
    fit: FitArguments,
    save: SaveArguments,
    say: SayArguments,
) -> None:
    """Train a model, and prove how close to the optimum it is.

    Ctrl-C saves the best model so far, with what is proven about it. Exit codes: 0 certified,
    3 saved but the gap is above tol, 130 interrupted and saved, 1 error.

    Examples:

      pegasos train rcv1.svm

      pegasos train a9a a9a.model --C 0.1 --tol 1e-4 --eval a9a.t

      pegasos train reviews.csv --text review --label stars --report report.html

      pegasos train big.svm --memory 2G --checkpoint big.ckpt

      pegasos train --resume big.ckpt

      pegasos train --dask tcp://scheduler:8786 'data/*.parquet' my.model
    """
    from pegasos.cli.fitting import training_of
    from pegasos.cli.job import Job, left_by, remember_model, resumed_job
    from pegasos.cli.saving import check_target, code_of, fit_and_save
    from pegasos.cli.say import Voice

    voice = Voice(say)
    save.saving().check()
    if data is None and (save.resume is None or dask is not None):
        raise UsageError("DATA is missing: the rows and labels to train on")
    if dask is not None and model is None:
        raise UsageError("MODEL is missing: --dask needs to be told where the model goes")
    if (
        model is None
        and data is not None
        and data.exists()
        and not (data.is_file() or data.is_dir())
    ):
        raise CommandError(f"{data} is no file to name the model after: give MODEL")
    named = data or Path()
    target = model or named.with_name(named.name + ".model") if data is not None else Path()
    job = Job(named, target, C, lam, evaluate, cv, memory, cache_dir, read, prepare, fit)
    if dask is not None:
        if report is not None:
            raise UsageError("--report does not go with --dask: use pegasos report afterwards")
        from pegasos.cli.dask import train_on_dask

        fitted = train_on_dask(voice, job, dask, dask_timeout, overwrite, save)
        raise typer.Exit(code_of(fitted))
    if data is None:
        job = resumed_job(save, job)
        voice.tell(f"{job.data} to {job.target}, as {save.resume} says")
        overwrite = overwrite or left_by(save, job.target)
    if job.cv is not None and job.read.multilabel:
        raise CommandError("--cv takes classes, not rows with several labels")
    check_target(job.target, overwrite)
    if report is not None:
        if report.absolute() == job.target.absolute():
            raise UsageError(f"--report {report} is where the model goes: give it another name")
        check_target(report, overwrite, "a report")
    training_of(job.fit, job.C, job.lam, 0.0)  # wrong options are told before the file is read
    rows = _rows(voice, job)
    fitted, asked = fit_and_save(
        voice, job.fit, rows, job.target, overwrite, C=job.C, lam=job.lam,
        saving=save.saving(), command=job.plain(),
    )  # fmt: skip
    place = save.checkpoint or save.resume
    if place is not None:
        remember_model(place, job.target)
        if code_of(fitted):
            voice.tell(f"to go on: pegasos train --resume {place}")
    try:
        if job.cv is not None and not asked:
            from pegasos.cli.cv import cross_validated

            training = training_of(job.fit, job.C, job.lam, time.perf_counter())
            voice.result(cv_accuracy=cross_validated(training, rows.data, job.fit, job.cv))
        if job.evaluate is not None and not asked:
            from pegasos.cli.predict import accuracy_on

            voice.result(eval_accuracy=accuracy_on(fitted.model, job.evaluate, rows.options))
        if report is not None and not asked:
            _make_report(voice, fitted, job, rows.options, report, overwrite)
        voice.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {job.target}") from None
    raise typer.Exit(code_of(fitted))


def _make_report(
    voice: Voice, fitted: Fitted, job: Job, options: Options, target: Path, overwrite: bool
) -> None:
    """Of rows that were not trained on, if there are."""
    from pegasos.cli.report import report_on

    data = job.data if job.evaluate is None else job.evaluate
    trained = job.evaluate is None or job.evaluate.absolute() == job.data.absolute()
    made = report_on(fitted.model, job.target, data, options, trained=trained)
    made.save(target, overwrite=overwrite)
    voice.tell(f"the report is in {target}")
    voice.result(report=str(target))


def _rows(voice: Voice, job: Job) -> Prepared:
    """Rows in memory, or on disk if they would not fit."""
    from pegasos.cli.memory import budget_of
    from pegasos.cli.reading import read_prepared

    budget = budget_of(voice, job)
    if budget is None:
        return read_prepared(voice, job.data, job.read, job.prepare, job.fit.threads)
    if job.fit.multi_class != "ovr":
        raise CommandError(f"--multi-class {job.fit.multi_class} needs the rows in memory")
    if job.cv is not None:
        raise CommandError("--cv needs the rows in memory: leave out --memory")
    from pegasos.cli.large import read_large

    return read_large(
        voice, job.data, job.read, job.prepare, job.fit.threads, budget, job.cache_dir
    )
