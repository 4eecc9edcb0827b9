"""Where and with what a measurement was made: machine, versions, date."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path


def machine():
    """The processor, its cores and its last cache."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "L3": _read("/sys/devices/system/cpu/cpu0/cache/index3/size") or "unknown",
        "memory": _memory(),
        "system": platform.platform(terse=True),
    }


def versions(peers=()):
    """Of Python, the libraries and the peers."""
    known = {"python": platform.python_version()}
    names = ("numpy", "scipy", "scikit-learn", "pegasos")
    known |= {name: metadata.version(name) for name in names}
    return known | {peer.package: peer.version() for peer in peers}


def setting(peers=()):
    """All of it, to be kept beside the results."""
    return {"machine": machine(), "versions": versions(peers), "date": now()}


def show(setting, measured):
    """One paragraph for people; ``measured`` are results that each have their commit."""
    where = setting["machine"]
    named = ", ".join(f"{name} {version}" for name, version in setting["versions"].items())
    commits = ", ".join(dict.fromkeys(result["commit"] for result in measured if result["commit"]))
    return (
        f"{where['cpu']}, {where['cores']} cores, L3 {where['L3']}, {where['memory']}; "
        f"{named}{f'; commit {commits}' if commits else ''}; {setting['date'][:10]}."
    )


def commit():
    """The commit of the working tree, with a + if it was changed since; empty if unknown."""
    here = Path(__file__).parent
    try:
        head = _git(here, "rev-parse", "--short", "HEAD")
        changed = _git(here, "status", "--porcelain", "--", "../src", "../core")
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+" if changed else "")


def now():
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _git(folder, *arguments):
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _cpu():
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory():
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal"):
            return f"{int(line.split()[1]) / 2**20:.0f} GiB"
    return "unknown"


def _read(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
