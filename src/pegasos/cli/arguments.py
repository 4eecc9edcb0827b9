"""Groups of options that commands share: a dataclass each, spread into a command's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from pegasos.checkpoint.saving import Saving


def takes(**groups: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of the groups; it gets an object of each by name."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.name not in groups]
        shared = [p for group in groups.values() for p in _parameters(group)]

        @wraps(command)
        def spread(**given: Any) -> Any:
            packed = {
                name: group(**{f.name: given.pop(f.name) for f in fields(group)})
                for name, group in groups.items()
            }
            return command(**given, **packed)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own + shared]
        spread.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
        spread.__annotations__ = {p.name: p.annotation for p in keyword}
        return spread

    return decorate


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def option(*names: str, help: str, panel: str, metavar: str | None = None) -> Any:
    """An option of a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar)


_DATA = "Data"
_FIT = "Fit"
_SAVE = "Checkpoints"
_SAY = "Output"


@dataclass(frozen=True)
class ReadArguments:
    """How data files are read."""

    format: Annotated[
        str | None,
        option(
            "--format",
            help="svmlight, csv, tsv, parquet, feather, arrow, npz, npy or cache; "
            "without it the file's name says.",
            panel=_DATA,
        ),
    ] = None
    features: Annotated[
        int | None,
        option("--features", help="Number of features, if it is known.", panel=_DATA, metavar="N"),
    ] = None
    zero_based: Annotated[
        bool, option("--zero-based", help="svmlight indices begin with 0.", panel=_DATA)
    ] = False
    guess_base: Annotated[
        bool,
        option(
            "--auto-based",
            help="Guess whether svmlight indices begin with 0 or 1, and say so.",
            panel=_DATA,
        ),
    ] = False
    multilabel: Annotated[
        bool, option("--multilabel", help="Rows have several labels: 1,3,7.", panel=_DATA)
    ] = False
    skip_bad_lines: Annotated[
        bool,
        option("--skip-bad-lines", help="Leave malformed lines out, and count them.", panel=_DATA),
    ] = False
    label: Annotated[
        str | None,
        option(
            "--label",
            help="The label's column, by name or number from 0. [csv, parquet]",
            panel=_DATA,
            metavar="COLUMN",
        ),
    ] = None
    weight: Annotated[
        str | None,
        option(
            "--weights",
            help="The column of sample weights. [csv, parquet]",
            panel=_DATA,
            metavar="COLUMN",
        ),
    ] = None
    header: Annotated[
        bool | None,
        option(
            "--header/--no-header",
            help="Whether a CSV begins with names; seen from its first line otherwise.",
            panel=_DATA,
        ),
    ] = None
    delimiter: Annotated[
        str | None, option("--delimiter", help="Of CSV fields.", panel=_DATA, metavar="CHAR")
    ] = None


@dataclass(frozen=True)
class PrepareArguments:
    """What rows go through before they are trained on."""

    text: Annotated[
        str | None,
        option(
            "--text",
            help="Train on this column of text. [csv, parquet]",
            panel=_DATA,
            metavar="COLUMN",
        ),
    ] = None
    text_as: Annotated[
        str, option("--text-as", help="tfidf, or hashing: no vocabulary to keep.", panel=_DATA)
    ] = "tfidf"
    scale: Annotated[
        str,
        option(
            "--scale",
            help="none, maxabs, minmax or standard; saved with the model.",
            panel=_DATA,
        ),
    ] = "none"


@dataclass(frozen=True)
class FitArguments:
    """How to train."""

    loss: Annotated[str, option("--loss", help="hinge or squared_hinge.", panel=_FIT)] = "hinge"
    solver: Annotated[
        str,
        option(
            "-s",
            "--solver",
            help="auto, dual, newton, interior, or one of the papers': pegasos, sgdr, sgds, sgdm.",
            panel=_FIT,
        ),
    ] = "auto"
    tol: Annotated[
        float,
        option(
            "-e",
            "--tol",
            help="Stop when the objective is proven within this of the best possible (0.001 is "
            "0.1%).",
            panel=_FIT,
        ),
    ] = 1e-3
    intercept: Annotated[
        str,
        option(
            "--intercept",
            help="none, regularized, free, or auto: free for the exact solvers.",
            panel=_FIT,
        ),
    ] = "auto"
    class_weight: Annotated[
        list[str] | None,
        option(
            "-w",
            "--class-weight",
            help="The weight of a class, LABEL=WEIGHT; may be repeated; 'balanced' for all.",
            panel=_FIT,
            metavar="LABEL=WEIGHT",
        ),
    ] = None
    multi_class: Annotated[
        str, option("--multi-class", help="ovr, ovo or crammer_singer.", panel=_FIT)
    ] = "ovr"
    max_iter: Annotated[
        float | None, option("--max-iter", help="Passes after which to stop anyway.", panel=_FIT)
    ] = None
    max_time: Annotated[
        float | None, option("--max-time", help="Seconds after which to stop anyway.", panel=_FIT)
    ] = None
    threads: Annotated[
        int | None, option("--threads", help="Threads; all cores that are free.", panel=_FIT)
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            help="The same seed, the same bits.",
            rich_help_panel=_FIT,
            min=0,
            max=2**64 - 1,
        ),
    ] = 0


@dataclass(frozen=True)
class SaveArguments:
    """How a fit is saved on the way."""

    checkpoint: Annotated[
        Path | None,
        option("--checkpoint", help="Save the fit on the way in this folder.", panel=_SAVE),
    ] = None
    checkpoint_every: Annotated[
        float | None,
        option("--checkpoint-every", help="Seconds between two saves (60).", panel=_SAVE),
    ] = None
    resume: Annotated[
        Path | None,
        option(
            "--resume",
            help="Go on from a checkpoint, to the same bits; without DATA it takes the options of "
            "the run that made it.",
            panel=_SAVE,
        ),
    ] = None

    def saving(self) -> Saving:
        """The same for the library."""
        from pegasos.checkpoint.saving import Saving  # not for every command

        return Saving(self.checkpoint, self.checkpoint_every, self.resume)


@dataclass(frozen=True)
class SayArguments:
    """What is said, and where."""

    json: Annotated[
        bool, option("--json", help="One JSON object on stdout with everything.", panel=_SAY)
    ] = False
    quiet: Annotated[bool, option("-q", "--quiet", help="Nothing on stderr.", panel=_SAY)] = False


Overwrite = Annotated[
    bool, option("--overwrite", help="Replace what is there under this name.", panel=_SAY)
]
Strength = Annotated[
    float | None,
    option("-c", "--C", help="Weight of the losses (1 without --C and --lam).", panel=_FIT),
]
Lam = Annotated[
    float | None,
    option("--lam", help="Regularization per example: lam/2 |w|^2 + mean loss.", panel=_FIT),
]
