"""Every experiment at a tiny size, on generated data: what it gives, not what it finds."""

import json

import numpy as np
import pytest

from pegasos.solvers import SGDS, Pegasos
from reproduce import NAMES, data, experiment, page, peers
from reproduce.slides_times import sword
from reproduce.walk import Walk, ladder, optimum, problem_of

ROWS, MANY = 600, 800
TINY = {
    "rupnik_figure_2": {"rows": ROWS, "batch": 50, "steps": 10, "seeds": 3, "probed": 1},
    "rupnik_optimum": {"rows": ROWS, "many": MANY, "batch": 20, "steps": 20, "seeds": 2},
    "rupnik_figure_3": {"rows": ROWS, "many": MANY, "batch": 20, "steps": 60, "seeds": 2},
    "rupnik_figure_4": {
        "rows": ROWS, "budgets": (64, 128, 256), "batches": (1, 8, 32), "seeds": 2,
    },
    "slides_times": {
        "reuters": MANY, "astro_ph": MANY, "covertype": MANY, "rounds": 2, "cap": 0.2,
        "most": 20_000, "longest": 0.01,
        "edge": sword.Settings(
            rows=ROWS, many=MANY, lams=(1e-3,), sizes=(100, 400), more=(200, 600), steps=4_000,
            seeds=2,
        ),
    },
    "pegasos_rates": {
        "rows": ROWS, "lams": (1e-2, 3e-3), "reach": (2, 200), "accuracies": (0.1, 0.05),
        "seeds": 2, "many": MANY, "sizes": (200, MANY), "lam": 1e-2, "accuracy": 0.05,
    },
    "sgd_revisited": {
        "rows": ROWS, "many": MANY, "costs": (0.1, 1.0, 10.0), "rounds": 1, "cap": 0.1,
        "deep": 0.1,
    },
    "fashion_pairs": {"rows": ROWS, "steps": 200, "seeds": 2},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_and_is_written_whole(name, tmp_path):
    pytest.importorskip("matplotlib")
    module = experiment.by_name(name)
    result = experiment.run(name, module.Settings(**TINY[name]))
    assert result["claims"]
    assert all(one["text"] and one["claimed"] and one["measured"] for one in result["claims"])
    assert {one["kind"] for one in result["data"]} == {data.STAND_IN}
    experiment.store(result, tmp_path)
    folder = tmp_path / name
    assert sorted(path.name for path in folder.iterdir()) == ["picture.png", "result.json"]
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert experiment.load(name, tmp_path) == json.loads(json.dumps(result))
    text = page.text(tmp_path)
    assert f"`pegasos reproduce {name}`" in text
    assert "stand-in" in text.split(f"{NAMES.index(name) + 1}. {module.TITLE}")[1]
    assert "7 of 8" not in text
    assert "1 of 8" in text


def test_a_picture_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    name = "rupnik_figure_4"
    module = experiment.by_name(name)
    result = experiment.run(name, module.Settings(**TINY[name]))
    experiment.store(result, tmp_path)
    before = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    def fail(*_):
        raise RuntimeError("no ink")

    monkeypatch.setattr(module, "draw", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        experiment.store(result | {"seconds": 1e9}, tmp_path)
    assert {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} == before


def test_a_walk_is_the_run_of_the_library():
    import pegasos

    rows = data.rcv1(ROWS)
    problem = problem_of(rows.X, rows.y, lam=1e-3)
    for solver in (Pegasos(batch_size=7), SGDS()):
        walk = Walk(problem, solver, 3).to(100).to(500)
        result = pegasos.solve(
            rows.X, rows.y, lam=1e-3, solver=solver, intercept="none", max_steps=500, seed=3, tol=0
        )
        np.testing.assert_array_equal(walk.w, result.w)
        assert walk.objective == pytest.approx(result.certificate.primal, rel=1e-12)


def test_a_walk_starts_where_it_is_told():
    rows = data.rcv1(ROWS)
    problem = problem_of(rows.X, rows.y, lam=1e-3)
    w = np.random.default_rng(0).standard_normal(rows.X.shape[1])
    walk = Walk(problem, Pegasos(), 0, w)
    np.testing.assert_array_equal(walk.w, w)


def test_optima_are_proven():
    rows = data.rcv1(ROWS)
    assert optimum(rows.X, rows.y, lam=1e-3).certificate.relative_gap <= 1e-6


def test_the_ladder_has_both_ends():
    assert ladder(1, 1000, 1) == [1, 10, 100, 1000]
    assert ladder(5, 7)[0] == 5
    assert ladder(5, 7)[-1] == 7


def test_the_last_rows_are_the_test_set():
    rows = data.rcv1(ROWS)
    train, test = rows.split(0.13)
    assert (train.y.size, test.y.size) == (522, 78)
    np.testing.assert_array_equal(np.concatenate([train.y, test.y]), rows.y)


def test_a_power_law_is_found():
    points = [[n, 1e-6 * n**1.7] for n in (10, 1000, 2000, 4000, 8000)]
    points[0][1] = 5.0  # far from the law, and left out
    seconds, slope = peers.power_law(points, 100_000)
    assert slope == pytest.approx(1.7)
    assert seconds == pytest.approx(1e-6 * 100_000**1.7)
