"""``pegasos reproduce``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from pegasos.cli.commands import Reproduce
from pegasos.cli.exits import CommandError, UsageError
from pegasos.cli.say import Voice


def reproduce(voice: Voice, given: Reproduce) -> None:
    """Run reproductions, or list them."""
    names = given.names or []
    if names and given.everything:
        raise UsageError("give names, or --all, not both")
    root = clone(Path.cwd())
    experiment, page, known = _package(root)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no reproduction {unknown[0]!r}; there are {', '.join(known)}")
    folder = root / "reproduce" if given.output is None else given.output
    chosen = known if given.everything else names
    if chosen:
        experiment.prepare(folder)
    for name in chosen:
        voice.tell(f"{name}: {experiment.by_name(name).TITLE}")
        result = experiment.run(name)
        experiment.store(result, folder)
        page.write(folder)
        voice.tell(f"  {result['verdict']} ({result['seconds']:.0f} s). {result['reason']}")
    voice.table("reproductions", [_state(experiment, name, folder) for name in chosen or known])
    if chosen:
        voice.tell(f"the page is {folder / page.NAME}")


def clone(start: Path) -> Path:
    """The source tree that ``start`` is in."""
    for folder in (start, *start.parents):
        project = folder / "pyproject.toml"
        found = (folder / "reproduce" / "__init__.py").is_file() and project.is_file()
        if found and 'name = "pegasos"' in project.read_text(errors="replace"):
            return folder
    raise CommandError(
        f"no reproductions at {start}: they come with the source tree, not with the package; clone "
        "the repository and run this inside it"
    )


def _package(root: Path) -> tuple[Any, Any, tuple[str, ...]]:
    """The tree's own packages: ``reproduce``, and ``benchmarks`` which it uses."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    experiment, page = (
        importlib.import_module(f"reproduce.{name}") for name in ("experiment", "page")
    )
    return experiment, page, importlib.import_module("reproduce").NAMES


def _state(experiment: Any, name: str, folder: Path) -> dict[str, Any]:
    """A line of the list: what it is, and what came out last."""
    result = experiment.load(name, folder) or {}
    return {
        "name": name,
        "verdict": result.get("verdict", "not run"),
        "seconds": result.get("seconds"),
        "date": result.get("date"),
        "title": experiment.by_name(name).TITLE,
    }
