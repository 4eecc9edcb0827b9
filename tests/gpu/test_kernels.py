"""Every kernel, interpreted on the CPU, does what plain tensors do."""

import numpy as np
import pytest
import torch
from tests.common.toys import toy

import pegasos
from pegasos.gpu import predicting
from pegasos.sites.device import formulas, gram, kernels, newton_rows, products
from pegasos.sites.device.certify import SUMS
from pegasos.sites.device.formulas import Direction, Fixed, Row
from pegasos.sites.device.kernels import certify, interior, newton
from pegasos.sites.device.kernels import rows as row_kernels
from pegasos.sites.device.losses import LOSSES

KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
# Rows and features: fewer than a tile, and more than all programs take at once.
SHAPES = [(1, 1), (37, 5), (700, 130), (5000, 6)]
LANES = [(1, 1), (1, 5000), (3, 700), (3, 4097)]


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    monkeypatch.setattr(kernels, "INTERPRETED", True)


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


# The formulas of the interior point method.
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


def copies(given):
    """The same tensors, as part of larger ones like those of a block of rows."""
    K, n = given[0].shape
    found = []
    for one in given:
        larger = torch.full((K, n + 11), 3.0, dtype=one.dtype)
        larger[:, 4 : n + 4] = one
        found.append(larger[:, 4 : n + 4])
    return type(given)(*found)


def both(call, *given):
    """What kernels and formulas return, and leave of the tensors they were given."""
    results = []
    for module in (interior, formulas):
        own = [copies(one) if isinstance(one, Row | Direction) else one for one in given]
        found = getattr(module, call)(*own)
        found = found if isinstance(found, tuple) else (found,)
        left = [t for one in own if isinstance(one, Row | Direction) for t in one]
        results.append([*found, *left])
    for mine, plain in zip(*results, strict=True):
        assert mine.dtype == plain.dtype
        assert mine.shape == plain.shape
        close(mine, plain, rtol=1e-11 if mine.dtype == torch.float64 else 2e-7)
    return results[0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize(("K", "n"), LANES)
def test_the_passes_of_the_interior_point_method(K, n, loss, weighted):
    row, now, fixed = variables(K, n, loss, weighted=weighted)
    _, other, _ = variables(K, n, loss, seed=50)
    margins, shift = numbers(K, n, seed=20), numbers(K, 1, seed=21)
    step = numbers(K, 1, seed=22, least=0.1, most=0.9)
    mu = numbers(K, 1, seed=23, least=0.01, most=0.3)
    share = numbers(K, 1, seed=25, least=0.01, most=1.0)
    p, q = numbers(2, K, 1, seed=24, least=0.2, most=1.0)
    for kind in (torch.float64, torch.float32):
        factors, sums, *left = both("point", row, now, fixed, share, step, kind)
        assert factors.shape == (3, K, n)
        assert sums.shape == (7, K)
        assert bool((left[0] - row.a).abs().max() > 0) == bool((fixed.y != 0).any())  # it stepped
        both("affine", row, now, fixed, margins, shift, kind)
        both("correct", row, now, other, fixed, share, mu, p, q, kind)
    both("direction", row, now, fixed, share, mu, margins, shift)


def test_a_trial_adds_up_losses_along_the_direction():
    row, now, fixed = variables(3, 700, LOSSES["hinge"])
    factors = torch.tensor([0.0, 0.5, 4.0], dtype=torch.float64)
    found = formulas.trial(row, now, fixed, factors)
    inside, y = fixed.y != 0, fixed.y
    for t, losses in zip(factors, found, strict=False):
        each = fixed.c * (-row.g - t * now.along).clamp(min=0.0)
        close(losses, torch.stack([a[i].sum() for a, i in zip(each, inside, strict=True)]))
    for which, sums in ((y > 0, found[3]), (y < 0, found[4])):
        each = fixed.c * now.along
        close(sums, torch.stack([a[i].sum() for a, i in zip(each, which, strict=True)]))


def test_rows_that_are_not_in_a_lane_never_change():
    for loss in LOSSES.values():
        row, now, fixed = variables(2, 600, loss)
        outside = fixed.y == 0
        assert int(outside.sum()) > 100
        step = torch.full((2, 1), 0.5, dtype=torch.float64)
        factors, _, a, v, r, xi, g, scale, *_ = both(
            "point", row, now, fixed, torch.ones_like(step), step, torch.float64
        )
        assert bool((factors[:, outside] == 0).all())
        for left, value in ((a, 1), (v, 1), (r, 1), (xi, 1), (g, -1), (scale, 0)):
            assert bool((left[outside] == value).all())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize(("K", "n"), LANES)
def test_slopes_of_the_loss_by_the_intercept(K, n, loss, weighted):
    _, _, fixed = variables(K, n, loss, weighted=weighted)
    margins = numbers(K, n, seed=30, least=-2.0, most=2.0)
    for b in (torch.zeros(K, dtype=torch.float64), numbers(K, seed=31)):
        found = interior.slopes(margins, fixed, b)
        close(found, formulas.slopes(margins, fixed, b))
        if loss.curved or n < 100:
            continue
        expected = [  # by hand
            -(fixed.c[k] * fixed.y[k])[fixed.y[k] * (margins[k] + b[k]) < 1].sum() for k in range(K)
        ]
        close(found, torch.stack(expected))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize(("K", "n"), LANES)
def test_the_sums_of_a_certificate(K, n, loss, weighted):
    _, _, fixed = variables(K, n, loss, weighted=weighted)
    margins = numbers(K, n, seed=32, least=-2.0, most=2.0)
    norms = numbers(n, seed=33, least=0.0, most=9.0)
    duals = torch.where(fixed.y != 0, numbers(K, n, seed=34, least=0.0), 0.0)
    duals[:, ::3] = 0.0
    found, added = certify.gap_sums(margins, duals, norms, fixed)
    expected, also = formulas.gap_sums(margins, duals, norms, fixed)
    close(found, expected)
    assert min(added, also) >= n**0.5 / 2  # however they are grouped
    lost = dict(zip(SUMS, found, strict=True))
    assert torch.equal(lost["support"], (duals != 0).sum(1).double())
    # A margin that is no number is not passed over, if its row is in the lane.
    margins[:, -1] = torch.nan
    found, _ = certify.gap_sums(margins, duals, norms, fixed)
    assert torch.equal(found[0].isnan(), fixed.y[:, -1] != 0)


# The formulas of Newton's method.
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("n", [1, 700, 9000])
def test_the_passes_of_newtons_method(n, loss, weighted):
    _, _, lanes = variables(1, n, loss, weighted=weighted)
    fixed = lanes.of(0)
    slack, change = numbers(n, seed=40, least=-2.0, most=2.0), numbers(n, seed=41)
    for before in (0.0, 0.7):
        mine, plain = slack.clone(), slack.clone()
        norms = numbers(n, seed=44, least=0.0)
        found = newton.smoothed_point(mine, change, norms, fixed, 0.4, before, 0.3, 0.5)
        expected = formulas.smoothed_point(plain, change, norms, fixed, 0.4, before, 0.3, 0.5)
        close(mine, plain)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
        outside = fixed.y == 0
        assert bool((found[0][outside] == 0).all())
        assert bool((found[1][outside] == 0).all())
        assert int(found[2][4]) == int(((mine.abs() < 0.5) & ~outside).sum())
    for step in (0.0, 0.4, 3.0):
        close(
            newton.smoothed_line(slack, change, fixed, step, 0.3),
            formulas.smoothed_line(slack, change, fixed, step, 0.3),
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_a_look_at_all_rows_reads_them_once(n, d, loss, sides, kind):
    _, _, lanes = variables(1, n, loss, weighted=True)
    fixed = lanes.of(0)
    X, W = part_of_more(numbers(n, d).to(kind)), numbers(1, d, seed=1)
    found = []
    for kernels.INTERPRETED in (True, False):
        margins, duals = (torch.full((n,), torch.nan, dtype=torch.float64) for _ in range(2))
        sums = newton_rows.seen(X, W, 0.2, fixed, 0.7, sides, margins, duals)
        close(margins, (W @ X.double().T)[0])
        slack = 1 - fixed.y * (margins + 0.2)
        expected = loss.rounded_dual(slack, fixed.c, 0.7)
        close(duals, torch.where(fixed.y == 0, 0.0, expected))
        found.append(sums if sides == 1 else sums[:1] - sums[1:])
        close(found[-1], (fixed.y * duals)[None] @ X.double())
        if sides == 2:
            close(sums[0], torch.where(fixed.y > 0, duals, 0.0) @ X.double())
    close(*found)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_formulas_of_newtons_method_are_derivatives(loss):
    _, _, lanes = variables(1, 400, loss)
    fixed = lanes.of(0)
    slack, change = numbers(400, seed=42, least=-2.0, most=2.0), numbers(400, seed=43)
    width, h = 0.5, 1e-5

    def slope(step):
        return formulas.smoothed_line(slack, change, fixed, step, width)

    _, curvature, first, square = slope(0.2)
    assert first == slope(0.0)[0]
    assert square == pytest.approx(float((fixed.y != 0).double() @ change**2) / 400)
    assert curvature == pytest.approx(float(slope(0.2 + h)[0] - slope(0.2 - h)[0]) / (2 * h), 1e-4)


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
