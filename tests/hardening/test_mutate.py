"""What is kept of mutants between two runs, and how they are counted."""

import fcntl
import json

import pytest
from tests.hardening import mutate


@pytest.fixture
def home(tmp_path, monkeypatch):
    """build/mutants after a run: 3 mutants killed, 2 unnoticed, 1 not tried."""
    monkeypatch.setattr(mutate, "HOME", tmp_path)
    codes = {"a": 1, "b": 0, "c": 33, "d": None, "e": -24, "f": -11}
    for name in ("solve.py", "model_file/check.py", "model_file/plain.py"):
        path = tmp_path / "mutants" / "src" / "pegasos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("changed")
        path.with_suffix(".py.meta").write_text(json.dumps({"exit_code_by_key": codes}))
    return tmp_path


def test_files_are_counted_and_the_model_file_is_one(home):
    found = mutate.scores()
    assert list(found) == ["model_file", "solve.py"]
    assert found["solve.py"] == mutate.Score(3, 1, ["b", "c"], 1)
    assert found["model_file"] == mutate.Score(6, 2, ["b", "c", "b", "c"], 2)
    assert found["solve.py"].share == 0.6


def test_verdicts_stay_until_tests_or_settings_change(home):
    mutate.prepare()
    assert mutate.scores()["solve.py"].waiting == 1
    (home / "tests.sha256").write_text("of other tests")
    mutate.prepare()
    assert mutate.scores()["solve.py"] == mutate.Score(3, 1, [], 3)
    (home / "settings.sha256").write_text("of other settings")
    mutate.prepare()
    assert mutate.scores()["solve.py"] == mutate.Score(0, 0, [], 6)


def test_what_was_cut_off_begins_anew_and_what_is_old_goes(home):
    source = home / "mutants" / "src" / "pegasos"
    (source / "solve.py.meta").write_text('{"exit_code_by')
    (source / "old.py").write_text("")
    mutate.prepare()
    assert list(mutate.scores()) == ["model_file"]
    kept = {path.name for path in source.rglob("*.py*")}
    assert kept == {"check.py", "check.py.meta", "plain.py", "plain.py.meta"}


def test_one_at_a_time(home):
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match="somebody else tries mutants"):
            mutate.run(1.0)
