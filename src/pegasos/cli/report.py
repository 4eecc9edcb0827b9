"""``pegasos report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pegasos.cli.arguments import ModelFile, Overwrite, ReadArguments, SayArguments, Threads, takes
from pegasos.cli.exits import CommandError, ends

if TYPE_CHECKING:
    from pegasos.data.dataset import Options
    from pegasos.model.linear import LinearModel
    from pegasos.report import Report, Scored


@ends
@takes
def report(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows with labels, to try it on.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The page; MODEL.html without it.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Of the page.")] = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    *,
    read: ReadArguments,
    say: SayArguments,
) -> None:
    """Make a page about a model: what is proven, how well it predicts, what it goes by.

    One file of HTML that loads nothing, for any browser, for paper and for phones.

    Examples:

      pegasos report a9a.model a9a.t -o report.html

      pegasos report reviews.model new.csv --title "Reviews, March"
    """
    from pegasos.cli.reading import options_like
    from pegasos.cli.saving import check_target
    from pegasos.cli.say import Voice
    from pegasos.export import read_any

    voice = Voice(say)
    target = out or model.with_name(f"{model.name}.html")
    check_target(target, overwrite, "a report")
    found = read_any(model)
    options = options_like(found, data, read, labels=True, n_jobs=threads)
    made = report_on(found, model, data, options, title=title)
    made.save(target, overwrite=overwrite)
    voice.tell(f"the report is in {target}")
    voice.result(report=str(target))
    voice.finish()


def report_on(
    model: LinearModel,
    origin: Path,
    data: Path,
    options: Options,
    *,
    title: str | None = None,
    trained: bool | None = None,
) -> Report:
    """The report of a model on the rows of a file; ``trained``: whether they are its own."""
    from pegasos.cli.predict import prepared_blocks
    from pegasos.report import Rows, Scored, about_model, make
    from pegasos.report.facts import digest_of

    scored = Scored(about_model(model, origin=str(origin)))
    skipped, widest, notes = 0, 0, dict[str, None]()
    for block, X in prepared_blocks(model, data, options):
        if block.y is None:
            raise CommandError(f"{data} has no labels to compare predictions with")
        scored.add(
            model.scores(X),
            block.y,
            weight=block.sample_weight,
            probabilities=None if model.calibrators is None else model.probabilities(X),
            X=X,
            text=block.text,
            label_names=block.label_names,
        )
        skipped += block.bad_count
        widest = max(widest, 0 if block.X is None else block.X.shape[1])
        notes |= dict.fromkeys(block.notes)
    if not scored.rows:
        raise CommandError(f"{data} has no rows")
    if widest > model.features:
        notes[f"the data have {widest:,} features: those the model has not have no weight"] = None
    if trained is None:
        trained = None if _alike(model, scored) else False
    rows = Rows(
        path=str(data),
        trained=trained,
        digest=digest_of(data),
        weights=f"column {options.weight}" if scored.weighted and options.weight else "",
        skipped=skipped,
        notes=tuple(notes),
    )
    return make(scored, rows, title or f"{origin.name} on {data.name}")


def _alike(model: LinearModel, scored: Scored) -> bool:
    """Whether rows have the size of those trained on, so that they may be the same."""
    known = (model.data.get("rows"), model.data.get("values"))
    return None in known or known == (scored.rows, scored.values)
