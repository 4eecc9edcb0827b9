"""All campaigns, by name."""

from __future__ import annotations

import os
from itertools import chain

from tests.hardening import allocations, bits, faults, files, floats, numbers, readers, signals
from tests.hardening.campaign import Campaign

_ROOMS = (files, readers, faults, allocations, signals, numbers, floats, bits)
CAMPAIGNS: dict[str, Campaign] = {
    one.name: one for one in chain.from_iterable(room.campaigns() for room in _ROOMS)
}
if "PEGASOS_BAD_CAMPAIGN" in os.environ:  # of test_runner.py, which runs it in a worker
    from tests.hardening.test_runner import BAD

    CAMPAIGNS["bad"] = BAD
