"""Groups of options that commands share: a dataclass each, spread into a command's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from pegasos.run.checkpoint.saving import Saving


def takes(command: Callable[..., Any]) -> Callable[..., Any]:
    """Spread the groups that a command's signature names into their options."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if not is_dataclass(p.annotation)]
    groups = {n: p.annotation for n, p in signature.parameters.items() if p not in own}
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


def _parameters(group: type) -> list[inspect.Parameter]:
    """A parameter for each field, with its option; without names it is called like the field."""
    hints = get_type_hints(group)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[hints[field.name], _option(field)],
        )
        for field in fields(group)
    ]


def _option(field: Field[Any]) -> Any:
    names = field.metadata["names"] or (f"--{field.name.replace('_', '-')}",)
    return typer.Option(*names, **field.metadata["options"])


def option(panel: str, default: Any, help: str, *names: str, **more: Any) -> Any:
    """A field that is an option of a panel of the help."""
    options = {"help": help, "rich_help_panel": panel, **more}
    return field(default=default, metadata={"names": names, "options": options})


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
    zero_based: bool = _data(False, "svmlight indices begin with 0.")
    guess_base: bool = _data(
        False, "Guess whether svmlight indices begin with 0 or 1, and say so.", "--auto-based"
    )
    multilabel: bool = _data(False, "Rows have several labels: 1,3,7.")
    skip_bad_lines: bool = _data(False, "Leave malformed lines out, and count them.")
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
        from pegasos.run.checkpoint.saving import Saving  # not for every command

        return Saving(self.checkpoint, self.checkpoint_every, self.resume)


@dataclass(frozen=True)
class SayArguments:
    """What is said, and where."""

    json: bool = _say(False, "One JSON object on stdout with everything.")
    quiet: bool = _say(False, "Nothing on stderr.", "-q", "--quiet")


Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace what is there under this name.", rich_help_panel="Output"
    ),
]
Strength = Annotated[
    float | None,
    typer.Option(
        "-c", "--C", help="Weight of the losses (1 without --C and --lam).", rich_help_panel="Fit"
    ),
]
Lam = Annotated[
    float | None,
    typer.Option(
        "--lam",
        help="Regularization per example: lam/2 |w|^2 + mean loss.",
        rich_help_panel="Fit",
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model: ours, LIBLINEAR's or SVM-light's.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads.")]
