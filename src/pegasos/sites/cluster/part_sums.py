"""What a certificate needs to know of a part, recomputed from rows, weights and duals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.rows import Rows
from pegasos.sites.cluster.compressed import compress
from pegasos.sites.cluster.part_duals import DualPart, Settled, padded, sums_over
from pegasos.sites.merge import Reply


class CertifiedPart(DualPart):
    """Sums over all rows of a part, those that are away included."""

    rows: Rows | None
    looked: dict[tuple[int, ...], Any]  # by lanes: the weights that were looked at, and w.x

    def look(self, *, live: NDArray[np.intp], W: Any) -> Reply:
        """Keep W and w.x of all rows for what follows; where the loss's kinks in b end."""
        if self.rows is None:
            return {}
        products = self.rows.products(padded(W), live.size, self.threads)
        self.looked[tuple(live.tolist())] = W, products
        labels = self.labels[:, live]
        kinks = labels - products
        inside = labels != 0
        least = np.where(inside, kinks, np.inf).min(axis=0)
        most = np.where(inside, kinks, -np.inf).max(axis=0)
        return {"bracket": ("min", np.stack([least, -most]))}

    def losses(self, *, live: NDArray[np.intp], at: Any) -> Reply:
        """The loss of every lane with each intercept of ``at`` (tries, lanes)."""
        if self.rows is None:
            return {}
        found = self.looked.get(tuple(live.tolist()))
        if found is None:
            return self.lost()
        problem = self.problem.take(live)
        costs = problem.costs()
        out = np.empty(at.shape)
        for i, b in enumerate(at):
            slack = 1.0 - problem.labels * (found[1] + b)
            out[i] = problem.loss.value(slack, costs).sum(axis=0)
        return {"losses": ("sum", out)}

    def gap_sums(
        self,
        *,
        live: NDArray[np.intp],
        W: Any = None,
        b: Floats,
        settled: Settled | None = None,
        ids: Any = None,
        duals: Any = None,
        lane: int | None = None,
        at: float = 0.0,
    ) -> Reply:
        """The sums of ``pegasos.certificate.GapSums`` over the part.

        The duals are those of rounds (with the client's of the rows ``ids``), or of a second-order
        solver's run on ``lane``, read off its variables with ``at``. Without ``W`` it is
        the one that was looked at.
        """
        if self.rows is None:
            return {}
        reply: Reply = {}
        found = self.looked.pop(tuple(live.tolist()), None)
        if W is None:
            if found is None:
                return self.lost()
            W = found[0]
        if lane is None:
            self.settle(settled)
            self.take_duals(ids, duals)
            a = np.ascontiguousarray(self.duals[:, live])
            few = compress(self.duals, self.problem.largest_duals())
            reply["duals"] = ("each", {self.name: few})
        else:
            if lane not in self.passes:
                return self.lost()
            a = np.ascontiguousarray(self.passes[lane].duals(at))
        problem = self.problem.take(live)
        a = np.clip(a, 0.0, problem.largest_duals())  # D is a bound whatever went before
        total = sums_over(problem, a, padded(W), b)
        reply["sums"] = ("sum", total.sums)
        reply["U_positive"] = ("sum", total.U_positive[:, : live.size])
        if total.U_negative is not None:
            reply["U_negative"] = ("sum", total.U_negative[:, : live.size])
        return reply
