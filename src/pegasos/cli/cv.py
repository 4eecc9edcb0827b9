"""``pegasos cv``."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pegasos.cli.arguments import (
    FitArguments,
    Overwrite,
    PrepareArguments,
    ReadArguments,
    SayArguments,
    takes,
)
from pegasos.cli.exits import ABOVE_TOL, CERTIFIED, INTERRUPTED, CommandError, UsageError, ends

if TYPE_CHECKING:
    from pegasos.data.dataset import Data
    from pegasos.tasks.path import Path as CPath
    from pegasos.tasks.training import Task, Training


@ends
@takes
def cv(
    data: Annotated[Path, typer.Argument(help="Rows and labels.")],
    Cs: Annotated[
        str,
        typer.Option(
            "-c", "--Cs", help="Values of C with commas, or FROM:TO:COUNT, evenly in logarithms."
        ),
    ] = "1e-4:1e4:10",
    folds: Annotated[int, typer.Option("-k", "--folds", help="Folds, stratified.", min=2)] = 5,
    rule: Annotated[
        str, typer.Option("--rule", help="best, or one_se: the smallest C as good as the best.")
    ] = "best",
    train_best: Annotated[
        Path | None,
        typer.Option("--train-best", help="Train all rows at the chosen C.", metavar="MODEL"),
    ] = None,
    overwrite: Overwrite = False,
    *,
    read: ReadArguments,
    prepare: PrepareArguments,
    fit: FitArguments,
    say: SayArguments,
) -> None:
    """Choose C by cross-validation; every fit of it is certified.

    Prints a line for each C: mean accuracy, its standard error, and the largest gap of its folds.

    Examples:

      pegasos cv a9a --folds 5

      pegasos cv a9a --Cs 0.01:100:9 --train-best a9a.model
    """
    from pegasos.cli.fitting import task_of, training_of
    from pegasos.cli.reading import read_prepared
    from pegasos.cli.saving import check_target, code_of, fit_and_save
    from pegasos.cli.say import Voice

    voice = Voice(say)
    if rule not in ("best", "one_se"):
        raise UsageError(f"--rule must be best or one_se, got {rule}")
    grid = values_of(Cs)
    if train_best is not None:
        check_target(train_best, overwrite)
    training_of(fit, None, None, 0.0)  # wrong options are told before the file is read
    rows = read_prepared(voice, data, read, prepare, fit.threads)
    if rows.steps:
        voice.tell("  note: steps were learned from all rows, those held out included")
    task = task_of(rows.data, fit)
    training = training_of(fit, None, None, time.perf_counter())
    walk = walked(training, task, grid, folds, fit.seed)
    table, best = told(walk, rule)
    voice.table("path", table)
    interrupted = walk.ended == "interrupted"
    code = INTERRUPTED if interrupted else CERTIFIED if walk.ended is None else ABOVE_TOL
    if best is not None:
        C = float(walk.C[best])
        voice.result(chosen_C=C, accuracy=float(walk.mean[best]))
        if interrupted:
            voice.tell("interrupted: this is the best of the C so far; no model was trained")
        elif train_best is not None:
            path = walk.kept(best, "accuracy")
            fitted, _ = fit_and_save(
                voice, fit, rows, train_best, overwrite, C=C, lam=None, path=path
            )
            code = code_of(fitted) or code
    voice.finish()
    raise typer.Exit(code)


def values_of(text: str) -> Any:
    """Values of C, increasing."""
    import numpy as np

    try:
        if ":" in text:
            low, high, count = text.split(":")
            Cs = np.geomspace(float(low), float(high), int(count))
        else:
            Cs = np.array([float(part) for part in text.split(",")])
    except ValueError:
        Cs = np.zeros(0)
    if not Cs.size or not (np.isfinite(Cs) & (Cs > 0)).all():
        raise UsageError(f"--Cs {text}: positive numbers with commas, or FROM:TO:COUNT")
    return np.unique(Cs)


def stratified(codes: Any, folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Folds that have their share of every class, at random; scikit-learn's is slow to import."""
    import numpy as np

    rng = np.random.default_rng(seed)
    fold = np.empty(codes.size, dtype=np.intp)
    begin = 0  # where the next class goes on, so that folds are of one size
    for code in range(int(codes.max()) + 1):
        rows = np.flatnonzero(codes == code)
        fold[rng.permutation(rows)] = (begin + np.arange(rows.size)) % folds
        begin += rows.size
    everything = np.arange(codes.size)
    return [(everything[fold != k], everything[fold == k]) for k in range(folds)]


def walked(training: Training, task: Task, Cs: Any, folds: int, seed: int) -> CPath:
    """Train and score all folds at all C."""
    import numpy as np

    from pegasos.model.linear import LinearModel
    from pegasos.tasks.cross_validation import cross_validate
    from pegasos.tasks.path import Walk

    if int(np.bincount(task.codes).min()) < 2 or task.codes.size < folds:
        raise CommandError(f"{folds} folds need more rows: a class has one row, or all are too few")
    parts = stratified(task.codes, folds, seed)
    held_out: dict[int, Any] = {}

    def score(fold: int, coef: Any, intercept: Any) -> float:
        test = parts[fold][1]
        if fold not in held_out:
            held_out[fold] = task.X[test]
        model = LinearModel(coef, intercept, task.classes, "ovo" if task.pairs else "ovr")
        chosen = model.chosen_codes(model.scores(held_out[fold]))
        right = chosen == task.codes[test]
        weight = None if task.sample_weight is None else task.sample_weight[test, 0]
        return float(np.average(right, weights=weight))

    return cross_validate(Walk(training, task, Cs, parts, score))


def told(walk: CPath, rule: str) -> tuple[list[dict[str, Any]], int | None]:
    """The path as a table, and the place of the chosen C."""
    import numpy as np

    gaps = walk.certificate.relative_gap.max(axis=(1, 2))
    table = [
        {
            "C": float(walk.C[k]),
            "accuracy": float(walk.mean[k]),
            "standard_error": float(walk.error[k]),
            "largest_gap": float(gaps[k]),
        }
        for k in range(len(walk))
        if np.isfinite(walk.mean[k])
    ]
    return table, walk.best(rule) if table else None


def cross_validated(training: Training, data: Data, fit: FitArguments, folds: int) -> float:
    """The accuracy at the C, or lam, of a training."""
    import numpy as np

    from pegasos.cli.fitting import task_of

    task = task_of(data, fit)
    C = training.C
    if training.lam is not None:
        C = 1 / (training.lam * task.total_weight * (1 - 1 / folds))
    options = replace(training.options, callbacks=(), began=time.perf_counter())
    training = replace(training, C=1.0, lam=None, announce=None, options=options)
    walk = walked(training, task, np.array([C]), folds, fit.seed)
    return float(walk.mean[0])
