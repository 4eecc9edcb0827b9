"""Coverage-guided fuzzing of the CSV reader: python -m tests.hardening.fuzz_csv CORPUS [options]

Options are libFuzzer's: -max_total_time=60, -max_len=400.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FunctionType

import atheris
from tests.hardening.readers import read_or_refuse

from pegasos.data import columns, csv, files, labels

_PATH = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "a.csv"


def one(data: bytes) -> None:
    """A file of these bytes."""
    options = {"skip_bad_lines": True} if data[:1] == b"\x01" else {}
    read_or_refuse(_PATH, data[1:] if options else data, **options)


def instrument() -> None:
    """Follow every branch of the reader; an editable install hides its imports from atheris."""
    for module in (columns, csv, files, labels):
        for name, value in list(vars(module).items()):
            own = getattr(value, "__module__", None) == module.__name__
            if own and isinstance(value, FunctionType):
                setattr(module, name, atheris.instrument_func(value))
            elif own and isinstance(value, type):
                for part, method in list(vars(value).items()):
                    if isinstance(method, FunctionType):
                        setattr(value, part, atheris.instrument_func(method))


if __name__ == "__main__":
    instrument()
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
