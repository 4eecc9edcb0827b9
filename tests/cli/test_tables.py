"""CSV files whose columns are not quite those that a model was trained on."""

import pytest

TRAINED = "a,b,w,y\n1,2,1,0\n2,1,1,1\n1.5,3,2,0\n4,1,3,1\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(TRAINED)
    return path


def scores(run, model, path):
    result = run("predict", model, path, "--scores")
    assert result.exit_code == 0, result.stderr
    return result.stdout.split()


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_columns_are_found_by_name(run, values, table, tmp_path, scale):
    model = values("train", table, "--label", "y", "--weights", "w", "--scale", scale)["model"]
    expected = scores(run, model, table)
    moved = tmp_path / "moved.csv"
    moved.write_text("y,b,a\n0,2,1\n1,1,2\n0,3,1.5\n1,1,4\n")
    assert scores(run, model, moved) == expected
    bare = tmp_path / "bare.csv"
    bare.write_text("b,a\n2,1\n1,2\n3,1.5\n1,4\n")
    assert scores(run, model, bare) == expected


def test_other_columns_are_refused(run, values, table, tmp_path):
    model = values("train", table, "--label", "y", "--weights", "w")["model"]
    other = tmp_path / "other.csv"
    other.write_text("b,c\n2,1\n")
    result = run("predict", model, other)
    assert result.exit_code == 1
    assert "no column 'a'" in result.stderr


def test_the_column_of_weights_is_remembered(run, values, table, tmp_path):
    model = values("train", table, "--label", "y", "--weights", "w")["model"]
    assert run("predict", model, table).exit_code == 0
    assert values("certify", model, table)["confirmed"] == "true"
    without = tmp_path / "without.csv"
    without.write_text("a,b,y\n1,2,0\n2,1,1\n")
    assert "no column 'w'" in run("certify", model, without).stderr


def test_control_characters_of_labels_are_shown_and_not_obeyed(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,a\n\x1b[31mred,1\nblue,2\n\x1b[31mred,1.5\nblue,3\n")
    result = run("train", path, "--label", "y")
    assert result.exit_code == 0, result.stderr
    shown = run("inspect", f"{path}.model")
    for text in (result.stderr, shown.stdout):
        assert "\x1b" not in text
        assert "\\x1b[31mred" in text
