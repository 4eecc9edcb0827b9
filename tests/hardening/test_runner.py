"""The runner itself: it must see failures, crashes and hangs, or its zeros mean nothing."""

import os
import signal
import time

import pytest
from tests.hardening import campaigns
from tests.hardening.campaign import NO_CASE, Campaign
from tests.hardening.runner import run


def bad(context, number):
    """Number 3 fails, 5 crashes, 7 takes long, 8 is no case."""
    if number == 3:
        raise ValueError("three")
    if number == 5:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 7:
        ends = time.process_time() + 30
        while time.process_time() < ends:
            pass
    return NO_CASE if number == 8 else None


BAD = Campaign("bad", "", lambda _: None, bad, 10, 10, cpu_seconds=0.2)


@pytest.fixture
def known(monkeypatch):
    """The worker, too, must know it."""
    monkeypatch.setenv("PEGASOS_BAD_CAMPAIGN", "1")
    monkeypatch.setitem(campaigns.CAMPAIGNS, "bad", BAD)


def test_failures_crashes_and_hangs_are_seen(known):
    tally = run(BAD, count=10)
    assert tally.numbers == 10
    assert tally.cases == 9
    assert len(tally.failures) == 3
    assert "three" in tally.failures[0]
    assert "-11" in tally.failures[1]
    assert "too long" in tally.failures[2]
