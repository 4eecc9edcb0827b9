"""What was run so far: build/hardening/results.json, an entry for each campaign."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from tests.hardening.runner import ROOT, Tally

PATH = ROOT / "build" / "hardening" / "results.json"


@dataclass
class Entry:
    """A row of the table."""

    numbers: int = 0  # cases begin after these
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    late: float | None = None  # the 99th percentile of what was measured
    sanitized: int = 0  # cases that ran under the sanitizers
    date: str = ""


def results(names: Iterable[str] | None = None) -> dict[str, Entry]:
    """All entries, or those of some names."""
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    entries = {name: Entry(**values) for name, values in known.items()}
    return entries if names is None else {n: entries[n] for n in names if n in entries}


def numbers(name: str) -> int:
    """Where a campaign goes on."""
    return results().get(name, Entry()).numbers


def replace(name: str, tally: Tally) -> None:
    """Keep a run instead of what was there."""
    _write(name, Entry(), tally, sanitized=False)


def add(name: str, tally: Tally, *, sanitized: bool = False) -> None:
    """Keep a run with what was there."""
    _write(name, results().get(name, Entry()), tally, sanitized=sanitized)


def _write(name: str, entry: Entry, tally: Tally, *, sanitized: bool) -> None:
    entry.numbers += tally.numbers
    entry.cases += tally.cases
    entry.failures = entry.failures + tally.failures
    entry.sanitized += tally.cases if sanitized else 0
    late = tally.late()
    entry.late = late if entry.late is None else max(entry.late, late or 0.0)
    entry.date = datetime.date.today().isoformat()
    known = {key: asdict(value) for key, value in (results() | {name: entry}).items()}
    PATH.parent.mkdir(parents=True, exist_ok=True)
    temporary = PATH.with_suffix(".tmp")
    temporary.write_text(json.dumps(known, indent=1))
    temporary.replace(PATH)
