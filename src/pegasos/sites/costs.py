"""What passes cost at a site: the numbers by which ``auto`` chooses."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PassCosts:
    """Nanoseconds on one core, of which only ratios matter; ``solvers.auto`` has the model."""

    visit: float = 45.0  # of a row by DualCoordinate
    value: float = 0.75
    row: float = 120.0  # of InteriorPoint
    row_value: float = 2.5
    gram: float = 0.045  # of one of a row's values^2 / 2 products in a matrix
    factor: float = 0.015  # of a matrix, per features^3
    newton_row: float = 30.0
    newton_value: float = 0.25
    newton_rows: int = 64  # for every feature; on fewer, Newton's steps are short
    newton_lanes: float = math.inf  # of more lanes, InteriorPoint's passes take all together
    interior_epochs: float | None = None  # InteriorPoint in iterations of Newton; None: the model's


PULL = 0.05
"""Of a free intercept in steps row by row, over the curvature that a row brings on average.

With it a free intercept takes no more passes than none; a stronger pull takes more.
"""

DENSE = PassCosts()
SPARSE = PassCosts(value=1.0, row_value=10.0, gram=1.8, newton_value=1.5, newton_rows=200)
