"""The table of what was run, as text and as docs/reliability.md."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from tests.hardening.campaigns import CAMPAIGNS
from tests.hardening.runner import ROOT
from tests.hardening.store import Entry
from tests.hardening.suites import SUITES

PAGE = ROOT / "docs" / "reliability.md"
SAYS = {name: one.says for name, one in (CAMPAIGNS | SUITES).items()}

_PROSE = Path(__file__).with_name("page.md")


def text(rows: dict[str, Entry]) -> str:
    """For a terminal."""
    lines = [f"{'test':<22}{'cases':>12}{'failures':>10}"]
    for name, entry in rows.items():
        lines.append(f"{name:<22}{entry.cases:>12,}{len(entry.failures):>10}")
        lines += [f"    {failure[:300]}" for failure in entry.failures[:5]]
    return "\n".join(lines)


def page(rows: dict[str, Entry]) -> str:
    """docs/reliability.md."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("pegasos", "numpy", "scikit-learn"))
    dates = sorted({entry.date for entry in rows.values()})
    lines = [
        f"Run {dates[0]} to {dates[-1]}, Python {platform.python_version()}, {versions}.\n",
        "| promise | cases | failures | |",
        "|---|---|---|---|",
    ]
    for name, says in SAYS.items():
        if name not in rows:
            continue
        entry = rows[name]
        more = [f"99% within {entry.late:.2g}"] if entry.late is not None else []
        if entry.sanitized:
            more.append(f"{entry.sanitized:,} under ASan and UBSan")
        lines.append(f"| {says} (`{name}`) | {entry.cases:,} | {len(entry.failures)} | "
                     f"{'; '.join(more)} |")  # fmt: skip
    return _PROSE.read_text().replace("{table}", "\n".join(lines))


def write_page(rows: dict[str, Entry]) -> None:
    """Write it."""
    PAGE.write_text(page(rows))
