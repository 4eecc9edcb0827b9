"""``pegasos export``."""

from __future__ import annotations

from pegasos.cli.commands import Export
from pegasos.cli.exits import UsageError
from pegasos.cli.saving import refuse_existing
from pegasos.cli.say import Voice
from pegasos.export import FORMATS, read_any, write
from pegasos.model import file as model_file

_BY_NAME = {".onnx": "onnx", ".liblinear": "liblinear", ".txt": "liblinear"}


def export(voice: Voice, given: Export) -> None:
    """Write a model in another format."""
    chosen = given.to or _BY_NAME.get(given.target.suffix.lower(), "pegasos")
    if chosen != "pegasos" and chosen not in FORMATS:
        raise UsageError(f"--to must be pegasos, {' or '.join(FORMATS)}, got {chosen}")
    refuse_existing(given.target, given.overwrite)
    model = read_any(given.model)
    if chosen == "pegasos":
        model_file.write(model, given.target, overwrite=given.overwrite)
    else:
        write(model, given.target, chosen, overwrite=given.overwrite)
    voice.result(target=str(given.target), format=chosen)
