"""The table of places: how rows get there, how they are trained there, and what is not offered.

A new place is one more entry of ``PLACES``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from tests.sites.cells import FEATURES, SOLVERS, Cell, Rows, rows_of
from tests.sites.listed import ListRows

import pegasos
from pegasos.losses import named
from pegasos.problem import Problem, make_problem
from pegasos.sites.chunk_rows import ChunkRows
from pegasos.sites.memory import Memory
from pegasos.solvers import Solver
from pegasos.testing.pieces import Uneven

ALL = frozenset(SOLVERS)
EXACT = frozenset({"dual", "newton", "interior"})


class InMemory(pegasos.SGDS):
    """A solver that needs all rows at once."""

    by_blocks = False


class Refusal(NamedTuple):
    """What a place does not run, and what it says."""

    solver: Any
    words: str
    options: dict[str, Any] = {}  # noqa: RUF012 - nobody writes to it


ONE_SIDED = (
    Refusal("sgds", "trains the hinge loss only; .* solver='dual'", {"loss": "squared_hinge"}),
    Refusal("pegasos", "cannot train intercept='free'; .* exact solvers", {"intercept": "free"}),
)
"""What no place runs."""


class Place(ABC):
    """An entry of the table."""

    name: str
    solvers: frozenset[str] = ALL
    refusals: tuple[Refusal, ...]
    here = True  # the rows' variables and duals are arrays of this process
    proves = True  # any duals, not only those of a run there
    resumes = True  # to the same bits, as it pauses

    def missing(self) -> str | None:
        """Why the place cannot be tried here."""
        return None

    def close(self) -> None:  # noqa: B027 - most keep nothing open
        """All tests have been run."""

    @abstractmethod
    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Rows, labels and weights as a user of the place has them."""

    def solve(self, X: Any, y: Any, weight: Any = None, **options: Any) -> pegasos.Result:
        """Train there."""
        X, y, weight = self.put(X, y, weight)
        return pegasos.solve(X, y, sample_weight=weight, **options)

    def problem(self, rows: Rows, **options: Any) -> Problem:
        """The problem of the rows there."""
        X, y, weight = self.put(rows.X, rows.Y, rows.weight)
        return make_problem(X, y, sample_weight=weight, **options)

    def offers(self, cell: Cell) -> bool:
        """Whether the cell is trained there."""
        return cell.solver in self.solvers

    def refusal(self, solver: Solver) -> str | None:
        """What the site says of a solver."""
        return self.problem(rows_of("dense", 1), C=1.0, intercept="none").site.refusal(solver)

    def duals(self, a: Any) -> Any:
        """Duals as ``certify`` takes those of a run there."""
        return lambda lo, hi: a[lo:hi]


class InProcess(Place):
    """Arrays and matrices of this process."""

    name = "memory"
    refusals = ONE_SIDED
    site = Memory(range_values=2000, range_products=1)  # several ranges of so few rows

    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        return X, y, weight

    def problem(self, rows: Rows, **options: Any) -> Problem:
        return super().problem(rows, site=self.site, **options)


class Disk(Place):
    """Blocks of uneven sizes."""

    name = "disk"
    refusals = (
        *ONE_SIDED,
        Refusal(pegasos.Pegasos(batch_size="all"), "batch_size='all' needs the rows in memory"),
        Refusal(InMemory(), "InMemory cannot train on rows that come by blocks; use .*'auto'"),
    )

    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        return ChunkRows(Uneven(X, y, weight, ends=(0, 7, 42, 100, 130, X.shape[0]))), y, weight


class Listed(Place):
    """Python objects in a list."""

    name = "list"
    refusals = Disk.refusals

    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        return ListRows.of(X), y, weight


class MadeRows(ListRows):
    """Rows of a list times a matrix: x = T'z, of which the list has z."""

    exact_norms = False
    transform = np.triu(np.full((FEATURES, FEATURES), 0.3)) + np.diag(np.arange(FEATURES) + 1.0)

    def norm_bounds(self) -> Any:
        return np.linalg.norm(self.transform, 2) ** 2 * super().norm_bounds()


class Made(Place):
    """Features that are linear ones of what parts hold."""

    name = "made"
    solvers = frozenset({"newton", "interior"})
    refusals = (
        *ONE_SIDED,
        Refusal("dual", "DualCoordinate cannot train on features that are made.*'newton'"),
        Refusal("sgdm", "SGDM cannot train on features that are made.*'newton'"),
        Refusal("pegasos", "Pegasos cannot train on features that are made.*'newton'"),
    )

    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        dense = X.toarray() if sparse.issparse(X) else X
        Z = np.linalg.solve(MadeRows.transform.T, dense.T).T
        return MadeRows.of(sparse.csr_array(Z) if sparse.issparse(X) else Z), y, weight


class Device(Place):
    """Tensors of torch, on the CPU."""

    name = "device"
    solvers = frozenset({"newton", "interior", "pegasos", "batches"})
    refusals = (
        *ONE_SIDED,
        Refusal("dual", "'dual' does not run on a device; use 'auto'"),
        Refusal("sgds", "'sgds' does not run on a device; use 'auto'"),
    )
    here = False

    def missing(self) -> str | None:
        if find_spec("torch") is None:
            return "torch is not installed: the extra `gpu`"
        if find_spec("pegasos.sites.device") is None:
            return "pegasos.sites.device is not there yet"
        return None

    def offers(self, cell: Cell) -> bool:
        """Batches are of arrays."""
        return super().offers(cell) and (cell.config.exact or cell.storage == "dense")

    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        return X, y, weight

    def solve(self, X: Any, y: Any, weight: Any = None, **options: Any) -> pegasos.Result:
        return pegasos.solve(X, y, sample_weight=weight, device="cpu", **options)

    def problem(
        self, rows: Rows, *, C: float, intercept: Any, loss: Any = "hinge", positive: float = 1.0,
        negative: float = 1.0,
    ) -> Problem:  # fmt: skip
        import torch

        from pegasos.sites.device.loading import rows_on_device
        from pegasos.sites.device.problem import device_problem

        there, _ = rows_on_device(rows.X, "cpu", 1.0 if intercept == "regularized" else 0.0)
        K, labels = rows.Y.shape[1], np.where(rows.weight[:, None] > 0, rows.Y, 0)
        return device_problem(
            there, torch.from_numpy(np.ascontiguousarray(labels.T, dtype=np.int8)),
            torch.from_numpy(rows.weight[None]), positive=np.full(K, positive),
            negative=np.full(K, negative), s=lambda _: np.full(K, 1 / C), intercept=intercept,
            loss=named(loss),
        )  # fmt: skip

    def duals(self, a: Any) -> Any:
        import torch

        from pegasos.sites.device.lanes import Duals

        return Duals(torch.from_numpy(np.ascontiguousarray(a.T)))


class Cluster(Place):
    """Parts on two workers of Dask, which are threads."""

    name = "cluster"
    solvers = EXACT
    refusals = (Refusal("sgds", "sgds.* does not run on a cluster: 'auto', 'dual'"),)
    here = False
    proves = False  # duals stay on the workers
    resumes = False
    _client: Any = None

    def missing(self) -> str | None:
        if find_spec("distributed") is None:
            return "Dask is not installed: the extra `dask`"
        if find_spec("pegasos.sites.cluster") is None:
            return "pegasos.sites.cluster is not there yet"
        return None

    def put(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        import dask.array as da

        from pegasos.testing.chunked import blocks

        size = 60
        rows = blocks(X, size) if sparse.issparse(X) else da.from_array(X, chunks=(size, -1))
        y = da.from_array(y, chunks=(size, *y.shape[1:]))
        return rows, y, None if weight is None else da.from_array(weight, chunks=size)

    def solve(self, X: Any, y: Any, weight: Any = None, **options: Any) -> pegasos.Result:
        import pegasos.dask

        X, y, weight = self.put(X, y, weight)
        options.pop("record_every", None)  # records come as rounds are certified
        return pegasos.dask.solve(X, y, sample_weight=weight, client=self.client(), **options)

    def refusal(self, solver: Solver) -> str | None:
        from pegasos.sites.cluster.site import ClusterSite

        return object.__new__(ClusterSite).refusal(solver)

    def client(self) -> Any:
        """One for all tests."""
        if self._client is None:
            from distributed import Client, LocalCluster

            cluster = LocalCluster(
                n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
                silence_logs=50,
            )  # fmt: skip
            self._client = Client(cluster, set_as_default=False)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            cluster = self._client.cluster
            self._client.close()
            cluster.close()


PLACES: dict[str, Place] = {
    place.name: place for place in (InProcess(), Disk(), Listed(), Made(), Device(), Cluster())
}
