"""Pegasos on a device: the steps of the CPU."""

import numpy as np
import pytest
from tests.common.pieces import Uneven
from tests.common.toys import toy

import pegasos


@pytest.mark.parametrize("sampling", ["iid", "permute", "cycle"])
@pytest.mark.parametrize("mode", ["none", "regularized"])
def test_pegasos_takes_batches_of_all_lanes(mode, sampling):
    data = toy(2000, 5, 3, seed=15, absent=0.1)
    solver = pegasos.Pegasos(batch_size=100, sampling=sampling)
    options = {"lam": [0.01, 0.1, 1.0], "intercept": mode, "sample_weight": data.weight}
    found = pegasos.solve(
        data.X, data.Y, device="cpu", solver=solver, max_epochs=60, tol=1e-9, seed=0, **options
    )
    assert found.stop_reason == "max_epochs"
    assert found.epochs == 60
    assert found.solver.batch_size == 100
    best = pegasos.solve(data.X, data.Y, tol=1e-9, **options).certificate
    assert np.all(found.certificate.primal >= best.dual * (1 - 1e-12))
    assert np.all(found.certificate.primal <= best.primal * 1.05)
    assert np.all(found.certificate.dual >= 0.8 * best.dual)
    again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, **options)
    np.testing.assert_allclose(again.primal, found.certificate.primal, rtol=1e-12)
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)


def test_pegasos_of_all_rows_is_that_of_the_cpu():
    """Without chance the steps are the same ones."""
    data = toy(300, 5, seed=16)
    solver = pegasos.Pegasos(batch_size="all")
    options = {"lam": 0.1, "intercept": "regularized", "solver": solver, "max_epochs": 20, "tol": 0}
    found = pegasos.solve(data.X, data.Y[:, 0], device="cpu", **options)
    other = pegasos.solve(data.X, data.Y[:, 0], **options)
    np.testing.assert_allclose(found.w, other.w, rtol=1e-9)
    np.testing.assert_allclose(found.duals, other.duals, rtol=1e-9)
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-12)


def test_lanes_leave_when_they_are_proven():
    data = toy(2000, 5, 3, seed=15, absent=0.1)
    options = {"lam": [0.01, 1.0, 0.1], "intercept": "none", "tol": 0.1, "seed": 0}
    solver = pegasos.Pegasos(batch_size=100, average=True)
    found = pegasos.solve(
        data.X, data.Y, device="cpu", solver=solver, record_every=1.0, max_epochs=200, **options
    )
    assert found.stop_reason == "converged"
    first = [np.argmax(np.array(gaps) <= 0.1) for gaps in zip(*found.history["gap"], strict=True)]
    assert len(set(first)) > 1  # the others went on without it
    again = pegasos.certify(
        data.X, data.Y, found.w, duals=found.duals, lam=options["lam"], intercept="none"
    )
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)
    np.testing.assert_allclose(again.primal, found.certificate.primal, rtol=1e-12)


def test_a_batch_of_one_row_is_one_of_a_sensible_size():
    data = toy(2560, 5, seed=3)
    options = {"lam": 0.1, "device": "cpu", "intercept": "none", "max_steps": 3, "seed": 0}
    found = pegasos.solve(data.X, data.Y[:, 0], solver="pegasos", **options)
    assert found.solver == pegasos.Pegasos()  # as it was asked for
    assert found.epochs == 3 * 10 / 2560


@pytest.mark.parametrize("option", [{"init": "random"}, {"count": "on_loss"}])
def test_options_of_single_steps_are_refused(option):
    data = toy(100, 5, seed=3)
    solver = pegasos.Pegasos(**option)
    with pytest.raises(ValueError, match="on a device Pegasos starts from zero, and counts all"):
        pegasos.solve(data.X, data.Y[:, 0], lam=0.1, device="cpu", solver=solver, max_steps=1)


def test_rows_that_are_streamed_are_refused():
    data = toy(600, 5, seed=2)
    chunks = Uneven(data.X, data.Y[:, 0], None, (0, 100, 600), None)
    with pytest.raises(ValueError, match="Pegasos needs rows that fit the device: use solver='aut"):
        pegasos.solve(chunks, lam=0.1, device="cpu", solver="pegasos", intercept="none")
