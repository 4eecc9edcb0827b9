"""Generated reviews: what the tutorial starts from."""

import pytest

from pegasos.data import read
from pegasos.data.reviews import make_reviews, write_reviews


def test_reviews_are_a_table_of_text_that_is_read_back(tmp_path):
    texts, moods = make_reviews(300)
    write_reviews(tmp_path / "reviews.csv", 300)
    data = read(tmp_path / "reviews.csv", text="review", label="mood")
    assert list(data.text) == texts
    assert data.y.tolist() == moods


def test_the_same_seed_gives_the_same_reviews_and_more_rows_only_more():
    texts, moods = make_reviews(50, seed=3)
    more_texts, more_moods = make_reviews(80, seed=3)
    assert (more_texts[:50], more_moods[:50]) == (texts, moods)
    assert make_reviews(50, seed=4)[0] != texts


def test_moods_are_even_and_words_tell_them_mostly_but_not_always():
    texts, moods = make_reviews(4_000)
    good = [mood == "good" for mood in moods]
    assert 0.45 < sum(good) / len(good) < 0.55
    with_word = [is_good for text, is_good in zip(texts, good, strict=True) if "superb" in text]
    assert 0.6 < sum(with_word) / len(with_word) < 0.95


def test_no_rows_are_refused_and_nothing_is_replaced_unasked(tmp_path):
    with pytest.raises(ValueError, match="n_rows must be at least 1"):
        make_reviews(0)
    write_reviews(tmp_path / "reviews.csv", 3)
    with pytest.raises(FileExistsError):
        write_reviews(tmp_path / "reviews.csv", 4, overwrite=False)
    assert read(tmp_path / "reviews.csv", text="review", label="mood").y.size == 3
