"""Tensors for tests of kernels: rows, labels, variables of rows in the middle of a run."""

import numpy as np
import torch

from pegasos.sites.device.formulas import Direction, Fixed, Row

KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
# Rows and features: fewer than a tile, and more than all programs take at once.
SHAPES = [(1, 1), (37, 5), (700, 130), (5000, 6)]
LANES = [(1, 1), (1, 5000), (3, 700), (3, 4097)]


def numbers(*shape, seed=0, least=-1.0, most=1.0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.uniform(least, most, shape))


def labels(K, n, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.choice([-1, 0, 1], size=(K, n)).astype(np.int8))


def close(found, expected, rtol=1e-11):
    size = expected.abs().max().item() if expected.numel() else 1.0
    torch.testing.assert_close(found, expected, rtol=rtol, atol=1e-13 * (1 + size))


def part_of_more(X):
    """The same values, with others between the rows."""
    n, d = X.shape
    more = torch.full((n, d + 3), 7.0, dtype=X.dtype)
    more[:, :d] = X
    return more[:, :d]


def variables(K, n, loss, seed=0, weighted=True):
    """Rows and directions in the middle of a run, and what does not change."""
    y = labels(K, n, seed)
    inside = y != 0
    c = numbers(K, n, seed=seed + 1, least=0.5, most=2.0)
    if not weighted:
        c = c[:, :1].expand(-1, n)  # one number for all rows of a lane
    a = numbers(K, n, seed=seed + 2, least=0.05, most=0.45)
    r = numbers(K, n, seed=seed + 3, least=0.01, most=2.0)
    xi = a / (2 * c) if loss.curved else numbers(K, n, seed=seed + 4, least=0.01, most=2.0)
    v = a.clone() if loss.curved else c - a
    g = numbers(K, n, seed=seed + 5, least=-2.0)
    scale = numbers(K, n, seed=seed + 6, least=0.01)
    ones = (torch.where(inside, value, 1.0) for value in (a, v, r, xi))
    row = Row(*ones, torch.where(inside, g, -1.0), torch.where(inside, scale, 0.0))
    parts = [numbers(K, n, seed=seed + 7 + i) * 0.1 for i in range(4)]
    if loss.curved:
        parts[1] = 0 * parts[1]
    now = Direction(*(torch.where(inside, part, 0.0) for part in parts))
    c = c if not weighted else torch.where(inside, c, 1.0)
    return row, now, Fixed(y, c, loss)
