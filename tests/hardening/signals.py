"""Ctrl-C at a random moment: how long until the caller has control again, in seconds.

In a fit a model comes back; in reading and predicting KeyboardInterrupt. The command line is asked
with SIGTERM, too, in a process each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.hardening.campaign import NO_CASE, Campaign, drawn

import pegasos
from pegasos.data import read
from pegasos.data.svmlight import write_svmlight
from pegasos.data.synthetic import make_news
from pegasos.model import file as model_file

SOLVERS = ("pegasos", "sgdr", "sgds", "sgdm", "dual", "newton", "interior")
LATEST = 0.5  # seconds: 99% of all are sooner
_COMMAND = [sys.executable, "-c", "from pegasos.cli.app import main; main()"]


@dataclass
class Work:
    """What can be interrupted, and for how long each takes at most before the signal comes."""

    calls: dict[str, Callable[[], Any]]
    file: Path


def start(folder: Path) -> Work:
    """Sparse rows of many features, dense ones of few, a file, and a model."""
    sizes = {"small": (2_000, 20), "large": (300_000, 50)}
    rng = np.random.default_rng(0)
    dense = {}
    for size, (n, d) in sizes.items():
        X = rng.standard_normal((n, d))
        dense[size] = X, np.where(X[:, 0] + rng.standard_normal(n) > 0, 1, -1)
    news = make_news(60_000, seed=0)
    file = folder / "news.svm"
    write_svmlight(*news, file)
    endless = {"tol": 1e-15, "C": 100.0, "max_epochs": 1e6, "seed": 0}
    calls: dict[str, Callable[[], Any]] = {}
    for size, (X, y) in {**dense, "news": news}.items():
        for solver in SOLVERS:
            if size == "news" and solver in ("newton", "interior"):
                continue
            for jobs in (1, 2):
                calls[f"{solver} {size} {jobs}"] = _bound(
                    pegasos.solve, X, y, solver=solver, n_jobs=jobs, intercept="none", **endless
                )
    X, y = dense["large"]
    classes = rng.integers(4, size=len(y))
    calls["ovr"] = lambda: pegasos.LinearSVC(tol=1e-12, C=100).fit(X, classes)
    calls["crammer_singer"] = lambda: pegasos.LinearSVC(
        multi_class="crammer_singer", tol=1e-12
    ).fit(X, classes)
    calls["cv"] = lambda: pegasos.LinearSVCCV(cv=5, tol=1e-6).fit(X, classes)
    calls["svc"] = lambda: pegasos.SVC(tol=1e-9, C=100).fit(X[:20_000], y[:20_000])
    weights, duals = rng.standard_normal((X.shape[1],)), np.full(len(y), 0.5)
    calls["certify"] = lambda: [
        pegasos.certify(X, y, weights, 0.0, duals, C=1.0) for _ in range(100)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = pegasos.LinearSVC(max_iter=2).fit(X, classes)
    calls["predict"] = lambda: [model.predict(X) for _ in range(100)]
    calls["read"] = lambda: [read(file) for _ in range(100)]
    return Work(calls, file)


def _bound(call: Callable[..., Any], *args: Any, **options: Any) -> Callable[[], Any]:
    return lambda: call(*args, **options)


def interrupt(work: Work, number: int) -> Any:
    """One signal, at a random moment of one call."""
    rng = drawn("interrupt", number)
    name = list(work.calls)[number % len(work.calls)]
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(rng.uniform(0, 1.0), send)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            timer.start()
            result = work.calls[name]()
        except KeyboardInterrupt:
            result = None
        back = time.monotonic()
        timer.cancel()
        timer.join()
    if not sent or sent[0] > back:
        return NO_CASE  # it was done before
    if hasattr(result, "w"):
        assert np.isfinite(result.w).all(), name
        assert result.certificate.primal >= result.certificate.dual, name
    time.sleep(1.0)  # a second Ctrl-C within a second means more
    return back - sent[0]


def command(work: Work, number: int) -> Any:
    """pegasos train, ended by SIGINT or SIGTERM at a random moment: a model that loads, or none."""
    rng = drawn("command", number)
    target = work.file.parent / f"{number}.model"
    process = subprocess.Popen(
        [*_COMMAND, "train", work.file, target, "--tol", "1e-12", "--C", "100", "--threads", "2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    process.stderr.readline()  # it has begun
    time.sleep(rng.uniform(0, 2.0))
    sent = time.monotonic()
    process.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
    process.stderr.read()
    code = process.wait()
    took = time.monotonic() - sent
    assert code in (0, 3, 130), f"exit code {code}"
    if target.exists():
        assert np.isfinite(model_file.read(target).coef).all()
        target.unlink()
    assert not list(work.file.parent.glob(".*tmp*")), "a file was left behind"
    return took


def start_command(folder: Path) -> Work:
    """Only the file."""
    file = folder / "news.svm"
    write_svmlight(*make_news(60_000, seed=0), file)
    return Work({}, file)


def campaigns() -> list[Campaign]:
    """Two."""
    return [
        Campaign(
            "ctrl-c", "Ctrl-C while reading, fitting, certifying, predicting: 99% within 0.5 s",
            start=start, case=interrupt, quick=4, full=200, cpu_seconds=60.0, most_above=LATEST,
        ),
        Campaign(
            "command", "SIGINT and SIGTERM for `pegasos train`: a model that loads, within 0.5 s",
            start=start_command, case=command, quick=1, full=60, cpu_seconds=60.0,
            most_above=LATEST,
        ),
    ]  # fmt: skip
