"""InteriorPoint on a device: matrices of samples, groups of lanes, rows that hold others back."""

import numpy as np
import pytest
import torch
from tests.common.toys import separable, toy
from tests.gpu.optima import MODES, agree

import pegasos
from pegasos.sites.device.gram import LEVELS, Precision, sampled
from pegasos.sites.device.interior import InteriorPasses
from pegasos.sites.device.lanes import costs_of, lanes_of


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


def test_the_matrix_is_made_of_a_sample_of_the_rows(monkeypatch, trained):
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
    exact = trained(data.X, y, "interior", 1e-6, C=0.01, tuning={"levels": (Precision(),)})
    assert counts[-1] == (np.inf, counts[-1][1])
    assert found.epochs <= exact.epochs + 8


@pytest.mark.parametrize("mode", MODES)
def test_a_matrix_too_coarse_is_made_sharper(monkeypatch, mode, trained):
    levels = []
    sharpen = InteriorPasses.sharpen

    def counted(self):
        found = sharpen(self)
        levels.append((found, self.run.level, self.run.exact))
        return found

    monkeypatch.setattr(InteriorPasses, "sharpen", counted)
    data = toy(3000, 20, seed=10)
    y = data.Y[:, 0]
    options = {"C": 0.1, "intercept": mode}
    tuning = {"levels": (Precision(2), Precision(20), Precision())}
    found = trained(data.X, y, "interior", 1e-9, max_epochs=100, tuning=tuning, **options)
    agree(found, data.X, y, 1e-9, **options)
    assert levels[0] == (True, 1, False)
    assert all(level == (level[1] < 3, level[1], level[1] == 2) for level in levels[:2])


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
