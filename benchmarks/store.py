"""Results as JSON files, written whole or not at all, so that an interrupted run can go on."""

import json
import os
from pathlib import Path

RESULTS = Path(__file__).parent / "results"  # --results changes it


def read(name):
    """The results of that name; empty if there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(name, results):
    """Replace the results of that name."""
    write_text(f"{name}.json", json.dumps(results, indent=1, allow_nan=False) + "\n")


def write_text(name, text):
    """Replace a file in one step."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    partial = RESULTS / f"{name}.partial"
    partial.write_text(text)
    os.replace(partial, RESULTS / name)
