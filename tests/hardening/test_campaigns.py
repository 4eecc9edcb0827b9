"""A little of every campaign. Seconds are measured, and judged by `make test-all` only."""

import pytest
from tests.hardening.campaigns import CAMPAIGNS
from tests.hardening.runner import run


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaign(name):
    campaign = CAMPAIGNS[name]
    tally = run(campaign, count=campaign.quick)
    assert tally.failures == []
    assert tally.cases > 0
