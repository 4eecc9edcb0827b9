"""Ctrl-C and time limits end a run quickly, with a model whose certificate holds."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import pegasos

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np, pegasos
rng = np.random.default_rng(0)
X = rng.standard_normal((200_000, 40))
y = np.where(X[:, 0] + 3 * rng.standard_normal(200_000) > 0, 1, -1)
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
        sent = []
        def press():
            time.sleep(1.0)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        r = pegasos.solve(X, y, C=100.0, solver={name}, tol=0, seed=0, max_time=60)
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


def test_a_second_ctrl_c_raises():
    done = run_script("""
        def press():
            time.sleep(1.0)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        def slow(record):
            for _ in range(100):
                if record.epoch > 1:
                    time.sleep(0.1)
                    os.kill(os.getpid(), signal.SIGINT)
        try:
            pegasos.solve(X, y, C=1.0, tol=0, seed=0, callbacks=[slow], max_time=30)
        except KeyboardInterrupt:
            print("raised")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    """)
    assert done.stdout.strip() == "raised", done.stderr


def test_an_interrupt_before_the_first_record_still_leaves_a_model():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 5))
    y = np.where(X[:, 0] > 0, 1, -1)
    for delay in (0.0, 0.001, 0.01):
        timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pegasos_interruptible(timer):
            result = pegasos.solve(X, y, C=1e6, tol=0, seed=0, max_time=5)
        assert result.stop_reason in ("interrupted", "max_time")
        assert np.isfinite(result.certificate.primal)


class pegasos_interruptible:  # noqa: N801
    """Starts the timer; an interrupt that lands just outside the solver is not the test's."""

    def __init__(self, timer):
        self.timer = timer

    def __enter__(self):
        self.previous = signal.signal(signal.SIGINT, lambda *_: None)
        self.timer.start()

    def __exit__(self, *_):
        self.timer.join()
        signal.signal(signal.SIGINT, self.previous)


def test_max_time_ends_the_run_in_time():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = np.where(X[:, 0] + rng.standard_normal(20_000) > 0, 1, -1)
    began = time.perf_counter()
    result = pegasos.solve(X, y, C=10.0, tol=0, max_time=0.5, seed=0)
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
