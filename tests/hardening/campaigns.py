"""All campaigns, by name."""

from __future__ import annotations

from tests.hardening import files
from tests.hardening.campaign import Campaign

CAMPAIGNS: dict[str, Campaign] = {one.name: one for one in files.campaigns()}
