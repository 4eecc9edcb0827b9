"""``pegasos train``."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pegasos.cli.arguments import FitArguments
from pegasos.cli.commands import KEPT_GROUPS, KEPT_PATHS, KEPT_VALUES, Train
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.fitting import Fitted, training_of
from pegasos.cli.memory import rows_of_job
from pegasos.cli.reading import Prepared
from pegasos.cli.saving import check_target, digest_of, fit_and_save
from pegasos.cli.say import Voice
from pegasos.run.checkpoint import manifest
from pegasos.util.atomic import atomic_write

_MODEL = "model"  # in a checkpoint: the digest of the model it left behind


def train(voice: Voice, job: Train) -> int:
    """Train a model; a job that only resumes another takes its options from the checkpoint."""
    job.save.saving().check()
    if job.data is None and (job.save.resume is None or job.dask is not None):
        raise UsageError("DATA is missing: the rows and labels to train on")
    if job.dask is not None and job.model is None:
        raise UsageError("MODEL is missing: --dask needs to be told where the model goes")
    if job.data is not None and job.model is None:
        if job.data.exists() and not (job.data.is_file() or job.data.is_dir()):
            raise CommandError(f"{job.data} is no file to name the model after: give MODEL")
        job = replace(job, model=job.data.with_name(job.data.name + ".model"))
    if job.dask is not None:
        if job.report is not None:
            raise UsageError("--report does not go with --dask: use pegasos report afterwards")
        from pegasos.cli.dask import train_on_dask

        return train_on_dask(voice, job)
    if job.data is None:
        job = _resumed(job)
        voice.tell(f"{job.data} to {job.model}, as {job.save.resume} says")
    data, target = job.data, job.model
    assert data is not None
    assert target is not None
    if job.cv is not None and job.read.multilabel:
        raise CommandError("--cv takes classes, not rows with several labels")
    check_target(target, job.overwrite)
    if job.report is not None:
        if job.report.absolute() == target.absolute():
            raise UsageError(f"--report {job.report} is where the model goes: give it another name")
        check_target(job.report, job.overwrite, "a report")
    training_of(job)  # wrong options are told before the file is read
    rows = rows_of_job(voice, job, data)
    fitted, asked = fit_and_save(voice, job, rows, target, path={})
    place = job.save.checkpoint or job.save.resume
    if place is not None:
        # The run may replace its model when it goes on. Where the disk is full, it will ask.
        with suppress(OSError), atomic_write(place / _MODEL) as file:
            file.write(digest_of(target).encode())
        if fitted.code:
            voice.tell(f"to go on: pegasos train --resume {place}")
    if not asked:
        _measure(voice, job, fitted, rows, data, target)
    return fitted.code


def _measure(
    voice: Voice, job: Train, fitted: Fitted, rows: Prepared, data: Path, target: Path
) -> None:
    """How well the model predicts, as far as that was asked for."""
    if job.cv is not None:
        from pegasos.cli.cv import cross_validated

        voice.result(cv_accuracy=cross_validated(job, rows.data, job.cv))
    if job.evaluate is not None:
        from pegasos.cli.predict import accuracy_on

        voice.result(eval_accuracy=accuracy_on(fitted.model, job.evaluate, rows.options))
    if job.report is not None:
        from pegasos.cli.report import report_on, save_report

        trained = job.evaluate is None or job.evaluate.absolute() == data.absolute()
        made = report_on(fitted.model, target, job.evaluate or data, rows.options, trained=trained)
        save_report(voice, made, job.report, job.overwrite)


def _resumed(given: Train) -> Train:
    """The job that a checkpoint was made by, where no data are ``given``.

    New limits may be given with it; anything else would contradict it or be ignored. Its model may
    be replaced if it is what the run itself left there when it was ended.
    """
    assert given.save.resume is not None
    kept = manifest.read(given.save.resume).get("command")
    if kept is None:
        raise CommandError(
            f"{given.save.resume} was not made by this command: give DATA and all options"
        )
    asked = {name: getattr(given.fit, name) for name in ("max_iter", "max_time")}
    limits = {name: value for name, value in asked.items() if value is not None}
    if given.plain() != Train(fit=FitArguments(**limits)).plain():
        raise UsageError(
            "--resume takes the options of the run it resumes, but for --max-iter and --max-time: "
            "leave others out, or give DATA and all of them"
        )
    values: dict[str, Any] = {name: kept[name] for name in KEPT_VALUES}
    for name, key in KEPT_PATHS.items():
        values[name] = None if kept[key] is None else Path(kept[key])
    for name, kind in KEPT_GROUPS.items():
        values[name] = kind(**kept[name])
    job = replace(given, **values)
    note, target = given.save.resume / _MODEL, values["model"]
    left = target.is_file() and note.is_file() and note.read_text() == digest_of(target)
    return replace(job, fit=replace(job.fit, **limits), overwrite=job.overwrite or left)
