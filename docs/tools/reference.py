"""The pages of the reference: what is public, by groups, and the command line from its own help."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """A page: names of modules, each with the public names that are on it; () is all of them."""

    title: str
    about: str
    modules: dict[str, tuple[str, ...]]


GROUPS = {
    "estimators": Group(
        "Estimators",
        "What you fit. They have scikit-learn's interface, and a certificate.",
        {"pegasos": ("LinearSVC", "LinearSVCCV", "SVC")},
    ),
    "solve": Group(
        "Solving and proofs",
        "For people who study solvers: one problem, any solver, and what a run leaves behind.",
        {"pegasos": ("solve", "certify", "Result", "Certificate", "History", "Record")},
    ),
    "solvers": Group(
        "Solvers",
        "Each is a frozen configuration for `solve` and the estimators; "
        "[the mathematics](../mathematics.md) has their formulas.",
        {
            "pegasos": (
                "DualCoordinate", "Newton", "InteriorPoint", "Pegasos", "SGDR", "SGDS", "SGDM",
                "KernelPegasos",
            )
        },
    ),
    "losses": Group(
        "Losses",
        "What a row loses by its margin: `loss=` takes one of these, or its name.",
        {"pegasos.losses": ("Hinge", "SquaredHinge", "Loss", "named")},
    ),
    "models": Group(
        "Models and files of them",
        "Saving, loading, and the formats of others.",
        {
            "pegasos": (
                "save", "load", "LinearModel", "ModelFileError", "NewerFormatError",
                "CheckpointError",
            ),
            "pegasos.export": (),
        },
    ),
    "data": Group(
        "Data",
        "Files to rows, rows that do not fit memory, and generated data.",
        {
            "pegasos.data": (),
            "pegasos.data.chunks": ("open_chunks", "spill", "CacheChunks", "ArrayChunks"),
            "pegasos.data.convert": ("convert",),
            "pegasos.data.svmlight": ("write_svmlight",),
            "pegasos.data.synthetic": ("make_news",),
            "pegasos.data.reviews": ("make_reviews", "write_reviews"),
        },
    ),
    "dask": Group("On a cluster", "Rows on many machines.", {"pegasos.dask": ()}),
    "trackers": Group(
        "Trackers",
        "Callbacks that write down how a run goes.",
        {"pegasos.trackers": ()},
    ),
    "plots": Group(
        "Pictures and versions",
        "Drawn with matplotlib (extra `demo`).",
        {"pegasos": ("GapCurveDisplay", "PathDisplay", "MarginsDisplay", "show_versions")},
    ),
}  # fmt: skip

WHOLE = (
    "pegasos", "pegasos.dask", "pegasos.data", "pegasos.export", "pegasos.losses",
    "pegasos.trackers",
)  # fmt: skip
"""Modules of which every public name has its place."""


def public(module: str) -> list[str]:
    """The public names of a module: ``__all__``, or what it defines without an underscore."""
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return sorted(found.__all__)
    return sorted(
        name
        for name, value in vars(found).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module
    )


def documented() -> set[str]:
    """All names that are on the pages, with their modules."""
    return {f"{module}.{name}" for group in GROUPS.values() for module, name in _names(group)}


def home(module: str, name: str) -> str:
    """Where a public name is defined: ``pegasos.solve`` is a module of that name, too."""
    found = getattr(importlib.import_module(module), name)
    if inspect.isclass(found) or inspect.isfunction(found):
        return f"{found.__module__}.{found.__qualname__}"
    return f"{module}.{name}"


def page(group: Group) -> str:
    """A page for mkdocstrings."""
    lines = [f"# {group.title}", "", group.about, ""]
    last = None
    for module, name in _names(group):
        if module != last and len(group.modules) > 1:
            lines += [f"## {module}", ""]
        last = module
        level = 3 if len(group.modules) > 1 else 2
        lines += [f"::: {home(module, name)}", f"    options: {{heading_level: {level}}}", ""]
    return "\n".join(lines)


def command_line() -> str:
    """A page of the commands."""
    from typer.main import get_command

    from pegasos.cli.app import make_app

    app = get_command(make_app())
    lines = ["# Command line", "", _indented_as_code(app.help or ""), ""]
    lines += ["Results go to stdout, words for people to stderr.", ""]
    for name, command in app.commands.items():  # type: ignore[attr-defined]
        lines += [f"## pegasos {name}", "", _indented_as_code(command.help or ""), ""]
        for kind, heading in (("argument", "Argument"), ("option", "Option")):
            rows = [_row(p) for p in command.params if p.param_type_name == kind]
            if rows:
                lines += [f"| {heading} | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _names(group: Group) -> list[tuple[str, str]]:
    return [(m, name) for m, names in group.modules.items() for name in names or public(m)]


def _row(parameter: object) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]  # type: ignore[attr-defined]
    text = (getattr(parameter, "help", "") or "").replace("|", "\\|")
    default = getattr(parameter, "default", None)
    if isinstance(default, str | int | float) and not isinstance(default, bool):
        text += f" Default: `{default}`."
    return f"| {', '.join(f'`{name}`' for name in names)} | {text} |"


def _indented_as_code(text: str) -> str:
    """Examples are indented by two; Markdown wants four, and no blank lines in between."""
    lines: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        code = line.startswith("  ") or line.startswith("pegasos ")
        if code and len(lines) > 1 and not lines[-1] and lines[-2].startswith("    "):
            lines.pop()
        lines.append(f"    {line.strip()}" if code else line)
    return "\n".join(lines)
