"""Waiting for tasks with an eye on the workers they need: nothing is waited for in vain."""

from __future__ import annotations

import time
from typing import Any

from pegasos.run.interrupt import Interruption
from pegasos.sites.cluster.health import Health
from pegasos.sites.errors import ClusterError, InterruptedSiteError, WorkersLostError

_POLL = 0.5  # seconds between two looks at the workers


class Watcher:
    """Waits; raises when workers are lost meanwhile, or Ctrl-C is pressed."""

    def __init__(self, client: Any, timeout: float, interruption: Interruption) -> None:
        """Know nothing of the workers yet."""
        self.client, self.timeout, self.interruption = client, timeout, interruption
        self.health = Health(client, timeout)

    def workers(self) -> list[str]:
        """The usable workers; waits for one if there is none."""
        deadline = time.monotonic() + self.timeout
        while True:
            self.health.look(now=True)
            found = self.health.usable()
            if found:
                return found
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"no worker has been there for {self.timeout:g} s: start some, or raise timeout"
                )
            self.check_interrupt()
            time.sleep(_POLL)

    def done(self, future: Any) -> bool:
        """Whether a task is done, after a moment; raises what it failed with."""
        from distributed import CancelledError, wait

        self.check_interrupt()
        try:
            with self.client.as_current():
                wait([future], timeout=_POLL)
        except TimeoutError:
            return False
        if future.status == "error":
            raise future.exception(timeout=self.timeout)
        if future.status != "finished":
            raise CancelledError(future.status)
        return True

    def wait(self, future: Any, workers: set[str]) -> None:
        """Wait until a task is done that needs these workers; what it returned stays there."""
        while True:
            try:
                if self.done(future):
                    return
            except Exception as error:
                if not of_the_cluster(error):
                    raise
                self.check(workers, now=True)
                # All are well: what it needed was lost on the way.
                raise WorkersLostError(set()) from error
            self.check(workers)

    def result(self, future: Any, workers: set[str]) -> Any:
        """What a task returned."""
        self.wait(future, workers)
        while True:
            try:
                return future.result(timeout=_POLL)
            except TimeoutError:
                self.check(workers)
            except Exception as error:  # it is done: what fails is to fetch it
                self.check(workers, now=True)
                raise WorkersLostError(set()) from error

    def check(self, workers: set[str], *, now: bool = False) -> None:
        """Raise if some of the workers are lost."""
        self.health.look(now=now)
        lost = self.health.lost(workers)
        if lost:
            raise WorkersLostError(lost)

    def check_interrupt(self) -> None:
        """Raise if Ctrl-C was pressed."""
        if self.interruption.requested:
            raise InterruptedSiteError


def of_the_cluster(error: BaseException) -> bool:
    """Whether an error is the cluster's, not the task's own."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    return isinstance(error, CancelledError | KilledWorker | CommClosedError)
