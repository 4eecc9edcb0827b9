"""A small run that takes a few hundred epochs, for tests that end one on its way."""

from __future__ import annotations

from pegasos.testing.toys import toy

_DATA = toy(200, 6, seed=1)
X, Y = _DATA.X, _DATA.Y[:, 0]
OPTIONS = {"C": 10.0, "solver": "dual", "tol": 1e-9, "seed": 3}
