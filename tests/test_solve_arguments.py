"""What pegasos.solve and pegasos.certify are given arrives, and its limits are where it says."""

import importlib
import warnings

import numpy as np
import pytest
from tests.common.pieces import Uneven
from tests.common.toys import toy

import pegasos
from pegasos.data.chunks import ArrayChunks
from pegasos.losses import SquaredHinge
from pegasos.problem import make_problem
from pegasos.run.checkpoint import CheckpointError, manifest
from pegasos.sites.chunk_rows import ChunkRows

solving = importlib.import_module("pegasos.solve")  # the name in the package is the function
DATA = toy(60, 5, seed=1)
X, Y, WEIGHT = DATA.X, DATA.Y[:, 0], DATA.weight


def optimum(labels, weight=None, **options):
    options = {"lam": 0.1, "intercept": "none", "tol": 1e-9, "seed": 0} | options
    return pegasos.solve(X, labels, sample_weight=weight, **options)


@pytest.mark.parametrize(
    "chunks",
    [
        lambda: ArrayChunks(X, Y, WEIGHT),
        lambda: Uneven(X, Y, WEIGHT, ends=(0, 7, 60)),
        lambda: ChunkRows(Uneven(X, Y, WEIGHT, ends=(0, 7, 60)), 1),
    ],
    ids=["at once", "by blocks", "read before"],
)
def test_chunks_bring_labels_and_weights_unless_they_are_given(chunks):
    options = {"lam": 0.1, "intercept": "none", "tol": 1e-9, "seed": 0}
    own = pegasos.solve(chunks(), **options)
    assert own.certificate.primal == pytest.approx(optimum(Y, WEIGHT).certificate.primal, rel=1e-8)
    other = np.roll(Y, 1)
    given = pegasos.solve(chunks(), other, sample_weight=WEIGHT[::-1], **options)
    expected = optimum(other, WEIGHT[::-1])
    assert given.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-8)


def test_rows_without_labels_are_refused():
    with pytest.raises(ValueError, match="y is missing"):
        pegasos.solve(X, C=1.0)


def test_chunks_are_read_by_as_many_threads_as_asked_for(monkeypatch):
    asked = []

    class Counted(ChunkRows):
        def __init__(self, chunks, n_jobs):
            asked.append(n_jobs)
            super().__init__(chunks, n_jobs)

    monkeypatch.setattr("pegasos.sites.chunk_rows.ChunkRows", Counted)
    pegasos.solve(Uneven(X, Y, ends=(0, 7, 60)), C=1.0, n_jobs=2, seed=0)
    pegasos.solve(ArrayChunks(X, Y), C=1.0, n_jobs=2, seed=0)  # in memory: no blocks are made
    assert asked == [2]


PARAMETERS = {"lam": 0.1, "loss": "hinge", "intercept": "regularized", "intercept_scaling": 2.0,
              "tol": 0.0, "seed": 3, "record_every": 0.5, "solver": "dual"}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("lam", 0.2), ("C", 0.2), ("solver", "newton"), ("solver", "auto"), ("n_jobs", 2),
     ("loss", "squared_hinge"), ("intercept", "none"), ("intercept_scaling", 3.0), ("tol", 1e-3),
     ("seed", 4), ("record_every", 1.0), ("X", X + 1), ("y", -Y), ("sample_weight", WEIGHT)],
)  # fmt: skip
def test_another_run_is_not_resumed(tmp_path, name, value):
    options = {"X": X, "y": Y, "n_jobs": 1} | PARAMETERS
    if name == "C":
        options["C"] = options.pop("lam")
    pegasos.solve(**options, max_epochs=2, checkpoint=tmp_path / "run")
    if name == "intercept":
        del options["intercept_scaling"]
    with pytest.raises(CheckpointError, match=rf"another run: (.*\W)?{name}\W"):
        pegasos.solve(**options | {name: value}, resume=tmp_path / "run")


@pytest.mark.parametrize("seed", [None, 3])
def test_a_resumed_run_ends_as_if_nothing_had_happened(tmp_path, seed):
    options = {"C": 1.0, "solver": "sgds", "tol": 0.0, "seed": seed, "record_every": 1.0}
    seen = []
    first = pegasos.solve(
        X, Y, max_epochs=2, checkpoint=tmp_path / "run", callbacks=[seen.append], **options
    )
    assert [record.epoch for record in seen] == [1.0, 2.0]
    seen.clear()
    last = pegasos.solve(
        X, Y, max_epochs=5, resume=tmp_path / "run", callbacks=[seen.append], **options
    )
    assert [record.epoch for record in seen if record.epoch != 2.0] == [3.0, 4.0, 5.0]
    assert last.history["epoch"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert last.history["primal"][:2].tolist() == first.history["primal"].tolist()
    if seed is not None:
        whole = pegasos.solve(X, Y, max_epochs=5, **options)
        assert last.w.tobytes() == whole.w.tobytes()


def test_checkpoint_every_is_seconds_and_needs_a_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="checkpoint_every must be seconds"):
        pegasos.solve(X, Y, C=1.0, checkpoint=tmp_path / "run", checkpoint_every=-1.0)
    with pytest.raises(ValueError, match="checkpoint_every is for a checkpoint"):
        pegasos.solve(X, Y, C=1.0, checkpoint_every=1.0)


def test_no_seed_draws_one():
    runs = [pegasos.solve(X, Y, C=1.0, solver="sgds", tol=0, max_epochs=2) for _ in range(2)]
    assert runs[0].w.tobytes() != runs[1].w.tobytes()
    drawn = {solving._seed(None) for _ in range(20)}
    assert len(drawn) == 20
    assert 2**32 < max(drawn) < 2**64


def test_threads_asked_for_reach_the_problem(monkeypatch):
    asked = []

    def spy(*arrays, **options):
        asked.append(options["n_jobs"])
        assert arrays[1].dtype == np.int8  # a byte for each
        return make_problem(*arrays, **options)

    monkeypatch.setattr(solving, "make_problem", spy)
    pegasos.solve(X, Y, C=1.0, n_jobs=2, seed=0)
    pegasos.solve(X, Y[:, None].astype(float), C=1.0, n_jobs=2, seed=0)
    assert asked == [2, 2]


def test_the_squared_hinge_is_solved_and_certified_as_such():
    options = {"C": 0.3, "intercept": "none", "loss": "squared_hinge"}
    result = pegasos.solve(X, Y, tol=1e-6, seed=0, **options)
    again = pegasos.certify(X, Y, result.w, duals=result.duals, **options)
    assert again.primal == pytest.approx(result.certificate.primal, rel=1e-12)
    losses = np.maximum(0, 1 - Y * (X @ result.w)) ** 2
    # The gradient w / C - 2 sum l y x is 0 at the optimum.
    gradient = result.w / 0.3 - 2 * (np.sqrt(losses) * Y) @ X
    assert np.linalg.norm(gradient) < 1e-2 * np.linalg.norm(result.w / 0.3)


def test_records_of_one_problem_are_numbers():
    seen = []
    pegasos.solve(X, Y, C=1.0, seed=0, callbacks=[seen.append])
    assert np.ndim(seen[0].certificate.primal) == np.ndim(seen[0].gap) == 0
    seen.clear()
    pegasos.solve(X, Y[:, None], C=1.0, seed=0, callbacks=[seen.append])
    assert np.shape(seen[0].certificate.primal) == (1,)


@pytest.mark.parametrize("seed", [0, 2**64 - 1, 3.0])
def test_seeds_are_whole_numbers_of_64_bits(seed):
    pegasos.solve(X, Y, C=1.0, seed=seed)
    for wrong in (2**64, 1.5):
        with pytest.raises(ValueError, match="seed must be a whole number"):
            pegasos.solve(X, Y, C=1.0, seed=wrong)


@pytest.mark.parametrize("name", ["tol", "record_every"])
def test_infinity_is_no_number_of_epochs_and_no_tolerance(name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        pegasos.solve(X, Y, C=1.0, **{name: np.inf})


@pytest.mark.parametrize(
    ("solver", "scaling", "mode"),
    [("auto", 1.0, "free"), ("dual", 1.0, "free"), ("sgds", 1.0, "regularized"),
     ("auto", 2.0, "regularized"), ("dual", 2.0, "regularized"), ("sgds", 2.0, "regularized")],
)  # fmt: skip
def test_the_intercept_follows_the_solver_and_the_scaling(solver, scaling, mode):
    options = {"C": 1.0, "solver": solver, "intercept_scaling": scaling, "tol": 1e-2, "seed": 0}
    expected = pegasos.solve(X, Y, intercept=mode, **options)
    assert pegasos.solve(X, Y, **options).w.tobytes() == expected.w.tobytes()
    assert pegasos.solve(X, Y, intercept="none", **options | {"intercept_scaling": 1.0}).b == 0


def test_losses_that_a_solver_does_not_train_are_refused():
    with pytest.raises(ValueError, match="solver 'sgds' trains the hinge loss only"):
        pegasos.solve(X, Y, C=1.0, solver="sgds", loss="squared_hinge")


def test_a_thousandth_is_close_enough_unless_told_otherwise():
    gaps = []
    options = {"C": 1.0, "solver": "sgds", "seed": 0, "record_every": 1.0, "max_epochs": 10_000}
    result = pegasos.solve(X, Y, callbacks=[lambda r: gaps.append(r.relative_gap)], **options)
    assert result.stop_reason == "converged"
    assert gaps[-1] <= 1e-3 < min(gaps[:-1])


def test_arrays_on_a_device_are_trained_on_there(monkeypatch):
    class Array(np.ndarray):
        def __dlpack_device__(self):
            return 2, 0  # the first CUDA device

    asked = []
    monkeypatch.setattr(solving, "gpu_part", lambda name: asked.append(name) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pegasos.solve(X.view(Array), Y, C=1.0)
    assert asked == ["solving"]


def test_a_run_without_limits_takes_as_many_epochs_as_its_solver_says():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pegasos.solve(X[:5], [1, -1, 1, 1, -1], C=1.0, solver="sgds", tol=0.0, seed=0)
    assert result.stop_reason == "max_epochs"
    assert result.epochs == pegasos.SGDS().default_epochs


@pytest.mark.parametrize("strength", [{"lam": 0.1, "C": None}, {"lam": None, "C": 0.1}], ids=str)
def test_a_device_is_told_all_that_was_asked_for(monkeypatch, tmp_path, strength):
    told = {}
    problem, outcome = object(), object()

    class Device:
        @staticmethod
        def problem_on_device(*arrays, **options):
            told.update(options, arrays=arrays)
            return problem, True

        @staticmethod
        def returned(*given):
            assert given == (X, problem, "trained")
            return outcome

    class Plain:
        @staticmethod
        def of(found, *, single):
            return found, single

    def part(name):
        assert name == "solving"
        return Device

    def trained(*given):
        assert given[0] is problem
        told.update(solver=given[2], options=given[3])
        return "trained"

    monkeypatch.setattr(solving, "run_any", trained)
    monkeypatch.setattr(solving, "gpu_part", part)
    monkeypatch.setattr(solving, "Result", Plain)
    options = {"loss": SquaredHinge(), "intercept": "regularized", "intercept_scaling": 2.0,
               "tol": 0.5, "seed": 7, "record_every": 2.0} | strength  # fmt: skip
    found = pegasos.solve(
        X, Y, sample_weight=WEIGHT, device="cuda", solver="newton", max_epochs=3,
        callbacks=[print], **options,
    )  # fmt: skip
    assert found == (outcome, True)
    assert all(a is b for a, b in zip(told.pop("arrays"), (X, Y, WEIGHT, "cuda"), strict=True))
    assert told.pop("solver").name == "newton"
    run = vars(told.pop("options"))
    assert run["limits"].max_epochs == 3
    assert list(run["callbacks"]) == [print]
    assert run["began"] > 0
    assert told.items() <= options.items()
    assert {name: run[name] for name in options.keys() - told.keys()} == {
        "tol": 0.5, "seed": 7, "record_every": 2.0,
    }  # fmt: skip
    pegasos.solve(X, Y, C=1.0, device="cuda", checkpoint=tmp_path / "run")
    assert told["options"].part is not None
    assert manifest.read(tmp_path / "run")["parameters"]["device"] == "cuda"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("mode", ["none", "regularized", "free"])
def test_without_duals_a_certificate_is_the_objective_and_no_bound(loss, mode):
    rng = np.random.default_rng(0)
    w, b, scaling = rng.normal(size=5), 0.7, 1.0
    if mode == "regularized":
        scaling = 2.0
    b = 0.0 if mode == "none" else b
    proof = pegasos.certify(
        X, Y, w, b, lam=0.1, loss=loss, intercept=mode, intercept_scaling=scaling,
        sample_weight=WEIGHT, positive=3.0, negative=0.5,
    )  # fmt: skip
    cost = WEIGHT * np.where(Y > 0, 3.0, 0.5)
    margins = np.maximum(0, 1 - Y * (X @ w + b))
    losses = margins if loss == "hinge" else margins**2
    penalty = w @ w + (b / scaling) ** 2 if mode == "regularized" else w @ w
    # lam is of the mean over weights, which those of classes do not change.
    at_b = 0.1 / 2 * penalty + cost @ losses / WEIGHT.sum()
    if mode == "free":
        assert proof.primal <= at_b
    else:
        assert proof.primal == pytest.approx(at_b, rel=1e-12)
    assert proof.dual == 0
    assert proof.relative_gap == np.inf
    assert 0 < proof.rounding < 1e-12 * proof.primal


def test_what_is_no_number_is_named():
    for name, options in (("w", {"w": "a"}), ("b", {"b": "a"}), ("duals", {"duals": ["a"] * 60})):
        with pytest.raises(TypeError, match=f"^{name} "):
            pegasos.certify(X, Y, **{"w": np.zeros(5), "C": 1.0, **options})


def test_models_are_certified_one_and_many():
    many = toy(40, 4, 3, seed=2)
    W = np.random.default_rng(1).normal(size=(3, 4))
    duals = np.random.default_rng(2).uniform(0, 1, size=(40, 3))
    proofs = pegasos.certify(many.X, many.Y, W, 0.0, duals, C=1.0)
    assert np.shape(proofs.primal) == (3,)
    for k in range(3):
        alone = pegasos.certify(many.X, many.Y[:, k], W[k], [0.0], duals[:, k], C=1.0)
        assert np.ndim(alone.primal) == 0
        assert alone.primal == pytest.approx(proofs.primal[k], rel=1e-12)
        assert alone.dual == pytest.approx(proofs.dual[k], rel=1e-12)
    with pytest.raises(ValueError, match=r"w must be \(4,\) or \(3, 4\), got shape \(3, 5\)"):
        pegasos.certify(many.X, many.Y, np.zeros((3, 5)), C=1.0)
    with pytest.raises(ValueError, match=r"b must be a number or \(3,\), got shape \(2,\)"):
        pegasos.certify(many.X, many.Y, W, np.zeros(2), C=1.0, intercept="free")
    with pytest.raises(ValueError, match="b must be 0 with intercept='none'"):
        pegasos.certify(many.X, many.Y, W, [0.0, 0.0, 1.0], C=1.0)
    with pytest.raises(ValueError, match="b contains NaN"):
        pegasos.certify(many.X, many.Y, W, np.nan, C=1.0, intercept="free")
    with pytest.raises(ValueError, match="would ignore intercept_scaling"):
        pegasos.certify(many.X, many.Y, W, C=1.0, intercept_scaling=2.0)


def test_the_box_has_its_edges():
    duals = np.zeros(60)
    duals[3] = 1.0
    pegasos.certify(X, Y, np.zeros(5), duals=duals, C=1.0)
    for wrong in (np.nextafter(1.0, 2.0), -1e-300, np.nan):
        duals[3] = wrong
        with pytest.raises(ValueError, match="duals leave the box at row 3"):
            pegasos.certify(X, Y, np.zeros(5), duals=duals, C=1.0)
