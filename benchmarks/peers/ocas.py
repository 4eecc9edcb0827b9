"""OCAS: cutting planes. The program svmocas of Debian's libocas-tools, used if it is on PATH.

The tolerance is on its own relative gap. It reads text, so ``convert`` writes a file; the time is
the one it prints for its solver, without the reading.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

from benchmarks.peers import Fit, Peer

_PROGRAM = "svmocas"


class Ocas(Peer):
    """svmocas -b 0."""

    name = "ocas"
    title = "OCAS"
    package = "libocas-tools"
    unclocked = 120.0  # to read the file
    threaded = True
    tolerances = (0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)

    def available(self):
        return None if shutil.which(_PROGRAM) else f"{_PROGRAM} (libocas-tools) is not on PATH"

    def version(self):
        usage = subprocess.run([_PROGRAM], capture_output=True, text=True, check=False)
        found = re.search(r"v([\d.]+)", usage.stdout + usage.stderr)
        return found[1] if found else "unknown"

    def convert(self, X, y):
        folder = tempfile.TemporaryDirectory(prefix="ocas-")
        dump_svmlight_file(X, y, f"{folder.name}/rows", zero_based=False)
        return folder, X.shape[1]

    def fit(self, data, C, tolerance, threads):
        return self.train(data, "-c", repr(C), "-r", repr(tolerance), "-p", str(threads))

    def train(self, data, *options):
        """A run with options of one's own."""
        folder, features = data
        rows, model = f"{folder.name}/rows", Path(folder.name) / "model"
        command = [_PROGRAM, "-b", "0", *options, rows, model]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = float(re.search(r"ocas_time\s*:\s*([\d.]+)", done.stdout)[1])
        written = np.loadtxt(model)[:-1]  # the last line is the intercept, 0
        w = np.zeros(features)
        w[: written.size] = written  # features after the last non-zero one are not written
        return Fit(w, seconds=seconds)


peer = Ocas()
