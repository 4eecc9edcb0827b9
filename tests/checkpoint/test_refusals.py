"""What is no checkpoint, damaged, or that of another run is refused, with what is wrong."""

import shutil

import numpy as np
import pytest
from scipy import sparse
from tests.common.runs import OPTIONS, X, Y
from tests.common.toys import toy

import pegasos
from pegasos import CheckpointError, _core
from pegasos.data.chunks import ArrayChunks
from pegasos.run.checkpoint import container
from pegasos.run.checkpoint.container import Container
from pegasos.sites.memory import Memory
from pegasos.solvers import interior_phases, newton_phases


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"C": 1.0}, r"C was 10.0, and is 1.0 here"),
        ({"C": None, "lam": 0.1}, r"lam was None, and is 0.1 here"),
        ({"tol": 1e-3}, r"tol was 1e-09, and is 0.001 here"),
        ({"seed": 4}, "seed was 3, and is 4 here"),
        ({"solver": "sgds"}, "solver was DualCoordinate.*is SGDS"),
        (
            {"solver": pegasos.DualCoordinate(shrink=False)},
            "solver was .*shrink=True.*shrink=False",
        ),
        ({"intercept": "none"}, "intercept was free, and is none here"),
        ({"loss": "squared_hinge"}, "loss was hinge, and is squared_hinge here"),
        ({"n_jobs": 2}, "n_jobs was None, and is 2 here"),
        ({"record_every": 2}, "record_every was None, and is 2 here"),
        ({"sample_weight": np.full(200, 2.0)}, "sample_weight has other values"),
        ({"C": 1.0, "tol": 0.1}, "C was.*; tol was"),
    ],
)
def test_other_parameters(begun, changed, words):
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    with pytest.raises(CheckpointError, match=f"another run: .*{words}"):
        pegasos.solve(X, Y, resume=begun, **OPTIONS | changed)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before


def test_other_data(begun):
    other = X.copy()
    other[17, 3] += 1e-12
    for data, words in (
        ((other, Y), "X has other values"),
        ((X[:, ::-1], Y), "X has other values"),
        ((X, -Y), "y has other values"),
        ((X[:199], Y[:199]), "rows was 200, and is 199 here"),
        ((np.hstack([X, X]), Y), "features was 6, and is 12 here"),
    ):
        with pytest.raises(CheckpointError, match=words):
            pegasos.solve(*data, resume=begun, **OPTIONS)


def test_other_chunks(tmp_path):
    chunks, options = ArrayChunks(X, Y), OPTIONS | {"tol": 1e-3}
    pegasos.solve(chunks, max_epochs=2, checkpoint=tmp_path / "a", **options)
    other = X.copy()
    other[5] = 0
    with pytest.raises(CheckpointError, match="X has other values"):
        pegasos.solve(ArrayChunks(other, Y), resume=tmp_path / "a", **options)
    assert pegasos.solve(chunks, resume=tmp_path / "a", **options).stop_reason == "converged"


def test_other_options_of_an_estimator(tmp_path):
    def model(**options):
        return pegasos.LinearSVC(**{"random_state": 0, "tol": 1e-9, **options})

    with pytest.warns(match="max_epochs"):
        model(checkpoint=tmp_path / "a", solver="dual", max_iter=1).fit(X, Y)
    for options, words in (
        ({"class_weight": "balanced"}, "class_weight was None, and is balanced"),
        ({"multi_class": "ovo"}, "multi_class was ovr, and is ovo"),
        ({"random_state": 1}, "seed was"),
    ):
        with pytest.raises(CheckpointError, match=words):
            model(resume=tmp_path / "a", solver="dual", **options).fit(X, Y)
    # Limits, and what is shown on the way, may differ.
    model(resume=tmp_path / "a", solver="dual", callbacks=[print], max_time=60).fit(X, Y)


def test_another_version_of_the_package(begun, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.9.9")
    with pytest.raises(CheckpointError, match=r"pegasos 0\.1\.0 wrote it, this is 9\.9\.9"):
        pegasos.solve(X, Y, resume=begun, **OPTIONS)


def test_other_kernels_are_told(begun, monkeypatch):
    monkeypatch.setattr("pegasos._core.instruction_set", lambda: "another")
    with pytest.warns(UserWarning, match="not the same to the last bit"):
        pegasos.solve(X, Y, resume=begun, **OPTIONS)


def test_every_bit_counts(begun, tmp_path):
    """Flip one bit at a time, all over both files; and cut them off."""
    rng = np.random.default_rng(0)
    for name in ("manifest.json", "running-solve"):
        data = (begun / name).read_bytes()
        places = {0, 7, 8, 15, 16, 19, 20, len(data) - 1, *rng.integers(0, len(data), 150).tolist()}
        mutants = [
            data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
            for at in places
        ]
        mutants += [data[:at] for at in rng.integers(0, len(data), 50)] + [data + b"\0", b""]
        for mutant in mutants:
            copy = tmp_path / "copy"
            shutil.copytree(begun, copy)
            (copy / name).write_bytes(mutant)
            with pytest.raises(CheckpointError):
                pegasos.solve(X, Y, resume=copy, **OPTIONS)
            shutil.rmtree(copy)


def test_headers_that_make_no_sense(tmp_path):
    """With the right checksums: what an array is said to be does not decide what is allocated."""
    import json
    import zlib

    def file(header):
        text = json.dumps(header).encode()
        start = container._START.pack(container._MAGIC, len(text), zlib.crc32(text))
        (tmp_path / "x").write_bytes(start + text)
        return tmp_path / "x"

    for entry in (
        ["a", "<f8", [1 << 60], "C", 0],
        ["a", "<f8", [-1], "C", 0],
        ["a", "|O8", [0], "C", 0],
        ["a", "<f8", [0.5], "C", 0],
        ["a", "<f8", 3, "C", 0],
        ["a", "<f8", [0], "Q", 0],
        ["a"],
        7,
    ):
        with pytest.raises(CheckpointError, match="makes no sense"):
            Container(file({"about": {}, "arrays": [entry]}))
    for header in ({"about": 3, "arrays": []}, {}, [], {"about": {}, "arrays": 3}):
        with pytest.raises(CheckpointError, match="makes no sense"):
            Container(file(header))
    newer = bytearray((tmp_path / "x").read_bytes())
    newer[7] = 2
    (tmp_path / "x").write_bytes(newer)
    with pytest.raises(CheckpointError, match="format version 2"):
        Container(tmp_path / "x")


def test_other_blocks(tmp_path):
    options, data = OPTIONS | {"tol": 1e-3}, toy(600, 6, seed=1)
    X, Y = data.X, data.Y[:, 0]
    small, large = (ArrayChunks(X, Y, block_bytes=size) for size in (100, 14_000))
    pegasos.solve(small, max_epochs=2, checkpoint=tmp_path / "a", **options)
    for rows in ((large,), (X, Y)):
        with pytest.raises(CheckpointError, match="read by other blocks, or at once") as refused:
            pegasos.solve(*rows, resume=tmp_path / "a", **options)
        assert "X has other values" not in str(refused.value)


@pytest.mark.parametrize(
    "make", [list, sparse.coo_matrix, sparse.lil_matrix, sparse.csc_matrix, np.asfortranarray],
)  # fmt: skip
def test_rows_in_any_form(make, tmp_path):
    rows = make(X)
    options = OPTIONS | {"n_jobs": np.int64(1)}
    pegasos.solve(rows, Y, max_epochs=3, checkpoint=tmp_path / "a", **options)
    found = pegasos.solve(rows, Y, resume=tmp_path / "a", **options)
    assert found.w.tobytes() == pegasos.solve(rows, Y, **options).w.tobytes()


def test_weights_of_classes_are_compared_by_what_they_say(tmp_path):
    options = {"solver": "dual", "tol": 1e-9, "random_state": 0}
    with pytest.warns(match="max_epochs"):
        pegasos.LinearSVC(
            class_weight={-1: 1, 1: 2.0}, max_iter=1, checkpoint=tmp_path / "a", **options
        ).fit(X, Y)
    same = {np.int64(1): 2, -1: np.float64(1.0)}
    pegasos.LinearSVC(class_weight=same, resume=tmp_path / "a", **options).fit(X, Y)


def _no_more_solvers(about, _):
    about["changes"] = 1


def _empty_list(_, arrays):
    cursor = arrays["state/cursor"]
    cursor[0, _core.GROUP_CURSOR.index("active")] = 0
    cursor[0, _core.GROUP_CURSOR.index("parts")] = 0
    cursor[0, _core.GROUP_CURSOR.index("recall")] = 0


def _no_duals(_, arrays):
    arrays["duals"][3] = 2


def _hardly_duals(_, arrays):
    arrays["state/duals"][3] = 1 + 1e-15


def _endless_search(_, arrays):
    arrays["state/search"][newton_phases.TRIES] = -1e100


def _endless_patience(_, arrays):
    arrays["state/numbers"][newton_phases.IDLE] = -1e100


def _no_sample(_, arrays):
    arrays["state/numbers"][newton_phases.EVERY] = 0


def _no_width(_, arrays):
    arrays["state/numbers"][newton_phases.WIDTH] = np.nan


def _no_block(_, arrays):
    arrays["state/place"][:] = interior_phases.PHASES.index("affine"), 1


def _other_share(_, arrays):
    arrays["state/share"][0] *= 0.9


def _below_the_box(_, arrays):
    arrays["state/rows"][0, 3] = -1e-300


@pytest.mark.parametrize(
    ("solver", "forge", "words"),
    [
        ("dual", _no_more_solvers, "no other solver"),
        ("dual", _empty_list, "list is empty"),
        ("dual", _no_duals, "not feasible"),
        ("dual", _hardly_duals, "not feasible"),
        ("newton", _endless_search, "line search"),
        ("newton", _endless_patience, "idle steps"),
        ("newton", _no_sample, "sample"),
        ("newton", _no_width, "width"),
        ("interior", _no_block, "no block"),
        ("interior", _other_share, "other classes"),
        ("interior", _below_the_box, "below 0"),
    ],
)
def test_states_that_no_run_has(tmp_path, solver, forge, words, monkeypatch):
    """With the right checksums: what would crash, or never end."""
    # A matrix then takes several blocks of rows, and nothing else does.
    monkeypatch.setattr("pegasos.problem.MEMORY", Memory(range_products=1))
    options = OPTIONS | {"solver": solver}
    pegasos.solve(X, Y, max_epochs=2, checkpoint=tmp_path / "a", **options)
    path = tmp_path / "a" / "running-solve"
    held = Container(path)
    about, arrays = held.about, held.arrays()
    forge(about, arrays)
    container.write(path, about, arrays)
    with pytest.raises(CheckpointError, match=f"makes no sense .*{words}"):
        pegasos.solve(X, Y, resume=tmp_path / "a", **options)
