"""The losses in Triton: what ``sites.device.losses`` says in torch, chosen by ``LOSS``."""

from __future__ import annotations

import triton
from triton import language as tl

from pegasos.sites.device.losses import SquaredHinge

_SQUARED_HINGE = tl.constexpr(SquaredHinge.code)


@triton.jit
def value(slack, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        lost = c * slack * slack
    else:
        lost = c * slack
    return lost


@triton.jit
def slope(slack, c, inside, lost, NEAR: tl.constexpr, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        here = tl.where(lost, 2.0 * c * slack, 0.0)
    else:
        here = tl.where(inside & ((slack > -NEAR) | (slack != slack)), c, 0.0)
    return here


@triton.jit
def signed_slope(ahead, y, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        found = 2.0 * c * ahead
    else:
        found = c * y
    return found


@triton.jit
def add_square(total, duals, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        total += duals / c * duals / 4.0
    return total


@triton.jit
def worth(duals, c, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        found = duals - duals * duals / (4.0 * c)
    else:
        found = duals
    return found


@triton.jit
def rounded(slack, c, width, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        dual = 2.0 * c * tl.maximum(slack, 0.0)
        curved = tl.where(slack > 0.0, 2.0 * c, 0.0)
    else:
        half = 0.5 / width
        dual = c * tl.minimum(tl.maximum(0.5 + slack * half, 0.0), 1.0)
        curved = tl.where(tl.abs(slack) < width, c * half, 0.0)
    return dual, curved


# The upper end of the box in the interior point method.
@triton.jit
def stepped(a, c, da, step, v_, xi_, rv_, at, there, inside, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        v = a
        xi = tl.where(inside, a / (2.0 * c), 1.0)
    else:
        v = tl.load(v_ + at, mask=there, other=1.0)
        xi = tl.load(xi_ + at, mask=there, other=1.0)
        xi += step * (tl.load(rv_ + at, mask=there, other=0.0) + xi * da) / v
        v -= step * da
    return v, xi


@triton.jit
def point(y, a, v, r, xi, g, scale, inverse, share, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        product = a * r
        dual = a - a * xi / 2.0
        t = -y * scale * (g + xi)
        by_mu = y * inverse * share * v
    else:
        product = a * r + v * xi
        dual = a
        t = -y * scale * g
        by_mu = y * inverse * (share * v - a)
    return product, dual, t, by_mu


@triton.jit
def pull(g, xi, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        found = -g - xi
    else:
        found = -g
    return found


@triton.jit
def affine(y, a, v, r, xi, scale, da, dr, by_a, by_v, inside, most_0, most_1, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        sum_0 = a * dr
        sum_1 = r * da
        sum_2 = da * dr
        rv = 0.0 * a
        t = -y * scale * dr * by_a
    else:
        dxi = tl.where(inside, xi * (by_v - 1.0), 0.0)
        most_0 = tl.maximum(most_0, tl.where(inside, 1.0 - by_v, 0.0))
        most_1 = tl.maximum(most_1, by_v)
        sum_0 = a * dr + v * dxi
        sum_1 = (r - xi) * da
        sum_2 = da * (dr - dxi)
        rv = tl.where(inside, -v * xi + da * dxi, 0.0)
        t = -y * scale * (dr * by_a + dxi * by_v)
    return sum_0, sum_1, sum_2, rv, t, most_0, most_1


@triton.jit
def direction(h, v, scale, along, rv_, there, mu, inside, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        da = scale * (h - along)
        rv = 0.0 * scale
    else:
        rv = tl.where(inside, tl.load(rv_, mask=there, other=0.0) + mu, 0.0)
        by_v = 1.0 / v
        da = scale * (h - rv * by_v - along)
    return da, rv


@triton.jit
def falls(rv, v, xi, da, most_0, most_1, LOSS: tl.constexpr):
    if LOSS != _SQUARED_HINGE:
        most_0 = tl.maximum(most_0, -(rv + xi * da) / (v * xi))
        most_1 = tl.maximum(most_1, da * (1.0 / v))
    return most_0, most_1


@triton.jit
def corrected(v, xi, rv, da, p, q, mu, inside, LOSS: tl.constexpr):
    if LOSS == _SQUARED_HINGE:
        more = 0.0 * v
    else:
        ahead = xi + p * (rv + xi * da) * (1.0 / v)
        more = tl.where(inside, pulled((v - q * da) * ahead, mu), 0.0)
    return more


@triton.jit
def pulled(product, aim):
    high = 10.0 * aim
    inside = tl.minimum(tl.maximum(product, 0.1 * aim), high)
    return tl.maximum(inside - product, -high)
