"""What is said on the way: passes, speed, the gap, and how long it will take."""

import numpy as np
import pytest
from tests.common.runs import pausing
from tests.common.toys import toy

import pegasos
from pegasos.certificate import Certificate
from pegasos.data.synthetic import make_news
from pegasos.run.history import Pace, Record
from pegasos.run.progress import PlainProgress, ProgressLine, Watch


def record(epoch, seconds, gap):
    return Record(epoch, seconds, int(1000 * epoch), Certificate(1.0 + gap, 1.0, 1e-12))


def test_the_line_says_how_fast_and_how_long():
    watch = Watch(1e-3)
    assert watch.line(0.0, 0.0) == "epoch 0, 0.0 s; nothing proven yet (goal 0.001)"
    for seconds in range(11):
        watch.tick(Pace(float(seconds), float(seconds), 2_000_000 * seconds, 500.0))
    watch(record(4, 4.0, 0.1))
    watch(record(8, 8.0, 0.01))
    # A factor of ten in four seconds: one more takes four, of which two are gone.
    assert watch.line(10.0, 10.0) == (
        "epoch 10, 10.0 s, 2 M rows/s, 1000 MB/s; proven within 1.00e-02 of the optimum "
        "(goal 0.001), about 2.0 s left"
    )
    watch(record(12, 12.0, 1e-4))
    assert "left" not in watch.line(12.0, 12.0)


@pytest.mark.parametrize(
    ("seconds", "words"), [(12.34, "12.3 s"), (245, "4 min 5 s"), (12_000, "3 h 20 min")]
)
def test_long_times_are_said_as_people_do(seconds, words):
    assert f"epoch 1, {words};" in Watch(1e-3).line(1.0, seconds)


def test_lines_come_ever_more_seldom(capsys):
    progress = PlainProgress(1e-3)
    for seconds in np.arange(0.0, 20.0, 0.25):
        progress.tick(Pace(seconds, float(seconds), int(100 * seconds), 8.0))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[1] for line in lines] == [" 1.0 s", " 2.0 s", " 4.0 s", " 8.0 s",
                                                      " 16.0 s"]  # fmt: skip


def test_nothing_is_shown_where_nobody_looks(capsys):
    with ProgressLine(1e-3) as line:
        line.tick(Pace(1.0, 1.0, 1, 8.0))
        line(record(1, 1.0, 0.5))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("lanes", [1, 3])
def test_callbacks_that_tick_hear_of_every_slice(lanes):
    data, paces, records = toy(100, 5, lanes, seed=1), [], []

    class Both:
        def __call__(self, record):
            records.append(record)

        def tick(self, pace):
            paces.append(pace)

    found = pegasos.solve(
        data.X, data.Y, C=1.0, solver=pausing(pegasos.DualCoordinate(), lambda: 20), tol=1e-9,
        seed=0, n_jobs=1, callbacks=[Both()],
    )  # fmt: skip
    assert len(paces) > len(records) > 0
    examples = [pace.examples for pace in paces]
    assert examples == sorted(examples)
    assert examples[-1] == found.history["examples"][-1]
    assert paces[-1].epoch == pytest.approx(examples[-1] / 100)
    assert paces[-1].row_bytes == 40


def test_looking_at_a_fit_does_not_change_it():
    X, y = make_news(2_000, seed=0)
    alone = pegasos.solve(X, y, C=1.0, seed=0)
    watched = pegasos.solve(X, y, C=1.0, seed=0, callbacks=[PlainProgress(1e-3)])
    assert watched.w.tobytes() == alone.w.tobytes()
    records = []
    pegasos.solve(X, y, C=1.0, seed=0, callbacks=[records.append])  # wants them sooner
    assert len(records) >= len(alone.history.records)
