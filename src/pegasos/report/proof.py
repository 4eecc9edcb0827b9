"""The sections on how the model was trained: the certificate in words, its history, its C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pegasos.certificate import Certificate
from pegasos.report.about import About
from pegasos.report.charts import Chart, linear, logarithmic
from pegasos.report.text import fixed, number
from pegasos.wording import in_words, percent, seconds, worst

_LANES = 50
_RECORDS = 40
_HUGE = 1e30  # no axis goes further
_COLUMNS = (
    ("seconds", "time"),
    ("epoch", "passes"),
    ("primal", "objective"),
    ("dual", "lower bound"),
    ("relative_gap", "relative gap"),
    ("worst_gap", "of the worst"),
)

_WITHOUT = [
    "It has no certificate: it was trained elsewhere, or on rows that came in batches "
    "(partial_fit). Its predictions are measured below all the same.",
    "The training rows can prove how good it is: pegasos certify MODEL ROWS, with the C or lam "
    "it was trained at.",
]

_ENDS = {
    "converged": "the proof was complete",
    "precision": "float64 has no more digits to give",
    "max_time": "the time that was allowed was over",
    "max_epochs": "the passes that were allowed were over",
    "max_steps": "the steps that were allowed were over",
    "interrupted": "it was interrupted",
    "callback": "a callback ended it",
    "early_stopping": "the validation score stopped rising",
    "cluster_failed": "the cluster failed",
}


def certificate(about: About) -> dict[str, Any]:
    """What is proven, in words, and the bounds of each problem."""
    proof, tol = about.certificate, about.parameters.get("tol")
    if proof is None:
        return {"headline": "Nothing is proven about this model.", "kind": "none", "lanes": [],
                "short": "no proof", "words": _WITHOUT, "more": 0}  # fmt: skip
    gap = worst(proof)
    asked = isinstance(tol, float) and tol > 0
    proven = bool(np.all(proof.proves(float(tol or 0)))) if asked else math.isfinite(gap)
    headline = in_words(gap)
    lanes = _lanes(about, proof) if np.size(proof.primal) > 1 else []
    return {
        "headline": f"{headline[0].upper()}{headline[1:]}.",
        "kind": "proven" if proven else "short",
        "short": percent(gap) if gap <= 1 else "unproven" if math.isinf(gap) else number(1 + gap),
        "words": _words(about, proof, gap, proven, tol if asked else None),
        "lanes": lanes[:_LANES],
        "more": max(0, len(lanes) - _LANES),
    }


def _words(
    about: About, proof: Certificate, gap: float, proven: bool, tol: float | None
) -> list[str]:
    problems = int(np.size(proof.primal))
    at = int(np.argmax(np.ravel(proof.relative_gap)))
    primal, dual, rounding = (
        float(np.ravel(bound)[at % np.size(bound)])
        for bound in (proof.primal, proof.dual, proof.rounding)
    )
    of = ""
    if problems > 1:
        kind = {"ovo": "pairs of classes", "labels": "labels"}.get(about.scheme, "classes")
        of = f" This is the worst of {problems:,} problems, one for each of the {kind}."
    said = [
        f"The objective that training minimises is {number(primal, 6)} for this model, and no "
        f"model of its kind can bring it below {number(dual, 6)}: that is a lower bound, from "
        f"the training rows and dual variables.{of} The arithmetic itself can have changed the "
        f"difference by at most {number(rounding, 2)}."
    ]
    if about.certificate_of:
        said.append(f"It is a proof about {about.certificate_of}.")
    if tol is not None and proven:
        said.append(f"The fit was asked for {percent(tol)} (tol = {tol:g}), and met it.")
    elif tol is not None:
        reason = str(about.training.get("stop_reason", ""))
        why = f": {_ENDS.get(reason, reason)}" if reason and reason != "converged" else ""
        short = "but rounding could be as large" if gap <= tol else "and ended before"
        said.append(f"The fit was asked for {percent(tol)} (tol = {tol:g}), {short}{why}.")
    said.append(
        "It says how well the training problem was solved, not how well the model predicts. That "
        "is measured below, on rows."
    )
    return said


def _lanes(about: About, proof: Certificate) -> list[tuple[str, ...]]:
    """The bounds of each problem, the largest gap first."""
    primal, dual = np.ravel(proof.primal), np.ravel(proof.dual)
    gaps = np.ravel(proof.relative_gap)
    names = about.lane_names()
    names = names if len(names) == gaps.size else [str(k + 1) for k in range(gaps.size)]
    return [
        (names[k], number(primal[k], 6), number(dual[k], 6), number(gaps[k], 3, zeros=True))
        for k in np.argsort(-gaps, kind="stable")
    ]


def history(about: About) -> dict[str, Any]:
    """The gap against time."""
    table = about.history
    if not table or not table["seconds"]:
        return {"why": "The model has no history: it was read from a file of others or of an older "
                       "version, or trained in a way that keeps none."}  # fmt: skip
    several = about.certificate is not None and np.size(about.certificate.primal) > 1
    columns = _COLUMNS if several else _COLUMNS[:-1]
    rows = [
        (seconds(t), number(e, 3), number(p, 6), number(d, 6), *(number(gap, 3) for gap in gaps))
        for t, e, p, d, *gaps in zip(*(table[name] for name, _ in columns), strict=True)
    ]
    shown = np.linspace(0, len(rows) - 1, min(len(rows), _RECORDS)).astype(int)
    words = "Every point is a certificate, recomputed from the rows"
    if several:
        words += "; the gap is that of the sum of all problems, untrained ones included"
    chart = _gap_chart(about)
    if chart is None:
        words = "No certificate on the way proved anything"
    return {
        "why": "",
        "chart": chart,
        "rows": [rows[k] for k in shown],
        "heads": [head for _, head in columns],
        "words": f"{words}.",
    }


def _gap_chart(about: About) -> Any:
    table, tol = about.history, about.parameters.get("tol")
    floor = float(np.finfo(float).eps)  # a gap of rounding alone may be 0, or below
    found = [
        (t, max(gap, floor))
        for t, gap in zip(table["seconds"], table["relative_gap"], strict=True)
        if gap < _HUGE and 0 <= t < _HUGE
    ]
    if not found:
        return None
    xs, ys = zip(*found, strict=True)
    goal = [float(tol)] if isinstance(tol, float) and tol > 0 else []
    chart = Chart(
        "Proven relative gap against seconds of training",
        linear("seconds", xs, zero=True),
        logarithmic("proven relative gap", [*ys, *goal]),
    )
    if goal:
        chart.across(goal[0], f"asked for: {tol:g}")
    chart.line(xs, ys, "gap")
    if len(xs) <= 60:
        titles = [f"{percent(gap)} proven after {seconds(t)}" for t, gap in found]
        chart.dots(xs, ys, titles)
    return chart.svg()


def path(about: About) -> dict[str, Any]:
    """The score against C."""
    table = about.path
    if not table:
        return {"why": "C was given, not chosen by cross-validation: LinearSVCCV and pegasos cv "
                       "choose it."}  # fmt: skip
    points = [
        (c, m, e)
        for c, m, e in zip(table["C"], table["mean"], table["error"], strict=True)
        if 1 / _HUGE < c < _HUGE and abs(m) < _HUGE and abs(e) < _HUGE
    ]
    if not points:
        return {"why": "No C of the path has a score."}
    C, mean = [c for c, _, _ in points], [m for _, m, _ in points]
    low, high = [m - e for _, m, e in points], [m + e for _, m, e in points]
    chosen, scoring = float(table["C"][table["chosen"]]), str(table["scoring"])
    chart = Chart(f"Mean {scoring} against C", logarithmic("C", C), linear(scoring, [*low, *high]))
    chart.area(C, low, high)
    word = f"chosen: {number(chosen, 3)}"
    right = chart.x.place(chosen) > 0.6
    chart.upright(chosen, word if right else "", "" if right else word)
    chart.line(C, mean, scoring)
    titles = [f"C = {number(c, 3)}: {number(m)} ± {number(e, 2)}" for c, m, e in points]
    chart.dots(C, mean, titles)
    return {
        "why": "",
        "chart": chart.svg(),
        "words": f"Mean {scoring} of the rows held out in {table['folds']} folds, with its "
        f"standard error; C = {number(chosen, 3)} was chosen.",
        "rows": [(number(c, 4), fixed(m, 4), number(e, 2)) for c, m, e in points],
        "chosen": C.index(chosen) if chosen in C else None,
        "scoring": scoring,
    }
