"""From what was scored to a page."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pegasos import _core
from pegasos.report import proof, quality, weights
from pegasos.report.about import Rows
from pegasos.report.scored import Scored
from pegasos.report.text import clean, count, plain, short

_CONTENTS = [
    ("certificate", "What is proven"),
    ("path", "Choice of C"),
    ("confusion", "Confusion"),
    ("classes", "Classes"),
    ("curves", "Curves"),
    ("margins", "Margins"),
    ("calibration", "Calibration"),
    ("features", "Features"),
    ("worst", "Worst rows"),
    ("details", "How it was made"),
]

_WARNINGS = {  # by whether the model was trained on the rows
    True: "These are the rows the model was trained on: everything measured here flatters it. "
    "Rows it has not seen tell how well it predicts.",
    None: "It is not known whether the model was trained on these rows. If it was, everything "
    "measured here flatters it.",
    False: "",
}
_WEIGHTS = {True: "as given", False: "all rows count the same"}
_SCHEMES = {
    "ovr": "one class against the rest",
    "ovo": "pairs of classes, which vote",
    "crammer_singer": "all classes at once (Crammer & Singer)",
    "labels": "each label by itself",
}


@cache
def _templates() -> Environment:
    """Every string is escaped; one that is missing is an error."""
    made = Environment(
        loader=PackageLoader("pegasos.report", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_shown,
    )
    made.filters |= {"cut": short, "thousands": count, "digest": _digest}
    return made


def _shown(value: Any) -> Any:
    """Strings of others may hold what a page cannot."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    """As a page's policy names what may run in it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def render(scored: Scored, rows: Rows, title: str) -> str:
    """The page."""
    about = scored.about
    folder = files("pegasos.report").joinpath("template")  # its script and style are trusted
    script, style = (
        Markup(folder.joinpath(name).read_text("utf-8")) for name in ("script.js", "style.css")
    )
    contents = [(i, "Labels" if i == "classes" and about.labels else n) for i, n in _CONTENTS]
    versions = _versions()
    template = _templates().get_template("page.html")
    return template.render(
        title=title,
        contents=contents,
        script=script,
        style=style,
        about=about,
        scored=scored,
        rows=rows,
        warning=_WARNINGS[rows.trained],
        summary=quality.summary(scored),
        certificate=proof.certificate(about),
        history=proof.history(about),
        path=proof.path(about),
        confusion=quality.confusion(scored),
        classes=quality.classes(scored),
        curves=quality.curves(scored),
        margins=quality.margins(scored),
        calibration=quality.calibration(scored),
        features=weights.features(about),
        worst=weights.worst_rows(scored, 1 if rows.path else 0),
        details=_details(scored, rows) | {"versions": list(versions.items())},
        versions=versions,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _versions() -> dict[str, str]:
    """What the report is made with."""
    from pegasos import __version__

    found = {"pegasos": __version__, "kernels": _core.instruction_set()}
    found |= {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return found | {"python": sys.version.split()[0], "system": platform.platform()}


def _details(scored: Scored, rows: Rows) -> dict[str, Any]:
    about = scored.about
    found = {
        "model": [
            ("kind", about.kind),
            ("file", about.origin),
            ("problem", "two classes" if about.binary else _SCHEMES[about.scheme]),
            ("classes", short(", ".join(about.classes), 600)),
            ("features", _some(about.features)),
            ("steps before", ", ".join(about.steps)),
            *_plain(about.training),
        ],
        "parameters": [(name, plain(value)) for name, value in about.parameters.items()],
        "rows": [
            ("file", rows.path),
            ("rows", f"{scored.rows:,}"),
            ("features", _some(scored.features)),
            ("values stored", _some(scored.values)),
            ("trained on", {True: "yes", False: "no", None: "not known"}[rows.trained]),
            ("weights", rows.weights or _WEIGHTS[scored.weighted]),
            ("rows of unknown classes", _some(scored.unknown, ", counted as wrong")),
            ("lines skipped", _some(rows.skipped)),
            ("curves are of", f"every {scored.stride}th row" if scored.stride > 1 else ""),
            ("fingerprint", rows.digest),
            *(("note", note) for note in rows.notes),
        ],
        "trained": _plain(about.data),
    }
    return {part: [(name, text) for name, text in facts if text] for part, facts in found.items()}


def _some(number: int, more: str = "") -> str:
    return f"{number:,}{more}" if number else ""


def _plain(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("fingerprint", f"CRC-32 {value:08x}")
        if name == "crc32" and isinstance(value, int)
        else (name.replace("_", " "), plain(value))
        for name, value in values.items()
    ]
