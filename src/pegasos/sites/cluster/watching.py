"""Waiting for tasks with an eye on the workers they need: nothing is waited for in vain."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from concurrent.futures import wait as done_in
from typing import Any

from pegasos.run.interrupt import Interruption
from pegasos.sites.cluster.health import Health
from pegasos.sites.errors import ClusterError, InterruptedSiteError, WorkersLostError

POLL = 0.5  # seconds between two looks at the workers


class Watcher:
    """Waits; raises when workers are lost meanwhile, or Ctrl-C is pressed."""

    def __init__(
        self, client: Any, timeout: float, interruption: Interruption, poll: float = POLL
    ) -> None:
        """Know nothing of the workers yet; look at them every ``poll`` seconds."""
        self.client, self.timeout, self.interruption = client, timeout, interruption
        self.poll = poll
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
            time.sleep(self.poll)

    def done(self, future: Any) -> bool:
        """Whether a task is done, after a moment; raises what it failed with."""
        from distributed import CancelledError, wait

        self.check_interrupt()
        try:
            with self.client.as_current():
                wait([future], timeout=self.poll)
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
        try:
            fetched = self._fetched(future)
            while not done_in((fetched,), timeout=self.poll).done:
                self.check(workers)
            return fetched.result()
        except (WorkersLostError, ClusterError, InterruptedSiteError):
            raise
        except Exception as error:  # it is done: what fails is to fetch it
            self.check(workers, now=True)
            raise WorkersLostError(set()) from error

    def _fetched(self, future: Any) -> Future[Any]:
        """What will have the value of a task that is done.

        ``future.result(timeout=...)`` would cancel the fetch when the time is over. Threads share
        fetches that wait, and Dask attaches all later ones to the one that was cancelled.
        """
        fetch = self.client.gather(future, asynchronous=True)
        try:
            return asyncio.run_coroutine_threadsafe(fetch, self.client.loop.asyncio_loop)
        except RuntimeError:  # the loop is closed
            fetch.close()
            raise

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
