"""``pegasos train --dask``: the rows of many files, on the workers of a cluster."""

from __future__ import annotations

import glob
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pegasos.cli.arguments import SaveArguments
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.fitting import Fitted, class_weights_of, fitted_of, parameters_of, training_of
from pegasos.cli.job import Job
from pegasos.cli.reading import classes_of, columns_of, options_of
from pegasos.cli.saving import check_target, progress_of, report, save_model
from pegasos.cli.say import Voice
from pegasos.data import blocks as read_blocks
from pegasos.data import read as read_data
from pegasos.data.cache_manifest import NAME
from pegasos.data.dataset import Options
from pegasos.model.linear import Scheme
from pegasos.run.checkpoint.saving import Saving
from pegasos.run.interrupt import Interruption
from pegasos.tasks.checkpoints import saved_training
from pegasos.tasks.training import PlacedTask, train

_CONNECT_SECONDS = 10
_SHOWN = 3


def train_on_dask(
    voice: Voice, job: Job, address: str, timeout: float, overwrite: bool, save: SaveArguments
) -> Fitted:
    """Train, save, tell."""
    _check(job)
    if not timeout > 0:
        raise UsageError(f"--dask-timeout must be positive, got {timeout:g}")
    files = _files(str(job.data))
    check_target(job.target, overwrite)
    training_of(job.fit, job.C, job.lam, 0.0)  # wrong options are told before anything is read
    shown = ", ".join(str(path) for path in files[:_SHOWN]) + (", ..." if files[_SHOWN:] else "")
    voice.tell(f"{len(files)} files on the workers of {address}: {shown}")
    options = options_of(job.read, labels=True)
    with Interruption() as asked:
        fitted = _fit(voice, job, address, timeout, files, options, save.saving())
        save_model(fitted, job.target, overwrite)
    try:
        report(voice, fitted, job.fit.tol, job.target, 0.0)
        if job.evaluate is not None and not asked.requested:
            from pegasos.cli.predict import accuracy_on

            voice.result(eval_accuracy=accuracy_on(fitted.model, job.evaluate, options))
        voice.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the model is in {job.target}") from None
    return fitted


def _check(job: Job) -> None:
    """Options that a cluster has no use for."""
    refused = {
        "--memory": job.memory, "--cache-dir": job.cache_dir, "--cv": job.cv,
        "--text": job.prepare.text,
        "--scale": None if job.prepare.scale == "none" else job.prepare.scale,
        "--multilabel": job.read.multilabel or None,
        "--multi-class crammer_singer": job.fit.multi_class == "crammer_singer" or None,
    }  # fmt: skip
    for name, value in refused.items():
        if value is not None:
            raise UsageError(f"{name} does not go with --dask: leave it out")


def _files(pattern: str) -> list[Path]:
    """The files of a folder or a pattern, in order."""
    path = Path(pattern)
    if path.is_dir() and not (path / NAME).exists():  # a cache is one file
        found = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    elif path.exists():
        found = [path]
    else:
        found = sorted(Path(name) for name in glob.glob(pattern))
    if not found:
        raise CommandError(f"{pattern}: there is no such file, and no file like it")
    return [p.absolute() for p in found]


def names_in(path: str, options: Options) -> tuple[str, ...] | None:
    """The names of a file's features, on a worker."""
    return next(iter(read_blocks(path, options))).feature_names


def load(path: str, options: Options, names: tuple[str, ...] | None) -> tuple[Any, Any, Any]:
    """One file, on a worker; its columns have to be those of the first."""
    data = read_data(path, options)
    if data.y is None:
        raise ValueError(f"{path} has no labels to train on")
    if data.feature_names != names:
        raise ValueError(f"{path}: its columns are not those of the first file, in their order")
    return data.X, data.y, data.sample_weight


def _fit(
    voice: Voice, job: Job, address: str, timeout: float, files: list[Path], options: Options,
    saving: Saving,
) -> Fitted:  # fmt: skip
    try:
        from dask import delayed
        from distributed import Client

        from pegasos.sites.cluster.cluster import on_cluster
        from pegasos.sites.cluster.placed import of_classes
        from pegasos.sites.cluster.source import source_of
        from pegasos.sites.errors import ClusterError
    except ImportError:
        raise CommandError("--dask needs Dask: pip install 'pegasos[dask]'") from None
    try:
        with ExitStack() as stack:
            try:
                client = stack.enter_context(Client(address, timeout=_CONNECT_SECONDS))
            except (OSError, TimeoutError, ValueError) as error:
                raise CommandError(f"no scheduler answers at {address}: {error}") from None
            first = client.submit(names_in, str(files[0]), options, pure=False)
            try:
                names = first.result(timeout=timeout)
            except TimeoutError:
                raise CommandError(f"no worker of {address} answered in {timeout:g} s") from None
            loads = [delayed(load, pure=True)(str(path), options, names) for path in files]
            source = source_of(loads)
            callbacks = progress_of(stack, voice, job.fit.tol)
            training = training_of(job.fit, job.C, job.lam, time.perf_counter(), callbacks)
            opened = on_cluster(client, source, training.n_jobs, timeout)
            cluster = stack.enter_context(opened)
            rows = of_classes(cluster)
            classes, _ = classes_of(rows.classes)
            class_weight = class_weights_of(job.fit.class_weight, classes)
            task = PlacedTask(rows, class_weight, job.fit.multi_class)
            run_options = replace(training.options, interruption=cluster.interruption)
            training = saved_training(
                stack, saving, replace(training, options=run_options), rows, None, None,
                {name: getattr(job.fit, name) for name in ("multi_class", "class_weight")},
            )  # fmt: skip
            outcome = train(training, task)
    except ClusterError as error:
        raise CommandError(str(error)) from None
    if task.error is not None:
        voice.tell(f"the cluster failed: {task.error}")
    scheme: Scheme = "ovo" if task.pairs else "ovr"
    parameters = parameters_of(training, job.fit, class_weight)
    fitted = fitted_of(training.options.tol, outcome, outcome.W[:-1].T, classes, scheme, parameters)
    about = {
        "rows": rows.n, "features": rows.features, "files": len(files),
        **columns_of(job.read, job.prepare),
    }  # fmt: skip
    voice.detail(rows=rows.n, features=rows.features, files=len(files))
    voice.tell(f"{rows.n:,} rows, {rows.features:,} features, {classes.size} classes")
    return replace(fitted, model=replace(fitted.model, data=about, feature_names=names))
