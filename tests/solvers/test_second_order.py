"""InteriorPoint and Newton: the same optima, on the same awkward data."""

from dataclasses import dataclass

import numpy as np
import pytest
from tests.common import reference
from tests.common.toys import toy

import pegasos
from pegasos import InteriorPoint, Newton, _core
from pegasos.problem import make_problem
from pegasos.sites.passes import factor, solve
from pegasos.solvers import Solver
from pegasos.solvers.newton import Sampling


@dataclass(frozen=True)
class Case:
    solver: Solver
    tol: float
    close: float  # to the reference's objective
    most: int | None  # iterations to tol


CASES = {
    "interior": Case(InteriorPoint(), 1e-8, 1e-6, 40),
    "newton": Case(Newton(), 1e-6, 2e-6, None),
    "newton, a sample first": Case(
        Newton(sampling=Sampling(fewest_rows=1, rows_per_feature=1)), 1e-6, 2e-6, None
    ),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


@pytest.mark.parametrize("mode", ["none", "regularized", "free"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_they_find_the_reference_optimum(case, mode, C, storage, loss):
    data = toy(60, 5, seed=1)
    power = 2 if loss == "squared_hinge" else 1
    y = data.Y[:, 0]
    result = pegasos.solve(
        data.X if storage == "dense" else data.csr(), y, C=C, solver=case.solver, intercept=mode,
        tol=case.tol, sample_weight=data.weight, seed=0, loss=loss,
    )  # fmt: skip
    assert result.stop_reason == "converged"
    assert case.most is None or result.epochs <= case.most
    X = np.hstack([data.X, np.ones((60, 1))]) if mode == "regularized" else data.X
    a, b = reference.optimum(X, y, data.weight, 1 / C, free=mode == "free", power=power)
    w = (a * y) @ X * C
    best = reference.primal(
        X, y, data.weight, 1 / C, data.weight.sum(), w, b if mode == "free" else 0.0,
        power=power,
    )  # fmt: skip
    assert result.certificate.primal == pytest.approx(best, rel=case.close)
    assert result.certificate.dual == pytest.approx(best, rel=case.close)
    again = pegasos.certify(
        data.X, y, result.w, result.b, result.duals, C=C, intercept=mode,
        sample_weight=data.weight, loss=loss,
    )  # fmt: skip
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-12)


def test_rows_without_weight_or_features_are_harmless(case):
    data = toy(50, 4, seed=7)
    X, weight = data.X.copy(), data.weight.copy()
    X[3] = 0
    weight[5:9] = 0
    y = data.Y[:, 0]
    options = {"C": 1.0, "solver": case.solver, "intercept": "free", "tol": case.tol}
    full = pegasos.solve(X, y, sample_weight=weight, **options)
    kept = np.flatnonzero(weight)
    part = pegasos.solve(X[kept], y[kept], sample_weight=weight[kept], **options)
    close = min(10 * case.tol, 2e-6)
    assert full.certificate.primal == pytest.approx(part.certificate.primal, rel=close)
    assert not full.duals[5:9].any()


def test_collinear_and_constant_columns_are_harmless(case):
    data = toy(80, 4, seed=8)
    X = np.hstack([data.X, data.X[:, :2], np.ones((80, 1)), np.zeros((80, 1))])
    result = pegasos.solve(
        X, data.Y[:, 0], C=100.0, solver=case.solver, intercept="free", tol=10 * case.tol
    )
    assert result.stop_reason == "converged"


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_extremes_end_with_a_valid_certificate_or_a_named_error(case, scale):
    data = toy(40, 3, seed=9)
    try:
        result = pegasos.solve(
            data.X * scale, data.Y[:, 0], lam=1e-3, solver=case.solver, intercept="none",
            max_epochs=60,
        )  # fmt: skip
    except ValueError as error:
        assert "scale the features" in str(error)  # noqa: PT017
        return
    assert np.isfinite(result.w).all()
    assert result.certificate.gap >= -result.certificate.rounding


def test_too_many_features_are_refused_with_advice(case):
    X = np.zeros((2, 10_001), dtype=np.int8)
    X[0, 0] = 1
    name = type(case.solver).__name__
    with pytest.raises(ValueError, match=rf"{name} factors .* use solver='dual'"):
        pegasos.solve(X, [0, 1], C=1.0, solver=case.solver)


@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_threads_change_nothing_but_rounding_and_repeat_their_bits(case, storage):
    data = toy(9000, 6, seed=12)  # enough rows for each thread to get some
    X = data.X if storage == "dense" else data.csr()
    states = []
    for threads in (1, 2, 2):
        problem = make_problem(X, data.Y, C=1.0, intercept="free", n_jobs=threads)
        state = case.solver.start(problem, 0)
        assert case.solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=6)
        states.append(state)
    one, two, again = states
    np.testing.assert_allclose(one["w"], two["w"], rtol=1e-6, atol=1e-9)
    for name, array in two.arrays.items():
        assert array.tobytes() == again.arrays[name].tobytes(), name


def test_a_singular_matrix_is_lifted_until_it_has_a_factor():
    gram, rhs = np.ones((9, 9)), np.ones(9)
    out, direction = np.zeros(_core.factor_size(9)), np.empty(10)
    assert factor(gram, 0.0, None, 1, out)
    gain = solve(out, rhs, False, direction)
    np.testing.assert_allclose(gram @ direction[:-1], rhs, rtol=1e-6)
    assert gain == pytest.approx(1.0, rel=1e-6)
    assert not factor(np.full((9, 9), np.nan), 1.0, None, 1, out)
