"""python -m tests.hardening all | fuzz | chaos | table | page | NAME ... [--seconds N]

`all` runs every campaign at the size of `make test-all`. `fuzz` and `chaos` run theirs for so many
seconds, and go on where the last run of them ended; what was run stands in build/hardening.
`page` writes docs/reliability.md from it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from tests.hardening import store, table
from tests.hardening.campaigns import CAMPAIGNS
from tests.hardening.runner import Tally, run
from tests.hardening.suites import SUITES

_FUZZ_SECONDS = 300.0  # of each of the two fuzzers in `all`
_AT_ONCE = 20_000
_BY_THE_CLOCK = ("dask",)  # has processes of its own, and time limits: beside it nothing runs


def main() -> int:
    """Run what was asked for; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hardening", description=__doc__)
    parser.add_argument("what", nargs="+")
    parser.add_argument("--seconds", type=float, default=600.0, help="for fuzz and chaos, in all")
    parser.add_argument("--built", help="a folder with a build under sanitizers, for files")
    asked = parser.parse_args()
    if asked.what == ["table"]:
        print(table.text(store.results()))
        return 0
    if asked.what == ["page"]:
        table.write_page(store.results())
        return 0
    if asked.what == ["all"]:
        names = _all()
    elif asked.what in (["fuzz"], ["chaos"]):
        names = _for_seconds(asked.what[0], asked.seconds, asked.built)
    else:
        names = _named(asked.what, asked.seconds)
    rows = store.results(names)
    print(table.text(rows))
    return int(any(row.failures for row in rows.values()))


def _all() -> list[str]:
    for name, campaign in CAMPAIGNS.items():
        _say(name)
        store.replace(name, run(campaign, count=campaign.full).ended(campaign))
    suites = {name: suite for name, suite in SUITES.items() if suite.group != "mutate"}
    fuzzers = [name for name, suite in suites.items() if suite.group == "fuzz"]
    others = [name for name in suites if name not in fuzzers and name not in _BY_THE_CLOCK]
    _two_at_a_time(fuzzers)
    _two_at_a_time(others)
    for name in _BY_THE_CLOCK:
        _two_at_a_time([name])
    return [*CAMPAIGNS, *suites]


def _two_at_a_time(names: list[str]) -> None:
    """Suites that take one core each."""

    def ran(name: str) -> Tally:
        _say(name)
        return SUITES[name].run(_FUZZ_SECONDS)

    with ThreadPoolExecutor(2) as pool:
        for name, tally in zip(names, pool.map(ran, names), strict=True):
            store.replace(name, tally)


def _for_seconds(group: str, seconds: float, built: str | None) -> list[str]:
    """Campaigns take turns, each an equal share of the time that is left."""
    names = [name for name, one in CAMPAIGNS.items() if one.group == group]
    suites = [name for name, one in SUITES.items() if one.group == group]
    ends = time.monotonic() + seconds
    for place, name in enumerate(names + suites):
        left = max(0.0, ends - time.monotonic()) / (len(names) + len(suites) - place)
        _say(name, f"for {left:.0f} s")
        if name in SUITES:
            store.add(name, SUITES[name].run(left))
            continue
        campaign, until = CAMPAIGNS[name], time.monotonic() + left
        while time.monotonic() < until:
            first = store.numbers(name)
            if campaign.counted is not None and first >= campaign.counted():
                break
            sanitizers = built if campaign.sanitized else None
            done = run(
                campaign, first=first, count=_AT_ONCE, seconds=until - time.monotonic(),
                built=sanitizers,
            )  # fmt: skip
            store.add(name, done.ended(campaign), sanitized=sanitizers is not None)
    return names + suites


def _named(names: Iterable[str], seconds: float) -> list[str]:
    for name in names:
        if name in SUITES:
            store.replace(name, SUITES[name].run(seconds))
        elif name in CAMPAIGNS:
            store.replace(
                name, run(CAMPAIGNS[name], count=CAMPAIGNS[name].full).ended(CAMPAIGNS[name])
            )
        else:
            raise SystemExit(f"no campaign {name!r}: there are {', '.join([*CAMPAIGNS, *SUITES])}")
    return list(names)


def _say(name: str, more: str = "") -> None:
    print(name, more, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
