"""Parts on the workers of a Dask cluster: who holds which, asking all of them, and losing some.

``ask`` calls a method of every part where it is, one task per worker, and returns the sum of the
replies. Tasks depend on nothing but what is sent along, so that a loss never replays earlier
rounds. When workers are lost their parts are made again elsewhere, from their own chunks, and
whoever asked gets a ``PartsLostError``: what is to become of the duals is not decided here.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pegasos.run.interrupt import Interruption
from pegasos.sites.cluster.part import hold, work
from pegasos.sites.cluster.source import Source
from pegasos.sites.cluster.watching import Watcher, of_the_cluster
from pegasos.sites.errors import (
    ClusterError,
    InterruptedSiteError,
    PartsLostError,
    WorkersLostError,
)
from pegasos.sites.merge import merged

_BY_ITSELF = 1 << 16  # bytes of arguments that go with every task; more are sent once and shared
_FAN_IN = 8  # replies that one task, or the client, adds up
_PARTS_PER_WORKER = 2  # so that a worker that joins can be given some
_TRIES = 5  # of bringing parts up
_MOST_FAILURES = 8  # of a command, one after the other
# What parts that come up later are told, in this order.
_SETUP = ("describe", "set_lanes", "at")

Of = TypeVar("Of")


@dataclass
class Cluster:
    """The parts of a source, spread over the workers."""

    client: Any
    source: Source
    timeout: float
    threads: int | None = None
    interruption: Interruption = field(default_factory=Interruption)
    rounds: int = 0  # replies that were awaited
    setup: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    error: ClusterError | None = None  # what ended it

    def __post_init__(self) -> None:
        """Load the chunks, and make parts of them where they lie."""
        self.run = uuid.uuid4().hex[:12]
        self.lock = threading.RLock()
        self.generation = 0
        self.watch = Watcher(self.client, self.timeout, self.interruption)
        self.holder: dict[str, str] = {}
        self.held: dict[str, Any] = {}  # futures that keep the parts in memory
        self.numbers = itertools.count()
        self.failures: Counter[str] = Counter()  # of commands, one after the other
        self.chunks: dict[str, list[int]] = {}
        try:
            loaded = self._load(list(range(len(self.source.chunks))))
            groups = self.source.groups(self._locations(loaded), _PARTS_PER_WORKER)
            self.chunks = {f"part {i + 1} of {len(groups)}": g for i, g in enumerate(groups)}
            self._bring_up(list(self.chunks), {}, loaded)
        except BaseException:
            self.close()
            raise

    # Bringing parts up.
    def _load(self, numbers: list[int]) -> dict[int, Any]:
        """Chunks in the memory of workers, whichever the scheduler likes; it sees to losses."""
        futures = {number: self.client.compute(self.source.bundle(number)) for number in numbers}
        for number, future in futures.items():
            while not self._loaded(number, future):
                self.watch.look()
                self._forget({a for a in self.watch.listed if self.watch.silent(a)})
                self.watch.workers()
        return futures

    def _loaded(self, number: int, future: Any) -> bool:
        """Whether a chunk is in memory; raises if it never will be."""
        try:
            return self.watch.done(future)
        except Exception as error:
            if not of_the_cluster(error):
                raise
            name = next((n for n, numbers in self.chunks.items() if number in numbers), "a part")
            raise ClusterError(
                f"{name} (chunk {number} of {len(self.source.chunks)}) was lost with its worker "
                f"and cannot be computed again: {error!r}; rows that were scattered from a client, "
                "or whose files are gone, cannot"
            ) from error

    def _locations(self, futures: dict[int, Any]) -> dict[int, str | None]:
        """Where chunks are."""
        keys = {future.key: number for number, future in futures.items()}
        try:
            found = self.client.sync(
                self.client.scheduler.who_has, keys=list(keys), callback_timeout=self.timeout
            )
        except (OSError, TimeoutError):
            found = {}
        where: dict[int, str | None] = dict.fromkeys(futures)
        for key, holders in found.items():
            where[keys[key]] = min(holders, default=None)
        return where

    def _bring_up(
        self, names: list[str], wanted: dict[str, str], loaded: dict[int, Any] | None = None
    ) -> None:
        """Make these parts: on the worker wanted, or where the rows are, or where there is room."""
        error: WorkersLostError | None = None
        for _ in range(_TRIES):
            if loaded is None:
                loaded = self._load(sorted({n for name in names for n in self.chunks[name]}))
            here = self._locations(loaded)
            first = {name: wanted.get(name, here[self.chunks[name][0]]) for name in names}
            places = self._places(first, self.watch.workers())
            futures = {
                name: self._submit(
                    "hold", place, hold, self.run, name, self.chunks[name],
                    [loaded[n] for n in self.chunks[name]], self.threads,
                )
                for name, place in places.items()
            }  # fmt: skip
            watched = {*places.values(), *(a for a in here.values() if a is not None)}
            try:
                for name, future in futures.items():
                    self.watch.wait(future, watched)
                    self.holder[name], self.held[name] = places[name], future
                for command, common in self.setup:  # what the others know
                    self._ask(command, common, {}, names)
                return
            except BaseException as failure:
                for future in futures.values():  # nothing of them is to stay in memory
                    future.release()
                if not isinstance(failure, WorkersLostError):
                    raise
                error = failure
                self._forget(failure.addresses)
                names = sorted({*names, *(n for n in self.chunks if n not in self.holder)})
                wanted, loaded = {}, None
        raise ClusterError(f"workers are lost as soon as they are given rows: {error}")

    def _places(self, wanted: dict[str, str | None], workers: list[str]) -> dict[str, str]:
        load = {a: list(self.holder.values()).count(a) for a in workers}
        places: dict[str, str] = {}
        for name, like in wanted.items():
            chosen = like if like in load else min(workers, key=lambda a: (load[a], a))
            assert chosen is not None
            load[chosen] += 1
            places[name] = chosen
        return places

    def _forget(self, addresses: set[str]) -> None:
        """Give up workers, and what they held."""
        for address in addresses:
            if self.watch.silent(address):
                self.watch.remove(address)
        for name in [n for n, a in self.holder.items() if a in addresses]:
            self._drop(name)

    def _drop(self, name: str) -> None:
        del self.holder[name]
        self.held.pop(name).release()

    def recover(self, addresses: set[str], generation: int) -> None:
        """Make what the lost workers held again, unless another thread did."""
        with self.lock:
            if generation < self.generation:
                return
            self._forget(addresses)
            missing = [name for name in self.chunks if name not in self.holder]
            if missing:
                self._bring_up(missing, {})
            self.generation += 1

    def move_to_newcomers(self) -> dict[str, str]:
        """Parts that should go to workers that joined, and where; one for each of them."""
        self.watch.look()
        load: dict[str, list[str]] = {a: [] for a in self.watch.usable()}
        for name, address in self.holder.items():
            load.setdefault(address, []).append(name)
        moves: dict[str, str] = {}
        for address in [a for a, names in load.items() if not names]:
            busiest = max(load, key=lambda a: len(load[a]))
            if len(load[busiest]) < 2:
                break
            moves[load[busiest].pop()] = address
        return moves

    def move(self, moves: dict[str, str]) -> None:
        """Make parts anew on other workers; their duals have to be brought along."""
        with self._fatal(), self.lock:
            for name in moves:
                self._drop(name)
            self._bring_up(list(moves), dict(moves))

    def by_part(self, of_chunks: Mapping[int, Of]) -> dict[str, dict[int, Of]]:
        """What there is of some chunks, by the parts that have them now."""
        return {
            name: {number: of_chunks[number] for number in numbers if number in of_chunks}
            for name, numbers in self.chunks.items()
        }

    # Asking.
    def ask(
        self,
        command: str,
        common: dict[str, Any] | None = None,
        each: dict[str, dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """The merged reply of all parts; ``each`` has more arguments for some of them."""
        with self._fatal():
            with self.lock:
                generation = self.generation
            try:
                reply = self._ask(command, common or {}, each or {}, list(self.chunks))
            except WorkersLostError as lost:
                self.failures[command] += 1
                if self.failures[command] > _MOST_FAILURES:
                    raise ClusterError(
                        f"workers were lost {_MOST_FAILURES} times in a row in {command!r} (last: "
                        f"{lost}): have they enough memory for their rows?"
                    ) from lost
                self.recover(lost.addresses, generation)
                raise PartsLostError from lost
        self.failures[command] = 0
        if "lost" in reply:
            raise PartsLostError
        return reply

    @contextmanager
    def _fatal(self) -> Iterator[None]:
        """A block whose failure is the cluster's: nothing can be asked after it."""
        if self.error is not None:
            raise self.error
        try:
            yield
        except ClusterError as error:
            self.error = error
            raise

    def keep(self, command: str, common: dict[str, Any]) -> dict[str, Any]:
        """Ask, and ask parts that come up later, too."""
        earlier = _SETUP[: _SETUP.index(command)]
        self.setup = [entry for entry in self.setup if entry[0] in earlier]
        reply = self.ask_again(command, common)
        self.setup.append((command, common))
        return reply

    def ask_again(
        self,
        command: str,
        common: dict[str, Any] | None = None,
        each: dict[str, dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Ask until no part is lost meanwhile: where nothing is that a loss could harm."""
        while True:
            try:
                return self.ask(command, common, each)
            except PartsLostError:
                continue

    def _ask(
        self,
        command: str,
        common: dict[str, Any],
        each: dict[str, dict[str, Any]],
        names: list[str],
    ) -> dict[str, Any]:
        by_worker: dict[str, list[str]] = defaultdict(list)
        for name in names:
            by_worker[self._holder_of(name)].append(name)
        workers = set(by_worker)
        shared = self._shared(common, sorted(workers)[0])
        futures = []
        for address, here in sorted(by_worker.items()):
            own = {name: each[name] for name in here if name in each}
            asked = (self.run, here, command, shared, own, self.generation)
            futures.append((address, self._submit(command, address, work, *asked)))
        while len(futures) > _FAN_IN:
            groups = [futures[i : i + _FAN_IN] for i in range(0, len(futures), _FAN_IN)]
            futures = [
                (at, self._submit("merge", at, merged, future, *(other for _, other in others)))
                for (at, future), *others in groups
            ]
        replies = [self.watch.result(future, workers) for _, future in futures]
        self.rounds += 1
        reply, missing = merged(*replies)
        if missing:
            # Their worker was restarted under the same address.
            raise WorkersLostError({self._holder_of(name) for name in missing})
        return {name: value for name, (_, value) in reply.items()}

    def _submit(self, what: str, address: str, function: Any, *arguments: Any) -> Any:
        """A task that runs on this worker, or nowhere."""
        return self.client.submit(
            function, *arguments, key=f"pegasos-{what}-{self.run}-{next(self.numbers)}",
            workers=[address], allow_other_workers=False, pure=False,
        )  # fmt: skip

    def _holder_of(self, name: str) -> str:
        try:
            return self.holder[name]
        except KeyError:
            raise WorkersLostError(set()) from None

    def _shared(self, common: dict[str, Any], address: str) -> Any:
        """Arguments of all parts: sent to one worker, from where the others fetch them."""
        size = sum(getattr(value, "nbytes", 0) for value in common.values())
        if size < _BY_ITSELF:
            return common
        try:
            [future] = self.client.sync(
                self.client._scatter, [common], workers=[address], hash=False,
                callback_timeout=self.timeout,
            )  # fmt: skip
            return future
        except (OSError, TimeoutError, KeyError, ValueError) as error:
            self.watch.check({address}, now=True)
            raise WorkersLostError({address}) from error

    def close(self) -> None:
        """Let go of all parts; a cluster that is gone needs no telling."""
        for future in self.held.values():
            with suppress(Exception):
                future.release()
        self.held.clear()
        self.holder.clear()


@contextmanager
def on_cluster(
    client: Any, source: Source, n_jobs: int | None, timeout: float
) -> Iterator[Cluster]:
    """The source's parts on the workers, while they are needed."""
    with Interruption() as interruption:
        try:
            cluster = Cluster(client, source, timeout, n_jobs, interruption)
            try:
                yield cluster
            finally:
                cluster.close()
        except InterruptedSiteError:
            raise KeyboardInterrupt from None  # there is no model yet
