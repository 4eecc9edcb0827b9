"""A process that holds a data set in one peer's format and fits when told to.

Times are taken inside it, around the fit alone. A run over the cap is killed with its process; the
next one gets a new process. The number of threads is in its environment before anything is
imported.
"""

import multiprocessing
import os
import signal
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager

import numpy as np

from benchmarks import peers
from benchmarks.arrays import load_rows
from benchmarks.objective import primal

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
)  # fmt: skip
_READY_SECONDS = 900  # to load, to convert, to evaluate: not part of any time, but not for ever
_WARM_ROWS = 256
_DIVERGED = 1e100  # stands for a number that JSON cannot hold


class PeerError(Exception):
    """A peer raised an error, or its process died; the text says which."""


class Process:
    """A process that answers calls; ended when the answer takes too long.

    ``serve(connection, *arguments)`` runs in it, a group of its own, so that a program which it
    starts ends with it.
    """

    def __init__(self, serve, *arguments, threads):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        with thread_environment(threads):
            self.process = context.Process(
                target=_in_own_group, args=(serve, theirs, *arguments), daemon=True
            )
            self.process.start()
        theirs.close()

    def send(self, message):
        self.connection.send(message)

    def answer(self, seconds):
        """The next message, or None if it does not come in time; the process is then ended."""
        try:
            if self.connection.poll(seconds):
                kind, content = self.connection.recv()
                if kind == "error":
                    raise PeerError(content)
                return content
        except (EOFError, ConnectionResetError):
            self.end()
            raise PeerError(f"the process died: exit code {self.process.exitcode}") from None
        self.end()
        return None

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            self.process.kill()  # it had no time to make its group
        self.process.join()
        self.connection.close()


class Worker:
    """One peer on one data set with so many threads; starts its process when first used."""

    def __init__(self, peer_name, folder, threads):
        self.peer_name, self.folder, self.threads = peer_name, folder, threads
        self.process = None
        self.convert_seconds = None

    def fit(self, C, tolerance, cap):
        """A run as a dict with seconds and primal; None if it took more than ``cap`` seconds."""
        process = self._started()
        process.send((C, tolerance))
        seconds = process.answer(cap + peers.by_name(self.peer_name).unclocked)
        run = None if seconds is None else process.answer(_READY_SECONDS)
        if run is None:
            self.process = None
            return None
        return run if run["seconds"] <= cap else None

    def close(self):
        if self.process is not None:
            self.process.end()
            self.process = None

    def _started(self):
        if self.process is None:
            self.process = Process(
                _serve_fits, self.peer_name, self.folder, self.threads, threads=self.threads
            )
            seconds = self.process.answer(_READY_SECONDS)
            if seconds is None:
                self.process = None
                raise PeerError(f"not ready after {_READY_SECONDS} s")
            if self.convert_seconds is None:
                self.convert_seconds = seconds
        return self.process


@contextmanager
def thread_environment(threads):
    """The environment that a process with so many threads is started in."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _in_own_group(serve, connection, *arguments):
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    warnings.simplefilter("ignore")
    try:
        serve(connection, *arguments)
    except EOFError:
        pass  # the parent is gone
    except Exception:
        connection.send(("error", traceback.format_exc()))


def _serve_fits(connection, peer_name, folder, threads):
    tempfile.tempdir = str(folder)  # the parent removes it, also when this process is killed
    peer = peers.by_name(peer_name)
    X, y = load_rows(folder)
    _warm_up(peer, X, y, threads)
    began = time.perf_counter()
    data = peer.convert(X, y)
    connection.send(("ready", time.perf_counter() - began))
    while True:
        C, tolerance = connection.recv()
        began = time.perf_counter()
        fit = peer.fit(data, C, tolerance, threads)
        seconds = time.perf_counter() - began if fit.seconds is None else fit.seconds
        connection.send(("fitted", seconds))
        connection.send(("run", _run(X, y, C, tolerance, fit, seconds)))


def _warm_up(peer, X, y, threads):
    """Import and compile whatever the peer does at first use."""
    rows = np.sort(np.concatenate([np.flatnonzero(y == s)[:_WARM_ROWS] for s in (-1, 1)]))
    peer.fit(peer.convert(X[rows], y[rows]), 1.0, peer.tolerances[0], threads)


def _run(X, y, C, tolerance, fit, seconds):
    objective = primal(X, y, fit.w, 1 / (C * y.size))
    run = {
        "tolerance": tolerance,
        "seconds": seconds,
        "primal": objective if np.isfinite(objective) else _DIVERGED,
    }
    if fit.gap is not None:
        run |= {"gap": min(fit.gap, _DIVERGED), "dual": fit.dual}
    if fit.note:
        run["note"] = fit.note
    if fit.last:
        run["last"] = True
    return run
