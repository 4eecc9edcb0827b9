"""``pegasos train --dask``."""

import numpy as np
import pandas as pd
import pytest

import pegasos
from pegasos.data.svmlight import write_svmlight

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def table(seed, n=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    score = X @ np.arange(6) + 4 * rng.normal(size=n)
    frame["label"] = np.where(score > 1, "yes", "no")
    return frame


def test_parquet_files(address, run, values, tmp_path):
    frames = [table(seed) for seed in range(3)]
    for number, frame in enumerate(frames):
        frame.to_parquet(tmp_path / f"{number}.parquet")
    target = tmp_path / "it.model"
    said = values("train", "--dask", address, tmp_path / "*.parquet", target)
    assert float(said["relative_gap"]) <= 1e-3
    model = pegasos.load(target)
    whole = pd.concat(frames)
    local = pegasos.LinearSVC().fit(whole.drop(columns="label"), whole["label"])
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=1e-3)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == list("abcdef")
    # The model predicts as any other.
    run("predict", target, tmp_path / "0.parquet")


def test_a_folder_of_svmlight_files(address, values, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for seed in range(2):
        frame = table(seed)
        y = np.where(frame.pop("label") == "yes", 1, -1)
        write_svmlight(frame.to_numpy(), y, folder / f"{seed}.svm")
    target = tmp_path / "it.model"
    options = ("--class-weight", "1=2", "--C", "0.1", "--eval", folder / "0.svm")
    said = values("train", "--dask", address, folder, target, *options)
    assert float(said["eval_accuracy"].rstrip("%")) > 0.5
    assert pegasos.load(target).classes_.tolist() == [-1, 1]


def test_pairs_of_classes(address, values, tmp_path):
    frame = table(0)
    frame["label"] = np.array(["a", "b", "c"])[np.digitize(frame["d"] + frame["f"], [-1, 1])]
    frame.to_parquet(tmp_path / "0.parquet")
    target = tmp_path / "it.model"
    values("train", "--dask", address, tmp_path / "0.parquet", target, "--multi-class", "ovo")
    model = pegasos.load(target)
    assert model.multi_class == "ovo"
    assert model.coef_.shape == (3, 6)
    rows = frame.drop(columns="label")
    local = pegasos.LinearSVC(multi_class="ovo").fit(rows, frame["label"])
    np.testing.assert_allclose(model.certificate_.primal, local.certificate_.primal, rtol=1e-3)
    assert model.score(rows, frame["label"]) > 0.9


def test_a_fit_that_was_cut_short_is_resumed(address, run, values, tmp_path):
    for number in range(3):
        table(number).to_parquet(tmp_path / f"{number}.parquet")
    saved, target = tmp_path / "it.ckpt", tmp_path / "it.model"
    train = ("train", "--dask", address, tmp_path / "*.parquet", target)
    cut = run(*train, "--solver", "dual", "--max-iter", "1", "--checkpoint", saved)
    assert cut.exit_code not in (0, 1, 2)  # the model is there, and not proven yet
    other = run(*train, "--solver", "dual", "--C", "3", "--resume", saved, "--overwrite")
    assert "C was 1.0, and is 3.0 here" in other.stderr
    said = values(*train, "--solver", "dual", "--resume", saved, "--overwrite")
    assert float(said["relative_gap"]) <= 1e-3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--memory", "1G"], "--memory does not go with --dask"),
        (["--cv", "3"], "--cv does not go with --dask"),
        (["--multi-class", "crammer_singer"], "--multi-class crammer_singer does not go with"),
        (["--solver", "sgds", "--max-iter", "3"], "does not run on a cluster"),
    ],
)
def test_options_that_do_not_go_with_it(address, run, tmp_path, arguments, words):
    table(0).to_parquet(tmp_path / "0.parquet")
    where = (tmp_path / "0.parquet", tmp_path / "it.model")
    result = run("train", "--dask", address, *where, *arguments)
    assert result.exit_code in (1, 2)
    assert words in result.stderr
    assert not (tmp_path / "it.model").exists()


def test_no_files_and_no_model(address, run, tmp_path):
    result = run("train", "--dask", address, tmp_path / "*.parquet", tmp_path / "it.model")
    assert "no such file" in result.stderr
    table(0).to_parquet(tmp_path / "0.parquet")
    assert "MODEL is missing" in run("train", "--dask", address, tmp_path / "0.parquet").stderr


def test_columns_that_differ(address, run, tmp_path):
    table(0).to_parquet(tmp_path / "0.parquet")
    table(1)[["b", "a", "c", "d", "e", "f", "label"]].to_parquet(tmp_path / "1.parquet")
    result = run("train", "--dask", address, tmp_path / "*.parquet", tmp_path / "it.model")
    assert result.exit_code == 1
    assert "1.parquet: its columns are not those of the first file" in result.stderr
