"""What comes with the package: vulnerabilities, licences, and the list of all of it (the SBOM)."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

from tests.supply.run import PLACE, ROOT, FaultError, NotCheckedError, answer, python, run, tool

SBOM, LICENCES = PLACE / "sbom.json", PLACE / "licences.md"

# As the packages write them. Another one is looked at by a person, and then added here.
_LOOKED_AT = {
    "0BSD", "Apache Software License", "Apache-2.0", "BSD License", "BSD-2-Clause", "BSD-3-Clause",
    "CC0-1.0", "ISC", "ISC License (ISCL)", "MIT", "MIT License", "PSF-2.0", "Zlib",
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """What is compiled into the module; THIRD_PARTY_LICENSES.md has its licence."""

    name: str
    version: str
    licence: str
    purl: str


COMPILED = (
    Compiled("nanobind", "3.1.0", "BSD-3-Clause", "pkg:pypi/nanobind@3.1.0"),
    Compiled("robin-map", "1.4.0", "MIT", "pkg:github/Tessil/robin-map@v1.4.0"),
)


def frozen() -> dict[str, str]:
    """The version of every package that the fresh environment has, but ours."""
    found = json.loads(
        run(sys.executable, "-m", "pip", "--python", python(), "list", "--format=json")
    )
    return {one["name"]: one["version"] for one in found if one["name"] != "pegasos"}


def audit() -> str:
    """No package of the base install has a vulnerability that PyPI knows of."""
    pinned = PLACE / "requirements.txt"
    pinned.write_text("".join(f"{name}=={number}\n" for name, number in frozen().items()))
    said = answer(
        tool("pip-audit"), "--requirement", pinned, "--no-deps", "--disable-pip",
        "--format", "json", "--progress-spinner", "off",
    )  # fmt: skip
    return verdict(said, len(frozen()))


def verdict(said: str, packages: int) -> str:
    """What pip-audit found, of its JSON. It says "none found" of packages it knows nothing of."""
    try:
        rows = json.loads(said)["dependencies"]
    except (ValueError, KeyError, TypeError):
        raise NotCheckedError("no answer") from None
    holes = [f"{row['name']} {row['version']}: {one['id']}"
             for row in rows for one in row.get("vulns", [])]  # fmt: skip
    if holes:
        raise FaultError("; ".join(holes))
    skipped = packages - sum("vulns" in row for row in rows)
    if skipped:
        raise NotCheckedError(f"no answer for {skipped} of {packages} packages")
    return f"{packages} packages, none known to be vulnerable"


def licences() -> str:
    """Every package of the base install has a licence that was looked at."""
    options = ("--python", python(), "--from", "mixed", "--with-urls")
    LICENCES.write_text(run(tool("pip-licenses"), *options, "--format", "markdown"))
    rows = json.loads(run(tool("pip-licenses"), *options, "--format", "json"))
    found = {row["Name"]: row["License"] for row in rows}
    unseen = not_looked_at(found)
    if unseen:
        raise FaultError("look at: " + "; ".join(f"{name}: {found[name]}" for name in unseen))
    return f"{len(found)} packages; {_shown(LICENCES)}"


def not_looked_at(found: dict[str, str]) -> list[str]:
    """The packages of which some licence is not in the list above."""
    return [
        name
        for name, text in sorted(found.items())
        if not set(re.split(r" AND | OR |; ", text)) <= _LOOKED_AT
    ]


def sbom() -> str:
    """A CycloneDX file of the wheel, what it needs, and what is compiled into it."""
    bare = PLACE / "environment.json"
    run(
        tool("cyclonedx-py"), "environment", "--output-reproducible", "--spec-version", "1.6",
        "--output-format", "JSON", "--output-file", bare, python(),
    )  # fmt: skip
    whole = with_compiled(json.loads(bare.read_text()))
    SBOM.write_text(json.dumps(whole, indent=2) + "\n")
    # By the library that cyclonedx-py is made of: whether it is still of the schema.
    check = (
        "import sys; from cyclonedx.validation.json import JsonStrictValidator as V;"
        "from cyclonedx.schema import SchemaVersion as S;"
        "wrong = V(S.V1_6).validate_str(open(sys.argv[1]).read());"
        "sys.exit(None if wrong is None else str(wrong))"
    )
    run(sys.executable, "-c", check, SBOM)
    missing = {*frozen(), *(one.name for one in COMPILED)} - _names(whole)
    if missing:
        raise FaultError(f"the SBOM does not have {', '.join(sorted(missing))}")
    return f"{len(whole['components'])} components; {_shown(SBOM)}"


def with_compiled(bom: dict[str, Any]) -> dict[str, Any]:
    """The SBOM of an environment, about the package in it, with what is compiled into that."""
    ours = next(one for one in bom["components"] if one["name"] == "pegasos")
    components = [one for one in bom["components"] if one is not ours]
    # Where it was installed from: a place on our disk.
    ours = {key: value for key, value in ours.items() if key != "externalReferences"}
    relations = {one["ref"]: one for one in bom["dependencies"]}
    for one in COMPILED:
        components.append(
            {
                "type": "library", "bom-ref": one.purl, "name": one.name, "version": one.version,
                "purl": one.purl, "licenses": [{"license": {"id": one.licence}}],
                "description": "compiled into pegasos._core",
            }
        )  # fmt: skip
        relations[one.purl] = {"ref": one.purl}
    own = relations[ours["bom-ref"]]
    own["dependsOn"] = sorted({*own.get("dependsOn", ()), *(one.purl for one in COMPILED)})
    about = {**bom.get("metadata", {}), "component": ours}
    return {**bom, "metadata": about, "components": components,
            "dependencies": sorted(relations.values(), key=lambda one: one["ref"])}  # fmt: skip


def _names(bom: dict[str, Any]) -> set[str]:
    return {one["name"] for one in bom["components"]}


def _shown(path: Any) -> str:
    return str(path.relative_to(ROOT))
