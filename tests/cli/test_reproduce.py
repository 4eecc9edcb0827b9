import json
import shutil
from pathlib import Path

import pytest

from pegasos.cli.reproduce import clone
from reproduce import NAMES, experiment, page

ROOT = Path(page.__file__).parents[1]


@pytest.fixture
def inside(monkeypatch):
    monkeypatch.chdir(ROOT / "tests")


def test_it_lists_all_with_their_last_verdicts(run, inside):
    result = run("reproduce")
    lines = result.stdout.splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == list(NAMES)
    stored = experiment.load(NAMES[0], ROOT / "reproduce")
    assert lines[1].split("\t")[1] == stored["verdict"]


def test_outside_a_clone_it_says_where_to_go(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("reproduce")
    assert result.exit_code == 1
    assert "clone" in result.stderr
    other = tmp_path / "reproduce"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('not ours')")
    (tmp_path / "pyproject.toml").write_text('name = "another"')
    assert run("reproduce").exit_code == 1  # nor does it run what is not ours


def test_a_clone_is_found_from_below(inside):
    assert clone(Path.cwd()) == ROOT


def test_wrong_names_are_refused_before_anything_runs(run, inside, monkeypatch):
    monkeypatch.setattr(experiment, "run", lambda name: pytest.fail(f"ran {name}"))
    result = run("reproduce", NAMES[0], "figure_99")
    assert result.exit_code == 2
    assert "figure_99" in result.stderr
    assert NAMES[1] in result.stderr
    assert run("reproduce", NAMES[0], "--all").exit_code == 2


def test_a_place_that_takes_no_results_is_refused_before_anything_runs(
    run, inside, monkeypatch, tmp_path
):
    monkeypatch.setattr(experiment, "run", lambda name: pytest.fail(f"ran {name}"))
    (tmp_path / "file").write_text("")
    result = run("reproduce", NAMES[0], "--output", tmp_path / "file")
    assert result.exit_code == 1
    assert "file" in result.stderr
    monkeypatch.setattr(experiment, "find_spec", lambda _: None)
    result = run("reproduce", NAMES[0], "--output", tmp_path)
    assert result.exit_code == 1
    assert "matplotlib" in result.stderr


def test_one_is_run_and_stored_where_it_is_told(run, inside, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    name = NAMES[3]
    stored = experiment.load(name, ROOT / "reproduce")
    monkeypatch.setattr(experiment, "run", lambda asked: stored | {"name": asked})
    result = run("reproduce", name, "--output", tmp_path / "here", "--json", "-q")
    assert json.loads(result.stdout)["reproductions"][0]["verdict"] == stored["verdict"]
    assert experiment.load(name, tmp_path / "here") == stored
    assert (tmp_path / "here" / page.NAME).read_text() == page.text(tmp_path / "here")
    assert not list((tmp_path / "here" / name).glob(".*"))


def test_a_run_that_fails_leaves_the_results_that_were_there(run, inside, monkeypatch, tmp_path):
    name = NAMES[3]
    shutil.copytree(ROOT / "reproduce" / name, tmp_path / name)
    before = (tmp_path / name / "result.json").read_bytes()

    def fail(_):
        raise ValueError("the disk is gone")

    monkeypatch.setattr(experiment, "run", fail)
    result = run("reproduce", name, "--output", tmp_path)
    assert result.exit_code == 1
    assert "the disk is gone" in result.stderr
    assert (tmp_path / name / "result.json").read_bytes() == before
