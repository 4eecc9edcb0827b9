"""How many threads a fit may use."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from pegasos.util.arguments import number

_WORTH_THREADS = 1 << 22  # stored values x lanes; below that one core is as fast
# joblib tells its workers by these how many threads each of them may use.
_LIMITS = ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def resolve(n_jobs: int | None, values: float) -> int:
    """The number of threads for ``n_jobs``, scikit-learn's meaning: -1 is all cores.

    None is as many as affinity, cgroups and joblib leave to this process, for data of so many
    ``values`` (stored x lanes) that they repay it, else 1.
    """
    if n_jobs is None:
        return cores() if values >= _WORTH_THREADS else 1
    if number("n_jobs", n_jobs) != int(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs}")
    threads = int(n_jobs) if n_jobs > 0 else max(1, cores() + 1 + int(n_jobs))
    return min(threads, 1024)


def in_shares(n: int, threads: int, body: Callable[[int, int], None]) -> None:
    """``body(begin, end)`` of equal shares of range(n), each on a thread; the first error raises.

    Threads live for this call alone, so a fork afterwards is harmless.
    """
    if threads <= 1:
        body(0, n)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    ends = [n * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(body, *share) for share in pairwise(ends[:-1])]
        body(*ends[-2:])
        for other in others:
            other.result()


def cores(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = _quota(cgroup)
    if quota is not None:
        count = min(count, quota)
    for name in _LIMITS:
        with suppress(KeyError, ValueError):
            count = min(count, int(os.environ[name]))
    return max(1, count)


def _quota(root: Path) -> int | None:
    """Whole cores of the cgroup's CPU quota, rounded up; None without one."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (root / "cpu.max").read_text().split()
        return -(-int(quota) // int(period))
    with suppress(OSError, ValueError, ZeroDivisionError):
        quota = (root / "cpu/cpu.cfs_quota_us").read_text()
        period = (root / "cpu/cpu.cfs_period_us").read_text()
        return -(-int(quota) // int(period)) if int(quota) > 0 else None
    return None
