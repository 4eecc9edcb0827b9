"""Whether workers are alive: by the scheduler's list of them, and their heartbeats.

A worker that was killed leaves the list at once. One that is stopped, or behind a broken network,
stays there for minutes, but its heartbeats end: after ``timeout`` seconds without one, by this
machine's clock, it is taken for lost. A worker that computes for long goes on beating.
"""

from __future__ import annotations

import time
from typing import Any

from pegasos.dask.errors import ClusterError

_LOOK_EVERY = 0.5  # seconds


class Health:
    """What is known of the workers."""

    def __init__(self, client: Any, timeout: float) -> None:
        """Nothing yet."""
        self.client, self.timeout = client, timeout
        self.beats: dict[str, tuple[float, float]] = {}  # last one, and when it was new here
        self.workers: dict[str, Any] = {}
        self.heard = time.monotonic()  # of the scheduler
        self.looked = -1.0

    def look(self, *, now: bool = False) -> None:
        """Ask the scheduler; at most twice a second unless it has to be ``now``."""
        if not now and time.monotonic() - self.looked < _LOOK_EVERY:
            return
        try:
            identity = self.client.sync(
                self.client.scheduler.identity, n_workers=-1, callback_timeout=self.timeout
            )
        except (OSError, TimeoutError) as error:
            if time.monotonic() - self.heard < self.timeout:
                time.sleep(_LOOK_EVERY)
                return
            raise ClusterError(
                f"the scheduler has not answered for {self.timeout:g} s: {error!r}; is it still "
                "running, and can it be reached?"
            ) from error
        self.heard = self.looked = time.monotonic()
        self.workers = dict(identity["workers"])
        for address, worker in self.workers.items():
            beat = float(worker.get("last_seen", 0.0))
            if address not in self.beats or self.beats[address][0] != beat:
                self.beats[address] = beat, self.looked
        for address in self.beats.keys() - self.workers.keys():
            del self.beats[address]

    def silent(self, address: str) -> bool:
        """Whether a listed worker has not been heard of for too long."""
        beat = self.beats.get(address)
        return beat is not None and self.looked - beat[1] > self.timeout

    def lost(self, addresses: set[str]) -> set[str]:
        """Those of them that are gone or silent."""
        return {a for a in addresses if a not in self.workers or self.silent(a)}

    def usable(self) -> list[str]:
        """Workers that parts may go to."""
        return sorted(a for a in self.workers if not self.silent(a))

    def remove(self, address: str) -> None:
        """Have the scheduler give a silent worker up, so that what it held is computed again."""

        async def give_up(dask_scheduler: Any) -> None:
            await dask_scheduler.remove_worker(
                address, stimulus_id="pegasos-silent", close=False, expected=False
            )

        self.client.sync(self.client._run_on_scheduler, give_up, callback_timeout=self.timeout)
        self.workers.pop(address, None)
        self.beats.pop(address, None)
