"""``pegasos demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pegasos.cli.arguments import Overwrite
from pegasos.cli.exits import UsageError, ends


@ends
def demo(
    reviews: Annotated[
        Path | None,
        typer.Option("--reviews", help="Only write generated reviews to this CSV file."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option("--rows", help="Documents to train on (100,000), or reviews (5,000)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed, other data.")] = 0,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Where the gap curves go (pegasos-demo.png)."),
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Train on generated data, side by side with scikit-learn; or write generated reviews.

    Examples:

      pegasos demo

      pegasos demo --reviews reviews.csv
    """
    if reviews is None:
        from pegasos import demo as shown

        rows = shown.ROWS if rows is None else rows
        if rows < shown.FEWEST_ROWS:
            raise UsageError(f"--rows must be at least {shown.FEWEST_ROWS}, got {rows}")
        if overwrite:
            raise UsageError("--overwrite is for --reviews: the picture is always replaced")
        shown.run(rows, shown.PICTURE if picture is None else picture, seed)
        return
    from pegasos.data.reviews import write_reviews

    if picture is not None:
        raise UsageError("--reviews draws no picture: leave --picture out")
    rows = 5_000 if rows is None else rows
    if rows < 1:
        raise UsageError(f"--rows must be at least 1, got {rows}")
    write_reviews(reviews, rows, seed=seed, overwrite=overwrite)
    print(f"{reviews}: {rows:,} generated reviews, columns mood and review", flush=True)
