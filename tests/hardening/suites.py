"""Other commands whose cases count: tests of other folders, fuzzers, a build with TSan."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.hardening.runner import ROOT, Tally

_BUILD = ROOT / "build"


@dataclass(frozen=True)
class Suite:
    """A command that says how many cases it ran."""

    name: str
    says: str
    run: Callable[[float], Tally]  # in about so many seconds, where it can choose
    group: str


def _run(command: list[str], **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def _tests(*arguments: str, times: str | None = None, **environment: str) -> Tally:
    """pytest: each test that passed is a case; with ``times`` a pattern finds cases in its name."""
    code, said = _run([sys.executable, "-m", "pytest", "-v", *arguments], **environment)
    passed = re.findall(r"^(\S+::\S.*?) PASSED", said, re.MULTILINE)
    cases = len(passed)
    if times is not None:
        cases = sum(int(found[1]) for name in passed if (found := re.search(times, name)))
    failed = re.findall(r"^(?:FAILED|ERROR) (.*)", said, re.MULTILINE)
    if code != 0 and not failed:
        failed = [said[-1000:]]
    return Tally(cases, cases, failed)


def kills(_: float) -> Tally:
    """Processes that were killed while they trained."""
    return _tests("tests/checkpoint/test_kill.py", times=r"-(\d+)\]")


def dask(_: float) -> Tally:
    """Workers lost, stopped and joined."""
    return _tests("tests/dask/test_faults.py")


def injection(_: float) -> Tally:
    """Payloads in reports."""
    return _tests("tests/report/test_injection.py")


def wide(_: float) -> Tally:
    """The tests of rows, solvers and estimators with 64-bit indices."""
    folders = ("tests/solvers", "tests/test_solve.py", "tests/test_rows.py",
               "tests/test_certificate.py", "tests/estimators")  # fmt: skip
    # The test of memory would count the copy that makes them so.
    return _tests("-m", "not slow", "-k", "not quarter_of_X", *folders, PEGASOS_INT64="1")


def large(_: float) -> Tally:
    """More than 2^31 values."""
    return _tests("tests/hardening/test_large.py", "-m", "slow")


def _cmake(folder: str, *options: str) -> tuple[int, str]:
    binaries = Path(sys.executable).parent
    code, said = _run([
        str(binaries / "cmake"), "-G", "Ninja", "-S", ".", "-B", f"build/{folder}",
        f"-DCMAKE_MAKE_PROGRAM={binaries / 'ninja'}", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *options,
    ])  # fmt: skip
    return (code, said) if code else _run([str(binaries / "cmake"), "--build", f"build/{folder}"])


def tsan(_: float) -> Tally:
    """The core's own tests under ThreadSanitizer."""
    code, said = _cmake("tsan", "-DPEGASOS_BUILD_TESTS=ON", "-DPEGASOS_SANITIZERS=thread")
    if code == 0:
        code, said = _run([str(_BUILD / "tsan" / "core_tests")], TSAN_OPTIONS="halt_on_error=1")
    found = re.search(r"(\d+) passed", said)
    cases = int(found[1]) if found else 0
    return Tally(cases, cases, [] if code == 0 and cases else [said[-2000:]])


def svmlight(seconds: float) -> Tally:
    """libFuzzer on the parser, under ASan and UBSan; needs clang."""
    names = ["clang++", *(f"clang++-{version}" for version in range(30, 13, -1))]
    compiler = next((name for name in names if shutil.which(name)), None)
    if compiler is None:
        return Tally(0, 0, ["clang is not installed"])
    code, said = _cmake("fuzz", f"-DCMAKE_CXX_COMPILER={compiler}", "-DPEGASOS_BUILD_FUZZERS=ON")
    if code != 0:
        return Tally(0, 0, [said[-2000:]])
    corpus = _BUILD / "fuzz" / "svmlight-corpus"
    corpus.mkdir(exist_ok=True)
    return _fuzzed([str(_BUILD / "fuzz" / "fuzz_svmlight")], corpus, "svmlight", seconds)


def csv(seconds: float) -> Tally:
    """atheris on the CSV reader."""
    corpus = _BUILD / "fuzz" / "csv-corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    return _fuzzed([sys.executable, "-m", "tests.hardening.fuzz_csv"], corpus, "csv", seconds)


def _fuzzed(command: list[str], corpus: Path, kept: str, seconds: float) -> Tally:
    """What was found to matter stays in ``corpus``, so that the next run goes on from there."""
    code, said = _run([
        *command, str(corpus), str(ROOT / "core" / "fuzz" / "corpus" / kept), "-max_len=500",
        f"-max_total_time={max(1, int(seconds))}", f"-artifact_prefix={corpus.parent}/{kept}-",
    ])  # fmt: skip
    found = re.search(r"Done (\d+) runs", said)
    cases = int(found[1]) if found else 0
    return Tally(cases, cases, [] if code == 0 and cases else [said[-2000:]])


def mutants(seconds: float) -> Tally:
    """Changes to the code that some test notices, by mutmut."""
    try:
        from tests.hardening import mutate
    except ImportError as error:
        return Tally(0, 0, [f"{error}: make mutate installs it"])
    return mutate.tally(seconds)


SUITES = {
    one.name: one
    for one in (
        Suite("fuzz-svmlight", "libFuzzer on the svmlight parser, under ASan and UBSan", svmlight,
              "fuzz"),
        Suite("fuzz-csv", "atheris (libFuzzer) on the CSV reader", csv, "fuzz"),
        Suite("kills", "SIGKILL while training with checkpoints: resumed to the same bits", kills,
              "chaos"),
        Suite("tsan", "the core's tests under ThreadSanitizer", tsan, "chaos"),
        Suite("int64", "tests of rows, solvers and estimators with 64-bit indices", wide, "chaos"),
        Suite("large", "an epoch over more than 2^31 stored values", large, "chaos"),
        Suite("dask", "workers killed, stopped, ended; networks cut: certified, no hang", dask,
              "chaos"),
        Suite("mutants", "changes to proofs, solve and model files: tests notice 85%", mutants,
              "mutate"),
        Suite("injection", "script-injection payloads in reports stay text", injection, "chaos"),
    )
}  # fmt: skip
