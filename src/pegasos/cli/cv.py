"""``pegasos cv``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pegasos.cli.commands import Cv, Train
from pegasos.cli.exits import ABOVE_TOL, CERTIFIED, INTERRUPTED, CommandError, UsageError
from pegasos.cli.fitting import task_of, training_of
from pegasos.cli.reading import read_prepared
from pegasos.cli.saving import check_target, fit_and_save
from pegasos.cli.say import Voice
from pegasos.data.dataset import Data
from pegasos.model.linear import LinearModel
from pegasos.tasks.cross_validation import cross_validate
from pegasos.tasks.path import Path as CPath
from pegasos.tasks.path import Walk
from pegasos.tasks.training import Task, Training


def cv(voice: Voice, given: Cv) -> int:
    """Choose C."""
    if given.rule not in ("best", "one_se"):
        raise UsageError(f"--rule must be best or one_se, got {given.rule}")
    grid = values_of(given.Cs)
    if given.train_best is not None:
        check_target(given.train_best, given.overwrite)
    job = Train(
        data=given.data, overwrite=given.overwrite, read=given.read, prepare=given.prepare,
        fit=given.fit,
    )  # fmt: skip
    training_of(job)  # wrong options are told before the file is read
    rows = read_prepared(voice, given.data, job)
    if rows.steps:
        voice.tell("  note: steps were learned from all rows, those held out included")
    task = task_of(rows.data, given.fit)
    walk = walked(training_of(job), task, grid, given.folds, given.fit.seed)
    table, best = told(walk, given.rule)
    voice.table("path", table)
    interrupted = walk.ended == "interrupted"
    code = INTERRUPTED if interrupted else CERTIFIED if walk.ended is None else ABOVE_TOL
    if best is None:
        return code
    C = float(walk.C[best])
    voice.result(chosen_C=C, accuracy=float(walk.mean[best]))
    if interrupted:
        voice.tell("interrupted: this is the best of the C so far; no model was trained")
    elif given.train_best is not None:
        path = walk.kept(best, "accuracy")
        fitted, _ = fit_and_save(voice, replace(job, C=C), rows, given.train_best, path)
        return fitted.code or code
    return code


def values_of(text: str) -> Any:
    """Values of C, increasing."""
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


def cross_validated(job: Train, data: Data, folds: int) -> float:
    """The accuracy at the C, or lam, of a training."""
    training, task = training_of(job), task_of(data, job.fit)
    C = training.C
    if training.lam is not None:
        C = 1 / (training.lam * task.total_weight * (1 - 1 / folds))
    training = replace(training, C=1.0, lam=None)
    return float(walked(training, task, np.array([C]), folds, job.fit.seed).mean[0])
