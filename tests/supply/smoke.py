"""Tries out the pegasos that is installed, in the folder it is started in.

`make supply` and cibuildwheel run it on each wheel, away from the checkout: generated reviews, a
model from the command line, its report, its predictions; an estimator, saved and loaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

COMMANDS = (
    "demo --reviews reviews.csv --rows 500 --overwrite",
    "train reviews.csv reviews.model --text review --label mood --report report.html --overwrite",
    "predict reviews.model reviews.csv predicted.txt --overwrite",
    "inspect reviews.model",
)


def main() -> None:
    """Run everything; an exception, or a command's exit code, ends it."""
    import numpy as np

    import pegasos

    inside = Path(sys.prefix).resolve()
    assert inside in Path(pegasos.__file__).resolve().parents, f"{pegasos.__file__}: not installed"
    command = shutil.which("pegasos", path=str(Path(sys.executable).parent))
    assert command is not None, "the wheel has no command pegasos"
    for arguments in COMMANDS:
        subprocess.run([command, *arguments.split()], check=True)
    assert "<html" in Path("report.html").read_text(encoding="utf-8")

    X = np.random.default_rng(0).standard_normal((300, 5))
    y = X[:, 0] + 0.1 * X[:, 1] > 0
    model = pegasos.LinearSVC(tol=1e-4).fit(X, y)
    assert model.certificate_.relative_gap.max() <= 1e-4
    pegasos.save(model, "array.model")
    same = pegasos.load("array.model").decision_function(X)
    assert (same == model.decision_function(X)).all()
    print(f"pegasos {pegasos.__version__}: trained, saved, loaded, reported")


if __name__ == "__main__":
    main()
