"""Training on rows that are read a block at a time: the same optimum, the same proof."""

import threading
import time

import numpy as np
import pytest
from scipy import sparse
from tests.common.pieces import Uneven
from tests.common.toys import separable

import pegasos
from pegasos.data.chunks import ArrayChunks, CacheChunks, spill
from pegasos.data.dataset import Data
from pegasos.data.synthetic import make_news
from pegasos.problem import make_problem
from pegasos.run.driver import run
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.solvers import DualCoordinate


@pytest.fixture(scope="module")
def news():
    X, y = make_news(3000)
    return X.astype(np.float64), y


@pytest.mark.parametrize(
    ("loss", "intercept"), [("hinge", "free"), ("squared_hinge", "regularized")]
)
def test_text_has_the_same_optimum(news, intercept, loss):
    X, y = news
    weight = np.random.default_rng(0).uniform(0.5, 2, y.size)
    options = {"C": 1.0, "tol": 1e-4, "intercept": intercept, "loss": loss, "seed": 0}
    whole = pegasos.solve(X, y, sample_weight=weight, **options)
    ours = pegasos.solve(Uneven(X, y, weight), **options)
    assert ours.stop_reason == "converged"
    assert ours.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-4)
    again = pegasos.certify(X, y, ours.w, ours.b, ours.duals, C=1.0, sample_weight=weight,
                            intercept=intercept, loss=loss)  # fmt: skip
    assert again.primal == pytest.approx(ours.certificate.primal, rel=1e-10)
    assert again.dual == pytest.approx(ours.certificate.dual, rel=1e-10)


@pytest.mark.parametrize("dense", [False, True])
def test_few_features_have_the_same_optimum(dense):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8)) * (rng.uniform(size=(3000, 8)) < 0.7)
    y = np.where(X[:, 0] + rng.normal(size=3000) > 0, 1, -1)
    X = X if dense else sparse.csr_matrix(X)
    whole = pegasos.solve(X, y, C=0.1, tol=1e-5, seed=0)
    ours = pegasos.solve(Uneven(X, y), C=0.1, tol=1e-5, seed=0)
    assert ours.certificate.relative_gap <= 1e-5
    assert ours.certificate.primal == pytest.approx(whole.certificate.primal, rel=2e-5)


def test_separable_rows_start_again_with_larger_slacks():
    X, y = separable(3000, 20)
    options = {"C": 100.0, "tol": 1e-7, "solver": "interior"}
    whole = pegasos.solve(X, y, **options)
    ours = pegasos.solve(Uneven(X, y), **options)
    assert ours.certificate.relative_gap <= 1e-7
    assert ours.epochs == whole.epochs <= 25


def test_linear_svc_takes_chunks(news, tmp_path):
    X, _ = news
    y = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(0, 3, X.shape[0])]
    chunks = spill([(X, y)], tmp_path / "cache")
    ours = pegasos.LinearSVC(C=0.1, tol=1e-4, random_state=0).fit(chunks)
    whole = pegasos.LinearSVC(C=0.1, tol=1e-4, random_state=0).fit(X, y)
    assert list(ours.classes_) == ["a", "b", "c"]
    assert ours.n_features_in_ == X.shape[1]
    np.testing.assert_allclose(ours.objective_, whole.objective_, rtol=2e-4)
    assert np.mean(ours.predict(X) == whole.predict(X)) > 0.98
    with pytest.raises(ValueError, match="no labels"):
        pegasos.LinearSVC().fit(ArrayChunks(X))
    with pytest.raises(ValueError, match="y the shape"):
        pegasos.LinearSVC().fit(chunks, y[:5])
    for options in (
        {"multi_class": "ovo"},
        {"multi_class": "crammer_singer"},
        {"probability": True},
    ):
        with pytest.raises(ValueError, match="needs rows that fit"):
            pegasos.LinearSVC(**options).fit(Uneven(X, y))
        # Rows that fit are used where they are, by all there is.
        model = pegasos.LinearSVC(C=0.1, random_state=0, **options)
        assert np.mean(model.fit(chunks).predict(X) == model.fit(X, y).predict(X)) == 1.0


def test_rows_that_fit_are_used_at_once_and_give_the_same_bits(news, tmp_path, monkeypatch):
    X, y = news
    options = {"C": 1.0, "seed": 0, "n_jobs": 1}
    expected = pegasos.solve(X, y, **options)
    cache = spill([(X, y)], tmp_path / "cache")
    for chunks in (cache, ArrayChunks(X, y)):
        assert pegasos.solve(chunks, **options).w.tobytes() == expected.w.tobytes()
    monkeypatch.setattr("pegasos.data.chunks.total", lambda: 1000)
    for chunks in (CacheChunks(cache.cache), ArrayChunks(X, y)):
        assert chunks.whole() is None
        found = pegasos.solve(chunks, **options)
        assert found.stop_reason == "converged"
        assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=2e-3)


def test_blocks_that_are_slow_to_read_are_read_ahead(news):
    X, y = news
    threads = []

    class Slow(Uneven):
        def read(self, number):
            threads.append(threading.current_thread())
            if self.fails:
                raise OSError("the disk is gone")
            time.sleep(0.006)
            return super().read(number)

    chunks = Slow(X, y)
    chunks.fails = False
    rows = ChunkRows(chunks)
    found = pegasos.solve(rows, C=1.0, seed=0, solver="dual", tol=0, max_epochs=3)
    assert sum(thread is not threading.main_thread() for thread in threads) > 0.8 * len(threads)
    plain = pegasos.solve(
        ChunkRows(Uneven(X, y)), C=1.0, seed=0, solver="dual", tol=0, max_epochs=3
    )
    assert found.w.tobytes() == plain.w.tobytes()
    chunks.fails = True
    with pytest.raises(OSError, match="the disk is gone"):
        pegasos.solve(rows, C=1.0, seed=0, solver="dual", tol=0, max_epochs=3)


def test_rows_that_left_a_list_come_back(news):
    X, y = news
    problem = make_problem(ChunkRows(Uneven(X, y)), y[:, None], C=1.0, intercept="none")
    solver = DualCoordinate()
    state = solver.start(problem, 0)
    solver.advance(problem, state, work=2**62, stop_seen=20_000, stop_steps=2**62)
    assert state["active"].sum() < y.size
    solver.refused(problem, state)
    assert state["active"].sum() == y.size
    for lo, hi in problem.site.ranges(problem):
        np.testing.assert_array_equal(np.sort(state["rows"][0, lo:hi]), np.arange(hi - lo))


def test_groups_of_lanes_may_have_nothing_to_visit_in_a_block():
    """Sixteen lanes have rows in the first block only, four have rows in all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    Y = np.where(X[:, :1] + rng.normal(size=(600, 20)) > 0, 1, -1).astype(np.int8)
    Y[100:, :16] = 0
    problem = make_problem(ChunkRows(Uneven(X, Y[:, 16])), Y, C=0.01, intercept="none")
    outcome = run(problem, DualCoordinate(), RunOptions(tol=1e-3, limits=Limits(), seed=0))
    assert outcome.stop_reason == "converged"
    assert outcome.duals[100:, :16].max() == 0


def test_blocks_that_change_are_told(news):
    X, y = news
    chunks = Uneven(X, y)
    rows = ChunkRows(chunks)
    chunks.ends = (0, 100, 102, 700, 1500, 3000)
    with pytest.raises(ValueError, match="were the files changed"):
        pegasos.solve(rows, C=1.0)


def test_chunks_must_agree(news):
    X, y = news

    class Partly(Uneven):
        def read(self, number):
            data = super().read(number)
            return Data(data.X, None) if number == 2 else data

    with pytest.raises(ValueError, match="block 2 has no labels"):
        ChunkRows(Partly(X, y))
