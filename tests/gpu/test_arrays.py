"""What goes in, and what comes out."""

import numpy as np
import pandas as pd
import pytest
import torch
from tests.gpu.lent import Lent

import pegasos
from pegasos.sites.device.arrays import as_tensor, device_of, like, rows_tensor
from pegasos.sites.device.labels import classes_of, signs_of, weights_of
from pegasos.sites.device.loading import rows_on_device
from pegasos.testing.toys import toy
from pegasos.util.devices import is_device_array, is_tensor, on_device, to_host

CPU = torch.device("cpu")


class Remote:
    """An array that says it is on a GPU."""

    def __init__(self, array, kind=2):
        self.array, self.kind = array, kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self):
        raise AssertionError("nobody needs the values")

    def get(self):  # as CuPy's
        return self.array


@pytest.fixture(scope="module")
def data():
    return toy(300, 6, seed=3)


def where(array):
    return array.__array_interface__["data"][0]


# Results are like what was given.
@pytest.mark.parametrize("solver", ["interior", "newton"])
def test_tensors_give_tensors(data, solver):
    X, y = torch.from_numpy(data.X).float(), torch.from_numpy(data.Y[:, 0])
    options = {"C": 1.0, "seed": 0, "solver": solver}
    found = pegasos.solve(X, y, device="cpu", **options)
    for value, shape in ((found.w, (6,)), (found.b, ()), (found.duals, (300,))):
        assert isinstance(value, torch.Tensor)
        assert value.dtype == torch.float64
        assert value.device == X.device
        assert tuple(value.shape) == shape
    several = pegasos.solve(X, torch.from_numpy(data.Y), device="cpu", **options)
    assert tuple(several.w.shape) == (1, 6)
    assert tuple(several.b.shape) == (1,)
    assert tuple(several.duals.shape) == (300, 1)
    plain = pegasos.solve(X.numpy(), data.Y[:, 0], device="cpu", **options)
    for name in ("w", "duals"):
        assert isinstance(getattr(plain, name), np.ndarray)
        np.testing.assert_array_equal(getattr(plain, name), getattr(found, name).numpy())
    assert isinstance(plain.b, float)
    assert plain.b == float(found.b)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_a_proof_of_tensors_can_be_checked(data, kind):
    X, y = torch.from_numpy(data.X).to(kind), torch.from_numpy(data.Y[:, 0].copy())
    options = {"C": 1.0, "intercept": "free"}
    found = pegasos.solve(X, y, device="cpu", seed=0, **options)
    again = pegasos.certify(X, y, found.w, found.b, found.duals, **options)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-12)


def test_weights_of_a_proof_may_be_tensors(data):
    X, y = torch.from_numpy(data.X), data.Y[:, 0]
    options = {"C": 1.0, "intercept": "free", "sample_weight": torch.from_numpy(data.weight)}
    found = pegasos.solve(X, y, device="cpu", seed=0, **options)
    again = pegasos.certify(X, y, found.w, found.b, found.duals, **options)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-12)


def test_arrays_that_speak_dlpack(data, library):
    y = Lent(data.Y[:, 0])
    found = pegasos.solve(Lent(data.X), y, C=1.0, device="cpu", seed=0, sample_weight=data.weight)
    plain = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, device="cpu", seed=0, sample_weight=data.weight
    )
    for name in ("w", "b", "duals"):
        assert isinstance(getattr(found, name), Lent)
        np.testing.assert_array_equal(getattr(found, name).array, getattr(plain, name))
    weighed = pegasos.solve(
        Lent(data.X), y, C=1.0, device="cpu", seed=0, sample_weight=Lent(data.weight)
    )
    np.testing.assert_array_equal(weighed.w.array, plain.w)
    assert as_tensor("X", Lent(data.X)).data_ptr() == where(data.X)


def test_lists_and_frames(data):
    y = data.Y[:, 0]
    plain = pegasos.solve(data.X, y, C=1.0, device="cpu", seed=0)
    frame = pd.DataFrame(data.X)
    for X, labels in (
        (data.X.tolist(), y.tolist()),
        (frame, pd.Series(np.where(y > 0, "yes", "no"))),
        (frame, pd.Series(y > 0)),
    ):
        found = pegasos.solve(X, labels, C=1.0, device="cpu", seed=0)
        assert isinstance(found.w, np.ndarray)
        np.testing.assert_allclose(found.w, plain.w, rtol=1e-9)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_rows_are_not_copied_and_not_changed(data, kind):
    X = data.X.astype(kind)
    before = X.tobytes()
    for given in (X, torch.from_numpy(X)):
        assert as_tensor("X", given).data_ptr() == where(X)
        rows, here = rows_on_device(given, "cpu", 0.0)
        assert rows.source.data_ptr() == where(X)
        assert rows.source.dtype == getattr(torch, kind)
        assert here == CPU
        assert rows.resident
    pegasos.solve(X, data.Y[:, 0], C=1.0, device="cpu")
    assert X.tobytes() == before
    weight = data.weight.copy()
    pegasos.solve(X, data.Y[:, 0], C=1.0, device="cpu", sample_weight=torch.from_numpy(weight))
    assert weight.tobytes() == data.weight.tobytes()


def test_read_only_arrays_are_taken_without_a_warning(data):
    X, y, weight = data.X.copy(), data.Y[:, 0].copy(), data.weight.copy()
    for array in (X, y, weight):
        array.setflags(write=False)
    torch.set_warn_always(True)  # else it warns once in a process
    try:
        found = pegasos.solve(X, y, C=1.0, device="cpu", sample_weight=weight, seed=0)
    finally:
        torch.set_warn_always(False)
    assert found.stop_reason == "converged"
    assert as_tensor("X", X).data_ptr() == where(X)


def layouts():
    X = np.round(toy(60, 5, seed=4).X * 4)
    packed = np.zeros(60, dtype=[("y", "i1"), ("x", "f8", (5,))])
    packed["x"] = X
    return {
        "int8": X.astype(np.int8),
        "int64": X.astype(np.int64),
        "big endian": X.astype(">f4"),
        "longdouble": X.astype(np.longdouble),
        "columns first": np.asfortranarray(X),
        "every other column": np.repeat(X, 2, axis=1)[:, ::2],
        "columns from behind": X[:, ::-1].copy()[:, ::-1],
        "rows from behind": X[::-1].copy()[::-1],
        "fields of records": packed["x"],
        "needs gradients": torch.from_numpy(X).requires_grad_(),
        "transposed tensor": torch.from_numpy(X.T.copy()).T,
    }


@pytest.mark.parametrize("name", list(layouts()))
def test_numbers_of_any_kind_and_layout(name):
    given = layouts()
    y = toy(60, 5, seed=4).Y[:, 0]
    plain = np.asarray(given["int64"], dtype=np.float64)
    expected = pegasos.solve(plain, y, C=1.0, device="cpu", seed=0)
    found = pegasos.solve(given[name], y, C=1.0, device="cpu", seed=0)
    np.testing.assert_allclose(np.asarray(found.w), expected.w, rtol=1e-9)


def test_labels_from_behind(data):
    y = data.Y[::-1, 0].copy()
    expected = pegasos.solve(data.X, y, C=1.0, device="cpu", seed=0)
    found = pegasos.solve(data.X, y[::-1].copy()[::-1], C=1.0, device="cpu", seed=0)
    np.testing.assert_array_equal(found.w, expected.w)


def test_small_numbers_become_float32_and_whole_ones_float64():
    for kind, wanted in (
        (np.uint8, torch.float32), (np.int8, torch.float32), (np.bool_, torch.float32),
        (np.int32, torch.float64), (np.uint32, torch.float64), (np.int64, torch.float64),
    ):  # fmt: skip
        found = rows_tensor(np.ones((3, 2), dtype=kind))
        assert found.dtype == wanted
        assert bool((found == 1).all())


def test_labels_and_their_classes():
    device = torch.device("cpu")
    for y, names in (
        (np.array([3, 7, 3, 5]), [3, 5, 7]),
        (np.array([2.5, -1.0, 2.5, 2.5], dtype=np.float32), [-1.0, 2.5]),
        (np.array(["b", "a", "b", "c"]), ["a", "b", "c"]),
        (np.array([True, False, True, True]), [False, True]),
        (torch.tensor([9, 1, 9, 9], dtype=torch.uint8), [1, 9]),
        (["x", "y", "x", "y"], ["x", "y"]),
        (np.array([40_000, 3, 40_000, 7], dtype=np.uint16), [3, 7, 40_000]),
    ):
        classes, codes = classes_of(y, 4, device)
        assert classes.tolist() == names
        assert [names[i] for i in codes.tolist()] == [*np.asarray(y).tolist()]
        if isinstance(y, np.ndarray):
            assert classes.dtype == y.dtype
    signs, single = signs_of(np.array([5, 2, 5]), 3, device)
    assert single
    assert signs.tolist() == [[1, -1, 1]]
    signs, single = signs_of(torch.tensor([[1, 0], [-1, 1], [0, -1]]), 3, device)
    assert not single
    assert signs.tolist() == [[1, -1, 0], [0, 1, -1]]
    assert signs.dtype == torch.int8
    assert weights_of(2.0, 3, device).tolist() == [[2.0, 2.0, 2.0]]
    assert weights_of([1, 2, 0], 3, device).tolist() == [[1.0, 2.0, 0.0]]
    assert weights_of(None, 3, device) is None


@pytest.mark.parametrize("kind", [torch.uint16, torch.uint32, torch.uint64, torch.bfloat16])
def test_labels_of_less_usual_numbers(kind):
    classes, codes = classes_of(torch.tensor([7, 3, 7, 5]).to(kind), 4, CPU)
    assert classes.tolist() == [3, 5, 7]
    assert codes.tolist() == [2, 0, 2, 1]


def test_where_arrays_are():
    X = np.zeros((2, 2))
    there, host = Remote(X), Remote(X, kind=1)
    assert is_device_array(there)
    assert on_device(there, None)
    for one in (host, X, X.tolist(), torch.zeros(2), pd.DataFrame(X), None):
        assert not is_device_array(one)
        assert not on_device(one, None)
        assert on_device(one, "cpu")
    assert is_tensor(torch.zeros(2))
    assert is_tensor(there)
    assert not is_tensor(X)
    assert to_host(there) is X
    assert to_host(X) is X
    assert isinstance(to_host(torch.zeros(2)), np.ndarray)
    assert device_of(X, None) == device_of(torch.zeros(2), None) == CPU
    assert device_of(X, CPU) == CPU
    assert like([1.0])(torch.ones(2)).tolist() == [1.0, 1.0]
