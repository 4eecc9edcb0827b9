"""python -m tests.hardening.mutmut_until SECONDS: mutmut, which begins no mutant after that.

It keeps a verdict once a mutant has one: between two of them it can end without losing any.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from mutmut.__main__ import _run
from mutmut.workers.isolation import ForkRunner


def main() -> None:
    """Run it in this folder."""
    seconds = float(sys.argv[1])
    submit, startup = ForkRunner.submit, ForkRunner.startup
    ends = 0.0

    def started(self: ForkRunner) -> None:
        nonlocal ends
        startup(self)
        ends = time.monotonic() + seconds

    def submit_in_time(self: ForkRunner, *mutant: Any) -> None:
        if time.monotonic() > ends:
            raise KeyboardInterrupt  # which it takes for a wish to stop
        submit(self, *mutant)

    ForkRunner.startup, ForkRunner.submit = started, submit_in_time  # type: ignore[method-assign]
    pytest.Item._nodeid = property(lambda self: self.nodeid)  # mutmut 3.8 asks for what is gone
    _run((), 1)  # one at a time: what they are tried by is timed


if __name__ == "__main__":
    main()
