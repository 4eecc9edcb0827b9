"""Trains every fit, prints its hash, and compares."""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import benchmarks.same_bits as package
from benchmarks import machine
from benchmarks.same_bits import fits
from benchmarks.same_bits.compare import difference, failure, summary
from benchmarks.same_bits.kernels import kernels
from benchmarks.same_bits.runs import runs
from benchmarks.same_bits.shapes import shapes
from benchmarks.same_bits.tasks import tasks


def main():
    options = _options()
    fits.most_epochs = options.epochs
    began = time.perf_counter()
    known = None if options.compare is None else json.loads(options.compare.read_text())
    if known is not None and known["epochs"] != options.epochs:
        sys.exit(f"{options.compare} was made with --epochs {known['epochs']}: use the same here")
    setting = machine.setting()
    for what in ("machine", "versions"):
        if known is not None and known[what] != setting[what]:
            print(f"other {what}: {known[what]} there, {setting[what]} here", file=sys.stderr)
    found = trained(options.only)
    if options.json is not None:
        text = json.dumps({**setting, "epochs": options.epochs, "fits": found})
        options.json.write_text(text + "\n")
    print(f"{len(found)} fits in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    differ = 0 if known is None else _compared(found, known["fits"], options.only)
    sys.exit(1 if differ or any("error" in fit for fit in found.values()) else 0)


def everything():
    """(name, fit) of all fits."""
    yield from fits.grid()
    for others in (tasks, runs, shapes, kernels):
        yield from others()


def trained(only=""):
    """name -> summary of the fits whose name has ``only`` in it, printed as they are made."""
    found = {}
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, fit in everything():
            if only in name:
                try:
                    found[name] = summary(fit())
                except Exception as error:  # the others are still of use
                    found[name] = failure(error)
                    print(f"{name}: {found[name]['error']}", file=sys.stderr)
                print(f"{found[name]['hash']}  {name}", flush=True)
    return found


def _compared(found, known, only):
    """Print the fits that differ, or are missing on one side; how many."""
    missing = [name for name in known if only in name and name not in found]
    told = dict.fromkeys(missing, "not trained here")
    for name, ours in found.items():
        words = difference(ours, known[name]) if name in known else "not trained there"
        if words is not None:
            told[name] = words
    for name, words in told.items():
        print(f"{name}: {words}")
    print(f"{len(told)} of {len(found) + len(missing)} fits differ")
    return len(told)


def _options():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.same_bits", description=package.__doc__.splitlines()[0]
    )
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="of a fit's name")
    parser.add_argument("--json", type=Path, metavar="FILE", help="to keep hashes and weights in")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="of another version")
    parser.add_argument("--epochs", type=float, help="after which to end every linear fit")
    return parser.parse_args()


if __name__ == "__main__":
    main()
