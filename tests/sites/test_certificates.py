"""The certificate of any model and any duals is that of rows in memory, wherever the rows are."""

import numpy as np
import pytest
from tests.sites.over import over

from pegasos.certificate import certify
from pegasos.problem import make_problem

CLASSES = {"positive": 2.0, "negative": 0.7}


def proves(place, _):
    return place.proves


def here(place, _):
    return place.here


def bounds(problem, W, a, b, **options):
    proof, b = certify(problem, W, b, a, **options)
    return np.stack([proof.primal, proof.dual]), b, proof


@over(proves, quick=True, solver=["newton"])
def test_certificates_are_those_of_memory(cell, place):
    rows, options = cell.rows, cell.options | CLASSES
    memory = make_problem(rows.X, rows.Y, sample_weight=rows.weight, **options)
    there = place.problem(rows, **options)
    rng = np.random.default_rng(0)
    W = np.zeros(memory.weights_shape)
    features = W.shape[0] - (cell.intercept != "regularized")
    box = np.minimum(memory.largest_duals(), 10 * memory.costs())
    for share in (0.0, 0.1, 1.0):
        W[:features, : cell.lanes] = 2 * share * rng.standard_normal((features, cell.lanes))
        a = share * box * rng.random(box.shape)
        expected, best, one = bounds(memory, W, lambda lo, hi, a=a: a[lo:hi], np.zeros(cell.lanes))
        found, b, other = bounds(there, W, place.duals(a), np.zeros(cell.lanes))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        if share and cell.intercept == "free":  # else any b may be the best
            np.testing.assert_allclose(b, best, rtol=1e-9, atol=1e-9)
        # What they differ by is within the rounding that both admit.
        assert (np.abs(other.gap - one.gap) <= one.rounding + other.rounding).all()


@over(here, quick=True, solver=["newton"], intercept=["free"])
def test_an_intercept_is_taken_as_it_is_where_that_is_asked_for(cell, place):
    rows = cell.rows
    memory = make_problem(rows.X, rows.Y, sample_weight=rows.weight, **cell.options)
    there = place.problem(rows, **cell.options)
    rng = np.random.default_rng(1)
    W, b = np.zeros(memory.weights_shape), rng.standard_normal(cell.lanes)
    W[:-1, : cell.lanes] = rng.standard_normal((W.shape[0] - 1, cell.lanes))
    a = memory.costs() * rng.random(rows.Y.shape)
    expected, _, _ = bounds(memory, W, lambda lo, hi: a[lo:hi], b, as_is=True)
    found, kept, _ = bounds(there, W, place.duals(a), b, as_is=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert kept.tolist() == b.tolist()


@over(here, quick=True, solver=["newton"], intercept=["free"], loss=["hinge"])
def test_a_certificate_in_progress_is_given_up(cell, place):
    problem = place.problem(cell.rows, **cell.options)
    W = np.zeros(problem.weights_shape)
    W[:-1, : cell.lanes] = np.random.default_rng(2).standard_normal((W.shape[0] - 1, cell.lanes))
    a = 0.3 * problem.costs()
    asked = []
    b = np.zeros(cell.lanes)
    assert certify(problem, W, b, place.duals(a), give_up=lambda: bool(asked.append(1)))
    for last in (0, len(asked) // 2, len(asked) - 1):
        calls = iter(range(len(asked)))
        stopped = certify(
            problem, W, b, place.duals(a), give_up=lambda c=calls, last=last: next(c) == last
        )
        assert stopped is None


@pytest.mark.parametrize("keep", [[0, 2], [2]], ids=str)
@over(proves, quick=True, solver=["newton"], loss=["hinge"], intercept=["regularized"], lanes=[3])
def test_a_problem_of_some_lanes_is_certified_as_they_were(cell, place, keep):
    problem = place.problem(cell.rows, **cell.options)
    rng = np.random.default_rng(3)
    W = np.zeros(problem.weights_shape)
    W[:, :3] = rng.standard_normal((W.shape[0], 3))
    a = (cell.rows.Y != 0) * cell.rows.weight[:, None] * rng.random(cell.rows.Y.shape)
    whole, _, _ = bounds(problem, W, place.duals(a), np.zeros(3))
    keep = np.array(keep)
    part = problem.take(keep)
    V = np.zeros(part.weights_shape)
    V[:, : keep.size] = W[:, keep]
    found, _, _ = bounds(part, V, place.duals(a[:, keep]), np.zeros(keep.size))
    np.testing.assert_allclose(found, whole[:, keep], rtol=1e-12)
