"""Losses, and the problems that they make: offsets, units, names."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from tests.common.toys import toy

import pegasos
from pegasos import losses
from pegasos.certificate import certify
from pegasos.losses import LOSSES, Hinge, SquaredHinge, named
from pegasos.problem import lanes_over, make_problem
from pegasos.solvers import DualCoordinate, InteriorPoint, Newton


def rows(n, d, seed):
    """Rows, and one label each."""
    made = toy(n, d, seed=seed)
    return made.X, made.Y[:, 0]


EVERY = [loss() for loss in LOSSES.values()]
COSTS = np.array([0.25, 1.0, 3.0])
SLACKS = np.array([-2.0, -0.3, 0.2, 1.0, 2.5])


@pytest.fixture(params=EVERY, ids=str)
def loss(request):
    return request.param


def test_a_loss_is_the_maximum_over_its_box(loss):
    for cost in COSTS:
        most = min(float(loss.largest_duals(np.array([cost]))[0]), 8 * cost)
        a = np.linspace(0, most, 8001)
        costs = np.full_like(a, cost)
        for slack in SLACKS:
            best = (a * slack - loss.squares(a, costs)).max()
            assert loss.value(slack, cost) == pytest.approx(best, abs=1e-6 * cost)


def test_rounded_duals_are_the_slope_away_from_the_kink(loss):
    width, step = 0.1, 1e-6
    for slack in SLACKS:
        a = loss.rounded_duals(np.full(3, slack), COSTS.copy(), width)
        slope = (loss.value(slack + step, COSTS) - loss.value(slack - step, COSTS)) / (2 * step)
        np.testing.assert_allclose(a, slope, rtol=1e-6, atol=1e-9)
        assert (a >= 0).all()
        assert (a <= loss.largest_duals(COSTS)).all()
    # In the middle of the rounding, half of the step, if there is one.
    middle = loss.rounded_duals(np.zeros(3), COSTS.copy(), width)
    np.testing.assert_array_equal(middle, 0 if loss.curved else COSTS / 2)


def test_inner_duals_are_inside_the_box(loss):
    for unit in (0.5, 1.0, 8.0):
        a = loss.inner_duals(COSTS, unit)
        assert (a > 0).all()
        assert (a < loss.largest_duals(COSTS)).all()


def test_curvature_is_that_of_the_squares(loss):
    a = np.array([0.5, 1.0, 2.0])
    kappa = [loss.mean_curvature(5, 5 * cost) for cost in COSTS]
    np.testing.assert_allclose(loss.squares(a, COSTS), kappa * a**2 / 2, rtol=1e-15)
    assert (np.array(kappa) > 0).all() == loss.curved
    assert np.isfinite(loss.largest_duals(COSTS)).all() == loss.bounded


def test_a_row_that_costs_nothing_has_no_dual(loss):
    nothing = np.zeros(2)
    np.testing.assert_array_equal(loss.largest_duals(nothing), nothing)
    np.testing.assert_array_equal(loss.squares(nothing, nothing), nothing)


def test_every_loss_has_its_name_and_its_core():
    assert [named(name) for name in ("hinge", "squared_hinge")] == [Hinge(), SquaredHinge()]
    X, y = rows(6, 2, 0)
    for loss in EVERY:
        assert make_problem(X, y[:, None], C=1.0, loss=loss).loss is loss  # the core knows it
        assert named(loss) is loss
        assert pickle.loads(pickle.dumps(loss)) == loss  # as it travels to workers
    assert pegasos.losses is losses


@pytest.mark.parametrize("wrong", ["log", "Hinge", None, 1, Hinge])
def test_other_names_are_refused(wrong):
    with pytest.raises(ValueError, match=f"loss must be {' or '.join(map(repr, losses.LOSSES))}"):
        named(wrong)


@pytest.mark.parametrize("solver", ["dual", "newton", "interior"])
def test_a_loss_and_its_name_train_the_same_bits(loss, solver):
    X, y = rows(60, 5, 3)
    given = {"C": 0.7, "solver": solver, "seed": 1}
    by_name = pegasos.solve(X, y, loss=loss.name, **given)
    by_loss = pegasos.solve(X, y, loss=loss, **given)
    np.testing.assert_array_equal(by_name.w, by_loss.w)
    np.testing.assert_array_equal(by_name.duals, by_loss.duals)
    assert by_name.certificate == by_loss.certificate
    model = by_name.w, by_name.b, by_name.duals
    kind = {"C": 0.7, "intercept": "free"}
    assert pegasos.certify(X, y, *model, loss=loss, **kind) == pegasos.certify(
        X, y, *model, loss=loss.name, **kind
    )


def test_a_solver_that_does_not_train_a_loss_names_those_that_do():
    X, y = rows(20, 2, 0)
    with pytest.raises(ValueError, match="'pegasos' trains the hinge loss only") as error:
        pegasos.solve(X, y, C=1.0, solver="pegasos", loss=SquaredHinge())
    assert "solver='dual', 'interior' or 'newton'" in str(error.value)


def test_estimators_take_a_loss_as_it_is_and_save_its_name(loss, tmp_path):
    X, y = rows(60, 5, 3)
    model = pegasos.LinearSVC(loss=loss, random_state=0)
    assert clone(model).get_params()["loss"] == loss
    assert model.fit(X, y).get_params()["loss"] is loss
    by_name = pegasos.LinearSVC(loss=loss.name, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, by_name.coef_)
    pegasos.save(model, tmp_path / "model")
    assert pegasos.load(tmp_path / "model").loss == loss.name
    pegasos.LinearSVC(loss=loss, random_state=0, checkpoint=tmp_path / "run").fit(X, y)
    resumed = pegasos.LinearSVC(loss=loss.name, random_state=0, resume=tmp_path / "run").fit(X, y)
    np.testing.assert_array_equal(model.coef_, resumed.coef_)
    paths = pegasos.LinearSVCCV(Cs=[0.1, 1.0], cv=2, loss=loss, random_state=0).fit(X, y)
    assert paths.C_ in (0.1, 1.0)


def test_partial_fit_takes_the_hinge_by_name_or_not():
    X, y = rows(60, 5, 3)
    one, other = (
        pegasos.LinearSVC(loss=loss, random_state=0).partial_fit(X, y, classes=[-1, 1])
        for loss in ("hinge", Hinge())
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert not hasattr(pegasos.LinearSVC(loss=SquaredHinge()), "partial_fit")


UNIT = 4.0  # a power of two: what is so many times as large has the same digits


def in_units(problem, unit, targets=None):
    """The problem with margins so many times as large, as large costs as weigh as much in P."""
    if targets is None:
        targets = np.full(problem.labels.shape, unit)
    # sum c max(0, u - u m) is u times, sum c max(0, u - u m)^2 is u^2 times; |w|^2 is u^2 times.
    more = 1.0 if problem.loss.curved else unit
    return lanes_over(
        problem.rows, problem.labels, problem.weight, more * problem.positive,
        more * problem.negative, problem.s, problem.total_weight, problem.intercept, problem.loss,
        problem.threads, site=problem.site, targets=targets, unit=np.full(problem.lanes, unit),
        members=problem.members,
    )  # fmt: skip


def trained(problem, solver, epochs):
    state = solver.start(problem, 5)
    n = problem.n
    solver.advance(problem, state, work=2**62, stop_seen=epochs * n, stop_steps=2**62)
    duals = solver.duals(problem, state)(0, n)
    W, b = solver.weights(problem, state), np.zeros(problem.lanes)
    proof, b = certify(problem, W, b, lambda lo, hi: duals[lo:hi])
    return W, b, duals, proof


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize(
    ("solver", "lanes"),
    [(DualCoordinate(), 1), (DualCoordinate(), 3), (Newton(), 1), (InteriorPoint(), 1)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_larger_margins_are_the_same_problem_in_another_unit(loss, solver, lanes, intercept):
    X, y = rows(300, 6, 2)
    rng = np.random.default_rng(0)
    labels = np.stack([np.where(rng.random(300) < 0.1, -y, y) for _ in range(lanes)], axis=1)
    labels[rng.random(labels.shape) < 0.1] = 0
    plain = make_problem(X, labels, C=0.5, intercept=intercept, loss=loss, negative=2.0)
    problem = in_units(plain, 1.0)
    for epochs in (3, 12):
        W, b, duals, proof = trained(problem, solver, epochs)
        others = trained(in_units(problem, UNIT), solver, epochs)
        np.testing.assert_array_equal(others[0], UNIT * W)
        np.testing.assert_array_equal(others[2], UNIT * duals)
        np.testing.assert_allclose(others[1], UNIT * b, rtol=1e-13)
        np.testing.assert_allclose(others[3].primal, UNIT**2 * proof.primal, rtol=1e-14)
        np.testing.assert_allclose(others[3].dual, UNIT**2 * proof.dual, rtol=1e-14)
        np.testing.assert_allclose(others[3].rounding, UNIT**2 * proof.rounding, rtol=1e-2)


def test_targets_of_one_are_none():
    X, y = rows(300, 6, 2)
    plain = make_problem(X, y[:, None], C=0.5, intercept="free")
    for solver in (DualCoordinate(), Newton(), InteriorPoint()):
        for one, other in zip(
            trained(plain, solver, 8)[:3], trained(in_units(plain, 1.0), solver, 8)[:3], strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_a_certificate_of_any_offsets_is_that_of_the_formulas(loss, intercept):
    X, y = rows(40, 3, 4)
    rng = np.random.default_rng(1)
    targets = rng.uniform(-0.5, 3.0, size=(40, 1))
    plain = make_problem(X, y[:, None], C=0.5, intercept=intercept, loss=loss)
    problem = replace(in_units(plain, 1.0, targets), unit=np.ones(1))
    W = 0.3 * rng.standard_normal((4, 1))
    W[-1] = 0
    a = rng.uniform(0, 1, size=(40, 1)) * np.minimum(problem.largest_duals(), 2.0)
    proof, b = certify(problem, W, np.zeros(1), lambda lo, hi: a[lo:hi])
    f, c, o = X @ W[:-1, 0], problem.costs()[:, 0], targets[:, 0]
    s, N = problem.s[0], problem.total_weight[0]

    def primal(b):
        return (s / 2 * W[:, 0] @ W[:, 0] + loss.value(o - y * (f + b), c).sum()) / N

    assert proof.primal[0] == pytest.approx(primal(b[0]), rel=1e-13)
    dual = a[:, 0].copy()
    if intercept == "free":
        assert (
            primal(b[0]) <= min(primal(b[0] + step) for step in (-1e-2, -1e-5, 1e-5, 1e-2)) + 1e-12
        )
        up, down = dual[y > 0].sum(), dual[y < 0].sum()
        dual *= np.where(y > 0, min(1, down / up), min(1, up / down))
    theta = np.linspace(0, 1 if loss.bounded else 3, 20_001)[:, None]
    u = (dual * y) @ X
    values = theta[:, 0] * (o @ dual) - theta[:, 0] ** 2 * (
        u @ u / (2 * s) + loss.squares(dual[:, None], c[:, None]).sum()
    )
    assert proof.dual[0] == pytest.approx(max(values.max() / N, 0.0), rel=1e-6)
    assert proof.holds
    assert problem.at_zero[0] == pytest.approx(loss.value(o, c).sum() / N, rel=1e-13)


def test_offsets_below_zero_prove_no_less_than_nothing():
    X, y = rows(30, 2, 1)
    plain = make_problem(X, y[:, None], C=0.5, intercept="none")
    problem = in_units(plain, 1.0, np.full((30, 1), -1.0))
    proof, _ = certify(problem, np.zeros((3, 1)), np.zeros(1), lambda lo, hi: problem.costs(lo, hi))
    assert proof.dual[0] == proof.primal[0] == 0.0


def test_lanes_may_share_their_targets():
    X, y = rows(30, 2, 1)
    plain = make_problem(X, np.stack([y, -y, y], axis=1), C=0.5, intercept="none")
    problem = in_units(plain, 2.0, np.linspace(0.5, 2, 30)[:, None])
    assert problem.targets.strides[1] == 0
    for part in (problem.take(np.array([2, 0])), problem.at(0.25).take(np.array([2, 0]))):
        np.testing.assert_array_equal(part.targets, np.repeat(problem.targets[:, :1], 2, axis=1))
        np.testing.assert_array_equal(part.unit, [2.0, 2.0])
    np.testing.assert_array_equal(problem.offsets(3, 5), problem.targets[3:5])
    np.testing.assert_array_equal(plain.offsets(3, 5), np.ones((2, 3)))
