"""Plain NumPy transcriptions of the papers' pseudo-code, one lane, no cleverness.

Rows with y = 0 are not part of the lane. ``c`` are the costs, ``lam`` is s / (rows of the lane).
Every function is a generator that yields its vectors after each step (w, or u for SGD), so that a
test can compare step by step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pegasos(
    X: Floats,
    y: NDArray[np.int8],
    c: Floats,
    lam: float,
    batches: Iterable[Sequence[int]],
    *,
    w1: Floats,
    project: bool = True,
    on_loss: bool = False,
) -> Iterator[Floats]:
    """Pegasos: figure 1 of the paper, with a mini-batch A per step."""
    w, t = w1.copy(), 1
    radius = np.sqrt(c.sum() / (lam * np.count_nonzero(y)))
    for batch in batches:
        A = [i for i in batch if y[i] != 0]
        violators = [i for i in A if y[i] * (w @ X[i]) < 1]
        if A and (violators or not on_loss):
            eta = 1 / (lam * t)
            step = np.zeros_like(w)
            for i in violators:
                step += c[i] * y[i] * X[i]
            w = (1 - eta * lam) * w + eta / len(A) * step
            norm = np.linalg.norm(w)
            if project and norm > radius:
                w = w * (radius / norm)
            t += 1
        yield w


def margin_perceptron(
    X: Floats,
    y: NDArray[np.int8],
    c: Floats,
    lam: float,
    rows: Iterable[int],
    *,
    multiplicity: int = 1,
) -> Iterator[tuple[Floats, int]]:
    """SGD-r, SGD-s and SGD-m: (u, t) after each row; w = u / (lam t)."""
    u, t = np.zeros(X.shape[1]), 0
    for i in rows:
        if y[i] != 0:
            for _ in range(multiplicity):
                if y[i] * (u @ X[i]) <= lam * t:
                    u = u + c[i] * y[i] * X[i]
                t += 1
        yield u, t


def dual_coordinate(
    X: Floats, y: NDArray[np.int8], c: Floats, s: float, rows: Iterable[int]
) -> Iterator[tuple[Floats, Floats]]:
    """Dual coordinate ascent: (w, a) after each row."""
    a = np.zeros(len(y))
    for i in rows:
        w = (a * y) @ X / s
        if y[i] != 0:
            q = X[i] @ X[i]
            slack = 1 - y[i] * (w @ X[i])
            best = a[i] + s * slack / q if q > 0 else np.inf * slack
            a[i] = min(c[i], max(0.0, best))
        yield (a * y) @ X / s, a.copy()


def primal(
    X: Floats,
    y: NDArray[np.int8],
    c: Floats,
    s: float,
    N: float,
    w: Floats,
    b: float = 0.0,
    *,
    power: int = 1,
) -> float:
    """P(w, b), with w the penalised vector; of the hinge to that power."""
    losses = np.maximum(0, 1 - y * (X @ w + b)) ** power
    return float((s / 2 * w @ w + (c * losses).sum()) / N)


def optimum(
    X: Floats,
    y: NDArray[np.int8],
    c: Floats,
    s: float,
    *,
    free: bool = False,
    power: int = 1,
) -> tuple[Floats, float]:
    """The dual optimum a and the multiplier of sum a y = 0, which is b, for small n.

    A plain primal-dual interior point method on
        min 1/2 a'Qa - sum a,  0 <= a <= c  [, y'a = 0],   Q = (y y') * (X X') / s.
    The hinge to the power of 2 has 1 / 2c added to Q's diagonal, and no upper bound.
    """
    unbounded = power == 2
    member = (y != 0) & (c > 0)
    X, sign, box = X[member], y[member].astype(float), c[member]
    Q = (X @ X.T) * np.outer(sign, sign) / s
    n = box.size
    a, lower, upper, b = box / 2, np.ones(n), np.ones(n), 0.0
    if unbounded:
        Q, upper = Q + np.diag(1 / (2 * box)), np.zeros(n)
    for _ in range(200):
        room = np.ones(n) if unbounded else box - a
        mu = (lower @ a + upper @ room) / (n if unbounded else 2 * n)
        stationarity = Q @ a - 1 + b * sign * free - lower + upper
        balance = sign @ a if free else 0.0
        if mu < 1e-13 and np.abs(stationarity).max() < 1e-10 and abs(balance) < 1e-10:
            break
        target = 0.1 * mu
        H = Q + np.diag(lower / a + upper / room)
        above = np.zeros(n) if unbounded else target / room
        rhs = -(stationarity + lower - target / a - upper + above)
        da = np.linalg.solve(H, rhs)
        db = 0.0
        if free:
            along = np.linalg.solve(H, sign)
            db = float((balance + sign @ da) / (sign @ along))
            da = da - db * along
        dlower = target / a - lower - lower / a * da
        dupper = above - upper + upper / room * da
        length = 1.0
        bounds = [(a, da), (lower, dlower)] + [(room, -da), (upper, dupper)] * (not unbounded)
        for value, change in bounds:
            falling = change < 0
            if falling.any():
                length = min(length, 0.99 * float((-value[falling] / change[falling]).min()))
        a, b = a + length * da, b + length * db
        lower, upper = lower + length * dlower, upper + length * dupper
    duals = np.zeros(len(y))
    duals[member] = a
    return duals, b


def kernel_pegasos(
    K: Floats, y: Floats, c: Floats, lam: float, batches: Iterable[Sequence[int]]
) -> Iterator[tuple[Floats, Floats]]:
    """Pegasos with a kernel: the counts, and f of all rows, after each step."""
    counts = np.zeros(len(y))
    for t, batch in enumerate(batches, start=1):
        wrong = []
        for i in batch:
            total = 0.0
            for j in range(len(y)):
                total += c[j] * counts[j] * y[j] * K[i, j]
            if y[i] * total / (lam * len(batch) * t) < 1:
                wrong.append(i)
        for i in wrong:
            counts[i] += 1
        yield counts.copy(), K @ (c * counts * y) / (lam * len(batch) * t)
