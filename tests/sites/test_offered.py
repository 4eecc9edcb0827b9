"""What the table of docs/offered.md says yes to is fitted, and the rest refused in its words."""

import warnings
from dataclasses import asdict, fields
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from docs.tools.fits import (
    AXES,
    KERNEL_AXES,
    STREAMED,
    Fit,
    KernelFit,
    kernel_options,
    kernel_refusal,
    refusal,
)
from sklearn.exceptions import ConvergenceWarning
from tests.common.pieces import Uneven
from tests.sites.places import PLACES

import pegasos
from pegasos.solvers import by_name
from pegasos.tasks.offered import PLAIN, TASKS

ROWS, FEATURES = 60, 4
SEVERAL = {"one against the rest", "pairs of classes", "Crammer & Singer", "path over C"}


@cache
def data(task):
    """Rows, and their classes or labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    scores = X[:, :3] + 0.5 * rng.normal(size=(ROWS, 3))
    if task == "indicator matrix":
        return X, (scores > 0).astype(np.int64)
    classes = scores.argmax(axis=1)
    return X, classes if task in SEVERAL else np.minimum(classes, 1)


def put(site, X, y):
    """Rows and labels as a user of the site has them, and the module of its estimators."""
    if site == "cluster":
        return *PLACES["cluster"].put(X, y, None)[:2], pegasos.dask
    if site in ("disk", STREAMED):
        chunks = Uneven(X, y, None, ends=(0, 7, 42, ROWS))
        return chunks, (y if y.ndim == 2 else None), pegasos
    return X, y, pegasos


def options_of(fit):
    """What an estimator is given."""
    options = {"solver": fit.solver, "loss": fit.loss, "intercept": fit.intercept}
    if fit.site == "cluster":
        options["client"] = PLACES["cluster"].client()
    elif fit.site != "memory" and fit.site != "disk":
        options["device"] = "cpu"
    option = TASKS[fit.task]
    if option.name in PLAIN and option.value != PLAIN[option.name]:
        options[option.name] = option.value
    return options


def train(fit, **options):
    """The estimator, fitted as its user would."""
    import pegasos.dask  # noqa: F401 - an attribute from here on

    X, y = data(fit.task)
    rows, labels, module = put(fit.site, X, y)
    options = options_of(fit) | options
    if fit.task == "path over C":
        return module.LinearSVCCV(Cs=[0.05, 0.1], cv=2, **options).fit(rows, labels)
    model = module.LinearSVC(**options)
    if fit.task == "partial_fit":
        return model.partial_fit(rows, labels)
    if fit.task == "validation set":
        return model.fit(rows, labels, eval_set=(X, y))
    return model.fit(rows, labels)


def pairwise(every):
    """Few fits, in which any two values that go together do so at least once."""
    pairs = {fit: set(combinations(asdict(fit).items(), 2)) for fit in every}
    missing = set().union(*pairs.values())
    chosen = []
    while missing:
        best = max(every, key=lambda fit: len(pairs[fit] & missing))
        chosen.append(best)
        missing -= pairs[best]
    return chosen


def over(kind, axes, reason_of, *, offered):
    """Run a test over all fits that are offered, or are not: pairwise unless slow tests run."""
    every = [kind(*values) for values in product(*(axes[field.name] for field in fields(kind)))]
    some = [fit for fit in every if (reason_of(fit) is None) == offered]
    few = set(pairwise(some))
    marked = [
        pytest.param(
            fit, marks=() if fit in few else pytest.mark.slow, id="-".join(asdict(fit).values())
        )
        for fit in some
    ]
    return pytest.mark.parametrize("fit", marked)


@cache
def reason(fit):
    """Why not; nothing where an extra is missing, whose fits are skipped."""
    return None if missing(fit) else refusal(fit)


def missing(fit):
    """Why the site cannot be tried here."""
    place = PLACES["device" if fit.site == STREAMED else fit.site]
    return place.missing()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Checkpoints are there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def there(fit, places):
    if isinstance(fit, Fit) and missing(fit):
        pytest.skip(missing(fit))


def tolerance(solver):
    config = by_name(solver)
    return 1e-3 if config is None or config.exact else 0.3


@over(Fit, AXES, reason, offered=True)
def test_what_is_offered_is_fitted(fit):
    options = {"tol": tolerance(fit.solver), "random_state": 0, "n_jobs": 1}
    if fit.task == "resume":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            begun = train(fit, **options, max_iter=1, resume=None, checkpoint="run")
        assert begun.n_iter_ <= 2
    model = train(fit, **options)
    if fit.task == "warm start":
        X, y = data(fit.task)
        rows, labels, _ = put(fit.site, X, y)
        model.fit(rows, labels)
    X, y = data(fit.task)
    assert np.mean(np.asarray(model.predict(X)) == y) > 0.6
    if fit.task == "partial_fit":
        return
    proof = model.certificate_
    assert np.all(proof.gap >= -np.asarray(proof.rounding))
    if fit.task != "validation set":  # whose model is that with the best score
        assert np.all(proof.relative_gap <= options["tol"])
    if fit.task == "probabilities":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    if fit.task in ("checkpoint", "resume"):
        again = train(fit, **options, resume="run")
        np.testing.assert_array_equal(again.coef_, model.coef_)


@over(Fit, AXES, reason, offered=False)
def test_what_is_not_offered_is_refused_before_work_starts(fit):
    worked = []
    with pytest.raises((AttributeError, TypeError, ValueError)) as refused:
        train(fit, callbacks=[worked.append])
    assert reason(fit) in str(refused.value)
    assert not worked


@over(KernelFit, KERNEL_AXES, kernel_refusal, offered=True)
def test_what_is_offered_of_kernels_is_fitted(fit):
    X, y = data("one against the rest" if fit.task in SEVERAL else fit.task)
    approximate = {} if fit.kernel == "exact" else {"n_components": 20}
    tol = 0.3 if fit.solver == "pegasos" else 1e-3
    given = kernel_options(fit) | approximate | {"tol": tol, "random_state": 0, "n_jobs": 1}
    if fit.task == "resume":
        given["checkpoint"] = "run"  # where nothing is there yet, the run begins
    model = pegasos.SVC(**given).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.6
    assert np.all(model.certificate_.relative_gap <= tol)
    if fit.task == "probabilities":
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@over(KernelFit, KERNEL_AXES, kernel_refusal, offered=False)
def test_what_is_not_offered_of_kernels_is_refused(fit):
    worked = []
    with pytest.raises((TypeError, ValueError)) as refused:
        pegasos.SVC(**kernel_options(fit), callbacks=[worked.append]).fit(*data("two classes"))
    assert kernel_refusal(fit) == str(refused.value)
    assert not worked
