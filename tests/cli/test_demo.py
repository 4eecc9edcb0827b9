"""pegasos demo, and what a newcomer does with the reviews that it writes."""

import csv

import pytest


@pytest.fixture
def reviews(run, tmp_path):
    path = tmp_path / "reviews.csv"
    result = run("demo", "--reviews", path, "--rows", 400)
    assert result.exit_code == 0, result.stderr
    assert "400 generated reviews" in result.stdout
    return path


def test_reviews_train_and_texts_without_a_label_are_predicted(run, values, reviews, tmp_path):
    model = tmp_path / "reviews.model"
    found = values("train", reviews, model, "--text", "review", "--label", "mood")
    assert found["proven"] == "true"
    new = tmp_path / "new.csv"
    with open(new, "w", newline="") as file:
        csv.writer(file).writerows(
            [["review"], ["A superb, charming room."], ['Dull and "useless", rude staff.']]
        )
    result = run("predict", model, new)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.split() == ["good", "bad"]


def test_reviews_are_not_replaced_unasked(run, reviews):
    before = reviews.read_bytes()
    result = run("demo", "--reviews", reviews, "--rows", 5)
    assert result.exit_code == 1
    assert "already" in result.stderr or "exists" in result.stderr.lower()
    assert reviews.read_bytes() == before
    assert run("demo", "--reviews", reviews, "--rows", 5, "--overwrite").exit_code == 0
    assert len(reviews.read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rows", 99), "--rows must be at least 100"),
        (("--overwrite",), "--overwrite is for --reviews"),
        (("--reviews", "x.csv", "--rows", 0), "--rows must be at least 1"),
        (("--reviews", "x.csv", "--picture", "x.png"), "--picture"),
    ],
)
def test_options_that_mean_nothing_are_refused(run, options, said):
    result = run("demo", *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_the_demo_trains_compares_and_draws(run, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `demo` is not installed")
    picture = tmp_path / "gap.png"
    result = run("demo", "--rows", 200, "--picture", picture)
    assert result.exit_code == 0, result.stderr
    assert "converged" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
