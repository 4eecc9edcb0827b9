"""What to put into a bug report."""

from __future__ import annotations

import importlib.metadata
import platform
import sys

from pegasos import _core


def show_versions() -> None:
    """Print the versions in use, and the instruction set the kernels were chosen for."""
    print(f"pegasos       {importlib.metadata.version('pegasos')}")
    print(f"kernels       {_core.instruction_set()} (of {', '.join(_core.instruction_sets())})")
    print(f"python        {sys.version.split()[0]} on {platform.platform()}")
    for name in ("numpy", "scipy", "scikit-learn"):
        print(f"{name:<13} {importlib.metadata.version(name)}")
