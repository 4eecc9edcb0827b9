"""SIGKILL at random moments, a third of them inside a write: what is left always goes on.

Each life of a process resumes what the last one left, and is killed at a random moment of its own,
until one comes to the end: with the same bits as a process that nobody killed.
"""

import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

LIFE = textwrap.dedent("""
    import os, signal, sys, threading, time
    import numpy as np, pegasos
    from pegasos.run.checkpoint import container

    kind, folder, out, moment = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    rng = np.random.default_rng(0)
    n = 200_000 if kind in ("interior", "newton") else 20_000
    X = rng.standard_normal((n, 30)) + 0.5
    noise = rng.standard_normal((n, 3))
    y = np.argmax(X[:, :3] + noise, axis=1)
    saving = {"checkpoint": folder, "resume": folder, "checkpoint_every": 0.03}

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    class Fatal:
        def __init__(self, file, left):
            self.file, self.left = file, left
        def write(self, data):
            part = memoryview(data).cast("B")[: max(0, self.left)]
            self.file.write(part)
            self.left -= len(memoryview(data).cast("B"))
            if self.left <= 0:
                self.file.flush()
                die()
        def __getattr__(self, name):
            return getattr(self.file, name)

    if moment >= 0:
        chance = np.random.default_rng(moment)
        if moment % 3 == 0:
            plain, count = container.atomic_write, [int(chance.integers(1, 6))]
            from contextlib import contextmanager
            @contextmanager
            def fatal(path, **options):
                count[0] -= 1
                with plain(path, **options) as file:
                    size = 10 ** chance.uniform(0, 6)
                    yield Fatal(file, int(size)) if count[0] == 0 else file
            container.atomic_write = fatal
        else:
            threading.Timer(chance.uniform(0, 0.25), die).start()

    if kind == "side by side":
        model = pegasos.LinearSVC(
            C=10, solver="dual", tol=1e-7, random_state=0, n_jobs=2, **saving
        ).fit(X, y)
        found = np.concatenate([model.coef_.ravel(), model.intercept_])
    elif kind == "kernel":
        model = pegasos.SVC(C=10, tol=1e-5, random_state=0, n_jobs=1, **saving)
        model.fit(X[:3000, :6], y[:3000])
        found = np.concatenate([model.dual_coef_.ravel(), model.intercept_])
    else:
        limit = {"max_epochs": 4000} if kind == "sgds" else {}
        result = pegasos.solve(
            X, y == 0, C=10, solver=kind, tol=1e-7, seed=0, n_jobs=1, **limit, **saving
        )
        found = np.append(result.w, result.b)
    np.save(out, found)
    os._exit(0)  # a timer may be left
""")


def life(kind, folder, out, moment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", LIFE, kind, str(folder), str(out), str(moment)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def killed(kind, tmp_path, kills):
    """Kill that many lives; every training that comes to its end must have the same bits."""
    alone = life(kind, tmp_path / "alone.ckpt", tmp_path / "alone.npy", -1)
    assert alone.returncode == 0, alone.stderr
    expected = np.load(tmp_path / "alone.npy")
    number = dead = 0
    while dead < kills:
        number += 1
        folder, out = tmp_path / f"{number}.ckpt", tmp_path / f"{number}.npy"
        while not out.exists():
            done = life(kind, folder, out, dead)
            if done.returncode == -signal.SIGKILL:
                dead += 1
            else:
                assert done.returncode == 0, done.stderr
            if dead >= kills and not out.exists():
                assert life(kind, folder, out, -1).returncode == 0
        assert np.load(out).tobytes() == expected.tobytes(), number


@pytest.mark.parametrize(
    ("kind", "kills"), [("dual", 8), ("sgds", 6), ("side by side", 6), ("kernel", 6)]
)
def test_killed_at_random_moments(kind, kills, tmp_path):
    killed(kind, tmp_path, kills)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("dual", 60),
        ("sgds", 40),
        ("side by side", 40),
        ("kernel", 40),
        ("interior", 30),
        ("newton", 30),
    ],
)
def test_killed_at_two_hundred_moments(kind, kills, tmp_path):
    killed(kind, tmp_path, kills)
