import numpy as np
import pytest

from pegasos.report.text import clean, count, fixed, number, plain, share, short


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.99996, "1"), (1234567.2, "1,234,567"), (-2.5, "−2.5"), (1e-7, "1e−7"),
     (0.00012346, "0.0001235"), (np.inf, "∞"), (-np.inf, "−∞"), (np.nan, "–"), (1e20, "1e20")],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_numbers_of_columns_keep_their_zeros():
    assert number(-0.99999, 3, zeros=True) == "−1.00"
    assert fixed(0.9) == "0.900"
    assert share(0.12345) == "12.3%"
    assert count(1200.0) == "1,200"
    assert count(0.5) == "0.5"


def test_what_a_page_cannot_hold_is_shown_as_an_escape():
    assert clean("a\x00b\x1b\x85\ud800\ufffe\u202e\U0001ffff") == (
        "a\\x00b\\x1b\\x85\\ud800\\ufffe\\u202e\\U0001ffff"
    )
    assert clean("tab\tline\nü 漢 😀 \u200f") == "tab\tline\nü 漢 😀 \u200f"
    assert len(clean("x" * 10_000)) < 500


def test_long_texts_are_cut():
    assert short("a  b\n c", 10) == "a b c"
    assert short("abcdefghij", 5) == "abcd…"
    assert short("  ", 5) == "  "


def test_parameters_in_words():
    given = {"a": 1, 2: None, "c": [True, 0.5]}
    assert plain(given) == "a: 1, 2: none, c: yes, 0.5"
