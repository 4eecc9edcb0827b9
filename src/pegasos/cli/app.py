"""The commands by name."""

from __future__ import annotations

import gc
import importlib
import signal
import sys

import typer

COMMANDS = (
    "train", "predict", "cv", "certify", "convert", "export", "inspect", "report", "reproduce",
    "demo",
)  # fmt: skip
"""Each is a function in the module of its name."""


def make_app(commands: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """The command line; of the commands, only those named are imported."""
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
        made.command(name)(getattr(importlib.import_module(f"pegasos.cli.{name}"), name))
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
    named = tuple(name for name in COMMANDS if name in sys.argv[1:2])
    make_app(named or COMMANDS)()
