"""``pegasos convert``."""

from __future__ import annotations

from pegasos.cli.commands import Convert
from pegasos.cli.reading import options_of
from pegasos.cli.saving import refuse_existing
from pegasos.cli.say import Voice
from pegasos.data.convert import convert as run


def convert(voice: Voice, given: Convert) -> None:
    """Write a data file in another format."""
    refuse_existing(given.target, given.overwrite)
    done = run(given.source, given.target, options_of(given.read), overwrite=given.overwrite)
    voice.result(
        rows=done.rows, features=done.features, values=done.values, target=str(given.target)
    )
