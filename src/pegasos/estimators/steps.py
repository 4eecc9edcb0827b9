"""Steps of a model as transformers of scikit-learn, for pipelines."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array

from pegasos.data.dataset import Data
from pegasos.steps import Step


class StepTransformer(TransformerMixin, BaseEstimator):
    """A step that was learned before: it only transforms."""

    def __init__(self, step: Step) -> None:
        """Keep the step."""
        self.step = step

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Nothing is learned any more."""
        return self

    def transform(self, X: Any) -> Any:
        """Rows (n, d), an array or CSR; or n texts, where the step begins with text."""
        if isinstance(X, str):
            raise ValueError("X is one text: give a list of texts")
        if sparse.issparse(X) or np.ndim(X) == 2:
            return self.step.apply(Data(X=check_array(X, accept_sparse="csr"))).X
        texts = list(X)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("X must be rows (n, features), or a list of texts")
        return self.step.apply(Data(X=None, text=texts)).X

    def __sklearn_is_fitted__(self) -> bool:
        """It always is."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Sparse rows and texts are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags
