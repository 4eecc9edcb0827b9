"""A run that was ended at any moment goes on to the same bits, whatever solver and mode."""

import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from tests.checkpoint.killed import Killed, killing
from tests.common.toys import toy

import pegasos
from pegasos import SGDM, DualCoordinate, InteriorPoint, Newton, Pegasos
from pegasos.data.chunks import ArrayChunks

SOLVERS = [
    DualCoordinate(), InteriorPoint(), Newton(), pegasos.SGDR(), pegasos.SGDS(), SGDM(),
    SGDM(multiplicity=3), Pegasos(), Pegasos(batch_size=7), Pegasos(batch_size="all"),
    Pegasos(sampling="permute", average=True), Pegasos(count="on_loss"),
]  # fmt: skip
EACH = pytest.mark.parametrize("solver", SOLVERS, ids=str)


@pytest.fixture
def kill(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr("pegasos.run.schedule.first_slice", lambda _: 3)
    monkeypatch.setattr("pegasos.run.schedule.next_slice", lambda *_: int(rng.integers(1, 300)))
    return killing(monkeypatch)


def in_pieces(kill, run, folder, saves):
    """What ``run`` returns at once, and ended after so many writes or less; how often it was."""
    expected, rng, count = run(), np.random.default_rng(0), 0
    while True:
        kill(int(rng.integers(2, saves + 1)))
        try:
            return expected, run(checkpoint=folder, resume=folder, checkpoint_every=0), count
        except Killed:
            count += 1


def fitted(kind, X, y, **options):
    return kind(**options).fit(X, y)


@EACH
@pytest.mark.parametrize("lanes", [1, 3])
def test_solve_in_pieces_gives_the_same_bits(solver, lanes, kill, tmp_path):
    data = toy(400, 5, lanes, seed=5, absent=0.3)
    options = {
        "solver": solver, "lam": [0.03, 0.01, 0.003][:lanes], "tol": 1e-4, "max_epochs": 20,
        "seed": 3, "sample_weight": data.weight,
    }  # fmt: skip
    run = partial(pegasos.solve, data.X, data.Y, **options)
    for saves in (4, 9):
        expected, found, count = in_pieces(kill, run, tmp_path / f"{saves}.ckpt", saves)
        assert count > 0
        assert found.w.tobytes() == expected.w.tobytes()
        assert found.duals.tobytes() == expected.duals.tobytes()
        assert np.array_equal(found.certificate.primal, expected.certificate.primal)
        assert found.stop_reason == expected.stop_reason
        assert found.epochs == expected.epochs
        assert found.history["examples"].tolist() == expected.history["examples"].tolist()


def test_a_solver_that_took_over_is_at_work_again(kill, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 60)) + 3
    y = np.where(X @ rng.standard_normal(60) + rng.standard_normal(3000) > 0, 1, -1)
    options = {"C": 100.0, "tol": 1e-6, "seed": 0}
    run = partial(pegasos.solve, X, y, **options)
    expected, found, _ = in_pieces(kill, run, tmp_path / "run.ckpt", 40)
    assert found.w.tobytes() == expected.w.tobytes()
    assert "took over" in expected.reason
    assert found.reason == expected.reason


def test_a_finished_run_is_not_run_again(kill, tmp_path):
    data = toy(60, 5, 3, seed=2)
    options = {"C": 1.0, "seed": 0, "checkpoint": tmp_path / "a", "resume": tmp_path / "a"}
    first = pegasos.solve(data.X, data.Y, **options)
    kill(1)  # any write would raise
    again = pegasos.solve(data.X, data.Y, **options)
    assert again.w.tobytes() == first.w.tobytes()
    assert again.duals.tobytes() == first.duals.tobytes()
    assert again.history["gap"].tolist() == first.history["gap"].tolist()


def test_a_seed_that_was_drawn_is_kept(kill, tmp_path):
    data = toy(60, 5, seed=2)
    options = {"C": 1.0, "solver": "sgds", "tol": 0, "max_epochs": 10}
    kill(3)
    with pytest.raises(Killed):
        pegasos.solve(
            data.X, data.Y[:, 0], checkpoint=tmp_path / "a", checkpoint_every=0, **options
        )
    kill(-1)
    found = [
        pegasos.solve(
            data.X, data.Y[:, 0], resume=tmp_path / "a", checkpoint=tmp_path / f"{i}", **options
        )
        for i in range(2)
    ]
    assert found[0].w.tobytes() == found[1].w.tobytes()


def test_records_that_callbacks_asked_for_come_as_they_would_have(kill, tmp_path):
    data = toy(200, 6, seed=1)
    y, options = data.Y[:, 0], {"C": 10.0, "solver": "dual", "tol": 1e-6, "seed": 3}
    expected = pegasos.solve(data.X, y, callbacks=[lambda _: None], **options)
    kill(5)
    with pytest.raises(Killed):
        pegasos.solve(
            data.X, y, callbacks=[lambda _: None], checkpoint=tmp_path / "a", checkpoint_every=0,
            **options,
        )  # fmt: skip
    kill(-1)
    found = pegasos.solve(data.X, y, resume=tmp_path / "a", **options)
    assert found.w.tobytes() == expected.w.tobytes()


CLASSES = {
    "ovr": {},
    "ovr, sgds": {"solver": "sgds", "max_iter": 20},
    "ovr, together": {"solver": "pegasos", "max_iter": 9},
    "ovo": {"multi_class": "ovo"},
    "crammer_singer": {"multi_class": "crammer_singer"},
    "probability": {"probability": "sigmoid"},
    "ovo, probability": {"multi_class": "ovo", "probability": "isotonic"},
    "balanced": {"class_weight": "balanced", "loss": "squared_hinge"},
}


def three_classes(n=150):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6))
    return X, np.array(["red", "green", "blue"])[np.argmax(X[:, :3] + rng.random((n, 3)), axis=1)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", CLASSES.values(), ids=CLASSES)
def test_fits_in_pieces_give_the_same_bits(options, kill, tmp_path):
    X, y = three_classes()
    options = {"tol": 1e-4, "random_state": 0, **options}
    run = partial(fitted, pegasos.LinearSVC, X, y, **options)
    expected, found, count = in_pieces(kill, run, tmp_path / "run.ckpt", 5)
    assert count > 1
    assert found.coef_.tobytes() == expected.coef_.tobytes()
    assert found.intercept_.tobytes() == expected.intercept_.tobytes()
    assert found.stop_reason_ == expected.stop_reason_
    if "probability" in options:
        assert found.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()


def test_labels_in_pieces(kill, tmp_path):
    X, _ = three_classes()
    Y = (X[:, :4] + np.random.default_rng(1).random((150, 4)) > 0.5).astype(int)
    run = partial(fitted, pegasos.LinearSVC, X, Y, random_state=0, prune=1e-3)
    expected, found, count = in_pieces(kill, run, tmp_path / "run.ckpt", 3)
    assert count > 1
    assert found.coef_.tobytes() == expected.coef_.tobytes()


def test_what_a_validation_set_chose_is_chosen_again(kill, tmp_path):
    X, y = three_classes(400)
    options = {"random_state": 0, "solver": "dual", "tol": 1e-8, "n_iter_no_change": 7, "C": 30}

    def fit(**saving):
        model = pegasos.LinearSVC(**options, **saving)
        return model.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]))

    expected, found, count = in_pieces(kill, fit, tmp_path / "run.ckpt", 5)
    assert count > 1
    assert found.best_epoch_ == expected.best_epoch_
    assert found.stop_reason_ == expected.stop_reason_
    assert found.coef_.tobytes() == expected.coef_.tobytes()


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_cross_validation_in_pieces(multi_class, kill, tmp_path):
    X, y = three_classes()
    options = {"random_state": 0, "Cs": [0.1, 1.0, 10.0], "cv": 3, "multi_class": multi_class}
    run = partial(fitted, pegasos.LinearSVCCV, X, y, **options)
    expected, found, count = in_pieces(kill, run, tmp_path / "run.ckpt", 9)
    assert count > 1
    assert found.scores_.tobytes() == expected.scores_.tobytes()
    assert found.coef_.tobytes() == expected.coef_.tobytes()


def test_threads_in_pieces(kill, tmp_path):
    data = toy(5000, 6, 3, seed=1)
    options = {"solver": "dual", "C": 1.0, "tol": 1e-6, "seed": 3, "n_jobs": 2}
    for y in (data.Y[:, 0], data.Y):
        run = partial(pegasos.solve, data.X, y, **options)
        expected, found, _ = in_pieces(kill, run, tmp_path / f"{y.ndim}.ckpt", 9)
        assert found.w.tobytes() == expected.w.tobytes()


def test_the_c_that_was_best_so_far_is_not_taken_for_the_best(tmp_path):
    X, y = three_classes()
    options = {"random_state": 0, "Cs": [1e-4, 1e-2, 1.0], "cv": 3, "n_jobs": 1}
    expected = pegasos.LinearSVCCV(**options).fit(X, y)
    assert expected.C_ > 1e-4
    for moment in range(10, 300, 10):  # until the folds of the first C are scored
        records, folder = [], tmp_path / f"{moment}"

        def interrupt(record, records=records, moment=moment):
            records.append(record)
            return len(records) == moment

        cut = pegasos.LinearSVCCV(callbacks=[interrupt], checkpoint=folder, **options)
        with warnings.catch_warnings(), suppress(ValueError):
            warnings.simplefilter("ignore")
            cut.fit(X, y)
            break
    assert cut.C_ < expected.C_
    told = pegasos.LinearSVCCV(callbacks=[lambda _: None], **options).fit(X, y)
    found = pegasos.LinearSVCCV(resume=folder, **options).fit(X, y)
    assert found.C_ == expected.C_
    assert found.coef_.tobytes() == told.coef_.tobytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["newton", "interior", "dual"])
def test_lanes_that_a_limit_cut_off_go_on(solver, tmp_path):
    X, y = three_classes(1200)
    chunks = ArrayChunks(X, y, block_bytes=30_000)
    options = {"solver": solver, "tol": 1e-7, "random_state": 0}
    expected = pegasos.LinearSVC(**options).fit(chunks)
    short = pegasos.LinearSVC(max_iter=4, checkpoint=tmp_path / "a", **options).fit(chunks)
    assert short.stop_reason_ == "max_epochs"
    found = pegasos.LinearSVC(resume=tmp_path / "a", **options).fit(chunks)
    assert found.stop_reason_ == "converged"
    assert found.coef_.tobytes() == expected.coef_.tobytes()


def test_lanes_that_had_not_begun_come_as_if_somebody_listened(kill, tmp_path):
    data = toy(300, 6, 4, seed=1)
    options = {"C": 10.0, "solver": "dual", "tol": 1e-6, "seed": 3, "n_jobs": 1}
    listening = {"callbacks": [lambda _: None]}
    expected = pegasos.solve(data.X, data.Y, **listening, **options)
    kill(3)
    with pytest.raises(Killed):
        pegasos.solve(
            data.X, data.Y, checkpoint=tmp_path / "a", checkpoint_every=0, **listening, **options
        )
    kill(-1)
    found = pegasos.solve(data.X, data.Y, resume=tmp_path / "a", **options)
    assert found.w.tobytes() == expected.w.tobytes()
