"""Runs the cases of a campaign, one after the other: python -m tests.hardening.worker

The number of the case at work stands on a board, a file that runner.py watches: when this process
dies, or does not come back, that is the case to blame.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

BOARD = struct.Struct("<qqq")  # the number at work, how many are done, how many were cases


def main(name: str, first: int, most: int, seconds: float, folder: Path) -> None:
    """Run cases until there are no more, or the time is over."""
    from tests.hardening.campaign import NO_CASE
    from tests.hardening.campaigns import CAMPAIGNS

    campaign = CAMPAIGNS[name]
    if "PEGASOS_FROM" in os.environ:
        import pegasos

        assert pegasos.__file__.startswith(os.path.abspath(os.environ["PEGASOS_FROM"]))
    with (folder / "board").open("r+b") as file:
        board = mmap.mmap(file.fileno(), BOARD.size)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs begin without
    context = campaign.start(folder)
    signal.signal(signal.SIGPROF, _hangs)
    if campaign.memory is not None and "libasan" not in os.environ.get("LD_PRELOAD", ""):
        _limit_memory(campaign.memory)
    ends = time.monotonic() + seconds
    log = (folder / "log").open("a")
    cases = 0
    for done, number in enumerate(range(first, first + most)):
        board[:] = BOARD.pack(number, done, cases)
        cases += 1
        found: dict[str, Any] = {}
        signal.setitimer(signal.ITIMER_PROF, campaign.cpu_seconds)
        try:
            measured = campaign.case(context, number)
            if measured == NO_CASE:
                cases -= 1
            elif measured is not None:
                found = {"case": number, "measured": float(measured)}
        except BaseException as error:  # whatever it is, the case has failed
            found = {"case": number, "failed": f"{type(error).__name__}: {error}"[:500]}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if found:
            log.write(json.dumps(found) + "\n")
            log.flush()
        if time.monotonic() > ends:
            most = done + 1
            break
    board[:] = BOARD.pack(-1, most, cases)


def _hangs(*_: Any) -> None:
    raise TimeoutError("it takes too long")


def _limit_memory(more: int) -> None:
    """Let this process have that much more memory than it has."""
    status = Path("/proc/self/status").read_text()
    has = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (has * 1024 + more, resource.RLIM_INFINITY))


if __name__ == "__main__":
    if "PEGASOS_FROM" in os.environ:  # a build of its own, instead of the editable one
        sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in type(one).__module__]
        sys.path.insert(0, os.environ["PEGASOS_FROM"])
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
