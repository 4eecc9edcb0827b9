"""Whether workers are alive: by the scheduler's list of them, and their heartbeats.

A worker that was killed leaves the list at once. One that is stopped, or behind a broken network,
stays there for minutes, but its heartbeats end: after ``timeout`` seconds without one, by this
machine's clock, it is taken for lost. So is one that is paused for so long, by Dask, since its
memory is full. A worker that computes for long goes on beating.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from pegasos.sites.errors import ClusterError

_LOOK_EVERY = 0.5  # seconds
_LEAST_SILENCE = 3.0  # seconds: heartbeats are up to two apart


class Health:
    """What is known of the workers."""

    def __init__(self, client: Any, timeout: float) -> None:
        """Nothing yet."""
        self.client, self.timeout = client, timeout
        self.beats: dict[str, tuple[float, float]] = {}  # last one, and when it was new here
        self.workers: dict[str, Any] = {}
        self.heard = time.monotonic()  # of the scheduler
        self.looked = -1.0
        self.lock = threading.Lock()  # lanes on threads of their own all look

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
            self.workers, self.beats = dict(identity["workers"]), beats

    def silent(self, address: str) -> bool:
        """Whether a listed worker has not been heard of for too long."""
        beat = self.beats.get(address)
        silence = max(self.timeout, _LEAST_SILENCE)
        return beat is not None and self.looked - beat[1] > silence

    def lost(self, addresses: set[str]) -> set[str]:
        """Those of them that are gone or silent."""
        return {a for a in addresses if a not in self.workers or self.silent(a)}

    def usable(self) -> list[str]:
        """Workers that parts may go to."""
        return sorted(
            address
            for address, worker in list(self.workers.items())
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
            self.workers.pop(address, None)
            self.beats.pop(address, None)
