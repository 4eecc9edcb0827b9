"""What commands take: a dataclass each, of fields that are options, and of groups of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from pegasos.run.checkpoint.saving import Saving


def callback(command: type, run: Callable[[Any], None]) -> Callable[..., None]:
    """A function for Typer: its parameters are a command's fields, those of its groups last."""
    groups: dict[str, Any] = {
        n: kind for n, kind in get_type_hints(command).items() if is_dataclass(kind)
    }
    parameters = [p for kind in (command, *groups.values()) for p in _parameters(kind)]

    def called(**given: Any) -> None:
        packed = {
            name: kind(**{f.name: given.pop(f.name) for f in fields(kind)})
            for name, kind in groups.items()
        }
        run(command(**given, **packed))

    called.__doc__ = command.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called


def _parameters(kind: Any) -> list[inspect.Parameter]:
    """One for each field that is an argument or an option."""
    hints = get_type_hints(kind)
    return [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=Annotated[hints[f.name], f.metadata["typer"]],
        )
        for f in fields(kind)
        if f.metadata
    ]


def option(panel: str | None, default: Any, help: str, *names: str, **more: Any) -> Any:
    """A field that is an option of a panel of the help; without names it is called like it."""
    made = typer.Option(*names, help=help, rich_help_panel=panel, **more)
    return field(default=default, metadata={"typer": made})


_data, _fit, _save, _say = (
    partial(option, panel) for panel in ("Data", "Fit", "Checkpoints", "Output")
)


@dataclass(frozen=True)
class ReadArguments:
    """How data files are read."""

    format: str | None = _data(
        None,
        "svmlight, csv, tsv, parquet, feather, arrow, npz, npy or cache; "
        "without it the file's name says.",
    )
    features: int | None = _data(None, "Number of features, if it is known.", metavar="N")
    zero_based: bool = _data(False, "svmlight indices begin with 0.", "--zero-based")
    guess_base: bool = _data(
        False, "Guess whether svmlight indices begin with 0 or 1, and say so.", "--auto-based"
    )
    multilabel: bool = _data(False, "Rows have several labels: 1,3,7.", "--multilabel")
    skip_bad_lines: bool = _data(
        False, "Leave malformed lines out, and count them.", "--skip-bad-lines"
    )
    label: str | None = _data(
        None, "The label's column, by name or number from 0. [csv, parquet]", metavar="COLUMN"
    )
    weight: str | None = _data(
        None, "The column of sample weights. [csv, parquet]", "--weights", metavar="COLUMN"
    )
    header: bool | None = _data(
        None,
        "Whether a CSV begins with names; seen from its first line otherwise.",
        "--header/--no-header",
    )
    delimiter: str | None = _data(None, "Of CSV fields.", metavar="CHAR")


@dataclass(frozen=True)
class PrepareArguments:
    """What rows go through before they are trained on."""

    text: str | None = _data(None, "Train on this column of text. [csv, parquet]", metavar="COLUMN")
    text_as: str = _data("tfidf", "tfidf, or hashing: no vocabulary to keep.")
    scale: str = _data("none", "none, maxabs, minmax or standard; saved with the model.")


@dataclass(frozen=True)
class FitArguments:
    """How to train."""

    loss: str = _fit("hinge", "hinge or squared_hinge.")
    solver: str = _fit(
        "auto",
        "auto, dual, newton, interior, or one of the papers': pegasos, sgdr, sgds, sgdm.",
        "-s",
        "--solver",
    )
    tol: float = _fit(
        1e-3,
        "Stop when the objective is proven within this of the best possible (0.001 is 0.1%).",
        "-e",
        "--tol",
    )
    intercept: str = _fit("auto", "none, regularized, free, or auto: free for the exact solvers.")
    class_weight: list[str] | None = _fit(
        None,
        "The weight of a class, LABEL=WEIGHT; may be repeated; 'balanced' for all.",
        "-w",
        "--class-weight",
        metavar="LABEL=WEIGHT",
    )
    multi_class: str = _fit("ovr", "ovr, ovo or crammer_singer.")
    max_iter: float | None = _fit(None, "Passes after which to stop anyway.")
    max_time: float | None = _fit(None, "Seconds after which to stop anyway.")
    threads: int | None = _fit(None, "Threads; all cores that are free.")
    seed: int = _fit(0, "The same seed, the same bits.", min=0, max=2**64 - 1)


@dataclass(frozen=True)
class SaveArguments:
    """How a fit is saved on the way."""

    checkpoint: Path | None = _save(None, "Save the fit on the way in this folder.")
    checkpoint_every: float | None = _save(None, "Seconds between two saves (60).")
    resume: Path | None = _save(
        None,
        "Go on from a checkpoint, to the same bits (on a cluster certified, to others); without "
        "DATA it takes the options of the run that made it.",
    )

    def saving(self) -> Saving:
        """The same for the library."""
        from pegasos.run.checkpoint.saving import Saving  # help needs none of it

        return Saving(self.checkpoint, self.checkpoint_every, self.resume)


@dataclass(frozen=True)
class SayArguments:
    """What is said, and where."""

    json: bool = _say(False, "One JSON object on stdout with everything.", "--json")
    quiet: bool = _say(False, "Nothing on stderr.", "-q", "--quiet")
