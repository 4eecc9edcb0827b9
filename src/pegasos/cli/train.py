"""``pegasos train``."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from pegasos.cli.exits import ABOVE_TOL, CERTIFIED, INTERRUPTED, CommandError, ends

if TYPE_CHECKING:
    from pegasos.cli.fitting import Fitted
    from pegasos.cli.say import Voice
    from pegasos.data.dataset import Data
    from pegasos.problem import Problem
    from pegasos.solvers import Choice


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
    """
    from pegasos.cli.fitting import fit as fit_model
    from pegasos.cli.fitting import training_of
    from pegasos.cli.reading import check_steps, column, columns_of, describe, options_of, prepared
    from pegasos.cli.say import Voice
    from pegasos.data import read as read_data
    from pegasos.interrupt import Interruption

    began = time.perf_counter()
    voice = Voice(say)
    if model is None and data.exists() and not (data.is_file() or data.is_dir()):
        raise CommandError(f"{data} is no file to name the model after: give MODEL")
    if cv is not None and read.multilabel:
        raise CommandError("--cv takes classes, not rows with several labels")
    target = model or data.with_name(data.name + ".model")
    refuse_existing(target, overwrite)
    training_of(fit, C, lam, began)  # wrong options are told before the file is read
    check_steps(prepare)
    options = options_of(read, text=column(prepare.text), labels=True, n_jobs=fit.threads)
    rows = read_data(data, options, light=True)
    rows, steps = prepared(rows, prepare)
    seconds_read = time.perf_counter() - began
    describe(voice, data, rows)
    with Interruption() as asked:  # a signal after the fit does not lose what it found
        with ExitStack() as stack:
            callbacks = progress(stack, voice, fit.tol)
            training = training_of(fit, C, lam, time.perf_counter(), callbacks)
            training = replace(training, announce=announcer(voice, rows))
            fitted = fit_model(training, rows, fit, steps, columns_of(read, prepare))
        save(fitted, target, overwrite)
    times = {
        "read": seconds_read,
        "train": fitted.outcome.seconds - fitted.outcome.certifying,
        "certify": fitted.outcome.certifying,
    }
    try:
        report(voice, fitted, training.tol, target, times)
        if cv is not None and not asked.requested:
            from pegasos.cli.cv import cross_validated

            voice.result(cv_accuracy=cross_validated(training, rows, fit, cv))
        if evaluate is not None and not asked.requested:
            from pegasos.cli.predict import accuracy_on

            voice.result(eval_accuracy=accuracy_on(fitted.model, evaluate, options))
        voice.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {target}") from None
    raise typer.Exit(code_of(fitted))


def code_of(fitted: Fitted) -> int:
    """The exit code of a model that was saved."""
    if fitted.model.training["stop_reason"] == "converged":
        return CERTIFIED
    return INTERRUPTED if fitted.outcome.stop_reason == "interrupted" else ABOVE_TOL


def refuse_existing(target: Path, overwrite: bool) -> None:
    """Tell before anything else is done that the target is there, or can't be written."""
    if target.exists() and not overwrite:
        raise CommandError(f"{target} is there already: --overwrite replaces it")
    if not target.parent.is_dir():
        raise CommandError(f"{target.parent}: there is no such folder")
    if target.exists() and not target.is_file():
        raise CommandError(f"{target} is a folder or a device: a model needs a file of its own")
    if not os.access(target.parent, os.W_OK):
        raise CommandError(f"{target.parent}: nothing can be written in this folder")


def progress(stack: ExitStack, voice: Voice, tol: float) -> list[Any]:
    """What shows how far the fit is: a line on a terminal, else some lines in all."""
    if voice.quiet:
        return []
    from pegasos.progress import PlainProgress, ProgressLine, on_terminal

    if on_terminal():
        return [stack.enter_context(ProgressLine(tol, "training"))]
    return [PlainProgress(tol)]


def announcer(voice: Voice, data: Data) -> Any:
    """Tells, once, which solver was chosen and why, and what memory it will take."""
    from pegasos.cli.reading import memory_needed
    from pegasos.solvers import InteriorPoint, Newton

    told: list[bool] = []

    def announce(problem: Problem, choice: Choice) -> None:
        if told:
            return
        told.append(True)
        second_order = isinstance(choice.solver, InteriorPoint | Newton)
        lanes = 1 if data.y is None else problem.lanes
        memory = memory_needed(data.X, lanes, second_order)
        voice.detail(memory=memory)
        voice.tell(f"solver: {choice.solver.name} ({choice.reason}); at most {memory} of memory")

    return announce


def save(fitted: Fitted, target: Path, overwrite: bool) -> None:
    """Write the model; a signal while it is written does not lose it."""
    import signal
    import threading

    from pegasos import model_file

    main = threading.current_thread() is threading.main_thread()
    asking = (signal.SIGINT, signal.SIGTERM) if main else ()
    before = {number: signal.signal(number, signal.SIG_IGN) for number in asking}
    try:
        model_file.write(fitted.model, target, overwrite=overwrite)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report(voice: Voice, fitted: Fitted, tol: float, target: Path, times: dict[str, float]) -> None:
    """The end: what is proven, where the time went, where the model is."""
    from pegasos.cli.say import in_words, seconds, worst

    outcome, proof = fitted.outcome, fitted.certificate
    gap = worst(proof)
    stop = fitted.model.training["stop_reason"]
    ended = ""
    if stop != "converged":
        short = "rounding could be as large as that" if gap <= tol else f"not the {tol:g} asked for"
        ended = f", {short} ({stop})"
    voice.tell(
        f"{in_words(gap)}{ended}",
        f"{outcome.epochs:.3g} passes; "
        + ", ".join(f"{name} {seconds(spent)}" for name, spent in times.items()),
        f"the model is in {target}",
    )
    voice.detail(
        certificate={"primal": proof.primal, "dual": proof.dual, "rounding": proof.rounding},
        stop_reason=stop,
        solver=outcome.solver.name,
        solver_reason=outcome.reason,
        epochs=outcome.epochs,
        seconds=times,
        parameters=dict(fitted.model.parameters),
    )
    voice.result(model=str(target), relative_gap=gap, proven=stop == "converged")
