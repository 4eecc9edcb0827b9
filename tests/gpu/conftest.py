"""Training on a device, tested on a CPU: the same code, and kernels that are interpreted."""

import os
import sys
import types
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.gpu.lent import Lent

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported
OF_TRITON = ("test_kernels.py", "test_formulas.py")


class Missing(pytest.Module):
    """A module that is skipped before it imports what is not there."""

    reason: str

    def collect(self):
        pytest.skip(self.reason)


def pytest_pycollect_makemodule(module_path, parent):
    reason = None
    if find_spec("torch") is None:
        reason = "torch is not installed: the extra gpu"
    elif module_path.name in OF_TRITON and find_spec("triton") is None:
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
def interpreted(monkeypatch):
    """Kernels run, on the CPU."""
    from pegasos.sites.device import kernels

    monkeypatch.setattr(kernels, "INTERPRETED", True)


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
            device_rows(torch.from_numpy(X) if isinstance(X, np.ndarray) else X, bias),
            torch.from_numpy(np.ascontiguousarray(Y.T, dtype=np.int8)),
            None if weight is None else torch.from_numpy(weight[None]),
            positive=np.full(K, positive),
            negative=np.full(K, negative),
            s=lambda _: np.full(K, 1 / C),
            intercept=intercept,
            loss=named(loss),
            keep_duals=True,
        )

    return made


@pytest.fixture
def trained(problem_of):
    """Trains lanes on a site that is tuned otherwise; what it gives has w and duals."""
    from pegasos.run.driver import run
    from pegasos.run.limits import Limits
    from pegasos.run.options import RunOptions
    from pegasos.sites.device.lanes import lanes_of
    from pegasos.solvers import by_name, choice_of

    def train(X, y, solver, tol, *, max_epochs=None, tuning, **options):
        problem = problem_of(X, y.reshape(len(y), -1).astype(np.int8), **options)
        problem = replace(problem, site=replace(problem.site, **tuning))
        choice = choice_of(None if solver is None else by_name(solver), problem, tol)
        limits = Limits(max_epochs=max_epochs)
        found = run(problem, choice, RunOptions(tol=tol, limits=limits, seed=0))
        given = vars(found) | {"duals": lanes_of(problem).kept.T.numpy(), "w": found.W[:-1].T}
        return types.SimpleNamespace(**given)

    return train


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
