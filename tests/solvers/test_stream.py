"""The stochastic solvers over rows that come by blocks."""

import numpy as np
import pytest
from tests.common.toys import toy

import pegasos
from pegasos import SGDM, Pegasos
from pegasos.data.chunks import ArrayChunks
from pegasos.problem import make_problem
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.solvers import stream

SOLVERS = [
    pegasos.SGDR(), pegasos.SGDS(), SGDM(multiplicity=3), Pegasos(), Pegasos(batch_size=7),
    Pegasos(sampling="permute", batch_size=300, average=True), Pegasos(sampling="cycle"),
]  # fmt: skip
EACH = pytest.mark.parametrize("solver", SOLVERS, ids=str)


def blocks(data, count):
    n = data.X.shape[0]
    assert n % (128 * count) == 0
    return ArrayChunks(data.X, data.Y[:, 0], block_bytes=data.X.nbytes // count)


@EACH
def test_they_come_as_close_as_on_rows_in_memory(solver):
    data = toy(1280, 6, seed=1)
    options = {"lam": 0.01, "solver": solver, "tol": 0.02, "seed": 0, "max_epochs": 300}
    chunks = blocks(data, 10)
    assert chunks.n_blocks == 10
    found = pegasos.solve(chunks, **options)
    memory = pegasos.solve(data.X, data.Y[:, 0], **options)
    assert found.stop_reason == memory.stop_reason == "converged"
    assert found.epochs <= 2 * memory.epochs + 5
    again = pegasos.certify(
        data.X, data.Y[:, 0], found.w, found.b, found.duals, lam=0.01, intercept="regularized"
    )
    assert again.relative_gap == pytest.approx(found.certificate.relative_gap, rel=1e-6)


@pytest.mark.parametrize(
    "solver", [Pegasos(sampling="cycle"), Pegasos(sampling="cycle", project=False)]
)
def test_in_storage_order_blocks_make_no_difference(solver):
    data = toy(1280, 6, seed=1)
    options = {"lam": 0.01, "solver": solver, "tol": 0, "seed": 0, "max_epochs": 3}
    memory = pegasos.solve(data.X, data.Y[:, 0], **options)
    for count in (1, 5, 10):
        found = pegasos.solve(blocks(data, count), **options)
        assert found.w.tobytes() == memory.w.tobytes()
        assert found.duals.tobytes() == memory.duals.tobytes()


@EACH
@pytest.mark.parametrize("steps", [1, 127, 128, 129, 1280, 2000])
def test_a_number_of_steps_is_that_number(solver, steps):
    data = toy(1280, 6, seed=1)
    rows = ChunkRows(blocks(data, 10))
    problem = make_problem(rows, data.Y, lam=0.01)
    whole, cut = solver.start(problem, 3), solver.start(problem, 3)
    stops = {"stop_seen": 1 << 60, "stop_steps": steps}
    assert solver.advance(problem, whole, work=1 << 60, **stops)
    assert whole.steps == steps
    # However it pauses, it is the same.
    rng = np.random.default_rng(0)
    while not solver.advance(problem, cut, work=int(rng.integers(1, 90)), **stops):
        pass
    for name in whole.arrays:
        np.testing.assert_array_equal(whole[name], cut[name], err_msg=name)


@pytest.mark.parametrize("sampling", ["permute", "cycle"])
@pytest.mark.parametrize("seen", [0, 5, 128, 1000, 1280, 3000])
def test_visits_are_counted(sampling, seen):
    data = toy(1280, 6, seed=1)
    problem = make_problem(ChunkRows(blocks(data, 10)), data.Y, lam=0.01)
    solver = Pegasos(sampling=sampling)
    state = solver.start(problem, 3)
    solver.advance(problem, state, work=1 << 60, stop_seen=seen, stop_steps=1 << 60)
    counts = stream.visits(problem, sampling, state)
    assert counts.sum() == seen
    assert counts.max() - counts.min() <= 1
    assert (state["errors"][:, 0] <= counts).all()


def test_orders_differ_from_epoch_to_epoch():
    data = toy(1280, 6, seed=1)
    problem = make_problem(ChunkRows(blocks(data, 10)), data.Y, lam=0.01)
    solver, firsts = pegasos.SGDS(), []
    state = solver.start(problem, 3)
    for epoch in range(3):
        solver.advance(
            problem, state, work=1 << 60, stop_seen=1280 * epoch + 60, stop_steps=1 << 60
        )
        counts = stream.visits(problem, "permute", state)
        firsts.append(tuple(np.flatnonzero(counts == epoch + 1)))
    assert len(set(firsts)) == 3
    assert all(len(rows) == 60 for rows in firsts)
