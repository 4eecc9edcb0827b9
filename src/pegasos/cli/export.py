"""``pegasos export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli.arguments import ModelFile, Overwrite, SayArguments, takes
from pegasos.cli.exits import UsageError, ends

_BY_NAME = {".onnx": "onnx", ".liblinear": "liblinear", ".txt": "liblinear"}


@ends
@takes
def export(
    model: ModelFile,
    target: Annotated[Path, typer.Argument(help="Where it goes.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--to", help="pegasos, liblinear or onnx; the name says without it (.onnx, .liblinear)."
        ),
    ] = None,
    overwrite: Overwrite = False,
    *,
    say: SayArguments,
) -> None:
    """Write a model in another format.

    Examples:

      pegasos export a9a.model a9a.onnx

      pegasos export a9a.model a9a.liblinear
    """
    from pegasos.cli.saving import refuse_existing
    from pegasos.cli.say import Voice
    from pegasos.export import FORMATS, read_any, write
    from pegasos.model import file as model_file

    voice = Voice(say)
    chosen = format or _BY_NAME.get(target.suffix.lower(), "pegasos")
    if chosen != "pegasos" and chosen not in FORMATS:
        raise UsageError(f"--to must be pegasos, {' or '.join(FORMATS)}, got {chosen}")
    refuse_existing(target, overwrite)
    found = read_any(model)
    if chosen == "pegasos":
        model_file.write(found, target, overwrite=overwrite)
    else:
        write(found, target, chosen, overwrite=overwrite)
    voice.result(target=str(target), format=chosen)
    voice.finish()
