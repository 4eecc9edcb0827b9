"""Formulas of solvers and certificates: kernels, interpreted on the CPU, give those of tensors."""

import pytest
import torch
from tests.gpu.drawn import (
    KINDS,
    LANES,
    SHAPES,
    close,
    numbers,
    part_of_more,
    variables,
)

from pegasos.sites.device import formulas, kernels, newton_rows
from pegasos.sites.device.certify import SUMS
from pegasos.sites.device.formulas import Direction, Row
from pegasos.sites.device.kernels import certify, interior, newton
from pegasos.sites.device.losses import LOSSES

pytestmark = pytest.mark.usefixtures("interpreted")


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


# InteriorPoint.
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
