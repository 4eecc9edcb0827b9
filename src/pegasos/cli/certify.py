"""``pegasos certify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pegasos.cli.arguments import (
    Lam,
    ModelFile,
    ReadArguments,
    SayArguments,
    Strength,
    Threads,
    takes,
)
from pegasos.cli.exits import ABOVE_TOL, CERTIFIED, INTERRUPTED, ends

if TYPE_CHECKING:
    from pegasos.cli.bounds import Bounds
    from pegasos.cli.say import Voice
    from pegasos.model.linear import LinearModel


@ends
@takes
def certify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="The rows it was trained on.")],
    C: Strength = None,
    lam: Lam = None,
    loss: Annotated[
        str | None, typer.Option("--loss", help="hinge or squared_hinge; the model's own.")
    ] = None,
    intercept: Annotated[
        str | None,
        typer.Option("--intercept", help="none, regularized or free; the model's own."),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option("-e", "--tol", help="Exit with 3 unless the model is proven within this."),
    ] = None,
    max_time: Annotated[
        float | None, typer.Option("--max-time", help="Seconds for our solver.")
    ] = None,
    threads: Threads = None,
    *,
    read: ReadArguments,
    say: SayArguments,
) -> None:
    """Prove how far from optimal any linear model is on these rows.

    Our solver trains on the same problem until its bound on the best possible objective is tight
    enough to judge the model. C or lam must be given where the model's file does not carry it.

    Examples:

      pegasos certify a9a.model a9a

      pegasos certify liblinear.model a9a --C 1
    """
    from pegasos.cli.bounds import bounds_of, stated
    from pegasos.cli.predict import as_wide
    from pegasos.cli.reading import describe, options_like
    from pegasos.cli.say import Voice
    from pegasos.data import read as read_data
    from pegasos.export import read_any

    voice = Voice(say)
    found = read_any(model)
    training = stated(found, C, lam, loss, intercept, max_time, threads)
    options = options_like(found, data, read, labels=True, n_jobs=threads)
    rows = found.prepared(read_data(data, options, light=True))
    describe(voice, data, rows)
    bounds = bounds_of(found, rows, as_wide(rows.X, found.features), training, tol)
    tell(voice, found, bounds)
    voice.finish()
    proven = tol is None or bounds.at_most <= tol
    ended = INTERRUPTED if bounds.interrupted else ABOVE_TOL
    raise typer.Exit(CERTIFIED if proven and not bounds.interrupted else ended)


def tell(voice: Voice, model: LinearModel, bounds: Bounds) -> None:
    """What is proven; and whether it agrees with what the file says."""
    from pegasos.cli.say import percent, worst

    if bounds.at_most > 1:
        words = f"at most {1 + bounds.at_most:.3g} times the best possible objective"
    else:
        words = f"within {percent(bounds.at_most)} of the best possible objective"
    better = f", and at least {percent(bounds.at_least)} above it" if bounds.at_least > 0 else ""
    voice.tell(f"the model is proven {words}{better}")
    voice.result(
        relative_gap=bounds.at_most,
        at_least=bounds.at_least,
        primal=bounds.primal,
        dual=bounds.dual,
    )
    if model.certificate is None:
        return
    recorded = worst(model.certificate)
    confirmed = bounds.at_most <= recorded + bounds.rounding
    voice.result(recorded_gap=recorded, confirmed=confirmed)
    if not confirmed:
        voice.tell(
            f"the file says within {percent(recorded)}: that was another problem, or other rows"
        )
