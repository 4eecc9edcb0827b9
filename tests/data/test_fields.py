"""Numbers in text are rounded correctly: the same bits as Python's float."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegasos.data import DataError, read

PLAIN = st.from_regex(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})", fullmatch=True)
WITH_EXPONENT = st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,18})?[eE][+-]?[0-9]{1,2}", fullmatch=True)
WRITTEN = st.floats(allow_nan=False, allow_infinity=False).map(repr)


@pytest.fixture(scope="module")
def parsed(tmp_path_factory):
    path = tmp_path_factory.mktemp("fields") / "one.csv"

    def parse(fields):
        path.write_text("".join(f"{field}\n" for field in fields), encoding="utf-8")
        return read(path, header=False, labels=False).X[:, 0]

    return parse


@given(fields=st.lists(PLAIN | WITH_EXPONENT | WRITTEN, min_size=1, max_size=30))
def test_equal_to_float_to_the_bit(parsed, fields):
    assert parsed(fields).tobytes() == np.array([float(field) for field in fields]).tobytes()


@pytest.mark.parametrize(
    "bad", ["-", "+", ".", "-.", "1.2.3", "1-2", "--1", "1e", "nan", "inf", "-Infinity", "1e999",
            "1_000", "0x10", "1;5", "٣", "one", "1 2", "1\x00", "12345678901234567890x", "\xa01",
            "\x1c1"],
)  # fmt: skip
def test_what_is_no_finite_number_is_refused(parsed, bad):
    with pytest.raises(DataError):
        parsed(["1", "2.5", bad])


def test_spaces_around_a_number_do_no_harm(parsed):
    assert parsed([" 1", "2.5 ", "\t3"]).tolist() == [1, 2.5, 3]
