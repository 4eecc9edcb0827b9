"""From rows to a model on disk: what ``train`` and ``cv --train-best`` share."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pegasos.cli.commands import Train
from pegasos.cli.exits import CommandError
from pegasos.cli.fitting import Fitted, fit, training_of
from pegasos.cli.memory import memory_needed
from pegasos.cli.reading import Prepared
from pegasos.cli.say import Voice, in_words, seconds, worst
from pegasos.model import file as model_file
from pegasos.problem import Problem
from pegasos.run.interrupt import Interruption
from pegasos.run.progress import PlainProgress, ProgressLine, on_terminal
from pegasos.solvers import Choice, InteriorPoint, Newton


def refuse_existing(target: Path, overwrite: bool) -> None:
    """Raise CommandError if the target is there and may not be replaced."""
    if target.exists() and not overwrite:
        raise CommandError(f"{target} is there already: --overwrite replaces it")


def check_target(target: Path, overwrite: bool, what: str = "a model") -> None:
    """Tell before anything else is done that it cannot be written there."""
    refuse_existing(target, overwrite)
    if not target.parent.is_dir():
        raise CommandError(f"{target.parent}: there is no such folder")
    if target.exists() and not target.is_file():
        raise CommandError(f"{target} is a folder or a device: {what} needs a file of its own")
    if not os.access(target.parent, os.W_OK):
        raise CommandError(f"{target.parent}: nothing can be written in this folder")


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, as sha256sum gives it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fit_and_save(
    voice: Voice, job: Train, rows: Prepared, target: Path, path: Mapping[str, Any]
) -> tuple[Fitted, bool]:
    """Train, save and tell; whether a signal came. One after the fit does not lose the model.

    ``path`` is the way C was chosen.
    """
    with Interruption() as asked:
        with ExitStack() as stack:
            training = training_of(job, progress_of(stack, voice, job.fit.tol))
            training = replace(training, announce=_announcer(voice, rows.data.X))
            data = rows.data
            more = {"multi_class": job.fit.multi_class, "class_weight": job.fit.class_weight}
            training = training.saved(
                stack, job.save.saving(), (data.X, data.y, data.sample_weight), more,
                command=job.plain(),
            )  # fmt: skip
            fitted = fit(training, job.fit, rows).having(path=path)
        save_model(voice, fitted, target, job.overwrite)
    report(voice, fitted, job.fit.tol, target, rows.seconds)
    return fitted, asked.requested


def progress_of(stack: ExitStack, voice: Voice, tol: float) -> list[Any]:
    """What shows how far the fit is: a line on a terminal, else some lines in all."""
    if voice.quiet:
        return []
    if on_terminal():
        return [stack.enter_context(ProgressLine(tol, "training"))]
    return [PlainProgress(tol)]


def _announcer(voice: Voice, X: Any) -> Any:
    """Tells, once, which solver was chosen and why, and what memory it will take."""
    told: list[bool] = []

    def announce(problem: Problem, choice: Choice) -> None:
        if told:
            return
        told.append(True)
        second_order = isinstance(choice.solver, InteriorPoint | Newton)
        memory = memory_needed(X, problem.lanes, second_order)
        voice.detail(memory=memory)
        voice.tell(f"solver: {choice.solver.name} ({choice.reason}); at most {memory} of memory")

    return announce


def save_model(voice: Voice, fitted: Fitted, target: Path, overwrite: bool) -> None:
    """Write the model; a signal while it is written does not lose it."""
    main = threading.current_thread() is threading.main_thread()
    asking = (signal.SIGINT, signal.SIGTERM) if main else ()
    before = {number: signal.signal(number, signal.SIG_IGN) for number in asking}
    try:
        model_file.write(fitted.model, target, overwrite=overwrite)
        voice.kept = f"the model is in {target}"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report(voice: Voice, fitted: Fitted, tol: float, target: Path, read: float) -> None:
    """The end: what is proven, where the time went, where the model is."""
    outcome, proof = fitted.outcome, fitted.outcome.certificate
    train, certify = outcome.seconds - outcome.certifying, outcome.certifying
    times = {"read": read, "train": train, "certify": certify}
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
        voice.kept,
    )
    voice.detail(
        certificate=asdict(proof),
        stop_reason=stop,
        solver=outcome.solver.name,
        solver_reason=outcome.reason,
        epochs=outcome.epochs,
        seconds=times,
        parameters=dict(fitted.model.parameters),
    )
    voice.result(model=str(target), relative_gap=gap, proven=stop == "converged")
