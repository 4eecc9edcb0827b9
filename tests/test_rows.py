"""The same X in any storage gives the same model, and the user's arrays are used in place."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from tests.common.toys import toy

import pegasos
from pegasos import _core, rows
from pegasos.rows import as_rows

DATA = toy(60, 8, seed=1)
Y = DATA.Y[:, 0]


def fitted(X, **options):
    options = {"C": 1.0, "tol": 1e-9, "seed": 0, "intercept": "regularized"} | options
    return pegasos.solve(X, Y, **options)


@pytest.mark.parametrize(
    "solver", [pegasos.DualCoordinate(shrink=False, second_order=False), "pegasos", "sgds", "sgdm"]
)
def test_storage_does_not_change_the_model(solver):
    options = {"solver": solver, "max_epochs": 15, "tol": 0.0}
    expected = fitted(DATA.X, **options)
    strided = np.zeros((60, 20))
    strided[:, 3:11] = DATA.X
    for X in (
        DATA.csr(), DATA.csr(index=np.int64), sparse.csr_matrix(DATA.X), sparse.csc_array(DATA.X),
        sparse.coo_array(DATA.X), strided[:, 3:11], np.asfortranarray(DATA.X),
        DATA.X.astype(">f8"),
    ):  # fmt: skip
        got = fitted(X, **options)
        np.testing.assert_allclose(got.w, expected.w, rtol=1e-10, atol=1e-12)
        assert got.b == pytest.approx(expected.b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_columns_out_of_order_are_sorted_and_those_twice_added(dtype):
    X = np.round(5 * DATA.X)
    csr = sparse.csr_matrix(X)
    order = np.argsort(-csr.indices - 1000 * np.repeat(-np.arange(60), np.diff(csr.indptr)))
    mixed = sparse.csr_matrix(
        (csr.data[order].astype(dtype), csr.indices[order], csr.indptr), shape=csr.shape
    )
    twice = sparse.csr_matrix(
        (np.repeat(csr.data.astype(dtype), 2), np.repeat(csr.indices, 2), 2 * csr.indptr),
        shape=csr.shape,
    )
    kept = mixed.indices.copy()
    np.testing.assert_allclose(fitted(mixed).w, fitted(X).w, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fitted(twice).w, fitted(2 * X).w, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(mixed.indices, kept)  # the user's stay as they are


def test_float32_agrees_to_its_precision():
    expected = fitted(DATA.X)
    rounded = fitted(DATA.X.astype(np.float32).astype(np.float64))
    for X in (DATA.X.astype(np.float32), DATA.csr(np.float32), DATA.csr(np.float32, np.int64)):
        got = fitted(X)
        np.testing.assert_allclose(got.w, rounded.w, rtol=1e-4, atol=1e-5)
        assert got.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.int64, np.float16])
def test_whole_numbers_are_the_numbers_they_are(dtype):
    whole = np.clip(np.round(3 * np.abs(DATA.X)), 0, 1 if dtype is bool else 9)
    expected = fitted(whole, max_epochs=20)
    cases = [whole.astype(dtype)]
    if dtype is not np.float16:  # SciPy has no sparse float16
        cases.append(sparse.csr_array(whole).astype(dtype))
    for X in cases:
        np.testing.assert_allclose(fitted(X, max_epochs=20).w, expected.w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", _core.instruction_sets())
def test_every_instruction_set_gives_the_same_model(name):
    used = _core.instruction_set()
    try:
        _core.use_instruction_set(name)
        assert _core.instruction_set() == name
        got = [fitted(X, max_epochs=10, tol=0.0).w for X in (DATA.X, DATA.csr(np.float32))]
    finally:
        _core.use_instruction_set(used)
    expected = [fitted(X, max_epochs=10, tol=0.0).w for X in (DATA.X, DATA.csr(np.float32))]
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11)


def test_an_instruction_set_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="unknown instruction set"):
        _core.use_instruction_set("abacus")


def test_read_only_and_memory_mapped_arrays_are_used_in_place(tmp_path):
    X = DATA.X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    X.flags.writeable = False
    np.testing.assert_array_equal(fitted(mapped).w, fitted(X).w)
    csr = DATA.csr(np.float32)
    for array in (csr.data, csr.indices, csr.indptr):
        array.flags.writeable = False
    np.testing.assert_allclose(fitted(csr).w, fitted(X).w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("through", ["solve", "LinearSVC"])
def test_a_fit_allocates_less_than_a_quarter_of_X(through):
    # RCV1's row length; fewer columns, so that X is not dwarfed by w at a test's size.
    rng = np.random.default_rng(0)
    n, size, d = 20_000, 76, 4_000
    columns = np.sort(rng.integers(0, d - size, size=(n, size)), axis=1) + np.arange(size)
    X = sparse.csr_array(
        (
            rng.uniform(0, 0.2, n * size).astype(np.float32),
            columns.ravel().astype(np.int32),
            (np.arange(n + 1) * size).astype(np.int32),
        ),
        shape=(n, d),
    )
    y = np.where(rng.uniform(size=n) < 0.5, 1, -1)
    fit = {
        "solve": lambda: pegasos.solve(X, y, C=1.0, max_epochs=2, tol=0.5, seed=0),
        "LinearSVC": lambda: pegasos.LinearSVC(max_iter=2, tol=0.9, random_state=0).fit(X, y),
    }[through]
    fit()  # imports
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def test_squared_norms_count_the_constant_feature():
    rows = as_rows(DATA.X, bias=2.0)
    np.testing.assert_allclose(rows.squared_norms, (DATA.X**2).sum(axis=1) + 4)
    assert rows.n == 60
    assert rows.d == 8


def test_importing_pegasos_is_light():
    code = (
        "import sys, pegasos;"
        "print([m for m in ('sklearn', 'rich', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_show_versions_names_the_kernels(capsys):
    pegasos.show_versions()
    assert _core.instruction_set() in capsys.readouterr().out


def test_public_names_are_there():
    for name in pegasos.__all__:
        assert name in dir(pegasos)
        assert getattr(pegasos, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = pegasos.nonsense


def test_rooms_are_loaded_when_they_are_touched():
    """Before, ``pegasos.dask`` and ``pegasos.gpu`` wanted an import of their own."""
    rooms = "dask", "data", "export", "gpu", "losses"
    code = f"""if 1:
        import sys, pegasos
        rooms = {rooms}
        assert not any("pegasos." + room in sys.modules for room in ("dask", "export", "gpu"))
        assert all(room in dir(pegasos) for room in rooms)
        print(*(getattr(pegasos, room).__name__ for room in rooms))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"pegasos.{room}" for room in rooms]


def test_without_dask_it_says_what_to_install():
    """It was: No module named 'dask'."""
    code = """if 1:
        import sys, pegasos
        sys.modules["dask"] = sys.modules["distributed"] = None
        for name in ("LinearSVC", "LinearSVCCV", "solve"):
            try:
                getattr(pegasos.dask, name)
            except ImportError as error:
                print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 3
    assert said[0] == "pegasos.dask.LinearSVC needs Dask: pip install 'pegasos[dask]'"


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_products_are_those_of_scipy(lanes, dtype):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix((rng.random((50, 30)) < 0.2) * rng.integers(1, 9, (50, 30)), dtype=dtype)
    coef = rng.normal(size=(lanes, 30))
    for matrix in (X, sparse.csr_matrix(X[:0]), sparse.csc_matrix(X), X[::-1]):
        np.testing.assert_allclose(rows.products(matrix, coef), matrix @ coef.T, rtol=1e-13)


def test_products_refuse_columns_that_are_not_there():
    X = sparse.csr_matrix(np.eye(3))
    for column in (3, -1):
        X.indices[1] = column
        with pytest.raises(ValueError, match="row 1"):
            rows.products(X, np.ones((1, 3)))
