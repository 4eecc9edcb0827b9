"""How commands run and end: exit codes, errors in words, signals."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import FrameType
from typing import Any

import typer

from pegasos.cli.arguments import SayArguments

CERTIFIED = 0
ERROR = 1
USAGE = 2
ABOVE_TOL = 3  # saved, but the gap is above tol
INTERRUPTED = 130  # saved, if there was something to save


class CommandError(Exception):
    """What a command cannot do, in words."""


class UsageError(CommandError):
    """Options that are none, or contradict each other."""


def run(name: str, given: Any) -> None:
    """Run a command by its name; errors are one line on stderr, SIGTERM is as Ctrl-C.

    The command may return an exit code.
    """
    # Shells start jobs of scripts with Ctrl-C ignored: here it saves the model.
    if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.SIG_IGN):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _as_interrupt)
    voice = None
    try:
        from pegasos.cli.say import Voice  # which imports NumPy

        voice = Voice(getattr(given, "say", SayArguments()))
        code = getattr(importlib.import_module(f"pegasos.cli.{name}"), name)(voice, given)
        voice.finish()
        raise typer.Exit(code or CERTIFIED)
    except KeyboardInterrupt:
        kept = "nothing was saved" if voice is None else voice.kept
        print(f"pegasos: interrupted: {kept}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read the results has seen enough; Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ERROR) from None
    except MemoryError:
        print("pegasos: error: out of memory", file=sys.stderr)
        raise typer.Exit(ERROR) from None
    except (CommandError, ValueError, OSError, ImportError) as error:
        from pegasos.wording import visible

        print(f"pegasos: error: {visible(_text(error))}", file=sys.stderr)
        if "PEGASOS_DEBUG" in os.environ:
            raise
        raise typer.Exit(USAGE if isinstance(error, UsageError) else ERROR) from None


def _text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror}"
    return str(error)


def _as_interrupt(_: int, frame: FrameType | None) -> None:
    from pegasos.run.interrupt import Interruption

    Interruption.request(frame)
