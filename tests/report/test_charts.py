import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegasos.report import charts

numbers = st.floats(-1e9, 1e9)


@given(st.lists(numbers, min_size=1), st.booleans())
@example([5e-324], False)
def test_linear_axes_hold_all_values_and_a_few_ticks(values, zero):
    axis = charts.linear("x", values, zero=zero)
    size = max(1.0, *map(abs, values)) * 1e-9
    assert axis.low <= min(values) + size
    assert axis.high >= max(values) - size
    assert axis.low < axis.high
    ticks = axis.ticks()
    assert 1 <= len(ticks) <= 8
    assert all(0 <= axis.place(tick) <= 1 for tick in ticks)
    assert not zero or axis.low <= 0 <= axis.high


@given(st.lists(st.floats(1e-300, 1e300), min_size=1))
def test_logarithmic_axes_have_powers_of_ten(values):
    axis = charts.logarithmic("x", values)
    assert axis.low <= min(values) * (1 + 1e-6)
    assert axis.high >= max(values) * (1 - 1e-6)
    ticks = np.log10(axis.ticks())
    assert 1 <= ticks.size <= 7
    np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-9)


def test_places_and_names():
    axis = charts.logarithmic("C", [0.001, 10])
    assert axis.place(0.1) == pytest.approx(0.5)
    assert [axis.tick(value) for value in axis.ticks()] == ["0.001", "0.01", "0.1", "1", "10"]
    assert charts.Axis("p").place(2.0) == 1.0
    assert charts.linear("empty", []).ticks()
