"""What a checkpoint belongs to: data, parameters, and what else its bits depend on."""

from __future__ import annotations

import json
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pegasos import _core
from pegasos.run.checkpoint.errors import CheckpointError
from pegasos.util import sparse, threads
from pegasos.util.atomic import atomic_write
from pegasos.util.checksums import of_arrays, of_rows
from pegasos.util.devices import to_host

NAME = "manifest.json"
_FORMAT, _VERSION = "pegasos checkpoint", 7


def describe(
    X: Any, y: Any, sample_weight: Any, n_jobs: int | None, parameters: dict[str, Any]
) -> dict[str, Any]:
    """The manifest of a training; ``parameters`` are those its bits depend on."""
    import importlib.metadata  # slow to import

    used = threads.resolve(n_jobs, np.inf)
    if n_jobs is None or n_jobs < 0:
        parameters = {**parameters, "cores": used}
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "package": importlib.metadata.version("pegasos"),
        "kernels": _core.instruction_set(),
        "data": fingerprint(X, y, sample_weight),
        "parameters": {name: _plain(value) for name, value in parameters.items()}
        | {"n_jobs": _plain(n_jobs)},
    }


def fingerprint(X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """The shape of the data, and a checksum of each part."""
    by_blocks = None if sparse.issparse(X) else getattr(X, "parts", None)
    if by_blocks is None and not sparse.issparse(X):
        X = np.asarray(to_host(X))
    y, sample_weight = to_host(y), to_host(sample_weight)
    return {
        "rows": int(X.shape[0]),
        "features": int(X.shape[1]),
        "blocks": None if by_blocks is None else of_arrays(np.array(by_blocks())),
        "X": of_rows(X),
        "y": of_arrays(y),
        "sample_weight": None if sample_weight is None else of_arrays(sample_weight),
    }


def _plain(value: Any) -> Any:
    """A value as JSON has it: what is no number or text becomes its repr."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return sorted(([_plain(key), _plain(one)] for key, one in value.items()), key=str)
    if isinstance(value, str | int | float | bool | None):
        return value
    text = repr(value)
    # Where it would differ from process to process, the name has to do.
    return getattr(value, "__qualname__", type(value).__name__) if " at 0x" in text else text


def write(folder: Path, about: dict[str, Any]) -> None:
    """Write the manifest of a new checkpoint."""
    text = json.dumps(about, indent=1, sort_keys=True)
    with atomic_write(folder / NAME) as file:
        file.write(text.encode() + f"\n{zlib.crc32(text.encode()):08x}\n".encode())


def read(folder: Path) -> dict[str, Any]:
    """The manifest of a checkpoint."""
    path = folder / NAME
    if not folder.exists():
        raise CheckpointError(folder, "there is no such checkpoint to resume from")
    if not path.is_file():
        raise CheckpointError(
            folder,
            "holds no checkpoint: the run was ended before it began one, or it is another folder. "
            "Train anew",
        )
    whole = path.read_bytes()
    text = whole.removesuffix(b"\n").rpartition(b"\n")[0]
    if whole != text + f"\n{zlib.crc32(text):08x}\n".encode():
        raise CheckpointError(path, "is damaged: its checksum does not match. Train anew")
    try:
        about = json.loads(text)
        if not isinstance(about, dict):
            raise ValueError("no object")
    except (ValueError, RecursionError) as error:
        raise CheckpointError(path, f"makes no sense ({error}). Train anew") from None
    if about.get("format") != _FORMAT or about.get("version") != _VERSION:
        raise CheckpointError(
            path,
            f"has format version {about.get('version')}; this pegasos reads {_VERSION}. "
            "Resume with the pegasos that wrote it, or train anew",
        )
    parts = {"package": str, "kernels": str, "told": bool, "data": dict, "parameters": dict}
    wrong = [name for name, kind in parts.items() if not isinstance(about.get(name), kind)]
    if not wrong and type(about["parameters"].get("seed")) is not int:
        wrong = ["seed"]
    if wrong:
        raise CheckpointError(path, f"makes no sense: {wrong[0]} is missing, or none. Train anew")
    return dict(about)


def check_same(
    folder: Path, known: dict[str, Any], here: dict[str, Any], drawn: frozenset[str]
) -> None:
    """Raise CheckpointError, with what differs, unless the run is the same."""
    differences = []
    if known["package"] != here["package"]:
        differences.append(f"pegasos {known['package']} wrote it, this is {here['package']}")
    other_blocks = known["data"].get("blocks") != here["data"].get("blocks")
    if other_blocks:
        # What they hold is then not to be compared.
        differences.append(
            "rows were read by other blocks, or at once (on another machine, or with another limit "
            "of memory)"
        )
        drawn = drawn | {"X", "blocks"}
    for group in ("data", "parameters"):
        names = sorted(known[group].keys() | here[group].keys())
        differences += [
            _words(name, known[group].get(name), here[group].get(name))
            for name in names
            if name not in drawn and known[group].get(name) != _through_json(here[group].get(name))
        ]
    if differences:
        raise CheckpointError(folder, "is the checkpoint of another run: " + "; ".join(differences))
    if known["kernels"] != here["kernels"]:
        warnings.warn(
            f"{folder} was begun with {known['kernels']} kernels, and goes on with "
            f"{here['kernels']}: proven as before, but not the same to the last bit",
            stacklevel=3,
        )


def _through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _words(name: str, known: Any, here: Any) -> str:
    if name in ("X", "y", "sample_weight", "eval_set"):
        return f"{name} has other values"
    if name == "cv":
        return "cv makes other folds (a splitter needs a random_state)"
    if name == "device":
        then, now = (
            "in memory" if one is None else f"on a device ({one})" for one in (known, here)
        )
        return f"it ran {then}, and here rows are {now}"
    if name == "start":
        return "warm_start begins elsewhere"
    if name == "cores":
        return (
            f"it had {known} cores, here are {here}, and results depend on that where n_jobs is "
            "not given (OMP_NUM_THREADS lowers it)"
        )
    return f"{name} was {known}, and is {here} here"
