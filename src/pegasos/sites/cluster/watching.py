"""Waiting for tasks with an eye on the workers they need: nothing is waited for in vain.

Whether workers are alive is told by the scheduler's list of them, and their heartbeats. A worker
that was killed leaves the list at once. One that is stopped, or behind a broken network, stays
there for minutes, but its heartbeats end: after ``timeout`` seconds without one, by this machine's
clock, it is taken for lost. So is one that is paused for so long, by Dask, since its memory is
full. A worker that computes for long goes on beating.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from concurrent.futures import wait as done_in
from contextlib import suppress
from typing import Any

from pegasos.run.interrupt import Interruption
from pegasos.sites.errors import ClusterError, InterruptedSiteError, WorkersLostError

POLL = 0.5  # seconds between two looks at the workers
_LEAST_SILENCE = 3.0  # seconds: heartbeats are up to two apart


class Watcher:
    """Waits; raises when workers are lost meanwhile, or Ctrl-C is pressed."""

    def __init__(
        self, client: Any, timeout: float, interruption: Interruption, poll: float = POLL
    ) -> None:
        """Know nothing of the workers yet; look at them every ``poll`` seconds."""
        self.client, self.timeout, self.interruption = client, timeout, interruption
        self.poll = poll
        self.beats: dict[str, tuple[float, float]] = {}  # last one, and when it was new here
        self.listed: dict[str, Any] = {}  # what the scheduler says of workers
        self.heard = time.monotonic()  # of the scheduler
        self.looked = -1.0
        self.lock = threading.Lock()  # lanes on threads of their own all look

    # Whether workers are alive.
    def look(self, *, now: bool = False) -> None:
        """Ask the scheduler; at most twice a second unless it has to be ``now``."""
        if not now and time.monotonic() - self.looked < POLL:
            return
        try:
            identity = self.client.sync(
                self.client.scheduler.identity, n_workers=-1, callback_timeout=self.timeout
            )
        except (OSError, TimeoutError) as error:
            if time.monotonic() - self.heard < self.timeout:
                time.sleep(POLL)
                return
            raise ClusterError(
                f"the scheduler has not answered for {self.timeout:g} s: {error!r}; is it still "
                "running, and can it be reached?"
            ) from error
        with self.lock:
            self.heard = self.looked = time.monotonic()
            beats = {}
            for address, worker in identity["workers"].items():
                beat = float(worker.get("last_seen", 0.0))
                known = self.beats.get(address)
                if worker.get("status", "running") == "paused" and known is not None:
                    beats[address] = known
                elif known is None or known[0] != beat:
                    beats[address] = beat, self.looked
                else:
                    beats[address] = known
            self.listed, self.beats = dict(identity["workers"]), beats

    def silent(self, address: str) -> bool:
        """Whether a listed worker has not been heard of for too long."""
        beat = self.beats.get(address)
        silence = max(self.timeout, _LEAST_SILENCE)
        return beat is not None and self.looked - beat[1] > silence

    def usable(self) -> list[str]:
        """Workers that parts may go to."""
        return sorted(
            address
            for address, worker in list(self.listed.items())
            if worker.get("status", "running") != "paused" and not self.silent(address)
        )

    def remove(self, address: str) -> None:
        """Have the scheduler give a silent worker up, so that what it held is computed again."""

        async def give_up(dask_scheduler: Any) -> None:
            await dask_scheduler.remove_worker(
                address, stimulus_id="pegasos-silent", close=False, expected=False
            )

        # If the scheduler does not answer, the next look at it will tell.
        with suppress(OSError, TimeoutError):
            run = self.client._run_on_scheduler
            self.client.sync(run, give_up, callback_timeout=self.timeout)
        with self.lock:
            self.listed.pop(address, None)
            self.beats.pop(address, None)

    def workers(self) -> list[str]:
        """The usable workers; waits for one if there is none."""
        deadline = time.monotonic() + self.timeout
        while True:
            self.look(now=True)
            found = self.usable()
            if found:
                return found
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"no worker has been there for {self.timeout:g} s: start some, or raise timeout"
                )
            self.check_interrupt()
            time.sleep(self.poll)

    # Waiting.
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
        self.look(now=now)
        lost = {a for a in workers if a not in self.listed or self.silent(a)}
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
