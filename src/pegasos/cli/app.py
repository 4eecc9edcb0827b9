"""The commands by name."""

from __future__ import annotations

import typer

from pegasos.cli.certify import certify
from pegasos.cli.convert import convert
from pegasos.cli.cv import cv
from pegasos.cli.export import export
from pegasos.cli.inspect import inspect
from pegasos.cli.predict import predict
from pegasos.cli.train import train

app = typer.Typer(
    name="pegasos",
    help="Train linear support vector machines, with a proof of how close to the optimum they are.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (train, predict, cv, certify, convert, export, inspect):
    app.command()(command)


@app.command()
def demo() -> None:
    """Train on generated data, side by side with scikit-learn."""
    from pegasos.demo import main as run

    run()


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and exit."),
) -> None:
    """Train linear support vector machines, with a proof of how close to the optimum they are."""
    if version:
        from pegasos import __version__

        print(__version__)
        raise typer.Exit
    del context


def main() -> None:
    """The entry point ``pegasos``."""
    app()
