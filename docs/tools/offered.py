"""The page of what is offered: tables from the code, with a note for every empty cell.

    python -m docs.tools.offered [--write]

Without ``--write`` the command says whether docs/offered.md is what the code says now. It needs the
extras ``dask`` and ``gpu``, whose sites are asked, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from docs.tools.blocks import ROOT
from docs.tools.fits import AXES, KERNEL_AXES, Fit, KernelFit, kernel_refusal, refusal

from pegasos.tasks import offered
from pegasos.tasks.offered import TASKS

PAGE = ROOT / "docs/offered.md"
WRITE = "python -m docs.tools.offered --write"

INTRODUCTION = """# What is offered

<!-- Written by `{write}`: change the code, not this page. -->

A fit has a task, a solver, a loss, an intercept and a site, which is where the rows are.
It is offered if every two of them have a ✓ in the tables below. A number leads to a note under its
table: the words of the error, which comes before work starts. In notes, “…” is what you asked for.

`LinearSVC` and `LinearSVCCV` do the tasks; `pegasos.solve` trains two classes, or lanes with labels
of their own, by the same solvers at the same sites. `"auto"` stands for whatever suits the rest: an
exact solver, or `CrammerSinger` for its task; the free intercept, or the regularized one.
"""

SITES = """The sites are arrays and matrices in memory, blocks of `pegasos.data.chunks` on disk, the
workers of [a cluster](cluster.md), and [a device](gpu.md). Rows that do not fit a device are
streamed through it.
"""

KERNELS = """`SVC` trains the hinge loss on rows in memory: the kernel's own problem, or that of an
approximation. The second table has the solvers that the first one offers.
"""


class Table:
    """Rows and columns of ✓ and notes."""

    def __init__(self, corner: str, columns: Sequence[str]) -> None:
        """Begin with the headings."""
        rule = "|".join(["---", *(":-:" for _ in columns)])
        self.lines = [f"| {corner} | {' | '.join(columns)} |", f"|{rule}|"]
        self.notes: dict[str, int] = {}

    def row(self, name: str, reasons: Sequence[str | None]) -> None:
        """None is a ✓; the same reason has the same number."""
        cells = ["✓" if reason is None else self._note(reason) for reason in reasons]
        self.lines.append(f"| {name} | {' | '.join(cells)} |")

    def _note(self, reason: str) -> str:
        return str(self.notes.setdefault(reason, len(self.notes) + 1))

    def __str__(self) -> str:
        """The notes are under the table."""
        notes = [f"{number}. {reason}" for reason, number in self.notes.items()]
        return "\n".join([*self.lines, "", *notes, ""])


def page() -> str:
    """As the code says it now."""
    site, loss = ({axis: AXES[axis]} for axis in ("site", "loss"))
    intercept = {"intercept": AXES["intercept"][1:]}  # "auto" goes with all
    return "\n".join(
        [
            INTRODUCTION.format(write=WRITE),
            "## Solvers at sites\n",
            SITES,
            _table("solver", site),
            "## Solvers, losses and intercepts\n",
            _table("solver", loss | intercept),
            "## Tasks at sites\n",
            _table("task", site),
            "## Tasks and solvers\n",
            _table("task", {"solver": AXES["solver"]}),
            "## Tasks, losses and intercepts\n",
            _table("task", loss | intercept),
            "## Kernels\n",
            KERNELS,
            *_kernels(),
        ]
    )


def _table(rows: str, columns: dict[str, Sequence[str]]) -> str:
    """Of pairs: an entry of the axis ``rows``, and one of each of the others."""
    pairs = [(axis, value) for axis, values in columns.items() for value in values]
    table = Table(rows.capitalize(), [_shown(*pair) for pair in pairs])
    for name in AXES[rows]:
        fits = [replace(Fit(**{rows: name}), **{axis: value}) for axis, value in pairs]
        table.row(_shown(rows, name), [_general(refusal(fit), fit) for fit in fits])
    return str(table)


def _kernels() -> list[str]:
    """Which solvers train which kernel, and what they train on it."""
    kernels, solvers = KERNEL_AXES["kernel"], KERNEL_AXES["solver"]
    first = Table("Kernel", [_shown("solver", solver) for solver in solvers])
    pairs = [(axis, value) for axis in ("intercept", "task") for value in KERNEL_AXES[axis]]
    pairs.remove(("intercept", "auto"))
    second = Table("Kernel, solver", [_shown(*pair) for pair in pairs])
    for kernel in kernels:
        fits = [KernelFit(kernel=kernel, solver=solver) for solver in solvers]
        first.row(kernel, [_general(kernel_refusal(fit), fit) for fit in fits])
    for kernel, solver in product(kernels, solvers):
        fit = KernelFit(kernel=kernel, solver=solver)
        if kernel_refusal(fit) is None:
            fits = [replace(fit, **{axis: value}) for axis, value in pairs]
            reasons = [_general(kernel_refusal(fit), fit) for fit in fits]
            second.row(f"{kernel}, `{solver}`", reasons)
    return [str(first), str(second)]


def _shown(axis: str, value: str) -> str:
    """Words as they are, names as code."""
    return value if axis in ("site", "task") else f"`{value}`"


def _general(reason: str | None, fit: Fit | KernelFit) -> str | None:
    """The reason without what was asked for, so that all that ask alike have the same one."""
    if reason is None:
        return None
    option = TASKS[fit.task]
    if reason in at_sites(fit.task):
        reason = reason.replace(f"'{option.name}'", "…").replace(option.told, "…")
    for words in ("solver", "got"):
        reason = reason.replace(f"{words} {fit.solver!r}", f"{words} …")
    return reason


def at_sites(task: str) -> set[str | None]:
    """What sites say of a task, whatever else is asked for."""
    return {offered.refusal(task, site) for site in AXES["site"]}


def main() -> None:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(prog="docs.tools.offered")
    parser.add_argument("--write", action="store_true", help="write docs/offered.md")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"docs/offered.md is out of date: {WRITE}")


if __name__ == "__main__":
    main()
