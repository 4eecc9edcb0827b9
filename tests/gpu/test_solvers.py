"""The solvers on a device: the optimum of the CPU, and a proof of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import pegasos
from pegasos.sites.device.gram import LEVELS, Precision, sampled
from pegasos.sites.device.interior import InteriorPasses
from pegasos.sites.device.lanes import costs_of, lanes_of
from pegasos.sites.device.site import COSTS
from pegasos.solvers import choice_of
from pegasos.testing.toys import separable, toy

MODES = ["none", "regularized", "free"]
LOSSES = ["hinge", "squared_hinge"]
SOLVERS = ["interior", "newton"]


def agree(found, X, y, tol, **options):
    """It is proven within tol of what the CPU finds, which is far closer to the optimum."""
    best = pegasos.solve(X, y, solver="interior", tol=1e-11, **options)
    ours, theirs = found.certificate, best.certificate
    assert found.stop_reason == "converged"
    assert np.all(ours.relative_gap <= tol)
    assert np.all(ours.primal <= theirs.primal * (1 + tol))
    assert np.all(ours.primal >= theirs.dual * (1 - 1e-12))
    assert np.all(ours.dual <= theirs.primal * (1 + 1e-12))
    # The objective is strongly convex: so far from the optimum w can be.
    total = np.asarray(options.get("sample_weight", np.ones(len(X)))) @ (np.asarray(y) != 0)
    far = 2 * options["C"] * total * (ours.primal - theirs.dual + theirs.gap)
    w, best_w = np.atleast_2d(np.asarray(found.w)), np.atleast_2d(best.w)
    assert np.all(((w - best_w) ** 2).sum(1) <= 1.01 * far + 1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_same_optimum_as_on_the_cpu(solver, loss, mode):
    data = toy(500, 6, seed=3)
    y = data.Y[:, 0]
    options = {"C": 0.5, "loss": loss, "intercept": mode}
    found = pegasos.solve(data.X, y, device="cpu", solver=solver, tol=1e-7, seed=0, **options)
    agree(found, data.X, y, 1e-7, **options)
    if solver == "auto":  # so many rows for every feature are Newton's
        assert found.reason.startswith("Newton: 500 rows of 6 features, 1 problems on cpu")
    else:
        assert found.solver.name == solver
        assert found.reason == "as asked for"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_and_a_constant_feature_of_any_size(solver, loss):
    data = toy(300, 5, seed=5)
    y = data.Y[:, 0]
    weight = np.where(data.weight < 0.6, 0.0, data.weight)
    options = {
        "C": 2.0, "loss": loss, "intercept": "regularized", "intercept_scaling": 3.0,
        "sample_weight": weight,
    }  # fmt: skip
    found = pegasos.solve(data.X, y, device="cpu", solver=solver, tol=1e-7, seed=0, **options)
    agree(found, data.X, y, 1e-7, **options)
    assert (found.duals[weight == 0] == 0).all()
    assert (found.duals >= 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_weight_of_two_is_the_row_twice(solver):
    data = toy(120, 4, seed=6)
    y = data.Y[:, 0]
    count = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"C": 1.0, "device": "cpu", "solver": solver, "tol": 1e-8, "seed": 0}
    weighed = pegasos.solve(data.X, y, sample_weight=count.astype(float), **options)
    repeated = pegasos.solve(np.repeat(data.X, count, axis=0), np.repeat(y, count), **options)
    assert weighed.certificate.primal == pytest.approx(repeated.certificate.primal, rel=2e-8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_several_lanes_are_each_as_by_themselves(solver, loss, mode):
    data = toy(200, 5, 3, seed=2, absent=0.3)
    C = np.array([0.01, 0.3, 3.0])
    options = {"loss": loss, "intercept": mode}
    run = {"device": "cpu", "solver": solver, "tol": 1e-8, "seed": 0}
    found = pegasos.solve(data.X, data.Y, C=C, sample_weight=data.weight, **options, **run)
    assert found.w.shape == (3, 5)
    assert found.b.shape == (3,)
    assert found.duals.shape == (200, 3)
    assert (found.duals[data.Y == 0] == 0).all()
    agree(found, data.X, data.Y, 1e-8, C=C, sample_weight=data.weight, **options)
    for k in range(3):
        alone = pegasos.solve(
            data.X, data.Y[:, [k]], C=C[k], sample_weight=data.weight, **options, **run
        )
        close = 2e-8 * alone.certificate.primal[0]
        assert found.certificate.primal[k] == pytest.approx(alone.certificate.primal[0], abs=close)
        np.testing.assert_allclose(found.w[k], alone.w[0], atol=0.01 * np.abs(alone.w).max())


def test_lanes_that_do_not_fit_together_are_trained_in_groups(monkeypatch):
    data = toy(200, 5, 5, seed=2, absent=0.3)
    started = []
    begin = InteriorPasses.stays
    monkeypatch.setattr(InteriorPasses, "lanes_at_once", lambda _: 2)
    monkeypatch.setattr(
        InteriorPasses, "stays", lambda *given: started.append(given[0].lanes) or begin(*given)
    )
    found = pegasos.solve(data.X, data.Y, C=0.5, device="cpu", solver="interior", tol=1e-8, seed=0)
    assert started == [2, 2, 1]
    agree(found, data.X, data.Y, 1e-8, C=0.5)
    again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, C=0.5, intercept="free")
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)


def test_rows_of_next_to_no_weight_let_the_others_move():
    data = toy(60, 6, seed=0)
    weights = np.where(np.arange(60) % 7 == 3, 1e-14, 1.0)
    options = {"C": 1.0, "sample_weight": weights, "intercept": "free"}
    found = pegasos.solve(
        data.X, data.Y[:, 0], device="cpu", solver="interior", tol=1e-7, seed=0, **options
    )
    agree(found, data.X, data.Y[:, 0], 1e-7, **options)
    assert found.epochs <= 20


@pytest.mark.parametrize("rows", ["uncentred", "zeros"])
def test_a_free_intercept_is_sure_of_its_place_in_a_sampled_matrix(rows):
    rng = np.random.default_rng(6 if rows == "zeros" else 2)
    n, d = 20_000, 8  # more than 256 rows a feature: the matrix begins with a sample
    if rows == "zeros":
        X = rng.integers(0, 3, size=(n, 5)).astype(float)
        scores, share = X @ rng.normal(size=5), 0.005
    else:
        X = rng.normal(size=(n, d)) + 100 * rng.normal(size=d)
        scores, share = (X - X.mean(axis=0)) @ rng.normal(size=d), 0.5
    scores += scores.std() * rng.normal(size=n)
    y = np.where(scores > np.quantile(scores, 1 - share), 1, -1)
    found = pegasos.solve(
        X, y, C=1.0, device="cpu", solver="interior", intercept="free", tol=1e-7, seed=0
    )
    assert found.stop_reason == "converged"
    assert found.epochs <= 16


def test_the_first_matrix_is_good_enough_to_tell_separable_rows():
    X, y = separable(20_000, 20)  # later matrices are of a sixteenth of the rows
    found = pegasos.solve(X, y, C=100.0, device="cpu", solver="interior", tol=1e-7, seed=0)
    assert found.stop_reason == "converged"
    assert found.epochs <= 35  # over 100 if the first is such a sample, too


def test_only_lanes_of_separable_rows_start_again_with_larger_slacks():
    X, y = separable(2000, 20)
    noisy = np.where(np.random.default_rng(1).uniform(size=2000) < 0.2, -y, y)
    noisy[::5] = 0
    Y = np.stack([y, noisy], axis=1).astype(np.int8)
    options = {"C": 100.0, "intercept": "free"}
    slacks = []
    slacken = InteriorPasses.slacken

    def seen(self, slack):
        slacks.append(slack.copy())
        return slacken(self, slack)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InteriorPasses, "slacken", seen)
        found = pegasos.solve(X, Y, device="cpu", solver="interior", tol=1e-7, seed=0, **options)
    assert len(slacks) == 1
    assert slacks[0][0] > 6
    assert slacks[0][1] == 0
    assert found.epochs <= 30
    agree(found, X, Y, 1e-7, **options)


def test_regularization_per_example():
    data = toy(200, 5, 2, seed=4, absent=0.2)
    lam = np.array([0.1, 0.001])
    options = {"lam": lam, "sample_weight": data.weight, "intercept": "none"}
    found = pegasos.solve(data.X, data.Y, device="cpu", tol=1e-6, seed=0, **options)
    best = pegasos.solve(data.X, data.Y, tol=1e-9, seed=0, **options)
    np.testing.assert_allclose(found.certificate.primal, best.certificate.primal, rtol=1e-6)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("solver", SOLVERS)
def test_coarse_numbers_are_trained_on_as_they_are(solver, kind):
    data = toy(400, 6, seed=7)
    y = data.Y[:, 0]
    X = torch.from_numpy(data.X).to(kind)
    found = pegasos.solve(X, torch.from_numpy(y), C=0.5, device="cpu", solver=solver, tol=1e-7)
    agree(found, X.double().numpy(), y, 1e-7, C=0.5)
    rounded = np.abs(X.double().numpy() - data.X).max()
    assert rounded > 1e-9  # else the rows were not coarse


def test_the_matrix_is_made_of_a_sample_of_the_rows(monkeypatch):
    counts = []

    def counted(scale, norms, rows, draws):
        found = sampled(scale, norms, rows, draws)
        counts.append((rows, int(torch.count_nonzero(found))))
        return found

    monkeypatch.setattr("pegasos.sites.device.interior.sampled", counted)
    data = toy(20_000, 8, seed=8)
    y = data.Y[:, 0]
    found = pegasos.solve(data.X, y, C=0.01, device="cpu", solver="interior", tol=1e-6, seed=0)
    agree(found, data.X, y, 1e-6, C=0.01)
    assert counts[0][0] == 1024 * 8
    assert counts[1][0] == 128 * 8 == LEVELS[0].rows * 8
    assert 500 < counts[1][1] < 1300
    # An exact matrix would not do with much fewer iterations.
    monkeypatch.setattr("pegasos.sites.device.interior.LEVELS", (Precision(),))
    exact = pegasos.solve(data.X, y, C=0.01, device="cpu", solver="interior", tol=1e-6, seed=0)
    assert counts[-1] == (np.inf, counts[-1][1])
    assert found.epochs <= exact.epochs + 8


def test_newton_starts_with_a_sample_of_the_rows():
    data = toy(40_000, 6, seed=9)
    y = data.Y[:, 0]
    found = pegasos.solve(data.X, y, C=0.01, device="cpu", solver="newton", tol=1e-6, seed=0)
    agree(found, data.X, y, 1e-6, C=0.01)
    assert found.epochs % 1 != 0  # some were of a sixteenth


@pytest.mark.parametrize("mode", MODES)
def test_a_matrix_too_coarse_is_made_sharper(monkeypatch, mode):
    levels = []
    sharpen = InteriorPasses.sharpen

    def counted(self):
        found = sharpen(self)
        levels.append((found, self.run.level, self.run.exact))
        return found

    monkeypatch.setattr(
        "pegasos.sites.device.interior.LEVELS", (Precision(2), Precision(20), Precision())
    )
    monkeypatch.setattr(InteriorPasses, "sharpen", counted)
    data = toy(3000, 20, seed=10)
    y = data.Y[:, 0]
    options = {"C": 0.1, "intercept": mode}
    found = pegasos.solve(
        data.X, y, device="cpu", solver="interior", tol=1e-9, seed=0, max_epochs=100, **options
    )
    agree(found, data.X, y, 1e-9, **options)
    assert levels[0] == (True, 1, False)
    assert all(level == (level[1] < 3, level[1], level[1] == 2) for level in levels[:2])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_leaves_a_valid_certificate(solver):
    data = toy(300, 6, 2, seed=11)
    options = {"C": 1.0, "intercept": "free"}
    found = pegasos.solve(
        data.X, data.Y, device="cpu", solver=solver, tol=1e-10, max_epochs=2, seed=0, **options
    )
    assert found.stop_reason == "max_epochs"
    assert found.epochs == (2 if solver == "interior" else 4)  # Newton: lane by lane
    assert found.certificate.holds
    assert (found.certificate.relative_gap > 1e-10).all()
    again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, **options)
    np.testing.assert_allclose(again.primal, found.certificate.primal, rtol=1e-12)
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)
    stopped = pegasos.solve(
        data.X, data.Y, device="cpu", solver=solver, tol=1e-10, max_steps=3, seed=0, **options
    )
    assert stopped.stop_reason == "max_steps"
    late = pegasos.solve(data.X, data.Y, device="cpu", solver=solver, max_time=1e-9, **options)
    assert late.stop_reason == "max_time"


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_stops_a_run(solver):
    data = toy(300, 6, seed=12)
    seen = []

    def second(record):
        seen.append(record)
        return len(seen) == 2

    found = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, device="cpu", solver=solver, tol=1e-10, callbacks=[second],
        record_every=1.0,
    )  # fmt: skip
    assert found.stop_reason == "callback"
    assert [record.epoch for record in seen] == [1.0, 2.0]
    assert found.certificate == seen[-1].certificate
    assert len(found.history["gap"]) == 2


def test_interior_point_takes_over_from_newton(monkeypatch):
    monkeypatch.setattr("pegasos.sites.device.site.COSTS", replace(COSTS, interior_epochs=8.0))
    data = toy(1500, 8, 2, seed=13)
    options = {"C": 1.0, "intercept": "free"}
    found = pegasos.solve(data.X, data.Y, device="cpu", tol=1e-10, seed=0, **options)
    assert found.solver == pegasos.InteriorPoint()
    assert found.reason.startswith("Newton: 1500 rows of 8 features, 2 problems on cpu; ")
    assert found.reason.endswith("; InteriorPoint took over after 4 epochs")
    agree(found, data.X, data.Y, 1e-10, **options)
    again = pegasos.certify(data.X, data.Y, found.w, found.b, found.duals, **options)
    np.testing.assert_allclose(again.dual, found.certificate.dual, rtol=1e-12)


def test_which_solver_is_chosen(problem_of):
    def chosen(n, d, lanes, solver=None):
        data = toy(n, d, lanes)
        return choice_of(solver, problem_of(data.X, data.Y), 1e-3)

    many, few = chosen(640, 10, 4), chosen(639, 10, 1)
    assert many.solver == pegasos.Newton()
    assert many.fallback.solver == few.solver == pegasos.InteriorPoint()
    assert (many.fallback_epochs, many.tried) == (60.0, 0.5)
    assert few.fallback is None
    assert few.reason == "InteriorPoint: 639 rows of 10 features, 1 problems on cpu"
    assert chosen(640, 10, 5).solver == pegasos.InteriorPoint()
    assert chosen(640, 10, 1, pegasos.Newton(aim=0.01)).solver.aim == 0.01
    with pytest.raises(ValueError, match="'dual' does not run on a device; use 'auto'"):
        chosen(640, 10, 1, pegasos.DualCoordinate())
    words = r"exact solvers on a device .* 10001 are too many \(at most 10000\); use solver=peg"
    with pytest.raises(ValueError, match=words):
        chosen(4, 10_001, 1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_bits(solver):
    data = toy(20_000, 8, seed=14)
    y = data.Y[:, 0]

    def run(seed):
        return pegasos.solve(data.X, y, C=0.1, device="cpu", solver=solver, tol=1e-5, seed=seed)

    one, again, other = run(3), run(3), run(4)
    assert one.w.tobytes() == again.w.tobytes()
    assert one.duals.tobytes() == again.duals.tobytes()
    assert one.certificate == again.certificate
    assert one.w.tobytes() != other.w.tobytes()  # there were draws
    assert pegasos.solve(data.X, y, C=0.1, device="cpu", seed=2**64 - 1).stop_reason == "converged"


def test_duals_stay_inside_the_box(problem_of):
    data = toy(100, 5, 2, seed=6, absent=0.2)
    problem = problem_of(data.X, data.Y, C=10.0, weight=data.weight)
    solver = pegasos.InteriorPoint()
    state = solver.start(problem, 0)
    costs, y = costs_of(problem), lanes_of(problem).y
    for step in range(1, 30):
        solver.advance(problem, state, work=1 << 40, stop_seen=1 << 60, stop_steps=step)
        a = solver.duals(problem, state).values
        inside = y != 0
        assert bool((a[inside] > 0).all())
        assert bool((a <= costs).all())
        assert bool((a[~inside] == 0).all())


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tolerance_beyond_float64_ends_at_the_last_digits(solver):
    data = toy(150, 5, seed=11)
    found = pegasos.solve(
        data.X, data.Y[:, 0], C=1.0, device="cpu", solver=solver, tol=0, max_epochs=1000
    )
    assert found.stop_reason == "precision"
    assert found.epochs < 1000
    assert found.certificate.relative_gap < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_of_zeros_and_a_single_feature(solver):
    y = np.array([1, -1] * 20)
    nothing = pegasos.solve(np.zeros((40, 3)), y, C=1.0, device="cpu", solver=solver)
    assert nothing.certificate.primal == pytest.approx(1.0, rel=1e-3)
    np.testing.assert_allclose(nothing.w, 0, atol=1e-12)
    x = np.random.default_rng(0).normal(size=(40, 1)) + y[:, None]
    one = pegasos.solve(x, y, C=1.0, device="cpu", solver=solver, tol=1e-6)
    agree(one, x, y, 1e-6, C=1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_class_that_weighs_nothing_does_no_harm(loss):
    data = toy(300, 6, seed=3)
    y = data.Y[:, 0]
    options = {"class_weight": {-1: 0.0, 1: 1.0}, "loss": loss, "intercept": "none"}
    best = pegasos.LinearSVC(solver="interior", **options).fit(data.X, y)
    for solver in SOLVERS:
        found = pegasos.LinearSVC(solver=solver, device="cpu", **options).fit(data.X, y)
        assert found.objective_ == pytest.approx(best.objective_, rel=1e-3), solver
        assert found.stop_reason_ == "converged"


def test_weights_that_leave_float64_are_named():
    data = toy(300, 6, seed=3)
    for device in (None, "cpu"):
        options = {"C": 1.0, "device": device, "sample_weight": np.full(300, 1e308)}
        with pytest.raises(ValueError, match="sample_weight is too large"):
            pegasos.solve(data.X, data.Y[:, 0], **options)


@pytest.mark.parametrize("solver", SOLVERS)
def test_numbers_that_leave_float64_are_named(solver):
    data = toy(300, 6, seed=3)
    for device in (None, "cpu"):
        options = {"C": 1e-150, "device": device, "sample_weight": np.full(300, 1e300)}
        with pytest.raises(ValueError, match=r"\(row 93 has norm .*\); scale the features"):
            pegasos.solve(data.X, data.Y[:, 0], solver=solver, max_epochs=60, **options)
