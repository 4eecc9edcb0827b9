"""Certificates from sums on a device are those of the CPU."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import pegasos
from pegasos.certificate import certify
from pegasos.sites.device.certify import best_intercepts
from pegasos.sites.device.lanes import Duals
from pegasos.testing.toys import toy

MODES = ["none", "regularized", "free"]
LOSSES = ["hinge", "squared_hinge"]


def same(found, expected, rel=1e-12):
    np.testing.assert_allclose(found.primal, expected.primal, rtol=rel)
    np.testing.assert_allclose(found.dual, expected.dual, rtol=rel)


def losses(kinks, y, c, b, squared):
    """The sum of the losses of rows with these kinks at every b."""
    lost = np.maximum(0, y * (kinks - np.atleast_1d(b)[:, None]))
    return (c * (lost**2 if squared else lost)).sum(1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["interior", "newton"])
def test_a_run_has_the_certificate_that_anyone_can_check(solver, loss, mode, weighted):
    data = toy(150, 6, 3, seed=1, absent=0.2)
    weight = np.where(data.weight < 0.5, 0.0, data.weight) if weighted else None
    options = {"C": [0.1, 1.0, 10.0], "loss": loss, "intercept": mode, "sample_weight": weight}
    if mode == "regularized":
        options["intercept_scaling"] = 2.5
    for epochs in (1, 3, None):  # far from the optimum, and there
        found = pegasos.solve(
            data.X, data.Y, solver=solver, device="cpu", tol=1e-6, max_epochs=epochs, **options
        )
        again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, **options)
        same(found.certificate, again)
        # Both bounds on what rounding can have changed are small, and of the same kind.
        assert np.all(found.certificate.rounding > 0)
        assert np.all(found.certificate.rounding < 1e-9 * found.certificate.primal)
        # Compensated sums err less than those of a few thousand numbers, one after the other.
        assert np.all(found.certificate.rounding > 2 * again.rounding)
        error = np.abs(found.certificate.gap - again.gap)
        assert np.all(error <= found.certificate.rounding + again.rounding)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
def test_any_model_and_any_duals(problem_of, loss, mode):
    data = toy(5000, 4, 2, seed=2, absent=0.1)  # sums of more than one part
    rng = np.random.default_rng(0)
    sides = {"positive": 2.0, "negative": 0.3}
    options = {"C": 0.7, "loss": loss, "intercept": mode}
    problem = problem_of(data.X, data.Y, weight=data.weight, **options, **sides)
    W = np.zeros(problem.weights_shape)
    W[:-1, :2] = rng.normal(size=(4, 2))
    b = np.zeros(2)
    if mode == "regularized":
        W[-1, :2] = b = rng.normal(size=2)
    costs = np.where(data.Y > 0, 2.0, 0.3) * (data.Y != 0) * data.weight[:, None]
    duals = costs * rng.uniform(size=costs.shape)
    found, own_b = certify(problem, W, b, Duals(torch.from_numpy(duals.T.copy())))
    expected = pegasos.certify(
        data.X, data.Y, W[:-1, :2].T, b, duals, sample_weight=data.weight, **options, **sides
    )
    same(found, expected)
    if mode != "free":
        np.testing.assert_array_equal(own_b, b)
        return
    for k in range(2):  # the best b for this w
        inside = data.Y[:, k] != 0
        kinks, y = (data.Y[:, k] - data.X @ W[:-1, k])[inside], data.Y[inside, k]
        near = own_b[k] + np.array([-1e-4, 0.0, 1e-4])
        tried = losses(kinks, y, costs[inside, k], near, loss == "squared_hinge")
        assert tried[1] <= tried.min() * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rounded", [None, 4, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_intercept_is_that_of_all_kinks(problem_of, loss, rounded, seed):
    rng = np.random.default_rng(seed)
    n, K, squared = 200, 3, loss == "squared_hinge"
    Y = rng.choice([-1, 0, 1], size=(n, K), p=[0.6, 0.1, 0.3])
    Y[:2] = [[1] * K, [-1] * K]
    weight = rng.integers(1, 4, n).astype(float)
    problem = problem_of(rng.normal(size=(n, 2)), Y, weight=weight, loss=loss, positive=1.5)
    margins = rng.normal(size=(K, n)) * 2
    if rounded:
        margins = np.round(margins * rounded) / rounded  # many kinks in one place
    found = best_intercepts(problem, torch.from_numpy(margins))
    for k in range(K):
        inside = Y[:, k] != 0
        y = Y[inside, k]
        kinks = y - margins[k, inside]
        c = weight[inside] * np.where(y > 0, 1.5, 1.0)
        places = np.sort(kinks)
        if squared:  # between kinks the loss is a parabola
            places = _vertices(places, kinks, y, c)
        best = losses(kinks, y, c, places, squared).min()
        ours = losses(kinks, y, c, found[k], squared)[0]
        assert ours == pytest.approx(best, rel=1e-13)


def _vertices(places, kinks, y, c):
    """Where the parabolas between kinks have their lowest points, and the kinks themselves."""
    found = [places]
    for lo, hi in pairwise(places):
        lost = y * (kinks - (lo + hi) / 2) > 0
        if c[lost].sum() > 0:
            found.append(np.clip([(c * kinks)[lost].sum() / c[lost].sum()], lo, hi))
    return np.concatenate(found)


@pytest.mark.parametrize("loss", LOSSES)
def test_intercepts_of_few_rows_and_of_one_heavy_side(problem_of, loss):
    for rows in (2, 3):
        Y = np.array([[1], [-1], [1]])[:rows]
        for heavy in (1e-6, 1.0, 1e6):
            problem = problem_of(np.ones((rows, 1)), Y, loss=loss, positive=heavy)
            margins = np.array([[0.5, 0.5, 3.0]])[:, :rows]
            b = best_intercepts(problem, torch.from_numpy(margins))
            y, c = Y[:, 0], np.where(Y[:, 0] > 0, heavy, 1.0)
            grid = np.concatenate([np.linspace(-6, 6, 10_001), y - margins[0]])
            best = losses(y - margins[0], y, c, grid, loss == "squared_hinge").min()
            ours = losses(y - margins[0], y, c, b, loss == "squared_hinge")[0]
            assert ours <= best * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_rounding_bounds_what_more_digits_would_change(problem_of, loss):
    data = toy(6000, 5, seed=4)
    rng = np.random.default_rng(1)
    X = data.X * 10.0 ** rng.integers(-3, 4, 5)
    problem = problem_of(X, data.Y, loss=loss, intercept="none")
    W = rng.normal(size=problem.weights_shape)
    W[-1] = 0
    duals = torch.zeros((1, 6000), dtype=torch.float64)
    found, _ = certify(problem, W, np.zeros(1), Duals(duals))
    w, long = W[:-1, 0].astype(np.longdouble), np.longdouble
    lost = np.maximum(0, 1 - data.Y[:, 0] * (X.astype(long) @ w))
    primal = (w @ w / 2 + (lost**2 if loss == "squared_hinge" else lost).sum()) / 6000
    error = abs(float(primal - found.primal[0]))
    assert 0 < error <= found.rounding[0] < 1e-9 * found.primal[0]
    assert found.dual[0] == 0.0


def test_duals_of_tiny_rows_keep_their_squares(problem_of):
    """Their squares leave float64, though what is made of them does not."""
    data = toy(100, 4, seed=5)
    weight = 1e-200 * data.weight
    problem = problem_of(data.X, data.Y, C=1e200, weight=weight, loss="squared_hinge")
    W = np.random.default_rng(0).normal(size=problem.weights_shape)
    W[-1] = 0.0  # there is no constant feature
    duals = 2 * weight * np.random.default_rng(1).uniform(size=100)
    found, _ = certify(problem, W, np.zeros(1), Duals(torch.from_numpy(duals[None])))
    expected = pegasos.certify(
        data.X, data.Y, W[:-1].T, 0.0, duals, C=1e200, sample_weight=weight, intercept="free",
        loss="squared_hinge",
    )  # fmt: skip
    same(found, expected)
