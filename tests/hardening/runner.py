"""Runs campaigns in processes of their own, counts, and goes on after a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.hardening import shims
from tests.hardening.campaign import Campaign
from tests.hardening.worker import BOARD

ROOT = Path(__file__).resolve().parents[2]
_FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a disk in memory
_PATIENCE = 120.0  # seconds by the clock, beyond its limit, before a case's process is ended


@dataclass
class Tally:
    """What came of some cases."""

    numbers: int = 0  # that were tried; some stand for no case
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)

    def late(self) -> float | None:
        """The 99th percentile of what was measured."""
        return sorted(self.measured)[-1 - len(self.measured) // 100] if self.measured else None

    def ended(self, campaign: Campaign) -> Tally:
        """With what only all of them together show."""
        late, most = self.late(), campaign.most_above
        if late is not None and most is not None and late > most:
            self.failures.append(f"the 99th percentile is {late:.3g}, not at most {most:g}")
        return self


def run(
    campaign: Campaign, *, first: int = 0, count: int, seconds: float = 1e9,
    built: str | None = None,
) -> Tally:  # fmt: skip
    """Run ``count`` cases from the ``first``, or as many as the time allows.

    ``built`` is a folder with a build of the package to use instead of the installed one: one with
    sanitizers.
    """
    tally = Tally()
    if campaign.counted is not None:
        count = min(count, campaign.counted() - first)
    ends = time.monotonic() + seconds
    while tally.numbers < count and time.monotonic() < ends:
        with tempfile.TemporaryDirectory(dir=_FAST) as name:
            left = count - tally.numbers
            _one(campaign, tally, first + tally.numbers, left, ends, Path(name), built)
    return tally


def _one(
    campaign: Campaign, tally: Tally, first: int, count: int, ends: float, folder: Path,
    built: str | None,
) -> None:  # fmt: skip
    """Run cases in one process, until it ends or has to be ended."""
    (folder / "board").write_bytes(BOARD.pack(first, 0, 0))
    seconds = max(0.0, ends - time.monotonic())
    command = [sys.executable, "-m", "tests.hardening.worker", campaign.name, str(first),
               str(count), str(seconds), str(folder)]  # fmt: skip
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=said, stderr=said, env=_environment(campaign, built),
            start_new_session=True,
        )  # fmt: skip
    ended, number, done, cases = _watch(process, folder, campaign.cpu_seconds + _PATIENCE)
    for line in (folder / "log").read_text().splitlines() if (folder / "log").exists() else []:
        found = json.loads(line)
        if "measured" in found:
            tally.measured.append(found["measured"])
        else:
            tally.failures.append(f"{campaign.name} {found['case']}: {found['failed']}")
    tally.numbers += done
    tally.cases += cases
    if number >= 0:  # it did not come to its end
        said_last = (folder / "said").read_text(errors="replace")[-2000:]
        tally.failures.append(f"{campaign.name} {number}: {ended}\n{said_last}")
        tally.numbers += 1
        tally.cases += 1


def _watch(
    process: subprocess.Popen[bytes], folder: Path, patience: float
) -> tuple[str, int, int, int]:
    last, since = (-2, -2), time.monotonic()
    while True:
        over = process.poll() is not None
        number, done, cases = BOARD.unpack((folder / "board").read_bytes())
        if over:
            return f"the process ended with {process.returncode}", number, done, cases
        if (number, done) != last:
            last, since = (number, done), time.monotonic()
        elif time.monotonic() - since > patience:
            os.killpg(process.pid, 9)
            process.wait()
            return "it hung", number, done, cases
        time.sleep(0.02)


def _environment(campaign: Campaign, built: str | None) -> dict[str, str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    if campaign.preload is not None:
        environment["LD_PRELOAD"] = str(shims.built(campaign.preload))
    if built is None:
        return environment
    compiler = os.environ.get("CXX", "c++")
    libraries = [
        subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True,
                       check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]  # fmt: skip
    options = "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1"
    return environment | {
        "LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": "halt_on_error=1", "PEGASOS_FROM": built,
    }  # fmt: skip
