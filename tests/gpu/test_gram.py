"""Matrices of samples: rows that are drawn, and what they add up to."""

import numpy as np
import torch

from pegasos.sites.device.gram import add_gram, add_some, drawn, sampled


def test_a_sample_is_right_on_average_and_has_all_heavy_rows():
    rng = np.random.default_rng(0)
    scale = torch.from_numpy(rng.uniform(0.5, 1.0, (2, 1000)))
    scale[:, :3] = 1000.0
    scale[1, 500:] = 0.0
    norms = torch.from_numpy(rng.uniform(0.5, 2.0, 1000))
    total = torch.zeros_like(scale)
    sizes = []
    for _ in range(2000):
        some = sampled(scale, norms, 60, torch.from_numpy(rng.uniform(size=1000)))
        sizes.append(torch.count_nonzero(some, dim=1).tolist())
        assert torch.equal(some[:, :3], scale[:, :3])
        total += some
    np.testing.assert_allclose(np.mean(sizes, axis=0), 60, rtol=0.1)
    assert torch.equal(total[1, 500:], torch.zeros(500, dtype=torch.float64))
    mean = (total / 2000 * norms).sum(1)
    np.testing.assert_allclose(mean, (scale * norms).sum(1), rtol=0.01)
    assert sampled(scale, norms, 500, torch.zeros(1000)) is scale  # half of the rows: all


def test_rows_drawn_in_order_are_right_on_average_and_heavy_ones_come_as_often_as_they_weigh():
    rng = np.random.default_rng(0)
    scale = torch.from_numpy(rng.uniform(0.5, 1.0, 1000))
    scale[:3] = 1000.0
    scale[500:] = 0.0
    norms = torch.from_numpy(rng.uniform(0.5, 2.0, 1000))
    mass = scale * norms
    total = torch.zeros_like(scale)
    for _ in range(2000):
        some, weights = drawn(scale, norms, mass.sum(), torch.from_numpy(rng.uniform(size=60)))
        assert len(some) == 60
        assert bool((some.diff() >= 0).all())
        times = torch.bincount(some[some < 3], minlength=3)
        assert bool(((times - 60 * mass[:3] / mass.sum()).abs() <= 2).all())
        total.index_add_(0, some, weights)
    assert torch.equal(total[500:], torch.zeros(500, dtype=torch.float64))
    np.testing.assert_allclose((total / 2000 * norms).sum(), mass.sum(), rtol=1e-9)
    np.testing.assert_allclose((total / 2000)[:3], scale[:3], rtol=0.01)
    np.testing.assert_allclose((total / 2000)[3:500].sum(), scale[3:500].sum(), rtol=0.1)


def test_no_row_without_mass_is_drawn_however_late_the_draws_are():
    norms = torch.ones(20_000, dtype=torch.float64)
    norms[-1] = 0.0
    scale = torch.ones_like(norms)
    scale[-2] = 0.0
    for rows in (1536, 3000, 5000):  # float32 would round up at some
        late = torch.full((rows,), 1 - 2.0**-40, dtype=torch.float64)
        some, weights = drawn(scale, norms, scale @ norms, late)
        assert int(some.max()) == 20_000 - 3
        assert float(weights.max()) < 20


def test_drawing_from_rows_that_weigh_nothing_adds_nothing():
    X, nothing = torch.ones((5, 2), dtype=torch.float64), torch.zeros(5, dtype=torch.float64)
    some, weights = drawn(nothing, nothing, nothing.sum(), torch.full((3,), 0.5))
    out = torch.zeros((3, 3), dtype=torch.float64)
    add_some(X, some, weights, 1.0, 0, out)
    assert float(out.abs().max()) < 1e-12


def test_matrices_are_those_of_plain_products():
    rng = np.random.default_rng(1)
    X = torch.from_numpy(rng.normal(size=(300, 5)))
    scales = torch.from_numpy(rng.uniform(size=(3, 300)))
    scales[1, 40:] = 0.0  # few: they are gathered
    scales[2] = 0.0
    out = torch.zeros((3, 6, 6), dtype=torch.float64)
    add_gram(X, scales, 0.5, 2, out)
    Z = torch.cat([X, torch.full((300, 1), 0.5, dtype=torch.float64)], dim=1)
    for k in range(3):
        np.testing.assert_allclose(out[k], Z.T @ (scales[k][:, None] * Z), rtol=1e-12, atol=1e-12)
