"""Every solver does, step by step, what the naive transcription of its paper does."""

from fractions import Fraction

import numpy as np
import pytest
from tests.common import reference
from tests.common.toys import toy

from pegasos import SGDM, SGDR, SGDS, DualCoordinate, Pegasos, _core
from pegasos.problem import make_problem
from pegasos.solvers import order
from pegasos.state import State

CLOSE = {"rtol": 1e-9, "atol": 1e-11}
FAR = 1 << 60


def visited(problem, sampling, seed, count):
    """The first rows of the order, drawn apart from any solver."""
    arrays = State.begin(problem.sizes, order.fields(problem, sampling), seed=seed)
    sampler = _core.Sampler(
        sampling, seed, problem.n, order.chunk_bits(problem), arrays["cursor"], arrays["chunks"]
    )
    return [sampler.next() for _ in range(count)]


def random_bits(seed, t):
    """SplitMix64's output function, number t of the stream."""
    mask = 2**64 - 1
    z = (seed + (t + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def visited_by_dual(problem, seed, count):
    """The first rows of DualCoordinate's order without shrinking: a permutation per pass."""
    cursor, rows = np.zeros(_core.CURSOR_SIZE, dtype=np.int64), []
    chunks = np.arange(problem.n, dtype=np.uint32)
    while len(rows) < count:
        cursor[0] = 0
        sampler = _core.Sampler("permute", random_bits(seed, 0), problem.n, 0, cursor, chunks)
        rows += [sampler.next() for _ in range(problem.n)]
    return rows[:count]


def step_to(solver, problem, state, step):
    assert solver.advance(problem, state, work=FAR, stop_seen=FAR, stop_steps=step)


def setting(lanes, storage, intercept, weighted):
    data = toy(23, 6, lanes, seed=lanes, absent=0.3 if lanes > 1 else 0.0)
    lam = np.geomspace(0.05, 0.4, lanes)
    problem = make_problem(
        data.X if storage == "dense" else data.csr(),
        data.Y,
        lam=lam,
        intercept=intercept,
        intercept_scaling=0.7,
        sample_weight=data.weight if weighted else None,
        positive=np.linspace(1, 2, lanes),
    )
    X = data.X
    if intercept == "regularized":
        X = np.hstack([X, np.full((len(X), 1), 0.7)])
    return data, problem, X


def vectors(problem, W, intercept):
    return W[:, : problem.lanes].T if intercept == "regularized" else W[:-1, : problem.lanes].T


CASES = pytest.mark.parametrize(
    ("lanes", "storage", "intercept", "weighted"),
    [
        (1, "dense", "none", False),
        (1, "csr", "regularized", True),
        (3, "csr", "none", True),
        (5, "dense", "regularized", False),
    ],
)


@CASES
@pytest.mark.parametrize("sampling", ["iid", "permute", "cycle"])
@pytest.mark.parametrize("batch_size", [1, 4, 23])
@pytest.mark.parametrize("project", [True, False])
def test_pegasos_equals_its_pseudo_code(
    lanes, storage, intercept, weighted, sampling, batch_size, project
):
    _, problem, X = setting(lanes, storage, intercept, weighted)
    solver = Pegasos(batch_size=batch_size, project=project, sampling=sampling)
    compare_pegasos(solver, problem, X, intercept, steps=60 if batch_size < 23 else 12)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": "all"},
        {"batch_size": "all", "project": False},
        {"count": "on_loss"},
        {"count": "on_loss", "batch_size": 3, "sampling": "permute"},
        {"init": "random", "project": False},
        {"init": "random", "batch_size": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("lanes", [1, 3])
def test_pegasos_options_equal_their_pseudo_code(options, lanes):
    _, problem, X = setting(lanes, "csr", "none", True)
    compare_pegasos(Pegasos(**options), problem, X, "none", steps=40)


def compare_pegasos(solver, problem, X, intercept, steps):
    n, size = problem.n, problem.n if solver.batch_size == "all" else solver.batch_size
    state = solver.start(problem, seed=5)
    start = vectors(problem, solver.weights(problem, state), intercept).copy()
    sampling = "cycle" if solver.batch_size == "all" else solver.sampling
    rows = visited(problem, sampling, 5, steps * size)
    batches, at = [], 0
    for _ in range(steps):
        # Orders that visit every row once per epoch end a batch with the epoch.
        length = size if sampling == "iid" else min(size, n - at % n)
        batches.append(rows[at : at + length])
        at += length
    costs = problem.costs()
    runs = [
        reference.pegasos(
            X, problem.labels[:, k], costs[:, k], problem.lam[k], batches, w1=start[k],
            project=solver.project, on_loss=solver.count == "on_loss",
        )
        for k in range(problem.lanes)
    ]  # fmt: skip
    for step in range(1, steps + 1):
        step_to(solver, problem, state, step)
        got = vectors(problem, solver.weights(problem, state), intercept)
        np.testing.assert_allclose(got, [next(run) for run in runs], **CLOSE)


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_average_is_the_mean_of_the_steps(lanes, batch_size):
    _, problem, _ = setting(lanes, "dense", "none", False)
    averaged = Pegasos(average=True, batch_size=batch_size)
    plain = Pegasos(batch_size=batch_size)
    a, p = averaged.start(problem, 3), plain.start(problem, 3)
    total = np.zeros(problem.weights_shape)
    taken = np.zeros(problem.lanes)
    for step in range(1, 300):
        t = p["t"].copy()
        step_to(plain, problem, p, step)
        moved = np.zeros(problem.weights_shape[1])
        moved[: problem.lanes] = p["t"] > t
        total += plain.weights(problem, p) * moved
        taken += moved[: problem.lanes]
        step_to(averaged, problem, a, step)
        if (taken > 0).all():
            mean = total[:, : problem.lanes] / taken
            np.testing.assert_allclose(
                averaged.weights(problem, a)[:, : problem.lanes], mean, rtol=1e-9, atol=1e-9
            )


@CASES
@pytest.mark.parametrize(
    ("solver", "multiplicity", "sampling"),
    [(SGDR(), 1, "iid"), (SGDS(), 1, "permute"), (SGDM(), 5, "permute"),
     (SGDM(multiplicity=2), 2, "permute")],
    ids=["sgdr", "sgds", "sgdm5", "sgdm2"],
)  # fmt: skip
def test_sgd_equals_its_pseudo_code(
    lanes, storage, intercept, weighted, solver, multiplicity, sampling
):
    _, problem, X = setting(lanes, storage, intercept, weighted)
    costs, steps = problem.costs(), 100
    rows = visited(problem, sampling, 9, steps)
    runs = [
        reference.margin_perceptron(
            X, problem.labels[:, k], costs[:, k], problem.lam[k], rows, multiplicity=multiplicity
        )
        for k in range(problem.lanes)
    ]
    state = solver.start(problem, seed=9)
    for step in range(1, steps + 1):
        step_to(solver, problem, state, step)
        expected = [next(run) for run in runs]
        np.testing.assert_allclose(
            vectors(problem, state["U"], intercept), [u for u, _ in expected], **CLOSE
        )
        assert state["t"].tolist() == [t for _, t in expected]


@CASES
def test_dual_coordinate_equals_its_pseudo_code(lanes, storage, intercept, weighted):
    _, problem, X = setting(lanes, storage, intercept, weighted)
    costs, steps = problem.costs(), 100
    rows = visited_by_dual(problem, 2, steps)
    runs = [
        reference.dual_coordinate(X, problem.labels[:, k], costs[:, k], problem.s[k], rows)
        for k in range(problem.lanes)
    ]
    solver = DualCoordinate(shrink=False)
    state = solver.start(problem, seed=2)
    for step in range(1, steps + 1):
        step_to(solver, problem, state, step)
        expected = [next(run) for run in runs]
        np.testing.assert_allclose(
            vectors(problem, solver.weights(problem, state), intercept),
            [w for w, _ in expected],
            **CLOSE,
        )
        np.testing.assert_allclose(state["duals"].T, [a for _, a in expected], **CLOSE)


def loop_updates(presentations, g, theta, r, lam):
    g, theta, r, lam = (Fraction(v) for v in (g, theta, r, lam))
    count = 0
    for _ in range(presentations):
        if g <= theta:
            g += r
            count += 1
        theta += lam
    return count


def test_burst_counts_equal_the_loop_in_exact_arithmetic():
    rng = np.random.default_rng(0)
    for _ in range(12_000):
        m = int(rng.integers(1, 40))
        # Dyadic numbers, exact in float64, on a coarse grid so that ties are common.
        g, theta, r, lam = (rng.integers((-64, 0, 0, 1), (65, 65, 33, 17)) / 16).tolist()
        assert _core.burst_updates(m, g, theta, r, lam) == loop_updates(m, g, theta, r, lam)
    for _ in range(3_000):
        m = int(rng.integers(1, 1000))
        g, theta = rng.standard_normal(2).tolist()
        r, lam = np.exp(rng.uniform(-8, 3, size=2)).tolist()
        assert _core.burst_updates(m, g, theta, r, lam) == loop_updates(m, g, theta, r, lam)


@pytest.mark.parametrize(
    ("g", "theta", "r", "lam"),
    [
        (0.0, 0.0, 0.25, 0.5),  # an update adds less than a presentation: all are updates
        (0.0, 0.0, 0.5, 0.5),  # as much
        (2.0, 1.0, 0.25, 0.5),  # the same, not satisfied at first: shrinking, then updates
        (2.25, 1.0, 0.5, 0.5),
        (9.0, 1.0, 0.25, 0.5),  # never satisfied
        (0.0, 8.0, 1.0, 0.5),  # an update adds more, satisfied throughout
        (0.0, 1.0, 2.0, 0.5),  # satisfied at first, then now and then
        (1.25, 1.0, 2.0, 0.5),  # not satisfied at first, then now and then
        (1.0, 1.0, 2.0, 0.5),  # a tie at the first presentation
        (0.0, 1.0, 1.5, 0.5),  # ties later on
        (99.0, 1.0, 2.0, 0.5),  # never satisfied
        (0.0, 0.0, 0.0, 0.5),  # a row without features
    ],
)
def test_burst_counts_in_every_case_of_the_paper(g, theta, r, lam):
    for m in range(1, 30):
        assert _core.burst_updates(m, g, theta, r, lam) == loop_updates(m, g, theta, r, lam)


# Three points, computed by hand: x = (1, 0), (0, 1), (1, 1), y = +1, -1, +1, lam = 1/2, so that
# s = 3/2, visited in storage order, twice.

POINTS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
LABELS = np.array([[1], [-1], [1]], dtype=np.int8)


def trace(solver, sampling="permute"):
    problem = make_problem(POINTS, LABELS, lam=0.5, intercept="none")
    wanted = [0, 1, 2, 0, 1, 2]

    def order_of(seed):
        if isinstance(solver, DualCoordinate):
            return visited_by_dual(problem, seed, 6)
        return visited(problem, sampling, seed, 6)

    seed = next(s for s in range(10_000) if order_of(s) == wanted)
    state = solver.start(problem, seed)
    path = []
    for step in range(1, 7):
        step_to(solver, problem, state, step)
        path.append(solver.weights(problem, state)[:-1, 0].copy())
    return path, solver.duals(problem, state)(0, 3)[:, 0]


def test_pegasos_by_hand_without_projection():
    path, duals = trace(Pegasos(sampling="cycle", project=False), "cycle")
    # t=1: 2x1. t=2: half of it, -x2. t=3: 2/3 of (1,-1) + 2/3 x3. t=4: 4/3 > 1, only shrinks.
    # t=5: 4/5 of (1,0) - 2/5 x2. t=6: 5/6 of (4/5,-2/5) + 1/3 x3.
    hand = [(2, 0), (1, -1), (4 / 3, 0), (1, 0), (4 / 5, -2 / 5), (1, 0)]
    np.testing.assert_allclose(path, hand, atol=1e-15)
    np.testing.assert_allclose(duals, [1 / 2, 1, 1])


def test_pegasos_by_hand_with_projection():
    path, _ = trace(Pegasos(sampling="cycle"), "cycle")
    # The ball has radius sqrt 2: only the first step leaves it.
    r = np.sqrt(2)
    np.testing.assert_allclose(path[:3], [(r, 0), (r / 2, -1), (r / 3 + 2 / 3, 0)], atol=1e-15)


def test_sgds_by_hand():
    path, duals = trace(SGDS())
    # u: x1 (0 <= 0), -x2 (0 <= 1/2), x3 (0 <= 1); x1 not (2 > 3/2), -x2 (0 <= 2), x3 (1 <= 5/2).
    # w = u / (t/2) after t = 1..6.
    hand = [(2, 0), (1, -1), (4 / 3, 0), (1, 0), (4 / 5, -2 / 5), (1, 0)]
    np.testing.assert_allclose(path, hand, atol=1e-15)
    np.testing.assert_allclose(duals, [1 / 2, 1, 1])


def test_sgdr_by_hand():
    path, duals = trace(SGDR(), "iid")
    hand = [(2, 0), (1, -1), (4 / 3, 0), (1, 0), (4 / 5, -2 / 5), (1, 0)]
    np.testing.assert_allclose(path, hand, atol=1e-15)
    np.testing.assert_allclose(duals, [1 / 2, 1, 1])


def test_sgdm_by_hand():
    path, duals = trace(SGDM(multiplicity=2))
    # Bursts of two: x1 once (0 <= 0, then 1 > 1/2), -x2 twice (0 <= 1, 1 <= 3/2), x3 twice
    # (-1 <= 2, 1 <= 5/2): u = (3, 0), t = 6. Then x1 once (3 <= 3, 4 > 7/2), -x2 twice
    # (0 <= 4, 1 <= 9/2), x3 twice (2 <= 5, 4 <= 11/2): u = (6, 0), t = 12.
    hand = [(1, 0), (1 / 2, -1), (1, 0), (1, 0), (4 / 5, -2 / 5), (1, 0)]
    np.testing.assert_allclose(path, hand, atol=1e-15)
    np.testing.assert_allclose(duals, [1 / 2, 1, 1])


def test_dual_coordinate_by_hand():
    path, duals = trace(DualCoordinate())
    # a1 = 1 (3/2 clipped), a2 = 1 (clipped), a3 = 3/2 / 2; then a1 = 1 - 1/4, a2 stays, a3 + 1/8.
    hand = [
        (2 / 3, 0), (2 / 3, -2 / 3), (7 / 6, -1 / 6), (1, -1 / 6), (1, -1 / 6), (13 / 12, -1 / 12),
    ]  # fmt: skip
    np.testing.assert_allclose(path, hand, atol=1e-15)
    np.testing.assert_allclose(duals, [3 / 4, 1, 7 / 8])
