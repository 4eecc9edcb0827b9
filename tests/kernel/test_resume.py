"""Fits with kernels that were ended at any moment go on to the same bits, on one thread."""

import signal
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from tests.checkpoint.killed import Killed, killing

import pegasos
from pegasos import CheckpointError
from pegasos.kernel.hand import Hand
from pegasos.run.checkpoint import container
from pegasos.run.checkpoint.container import Container
from pegasos.run.interrupt import Interruption

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def kill(monkeypatch):
    return killing(monkeypatch)


def data(n=400, d=6, classes=2, seed=0):
    X, y = make_classification(
        n, d, n_informative=4, n_classes=classes, flip_y=0.1, random_state=seed
    )
    return X, y


def fit(X, y, **options):
    return pegasos.SVC(random_state=0, n_jobs=1, **options).fit(X, y)


def in_pieces(kill, X, y, folder, saves, **options):
    """The fit that is ended after so many writes or less, again and again; how often it was."""
    rng, count, saving = np.random.default_rng(0), 0, {"checkpoint": folder, "resume": folder}
    while True:
        kill(int(rng.integers(2, saves + 1)))
        try:
            return fit(X, y, checkpoint_every=0, **saving, **options), count
        except Killed:
            count += 1


def assert_same(found, expected):
    for name in ("support_", "dual_coef_", "intercept_", "n_iter_"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    for bound in ("primal", "dual", "rounding"):
        one, other = (getattr(m.certificate_, bound) for m in (found, expected))
        assert np.array_equal(one, other), bound
    assert found.stop_reason_ == expected.stop_reason_


KINDS = {
    "rbf": {},
    "tight": {"tol": 1e-8, "C": 10.0},
    "regularized": {"intercept": "regularized", "kernel": "poly", "degree": 2, "coef0": 1.0},
    "none": {"intercept": "none", "C": 5.0},
    "pairs": {"classes": 3},
    "pairs, small cache": {"classes": 4, "cache_size": 0.05, "tol": 1e-5},
    "pairs, regularized": {"classes": 3, "intercept": "regularized"},
    "ovr": {"classes": 3, "multi_class": "ovr"},
    "pegasos": {"solver": "pegasos", "C": 0.1, "tol": 0.1},
    "pegasos, pairs": {"solver": pegasos.KernelPegasos(batch_size=8), "classes": 3, "C": 0.1,
                       "tol": 0.1},
    "probability": {"probability": "sigmoid"},
    "approximation": {"approximation": "nystroem", "n_components": 20, "probability": "sigmoid"},
}  # fmt: skip


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_fits_in_pieces_give_the_same_bits(options, kill, tmp_path):
    options = {"tol": 1e-4, **options}
    X, y = data(classes=options.pop("classes", 2))
    expected = fit(X, y, **options)
    found, count = in_pieces(kill, X, y, tmp_path / "a", 6, **options)
    assert count > 0
    if "approximation" in options:
        assert found.coef_.tobytes() == expected.coef_.tobytes()
    else:
        assert_same(found, expected)
    if "probability" in options:
        assert found.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()


@pytest.mark.parametrize("make", [sparse.csr_matrix, np.float32, "precomputed"])
def test_any_rows_in_pieces(make, kill, tmp_path):
    X, y = data(300)
    options = {"tol": 1e-6}
    if make == "precomputed":
        X, options["kernel"] = rbf_kernel(X, gamma=0.2), make
    else:
        X = make(X)
    expected = fit(X, y, **options)
    found, count = in_pieces(kill, X, y, tmp_path / "a", 9, **options)
    assert count > 0
    assert_same(found, expected)


def test_rows_that_were_left_out_and_rows_that_were_replaced_are_known(kill, tmp_path):
    X, y = data(6000)
    options = {"C": 10.0, "tol": 1e-5, "cache_size": 20}
    narrowed, plain = [], Hand.narrow

    def narrow(self, keep):
        narrowed.append(keep.size)
        plain(self, keep)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hand, "narrow", narrow)
        expected = fit(X, y, **options)
    assert len(narrowed) > 1  # cached rows are cut more than once
    found, count = in_pieces(kill, X, y, tmp_path / "a", 40, **options)
    assert count > 2
    assert_same(found, expected)


@pytest.mark.parametrize("solver", ["dual", "pegasos"])
def test_max_time_ends_a_fit_that_goes_on(solver, tmp_path):
    X, y = data(1500)
    options = {"solver": solver, "C": 0.1, "tol": 1e-3 if solver == "dual" else 0.1}
    expected = fit(X, y, **options)
    short = fit(X, y, max_time=1e-6, checkpoint=tmp_path / "a", **options)
    assert short.stop_reason_ == "max_time"
    assert_same(fit(X, y, resume=tmp_path / "a", **options), expected)


def test_a_limit_on_steps_can_be_raised_afterwards(tmp_path):
    X, y = data(1500)
    expected = fit(X, y, tol=1e-6)
    short = fit(X, y, tol=1e-6, max_iter=500, checkpoint=tmp_path / "a")
    assert short.stop_reason_ == "max_steps"
    assert short.certificate_.dual > 0
    assert_same(fit(X, y, tol=1e-6, resume=tmp_path / "a"), expected)


@pytest.mark.parametrize("moment", [1, 7, 15])
@pytest.mark.parametrize("classes", [2, 3])
def test_ctrl_c_leaves_a_certified_model_and_a_checkpoint(moment, classes, monkeypatch, tmp_path):
    Interruption.forget()
    X, y = data(900, classes=classes)
    expected, taken, plain = fit(X, y, tol=1e-6), [], Hand.step

    def step(self, steps):
        taken.append(steps)
        if len(taken) == moment:
            signal.raise_signal(signal.SIGINT)
        return plain(self, steps)

    with monkeypatch.context() as pressed:
        pressed.setattr(Hand, "step", step)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            short = fit(X, y, tol=1e-6, checkpoint=tmp_path / "a")
    assert np.isfinite(short.certificate_.primal).all()
    assert short.certificate_.primal.max() <= 1.0
    assert_same(fit(X, y, tol=1e-6, resume=tmp_path / "a"), expected)


def test_ctrl_c_while_a_certificate_is_made_loses_nothing(monkeypatch, tmp_path):
    Interruption.forget()
    X, y = data(900)
    expected, plain = fit(X, y), pegasos.kernel.points.Points.times

    def times(self, coef, give_up=lambda: False):
        signal.raise_signal(signal.SIGINT)
        assert not give_up()
        time.sleep(0.4)  # more than it may take from there
        return plain(self, coef, give_up)

    with monkeypatch.context() as pressed:
        pressed.setattr("pegasos.kernel.points.Points.times", times)
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            short = fit(X, y, checkpoint=tmp_path / "a")
    assert short.certificate_.dual == 0
    assert_same(fit(X, y, resume=tmp_path / "a"), expected)


def test_a_finished_fit_is_not_trained_again(monkeypatch, tmp_path):
    X, y = data(classes=3)
    first = fit(X, y, checkpoint=tmp_path / "a")
    monkeypatch.setattr(Hand, "step", None)
    assert_same(fit(X, y, resume=tmp_path / "a"), first)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"C": 2.0}, "C was 1.0, and is 2.0 here"),
        ({"gamma": 0.3}, "gamma was scale, and is 0.3 here"),
        ({"kernel": "linear"}, "kernel was rbf, and is linear here"),
        ({"solver": "pegasos"}, "solver was auto, and is pegasos here"),
        ({"tol": 1e-2}, "tol was 0.001, and is 0.01 here"),
        ({"cache_size": 10}, "cache_size was 1000, and is 10 here"),
        ({"class_weight": "balanced"}, "class_weight was None, and is balanced here"),
        ({"X": 2.0}, "X has other values"),
        ({"y": 1}, "y has other values"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(changed, words, tmp_path):
    X, y = data(200)
    fit(X, y, max_iter=10, checkpoint=tmp_path / "a")
    X, y = X * changed.pop("X", 1.0), np.roll(y, changed.pop("y", 0))
    with pytest.raises(CheckpointError, match=words):
        fit(X, y, resume=tmp_path / "a", **changed)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("a", lambda a: a - 1, "duals are not feasible"),
        ("a", lambda a: a[:-1], "a has the type"),
        ("owner", lambda a: a * 0 + 5, "two places"),
        ("owner", lambda a: a * 0 + 5000, "owner has rows that there are not"),
        ("batches", lambda a: a * 0 + 5000, "batches has rows that there are not"),
        ("batches", lambda a: a * 0 + 3, "a batch is none"),
        ("depths", lambda a: a + 3, "depths are too large"),
        ("used", lambda a: a + 10**6, "a clock is late"),
        ("level", lambda a: a + 2, "a level is empty"),
        ("slack", lambda a: a * np.nan, "slack is not finite"),
        ("plan", lambda a: a - 10**6, "plan is out of range"),
        ("cursor", lambda a: a + np.arange(2), "its visits are no steps"),
        ("asked", lambda a: a + 9, "it asks for nothing"),
        ("numbers", lambda a: a * 0, "its numbers are none"),
    ],
)
def test_states_that_are_none_are_refused(name, change, words, tmp_path):
    X, y = data(900)
    fit(X, y, max_iter=10, checkpoint=tmp_path / "a")
    change_array(tmp_path / "a" / "running-fit", name, change)
    with pytest.raises(CheckpointError, match=words):
        fit(X, y, resume=tmp_path / "a")


def test_an_order_of_rows_that_no_pairs_share_is_refused(tmp_path):
    X, y = data(200)
    fit(X, y, max_iter=10, checkpoint=tmp_path / "a")
    path = tmp_path / "a" / "running-fit"
    opened = Container(path)
    arrays = opened.arrays() | {"memory/first": np.zeros(3, dtype=np.int64)}
    container.write(path, opened.about, arrays)
    with pytest.raises(CheckpointError, match="rows of K are not shared"):
        fit(X, y, resume=tmp_path / "a")


def test_counts_that_are_none_are_refused(tmp_path):
    X, y = data(300)
    options = {"solver": "pegasos", "tol": 0.01}
    fit(X, y, max_iter=600, checkpoint=tmp_path / "a", **options)
    change_array(tmp_path / "a" / "running-fit", "draws", lambda a: a + 1)
    with pytest.raises(CheckpointError, match="its counts do not agree"):
        fit(X, y, resume=tmp_path / "a", **options)


def change_array(path, name, change):
    """Forge a file: its checksums are right."""
    opened = Container(path)
    arrays = opened.arrays()
    before = arrays[f"state/{name}"]
    arrays[f"state/{name}"] = np.ascontiguousarray(change(before)).astype(before.dtype)
    container.write(path, opened.about, arrays)


def test_without_random_state_the_seed_is_kept(tmp_path):
    X, y = data(300)
    options = {"solver": "pegasos", "tol": 0.1, "C": 0.1, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pegasos.SVC(max_iter=300, checkpoint=tmp_path / "a", **options).fit(X, y)
    found = [
        pegasos.SVC(resume=tmp_path / "a", checkpoint=tmp_path / f"{k}", **options).fit(X, y)
        for k in range(2)
    ]
    assert_same(*found)
