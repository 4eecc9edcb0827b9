"""SVC: support vector machines with kernels, each with a certificate."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pegasos.arguments import functions, number
from pegasos.certificate import Certificate
from pegasos.history import History
from pegasos.interrupt import Interruption
from pegasos.kernel.gram import (
    Gram,
    KernelGram,
    MatrixGram,
    check_semidefinite,
    kernel_scores,
)
from pegasos.kernel.kernels import NAMES, Kernel, gamma_of
from pegasos.kernel.smo import KernelOutcome, Smo, run_smo
from pegasos.limits import Limits
from pegasos.problem import check_sample_weight
from pegasos.progress import ProgressLine
from pegasos.solve import check_tol
from pegasos.tasks.decision import chosen, counted_votes
from pegasos.tasks.labels import check_classes_weigh, class_weights

_TYPES = (np.float64, np.float32)


class SVC(ClassifierMixin, BaseEstimator):
    """Support vector classification with a kernel, proven to be within ``tol`` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (w.phi(x_i) + b))``; of several classes, for
    each pair, and pairs vote.

    Parameters
    ----------
    C : weight of the losses.
    kernel : ``"rbf"``, ``"linear"``, ``"poly"``, ``"sigmoid"``, ``"precomputed"`` (X is then the
        matrix), or a function of two blocks of rows that returns their matrix. Of the last three,
        and of odd ``poly`` ones, 512 rows are looked at: those that are not positive semidefinite
        there are refused. The proof is for kernels that are.
    gamma, degree, coef0 : as in scikit-learn.
    tol : the fit ends when the objective is proven to be within this relative distance of the
        best possible.
    intercept : ``"free"``, or ``"none"``.
    class_weight : dict, ``"balanced"`` or None, as in scikit-learn.
    cache_size : megabytes for rows of the kernel matrix.
    max_iter, max_time : steps and seconds after which to stop anyway, of each pair and of all.
    decision_function_shape : ``"ovr"`` or ``"ovo"``, as in scikit-learn.
    callbacks : called with each ``pegasos.Record``; one that returns True stops the fit.
    verbose : 1 shows a progress line on a terminal.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, n_support_, classes_, n_iter_ : as in
        scikit-learn.
    certificate_ : the proof: ``primal``, ``dual``, ``gap``, ``relative_gap``; floats for two
        classes, else one entry per pair.
    history_, stop_reason_ : as in ``LinearSVC``; the history of the last pair.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        intercept: Literal["free", "none"] = "free",
        class_weight: Any = None,
        cache_size: float = 1000,
        max_iter: int | None = None,
        max_time: float | None = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        callbacks: Any = (),
        verbose: int = 0,
    ) -> None:
        """Keep the parameters; they are checked by ``fit``."""
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.intercept = intercept
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.max_time = max_time
        self.decision_function_shape = decision_function_shape
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train on X (n, d), or a kernel matrix (n, n), and the classes y (n,)."""
        began = time.perf_counter()
        self._check_options()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_TYPES)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError("y holds one class; a classifier needs examples of at least two")
        weight = np.ones((codes.size, 1))
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, codes.size)
            check_classes_weigh(classes, codes, weight)
        if self.kernel == "precomputed":
            self._check_matrix(X)
        else:
            self._kernel = self._resolved(X, weight[:, 0])
        balance = class_weights(self.class_weight, classes, codes, weight)
        cost = weight[:, 0] * balance[codes]
        with ExitStack() as stack, Interruption() as interruption:
            callbacks = functions("callbacks", self.callbacks)
            if self.verbose:
                callbacks += (stack.enter_context(ProgressLine(self.tol, "SVC")),)
            outcomes = []
            for i, j in combinations(range(classes.size), 2):
                rows = np.flatnonzero(((codes == i) | (codes == j)) & (cost > 0))
                signs = np.where(codes[rows] == j, 1.0, -1.0)
                gram = self._gram(X, rows)
                if self.kernel == "precomputed" or not self._kernel.certain:
                    check_semidefinite(gram)
                problem = Smo(
                    gram,
                    signs,
                    self.C * cost[rows],
                    total_weight=float(weight[rows, 0].sum()),
                    s=1.0 / self.C,
                    free=self.intercept == "free",
                    cache_size=self.cache_size,
                )
                outcome = run_smo(
                    problem,
                    tol=self.tol,
                    limits=Limits(max_time=self.max_time, max_steps=self.max_iter),
                    callbacks=callbacks,
                    began=began,
                    interruption=interruption,
                )
                outcomes.append((rows, outcome))
        self.classes_ = classes
        self._store(X, codes, outcomes)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,) for two classes, positive for the second; for more as in scikit-learn."""
        scores = self._pair_scores(X)
        if self.classes_.size == 2:
            return -scores[:, 0]
        if self.decision_function_shape == "ovo":
            return scores
        return counted_votes(-scores, self.classes_.size)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row: of several, that with the most votes of the pairs."""
        scores = self._pair_scores(X)
        two = self.classes_.size == 2
        found: NDArray[Any] = self.classes_[
            chosen(-scores[:, 0] if two else counted_votes(-scores, self.classes_.size))
        ]
        return found

    def _check_options(self) -> None:
        check_tol(self.tol)
        for name, value in (("C", self.C), ("cache_size", self.cache_size)):
            if not (np.isfinite(number(name, value)) and value > 0):
                raise ValueError(f"{name} must be positive, got {value}")
        if not callable(self.kernel) and self.kernel not in (*NAMES, "precomputed"):
            raise ValueError(
                f"kernel must be one of {', '.join(NAMES)}, precomputed or a function, got "
                f"{self.kernel!r}"
            )
        if self.intercept not in ("free", "none"):
            raise ValueError(f"intercept must be 'free' or 'none', got {self.intercept!r}")
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f"decision_function_shape must be 'ovr' or 'ovo', got "
                f"{self.decision_function_shape!r}"
            )

    def _check_matrix(self, K: Any) -> None:
        if sparse.issparse(K):
            raise TypeError("a precomputed kernel matrix must be dense")
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"X must be the matrix of the kernel, n x n: it has shape {K.shape}")
        if not np.allclose(K, K.T, rtol=1e-5, atol=1e-8 * float(np.abs(K).max())):
            raise ValueError("the kernel matrix is not symmetric")

    def _resolved(self, X: Any, weight: NDArray[np.float64]) -> Kernel:
        if callable(self.kernel):
            return Kernel("function", function=self.kernel)
        return Kernel(self.kernel, gamma_of(self.gamma, X, weight), self.degree, self.coef0)

    def _gram(self, X: Any, rows: NDArray[np.intp]) -> Gram:
        if self.kernel == "precomputed":
            return MatrixGram(X if rows.size == X.shape[0] else X[np.ix_(rows, rows)])
        return KernelGram(self._kernel, X if rows.size == X.shape[0] else X[rows])

    def _store(
        self, X: Any, codes: NDArray[np.intp], outcomes: list[tuple[Any, KernelOutcome]]
    ) -> None:
        """scikit-learn's attributes: support vectors by class, their coefficients of all pairs."""
        count = self.classes_.size
        dense = np.zeros((count - 1, codes.size))
        for (i, j), (rows, outcome) in zip(self._pairs(), outcomes, strict=True):
            of_i, of_j = rows[codes[rows] == i], rows[codes[rows] == j]
            dense[j - 1, of_i] = -outcome.coef[codes[rows] == i]
            dense[i, of_j] = -outcome.coef[codes[rows] == j]
        found = np.flatnonzero(dense.any(axis=0))
        self.support_ = found[np.argsort(codes[found], kind="stable")].astype(np.int32)
        self.n_support_ = np.bincount(codes[self.support_], minlength=count).astype(np.int32)
        shown = dense[:, self.support_]
        intercept = np.array([-outcome.b for _, outcome in outcomes])
        if count == 2:  # as in scikit-learn: positive for the second class
            shown, intercept = -shown, -intercept
        self.dual_coef_, self.intercept_ = shown, intercept
        empty = self.kernel == "precomputed"
        self.support_vectors_ = X[self.support_[:0] if empty else self.support_]
        self.shape_fit_ = X.shape
        self._store_proof([outcome for _, outcome in outcomes])

    def _store_proof(self, outcomes: list[KernelOutcome]) -> None:
        parts = [outcome.certificate for outcome in outcomes]
        columns = (
            [getattr(part, name) for part in parts] for name in ("primal", "dual", "rounding")
        )
        proof = Certificate(*(np.array(column) for column in columns))
        self.certificate_ = proof.lane(0) if len(parts) == 1 else proof
        self.dual_gap_, self.objective_ = self.certificate_.gap, self.certificate_.primal
        self.history_: History = outcomes[-1].history
        self.n_iter_ = np.array([outcome.steps for outcome in outcomes], dtype=np.int32)
        ends = [o.stop_reason for o in outcomes if o.stop_reason != "converged"]
        self.stop_reason_: str = ends[0] if ends else "converged"
        if ends:
            gap = float(np.max(proof.relative_gap))
            warnings.warn(
                f"The fit stopped ({ends[0]}) before its objective was proven to be within "
                f"tol={self.tol:g} of the optimum: the model is proven to be within {gap:.3g} of "
                "it (relative). Raise max_iter or max_time, scale the features, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return combinations(range(self.classes_.size), 2)

    def _pair_scores(self, X: Any) -> NDArray[np.float64]:
        """(n, pairs), positive for the first class of the pair, as in scikit-learn."""
        check_is_fitted(self, "dual_coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=_TYPES, reset=False)
        count = self.classes_.size
        sign = -1.0 if count == 2 else 1.0
        ends = np.concatenate([[0], np.cumsum(self.n_support_)])
        coef = np.zeros((self.support_.size, count * (count - 1) // 2))
        for pair, (i, j) in enumerate(self._pairs()):
            of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            coef[of_i, pair] = sign * self.dual_coef_[j - 1, of_i]
            coef[of_j, pair] = sign * self.dual_coef_[i, of_j]
        if self.kernel == "precomputed":
            scores = X[:, self.support_] @ coef
        else:
            scores = kernel_scores(self._kernel, X, self.support_vectors_, coef)
        return np.asarray(scores + sign * self.intercept_)

    def __sklearn_tags__(self) -> Any:
        """Sparse input is welcome; a precomputed matrix is cut in both directions."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
