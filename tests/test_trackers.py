import copy
import csv
import json
import sys
from types import ModuleType

import numpy as np
import pytest
from tests.common.toys import toy

import pegasos
from pegasos import trackers
from pegasos.certificate import Certificate
from pegasos.run.history import Record

data = toy(400, 6, seed=0)
y = data.Y[:, 0]


def fit(*callbacks, classes=y):
    return pegasos.LinearSVC(solver="dual", tol=1e-6, random_state=0, callbacks=callbacks).fit(
        data.X, classes
    )


def table(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_json_lines_say_what_the_history_says(tmp_path):
    path = tmp_path / "run.jsonl"
    model = fit(trackers.JSONLinesLogger(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == len(model.history_.records) > 1
    for line, record in zip(lines, model.history_.records, strict=True):
        assert line["primal"] == record.primal
        assert line["examples"] == record.examples
        assert line["score"] is None
        assert "relative_gaps" not in line
    assert lines[-1]["relative_gap"] == model.certificate_.relative_gap <= 1e-6


def test_json_lines_have_the_gap_of_every_class(tmp_path):
    path = tmp_path / "run.jsonl"
    model = fit(trackers.JSONLinesLogger(path), classes=np.digitize(data.X[:, 0], [-0.5, 0.5]))
    last = json.loads(path.read_text().splitlines()[-1])
    np.testing.assert_array_equal(last["relative_gaps"], model.certificate_.relative_gap)
    assert last["relative_gap"] == max(last["relative_gaps"])


def test_what_is_not_known_is_null_or_empty(tmp_path):
    nothing = Record(0.0, 0.0, 0, Certificate(np.array([1.0, 2.0]), np.zeros(2), np.zeros(2)))
    for kind, name in ((trackers.JSONLinesLogger, "a.jsonl"), (trackers.CSVLogger, "a.csv")):
        kind(tmp_path / name)(nothing)
    line = json.loads((tmp_path / "a.jsonl").read_text())
    assert line["relative_gap"] is None
    assert line["relative_gaps"] == [None, None]
    assert line["primal"] == 1.5
    (row,) = table(tmp_path / "a.csv")
    assert row["relative_gap"] == ""
    assert float(row["primal"]) == 1.5


def test_a_csv_file_has_one_heading(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("old")
    logger = trackers.CSVLogger(path)
    assert path.read_text() == "old"  # nothing is replaced before there is something to write
    first = len(fit(logger).history_.records)
    second = len(fit(logger).history_.records)
    third = len(fit(trackers.CSVLogger(path, append=True)).history_.records)
    rows = table(path)
    assert len(rows) == first + second + third
    assert list(rows[0]) == list(trackers.COLUMNS)
    assert all(float(row["gap"]) >= 0 for row in rows)


def test_scores_of_an_eval_set_are_logged(tmp_path):
    path = tmp_path / "run.csv"
    model = pegasos.LinearSVC(callbacks=[trackers.CSVLogger(path)], random_state=0)
    model.fit(data.X, y, eval_set=(data.X, y))
    scores = [float(row["score"]) for row in table(path)]
    assert max(scores) == model.best_validation_score_


def test_a_copy_goes_on_in_the_same_file(tmp_path):
    path = tmp_path / "run.csv"
    logger = trackers.CSVLogger(path)
    count = len(fit(logger).history_.records)
    other = copy.deepcopy(logger)
    count += len(fit(other).history_.records)
    assert len(table(path)) == count


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fit(trackers.CSVLogger(tmp_path / "nowhere" / "run.csv"))


def test_mlflow_gets_a_step_for_every_record(monkeypatch):
    seen, mlflow = [], ModuleType("mlflow")
    mlflow.log_metrics = lambda metrics, step: seen.append((step, metrics))
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    model = fit(trackers.MLflowLogger(prefix="svm/"))
    assert [step for step, _ in seen] == list(range(len(model.history_.records)))
    assert seen[-1][1]["svm/relative_gap"] == model.certificate_.relative_gap
    assert "svm/score" not in seen[-1][1]


def test_tensorboard_gets_scalars_over_rows():
    class Writer:
        def __init__(self):
            self.scalars, self.flushed = [], 0

        def add_scalar(self, name, value, step):
            self.scalars.append((name, value, step))

        def flush(self):
            self.flushed += 1

    writer = Writer()
    model = fit(trackers.TensorBoardLogger(writer))
    gaps = [(v, step) for name, v, step in writer.scalars if name == "pegasos/relative_gap"]
    last = model.history_.records[-1]
    assert gaps[-1] == (last.relative_gap, last.examples)
    assert writer.flushed == len(model.history_.records)


@pytest.mark.parametrize(
    ("make", "package"),
    [
        (trackers.MLflowLogger, "mlflow"),
        (lambda: trackers.TensorBoardLogger("folder"), "tensorboardX"),
    ],
)
def test_what_is_missing_is_named(monkeypatch, make, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match="pip install 'pegasos"):
        make()
