"""pegasos.solve: convergence, weights, lanes, limits, reproducibility."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import reference
from tests.common.runs import pausing
from tests.common.toys import toy

import pegasos
from pegasos import SGDM, DualCoordinate, Pegasos
from pegasos.problem import make_problem
from pegasos.solvers import order

SOLVERS = [
    DualCoordinate(), pegasos.SGDR(), pegasos.SGDS(), SGDM(), SGDM(multiplicity=3), Pegasos(),
    Pegasos(batch_size=7), Pegasos(batch_size="all"), Pegasos(sampling="permute", average=True),
    Pegasos(sampling="cycle", project=False, batch_size=4), Pegasos(count="on_loss"),
]  # fmt: skip
EACH = pytest.mark.parametrize("solver", SOLVERS, ids=str)


@EACH
def test_duals_are_in_the_box_at_any_moment_and_bound_the_optimum(solver):
    data = toy(31, 5, 3, seed=1, absent=0.3)
    problem = make_problem(
        data.X, data.Y, lam=[0.01, 0.1, 1.0], intercept="none", sample_weight=data.weight,
        positive=[1.0, 2.0, 0.5],
    )  # fmt: skip
    costs = problem.costs()
    best = [
        reference.primal(
            data.X, problem.labels[:, k], costs[:, k], problem.s[k], problem.total_weight[k],
            (reference.optimum(data.X, problem.labels[:, k], costs[:, k], problem.s[k])[0]
             * problem.labels[:, k]) @ data.X / problem.s[k],
        )
        for k in range(3)
    ]  # fmt: skip
    state = solver.start(problem, seed=0)
    for seen in [*range(1, 40), 62, 93, 100, 500, 3001]:
        solver.advance(problem, state, work=1 << 40, stop_seen=seen, stop_steps=1 << 60)
        a = solver.duals(problem, state)(0, 31)
        assert (a >= 0).all()
        assert (a <= costs).all()
        w = (a * problem.labels).T @ data.X / problem.s[:, None]
        dual = (a.sum(axis=0) - problem.s / 2 * (w**2).sum(axis=1)) / problem.total_weight
        assert (dual <= np.array(best) * (1 + 1e-8)).all()


@EACH
@pytest.mark.parametrize("lanes", [1, 3])
def test_slices_do_not_change_a_bit(solver, lanes):
    data = toy(37, 5, lanes, seed=2, absent=0.2 if lanes > 1 else 0)
    problem = make_problem(data.X, data.Y, lam=0.05, sample_weight=data.weight)
    whole, sliced = solver.start(problem, 7), solver.start(problem, 7)
    solver.advance(problem, whole, work=1 << 40, stop_seen=37 * 9 + 5, stop_steps=1 << 60)
    rng = np.random.default_rng(0)
    while not solver.advance(
        problem, sliced, work=int(rng.integers(1, 9)), stop_seen=37 * 9 + 5, stop_steps=1 << 60
    ):
        pass
    for name, array in whole.arrays.items():
        assert array.tobytes() == sliced.arrays[name].tobytes(), name


@EACH
def test_the_same_seed_gives_the_same_bits(solver):
    data = toy(50, 5, seed=3)
    runs = [
        pegasos.solve(data.X, data.Y[:, 0], C=1.0, solver=solver, max_epochs=20, seed=seed)
        for seed in (5, 5, 6)
    ]
    assert runs[0].w.tobytes() == runs[1].w.tobytes()
    if solver.name != "pegasos" or (solver.batch_size != "all" and solver.sampling != "cycle"):
        assert runs[0].w.tobytes() != runs[2].w.tobytes()


@pytest.mark.parametrize("solver", ["dual", "sgds", "sgdm", "pegasos"])
@pytest.mark.parametrize("intercept", ["none", "regularized"])
def test_converged_means_within_tol_of_the_true_optimum(solver, intercept):
    data = toy(60, 5, seed=4)
    y = data.Y[:, 0]
    tol = 1e-6 if solver == "dual" else 3e-2
    result = pegasos.solve(
        data.X, y, lam=0.1, solver=solver, intercept=intercept, tol=tol, max_epochs=20_000,
        seed=0, sample_weight=data.weight,
    )  # fmt: skip
    assert result.stop_reason == "converged"
    assert result.certificate.relative_gap <= tol
    X = np.hstack([data.X, np.ones((60, 1))]) if intercept == "regularized" else data.X
    s, N = 0.1 * data.weight.sum(), data.weight.sum()
    a, _ = reference.optimum(X, y, data.weight, s)
    best = reference.primal(X, y, data.weight, s, N, (a * y) @ X / s)
    assert best * (1 - 1e-9) <= result.certificate.primal <= best * (1 + tol)
    w = np.append(result.w, result.b) if intercept == "regularized" else result.w
    assert reference.primal(X, y, data.weight, s, N, w) == pytest.approx(
        result.certificate.primal, rel=1e-12
    )


@given(
    seed=st.integers(0, 1000),
    strength=st.sampled_from([{"lam": 0.03}, {"C": 0.7}]),
    intercept=st.sampled_from(["none", "regularized"]),
)
def test_a_weight_is_a_duplicated_row(seed, strength, intercept):
    data = toy(20, 4, seed=seed)
    counts = np.random.default_rng(seed).integers(0, 4, size=20)
    counts[:2] = 1
    options = {"intercept": intercept, "tol": 1e-11, "max_epochs": 30_000, "seed": 0}
    y = data.Y[:, 0]
    weighted = pegasos.solve(data.X, y, **strength, **options, sample_weight=counts)
    repeated = pegasos.solve(
        np.repeat(data.X, counts, axis=0), np.repeat(y, counts), **strength, **options
    )
    assert weighted.certificate.primal == pytest.approx(repeated.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(weighted.w, repeated.w, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("solver", [pegasos.SGDS(), SGDM(), Pegasos(average=True)], ids=str)
def test_stochastic_solvers_solve_the_weighted_problem(solver):
    data = toy(40, 4, seed=8)
    y = data.Y[:, 0]
    exact = pegasos.solve(data.X, y, lam=0.1, tol=1e-9, sample_weight=data.weight, seed=0)
    result = pegasos.solve(
        data.X, y, lam=0.1, solver=solver, tol=1e-9, max_epochs=5000, seed=0,
        sample_weight=data.weight,
    )  # fmt: skip
    assert result.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-2)


@pytest.mark.parametrize("solver", [DualCoordinate(shrink=False), "sgds", "pegasos"])
def test_a_lane_is_what_it_is_alone(solver):
    data = toy(40, 5, 4, seed=5, absent=0.3)
    lam = np.array([0.01, 0.05, 0.1, 0.5])
    options = {"solver": solver, "intercept": "none", "tol": 0.0, "max_epochs": 12, "seed": 3}
    together = pegasos.solve(data.X, data.Y, lam=lam, **options)
    for k in range(4):
        alone = pegasos.solve(data.X, data.Y[:, [k]], lam=lam[k], **options)
        np.testing.assert_allclose(together.w[k], alone.w[0], rtol=1e-9, atol=1e-11)
        assert together.certificate.primal[k] == pytest.approx(alone.certificate.primal[0])


def test_lanes_stop_when_they_are_done_and_keep_their_proof():
    data = toy(60, 5, 3, seed=6, absent=0.2)
    lam = [10.0, 0.1, 0.001]
    result = pegasos.solve(
        data.X, data.Y, lam=lam, solver="dual", intercept="none", tol=1e-7, seed=0,
        record_every=1,
    )  # fmt: skip
    assert result.stop_reason == "converged"
    assert (result.certificate.relative_gap <= 1e-7).all()
    again = pegasos.certify(data.X, data.Y, result.w, duals=result.duals, lam=lam)
    np.testing.assert_allclose(again.primal, result.certificate.primal, rtol=1e-12)
    np.testing.assert_allclose(again.dual, result.certificate.dual, rtol=1e-12)
    # The easy lane was left at its first certificate: its bounds did not change after that.
    first = result.history["primal"][:, 0]
    assert (first == first[0]).sum() > (np.diff(result.history["primal"][:, 2]) == 0).sum()


def test_lanes_of_dual_coordinate_that_leave_early_leave_the_others_proven():
    data = toy(60, 5, 23, seed=5, absent=0.3)
    lam = np.geomspace(5.0, 0.003, 23)
    options = {"lam": lam, "tol": 1e-6, "seed": 3, "sample_weight": data.weight}
    for intercept in ("none", "free"):
        result = pegasos.solve(data.X, data.Y, solver="dual", intercept=intercept, **options)
        left = np.argmax(result.history["relative_gap"] <= 1e-6, axis=0)
        assert len(set(left.tolist())) > 2
        assert (result.certificate.relative_gap <= 1e-6).all()
        alone = pegasos.solve(
            data.X, data.Y[:, [20]], lam=lam[20], solver="dual", intercept=intercept, tol=1e-6,
            sample_weight=data.weight, seed=1,
        )  # fmt: skip
        assert result.certificate.primal[20] == pytest.approx(alone.certificate.primal[0], rel=2e-6)


@EACH
def test_a_lane_that_leaves_early_leaves_the_others_alone(solver):
    if isinstance(solver, DualCoordinate):
        pytest.skip("its lanes share a list of rows: see the test above")
    data = toy(40, 5, 4, seed=5, absent=0.3)
    lam = np.array([5.0, 1.0, 0.3, 0.1])
    options = {"solver": solver, "intercept": "none", "seed": 3, "sample_weight": data.weight}
    together = pegasos.solve(
        data.X, data.Y, lam=lam, tol=0.1, max_epochs=60, record_every=0.37, **options
    )
    done = together.history["relative_gap"] <= 0.1
    left = [int(np.argmax(column)) if column.any() else -1 for column in done.T]
    assert len(set(left)) > 1  # they do not leave all at once
    for k, record in enumerate(left):
        seen = together.history["examples"][record]
        alone = pegasos.solve(
            data.X, data.Y[:, [k]], lam=lam[k], tol=0.0, max_epochs=seen / 40,
            record_every=1000, **options,
        )  # fmt: skip
        np.testing.assert_allclose(together.w[k], alone.w[0], rtol=1e-9, atol=1e-11)


@EACH
def test_the_driver_gives_the_same_bits_however_it_slices(solver):
    data = toy(40, 5, 3, seed=5, absent=0.3)
    options = {"lam": [1.0, 0.3, 0.1], "tol": 0.1, "max_epochs": 20, "seed": 3}
    expected = pegasos.solve(data.X, data.Y, solver=solver, **options)
    rng = np.random.default_rng(0)
    paused = pausing(solver, lambda: int(rng.integers(1, 30)))
    sliced = pegasos.solve(data.X, data.Y, solver=paused, **options)
    assert sliced.w.tobytes() == expected.w.tobytes()
    assert sliced.duals.tobytes() == expected.duals.tobytes()


def test_rows_in_chunks_are_visited_once_an_epoch(monkeypatch):
    monkeypatch.setattr("pegasos.solvers.order.chunk_bits", lambda _: 3)
    data = toy(45, 5, seed=2)
    y = data.Y[:, 0]
    for solver in (DualCoordinate(), pegasos.SGDS(), Pegasos(sampling="permute", batch_size=4)):
        result = pegasos.solve(data.X, y, lam=0.1, solver=solver, tol=0.02, max_epochs=4000, seed=0)
        assert result.stop_reason == "converged"
    problem = make_problem(data.X, data.Y, lam=0.1)
    state = pegasos.SGDS().start(problem, seed=0)
    for seen in (1, 7, 8, 40, 44, 45, 60, 90):
        pegasos.SGDS().advance(problem, state, work=1 << 40, stop_seen=seen, stop_steps=1 << 60)
        counts = order.visits(problem, "permute", state)
        assert counts.sum() == seen
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"max_epochs": 3}, "max_epochs"), ({"max_steps": 11}, "max_steps"),
     ({"max_epochs": 0.5}, "max_epochs"), ({"max_time": 0.05}, "max_time")],
)  # fmt: skip
def test_limits_stop_the_run_and_say_so(limit, reason):
    data = toy(40, 5)
    result = pegasos.solve(data.X, data.Y[:, 0], C=1.0, solver="pegasos", tol=0, seed=0, **limit)
    assert result.stop_reason == reason
    assert np.isfinite(result.certificate.primal)
    if "max_epochs" in limit:
        assert result.epochs == limit["max_epochs"]
    if "max_steps" in limit:
        assert result.history["examples"][-1] == 11


def test_callbacks_see_every_record_and_can_stop():
    data = toy(40, 5)
    seen = []

    def stop_at_the_third(record):
        seen.append(record)
        return len(seen) == 3

    result = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, solver="sgds", tol=0, seed=0, record_every=0.5,
        callbacks=[stop_at_the_third],
    )  # fmt: skip
    assert result.stop_reason == "callback"
    assert [record.epoch for record in seen] == [0.5, 1.0, 1.5]
    assert result.history["gap"].tolist() == [record.gap for record in seen]
    assert result.certificate == seen[-1].certificate


@pytest.mark.parametrize("answer", [True, np.True_])
def test_any_kind_of_true_stops(answer):
    data = toy(40, 5)
    result = pegasos.solve(data.X, data.Y[:, 0], C=1.0, tol=0, seed=0, callbacks=[lambda _: answer])
    assert result.stop_reason == "callback"
    result = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, tol=0, seed=0, max_epochs=3, callbacks=[lambda _: 1.0]
    )
    assert result.stop_reason == "max_epochs"


def test_no_work_begins_after_max_time(monkeypatch):
    clock = {"now": 0.0}

    def tick():
        clock["now"] += 0.01
        return clock["now"]

    begun = []

    class Watched(pegasos.SGDS):
        def advance(self, problem, state, **budget):
            begun.append(clock["now"])
            return super().advance(problem, state, **budget)

    monkeypatch.setattr("pegasos.run.driver.time.perf_counter", tick)
    data = toy(40, 5)
    result = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, solver=Watched(), tol=0, seed=0, max_time=2.0
    )
    assert result.stop_reason == "max_time"
    assert 1.5 < max(begun) < 2.0 + 0.05


def test_callbacks_see_the_last_record_too():
    data = toy(40, 5)
    seen = []
    result = pegasos.solve(data.X, data.Y[:, 0], C=1.0, seed=0, callbacks=[seen.append])
    assert result.stop_reason == "converged"
    assert seen == list(result.history.records)


def test_history_is_a_table():
    data = toy(40, 5)
    history = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, solver="dual", intercept="none", seed=0, record_every=1
    ).history
    assert set(history) == {
        "epoch", "seconds", "examples", "primal", "dual", "gap", "relative_gap"
    }  # fmt: skip
    assert history["epoch"].tolist() == list(range(1, len(history.records) + 1))
    assert (history["examples"] == 40 * history["epoch"]).all()
    np.testing.assert_allclose(history["gap"], history["primal"] - history["dual"])
    assert (np.diff(history["dual"]) >= -1e-12).all()  # coordinate ascent only ascends
    assert (np.diff(history["seconds"]) > 0).all()


def test_records_do_not_change_the_run():
    data = toy(40, 5)
    options = {"C": 1.0, "solver": Pegasos(batch_size=3), "tol": 0, "max_epochs": 8, "seed": 0}
    often = pegasos.solve(data.X, data.Y[:, 0], record_every=0.1, **options)
    seldom = pegasos.solve(data.X, data.Y[:, 0], record_every=8, **options)
    assert often.w.tobytes() == seldom.w.tobytes()


def test_labels_may_be_anything_with_two_values():
    data = toy(40, 5)
    y = data.Y[:, 0]
    expected = pegasos.solve(data.X, y, C=1.0, seed=0).w
    for labels in (np.where(y > 0, "spam", "ham"), y > 0, np.where(y > 0, 7.5, -2)):
        np.testing.assert_array_equal(pegasos.solve(data.X, labels, C=1.0, seed=0).w, expected)


def test_result_and_certificate_say_it_in_words():
    data = toy(40, 5)
    result = pegasos.solve(data.X, data.Y[:, 0], C=1.0, solver="dual", seed=0)
    assert "dual: converged" in str(result)
    assert "of the optimum" in str(result.certificate)
    assert "records" in repr(result.history)
    lanes = pegasos.solve(data.X, np.hstack([data.Y, -data.Y]), C=1.0, seed=0)
    assert "worst of 2 problems" in str(lanes.certificate)
