"""What can be said of the package before it is built. `make supply` builds it."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import files, version
from pathlib import Path

import nanobind
import pytest
from tests.supply import contents, dependencies, platforms
from tests.supply.run import ROOT, FaultError, NotCheckedError

import pegasos
from pegasos.data.files import COMPRESSED
from pegasos.data.formats import FORMATS

PYPROJECT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(PYPROJECT)
THIRD_PARTY = (ROOT / "THIRD_PARTY_LICENSES.md").read_text()
SOURCES = sorted((ROOT / "src/pegasos").rglob("*.py"))


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()


BASE = [_name(one) for one in PROJECT["project"]["dependencies"]]
EXTRAS = [
    _name(one) for some in PROJECT["project"]["optional-dependencies"].values() for one in some
]


def test_every_dependency_of_the_base_install_says_what_it_is_for():
    block = PYPROJECT.split("\ndependencies = [\n")[1].split("\n]")[0].splitlines()
    assert len(block) == len(BASE)
    assert [line for line in block if "  # " not in line] == []


def test_every_tool_of_supply_says_what_it_is_for():
    block = PYPROJECT.split("\nsupply = [")[1].split("\n]")[0].splitlines()[1:]
    assert len(block) == len(PROJECT["dependency-groups"]["supply"])
    assert [line for line in block if "  # " not in line] == []


def test_versions_agree():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"] == (
        "src/pegasos/__init__.py"
    )
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert pegasos.__version__ == version("pegasos") == newest[1]


def test_wheels_take_the_licences_with_them():
    assert set(PROJECT["project"]["license-files"]) == set(contents.LICENCES)
    for name in contents.LICENCES:
        assert (ROOT / name).stat().st_size > 0


@pytest.mark.parametrize("one", dependencies.COMPILED, ids=lambda one: one.name)
def test_what_is_compiled_in_is_listed_with_its_version(one):
    assert re.search(rf"\| {one.name} \| {re.escape(one.version)} \| {one.licence} \|", THIRD_PARTY)
    assert one.purl.endswith(one.version)


def test_the_licences_of_what_is_compiled_in_are_those_it_has():
    nanobind_version = dependencies.COMPILED[0].version
    assert nanobind.__version__ == nanobind_version
    assert f"nanobind=={nanobind_version}" in PROJECT["build-system"]["requires"]
    (own,) = (one for one in files("nanobind") or () if one.name == "LICENSE")
    assert own.read_text().strip() in THIRD_PARTY

    folder = Path(nanobind.include_dir()).parent / "ext/robin_map/include/tsl"
    numbers = re.findall(r"#define TSL_RH_VERSION_\w+ (\d+)", (
        folder / "robin_growth_policy.h").read_text())  # fmt: skip
    assert ".".join(numbers) == dependencies.COMPILED[1].version
    comment = (folder / "robin_map.h").read_text().split("/**\n")[1].split("*/")[0]
    assert re.sub(r"^ \* ?", "", comment, flags=re.MULTILINE).strip() in THIRD_PARTY


def test_security_names_every_format_that_is_read():
    said = (ROOT / "SECURITY.md").read_text()
    for name in (*FORMATS, *COMPRESSED):
        assert f"`{name}`" in said, name
    for name in ("model files", "checkpoints", "LIBLINEAR", "SVM-light"):
        assert name in said


def test_security_names_the_errors_of_readers():
    said = (ROOT / "SECURITY.md").read_text()
    found = set(re.findall(r"`(\w+Error)`", said))
    assert found == {"ModelFileError", "DataError", "CheckpointError"}
    assert hasattr(pegasos, "ModelFileError")
    assert hasattr(pegasos, "CheckpointError")


def test_cibuildwheel_is_asked_for_what_the_list_says():
    asked = PROJECT["tool"]["cibuildwheel"]
    assert asked["build"] == [f"{one}-*" for one in platforms.PYTHONS]
    assert {system: len(asked[system]["archs"]) for system in platforms.SYSTEMS} == {
        system: len(kinds) for system, kinds in platforms.SYSTEMS.items()
    }
    script = asked["test-command"].split("{project}/")[1]
    assert (ROOT / script).is_file()
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=3.")
    assert platforms.PYTHONS[0] == f"cp3{oldest}"


def _imported(path: Path) -> set[str]:
    """The packages that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name.split(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


# Imported under another name, or brought along by what it stands for.
MODULES = {"sklearn": "scikit-learn", "triton": "torch"}


def test_nothing_is_imported_that_is_not_declared():
    known = {*sys.stdlib_module_names, "pegasos", *BASE, *EXTRAS, "_typeshed", "compression"}
    found = {(name, path.name) for path in SOURCES for name in _imported(path)}
    assert [one for one in sorted(found) if MODULES.get(one[0], one[0]).lower() not in known] == []


def test_the_base_install_is_all_that_training_needs(tmp_path):
    """With nothing importable but the dependencies, and theirs, as pip would install them."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, json.dumps(BASE)],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["trained", "refused"]


ALONE = """
import importlib.metadata as metadata, json, re, sys

allowed, left = set(), json.loads(sys.argv[1])
while left:
    name = re.sub("[-_.]+", "-", left.pop().lower())
    if name in allowed:
        continue
    try:
        needs = metadata.requires(name) or []
    except metadata.PackageNotFoundError:  # on this Python it is not needed
        continue
    allowed.add(name)
    left += [re.split(r"[^\\w.-]", one)[0] for one in needs if "extra ==" not in one]
owners = metadata.packages_distributions()
canonical = lambda name: re.sub("[-_.]+", "-", name.lower())

class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        its = {canonical(one) for one in owners.get(top, ())}
        if its and not its & (allowed | {"pegasos"}):
            raise ImportError(f"{top} is not declared")
        return None

sys.meta_path.insert(0, Refuse())
import numpy as np
import pegasos
from pegasos.cli import app
X = np.random.default_rng(0).standard_normal((40, 3))
model = pegasos.LinearSVC().fit(X, X[:, 0] > 0)
pegasos.save(model, "x.model")
pegasos.load("x.model").report(X, X[:, 0] > 0)
print("trained")
try:
    import hypothesis
except ImportError:
    print("refused")
"""


GOOD_WHEEL = [
    "pegasos/py.typed",
    "pegasos/report/template/page.html",
    "pegasos/_core.cpython-311-x86_64-linux-gnu.so",
    *(
        f"pegasos-1.dist-info/{name}"
        for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")
    ),
    *(f"pegasos-1.dist-info/licenses/{name}" for name in contents.LICENCES),
]


def test_a_wheel_that_is_whole():
    assert contents.faults_of_wheel(GOOD_WHEEL, ["tests/x.py"]) == []


@pytest.mark.parametrize("missing", GOOD_WHEEL)
def test_a_wheel_without_any_of_its_parts_is_refused(missing):
    rest = [name for name in GOOD_WHEEL if name != missing]
    assert len(contents.faults_of_wheel(rest, [])) == 1


@pytest.mark.parametrize("more", ["tests/x.py", "pegasos/data.npz", "pegasos-1.dist-info/sbom.txt"])
def test_a_wheel_with_anything_else_is_refused(more):
    (fault,) = contents.faults_of_wheel([*GOOD_WHEEL, more], [])
    assert Path(more).name in fault


def test_a_wheel_has_every_file_of_the_package():
    (fault,) = contents.faults_of_wheel(GOOD_WHEEL, ["src/pegasos/solve.py"])
    assert fault == "does not hold pegasos/solve.py"


def test_the_sdist_of_what_git_knows():
    tracked = ["CMakeLists.txt", "pyproject.toml", "README.md", "SECURITY.md", *contents.LICENCES]
    tracked += ["core/a.cpp", "src/pegasos/a.py", "benchmarks/a.py", "large"]
    sizes = dict.fromkeys(tracked[:-2], 1)
    assert contents.faults_of_sdist(sizes, tracked) == []
    assert contents.faults_of_sdist({**sizes, "benchmarks/a.py": 1}, tracked) == [
        "holds benchmarks/a.py"
    ]
    assert contents.faults_of_sdist({**sizes, "large": 300_000}, tracked) == [
        "holds large of 300,000 bytes"
    ]
    assert contents.faults_of_sdist({**sizes, "stray.csv": 1}, tracked) == [
        "holds stray.csv, which git does not know"
    ]
    del sizes["core/a.cpp"]
    assert contents.faults_of_sdist(sizes, tracked) == ["does not hold core/a.cpp"]


def _audited(*rows: dict[str, object]) -> str:
    return json.dumps({"dependencies": list(rows), "fixes": []})


CLEAN = {"name": "a", "version": "1", "vulns": []}
HOLE = {"name": "b", "version": "2", "vulns": [{"id": "PYSEC-1"}]}
SKIPPED = {"name": "c", "skip_reason": "Dependency not found"}


def test_an_audit_is_clean_only_if_there_was_an_answer_for_every_package():
    assert "2 packages" in dependencies.verdict(_audited(CLEAN, CLEAN), 2)
    with pytest.raises(FaultError, match="b 2: PYSEC-1"):
        dependencies.verdict(_audited(CLEAN, HOLE, SKIPPED), 3)
    with pytest.raises(NotCheckedError, match="no answer for 1 of 2"):
        dependencies.verdict(_audited(CLEAN, SKIPPED), 2)
    with pytest.raises(NotCheckedError, match="no answer for 1 of 2"):
        dependencies.verdict(_audited(CLEAN), 2)
    with pytest.raises(NotCheckedError, match="no answer"):
        dependencies.verdict("", 2)


def test_licences_that_nobody_looked_at():
    found = {"a": "MIT", "b": "BSD-3-Clause AND Zlib", "c": "MIT AND AGPL-3.0", "d": "UNKNOWN"}
    assert dependencies.not_looked_at(found) == ["c", "d"]


def test_the_sbom_has_what_is_compiled_in():
    bom = {
        "components": [
            {"name": "numpy", "bom-ref": "n"},
            {"name": "pegasos", "bom-ref": "p", "externalReferences": [{"url": "file:///here"}]},
        ],
        "dependencies": [{"ref": "n"}, {"ref": "p", "dependsOn": ["n"]}],
    }
    whole = dependencies.with_compiled(bom)
    assert whole["metadata"]["component"] == {"name": "pegasos", "bom-ref": "p"}
    assert [one["name"] for one in whole["components"]] == ["numpy", "nanobind", "robin-map"]
    purls = [one.purl for one in dependencies.COMPILED]
    needs = {one["ref"]: one.get("dependsOn") for one in whole["dependencies"]}
    assert needs["p"] == sorted(["n", *purls])
    assert set(needs) == {"n", "p", *purls}
