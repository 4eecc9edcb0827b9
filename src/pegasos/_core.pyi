"""
The C++ core of pegasos: rows, solvers' inner loops, the certificate's sums.
"""

from typing import Annotated, Final, overload

import numpy
from numpy.typing import NDArray


def instruction_set() -> str:
    """The instruction set the row kernels run on."""

def instruction_sets() -> list[str]:
    """Those this build and processor can run."""

def use_instruction_set(name: str) -> None:
    """Choose the instruction set of rows made from now on."""

def padded_lanes(lanes: int) -> int:
    """Columns of a weight matrix for K lanes."""

class Rows:
    """A read-only view of the examples; the arrays are used in place."""

    @staticmethod
    def dense(array: Annotated[NDArray, dict(device='cpu', writable=False)], bias: float) -> Rows: ...

    @staticmethod
    def csr(values: Annotated[NDArray, dict(device='cpu', writable=False)], indices: Annotated[NDArray, dict(device='cpu', writable=False)], indptr: Annotated[NDArray, dict(device='cpu', writable=False)], d: int, bias: float) -> Rows: ...

    @property
    def n(self) -> int: ...

    @property
    def d(self) -> int: ...

    @property
    def bias(self) -> float: ...

    def check(self, lo: int, hi: int, squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], threads: int) -> tuple[str, int, int]:
        """
        Check rows lo..hi-1 and write their squared norms: (defect or '', row, column).
        """

    def products(self, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> int:
        """
        Write w_k . x of all rows; returns a row with a column out of range, or -1.
        """

class Problem:
    """K binary problems over the same rows."""

    def __init__(self, rows: Rows, *, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device='cpu', writable=False)] | None, positive: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], negative: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], s: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lam: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], squared_norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], loss: str, threads: int, targets: Annotated[NDArray, dict(shape=(None, None), device='cpu', writable=False)] | None = None, unit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, members: Annotated[NDArray[numpy.int8], dict(shape=(None, None), device='cpu', writable=False)] | None = None, balance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

CURSOR_SIZE: int = 4

class Sampler:
    """The order in which rows are visited."""

    def __init__(self, mode: str, seed: int, n: int, chunk_bits: int, cursor: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], chunks: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

    def next(self) -> int:
        """The next row of the order."""

    def count_visits(self, n: int, counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Write how often each row has been visited (permute, cycle)."""

def burst_updates(presentations: int, g: float, theta: float, r: float, lam: float) -> int:
    """Updates made by a burst of presentations of one row."""

def pegasos_advance(problem: Problem, sampler: Sampler, *, batch_size: int, project: bool, count_on_loss: bool, cut_batches: bool, v: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], nu: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], nu_peak: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], updates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], refresh_every: int, a_total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, late: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, t: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], errors: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], draws: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, batch: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], violators: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], batch_rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], batch_violators: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], batch_cursor: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], radius_squared: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], work: int, stop_seen: int, stop_steps: int) -> bool:
    """Run Pegasos until a stop (True) or out of work (False)."""

def sgd_advance(problem: Problem, sampler: Sampler, *, multiplicity: int, U: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], t: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], errors: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], draws: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, error_cost: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], loss: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], work: int, stop_seen: int, stop_steps: int) -> bool:
    """Run the margin perceptron until a stop (True) or out of work (False)."""

GAP_SUMS: tuple = ...

NEAR: float = 1e-06

def best_intercepts(problem: Problem, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Write the best free intercept of every lane, and those of the sums that depend on it.
    """

def add_gap_sums(problem: Problem, lo: int, hi: int, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], U_positive: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], U_negative: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, products: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None) -> None:
    """Add the certificate's sums over rows lo..hi-1."""

class Interior:
    """The interior point method's passes over the rows."""

    def __init__(self, problem: object, variables: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], share: float) -> None: ...

    ARRAYS: Final[int] = ...
    """(arg: object, /) -> int"""

    def point(self, lo: int, hi: int, step: float, w: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], b: float, vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> tuple[float, float, float, float, float, float, float]:
        """Step; (sum a r + v xi, loss, dual, sum a y, sum D, affine, centre)."""

    def affine(self, lo: int, hi: int, dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], db: float, second: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> tuple[float, float, float, float, float, float]:
        """
        Targets; (primal step, dual step, three parts of complementarity, second).
        """

    def direction(self, lo: int, hi: int, other: bool, mu: float, dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], db: float) -> tuple[float, float]:
        """Add mu to the targets and find the direction; (primal, dual) steps."""

    def correct(self, lo: int, hi: int, mu: float, primal_step: float, dual_step: float, rhs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> float:
        """Set the other targets, add to rhs; the sum of t."""

    def trial(self, lo: int, hi: int, factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Add the losses at factors of the direction in hand, and how margins change, by class.
        """

    def slacken(self, lo: int, hi: int, slack: float) -> None:
        """Raise the slacks of all rows."""

    def gram(self, lo: int, hi: int, constant: float, light: float, thin: float, matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Add to the Gram matrix's upper triangle."""

    def swap(self) -> None:
        """The other direction becomes the one in hand."""

class Newton:
    """The passes over the rows of Newton's method."""

    def __init__(self, problem: object, variables: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

    ARRAYS: Final[int] = ...
    """(arg: object, /) -> int"""

    def point(self, lo: int, hi: int, every: int, step: float, before: float, width: float, constant: float, sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> tuple[float, float, float, float]:
        """
        Step, add to (matrix, sum a y x); (loss, dual, what rounding leaves, sum a y).
        """

    def along(self, lo: int, hi: int, every: int, dw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], db: float) -> None:
        """The change of the slacks along a direction."""

    def line(self, lo: int, hi: int, every: int, step: float, width: float) -> tuple[float, float]:
        """(slope, curvature) of the loss so far along the direction."""

def add_rows(problem: Problem, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], factors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Add the sum of factor x over some rows."""

LANE_PASS: tuple = ...

GROUP_CURSOR: tuple = ...

IDLE_PASSES: int = 4

FEWEST_CHUNKS: int = 2048

LEAST_VIOLATION: float = 1e-14

LOSS_FOR_FEWER_ROUNDS: float = 0.06

LOSS_FOR_MORE_ROUNDS: float = 0.25

MOST_EPOCHS_OF_LIST: int = 10

VIOLATION_SHARE_TO_LEAVE: float = 0.1

SPAN_SLOTS: int = 3

SUBPROBLEM_SIZE: int = 66

THREAD_ORDER_SIZE: int = 16

def dual_advance(problem: Problem, *, seed: int, chunk_bits: int, row_size: float, in_cache: bool, shrink: bool, ends_passes: bool, goal: float, W: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], b: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, centre: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, pull: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')] | None, passes: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], bounds: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], cursor: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], orders: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], chunks: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], leaving: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], slots: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, slot_sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, knot: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')] | None, work: int, stop_seen: int, stop_steps: int) -> bool:
    """Run dual coordinate ascent until a stop (True) or out of work (False)."""

JOINT_CURSOR: tuple = ...

JOINT_PASS: tuple = ('gap', 'moved', 'last_gap', 'last_moved')

def crammer_singer_advance(problem: Problem, *, seed: int, W: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], duals: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')], leaving: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], cursor: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], pass_: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], work: int, stop_seen: int, stop_steps: int) -> bool:
    """
    Run the sequential dual method until a stop (True) or out of work (False).
    """

class SvmlightParser:
    """Parses svmlight text, block by block."""

    def __init__(self, *, first_index: int, features: int, most_features: int, multilabel: bool, skip_bad_lines: bool, single: bool) -> None: ...

    def feed(self, text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], *, last: bool, threads: int) -> int:
        """Parse the whole lines of the text; returns how many bytes that was."""

    def expect(self, bytes: int) -> None:
        """Say how many bytes of text will come in all."""

    def take(self) -> tuple:
        """
        (labels, label_ends, ends, indices, values, queries) parsed since the last call.
        """

    @property
    def error(self) -> tuple[int, int, str] | None: ...

    @property
    def bad_lines(self) -> list[tuple[int, int, str]]: ...

    @property
    def bad_count(self) -> int: ...

    @property
    def smallest_index(self) -> int: ...

    @property
    def largest_index(self) -> int: ...

@overload
def svmlight_text(*, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_index: int) -> bytes: ...

@overload
def svmlight_text(*, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_index: int) -> bytes: ...

@overload
def svmlight_text(*, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], first_index: int) -> bytes: ...

@overload
def svmlight_text(*, labels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], label_ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, ends: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_index: int) -> bytes:
    """Rows as svmlight text."""

class MercerRows32:
    """Sparse rows that a kernel meets; columns must be in range."""

    def __init__(self, values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int) -> None: ...

class MercerRows64:
    """Sparse rows that a kernel meets; columns must be in range."""

    def __init__(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], begins: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], d: int) -> None: ...

class Mercer:
    """A kernel by name: linear, rbf, poly, sigmoid."""

    def __init__(self, name: str, gamma: float, degree: float, coef0: float) -> None: ...

    @overload
    def values(self, tile: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], left: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None:
        """K in place of products of rows with squared norms `left` and `right`."""

    @overload
    def values(self, tile: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], left: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None: ...

    def rows(self, csr: MercerRows32, block: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """
        Rows of K, of the first lanes of `block` (d, lanes), to their places in `out`.
        """

    def scores(self, csr: MercerRows64, block: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> None:
        """out += K(rows, block) coef."""

def smo_advance(*, y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], diagonal: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], slack: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], marks: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], place: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], used: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], clock: int, balanced: bool, tolerance: float, share: float, steps: int, threads: int) -> tuple[str, int, float, float, float, int]:
    """Steps of SMO: (end, steps, violation, gain, flattest, clock)."""

SMO_RISES: int = 1

SMO_FALLS: int = 2

SMO_HERE: int = 4

def factor_size(size: int) -> int:
    """Values of the factor of so many rows."""

def cholesky(matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], penalty: float, last: float, lift: float, threads: int, factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> bool:
    """
    Factor the matrix (its upper triangle) with more on its diagonal; False if there is none.
    """

def cholesky_solve(factor: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rhs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """Solve by a factor."""
