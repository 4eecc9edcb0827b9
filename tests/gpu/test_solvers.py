"""The solvers on a device: the optimum of the CPU, and a proof of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.common.toys import toy
from tests.gpu.optima import LOSSES, MODES, SOLVERS, agree

import pegasos
from pegasos.sites.device.site import COSTS
from pegasos.solvers import choice_of


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_same_optimum_as_on_the_cpu(solver, loss, mode):
    data = toy(500, 6, seed=3)
    y = data.Y[:, 0]
    options = {"C": 0.5, "loss": loss, "intercept": mode}
    found = pegasos.solve(data.X, y, device="cpu", solver=solver, tol=1e-7, seed=0, **options)
    agree(found, data.X, y, 1e-7, **options)
    if solver == "auto":  # so many rows for every feature are Newton's
        assert found.reason.startswith("Newton: 500 rows of 6 features, 1 problems on cpu")
    else:
        assert found.solver.name == solver
        assert found.reason == "as asked for"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_and_a_constant_feature_of_any_size(solver, loss):
    data = toy(300, 5, seed=5)
    y = data.Y[:, 0]
    weight = np.where(data.weight < 0.6, 0.0, data.weight)
    options = {
        "C": 2.0, "loss": loss, "intercept": "regularized", "intercept_scaling": 3.0,
        "sample_weight": weight,
    }  # fmt: skip
    found = pegasos.solve(data.X, y, device="cpu", solver=solver, tol=1e-7, seed=0, **options)
    agree(found, data.X, y, 1e-7, **options)
    assert (found.duals[weight == 0] == 0).all()
    assert (found.duals >= 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_weight_of_two_is_the_row_twice(solver):
    data = toy(120, 4, seed=6)
    y = data.Y[:, 0]
    count = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"C": 1.0, "device": "cpu", "solver": solver, "tol": 1e-8, "seed": 0}
    weighed = pegasos.solve(data.X, y, sample_weight=count.astype(float), **options)
    repeated = pegasos.solve(np.repeat(data.X, count, axis=0), np.repeat(y, count), **options)
    assert weighed.certificate.primal == pytest.approx(repeated.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_several_lanes_are_each_as_by_themselves(solver, loss, mode):
    data = toy(200, 5, 3, seed=2, absent=0.3)
    C = np.array([0.01, 0.3, 3.0])
    options = {"loss": loss, "intercept": mode}
    run = {"device": "cpu", "solver": solver, "tol": 1e-8, "seed": 0}
    found = pegasos.solve(data.X, data.Y, C=C, sample_weight=data.weight, **options, **run)
    assert found.w.shape == (3, 5)
    assert found.b.shape == (3,)
    assert found.duals.shape == (200, 3)
    assert (found.duals[data.Y == 0] == 0).all()
    agree(found, data.X, data.Y, 1e-8, C=C, sample_weight=data.weight, **options)
    for k in range(3):
        alone = pegasos.solve(
            data.X, data.Y[:, [k]], C=C[k], sample_weight=data.weight, **options, **run
        )
        close = 2e-8 * alone.certificate.primal[0]
        assert found.certificate.primal[k] == pytest.approx(alone.certificate.primal[0], abs=close)
        np.testing.assert_allclose(found.w[k], alone.w[0], atol=0.01 * np.abs(alone.w).max())


def test_regularization_per_example():
    data = toy(200, 5, 2, seed=4, absent=0.2)
    lam = np.array([0.1, 0.001])
    options = {"lam": lam, "sample_weight": data.weight, "intercept": "none"}
    found = pegasos.solve(data.X, data.Y, device="cpu", tol=1e-6, seed=0, **options)
    best = pegasos.solve(data.X, data.Y, tol=1e-9, seed=0, **options)
    np.testing.assert_allclose(found.certificate.primal, best.certificate.primal, rtol=1e-6)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("solver", SOLVERS)
def test_coarse_numbers_are_trained_on_as_they_are(solver, kind):
    data = toy(400, 6, seed=7)
    y = data.Y[:, 0]
    X = torch.from_numpy(data.X).to(kind)
    found = pegasos.solve(X, torch.from_numpy(y), C=0.5, device="cpu", solver=solver, tol=1e-7)
    agree(found, X.double().numpy(), y, 1e-7, C=0.5)
    rounded = np.abs(X.double().numpy() - data.X).max()
    assert rounded > 1e-9  # else the rows were not coarse


def test_newton_starts_with_a_sample_of_the_rows():
    data = toy(40_000, 6, seed=9)
    y = data.Y[:, 0]
    found = pegasos.solve(data.X, y, C=0.01, device="cpu", solver="newton", tol=1e-6, seed=0)
    agree(found, data.X, y, 1e-6, C=0.01)
    assert found.epochs % 1 != 0  # some were of a sixteenth


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_leaves_a_valid_certificate(solver):
    data = toy(300, 6, 2, seed=11)
    options = {"C": 1.0, "intercept": "free"}
    found = pegasos.solve(
        data.X, data.Y, device="cpu", solver=solver, tol=1e-10, max_epochs=2, seed=0, **options
    )
    assert found.stop_reason == "max_epochs"
    assert found.epochs == (2 if solver == "interior" else 4)  # Newton: lane by lane
    assert found.certificate.holds
    assert (found.certificate.relative_gap > 1e-10).all()
    again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, **options)
    np.testing.assert_allclose(again.primal, found.certificate.primal, rtol=1e-12)
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)
    stopped = pegasos.solve(
        data.X, data.Y, device="cpu", solver=solver, tol=1e-10, max_steps=3, seed=0, **options
    )
    assert stopped.stop_reason == "max_steps"
    late = pegasos.solve(data.X, data.Y, device="cpu", solver=solver, max_time=1e-9, **options)
    assert late.stop_reason == "max_time"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_stops_a_run(solver):
    data = toy(300, 6, seed=12)
    seen = []

    def second(record):
        seen.append(record)
        return len(seen) == 2

    found = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, device="cpu", solver=solver, tol=1e-10, callbacks=[second],
        record_every=1.0,
    )  # fmt: skip
    assert found.stop_reason == "callback"
    assert [record.epoch for record in seen] == [1.0, 2.0]
    assert found.certificate == seen[-1].certificate
    assert len(found.history["gap"]) == 2


def test_interior_point_takes_over_from_newton(trained):
    data = toy(1500, 8, 2, seed=13)
    options = {"C": 1.0, "intercept": "free"}
    tuning = {"costs": replace(COSTS, interior_epochs=8.0)}
    found = trained(data.X, data.Y, None, 1e-10, tuning=tuning, **options)
    assert found.solver == pegasos.InteriorPoint()
    assert found.reason.startswith("Newton: 1500 rows of 8 features, 2 problems on cpu; ")
    assert found.reason.endswith("; InteriorPoint took over after 4 epochs")
    agree(found, data.X, data.Y, 1e-10, **options)
    again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, **options)
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)


def test_which_solver_is_chosen(problem_of):
    def chosen(n, d, lanes, solver=None):
        data = toy(n, d, lanes)
        return choice_of(solver, problem_of(data.X, data.Y), 1e-3)

    many, few = chosen(640, 10, 4), chosen(639, 10, 1)
    assert many.solver == pegasos.Newton()
    assert many.fallback.solver == few.solver == pegasos.InteriorPoint()
    assert (many.fallback_epochs, many.tried) == (60.0, 0.5)
    assert few.fallback is None
    assert few.reason == "InteriorPoint: 639 rows of 10 features, 1 problems on cpu"
    assert chosen(640, 10, 5).solver == pegasos.InteriorPoint()
    assert chosen(640, 10, 1, pegasos.Newton(aim=0.01)).solver.aim == 0.01
    with pytest.raises(ValueError, match="'dual' does not run on a device; use 'auto'"):
        chosen(640, 10, 1, pegasos.DualCoordinate())
    words = r"exact solvers on a device .* 10001 are too many \(at most 10000\); use solver=peg"
    with pytest.raises(ValueError, match=words):
        chosen(4, 10_001, 1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_bits(solver):
    data = toy(20_000, 8, seed=14)
    y = data.Y[:, 0]

    def run(seed):
        return pegasos.solve(data.X, y, C=0.1, device="cpu", solver=solver, tol=1e-5, seed=seed)

    one, again, other = run(3), run(3), run(4)
    assert one.w.tobytes() == again.w.tobytes()
    assert one.duals.tobytes() == again.duals.tobytes()
    assert one.certificate == again.certificate
    assert one.w.tobytes() != other.w.tobytes()  # there were draws
    assert pegasos.solve(data.X, y, C=0.1, device="cpu", seed=2**64 - 1).stop_reason == "converged"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tolerance_beyond_float64_ends_at_the_last_digits(solver):
    data = toy(150, 5, seed=11)
    found = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, device="cpu", solver=solver, tol=0, max_epochs=1000
    )
    assert found.stop_reason == "precision"
    assert found.epochs < 1000
    assert found.certificate.relative_gap < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_of_zeros_and_a_single_feature(solver):
    y = np.array([1, -1] * 20)
    nothing = pegasos.solve(np.zeros((40, 3)), y, C=1.0, device="cpu", solver=solver)
    assert nothing.certificate.primal == pytest.approx(1.0, rel=1e-3)
    np.testing.assert_allclose(nothing.w, 0, atol=1e-12)
    x = np.random.default_rng(0).normal(size=(40, 1)) + y[:, None]
    one = pegasos.solve(x, y, C=1.0, device="cpu", solver=solver, tol=1e-6)
    agree(one, x, y, 1e-6, C=1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_class_that_weighs_nothing_does_no_harm(loss):
    data = toy(300, 6, seed=3)
    y = data.Y[:, 0]
    options = {"class_weight": {-1: 0.0, 1: 1.0}, "loss": loss, "intercept": "none"}
    best = pegasos.LinearSVC(solver="interior", **options).fit(data.X, y)
    for solver in SOLVERS:
        found = pegasos.LinearSVC(solver=solver, device="cpu", **options).fit(data.X, y)
        assert found.objective_ == pytest.approx(best.objective_, rel=1e-3), solver
        assert found.stop_reason_ == "converged"


def test_weights_that_leave_float64_are_named():
    data = toy(300, 6, seed=3)
    for device in (None, "cpu"):
        options = {"C": 1.0, "device": device, "sample_weight": np.full(300, 1e308)}
        with pytest.raises(ValueError, match="sample_weight is too large"):
            pegasos.solve(data.X, data.Y[:, 0], **options)


@pytest.mark.parametrize("solver", SOLVERS)
def test_numbers_that_leave_float64_are_named(solver):
    data = toy(300, 6, seed=3)
    for device in (None, "cpu"):
        options = {"C": 1e-150, "device": device, "sample_weight": np.full(300, 1e300)}
        with pytest.raises(ValueError, match=r"\(row 93 has norm .*\); scale the features"):
            pegasos.solve(data.X, data.Y[:, 0], solver=solver, max_epochs=60, **options)
