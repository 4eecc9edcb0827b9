"""python -m tests.hardening.mutate [--seconds N] [--survivors]

Mutation testing: mutmut changes certificate.py, solve.py and the model file in one place at a time,
and a change that no test notices is a hole in the tests. At most 15% may be.

What is changed, and by which tests it is tried, stands in pyproject.toml (`tool.mutmut`). It
happens in build/mutants, where every verdict is kept: a run goes on where the one before ended.
Mutants of functions that were edited are tried again; if tests were, those that nothing had
noticed; if `tool.mutmut` was, all. What was found is in build/hardening/mutants.json.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.hardening.runner import ROOT, Tally

import pegasos._core

HOME = ROOT / "build" / "mutants"
PATH = ROOT / "build" / "hardening" / "mutants.json"
LEAST = 0.85

_COPY = "mutants"  # in HOME: where mutmut puts what it changes
_UNNOTICED = (0, 5, 33)  # exit codes: all tests passed, there were none, none runs the function
# Mutants are imported from their folder, in processes that tests start, too: the finder of the
# editable install would lead to src.
_SITE = """\
import sys

sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
"""


@dataclass
class Score:
    """What became of the mutants of some file."""

    killed: int = 0  # a test failed, or the process died
    timed_out: int = 0  # endless loops; of those killed
    survived: list[str] = field(default_factory=list)
    waiting: int = 0  # not tried yet

    @property
    def tried(self) -> int:
        """Mutants with a verdict."""
        return self.killed + len(self.survived)

    @property
    def share(self) -> float:
        """Of those tried that were killed."""
        return self.killed / max(1, self.tried)


def run(seconds: float) -> dict[str, Score]:
    """Try mutants for so many seconds, then say how all of them did, by file."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"somebody else tries mutants in {HOME}: wait for it") from None
        prepare()
        _mutmut(seconds, lock.fileno())
    found = scores()
    about = {"date": datetime.date.today().isoformat(), "files": {}}
    for name, score in found.items():
        about["files"][name] = {"share": score.share, "tried": score.tried} | asdict(score)
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.with_suffix(".tmp").write_text(json.dumps(about, indent=1))
    PATH.with_suffix(".tmp").replace(PATH)
    return found


def _mutmut(seconds: float, lock: int) -> None:
    """Which holds the lock, too: it may outlive us."""
    finished = subprocess.run(
        [sys.executable, "-m", "tests.hardening.mutmut_until", str(seconds)], cwd=HOME,
        env=os.environ | {
            "PYTHONPATH": os.pathsep.join(map(str, (HOME / "site", HOME / _COPY / "src", ROOT))),
            "HYPOTHESIS_PROFILE": "mutants",
        },
        stdout=sys.stderr, check=False, pass_fds=(lock,),
    )  # fmt: skip
    if finished.returncode != 0:
        raise SystemExit("mutmut did not run: what it says is above")


def tally(seconds: float) -> Tally:
    """The row of the table: a failure is a file of whose mutants fewer than 85% were killed."""
    found = run(seconds)
    tried = sum(score.tried for score in found.values())
    failures = [f"{name}: {score.share:.1%} killed" for name, score in found.items()
                if score.share < LEAST]  # fmt: skip
    return Tally(tried, tried, failures)


def prepare() -> None:
    """Make build/mutants: links to what is there, and nothing old but mutants and verdicts."""
    (HOME / "site").mkdir(parents=True, exist_ok=True)
    (HOME / "site" / "sitecustomize.py").write_text(_SITE)
    for name in ("src", "tests", "pyproject.toml"):
        if not (HOME / name).is_symlink():
            (HOME / name).symlink_to(ROOT / name)
    metas = _metas()
    kept = set(metas)
    for meta in metas:
        try:
            json.loads(meta.read_text())
        except ValueError:  # mutmut was killed while it wrote
            kept.remove(meta)
            continue
        kept |= {meta.with_suffix(""), meta.with_suffix(".spans")}
    for path in (HOME / _COPY / "src").rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()
    shutil.rmtree(HOME / _COPY / "tests", ignore_errors=True)
    (HOME / _COPY / "src" / "pegasos").mkdir(parents=True, exist_ok=True)
    shutil.copy2(pegasos._core.__file__, HOME / _COPY / "src" / "pegasos")
    _forget_what_may_have_changed()


def _forget_what_may_have_changed() -> None:
    """All verdicts, if mutmut is told otherwise; of unnoticed mutants, if tests have changed."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    selected = [ROOT / name for name in told["pytest_add_cli_args_test_selection"]]
    files = [file for path in selected
             for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]  # fmt: skip
    if _changed("settings", json.dumps(told, sort_keys=True).encode()):
        _forget(lambda _: True)
    if _changed("tests", b"".join(file.read_bytes() for file in files)):
        _forget(lambda code: code in _UNNOTICED)


def _changed(name: str, data: bytes) -> bool:
    known = HOME / f"{name}.sha256"
    before = known.read_text() if known.exists() else None
    known.write_text(hashlib.sha256(data).hexdigest())
    return before not in (None, known.read_text())


def _forget(which: Callable[[int | None], bool]) -> None:
    """Such mutants wait again; which tests run which function is asked anew."""
    (HOME / _COPY / "mutmut-stats.json").unlink(missing_ok=True)
    for meta in _metas():
        verdicts = json.loads(meta.read_text())
        codes = verdicts["exit_code_by_key"]
        codes |= {name: None for name, code in codes.items() if which(code)}
        meta.write_text(json.dumps(verdicts, indent=4))


def scores() -> dict[str, Score]:
    """By file; the model file's are one."""
    found: dict[str, Score] = {}
    for meta in _metas():
        path = meta.with_suffix("").relative_to(HOME / _COPY / "src" / "pegasos")
        score = found.setdefault(path.parts[0], Score())
        for name, code in json.loads(meta.read_text())["exit_code_by_key"].items():
            if code is None:
                score.waiting += 1
            elif code in _UNNOTICED:
                score.survived.append(name)
            else:
                score.killed += 1
                score.timed_out += code in (36, 24, -24, 152, 255)  # mutmut's
    return found


def _metas() -> list[Path]:
    return sorted((HOME / _COPY / "src").rglob("*.py.meta"))


def text(found: dict[str, Score]) -> str:
    """For a terminal."""
    lines = [f"{'test':<22}{'cases':>8}{'killed':>8}{'timed out':>11}{'survived':>10}"
             f"{'waiting':>9}{'killed':>9}"]  # fmt: skip
    for name, score in found.items():
        lines.append(
            f"{name:<22}{score.tried:>8,}{score.killed:>8,}{score.timed_out:>11}"
            f"{len(score.survived):>10}{score.waiting:>9}{score.share:>9.1%}"
        )
    lines.append("Timed out are among the killed. Error messages are not changed.")
    if any(score.waiting for score in found.values()):
        lines.append("Some wait to be tried: shares are of the others, and say less. Run it again.")
    return "\n".join(lines)


def show(names: list[str]) -> None:
    """What was changed."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    os.chdir(HOME)  # where it looks for everything
    for name in names:
        print(f"# {name}\n{get_diff_for_mutant(name)}\n")


def main() -> int:
    """1 if too many survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.hardening.mutate", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for mutants, after a minute")
    parser.add_argument("--survivors", action="store_true", help="show their changes, run nothing")
    asked = parser.parse_args()
    if asked.survivors:
        show([name for score in scores().values() for name in score.survived])
        return 0
    found = run(asked.seconds)
    print(text(found))
    return int(any(score.share < LEAST for score in found.values()))


if __name__ == "__main__":
    sys.exit(main())
