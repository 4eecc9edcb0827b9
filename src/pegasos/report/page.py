"""From what was scored to a page."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pegasos.report import facts, proof, quality, weights
from pegasos.report.facts import Rows
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
    made.filters["cut"] = short
    made.filters["thousands"] = count
    return made


def _shown(value: Any) -> Any:
    """Strings of others may hold what a page cannot."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _source(name: str) -> str:
    return files("pegasos.report").joinpath("template", name).read_text("utf-8")


def policy(script: str, style: str) -> str:
    """Nothing is loaded, and nothing runs but these two."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def render(scored: Scored, rows: Rows, title: str) -> str:
    """The page."""
    about = scored.about
    script, style = _source("script.js"), _source("style.css")
    first = 1 if rows.path else 0
    contents = [(i, "Labels" if i == "classes" and about.labels else n) for i, n in _CONTENTS]
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            contents=contents,
            policy=policy(script, style),
            script=Markup(script),  # both are files of this package
            style=Markup(style),
            about=about,
            scored=scored,
            rows=rows,
            warning=_warning(rows),
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
            worst=weights.worst_rows(scored, first),
            details=_details(scored, rows),
            versions=facts.versions(),
            made=facts.now(),
        )
    )


def _warning(rows: Rows) -> str:
    if rows.trained:
        return (
            "These are the rows the model was trained on: everything measured here flatters it. "
            "Rows it has not seen tell how well it predicts."
        )
    if rows.trained is None:
        return (
            "It is not known whether the model was trained on these rows. If it was, everything "
            "measured here flatters it."
        )
    return ""


def _details(scored: Scored, rows: Rows) -> dict[str, Any]:
    about = scored.about
    schemes = {
        "ovr": "one class against the rest",
        "ovo": "pairs of classes, which vote",
        "crammer_singer": "all classes at once (Crammer & Singer)",
        "labels": "each label by itself",
    }
    model = [
        ("kind", about.kind),
        ("file", about.origin),
        ("problem", "two classes" if about.binary else schemes.get(about.scheme, about.scheme)),
        ("classes", short(", ".join(about.classes), 600)),
        ("features", f"{about.features:,}" if about.features else ""),
        ("steps before", ", ".join(about.steps)),
    ]
    model += [(_name(name), plain(value)) for name, value in about.training.items()]
    these = [
        ("file", rows.path),
        ("rows", f"{scored.rows:,}"),
        ("features", f"{scored.features:,}" if scored.features else ""),
        ("values stored", f"{scored.values:,}" if scored.values else ""),
        ("trained on", {True: "yes", False: "no", None: "not known"}[rows.trained]),
        ("weights", rows.weights or ("as given" if scored.weighted else "all rows count the same")),
        (
            "rows of unknown classes",
            f"{scored.unknown:,}, counted as wrong" if scored.unknown else "",
        ),
        ("lines skipped", f"{rows.skipped:,}" if rows.skipped else ""),
        ("curves are of", f"every {scored.stride}th row" if scored.stride > 1 else ""),
        ("fingerprint", rows.digest),
        *(("note", note) for note in rows.notes),
    ]
    return {
        "model": _filled(model),
        "parameters": _filled([(name, plain(value)) for name, value in about.parameters.items()]),
        "rows": _filled(these),
        "trained": _filled([_fingerprint(name, value) for name, value in about.data.items()]),
        "versions": list(facts.versions().items()),
    }


def _name(name: str) -> str:
    return name.replace("_", " ")


def _fingerprint(name: str, value: Any) -> tuple[str, str]:
    if name == "crc32" and isinstance(value, int):
        return "fingerprint", f"CRC-32 {value:08x}"
    return _name(name), plain(value)


def _filled(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in found if value]
