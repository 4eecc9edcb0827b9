"""Training on a device, tested on a CPU: the same code, and kernels that are interpreted."""

import os
import sys
import types
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.gpu.lent import Lent

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported


class Missing(pytest.Module):
    """A module that is skipped before it imports what is not there."""

    reason: str

    def collect(self):
        pytest.skip(self.reason)


def pytest_pycollect_makemodule(module_path, parent):
    reason = None
    if find_spec("torch") is None:
        reason = "torch is not installed: the extra gpu"
    elif module_path.name == "test_kernels.py" and find_spec("triton") is None:
        reason = "Triton is not installed: it comes with torch for CUDA"
    if reason is None:
        return None
    found = Missing.from_parent(parent, path=module_path)
    found.reason = reason
    return found


@pytest.fixture(autouse=True, scope="package")
def one_thread():
    """Threads of torch wait for each other, and long where somebody else computes, too."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def problem_of():
    """Makes lanes over rows on a device from NumPy arrays."""
    import torch

    from pegasos.losses import named
    from pegasos.sites.device.rows import device_rows
    from pegasos.sites.device.site import device_problem

    def made(
        X, Y, *, C=1.0, weight=None, intercept="free", loss="hinge", positive=1.0, negative=1.0
    ):
        K = Y.shape[1]
        bias = 1.0 if intercept == "regularized" else 0.0
        Y = Y if weight is None else np.where(weight[:, None] > 0, Y, 0)
        return device_problem(
            device_rows(torch.from_numpy(X), bias),
            torch.from_numpy(np.ascontiguousarray(Y.T, dtype=np.int8)),
            None if weight is None else torch.from_numpy(weight[None]),
            positive=np.full(K, positive),
            negative=np.full(K, negative),
            s=lambda _: np.full(K, 1 / C),
            intercept=intercept,
            loss=named(loss),
        )

    return made


@pytest.fixture
def library(monkeypatch):
    """The library that ``Lent`` is of."""
    module = types.ModuleType("lent")
    module.from_dlpack = lambda tensor: Lent(np.from_dlpack(tensor))
    monkeypatch.setitem(sys.modules, "lent", module)


@pytest.fixture(scope="package")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="package")
def odd(digits):
    X, y = digits
    return X, np.where(y % 2, "odd", "even")
