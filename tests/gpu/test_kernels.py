"""Every kernel that reads rows, interpreted on the CPU, does what plain tensors do; and runs do."""

import numpy as np
import pytest
import torch
from tests.common.toys import toy
from tests.gpu.drawn import KINDS, SHAPES, close, numbers, part_of_more

import pegasos
from pegasos.gpu import predicting
from pegasos.sites.device import formulas, gram, kernels, products
from pegasos.sites.device.kernels import certify, interior, newton
from pegasos.sites.device.kernels import rows as row_kernels

pytestmark = pytest.mark.usefixtures("interpreted")


# Products with rows, and sums of rows.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_products_and_norms(n, d, kind):
    X = part_of_more(numbers(n, d).to(kind))
    assert kernels.serve(X)
    W = numbers(1, d, seed=1)
    out = torch.empty((1, n), dtype=torch.float64)
    row_kernels.products(X, W, out)
    close(out, W @ X.double().T)
    close(row_kernels.squared_norms(X), (X.double() ** 2).sum(1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_products_and_sums_from_rows_read_once(n, d, count, kind):
    X = part_of_more(numbers(n, d).to(kind))
    W, T = numbers(1, d, seed=1), numbers(count, n + 50, seed=2)[:, 20 : n + 20]
    for find in (row_kernels.products_and_sums, products.products_and_sums):
        margins, sums = find(X, W, T)
        close(margins, W @ X.double().T)
        close(sums, T @ X.double())
    kernels.INTERPRETED = False
    margins, sums = products.products_and_sums(X, W, T)
    close(margins, W @ X.double().T)
    close(sums, T @ X.double())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_sums_of_rows(n, d, count, kind):
    X = part_of_more(numbers(n, d).to(kind))
    T = numbers(count, n + 50, seed=2)[:, 20 : n + 20]
    assert count <= kernels.MOST_SUMS
    close(row_kernels.sums(X, T), T @ X.double())
    some = torch.from_numpy(np.random.default_rng(0).permutation(n)[: (n + 1) // 2])
    close(row_kernels.sums(X, T, some), T[:, some] @ X[some].double())
    if count == 1:  # rows without a factor are not read
        X[::2], T[:, ::2] = torch.nan, 0.0
        kept = torch.where(T[0, :, None] != 0, X, 0).double()
        close(row_kernels.sums(X, T, sparse=True), T @ kept)
        X[::2] = 0.0
    # By plain tensors.
    close(products.sums(X, T, exact=True, some=some), T[:, some] @ X[some].double())
    kernels.INTERPRETED = False
    close(products.sums(X, T, exact=True, some=some), T[:, some] @ X[some].double())
    close(products.sums(X, T, exact=True), T @ X.double())


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(37, 5), (700, 130), (2000, 6)])
def test_rows_are_rounded_to_one_or_two_numbers(n, d, kind, some):
    X = part_of_more(numbers(n, d).to(kind))
    rows = torch.from_numpy(np.random.default_rng(0).permutation(n)[: n // 2]) if some else None
    root = numbers(n // 2 if some else n, seed=3, least=0.0, most=30.0)
    exact = (X if rows is None else X[rows]).double() * root[:, None]
    high, low = row_kernels.scaled(X, root, rows, True).split(d, dim=1)
    assert high.dtype == low.dtype == torch.bfloat16
    assert high.shape == exact.shape
    ulp = 2.0**-7  # of bfloat16, relative; the interpreter cuts digits off
    assert bool(((high.double() - exact).abs() <= ulp * exact.abs() + 1e-30).all())
    both = high.double() + low.double()
    assert bool(((both - exact).abs() <= 1.01 * ulp**2 * exact.abs() + 1e-30).all())
    assert bool(((high.double() - exact).abs() > 0).any())
    assert torch.equal(row_kernels.scaled(X, root, rows, False), high)
    # Plain tensors round to the nearest.
    kernels.INTERPRETED = False
    plain, rest = gram.scaled(X, root, rows, doubled=True).split(d, dim=1)
    assert bool(((plain.double() - exact).abs() <= ulp / 2 * 1.01 * exact.abs() + 1e-30).all())
    whole = plain.double() + rest.double()
    assert bool(((whole - exact).abs() <= 1e-4 * exact.abs() + 1e-30).all())


@pytest.mark.parametrize("rows", [1, 700, 3000])
@pytest.mark.parametrize("n", [1, 37, 5000])
def test_rows_drawn_by_their_mass(n, rows):
    scale, norms = numbers(n, seed=50, least=-1.0).clamp(min=0.0), numbers(n, seed=51, least=0.1)
    draws, total = numbers(rows, seed=52, least=0.0), scale @ norms
    found = gram.drawn(scale, norms, total, draws)
    kernels.INTERPRETED = False
    for one, other in zip(found, gram.drawn(scale, norms, total, draws), strict=True):
        close(one, other)


@pytest.mark.parametrize(("B", "d"), [(1, 1), (3, 5), (2, 33), (5, 64)])
def test_products_put_together(B, d):
    parts, out = numbers(B, d, 2 * d).float(), numbers(d + 1, d + 1)
    mine, plain = out.clone(), out.clone()
    gram._put_together(parts, mine[:-1, :-1])
    kernels.INTERPRETED = False
    gram._put_together(parts, plain[:-1, :-1])
    close(mine, plain)


def test_factors_of_any_kind_and_layout():
    X, T = numbers(300, 6), numbers(2, 700, seed=1)
    for some in (T[:, 100:400], T[:, :600:2], T[:, 100:400].float(), T.float()[:, 100:400]):
        close(row_kernels.sums(X, some), some.double() @ X)


def test_which_rows_are_served():
    X = numbers(50, 8)
    assert kernels.serve(X)
    assert kernels.serve(X[:, :5])
    assert not kernels.serve(X.T)  # columns are not side by side
    assert not kernels.serve(X[:, ::2])
    assert kernels.serve(numbers(2, 1024))
    assert not kernels.serve(numbers(2, 1025))
    kernels.INTERPRETED = False
    assert not kernels.enabled(X)
    assert formulas.formulas_for(X, "interior") is formulas


def test_scores_do_not_depend_on_how_weights_are_stored():
    X, coef = numbers(40, 6), numbers(6, 3, seed=1).T  # as a model of several classes has them
    found = predicting.scores_on_device(X, coef[1:2], torch.zeros(1))
    close(found, X @ coef[1:2].T)


# All together.
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("solver", ["interior", "newton"])
def test_a_run_by_kernels_is_that_by_plain_tensors(monkeypatch, solver, kind, loss):
    data = toy(300, 6, seed=3)
    X, y = torch.from_numpy(data.X).to(kind), data.Y[:, 0]
    options = {"C": 0.5, "loss": loss, "device": "cpu", "solver": solver, "tol": 1e-4, "seed": 0}
    used = []
    steps = ((interior, "point"), (newton, "smoothed_point"))
    for module, name in (*steps, (interior, "slopes"), (certify, "gap_sums")):
        kernel = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, name=name, kernel=kernel: used.append(name) or kernel(*a)
        )
    found = pegasos.solve(X, y, **options)
    point = "point" if solver == "interior" else "smoothed_point"
    assert set(used) == {"slopes", "gap_sums", point}
    monkeypatch.setattr(kernels, "INTERPRETED", False)
    count = len(used)
    plain = pegasos.solve(X, y, **options)
    assert len(used) == count
    assert found.stop_reason == plain.stop_reason == "converged"
    assert found.epochs == plain.epochs
    assert found.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-9)
    assert found.certificate.dual == pytest.approx(plain.certificate.dual, rel=1e-9)
    np.testing.assert_allclose(found.w, plain.w, rtol=1e-6, atol=1e-8)


def test_several_lanes_with_weights_by_kernels():
    data = toy(200, 5, 3, seed=2, absent=0.3)
    options = {"C": [0.1, 1.0, 10.0], "sample_weight": data.weight}
    found = pegasos.solve(
        data.X, data.Y, device="cpu", solver="interior", tol=1e-4, seed=0, **options
    )
    again = pegasos.certify(
        data.X, data.Y, found.w, found.b, found.duals, intercept="free", **options
    )
    assert (again.relative_gap <= 1e-4).all()
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)
