"""What the sdist and the wheel must hold, and may not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

LICENCES = ("LICENSE", "THIRD_PARTY_LICENSES.md")
LEFT_OUT = (".ci", "benchmarks", "build", "reproduce")
"""Folders that are no part of the sdist."""

_BUILT_FROM = ("CMakeLists.txt", "pyproject.toml", "README.md", "SECURITY.md", *LICENCES)
_MOST_FILE, _MOST_ALL = 1 << 18, 1 << 22  # bytes
_MODULE = re.compile(r"pegasos/_core\.[\w-]+\.(so|pyd)")
_INFO = re.compile(r"pegasos-[^/]+\.dist-info/(.+)")
_INFO_FILES = {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}


def faults_of_sdist(sizes: Mapping[str, int], tracked: Iterable[str]) -> list[str]:
    """``sizes`` by name, without the folder that an sdist begins with; ``tracked`` by git."""
    known = {*tracked, "PKG-INFO"}
    found = [f"does not hold {name}" for name in _BUILT_FROM if name not in sizes]
    for folder in ("core/", "src/pegasos/"):
        missing = [name for name in known if name.startswith(folder) and name not in sizes]
        found += [f"does not hold {name}" for name in sorted(missing)]
    for name, size in sorted(sizes.items()):
        if name.split("/")[0] in LEFT_OUT:
            found.append(f"holds {name}")
        elif name not in known:
            found.append(f"holds {name}, which git does not know")
        if size > _MOST_FILE:
            found.append(f"holds {name} of {size:,} bytes")
    if sum(sizes.values()) > _MOST_ALL:
        found.append(f"has {sum(sizes.values()):,} bytes")
    return found


def faults_of_wheel(names: Iterable[str], tracked: Iterable[str]) -> list[str]:
    """A wheel is the package as it is in src/, the compiled module, and what is said about them."""
    package = {name.removeprefix("src/") for name in tracked if name.startswith("src/pegasos/")}
    wanted = {*package, "pegasos/py.typed", "pegasos/report/template/page.html"}
    info = _INFO_FILES | {f"licenses/{name}" for name in LICENCES}
    there, told, modules, found = set(), set(), 0, []
    for name in names:
        about = _INFO.fullmatch(name)
        modules += _MODULE.fullmatch(name) is not None
        if about is not None:
            told.add(about[1])
        elif name in wanted:
            there.add(name)
        elif not _MODULE.fullmatch(name):
            found.append(f"holds {name}, which is no part of the package")
    found += [f"does not hold {name}" for name in sorted(wanted - there)]
    found += [f"does not hold its {name}" for name in sorted(info - told)]
    found += [f"holds {name}, which says nothing about it" for name in sorted(told - info)]
    if modules != 1:
        found.append(f"holds {modules} compiled modules")
    return found
