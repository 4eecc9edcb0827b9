"""Calibrators from models of folds: each is fitted on scores of rows its models were not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from pegasos.estimators.classifier import warn_of_no_probabilities
from pegasos.sites.placed import Dealt, Fold, Folds, HeldOut
from pegasos.tasks.cross_validation import cross_validate
from pegasos.tasks.path import Walk
from pegasos.tasks.probability import Calibrator, fit_calibrator
from pegasos.tasks.training import AnyTask, Training
from pegasos.util.classes import Codes

_FOLDS = 5


def calibrate(
    training: Training, task: AnyTask, method: str, C: float, folds: Folds | None = None
) -> list[Calibrator] | None:
    """A calibrator per lane, from models of folds at C; None if that was stopped."""
    if folds is None:
        codes = task.codes
        folds = Dealt(_FOLDS, training.options.seed) if codes is None else stratified(codes)
    own = training.options.of(f"calibration-{C:.17g}")
    training = replace(training, options=replace(own, callbacks=(), eager=False))
    path = cross_validate(Walk(training, task, np.array([C]), folds, keep_models=True))
    if np.isnan(path.certificate.primal).any():
        warn_of_no_probabilities()
        return None
    assert path.coef is not None
    assert path.intercept is not None
    held_out = task.held_out(folds, path.coef[0], path.intercept[0])
    return from_scores(held_out, method, task.pairs, task.binary)


def from_scores(
    held_out: HeldOut, method: str, pairs: Sequence[tuple[int, int]], binary: bool
) -> list[Calibrator]:
    """A calibrator per lane, from the scores of rows held out and their classes."""
    scores, codes, weight = held_out
    calibrators = []
    for lane, column in enumerate(scores.T):
        chosen = np.ones(codes.size, dtype=bool)
        if pairs:
            i, j = pairs[lane]
            chosen, positive = (codes == i) | (codes == j), codes == j
        else:
            positive = codes == (1 if binary else lane)
        some = None if weight is None else weight[chosen]
        calibrators.append(fit_calibrator(method, column[chosen], positive[chosen], some))
    return calibrators


def stratified(codes: Codes) -> list[Fold]:
    """Five folds, or as many as the rarest class has rows."""
    fewest = int(np.bincount(codes).min())
    if fewest < 2:
        raise ValueError(
            "probability=True needs two examples of every class at least, to hold some out; a "
            "class has one"
        )
    splitter = StratifiedKFold(min(_FOLDS, fewest))
    return list(splitter.split(np.zeros(codes.size), codes))
