"""The command line, made of the commands."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterable
from functools import partial

import typer

from pegasos.cli.arguments import callback
from pegasos.cli.commands import COMMANDS
from pegasos.cli.exits import run


def make_app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line, or some of its commands."""
    made = typer.Typer(
        name="pegasos",
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # Importing rich takes longer than many commands do.
        rich_markup_mode="rich" if {"-h", "--help"} & set(sys.argv) else None,
    )
    made.callback(invoke_without_command=True)(_about)
    for name in commands:
        made.command(name)(callback(COMMANDS[name], partial(run, name)))
    return made


def _about(
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Train linear support vector machines, with a proof of how close to the optimum they are."""
    if version:
        from pegasos import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """The entry point ``pegasos``."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback before a command runs
    gc.freeze()  # what is imported stays: there is no point in looking through it
    make_app([name for name in COMMANDS if name in sys.argv[1:2]] or COMMANDS)()
