"""What solvers on a cluster share: duals stay with the parts, and proofs survive losses."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import cast

from pegasos.certificate import Certificate, DualsOf, Floats, GiveUp, never
from pegasos.dask.errors import InterruptedRoundError, PartsLostError
from pegasos.dask.problem import ClusterProblem
from pegasos.problem import Problem
from pegasos.solvers.base import Solver, State


@dataclass(frozen=True, kw_only=True)
class ClusterSolver(Solver):
    """A solver whose rows and duals are on workers."""

    @abstractmethod
    def lost(self, problem: ClusterProblem, state: State) -> None:
        """Parts came up anew: what they knew of this run is gone."""

    @abstractmethod
    def proven(
        self, problem: ClusterProblem, state: State, W: Floats
    ) -> tuple[Certificate, Floats]:
        """The certificate of W and the duals that the parts have, and its b."""

    def duals(self, problem: Problem, state: State) -> DualsOf:
        """They are with the parts."""
        raise NotImplementedError("duals stay on the workers")

    def certify(
        self,
        problem: Problem,
        state: State,
        W: Floats,
        b: Floats,  # noqa: ARG002 - found, or in W
        give_up: GiveUp = never,  # noqa: ARG002 - the cluster listens to Ctrl-C itself
    ) -> tuple[Certificate, Floats] | None:
        """The certificate, from sums over the workers' rows; None after a Ctrl-C.

        If parts are lost W stays: any duals prove something about it.
        """
        here = cast(ClusterProblem, problem)
        while True:
            try:
                proof, found = self.proven(here, state, W)
            except PartsLostError:
                self.lost(here, state)
                continue
            except InterruptedRoundError:
                return None
            here.cluster.keep_model(here.ids, W[:, : here.lanes], found, proof)
            return proof, found
