"""The options of SVC, checked."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from pegasos.certificate import Floats
from pegasos.estimators.approximation import check_approximation
from pegasos.kernel.kernels import NAMES, Kernel, gamma_of
from pegasos.kernel.pegasos import KernelPegasos
from pegasos.kernel.smo import SMO
from pegasos.kernel.solver import KernelSolver
from pegasos.problem import Intercept
from pegasos.solve import check_tol
from pegasos.tasks.probability import method_of
from pegasos.util import sparse
from pegasos.util.arguments import number


def check_options(svc: Any) -> None:
    """Raise ValueError for options that are none, or do not go together."""
    check_tol(svc.tol)
    method_of(svc.probability)
    for name in ("C", "cache_size"):
        value = getattr(svc, name)
        if not (np.isfinite(number(name, value)) and value > 0):
            raise ValueError(f"{name} must be positive, got {value}")
    if not callable(svc.kernel) and svc.kernel not in (*NAMES, "precomputed"):
        raise ValueError(
            f"kernel must be one of {', '.join(NAMES)}, precomputed or a function, got "
            f"{svc.kernel!r}"
        )
    for name, allowed in (
        ("intercept", ("auto", "free", "regularized", "none")),
        ("multi_class", ("ovo", "ovr")),
        ("decision_function_shape", ("ovr", "ovo")),
    ):
        if getattr(svc, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(svc, name)!r}")
    if svc.approximation is None:
        solver_of(svc)
    else:
        check_approximation(svc.approximation, svc.n_components, svc.kernel, svc.solver)


def solver_of(svc: Any) -> tuple[KernelSolver, Intercept]:
    """What trains the kernel's own problem, and the intercept that is trained."""
    solver: KernelSolver
    if isinstance(svc.solver, KernelPegasos):
        solver = svc.solver
    elif svc.solver == "pegasos":
        solver = KernelPegasos()
    elif svc.solver in ("auto", "dual"):
        solver = SMO(cache_size=svc.cache_size, n_jobs=svc.n_jobs)
    else:
        raise ValueError(
            f"solver must be 'auto', 'dual', 'pegasos' or a KernelPegasos, got {svc.solver!r}"
        )
    intercept = str(svc.intercept)
    if intercept == "auto":
        intercept = "free" if "free" in solver.intercepts else "regularized"
    solver.check_intercept(intercept)
    return solver, cast(Intercept, intercept)


def kernel_of(svc: Any, X: Any, weight: Floats) -> Kernel | None:
    """The kernel for rows X of these weights (n,); None: X is its matrix, which is checked."""
    if callable(svc.kernel):
        return Kernel("function", function=svc.kernel)
    if svc.kernel != "precomputed":
        return Kernel(svc.kernel, gamma_of(svc.gamma, X, weight), svc.degree, svc.coef0)
    if sparse.issparse(X):
        raise TypeError("a precomputed kernel matrix must be dense: use X.toarray()")
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"X must be the matrix of the kernel, n x n: it has shape {X.shape}")
    if not np.allclose(X, X.T, rtol=1e-5, atol=1e-8 * float(np.abs(X).max())):
        row, column = np.unravel_index(np.argmax(np.abs(X - X.T)), X.shape)
        raise ValueError(
            f"the kernel matrix is not symmetric: [{row}, {column}] is {X[row, column]:.6g}, the "
            f"other way round {X[column, row]:.6g}"
        )
    return None
