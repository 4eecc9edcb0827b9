"""The wheels that cibuildwheel is asked for, of pyproject.toml. None but Linux's has been built."""

from __future__ import annotations

from itertools import product

from tests.supply.run import FaultError, run, tool

PYTHONS = ("cp311", "cp312", "cp313", "cp314")
SYSTEMS = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64"),
    "macos": ("macosx_arm64", "macosx_x86_64"),
    "windows": ("win_amd64",),
}


def configuration() -> str:
    """Cibuildwheel reads its configuration, and would build these wheels."""
    count = 0
    for system, kinds in SYSTEMS.items():
        said = run(tool("cibuildwheel"), "--print-build-identifiers", "--platform", system)
        wanted = {f"{version}-{kind}" for version, kind in product(PYTHONS, kinds)}
        if set(said.split()) != wanted:
            raise FaultError(f"{system}: {', '.join(sorted(set(said.split()) ^ wanted))}")
        count += len(wanted)
    return f"{count} wheels of {', '.join(SYSTEMS)} are configured; only one is built here"
