"""What a file may say of a fit: each name with what its value can be.

A model that was loaded is trained again with the options of its file, and tells how its fit went. A
checksum proves that a file is as it was written, not who wrote it: so a file sets no paths, no
functions, and no numbers that a fit would not take.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pegasos.losses import LOSSES
from pegasos.model.file.check import need

_NAME = re.compile(r"[a-z_]{1,40}")
_DEVICE = re.compile(r"[a-z]{1,20}(:[0-9]{1,4})?")
_LONGEST = 10_000  # of a text
_MOST = 1 << 53  # of a count

Rule = Callable[[Any], bool]


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _limit(value: Any) -> bool:
    return type(value) in (int, float) and value > 0


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST


def _text(value: Any) -> bool:
    return type(value) is str and len(value) <= _LONGEST


def _name(value: Any) -> bool:
    return type(value) is str and _NAME.fullmatch(value) is not None


def _flag(value: Any) -> bool:
    return type(value) is bool


def _or_none(rule: Rule) -> Rule:
    return lambda value: value is None or rule(value)


def _one_of(*values: Any) -> Rule:
    return lambda value: any(value == one and type(value) is type(one) for one in values)


def _class_weight(value: Any) -> bool:
    if value is None or value == "balanced":
        return True
    return isinstance(value, Mapping) and all(_number(w) and w >= 0 for w in value.values())


_PARAMETERS: dict[str, Rule] = {
    "C": _or_none(_positive), "lam": _or_none(_positive), "loss": _one_of(*LOSSES),
    "penalty": _one_of("l2"), "solver": _name, "tol": _number,
    "intercept": _one_of("auto", "none", "regularized", "free"), "fit_intercept": _flag,
    "intercept_scaling": _positive, "multi_class": _one_of("ovr", "ovo", "crammer_singer"),
    "class_weight": _class_weight, "prune": _or_none(_positive),
    "probability": _one_of(False, True, "sigmoid", "isotonic"), "max_iter": _or_none(_limit),
    "max_time": _or_none(_limit), "n_iter_no_change": _or_none(_count),
    "random_state": _or_none(_count), "warm_start": _flag, "average": _flag,
    "n_jobs": _or_none(lambda value: type(value) is int and abs(value) < _MOST),
    "verbose": lambda value: _flag(value) or _count(value),
    "device": _or_none(lambda value: _text(value) and _DEVICE.fullmatch(value) is not None),
    **dict.fromkeys(("callbacks", "checkpoint", "checkpoint_every", "resume"), lambda _: False),
}  # fmt: skip

_TRAINING: dict[str, Rule] = {
    "stop_reason": _name, "solver": _text, "solver_reason": _text, "solver_options": _text,
    "intercept": _name, "labels": _one_of("dense", "sparse"), "rows": _count, "n_iter": _count,
    "epochs": lambda value: _number(value) and 0 <= value < _MOST,
    "seconds": lambda value: _number(value) and value >= 0,
    "best_epoch": lambda value: _number(value) and value >= 0, "best_validation_score": _number,
    "not_saved": lambda value: isinstance(value, Mapping) and all(map(_text, value.values())),
}  # fmt: skip


def allowed(name: str, value: Any) -> bool:
    """Whether a file may set a parameter to that; names that no estimator has are free."""
    rule = _PARAMETERS.get(name)
    return rule is None or rule(value)


def check_options(parameters: Mapping[str, Any], training: Mapping[str, Any]) -> None:
    """Raise WrongContent for what no file may say."""
    for what, rules, found in (
        ("parameter", _PARAMETERS, parameters), ("account of the fit", _TRAINING, training),
    ):  # fmt: skip
        for name, value in found.items():
            right = name not in rules or rules[name](value)
            need(right, f"its {what} {name!r} is {_short(value)}, which no file may say")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
