"""Pegasos and its peers, one file each.

A peer minimises ``lam/2 |w|^2 + mean hinge loss`` without an intercept; C = 1/(lam n). It is given
X as float32, dense or CSR, and turns it into its own format by ``convert``, which is timed apart.
``tolerances`` are its stopping tolerances, or numbers of epochs, from loose to tight.
"""

from importlib import import_module, metadata, util
from typing import Any, NamedTuple

import numpy as np

OURS = "pegasos"
MODULES = {
    OURS: "ours",
    "liblinear": "liblinear",
    "sklearn-linear-svc": "sklearn_linear_svc",
    "sklearn-sgd": "sklearn_sgd",
    "skglm": "skglm",
    "snapml": "snapml",
    "ocas": "ocas",
}

# LIBLINEAR's stopping tolerances, and scikit-learn's, which are the same.
LIBLINEAR_TOLERANCES = (
    30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6,
)  # fmt: skip


class Fit(NamedTuple):
    """What a fit gives: the weights, and what else the peer can tell."""

    w: np.ndarray
    seconds: float | None = None  # by the peer's own clock, where the call does more than train
    gap: float | None = None  # proven by the peer: relative, and certified
    dual: float | None = None  # a lower bound of the optimum that comes with that proof
    note: str = ""
    last: bool = False  # a tighter tolerance would not change the run


class Peer:
    """What a peer is; a file of this folder defines one, ``peer``."""

    name: str
    title: str
    package: str  # on PyPI, or in Debian
    unclocked = 0.0  # seconds that a call may need beside those on its own clock
    threaded = False  # whether two threads help it
    counts = False  # whether its tolerances are epochs, so that time is proportional to them
    tolerances: tuple[Any, ...]

    def available(self) -> str | None:
        """None, or the reason why it cannot run here."""
        return None if util.find_spec(self.module) else f"{self.package} is not installed"

    @property
    def module(self) -> str:
        """What to import, where it is not the package's own name."""
        return self.package

    def version(self) -> str:
        """The version that runs here."""
        return metadata.version(self.package)

    def convert(self, X: Any, y: np.ndarray) -> Any:
        """X and y in the peer's own format."""
        raise NotImplementedError

    def fit(self, data: Any, C: float, tolerance: Any, threads: int) -> Fit:
        """Train on what ``convert`` gave."""
        raise NotImplementedError


def by_name(name: str) -> Peer:
    """The peer of that name."""
    return import_module(f"{__name__}.{MODULES[name]}").peer
