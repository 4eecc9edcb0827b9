"""InteriorPoint and Newton on a cluster: the solvers themselves, with passes over parts.

Each pass is one question to all workers at once, whose sums come back: gradients of the size of w,
and once an iteration a matrix of features x features. The variables of the rows stay with them; if
a part is lost they are, too, and the run on that lane starts again, which takes some iterations.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from pegasos.certificate import Certificate, Floats, GiveUp, never
from pegasos.dask.certify import certify_on_cluster
from pegasos.dask.errors import InterruptedRoundError, PartsLostError
from pegasos.dask.passes import unpack
from pegasos.dask.problem import ClusterProblem
from pegasos.dask.solver import ClusterSolver
from pegasos.problem import Problem
from pegasos.solvers.base import State
from pegasos.solvers.interior import InteriorPoint, Lightened, balancing, lightened
from pegasos.solvers.interior_passes import OneLane
from pegasos.solvers.newton import Newton


class _RemotePasses:
    """Questions to all parts about one lane."""

    def __init__(self, problem: Problem) -> None:
        here = cast(ClusterProblem, problem)
        self.cluster, self.lane = here.cluster, int(here.ids[0])

    def begin(self, kind: str, start: Lightened) -> None:
        """The variables of all rows at the start of a run."""
        common = {"lane": self.lane, "kind": kind, "start": start}
        self.cluster.ask_again("start_passes", common)

    def ask(self, method: str, *arguments: Any) -> dict[str, Any]:
        own = tuple(np.array(a) if isinstance(a, np.ndarray) else a for a in arguments)
        common = {"lane": self.lane, "method": method, "arguments": own}
        reply = self.cluster.ask("run_pass", common)
        if "lost" in reply:
            raise PartsLostError
        return reply


class RemoteNewton(_RemotePasses):
    """As ``_core.Newton``; ranges are always all rows."""

    def fresh(self) -> None:
        """Newton's slacks become those of w = 0."""
        self.ask("fresh")

    def along(self, lo: int, hi: int, every: int, dw: Floats, db: float) -> None:
        """As ``_core.Newton.along``."""
        self.ask("along", every, dw, db)

    def line(self, lo: int, hi: int, every: int, step: float, width: float) -> Floats:
        """As ``_core.Newton.line``."""
        return cast(Floats, self.ask("line", every, step, width)["out"])

    def point(
        self, lo: int, hi: int, every: int, step: float, before: float, width: float,
        constant: float, sums: Floats,
    ) -> Floats:  # fmt: skip
        """As ``_core.Newton.point``."""
        reply = self.ask("newton_point", every, step, before, width, constant)
        unpack(reply["matrix"], sums[:-1])
        sums[-1] += reply["vector"]
        return cast(Floats, reply["out"])


class RemoteInterior(_RemotePasses):
    """As ``_core.Interior``; ranges are always all rows."""

    def swap(self) -> None:
        """The other direction becomes the one in hand, of all parts."""
        self.ask("swap")

    def point(
        self,
        lo: int,
        hi: int,
        step: float,
        w: Floats,
        b: float,
        vectors: Floats,
    ) -> Floats:
        """As ``_core.Interior.point``."""
        reply = self.ask("point", step, w, b)
        vectors += reply["vectors"]
        return cast(Floats, reply["out"])

    def affine(self, lo: int, hi: int, dw: Floats, db: float, second: Floats) -> list[float]:
        """As ``_core.Interior.affine``."""
        reply = self.ask("affine", dw, db)
        second += reply["vectors"]
        return [*reply["steps"].tolist(), *reply["out"].tolist()]

    def direction(
        self,
        lo: int,
        hi: int,
        other: bool,
        mu: float,
        dw: Floats,
        db: float,
    ) -> Floats:
        """As ``_core.Interior.direction``."""
        return cast(Floats, self.ask("direction", other, mu, dw, db)["steps"])

    def correct(
        self,
        lo: int,
        hi: int,
        mu: float,
        primal: float,
        dual: float,
        rhs: Floats,
    ) -> float:
        """As ``_core.Interior.correct``."""
        reply = self.ask("correct", mu, primal, dual)
        rhs += reply["vectors"]
        return float(reply["out"])

    def trial(self, lo: int, hi: int, factors: Floats, sums: Floats) -> None:
        """As ``_core.Interior.trial``."""
        sums += self.ask("trial", factors)["out"]

    def slacken(self, lo: int, hi: int, slack: float) -> None:
        """As ``_core.Interior.slacken``."""
        self.ask("slacken", slack)

    def gram(
        self,
        lo: int,
        hi: int,
        constant: float,
        light: float,
        thin: float,
        matrix: Floats,
    ) -> None:
        """As ``_core.Interior.gram``."""
        unpack(self.ask("gram", constant, light, thin)["matrix"], matrix)


class _SecondOrder(ClusterSolver):
    """What both have in common; mixed in before the solver itself."""

    remote: ClassVar[type[_RemotePasses]]

    def start(self, problem: Problem, seed: int, duals: Floats | None = None) -> State:
        """As on one machine; the variables of the rows start with the parts."""
        self.remote(problem).begin(self.name, lightened(problem))
        return super().start(problem, seed, duals)  # type: ignore[safe-super]

    def passes(self, problem: Problem, state: State) -> Any:
        """Questions to the parts."""
        return self.remote(problem)

    def lost(self, problem: ClusterProblem, state: State) -> None:
        """Start again: some rows' variables are lost. A Ctrl-C meanwhile is heard later."""
        spent = state["cursor"].copy()
        with suppress(InterruptedRoundError):
            for name, array in self.start(problem, 0).arrays.items():
                state[name][...] = array
        state["cursor"][:] = spent

    def advance(
        self, problem: Problem, state: State, *, work: int, stop_seen: int, stop_steps: int
    ) -> bool:
        """As on one machine; a pass at a time, so that Ctrl-C is heard in between."""
        try:
            return super().advance(  # type: ignore[safe-super]
                problem, state, work=min(work, 1), stop_seen=stop_seen, stop_steps=stop_steps
            )
        except PartsLostError:
            self.lost(cast(ClusterProblem, problem), state)
        except InterruptedRoundError:
            pass  # the driver knows, and certifies nothing more
        return False

    def weights(self, problem: Problem, state: State, give_up: GiveUp = never) -> Floats:
        """W as it stands; b, if free, is found by the certificate."""
        # A copy: the state starts again when parts are lost.
        return super().weights(problem, state, give_up).copy()  # type: ignore[safe-super]

    def proven(
        self, problem: ClusterProblem, state: State, W: Floats
    ) -> tuple[Certificate, Floats]:
        """The certificate, and its b; a lane that is done with is forgotten by the parts."""
        cluster, lane = problem.cluster, int(problem.ids[0])
        proof, b, _ = certify_on_cluster(problem, W, {}, lane=lane, at=self._at(problem, state))
        if np.all(proof.proves(cluster.tol) | proof.exhausted(cluster.tol)):
            cluster.ask_again("end_passes", {"lane": lane})
        return proof, b

    def _at(self, problem: Problem, state: State) -> float:
        """What the duals are read with: see ``LanePasses.duals``."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ClusterInterior(_SecondOrder, InteriorPoint):
    """InteriorPoint, its rows on a cluster."""

    remote = RemoteInterior

    def passes(self, problem: Problem, state: State) -> Any:
        """Questions to the parts, which know themselves what direction is in hand."""
        return OneLane(RemoteInterior(problem), state, problem.threads)

    def _at(self, problem: Problem, state: State) -> float:
        return float(balancing(problem, state)[0])


@dataclass(frozen=True, kw_only=True)
class ClusterNewton(_SecondOrder, Newton):
    """Newton, its rows on a cluster."""

    remote = RemoteNewton

    def _at(self, problem: Problem, state: State) -> float:
        return self.width(state)
