"""python -m tests.supply: builds what is given away, and looks at it. `make supply` runs it.

With the interpreter of the group `supply`, which has the tools. Everything goes to build/supply.
"""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.supply import dependencies
from tests.supply.contents import faults_of_sdist, faults_of_wheel
from tests.supply.platforms import configuration
from tests.supply.run import (
    DIST,
    FRESH,
    PLACE,
    ROOT,
    FaultError,
    NotCheckedError,
    python,
    run,
    tool,
)


def main() -> int:
    """Print one table; 1 if anything failed."""
    counts = {"passed": 0, "failed": 0, "not checked": 0}
    for name, check in CHECKS.items():
        print(f"{name:<22}", end="", flush=True)
        try:
            result, detail = "passed", check()
        except FaultError as fault:
            result, detail = "failed", str(fault)
        except NotCheckedError as reason:
            result, detail = "not checked", str(reason)
        counts[result] += 1
        print(f"{result}: {detail}")
    print(", ".join(f"{count} {result}" for result, count in counts.items()))
    if counts["not checked"]:
        print("Nothing is said about what was not checked: run it where there is an answer.")
    return int(counts["failed"] > 0)


def build() -> str:
    """The sdist, and from it the wheel, each built in an environment of its own."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)
    return " and ".join(path.name for path in sorted(DIST.iterdir()))


def sdist() -> str:
    """The sdist holds what a build needs, and nothing that is not for others."""
    with tarfile.open(_one("*.tar.gz")) as archive:
        sizes = {one.name.split("/", 1)[1]: one.size for one in archive if one.isfile()}
    _raise(faults_of_sdist(sizes, _tracked()))
    return f"{len(sizes)} files, {sum(sizes.values()):,} bytes"


def wheel() -> str:
    """The wheel holds the package and the licences, and nothing else."""
    with zipfile.ZipFile(_one("*.whl")) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    _raise(faults_of_wheel(names, _tracked()))
    return f"{len(names)} files, {_one('*.whl').stat().st_size:,} bytes"


def system() -> str:
    """Which Linux systems the wheel runs on: those as new as this one."""
    if sys.platform != "linux":
        raise NotCheckedError("auditwheel is for Linux")
    said = " ".join(run(tool("auditwheel"), "show", _one("*.whl")).split())
    found = re.search(r'following platform tag: "(\w+)"', said)
    if found is None or not found[1].startswith("manylinux"):
        raise FaultError(said)
    return found[1]


def trained() -> str:
    """The wheel, installed where nothing else is, trains a model."""
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", FRESH)
    run(sys.executable, "-m", "pip", "--python", python(), "install", _one("*.whl"))
    run(sys.executable, "-m", "pip", "--python", python(), "check")
    folder = PLACE / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return run(python(), ROOT / "tests/supply/smoke.py", within=folder).splitlines()[-1]


CHECKS: dict[str, Callable[[], str]] = {
    "sdist, wheel from it": build,
    "contents of sdist": sdist,
    "contents of wheel": wheel,
    "auditwheel show": system,
    "installed and trained": trained,
    "pip-audit": dependencies.audit,
    "licences": dependencies.licences,
    "SBOM": dependencies.sbom,
    "cibuildwheel": configuration,
}


def _one(pattern: str) -> Path:
    found = list(DIST.glob(pattern))
    if len(found) != 1:
        raise FaultError(f"{len(found)} files {pattern} in {DIST.relative_to(ROOT)}")
    return found[0]


def _tracked() -> list[str]:
    return run("git", "ls-files").splitlines()


def _raise(faults: list[str]) -> None:
    if faults:
        raise FaultError("; ".join(faults))


if __name__ == "__main__":
    sys.exit(main())
