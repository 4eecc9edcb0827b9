"""``pegasos.solve``: the door for people who study solvers."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pegasos.certificate import Certificate
from pegasos.certificate import certify as certify_problem
from pegasos.data.dataset import Chunks
from pegasos.losses import Loss, named
from pegasos.problem import Intercept, Problem, make_problem
from pegasos.result import Result
from pegasos.run.checkpoint.saving import Saving
from pegasos.run.limits import Limits
from pegasos.run.options import RunOptions
from pegasos.run.outcome import Callback
from pegasos.run.side_by_side import run_any
from pegasos.sites import Blocks
from pegasos.solvers import SOLVERS, Solver, by_name, choice_of
from pegasos.util import sparse
from pegasos.util.arguments import floats, functions, number
from pegasos.util.devices import gpu_part, kind_of_device, on_device, to_host


def solve(
    X: Any,
    y: ArrayLike | None = None,
    *,
    lam: ArrayLike | None = None,
    C: ArrayLike | None = None,
    solver: str | Solver = "auto",
    loss: str | Loss = "hinge",
    intercept: Literal["auto"] | Intercept = "auto",
    intercept_scaling: float = 1.0,
    tol: float = 1e-3,
    max_time: float | None = None,
    max_epochs: float | None = None,
    max_steps: int | None = None,
    sample_weight: ArrayLike | None = None,
    seed: int | None = None,
    callbacks: Sequence[Callback] = (),
    record_every: float | None = None,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float | None = None,
    resume: str | os.PathLike[str] | None = None,
    device: Any = None,
) -> Result:
    """Train linear SVMs until they are proven to be within ``tol`` of the optimum.

    Parameters
    ----------
    X : (n, d) array or sparse matrix; used in place if C-contiguous or CSR and of float32,
        float64, int8 or uint8. Or ``pegasos.data.chunks.Chunks``: rows on disk, with labels and
        weights of their own, that are read a block at a time.
    y : (n,) with two values, the larger one positive; or (n, K) in {-1, 0, +1} for K problems
        over the same rows (0: the row is not part of that problem).
    lam, C : the regularization, exactly one of them; a number, or one per problem. The
        objective is ``lam/2 |w|^2 + mean loss``, or with C its equal for ``lam = 1/(C n)``.
    solver : a name (``auto``, ``dual``, ``interior``, ``newton``, ``pegasos``, ``sgdr``,
        ``sgds``, ``sgdm``) or a configured solver. ``auto`` takes one of the exact ones (``dual``,
        ``interior``, ``newton``), or several in turn; the result says which and why.
    loss : ``"hinge"``, or ``"squared_hinge"`` (exact solvers only); or one of ``pegasos.losses``.
    intercept : ``"none"``, ``"regularized"`` (a constant feature ``intercept_scaling``, penalised
        with w) or ``"free"`` (not penalised). ``"auto"`` is free for the exact solvers and
        regularized for the stochastic ones, or if ``intercept_scaling`` is given.
    tol : stop when primal / dual - 1 is proven to be at most this.
    max_time, max_epochs, max_steps : seconds, passes over the data, and steps of the solver after
        which to stop anyway; the last two are counted for each of K problems by itself where the
        solver is an exact one, which trains them apart. With none of them, the stochastic solvers
        stop after 1000 epochs; the exact ones go on until ``tol`` is proven, or float64 has no
        more digits to give.
    sample_weight : (n,); a weight of 2 is the row twice, a weight of 0 no row.
    seed : the same seed gives the same bits; None draws one.
    callbacks : each is called with every ``Record``; one that returns True stops the run.
    record_every : take a record (a certificate, a callback) every so many epochs, fractions
        allowed, instead of when the solver's own estimate calls for one.
    n_jobs : threads; -1 is all cores, None as many as are left to this process, for data that
        repay them. The same seed and the same number of threads give the same bits.
    checkpoint : a folder to save the run in every ``checkpoint_every`` seconds (60), and when it
        is interrupted or a limit ends it.
    resume : a checkpoint to go on from, to the same bits as if nothing had happened; it is saved
        there, too, unless ``checkpoint`` is another one. Limits may differ, ``max_time`` counts
        from now on; for other data or parameters the error says what differs. If both paths are the
        same, and nothing is there yet, the run begins.

    device : ``"cuda"``, or another torch device, to train there (``auto``, ``newton``,
        ``interior`` or ``Pegasos(batch_size=...)``); it needs the extra ``gpu``. None is where X
        is: arrays of torch or CuPy on a device are trained on in place, and ``w``, ``b`` and
        ``duals`` are then arrays like X. X may be float16 or bfloat16, too; what does not fit the
        device is streamed through it.

    Ctrl-C ends the run with the last certified model; a second Ctrl-C raises.
    """
    began = time.perf_counter()
    config = by_name(solver)
    tol = check_tol(tol)
    lost = check_loss(loss, config)
    saving = Saving(checkpoint, checkpoint_every, resume)
    saving.check()
    limits = Limits(max_time, max_epochs, max_steps)
    if config is not None:
        config.check_limits(limits)
        if limits.none:
            limits = Limits(max_epochs=config.default_epochs)
    mode = resolve_intercept(intercept, config, intercept_scaling)
    check_scaling(mode, intercept_scaling)
    X, y, sample_weight = chunk_arrays(X, y, sample_weight, n_jobs)
    if y is None:
        raise ValueError("y is missing: the rows have no labels")
    options = RunOptions(
        tol=tol,
        limits=limits,
        seed=_seed(seed),
        callbacks=functions("callbacks", callbacks),
        record_every=_positive("record_every", record_every),
        began=began,
    )
    there = gpu_part("solving") if on_device(X, device) else None
    problem: Problem
    if there is not None:
        problem, single = there.problem_on_device(
            X, y, sample_weight, device, lam=lam, C=C, loss=lost, intercept=mode,
            intercept_scaling=intercept_scaling,
        )  # fmt: skip
    else:
        y, single = _labels(y)
        problem = make_problem(
            X,
            y,
            lam=lam,
            C=C,
            intercept=mode,
            intercept_scaling=intercept_scaling,
            sample_weight=sample_weight,
            loss=lost,
            n_jobs=n_jobs,
        )
    options = replace(options, scalar=single)

    def about() -> dict[str, Any]:
        from pegasos.run.checkpoint.manifest import describe  # most fits need none

        found = describe(
            X, y, sample_weight, n_jobs,
            {
                "lam": lam, "C": C, "solver": config or "auto", "loss": lost.name,
                "intercept": mode, "intercept_scaling": intercept_scaling, "tol": tol,
                "seed": options.seed,
                "record_every": record_every, "device": kind_of_device(X, device),
            },
        )  # fmt: skip
        return found | {"told": options.is_eager}

    with ExitStack() as stack:
        opened = saving.open(stack, about, frozenset({"seed"} if seed is None else ()))
        if opened is not None:
            kept = opened.about
            options = replace(
                options,
                seed=kept["parameters"]["seed"],
                eager=kept["told"],
                part=opened.part("solve"),
            )
        outcome = run_any(
            problem, lambda part: (choice_of(config, part, tol), tol), config, options
        )
    if there is not None:
        outcome = there.returned(X, problem, outcome)
    return Result.of(outcome, single=single)


def chunk_arrays(X: Any, y: Any, weight: Any, n_jobs: int | None) -> tuple[Any, Any, Any]:
    """Rows that come by blocks with labels and weights of their own, unless given; or as it is."""
    if not isinstance(X, Chunks | Blocks):
        return X, y, weight
    rows, own_y, own_weight = rows_of(X, n_jobs)
    return rows, own_y if y is None else y, own_weight if weight is None else weight


def rows_of(chunks: Chunks | Blocks, n_jobs: int | None) -> tuple[Any, Any, Any]:
    """Rows that come by blocks, which are read once, with labels and weights; or all at once."""
    if isinstance(chunks, Blocks):
        return chunks, chunks.y, chunks.sample_weight
    from pegasos.sites.chunk_rows import ChunkRows  # here: most fits do without, and start sooner

    whole = chunks.whole()
    if whole is not None:
        return whole.X, whole.y, whole.sample_weight
    rows = ChunkRows(chunks, n_jobs)
    return rows, rows.y, rows.sample_weight


def certify(
    X: Any,
    y: ArrayLike,
    w: ArrayLike,
    b: ArrayLike = 0.0,
    duals: ArrayLike | None = None,
    *,
    lam: ArrayLike | None = None,
    C: ArrayLike | None = None,
    intercept: Intercept = "none",
    intercept_scaling: float = 1.0,
    sample_weight: ArrayLike | None = None,
    positive: ArrayLike = 1.0,
    negative: ArrayLike = 1.0,
    loss: str | Loss = "hinge",
) -> Certificate:
    """Check a proof: the certificate of any model and any duals, recomputed from the data.

    The arguments are those of ``solve``, and ``positive``, ``negative`` the weights of the two
    classes; ``w``, ``b`` and ``duals`` may come from anywhere. Duals
    outside the box 0 <= a <= c are refused. Without duals the bound is D = 0. With a free
    intercept the certificate is that of the best b for w; ``b`` may be left out.
    """
    lost = check_loss(loss)
    check_scaling(intercept, intercept_scaling)
    X, y, w, b, duals, sample_weight = (
        to_host(value) for value in (X, y, w, b, duals, sample_weight)
    )
    labels, single = _labels(y)
    problem = make_problem(
        X,
        labels,
        lam=lam,
        C=C,
        intercept=intercept,
        intercept_scaling=intercept_scaling,
        sample_weight=sample_weight,
        positive=positive,
        negative=negative,
        loss=lost,
    )
    W, intercepts = _model(problem, w, b)
    a = np.zeros((problem.n, problem.lanes)) if duals is None else _feasible(problem, duals)
    proof = certify_problem(problem, W, intercepts, lambda lo, hi: a[lo:hi])
    assert proof is not None  # nothing gives up
    return proof[0].lane(0) if single else proof[0]


def resolve_intercept(
    intercept: str, solver: Solver | None, intercept_scaling: float = 1.0
) -> Intercept:
    """The intercept mode to train; raises for one that ``solver`` cannot."""
    if intercept not in ("auto", *get_args(Intercept)):
        raise ValueError(f"intercept must be auto, none, regularized or free, got {intercept!r}")
    exact = solver is None or solver.exact
    if intercept == "auto":
        return "free" if exact and intercept_scaling == 1.0 else "regularized"
    if solver is not None and intercept not in solver.intercepts:
        raise ValueError(
            f"solver {solver.name!r} cannot train intercept={intercept!r}; it trains "
            f"{' and '.join(sorted(solver.intercepts))}; exact solvers train all"
        )
    return cast(Intercept, intercept)


def check_scaling(intercept: str, intercept_scaling: float) -> None:
    """Raise ValueError for a scaling of a constant feature that is not there."""
    if intercept != "regularized" and intercept_scaling != 1.0:
        raise ValueError(
            f"intercept={intercept!r} would ignore intercept_scaling={intercept_scaling!r}"
        )


def check_loss(loss: str | Loss, solver: Solver | None = None) -> Loss:
    """The loss; raises ValueError for one that is none, or that ``solver`` does not train."""
    found = named(loss)
    if solver is not None and found.name not in solver.losses:
        trained = " and ".join(sorted(solver.losses))
        able = [repr(name) for name, one in SOLVERS.items() if found.name in one.losses]
        raise ValueError(
            f"solver {solver.name!r} trains the {trained} loss only; loss={found.name!r} needs "
            f"solver={', '.join(able[:-1])} or {able[-1]}"
        )
    return found


def _labels(y: ArrayLike) -> tuple[NDArray[np.int8], bool]:
    """Labels as (n, K) in {-1, 0, +1}, and whether y was one binary problem."""
    if sparse.issparse(y):
        raise TypeError("y must be an array, not a sparse matrix")
    array = np.asarray(y)
    if array.dtype.kind == "c":
        raise TypeError("y must hold labels, not complex numbers")
    if array.ndim == 2:
        wrong = np.argwhere(~np.isin(array, (-1, 0, 1)))
        if wrong.size:
            row, lane = wrong[0]
            raise ValueError(
                f"y with several columns must hold -1, 0 and +1, got {array[row, lane]!r} at row "
                f"{row}, column {lane}"
            )
        return array.astype(np.int8), False
    if array.ndim != 1:
        raise ValueError(f"y must be (n,) or (n, K), got shape {array.shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"y contains NaN or infinity (inf) at row {row}")
    try:
        classes, inverse = np.unique(array, return_inverse=True)
    except TypeError:
        raise TypeError("y mixes labels of several types, or has missing ones") from None
    if classes.size != 2:
        raise ValueError(
            f"y must hold two classes, got {classes.size}; pegasos.LinearSVC trains several, or "
            "pass y as (n, K) in {-1, 0, +1}"
        )
    return (2 * inverse.reshape(-1, 1) - 1).astype(np.int8), True


def _positive(name: str, value: float | None) -> float | None:
    if value is not None and not (np.isfinite(number(name, value)) and value > 0):
        raise ValueError(f"{name} must be positive or None, got {value}")
    return value


def check_tol(tol: float) -> float:
    """``tol`` as a float; raises ValueError unless it is finite and not negative."""
    if not (np.isfinite(number("tol", tol)) and tol >= 0):
        raise ValueError(f"tol must be finite and not negative, got {tol}")
    return float(tol)


def _seed(seed: int | None) -> int:
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if not 0 <= number("seed", seed) < 2**64 or seed != int(seed):
        raise ValueError(f"seed must be a whole number in 0 .. 2^64 - 1, got {seed}")
    return int(seed)


def _model(
    problem: Problem, w: ArrayLike, b: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Padded weights, the intercept in the constant feature's place where it is regularized."""
    K, d = problem.lanes, problem.rows.d
    rows, intercepts = np.atleast_2d(floats("w", w)), np.atleast_1d(floats("b", b))
    if rows.shape != (K, d):
        raise ValueError(f"w must be ({d},) or ({K}, {d}), got shape {np.shape(w)}")
    if intercepts.shape not in ((1,), (K,)):
        raise ValueError(f"b must be a number or ({K},), got shape {np.shape(b)}")
    intercepts = np.broadcast_to(intercepts, (K,)).copy()
    for name, values in (("w", rows), ("b", intercepts)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} contains NaN or infinity: there is nothing to certify")
    if problem.intercept == "none" and intercepts.any():
        raise ValueError("b must be 0 with intercept='none'")
    W = np.zeros(problem.weights_shape)
    W[:-1, :K] = rows.T
    if problem.intercept == "regularized":
        W[-1, :K] = intercepts / problem.bias
    return W, intercepts


def _feasible(problem: Problem, duals: ArrayLike) -> NDArray[np.float64]:
    a = floats("duals", duals)
    if a.ndim == 1:
        a = a[:, None]
    if a.shape != (problem.n, problem.lanes):
        raise ValueError(
            f"duals must be ({problem.n},) or ({problem.n}, {problem.lanes}), got {np.shape(duals)}"
        )
    outside = np.argwhere(~((a >= 0) & (a <= problem.largest_duals())))
    if outside.size:
        row, lane = outside[0]
        raise ValueError(f"duals leave the box at row {row}: {a[row, lane]} is not in [0, c]")
    return a
