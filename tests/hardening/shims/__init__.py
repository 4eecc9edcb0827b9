"""Libraries that make the system fail on purpose, compiled when first used."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def built(name: str) -> Path:
    """The library of that name; RuntimeError where it cannot be compiled."""
    source = HERE / name
    target = ROOT / "build" / "hardening" / f"{source.stem}.so"
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    compiler = os.environ.get("CXX", "c++") if source.suffix == ".cpp" else "cc"
    if shutil.which(compiler) is None:
        raise RuntimeError(f"no compiler {compiler} for {source.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(f".{os.getpid()}.so")
    subprocess.run(
        [compiler, "-O1", "-g", "-shared", "-fPIC", "-o", temporary, source, "-ldl"], check=True
    )
    temporary.replace(target)
    return target
