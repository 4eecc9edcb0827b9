"""Newton on a device goes on with the rows near the kink; all others come in as a few numbers."""

import numpy as np
import pytest
import torch
from tests.gpu.test_solvers import MODES, agree

import pegasos
from pegasos.sites.device import loading, newton_rows
from pegasos.sites.device.losses import LOSSES
from pegasos.sites.device.newton_rows import NewtonRun

RUN = {"C": 0.003, "device": "cpu", "solver": "newton", "tol": 1e-6, "seed": 0}


@pytest.fixture(scope="module")
def rows():
    """So many for every feature that near ones are worth it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160_000, 4))
    y = np.sign(X @ rng.normal(size=4) + 0.3)
    y[rng.uniform(size=160_000) < 0.1] *= -1
    return X, y


@pytest.fixture
def seen(monkeypatch):
    """What a run looks at: the number of near rows at every step (0: all), and "look"."""
    events = []
    stepped, look = NewtonRun.stepped, NewtonRun._look

    def step(self, *given):
        if self.kind != newton_rows.SAMPLE:
            events.append(len(self.hand.some))
        return stepped(self, *given)

    def looked(self, *given):
        events.append("look")
        return look(self, *given)

    monkeypatch.setattr(NewtonRun, "stepped", step)
    monkeypatch.setattr(NewtonRun, "_look", looked)
    return events


@pytest.mark.parametrize("mode", MODES)
def test_all_rows_are_read_twice_or_so(rows, seen, mode):
    found = pegasos.solve(*rows, intercept=mode, **RUN)
    agree(found, *rows, 1e-6, C=0.003, intercept=mode)
    # After the sample, and for the certificate; in between those near the kink are looked at. What
    # duals out of balance cost a free intercept is a guess, so that a certificate may be refused.
    assert seen[:2] == ["look", 0]
    assert seen[-1] == "look"
    assert seen.count("look") <= (3 if mode == "free" else 2)
    near = [event for event in seen if event not in ("look", 0)]
    assert len(near) >= 3
    assert max(near) < 48_000
    assert seen.count(0) == seen.count("look") - 1
    again = pegasos.certify(*rows, found.w, found.b, found.duals, C=0.003, intercept=mode)
    assert again.dual == pytest.approx(found.certificate.dual, rel=1e-12)
    assert again.primal == pytest.approx(found.certificate.primal, rel=1e-12)


def test_rows_with_weights_and_rows_of_other_lanes(rows, seen):
    X, y = rows
    rng = np.random.default_rng(1)
    Y = np.stack([y, np.where(rng.uniform(size=len(y)) < 0.2, 0, -y)], axis=1)
    weight = rng.uniform(0.5, 2.0, len(y))
    found = pegasos.solve(X, Y, sample_weight=weight, **RUN)
    agree(found, X, Y, 1e-6, C=0.003, sample_weight=weight)
    assert (found.duals[Y == 0] == 0).all()
    assert len([event for event in seen if event not in ("look", 0)]) >= 4  # of both lanes


def test_far_rows_come_in_as_if_they_were_looked_at(rows, monkeypatch):
    compared = []
    stepped = NewtonRun.stepped

    def compare(self, step, width, reach, totals):
        found = stepped(self, step, width, reach, totals)
        if self.kind == newton_rows.NEAR:
            compared.append((self, width, found))
        return found

    def certified(self, problem, state, at):
        (run, width, found), total = compared[-1], state["sums"][-1]
        X, (y, c, _) = problem.rows.source, run.fixed()
        w, b = torch.from_numpy(state["w"]), float(state["b"][0])
        slack = 1 - y * (X @ w[:-1] + b)
        a = LOSSES["hinge"].rounded_dual(slack, c, width)
        expected = [(c * slack.clamp(min=0)).sum(), a.sum(), found[2], (a * y).sum()]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(total[:-1], (y * a) @ X, rtol=1e-9, atol=1e-9)
        checked.append(width)
        return duals(self, problem, state, at)

    checked = []
    duals = NewtonRun.duals
    monkeypatch.setattr(NewtonRun, "stepped", compare)
    monkeypatch.setattr(NewtonRun, "duals", certified)
    pegasos.solve(*rows, **RUN)
    assert len(compared) >= 2
    assert checked


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_cross_the_reach_unseen_are_found_by_the_certificate(
    rows, seen, mode, monkeypatch
):
    for name, value in {"_BEYOND": 1.0, "_MOVES": 0.0, "_ASTRAY": 1.0}.items():
        monkeypatch.setattr(newton_rows, name, value)
    monkeypatch.setattr("pegasos.solvers.newton_phases._NEXT_WIDTHS", (0.01, 0.01))
    found = pegasos.solve(*rows, intercept=mode, **RUN)
    agree(found, *rows, 1e-6, C=0.003, intercept=mode)
    assert seen.count("look") > 2


def test_rows_that_moved_far_are_all_looked_at_again(rows, seen, monkeypatch):
    monkeypatch.setattr(newton_rows, "_ASTRAY", 1e9)
    found = pegasos.solve(*rows, **RUN)
    agree(found, *rows, 1e-6, C=0.003)
    near = [at for at, event in enumerate(seen) if event not in ("look", 0)]
    assert len(near) >= 3
    assert all(seen[at + 1 : at + 2] in ([0], ["look"]) for at in near)


def test_looks_come_to_an_end(rows, seen, monkeypatch):
    monkeypatch.setattr(newton_rows, "_ASTRAY", 1e9)
    monkeypatch.setattr(newton_rows, "_LOOKS", 2)
    found = pegasos.solve(*rows, **RUN)
    agree(found, *rows, 1e-6, C=0.003)
    assert seen.count("look") <= 4
    assert seen[-3:] != ["look"] * 3


@pytest.mark.parametrize(
    ("options", "why"),
    [({"loss": "squared_hinge"}, "not linear"), ({"C": 1e-7}, "all rows are within the margin")],
)
def test_no_rows_are_left_out_where_it_does_not_pay(rows, seen, options, why):
    found = pegasos.solve(*rows, **RUN | options)
    assert found.stop_reason == "converged"
    assert not [event for event in seen if event not in ("look", 0)], why


def test_near_rows_of_a_stream_stay_on_the_device(rows, seen, monkeypatch):
    monkeypatch.setattr(loading, "_brought", loading.stream_of)
    monkeypatch.setattr(loading, "BLOCK_BYTES", 1 << 18)
    monkeypatch.setattr(newton_rows, "_NEAR_STREAMED", 0.3)
    found = pegasos.solve(*rows, **RUN)
    agree(found, *rows, 1e-6, C=0.003)
    assert [event for event in seen if event not in ("look", 0)]
