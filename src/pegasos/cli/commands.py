"""The commands by name: what each takes, and its help.

A command is done by the function of its name in the module of its name, which is imported when the
command is called: so help is quick.
"""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import typer

from pegasos.cli.arguments import (
    FitArguments,
    PrepareArguments,
    ReadArguments,
    SaveArguments,
    SayArguments,
    option,
)


def _argument(help: str, default: Any = MISSING, **more: Any) -> Any:
    """A field that is an argument, which must be given unless it has a default."""
    return field(default=default, metadata={"typer": typer.Argument(help=help, **more)})


_own = partial(option, None)
_fit = partial(option, "Fit")
_C = partial(_fit, None, "Weight of the losses (1 without --C and --lam).", "-c", "--C")
_lam = partial(_fit, None, "Regularization per example: lam/2 |w|^2 + mean loss.")
_model = partial(_argument, "A model: ours, LIBLINEAR's or SVM-light's.")
_overwrite = partial(
    option, "Output", False, "Replace what is there under this name.", "--overwrite"
)
_threads = partial(_own, None, "Threads.")

KEPT_GROUPS = {"read": ReadArguments, "prepare": PrepareArguments, "fit": FitArguments}
KEPT_PATHS = {"data": "data", "model": "target", "evaluate": "evaluate", "cache_dir": "cache_dir"}
KEPT_VALUES = ("C", "lam", "cv", "memory")
"""What a checkpoint keeps of ``train``; of paths, under which names."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train a model, and prove how close to the optimum it is.

    Ctrl-C saves the best model so far, with what is proven about it. Exit codes: 0 certified,
    3 saved but the gap is above tol, 130 interrupted and saved, 1 error.

    Examples:

      pegasos train rcv1.svm

      pegasos train a9a a9a.model --C 0.1 --tol 1e-4 --eval a9a.t

      pegasos train reviews.csv --text review --label stars --report report.html

      pegasos train big.svm --memory 2G --checkpoint big.ckpt

      pegasos train --resume big.ckpt

      pegasos train --dask tcp://scheduler:8786 'data/*.parquet' my.model
    """

    data: Path | None = _argument("Rows and labels to train on.", None, show_default=False)
    model: Path | None = _argument("Where the model goes; DATA.model without it.", None)
    C: float | None = _C()
    lam: float | None = _lam()
    evaluate: Path | None = _own(None, "Rows to measure the accuracy on.", "--eval")
    cv: int | None = _own(
        None, "Measure the accuracy by this many folds, too.", "-v", "--cv", min=2
    )
    memory: str | None = _own(
        None,
        "Take no more memory than this (300M, 2G): rows are read a block at a time from a cache, "
        "which is made first. Without it that is done if they would not fit.",
        metavar="SIZE",
    )
    cache_dir: Path | None = _own(None, "Where that cache goes; beside DATA.")
    dask: str | None = _own(
        None,
        "Train on the Dask cluster of this scheduler. DATA is a folder or a pattern "
        "('data/*.parquet') of files that its workers can read, a part each.",
        metavar="ADDRESS",
    )
    dask_timeout: float = _own(60.0, "Seconds without a sign of life after which a worker is lost.")
    report: Path | None = _own(
        None,
        "Make a page about the model (HTML): of the rows of --eval, or of the training rows.",
        metavar="FILE",
    )
    overwrite: bool = _overwrite()
    read: ReadArguments = field(default_factory=ReadArguments)
    prepare: PrepareArguments = field(default_factory=PrepareArguments)
    fit: FitArguments = field(default_factory=FitArguments)
    save: SaveArguments = field(default_factory=SaveArguments)
    say: SayArguments = field(default_factory=SayArguments)

    def plain(self) -> dict[str, Any]:
        """What a checkpoint keeps, as JSON has it, so that the job can be resumed by its name."""
        paths = {kept: getattr(self, name) for name, kept in KEPT_PATHS.items()}
        return (
            {kept: None if path is None else str(path.absolute()) for kept, path in paths.items()}
            | {name: getattr(self, name) for name in KEPT_VALUES}
            | {name: asdict(getattr(self, name)) for name in KEPT_GROUPS}
        )


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Predict the classes of rows, block by block.

    With labels in the data the accuracy is told as well: on stdout if predictions go to a file.

    Examples:

      pegasos predict a9a.model a9a.t predictions.txt --metrics

      pegasos predict reviews.model new.csv --scores
    """

    model: Path = _model()
    data: Path = _argument("Rows to predict; labels in it are compared.")
    out: Path | None = _argument("Where predictions go, a line a row; stdout without it.", None)
    scores: bool = _own(False, "Scores instead of classes.", "--scores")
    probabilities: bool = _own(False, "Probabilities of all classes instead.", "--probabilities")
    metrics: bool = _own(False, "A confusion matrix and scores per class, too.", "--metrics")
    threads: int | None = _threads()
    overwrite: bool = _overwrite()
    read: ReadArguments
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Cv:
    """Choose C by cross-validation; every fit of it is certified.

    Prints a line for each C: mean accuracy, its standard error, and the largest gap of its folds.

    Examples:

      pegasos cv a9a --folds 5

      pegasos cv a9a --Cs 0.01:100:9 --train-best a9a.model
    """

    data: Path = _argument("Rows and labels.")
    Cs: str = _own(
        "1e-4:1e4:10",
        "Values of C with commas, or FROM:TO:COUNT, evenly in logarithms.",
        "-c",
        "--Cs",
    )
    folds: int = _own(5, "Folds, stratified.", "-k", "--folds", min=2)
    rule: str = _own("best", "best, or one_se: the smallest C as good as the best.")
    train_best: Path | None = _own(None, "Train all rows at the chosen C.", metavar="MODEL")
    overwrite: bool = _overwrite()
    read: ReadArguments
    prepare: PrepareArguments
    fit: FitArguments
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Certify:
    """Prove how far from optimal any linear model is on these rows.

    Our solver trains on the same problem until its bound on the best possible objective is tight
    enough to judge the model. C or lam must be given where the model's file does not carry it.

    Examples:

      pegasos certify a9a.model a9a

      pegasos certify liblinear.model a9a --C 1
    """

    model: Path = _model()
    data: Path = _argument("The rows it was trained on.")
    C: float | None = _C()
    lam: float | None = _lam()
    loss: str | None = _own(None, "hinge or squared_hinge; the model's own.")
    intercept: str | None = _own(None, "none, regularized or free; the model's own.")
    tol: float | None = _own(
        None, "Exit with 3 unless the model is proven within this.", "-e", "--tol"
    )
    max_time: float | None = _own(None, "Seconds for our solver.")
    threads: int | None = _threads()
    read: ReadArguments
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Convert:
    """Convert data between formats, block by block.

    A cache (a folder NAME.cache) opens at once and is read in place.

    Examples:

      pegasos convert rcv1.svm.gz rcv1.cache

      pegasos convert table.csv rows.svm --label target
    """

    source: Path = _argument("A data file.")
    target: Path = _argument("Where it goes; its name says the format, .cache is a cache.")
    overwrite: bool = _overwrite()
    read: ReadArguments
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a model in another format.

    Examples:

      pegasos export a9a.model a9a.onnx

      pegasos export a9a.model a9a.liblinear
    """

    model: Path = _model()
    target: Path = _argument("Where it goes.")
    to: str | None = _own(
        None, "pegasos, liblinear or onnx; the name says without it (.onnx, .liblinear)."
    )
    overwrite: bool = _overwrite()
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Show a model: parameters, certificate, the heaviest features of each class.

    Examples:

      pegasos inspect a9a.model --top 5
    """

    model: Path = _model()
    top: int = _own(10, "Features shown per class.", min=0)
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Report:
    """Make a page about a model: what is proven, how well it predicts, what it goes by.

    One file of HTML that loads nothing, for any browser, for paper and for phones.

    Examples:

      pegasos report a9a.model a9a.t -o report.html

      pegasos report reviews.model new.csv --title "Reviews, March"
    """

    model: Path = _model()
    data: Path = _argument("Rows with labels, to try it on.")
    out: Path | None = _own(None, "The page; MODEL.html without it.", "-o", "--out")
    title: str | None = _own(None, "Of the page.")
    threads: int | None = _threads()
    overwrite: bool = _overwrite()
    read: ReadArguments
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Run the sources' tables and figures again: claimed, measured, a picture and a verdict.

    Examples:

      pegasos reproduce

      pegasos reproduce rupnik_figure_2
    """

    names: list[str] | None = _argument("What to run; none: list them.", None, metavar="[NAME]...")
    everything: bool = _own(False, "Run all of them.", "--all")
    output: Path | None = _own(
        None, "Where results go; the clone's reproduce/ without it.", "--output", "-o"
    )
    say: SayArguments


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Train on generated data, side by side with scikit-learn; or write generated reviews.

    Examples:

      pegasos demo

      pegasos demo --reviews reviews.csv
    """

    reviews: Path | None = _own(None, "Only write generated reviews to this CSV file.")
    rows: int | None = _own(None, "Documents to train on (100,000), or reviews (5,000).")
    seed: int = _own(0, "Another seed, other data.", min=0)
    picture: Path | None = _own(None, "Where the gap curves go (pegasos-demo.png).")
    overwrite: bool = _overwrite()


COMMANDS = {
    kind.__name__.lower(): kind
    for kind in (
        Train, Predict, Cv, Certify, Convert, Export, Inspect, Report, Reproduce, Demo,
    )
}  # fmt: skip
