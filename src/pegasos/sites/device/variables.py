"""The variables of the interior point method's rows, on the device."""

from __future__ import annotations

import torch
from torch import Tensor

from pegasos.sites.device.formulas import Direction, Fixed, Row


class Variables:
    """Those of some lanes: six numbers a row, and two directions of four."""

    def __init__(self, values: Tensor, directions: tuple[Tensor, Tensor]) -> None:
        """(6, K, n) and twice (4, K, n), float64."""
        self.values, self._directions = values, directions

    @classmethod
    def start(
        cls, fixed: Fixed, up: Tensor, down: Tensor, typical: Tensor, most_slack: float
    ) -> Variables:
        """In the middle of the box; the duals of y = +1 and -1 at (K, 1) shares of that.

        Rows that cost less than a (K, 1) typical one start with more slack.
        """
        y, c, loss = fixed
        inside = y != 0
        values = torch.ones((6, *y.shape), dtype=torch.float64, device=y.device)
        a = c / 2 * torch.where(y > 0, up, down)
        values[0] = torch.where(inside, a, 1.0)
        values[1] = loss.room(values[0], c, inside)
        slack = (typical / c.clamp(min=1e-300)).clamp(1.0, most_slack)
        values[2] = torch.where(inside, slack, 1.0)
        values[3] = values[2]
        values[4] = -1.0
        values[5] = 0.0
        now, other = torch.zeros((2, 4, *y.shape), dtype=torch.float64, device=y.device)
        return cls(values, (now, other))

    def rows(self, lo: int, hi: int) -> Row:
        """The variables of some rows."""
        return Row(*self.values[:, :, lo:hi])

    def direction(self, lo: int, hi: int, *, other: bool = False) -> Direction:
        """The direction in hand, or the other one."""
        return Direction(*self._directions[other][:, :, lo:hi])

    def swap(self, lanes: Tensor) -> None:
        """The other direction becomes the one in hand, in some lanes."""
        now, other = self._directions
        if bool(lanes.all()):
            self._directions = other, now
            return
        kept = now[:, lanes]
        now[:, lanes] = other[:, lanes]
        other[:, lanes] = kept

    def take(self, lanes: Tensor) -> Variables:
        """Those of some lanes."""
        now, other = self._directions
        return Variables(self.values[:, lanes], (now[:, lanes], other[:, lanes]))
