"""Which tasks a site does, and the words that refuse the others.

A task is asked for by an option of an estimator, by y, or by the method that is called. Estimators
refuse what is not done with the same words that ``pegasos.offered`` shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pegasos.solvers import Solver


class Option(NamedTuple):
    """What asks for a task."""

    name: str
    value: Any = True

    @property
    def told(self) -> str:
        """For users."""
        if self.name in _TOLD:
            return _TOLD[self.name]
        plain = isinstance(self.value, str | int | float)
        return f"{self.name}={self.value!r}" if plain else self.name


TASKS: Mapping[str, Option] = MappingProxyType(
    {
        "two classes": Option("multi_class", "ovr"),
        "one against the rest": Option("multi_class", "ovr"),
        "pairs of classes": Option("multi_class", "ovo"),
        "Crammer & Singer": Option("multi_class", "crammer_singer"),
        "indicator matrix": Option("labels"),
        "path over C": Option("path"),
        "validation set": Option("eval_set", ()),
        "partial_fit": Option("partial_fit"),
        "probabilities": Option("probability", True),
        "checkpoint": Option("checkpoint", "run"),
        "resume": Option("resume", "run"),
        "warm start": Option("warm_start", True),
    }
)
"""All tasks, each with an example of what asks for it."""

PLAIN: Mapping[str, Any] = MappingProxyType(
    {
        "multi_class": "ovr", "probability": False, "warm_start": False, "prune": None,
        "checkpoint": None, "resume": None, "patience": None, "device": None,
    }
)  # fmt: skip
"""Options of the estimators, as they ask for nothing that only some sites do."""

_TOLD = {"labels": "y as an indicator matrix", "path": "a path over C"}

_BLOCKS = "{told} needs rows that fit the machine's memory: these are read a block at a time"
_DEVICE = "{told} is not offered on a device: leave it, or device, out"
_CLUSTER = (
    "{told} is not offered on a cluster: leave it out, or train with pegasos.LinearSVC on one "
    "machine"
)
_IN_MEMORY = "it takes rows in memory: "
_KEPT = ("warm_start", "prune", "checkpoint", "resume", "patience")
_KEPT_BY_DUALS = ("warm_start", "prune", "patience")

# The words of a refusal, by site and option.
_REFUSED: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "disk": {
            **dict.fromkeys(("multi_class", "probability", "labels", "path"), _BLOCKS),
            "partial_fit": _IN_MEMORY + "give it one block after the other",
        },
        "device": {
            **dict.fromkeys((*_KEPT_BY_DUALS, "multi_class"), _DEVICE),
            "partial_fit": _IN_MEMORY + "leave device out",
        },
        "cluster": {
            **dict.fromkeys((*_KEPT, "multi_class", "device", "eval_set"), _CLUSTER),
            "labels": "y must be one-dimensional: a class for every row",
            "partial_fit": "rows on a cluster do not come in batches: pegasos.LinearSVC has it",
        },
    }
)
# Where lanes are all that is trained, classes may go one against the rest or in pairs.
_AS_LANES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"disk": ("ovr",), "device": ("ovr", "ovo"), "cluster": ("ovr", "ovo")}
)


def refusal(task: str, site: str) -> str | None:
    """Why a site does not do a task, in words to users; None: it does."""
    return not_offered(site, TASKS[task])


def not_offered(site: str, option: Option) -> str | None:
    """Why a site does not offer what an option asks for; None: it does, or nothing is asked."""
    words = _REFUSED.get(site, {}).get(option.name)
    if words is None:
        return None
    if option.name == "multi_class" and option.value in _AS_LANES[site]:
        return None
    if option.name in PLAIN and option.value == PLAIN[option.name]:
        return None
    return words.format(told=option.told)


def check_offered(site: str, estimator: Any, y: Any, **given: Any) -> None:
    """Raise ValueError for what an estimator is asked for, and the site does not do.

    ``given`` are arguments of ``fit`` and of its task; None asks for nothing.
    """
    shape = np.shape(y)
    asked = {name: getattr(estimator, name, plain) for name, plain in PLAIN.items()}
    if site == "device":
        asked.pop("device")  # it is what asks for the site
    asked |= {name: value for name, value in given.items() if value is not None}
    if len(shape) == 2 and shape[1] > 1:
        asked["labels"] = True
    for name, value in asked.items():
        reason = not_offered(site, Option(name, value))
        if reason is not None:
            raise ValueError(reason)
    if site != "disk" and getattr(estimator, "scoring", None) not in (None, "accuracy"):
        raise ValueError(f"scoring={estimator.scoring!r}: on a {site} it is the accuracy")


def ignores_warm_start(solver: Solver | None) -> str | None:
    """Why a solver makes nothing of a warm start; None: it does."""
    if solver is None or solver.warm_starts:
        return None
    return f"solver {solver.name!r} would ignore warm_start=True"
