"""Runs on a device are saved and go on; what no run on it has is refused."""

from functools import partial

import numpy as np
import pytest
import torch
from tests.sites.test_pauses import Dies, PowerCut

import pegasos
from pegasos import CheckpointError
from pegasos.run.checkpoint import container
from pegasos.run.checkpoint.container import Container
from pegasos.testing.toys import toy

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
OPTIONS = {"C": 0.5, "tol": 1e-6, "seed": 3, "device": DEVICE}
BATCHES = pegasos.Pegasos(batch_size=16, sampling="permute")


@pytest.fixture
def data():
    return toy(300, 5, 3, seed=2)


@pytest.fixture
def slices(monkeypatch):
    """The driver pauses wherever it can."""
    monkeypatch.setattr("pegasos.run.schedule.first_slice", lambda _: 1)
    monkeypatch.setattr("pegasos.run.schedule.next_slice", lambda *_: 1)


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("solver", ["newton", "interior", BATCHES])
@pytest.mark.usefixtures("slices")
def test_tensors_are_known_again(data, solver, kind, tmp_path):
    X, Y = torch.from_numpy(data.X).to(DEVICE, kind), torch.from_numpy(data.Y)
    options = {"solver": solver, "intercept": "regularized", "max_epochs": 9} | OPTIONS
    run = partial(pegasos.solve, X, Y, **options)
    expected = run()
    with pytest.raises(PowerCut):
        run(callbacks=[Dies(5)], checkpoint=tmp_path / "run", checkpoint_every=0)
    found = run(resume=tmp_path / "run")
    assert isinstance(found.duals, torch.Tensor)
    ended = run(resume=tmp_path / "run")
    for again in (found, ended):
        for name in ("w", "b", "duals"):
            assert torch.equal(getattr(again, name), getattr(expected, name))
        assert again.epochs == expected.epochs
    X[17, 3] += 1.0
    with pytest.raises(CheckpointError, match="X has other values"):
        run(resume=tmp_path / "run")


FITS = {
    "one against the rest": (pegasos.LinearSVC, {}),
    "pairs": (pegasos.LinearSVC, {"multi_class": "ovo"}),
    "probabilities": (pegasos.LinearSVC, {"probability": "sigmoid"}),
    "labels": (pegasos.LinearSVC, {"solver": "newton"}),
    "path": (pegasos.LinearSVCCV, {"Cs": np.geomspace(1e-3, 1, 30), "cv": 3}),
}


@pytest.mark.parametrize("task", FITS)
@pytest.mark.usefixtures("slices")
def test_estimators_go_on(data, task, tmp_path):
    y = (data.Y > 0).astype(int) if task == "labels" else data.X[:, :3].argmax(axis=1)
    make, options = FITS[task]
    fit = partial(make, device=DEVICE, random_state=0, tol=1e-5, **options)
    expected = fit().fit(data.X, y)
    pauses = Dies(0)
    fit(callbacks=[pauses]).fit(data.X, y)
    for moment in {2, -pauses.left // 2, -pauses.left}:
        folder = tmp_path / f"{moment}"
        dying = fit(callbacks=[Dies(moment)], checkpoint=folder, checkpoint_every=0)
        with pytest.raises(PowerCut):
            dying.fit(data.X, y)
        found = fit(resume=folder).fit(data.X, y)
        assert found.coef_.tobytes() == expected.coef_.tobytes()
        assert found.intercept_.tobytes() == expected.intercept_.tobytes()
        if task == "path":
            np.testing.assert_array_equal(found.scores_, expected.scores_)


def test_a_checkpoint_of_another_site_says_so(data, tmp_path):
    in_memory = {name: value for name, value in OPTIONS.items() if name != "device"}
    for there, here, words in (
        (OPTIONS, in_memory, "it ran on a device .*, and here rows are in memory"),
        (in_memory, OPTIONS, "it ran in memory, and here rows are on a device"),
    ):
        folder = tmp_path / f"{len(there)}"
        options = {"solver": "newton", "max_epochs": 2}
        pegasos.solve(data.X, data.Y, checkpoint=folder, **options, **there)
        with pytest.raises(CheckpointError, match=words):
            pegasos.solve(data.X, data.Y, resume=folder, **options, **here)
    model = pegasos.LinearSVC(random_state=0, checkpoint=tmp_path / "m").fit(data.X, data.Y[:, 0])
    model.set_params(checkpoint=None, resume=tmp_path / "m", device=DEVICE)
    with pytest.raises(CheckpointError, match="in memory, and here rows are on a device"):
        model.fit(data.X, data.Y[:, 0])


def _one_row_less(arrays):
    arrays["state/there/slack"] = arrays["state/there/slack"][:-1]


def _no_directions(arrays):
    del arrays["state/there/now"]


def _more(arrays):
    arrays["state/there/later"] = np.zeros(3)


def _float32(arrays):
    arrays["state/there/values"] = arrays["state/there/values"].astype(np.float32)


def _no_duals(arrays):
    arrays["memory/duals"][0, 3] = 1.5


def _endless_duals(arrays):
    arrays["memory/duals"][0, 3] = np.inf


def _below_the_box(arrays):
    arrays["state/there/values"][0, 0, 3] = -1e-300


def _no_number(arrays):
    arrays["state/there/values"][0, 0, 3] = np.nan


def _no_precision(arrays):
    arrays["state/there/numbers"][0] = 17


def _endless_numbers(arrays):
    arrays["state/there/numbers"][5] = np.inf


def _no_kind(arrays):
    arrays["state/there/numbers"][0] = 2


def _rows_beyond(arrays):
    arrays["state/there/some"] = np.array([3, 300])


def _rows_twice(arrays):
    arrays["state/there/some"] = np.array([3, 3])


def _nowhere(arrays):
    arrays["state/there/look"] = np.zeros(3)


def _no_chance(arrays):
    arrays["state/there/random"] = arrays["state/there/random"][:7]


def _erred_unseen(arrays):
    arrays["state/there/errors"][0, 3] = arrays["state/there/draws"][3] + 1


def _no_order(arrays):
    arrays["state/there/order"][:] = 300


@pytest.mark.parametrize(
    ("solver", "forge", "words"),
    [
        ("newton", _one_row_less, r"slack has .* shape \(299,\), not .* \(300,\)"),
        ("newton", _endless_numbers, "not finite"),
        ("newton", _no_kind, "not of their kind"),
        ("newton", _rows_beyond, "no rows in order"),
        ("newton", _rows_twice, "no rows in order"),
        ("newton", _nowhere, "look was nowhere"),
        ("newton", _no_duals, "not feasible"),
        ("interior", _no_directions, "has .*, not .*'now'"),
        ("interior", _more, "has .*'later'"),
        ("interior", _float32, "values has the type torch.float32"),
        ("interior", _below_the_box, "below 0"),
        ("interior", _no_number, "below 0"),
        ("interior", _no_precision, "no such precision"),
        ("interior", _no_chance, "random has"),
        ("interior", _endless_duals, "not feasible"),
        (BATCHES, _erred_unseen, "erred that were not drawn"),
        (BATCHES, _no_order, "order is none"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_states_that_no_run_has(data, tmp_path, solver, forge, words):
    """With the right checksums: what would crash, or prove nothing."""
    options = OPTIONS | {"solver": solver, "max_epochs": 2, "C": None, "lam": 0.01}
    pegasos.solve(data.X, data.Y[:, 0], checkpoint=tmp_path / "a", **options)
    path = tmp_path / "a" / "running-solve"
    held = Container(path)
    about, arrays = held.about, held.arrays()
    forge(arrays)
    container.write(path, about, arrays)
    with pytest.raises(CheckpointError, match=f"makes no sense .*{words}"):
        pegasos.solve(data.X, data.Y[:, 0], resume=tmp_path / "a", **options)
