"""``pegasos convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli.arguments import Overwrite, ReadArguments, SayArguments, takes
from pegasos.cli.exits import ends


@ends
@takes
def convert(
    source: Annotated[Path, typer.Argument(help="A data file.")],
    target: Annotated[
        Path, typer.Argument(help="Where it goes; its name says the format, .cache is a cache.")
    ],
    overwrite: Overwrite = False,
    *,
    read: ReadArguments,
    say: SayArguments,
) -> None:
    """Convert data between formats, block by block.

    A cache (a folder NAME.cache) opens at once and is read in place.

    Examples:

      pegasos convert rcv1.svm.gz rcv1.cache

      pegasos convert table.csv rows.svm --label target
    """
    from pegasos.cli.reading import options_of
    from pegasos.cli.saving import refuse_existing
    from pegasos.cli.say import Voice
    from pegasos.data.convert import convert as run

    voice = Voice(say)
    refuse_existing(target, overwrite)
    done = run(source, target, options_of(read), overwrite=overwrite)
    voice.result(rows=done.rows, features=done.features, values=done.values, target=str(target))
    voice.finish()
