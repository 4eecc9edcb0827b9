"""``pegasos report``."""

from __future__ import annotations

from pathlib import Path

from pegasos.cli import commands
from pegasos.cli.exits import CommandError
from pegasos.cli.predict import Tally, prepared_blocks
from pegasos.cli.reading import options_like
from pegasos.cli.saving import check_target, digest_of
from pegasos.cli.say import Voice
from pegasos.data.dataset import Options
from pegasos.export import read_any
from pegasos.model.linear import LinearModel
from pegasos.report import Report, Rows, Scored, about_model, make


def report(voice: Voice, given: commands.Report) -> None:
    """Make a page about a model."""
    target = given.out or given.model.with_name(f"{given.model.name}.html")
    check_target(target, given.overwrite, "a report")
    model = read_any(given.model)
    options = options_like(model, given.data, given.read, labels=True, n_jobs=given.threads)
    made = report_on(model, given.model, given.data, options, title=given.title)
    save_report(voice, made, target, given.overwrite)


def save_report(voice: Voice, made: Report, target: Path, overwrite: bool) -> None:
    """Write the page, and say so."""
    made.save(target, overwrite=overwrite)
    voice.tell(f"the report is in {target}")
    voice.result(report=str(target))


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
    scored = Scored(about_model(model, origin=str(origin)))
    tally = Tally(scored)
    for block, X in prepared_blocks(model, data, options):
        if block.y is None:
            raise CommandError(f"{data} has no labels to compare predictions with")
        p = None if model.calibrators is None else model.probabilities(X)
        scores, weight = model.scores(X), block.sample_weight
        tally.add(block, scores, weight=weight, probabilities=p, X=X, text=block.text)
    if not scored.rows:
        raise CommandError(f"{data} has no rows")
    if tally.widest > model.features:
        tally.notes |= {
            f"the data have {tally.widest:,} features: those the model has not have no weight": None
        }
    if trained is None:  # rows of another size are others
        known = (model.data.get("rows"), model.data.get("values"))
        trained = None if None in known or known == (scored.rows, scored.values) else False
    rows = Rows(
        path=str(data),
        trained=trained,
        digest=f"SHA-256 {digest_of(data)}" if data.is_file() else "",
        weights=f"column {options.weight}" if scored.weighted and options.weight else "",
        skipped=tally.skipped,
        notes=tuple(tally.notes),
    )
    return make(scored, rows, title or f"{origin.name} on {data.name}")
