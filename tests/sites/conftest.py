"""A test of a cell has its place, or is skipped where that is not there."""

import numpy as np
import pytest
from tests.sites.places import PLACES

from pegasos.run.interrupt import Interruption


@pytest.fixture(scope="package")
def places():
    yield PLACES
    for one in PLACES.values():
        one.close()


@pytest.fixture
def place(cell, places):
    found = places[cell.place]
    reason = found.missing()
    if reason is not None:
        pytest.skip(reason)
    return found


@pytest.fixture
def ctrl_c():
    """Presses it."""
    Interruption.forget()
    yield lambda: Interruption.request(None)
    Interruption.forget()


@pytest.fixture
def many_pauses(monkeypatch):
    """From the call on, slices of the driver are short, and of any length."""

    def begin():
        rng = np.random.default_rng(0)
        monkeypatch.setattr("pegasos.run.schedule.first_slice", lambda _: 1)
        monkeypatch.setattr("pegasos.run.schedule.next_slice", lambda *_: int(rng.integers(1, 100)))

    return begin
