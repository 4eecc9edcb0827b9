"""Numbers in text are rounded correctly: the same bits as Python's float."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegasos.data.fields import numbers

PLAIN = st.from_regex(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})", fullmatch=True)
WITH_EXPONENT = st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,18})?[eE][+-]?[0-9]{1,2}", fullmatch=True)
WRITTEN = st.floats(allow_nan=False, allow_infinity=False).map(repr)


def parsed(fields):
    block = ",".join(fields).encode()
    sizes = np.array([len(field.encode()) for field in fields])
    ends = np.cumsum(sizes + 1) - 1
    return numbers(block, ends - sizes, ends)


@given(st.lists(PLAIN | WITH_EXPONENT | WRITTEN, min_size=1, max_size=30))
def test_equal_to_float_to_the_bit(fields):
    assert parsed(fields).tobytes() == np.array([float(field) for field in fields]).tobytes()


@pytest.mark.parametrize(
    "bad", ["", " ", "-", "+", ".", "-.", "1.2.3", "1-2", "--1", "1e", "nan", "inf", "-Infinity",
            "1e999", "1_000", "0x10", "1,5", "٣", "one", "1 2", "1\x00", "12345678901234567890x"],
)  # fmt: skip
def test_what_is_no_finite_number_is_refused(bad):
    assert parsed([bad]) is None if "," not in bad else parsed([bad, "1"]) is None
    fields = ["1", "2.5", bad.replace(",", ";")]
    assert parsed(fields) is None


def test_spaces_around_a_number_do_no_harm():
    assert parsed([" 1", "2.5 ", "\t3"]).tolist() == [1, 2.5, 3]
