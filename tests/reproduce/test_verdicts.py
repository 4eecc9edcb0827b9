"""Verdicts follow from the numbers: the same claims on made-up measurements, for and against."""

import copy

import pytest

from reproduce import experiment
from reproduce.experiment import Claim, verdict
from reproduce.slides_times import sword

DATA = {"title": "made up", "kind": "stand-in", "rows": 1000, "features": 10}


def claim(holds, text="it is so"):
    return Claim("page 1", text, "yes", "perhaps", holds)


@pytest.mark.parametrize(
    ("holds", "word"),
    [
        ([True, True], "holds"),
        ([True, None], "holds"),
        ([True, False], "holds in part"),
        ([False, False], "does not hold"),
        ([False, None], "does not hold"),
        ([None], "not tested"),
    ],
)
def test_an_experiment_is_judged_by_its_claims(holds, word):
    assert verdict([claim(one) for one in holds])[0] == word


def test_the_reason_names_what_does_not_hold():
    reason = verdict([claim(True), claim(False, "pigs fly"), claim(None)])[1]
    assert "1 of 2 claims hold" in reason
    assert "pigs fly" in reason
    assert "1 could not be tested" in reason


def test_claims_say_their_verdict():
    assert [claim(one).verdict for one in (True, False, None)] == [
        "holds", "does not hold", "not tested",
    ]  # fmt: skip


def judged(name, measured, word):
    """Whether the claim whose text has ``word`` holds."""
    (one,) = [c for c in experiment.by_name(name).claims(measured) if word in c.text]
    return one.holds


def test_curves_that_meet():
    measured = {
        "optimum": 1.0,
        "steps": [0, 1, 100],
        "curves": {
            "random": [[9.0, 4.0, 1.010], [5.0, 4.1, 1.0115]],
            "zero": [[1.0, 4.0, 1.010], [1.0, 4.1, 1.011]],
            "along": [[9.0, 8.0, 1.011]],
            "small": [[1.0, 4.0, 1.010]],
        },
        "first_step": [{"start": "random", "norm": 1.0, "violators": 0.9, "difference": 1e-15}],
    }
    name = "rupnik_figure_2"
    assert all(one.holds for one in experiment.by_name(name).claims(measured))
    apart = copy.deepcopy(measured)
    apart["curves"]["random"][1][2] = 1.1
    assert not judged(name, apart, "hardly depends")
    kept = copy.deepcopy(measured)
    kept["first_step"][0]["difference"] = 1e-3
    assert not judged(name, kept, "first step multiplies")
    other = copy.deepcopy(measured)
    other["curves"]["small"][0][1] = 4.01
    assert not judged(name, other, "whole first batch")
    other["curves"]["along"][0][2] = 1.05
    assert not judged(name, other, "few rows violate")


def optimum_run(at_200, at_560, exact):
    return {
        "runs": [
            {
                "data": DATA, "sampling": "iid", "optimum": 1.0, "gap": 1e-7, "seconds": 1.0,
                "exact_seconds": exact,
                "exact_solver": "dual", "steps": [1, 200, 560], "curves": [[2.0, at_200, at_560]],
            }
        ]
    }  # fmt: skip


def test_distances_from_the_optimum():
    name = "rupnik_optimum"
    good = optimum_run(0.0034, 0.0014, 100.0)
    assert judged(name, good, "200 iterations are")  # 0.34% is 0.3% in one digit
    assert judged(name, good, "560 iterations are")
    assert judged(name, good, "cost far less")
    bad = optimum_run(0.0036, 0.0016, 2.0)
    for word in ("200 iterations are", "560 iterations are", "cost far less"):
        assert not judged(name, bad, word)


@pytest.mark.parametrize(("error", "holds"), [(5.8, True), (5.81, False), (5.5, True)])
def test_test_errors(error, holds):
    run = {"data": DATA, "test": 100, "optimum": 5.6, "steps": [1, 50], "curves": [[20.0, error]]}
    assert judged("rupnik_figure_3", {"runs": [run]}, "within 0.2 points") is holds


def test_batches():
    name = "rupnik_figure_4"
    slow = [[[0.4], [0.2]], [[0.2], [0.1]]]  # budgets x batches x seeds
    measured = {
        "batches": [1, 64],
        "budgets": [10, 20],
        "distances": {"always": slow, "on_loss": [[[0.3], [0.2]], [[0.15], [0.1]]]},
    }
    assert all(one.holds for one in experiment.by_name(name).claims(measured))
    measured["distances"] = {"always": [[[0.2], [0.2]], [[0.3], [0.3]]], "on_loss": slow}
    assert [one.holds for one in experiment.by_name(name).claims(measured)] == [
        False, False, False, False,
    ]  # fmt: skip


def times(pegasos, plane, guess, reached=True):
    run = {
        "data": DATA,
        "runs": {
            "pegasos": [{"seconds": pegasos, "reached": True}],
            "cutting_plane": [{"seconds": plane, "reached": reached}],
            "ocas": [{"seconds": plane, "reached": reached}],
        },
        "decomposition": {"points": [[10, 1.0]], "seconds": guess, "slope": 2.0},
    }
    return {"times": {"reuters": run}, "no_ocas": None, "sword": []}


def test_times():
    name = "slides_times"
    assert judged(name, times(1, 2, 3), "cutting-plane")
    assert judged(name, times(1, 2, 3, reached=False), "cutting-plane")
    assert not judged(name, times(3, 2, 1), "cutting-plane")
    assert judged(name, times(1, 2, 3), "decomposition")
    assert not judged(name, times(3, 2, 1), "decomposition")
    absent = times(1, 2, 3) | {"no_ocas": "not installed"}
    absent["times"]["reuters"]["runs"] |= {"cutting_plane": [], "ocas": []}
    assert judged(name, absent, "cutting-plane") is None


@pytest.mark.parametrize(
    ("steps", "seconds", "holds"),
    [((100, 50), (1.0, 0.5), True), ((100, 90), (1.0, 0.5), False), ((100, 50), (1, 2), False)],
)
def test_the_sword(steps, seconds, holds):
    points = [
        {"rows": 10 * (i + 1), "lam": 1, "steps": steps[i], "seconds": seconds[i]} for i in range(2)
    ]
    (one,) = sword.claims([{"data": DATA, "target": 0.1, "points": points}])
    assert one.holds is holds


def rates(by_eps, by_lam, steps, seconds):
    sizes = [{"rows": n, "steps": 10, "seconds": 1.0} for n in (10, 100)]
    return {"slopes": [by_eps, by_lam], "size_slopes": [steps, seconds], "sizes": sizes}


def test_rates():
    name = "pegasos_rates"
    assert all(one.holds for one in experiment.by_name(name).claims(rates(1.1, 0.9, 0.02, 0.05)))
    assert not any(one.holds for one in experiment.by_name(name).claims(rates(2, 2, 0.5, 0.5)))
    assert [one.holds for one in experiment.by_name(name).claims(rates(1, 0.6, 0.0, 0.0))] == [
        True, False, True, True, True,
    ]  # fmt: skip


def contest(cost, **seconds):
    runs = {
        name: [{"seconds": value, "reached": True, "epochs": 1.0}]
        for name, value in seconds.items()
    }
    return {"data": DATA, "C": cost, "cap": 9.0, "runs": runs}


def test_contests():
    name = "sgd_revisited"
    as_claimed = {
        "pegasos": 4.0, "sgdr": 3.0, "sgds": 2.0, "sgdm": 1.0, "dual": 1.0, "liblinear": 5.0,
        "ocas": 5.0, "cutting_plane": 9.0,
    }  # fmt: skip
    slow = as_claimed | {"sgdm": 7.0, "dual": 1.0}
    cells = [
        contest(0.1, **as_claimed | {"dual": 2.0}),
        contest(1.0, **as_claimed),
        contest(10.0, **slow),
    ]
    deep = [{"data": DATA, "epochs": [1, 9], "gaps": [0.1, 1e-5], "limit": 5.0}]
    measured = {"cells": cells, "deep": deep, "missing": {}}
    assert all(one.holds for one in experiment.by_name(name).claims(measured))
    cells[1]["runs"]["sgds"][0]["seconds"] = 3.5
    assert not judged(name, measured, "SGD-s is faster than SGD-r")
    assert judged(name, measured, "SGD-m is faster than SGD-s")
    deep[0]["gaps"][-1] = 1e-2
    assert not judged(name, measured, "extremely accurate")
    for solver in ("sgdm", "cutting_plane"):
        cells[2]["runs"][solver][0]["reached"] = False
    assert judged(name, measured, "C = 10: SGD-m is faster than SVM-perf") is None
    measured["missing"] = {"ocas": "not here", "cutting_plane": "not here"}
    assert judged(name, measured, "C = 1: SGD-m is faster than OCAS") is None


def test_pairs():
    name = "fashion_pairs"
    from reproduce.fashion_pairs import PAIRS

    measured = {
        "pairs": [list(pair) for pair in PAIRS],
        "train_accuracies": list(PAIRS.values()),
        "accuracy": 80.5,
        "exact_accuracy": 80.6,
        "exact_gap": 1e-3,
        "seconds": [1.0],
        "curve": {"steps": [10, 100, 1000], "train": [[50.0, 99.0, 99.1]]},
    }
    assert all(one.holds for one in experiment.by_name(name).claims(measured))
    measured |= {"accuracy": 79.0, "seconds": [8.0], "train_accuracies": [90.0] * len(PAIRS)}
    measured["curve"]["train"] = [[50.0, 98.0, 99.1]]
    assert not any(one.holds for one in experiment.by_name(name).claims(measured))
