"""Values as JSON, and back: what JSON has no word for gets a tag, so that it comes back equal.

Tuples come back as lists. Nothing but these few types can come out of a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_TAG = "$"
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any) -> Any:
    """What JSON can say; TypeError for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value) and _TAG not in value:
            return {key: to_plain(item) for key, item in value.items()}
        pairs = [[to_plain(key), to_plain(item)] for key, item in value.items()]
        return {_TAG: "dict", "items": pairs}
    raise TypeError(f"a {type(value).__name__} cannot be saved: {repr(value)[:100]}")


def from_plain(value: Any) -> Any:
    """The value that ``to_plain`` was given; ValueError if it cannot have made this."""
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: from_plain(item) for key, item in value.items()}
    if value[_TAG] == "float" and value.get("value") in ("inf", "-inf", "nan"):
        return _FLOATS[value["value"]]
    if value[_TAG] == "dict" and isinstance(value.get("items"), list):
        try:
            return {from_plain(key): from_plain(item) for key, item in value["items"]}
        except TypeError:
            pass
    raise ValueError("a value has an unknown tag")


def dumps(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def loads(text: str | bytes) -> Any:
    """Strict JSON; ValueError for anything else, however it is nested."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse(token: str) -> Any:
    raise ValueError(f"{token} is no JSON")
