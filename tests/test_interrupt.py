"""Ctrl-C and time limits end a run quickly, with a model whose certificate holds."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from scipy import sparse

import pegasos
from pegasos.problem import make_problem
from pegasos.run.driver import run
from pegasos.run.interrupt import Grace, Interruption
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np, pegasos
rng = np.random.default_rng(0)
X = rng.standard_normal((200_000, 40))
y = np.where(X[:, 0] + 3 * rng.standard_normal(200_000) > 0, 1, -1)

def pressed_after(seconds):
    sent = []
    def press():
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=press).start()
    return sent
"""


def run_script(body):
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body)], capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("solver", ["dual", "sgds", "pegasos.Pegasos(batch_size='all')"])
def test_ctrl_c_returns_a_certified_model(solver):
    name = solver if solver.startswith("pegasos.") else repr(solver)
    done = run_script(f"""
        sent = pressed_after(1.0)
        r = pegasos.solve(
            X, y, C=100.0, solver={name}, tol=0, seed=0, max_time=60, intercept="regularized"
        )
        took = time.perf_counter() - sent[0]
        again = pegasos.certify(X, y, r.w, r.b, r.duals, C=100.0, intercept="regularized")
        assert r.stop_reason == "interrupted", r.stop_reason
        assert abs(again.primal - r.certificate.primal) <= 1e-9 * again.primal
        assert abs(again.dual - r.certificate.dual) <= 1e-9 * max(again.dual, 1e-300)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        print("took", took)
    """)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[1]) < 5  # 0.5 s on a quiet machine


@pytest.mark.parametrize(
    "options",
    [
        "kernel='rbf', C=1e4",
        "solver='pegasos'",
        "approximation='nystroem', n_components=300, C=1e6",
    ],
)
def test_ctrl_c_ends_a_fit_with_a_kernel(options):
    done = run_script(f"""
        import warnings
        warnings.simplefilter("ignore")
        model = pegasos.SVC({options}, tol=1e-12, max_time=60, random_state=0)
        sent = pressed_after(3.0)  # whatever importing took
        model.fit(X[:20_000], y[:20_000])
        took = time.perf_counter() - sent[0]
        assert model.stop_reason_ == "interrupted", model.stop_reason_
        assert np.isfinite(model.certificate_.primal)
        # How good it is by then depends on the machine: on a slow one nothing is proven yet.
        assert np.isfinite(model.decision_function(X[:1000])).all()
        assert np.isin(model.predict(X[:1000]), (-1, 1)).all()
        print("took", took)
    """)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[1]) < 5  # 0.5 s on a quiet machine


def test_a_second_ctrl_c_raises():
    done = run_script("""
        pressed = []
        def slow(record):
            for _ in range(2):
                pressed.append(record.epoch)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
        try:
            pegasos.solve(X, y, C=1.0, tol=0, seed=0, callbacks=[slow], max_time=30)
        except KeyboardInterrupt:
            print("raised", len(pressed))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    """)
    assert done.stdout.strip() == "raised 2", done.stderr


@pytest.fixture
def data():
    Interruption.forget()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5))
    return X, np.where(X[:, 0] + rng.standard_normal(1000) > 0, 1, -1)


class Pressing(pegasos.DualCoordinate):
    """Presses Ctrl-C once so many rows have been visited."""

    after: int

    def advance(self, problem, state, **budget):
        reached = super().advance(problem, state, **budget | {"work": 100})
        if state.seen >= self.after:
            signal.raise_signal(signal.SIGINT)
        return reached


def pressing(after):
    solver = Pressing()
    object.__setattr__(solver, "after", after)
    return solver


def test_an_interrupt_before_the_first_record_certifies_what_there_is(data):
    result = pegasos.solve(*data, C=1.0, solver=pressing(300), tol=0, seed=0)
    assert result.stop_reason == "interrupted"
    assert result.history["examples"].tolist() == [300]
    assert np.abs(result.w).max() > 0


def interrupted(data, after, grace):
    """The outcome of a run with certificates from the first epoch on."""
    Interruption.forget()
    X, y = data
    problem = make_problem(X, y[:, None], C=1.0, intercept="free")
    options = RunOptions(tol=0, limits=Limits(), seed=0, eager=True, scalar=True, grace=grace)
    outcome = run(problem, pressing(after), options)
    assert outcome.stop_reason == "interrupted"
    return outcome


def test_without_time_for_a_certificate_the_last_certified_model_is_returned(data):
    nothing = interrupted(data, 300, Grace(seconds=0.0))
    assert not nothing.W.any()
    assert nothing.certificate.primal == 1.0
    assert nothing.certificate.dual == 0.0
    later = interrupted(data, 4300, Grace(seconds=0.0))
    assert later.history["examples"][-1] == 4000
    again = pegasos.certify(*data, later.W[:5, 0], later.b[0], later.duals, C=1.0, intercept="free")
    assert again.primal == pytest.approx(later.certificate.primal, rel=1e-12)
    assert later.certificate == later.history.records[-1].certificate


def test_weights_too_large_to_go_through_are_not_certified_after_an_interrupt(data):
    result = interrupted(data, 4300, Grace(weights=0))
    assert result.history["examples"][-1] == 4000
    assert result.certificate == result.history.records[-1].certificate


@pytest.mark.parametrize("solver", ["dual", "sgds", "pegasos"])
def test_wide_weights_are_gone_through_in_blocks(solver, data):
    X, y = data
    Y = np.stack([y, -y, np.roll(y, 1)], axis=1)
    places = np.array([0, 65_535, 65_536, 100_000, 149_999])  # blocks of features end in between
    narrow = sparse.csr_array(X)
    wide = sparse.csr_array(
        (narrow.data, places[narrow.indices], narrow.indptr), shape=(1000, 150_000)
    )
    options = {"lam": [1.0, 0.3, 0.1], "intercept": "none"}
    found = pegasos.solve(wide, Y, solver=solver, tol=0.1, max_epochs=20, seed=0, **options)
    again = pegasos.certify(X, Y, found.w[:, places], 0.0, found.duals, **options)
    np.testing.assert_allclose(found.certificate.primal, again.primal, rtol=1e-12)
    np.testing.assert_allclose(found.certificate.dual, again.dual, rtol=1e-12)


def test_one_interrupt_ends_a_run_and_the_run_around_it(data):
    inner = []

    def solve_inside(record):
        inner.append(pegasos.solve(*data, C=1.0, solver=pressing(300), tol=0, seed=0))

    outer = pegasos.solve(*data, C=1.0, solver="dual", tol=0, seed=0, callbacks=[solve_inside])
    assert inner[0].stop_reason == "interrupted"
    assert outer.stop_reason == "interrupted"
    assert len(inner) == 1


def test_pressing_twice_ends_a_loop_of_fits(data):
    pegasos.solve(*data, C=1.0, solver=pressing(300), tol=0, seed=0)
    with pytest.raises(KeyboardInterrupt):
        pegasos.solve(*data, C=1.0, solver=pressing(300), tol=0, seed=0)


def test_max_time_ends_the_run_in_time():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0, 1, -1)
    began = time.perf_counter()
    result = pegasos.solve(X, y, C=10.0, tol=0, max_time=0.5, seed=0, solver="sgds")
    assert result.stop_reason == "max_time"
    assert result.seconds >= 0.5
    assert time.perf_counter() - began < 30  # a hang, not a slow machine


def test_a_run_in_another_thread_leaves_signals_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    y = np.where(X[:, 0] > 0, 1, -1)
    out = []
    thread = threading.Thread(target=lambda: out.append(pegasos.solve(X, y, C=1.0, seed=0)))
    thread.start()
    thread.join()
    assert out[0].stop_reason == "converged"
