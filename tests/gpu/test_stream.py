"""Rows that visit the device a block at a time: the same optimum, the same proof."""

import numpy as np
import pytest
import torch
from scipy import sparse

import pegasos
from pegasos.certificate import certify
from pegasos.data.chunks import ArrayChunks, spill
from pegasos.losses import named
from pegasos.run.driver import run
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.sites.device.lanes import Duals, lanes_of
from pegasos.sites.device.rows import _brought, device_rows, room, rows_on_device, stream_of
from pegasos.sites.device.site import device_problem
from pegasos.sites.device.stream import Stream
from pegasos.solvers import by_name, choice_of
from pegasos.testing.pieces import Uneven
from pegasos.testing.toys import toy

CPU = torch.device("cpu")


def pieces(X, y, weight=None, ends=(0, 100, 101, 350, 600), kinds=None):
    return Uneven(X, y, weight, ends, kinds)


def solved(source, data, solver, loss="hinge", intercept="free", tol=1e-8):
    """A run over rows in memory, or over a stream of them."""
    bias = 1.0 if intercept == "regularized" else 0.0
    K = data.Y.shape[1]
    problem = device_problem(
        device_rows(source, bias), torch.from_numpy(data.Y.T.copy()),
        torch.from_numpy(data.weight[None]), positive=np.ones(K), negative=np.ones(K),
        s=lambda _: np.full(K, 2.0), intercept=intercept, loss=named(loss), keep_duals=True,
    )  # fmt: skip
    choice = choice_of(by_name(solver), problem, tol)
    return problem, run(problem, choice, RunOptions(tol=tol, limits=Limits(), seed=0))


@pytest.fixture(scope="module")
def data():
    return toy(600, 5, seed=2)


@pytest.fixture(scope="module")
def lanes():
    return toy(600, 5, 3, seed=2, absent=0.2)


@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("solver", ["interior", "newton"])
def test_a_stream_is_as_good_as_rows_in_memory(lanes, solver, loss, intercept):
    X = torch.from_numpy(lanes.X)
    stream = stream_of(X, CPU, block_bytes=40 * 77)
    assert len(stream.ranges) == 8
    assert stream.shape == (600, 5)
    problem, found = solved(stream, lanes, solver, loss, intercept)
    assert not problem.rows.resident
    whole, expected = solved(X, lanes, solver, loss, intercept)
    assert whole.rows.resident
    assert found.stop_reason == expected.stop_reason == "converged"
    # Sums are added in another order; all else is the same.
    np.testing.assert_allclose(found.W, expected.W, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.certificate.primal, expected.certificate.primal, rtol=1e-8)
    np.testing.assert_allclose(found.certificate.dual, expected.certificate.dual, rtol=1e-8)
    again = pegasos.certify(
        lanes.X, lanes.Y, found.W[:-1].T, found.b, lanes_of(problem).kept.T.numpy(), C=0.5,
        loss=loss, intercept=intercept, sample_weight=lanes.weight,
    )  # fmt: skip
    np.testing.assert_allclose(found.certificate.primal, again.primal, rtol=1e-12)
    np.testing.assert_allclose(found.certificate.dual, again.dual, rtol=1e-12)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
def test_streams_of_coarse_numbers(lanes, kind):
    X = torch.from_numpy(lanes.X).to(kind)
    problem, found = solved(stream_of(X, CPU, block_bytes=1000), lanes, "interior")
    assert problem.rows.source.dtype == kind
    again = pegasos.certify(
        X.double().numpy(), lanes.Y, found.W[:-1].T, found.b, lanes_of(problem).kept.T.numpy(),
        C=0.5, intercept="free", sample_weight=lanes.weight,
    )  # fmt: skip
    assert (again.relative_gap <= 1e-8 * (1 + 1e-3)).all()


def test_certificates_of_streams_are_those_of_rows(lanes):
    X = torch.from_numpy(lanes.X)
    rng = np.random.default_rng(0)
    W, duals = rng.normal(size=(6, 4)), torch.from_numpy(rng.uniform(size=(3, 600)) / 5)
    W[:, 3:] = 0.0
    found = []
    for source in (X, stream_of(X, CPU, block_bytes=1000)):
        problem, _ = solved(source, lanes, "interior", intercept="regularized", tol=1.0)
        W = W[:, : problem.weights_shape[1]]
        inside = Duals(torch.where(lanes_of(problem).y != 0, duals, 0.0))
        found.append(certify(problem, np.ascontiguousarray(W), np.zeros(3), inside)[0])
    np.testing.assert_allclose(found[0].primal, found[1].primal, rtol=1e-13)
    np.testing.assert_allclose(found[0].dual, found[1].dual, rtol=1e-13)


def test_a_sample_of_a_stream_is_taken_from_every_block():
    data = toy(30_000, 5, seed=3)
    X = torch.from_numpy(data.X)
    for solver in ("interior", "newton"):
        _, found = solved(stream_of(X, CPU, block_bytes=40 * 4001), data, solver, tol=1e-6)
        _, expected = solved(X, data, solver, tol=1e-6)
        assert found.stop_reason == "converged"
        assert found.epochs <= 1.5 * expected.epochs + 2
        np.testing.assert_allclose(found.certificate.primal, expected.certificate.primal, rtol=2e-6)


def test_values_that_are_no_numbers_are_found_in_their_block(data):
    X = torch.from_numpy(data.X.copy())
    X[417, 3] = torch.nan
    with pytest.raises(ValueError, match="row 417, column 3"):
        device_rows(stream_of(X, CPU, block_bytes=1000), 0.0)


def test_where_rows_go(data, monkeypatch):
    X = torch.from_numpy(data.X)
    assert room(CPU, 10**12) == float("inf")
    elsewhere = torch.device("meta")  # not where X is, and it takes anything
    assert _brought(X, CPU) is X
    assert _brought(X, elsewhere).device == elsewhere
    monkeypatch.setattr("pegasos.sites.device.rows.room", lambda *_: X.numel() * 8 - 1)
    assert _brought(X, CPU) is X  # it is there already
    streamed = _brought(X, elsewhere)
    assert isinstance(streamed, Stream)
    assert streamed.ranges == [(0, 600)]
    assert streamed.shape == (600, 5)
    assert streamed.read(3, 9).data_ptr() == X[3].data_ptr()
    monkeypatch.setattr("pegasos.sites.device.rows.room", lambda *_: X.numel() * 8)
    assert isinstance(_brought(X, elsewhere), torch.Tensor)
    rows, here = rows_on_device(data.X, "cpu", 2.0)
    assert here == CPU
    np.testing.assert_allclose(rows.norms.numpy(), (data.X**2).sum(1) + 4, rtol=1e-14)
    assert rows.worst == int(rows.norms.argmax())
    assert rows.squared_norms[0] == float(rows.norms.max())


def test_memory_of_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (10_000, 20_000))
    gpu = torch.device("cuda", 0)
    assert 0 < room(gpu, 0) < 10_000
    assert room(gpu, 10) < room(gpu, 0)  # variables of the rows take some, too
    assert room(gpu, 1000) < 0


@pytest.mark.parametrize("solver", ["auto", "interior", "newton"])
@pytest.mark.parametrize("kind", ["float64", "float32", "uint8"])
def test_chunks_have_the_same_optimum(data, solver, kind):
    y = data.Y[:, 0]
    X = (np.abs(data.X) * 40).astype(kind) if kind == "uint8" else data.X.astype(kind)
    options = {"C": 1e-3 if kind == "uint8" else 0.5, "tol": 1e-7, "seed": 0}
    chunks = pieces(X, y, data.weight)
    found = pegasos.solve(chunks, device="cpu", solver=solver, **options)
    whole = pegasos.solve(X, y, sample_weight=data.weight, **options)
    assert found.stop_reason == "converged"
    assert found.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-7)
    assert isinstance(found.w, np.ndarray)
    assert found.duals.shape == (600,)
    again = pegasos.certify(X, y, found.w, found.b, found.duals, C=options["C"], intercept="free",
                            sample_weight=data.weight)  # fmt: skip
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-11)
    assert chunks.reads > 4 * found.epochs


def test_labels_and_weights_may_come_with_the_call(data):
    y = data.Y[:, 0]
    chunks = pieces(data.X, y, data.weight)
    found = pegasos.solve(chunks, -y, C=0.5, device="cpu", seed=0, sample_weight=np.ones(600))
    whole = pegasos.solve(data.X, -y, C=0.5, device="cpu", seed=0)
    assert found.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-6)


def test_linear_svc_takes_chunks(data, tmp_path):
    y = np.array(["a", "b", "c"])[np.digitize(data.X[:, 0] + data.X[:, 1], [-0.5, 0.5])]
    whole = pegasos.LinearSVC(C=0.1, tol=1e-6, device="cpu", random_state=0).fit(data.X, y)
    for chunks in (pieces(data.X, y), ArrayChunks(data.X, y), spill([(data.X, y)], tmp_path / "c")):
        ours = pegasos.LinearSVC(C=0.1, tol=1e-6, device="cpu", random_state=0).fit(chunks)
        assert list(ours.classes_) == ["a", "b", "c"]
        assert ours.n_features_in_ == 5
        np.testing.assert_allclose(ours.objective_, whole.objective_, rtol=1e-6)
        assert np.mean(ours.predict(data.X) == whole.predict(data.X)) > 0.998
    with pytest.raises(ValueError, match="requires y to be passed"):
        pegasos.LinearSVC(device="cpu").fit(ArrayChunks(data.X, block_bytes=4000))
    with pytest.raises(ValueError, match="X has 600 rows, y has 5"):
        pegasos.LinearSVC(device="cpu").fit(pieces(data.X, y), y[:5])


def test_cross_validation_of_chunks(data):
    y = data.Y[:, 0]
    options = {"Cs": [0.01, 0.1], "cv": 3, "tol": 1e-6, "device": "cpu", "random_state": 0}
    ours = pegasos.LinearSVCCV(**options).fit(pieces(data.X, y, data.weight), None)
    whole = pegasos.LinearSVCCV(**options).fit(data.X, y, data.weight)
    np.testing.assert_allclose(ours.scores_, whole.scores_, atol=0.02)
    np.testing.assert_allclose(
        ours.path_.certificate.primal, whole.path_.certificate.primal, rtol=1e-6
    )


def test_blocks_of_sparse_rows_are_refused_by_name(data):
    y = data.Y[:, 0]
    for X in (sparse.csr_matrix(data.X), sparse.csr_matrix(np.abs(data.X) + 1)):
        with pytest.raises(TypeError, match="sparse"):
            pegasos.solve(ArrayChunks(X, y, block_bytes=4000), C=1.0, device="cpu")
        with pytest.raises(TypeError, match="sparse"):
            pegasos.LinearSVC(device="cpu").fit(ArrayChunks(X, y, block_bytes=4000))


def test_blocks_of_several_number_types_keep_their_digits(data):
    kinds = [np.float32, np.float64, np.int64, np.float64]
    X, y, ends = np.round(data.X * 1000, 3), data.Y[:, 0], (0, 100, 200, 350, 600)
    found = pegasos.solve(pieces(X, y, ends=ends, kinds=kinds), C=1e-6, device="cpu", tol=1e-6)
    as_they_are = X.copy()
    for lo, hi, kind in zip(ends[:-1], ends[1:], kinds, strict=True):
        as_they_are[lo:hi] = X[lo:hi].astype(kind)
    again = pegasos.certify(as_they_are, y, found.w, found.b, found.duals, C=1e-6, intercept="free")
    assert again.primal == pytest.approx(found.certificate.primal, rel=1e-12)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-12)


def test_blocks_that_change_are_told(data):
    chunks = pieces(data.X, data.Y[:, 0])
    rows = ChunkRows(chunks)
    chunks.ends = (0, 100, 102, 350, 600)
    with pytest.raises(ValueError, match="were the files changed"):
        pegasos.solve(rows, C=1.0, device="cpu")


# Sparse rows in memory.
@pytest.mark.parametrize("intercept", ["none", "regularized", "free"])
@pytest.mark.parametrize("solver", ["interior", "newton"])
def test_sparse_rows_have_the_same_optimum(lanes, solver, intercept):
    options = {"C": [0.1, 1.0, 10.0], "sample_weight": lanes.weight, "intercept": intercept}
    for X in (lanes.csr(), lanes.csr(np.float32), lanes.csr().tocsc(), lanes.csr().tocoo()):
        found = pegasos.solve(X, lanes.Y, device="cpu", solver=solver, tol=1e-7, seed=0, **options)
        best = pegasos.solve(X, lanes.Y, tol=1e-9, seed=0, **options)
        assert found.stop_reason == "converged"
        assert isinstance(found.w, np.ndarray)
        np.testing.assert_allclose(found.certificate.primal, best.certificate.primal, rtol=1e-7)
        again = pegasos.certify(X, lanes.Y, found.w, found.b, found.duals, **options)
        np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)


def test_a_sample_of_many_sparse_rows():
    data = toy(20_000, 8, seed=5)
    y = data.Y[:, 0]
    best = pegasos.solve(data.csr(), y, C=0.01, tol=1e-9)
    for solver in ("interior", "newton"):
        found = pegasos.solve(data.csr(), y, C=0.01, tol=1e-6, device="cpu", solver=solver, seed=0)
        assert found.certificate.primal == pytest.approx(best.certificate.primal, rel=1e-6)


def test_sparse_rows_in_the_estimators(data):
    X = data.csr()
    y = np.digitize(data.X[:, 0] + data.X[:, 1], [-0.5, 0.5])
    ours = pegasos.LinearSVC(C=0.1, tol=1e-6, device="cpu", random_state=0).fit(X, y)
    dense = pegasos.LinearSVC(C=0.1, tol=1e-6, random_state=0).fit(data.X, y)
    np.testing.assert_allclose(ours.objective_, dense.objective_, rtol=1e-6)
    assert np.mean(ours.predict(X) == dense.predict(data.X)) > 0.998
    path = pegasos.LinearSVCCV(Cs=[0.01, 0.1], cv=3, device="cpu", random_state=0).fit(X, y)
    plain = pegasos.LinearSVCCV(Cs=[0.01, 0.1], cv=3, random_state=0).fit(data.X, y)
    np.testing.assert_allclose(path.scores_, plain.scores_, atol=0.02)


def test_sparse_rows_that_are_refused(data):
    y = data.Y[:, 0]
    wrong = data.csr()
    wrong.data[7] = np.nan
    row, column = int(np.searchsorted(wrong.indptr, 7, side="right") - 1), wrong.indices[7]
    with pytest.raises(ValueError, match=f"row {row}, column {column}"):
        pegasos.solve(wrong, y, C=1.0, device="cpu")
    with pytest.raises(TypeError, match="real numbers"):
        pegasos.solve(data.csr().astype(complex), y, C=1.0, device="cpu")


def test_columns_of_sparse_rows_may_be_in_any_order(data):
    X = data.csr()
    mixed = X.copy()
    for lo, hi in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        mixed.indices[lo:hi] = X.indices[lo:hi][::-1]
        mixed.data[lo:hi] = X.data[lo:hi][::-1]
    mixed.has_sorted_indices = mixed.has_canonical_format = False
    before = mixed.indices.tobytes()
    expected = pegasos.solve(X, data.Y[:, 0], C=1.0, device="cpu", seed=0)
    found = pegasos.solve(mixed, data.Y[:, 0], C=1.0, device="cpu", seed=0)
    np.testing.assert_allclose(found.w, expected.w, rtol=1e-9)
    assert mixed.indices.tobytes() == before  # what was given is left as it is
