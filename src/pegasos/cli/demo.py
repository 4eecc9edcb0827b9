"""``pegasos demo``."""

from __future__ import annotations

from pegasos.cli.commands import Demo
from pegasos.cli.exits import UsageError
from pegasos.cli.say import Voice
from pegasos.data.reviews import write_reviews


def demo(_: Voice, given: Demo) -> None:
    """Show the demo, or write reviews."""
    if given.reviews is None:
        from pegasos import demo as shown  # which imports scikit-learn

        rows = shown.ROWS if given.rows is None else given.rows
        if rows < shown.FEWEST_ROWS:
            raise UsageError(f"--rows must be at least {shown.FEWEST_ROWS}, got {rows}")
        if given.overwrite:
            raise UsageError("--overwrite is for --reviews: the picture is always replaced")
        shown.run(rows, given.picture or shown.PICTURE, given.seed)
        return
    if given.picture is not None:
        raise UsageError("--reviews draws no picture: leave --picture out")
    rows = 5_000 if given.rows is None else given.rows
    if rows < 1:
        raise UsageError(f"--rows must be at least 1, got {rows}")
    write_reviews(given.reviews, rows, seed=given.seed, overwrite=given.overwrite)
    print(f"{given.reviews}: {rows:,} generated reviews, columns mood and review", flush=True)
