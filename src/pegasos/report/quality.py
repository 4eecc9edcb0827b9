"""The sections on how well the model predicts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.report import axes, measures
from pegasos.report.charts import Chart, meter
from pegasos.report.measures import Curve
from pegasos.report.scored import Scored
from pegasos.report.text import count, fixed, number, share, short

_MATRIX = 40  # classes: with more, only the pairs that are confused most
_SHADES = 9
_TABLE = 200  # classes of the table
_TILES = 60
_POINTS = 300  # of a large curve
_TILE_POINTS = 80


def summary(scored: Scored) -> dict[str, Any]:
    """The few numbers at the top."""
    per, labels = scored.per_class, scored.about.labels
    low, high = measures.interval(scored.right, scored.total)
    note = ""
    if not scored.weighted and scored.rows:
        note = f"95% interval {share(low)} to {share(high)}"
    largest = float(per.rows.max() / per.rows.sum()) if per.rows.sum() else math.nan
    cards = [
        {"name": "all labels of a row right" if labels else "accuracy",
         "value": share(scored.accuracy, 2), "note": note}
    ]  # fmt: skip
    if labels:
        wrong = scored.wrong_labels / (scored.total * scored.count) if scored.total else math.nan
        cards += [
            {"name": "micro F1", "value": fixed(per.micro_f1), "note": "of all labels together"},
            {"name": "macro F1", "value": fixed(per.macro_f1), "note": "mean over labels"},
            {"name": "single labels wrong", "value": share(wrong, 2), "note": "Hamming loss"},
        ]
    else:
        cards += [
            {"name": "balanced accuracy", "value": share(per.balanced_accuracy, 2),
             "note": "mean recall of the classes"},
            {"name": "macro F1", "value": fixed(per.macro_f1), "note": "mean over classes"},
            {"name": "largest class", "value": share(largest, 2),
             "note": "accuracy of always guessing it"},
        ]  # fmt: skip
    return {"cards": cards, "accuracy": share(scored.accuracy, 2)}


def confusion(scored: Scored) -> dict[str, Any]:
    """The matrix, and the pairs that are confused most."""
    about, counts = scored.about, scored.counts
    if about.labels:
        return {"why": "Rows may have several labels, so there is no matrix of one class against "
                       "another: the table of labels counts each by itself."}  # fmt: skip
    sums = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)
    names = about.classes
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:10]
    pairs = [
        {"true": names[i], "said": names[j], "rows": count(counts[i, j]),
         "share": share(shares[i, j]),
         "meter": meter(float(shares[i, j]), share(shares[i, j]), "minus")}
        for i, j in (divmod(int(k), len(names)) for k in order)
        if wrong[i, j] > 0
    ]  # fmt: skip
    found = {
        "why": "",
        "names": names,
        "pairs": pairs,
        "rows": [],
        "wide": sum(min(len(name), 24) for name in names) > 70,
    }
    if len(names) > _MATRIX:
        return found
    found["rows"] = [
        {
            "name": names[i],
            "cells": [
                {
                    "shade": _shade(float(shares[i, j])),
                    "right": i == j,
                    "text": count(counts[i, j]) if counts[i, j] else "",
                    "title": f"{count(counts[i, j])} of {short(names[i], 60)} predicted as "
                    f"{short(names[j], 60)}: {share(shares[i, j])}",
                }
                for j in range(len(names))
            ],
        }
        for i in range(len(names))
    ]
    return found


def _shade(value: float) -> int:
    """From 0 to 9; small shares differ more than large ones."""
    return 0 if value <= 0 else max(1, min(_SHADES, round(_SHADES * value**0.6)))


def classes(scored: Scored) -> dict[str, Any]:
    """Precision, recall and areas of each class or label."""
    about, per = scored.about, scored.per_class
    shown = np.arange(per.rows.size)
    if shown.size > _TABLE:
        shown = np.sort(np.argsort(-per.rows, kind="stable")[:_TABLE])
    rows = [
        {
            "name": about.classes[k],
            "rows": count(per.rows[k]),
            "said": count(per.said[k]),
            **{
                name: {
                    "text": fixed(value),
                    "meter": meter(value, f"{name} {fixed(value)}"),
                }
                for name, value in (
                    ("precision", float(per.precision[k])),
                    ("recall", float(per.recall[k])),
                    ("f1", float(per.f1[k])),
                )
            },
        }
        for k in shown
    ]
    return {"rows": rows, "more": per.rows.size - shown.size}


def _problems(scored: Scored) -> list[tuple[str, Floats, NDArray[np.bool_], Floats]]:
    """Class by class against the rest: its name, scores, which rows are its own, weights."""
    about = scored.about
    kept = scored.kept if about.labels else scored.kept.known
    if about.binary:
        return [(about.classes[1], kept.scores, kept.truth == 1, kept.weight)]
    chosen = np.sort(np.argsort(-scored.per_class.rows, kind="stable")[:_TILES])
    own = [kept.truth[:, k] if about.labels else kept.truth == k for k in chosen]
    return [
        (about.classes[k], kept.scores[:, k], rows, kept.weight)
        for k, rows in zip(chosen, own, strict=True)
    ]


def curves(scored: Scored) -> dict[str, Any]:
    """Precision against recall, and the ROC curve: large for one problem, small for many."""
    problems = _problems(scored)
    drawn = {"pr": [], "roc": []}  # type: dict[str, list[dict[str, Any]]]
    single = len(problems) == 1
    for name, scores, positive, weight in problems:
        for kind, made in (
            ("pr", measures.precision_recall(scores, positive, weight)),
            ("roc", measures.roc(scores, positive, weight)),
        ):
            if made is not None:
                svg = _curve(kind, name, made, single, float(weight[positive].sum() / weight.sum()))
                drawn[kind].append({"name": name, "area": fixed(made.area), "svg": svg,
                                    "value": made.area})  # fmt: skip
    means = {
        kind: fixed(np.mean([tile["value"] for tile in tiles])) if tiles else "–"
        for kind, tiles in drawn.items()
    }
    why = "" if drawn["pr"] else "No class of the model has rows here, so there are no curves."
    votes = scored.about.scheme == "ovo" and not scored.about.binary
    return {"why": why, "single": single, **drawn, "means": means, "votes": votes,
            "more": scored.count - len(problems) if not single else 0}  # fmt: skip


def _curve(kind: str, name: str, made: Curve, large: bool, base: float) -> Any:
    label = "Precision against recall" if kind == "pr" else "True against false positive rate"
    x, y = (
        ("recall", "precision") if kind == "pr" else ("false positive rate", "true positive rate")
    )
    size = {"width": 400, "height": 340} if large else {"width": 150, "height": 150, "small": True}
    chart = Chart(f"{label}: {name}", axes.unit(x), axes.unit(y), **size)  # type: ignore[arg-type]
    if kind == "roc":
        chart.diagonal()
    else:
        chart.across(base, "share of all rows" if large else "")
    thin = made.thinned(_POINTS if large else _TILE_POINTS)
    chart.line(thin.x.tolist(), thin.y.tolist(), "s1", y)
    return chart.svg()


def margins(scored: Scored) -> dict[str, Any]:
    """How clearly rows are right or wrong."""
    about = scored.about
    kept = scored.kept if about.labels else scored.kept.known
    if about.labels:
        sign = np.where(kept.truth, 1.0, -1.0)
        values = (sign * kept.scores).ravel()
        weight = np.repeat(kept.weight, kept.scores.shape[1])
    else:
        values, weight = measures.margins(kept.scores, kept.truth), kept.weight
    if not values.size:
        return {"why": "There are no rows of classes that the model knows."}
    bars = measures.histogram(values, weight)
    # The loss begins below 1 where the margin is the one that training saw.
    inside = about.binary or about.labels or about.scheme == "crammer_singer"
    chart = Chart(
        "Rows by margin",
        axes.Axis("margin", float(bars.edges[0]), float(bars.edges[-1])),
        axes.linear("labels" if about.labels else "rows", bars.heights.tolist(), zero=True),
        width=480,
        height=260,
    )
    for left, right, height in zip(bars.edges[:-1], bars.edges[1:], bars.heights, strict=True):
        kind = "wrong" if right <= 0 else "close" if inside and right <= 1 else ""
        if height:
            title = f"{count(height)} with margins from {number(left, 3)} to {number(right, 3)}"
            chart.bar(float(left), float(right), float(height), title, kind)
    chart.upright(0.0, "wrong", "right")
    total = float(weight.sum())
    return {
        "why": "",
        "chart": chart.svg(),
        "inside": inside,
        "wrong": share(float(weight[values < 0].sum()) / total) if total else "–",
        "close": share(float(weight[(values >= 0) & (values < 1)].sum()) / total) if total else "–",
        "beyond": count(bars.below + bars.above) if bars.below + bars.above else "",
    }


def calibration(scored: Scored) -> dict[str, Any]:
    """Probabilities against what happened."""
    about = scored.about
    if about.labels:
        return {"why": "Models of labels have no probabilities."}
    kept = scored.kept.known
    p, truth, weight = kept.probabilities, kept.truth, kept.weight
    if p is None:
        return {"why": "The model has no probabilities. To get them, train it in Python with "
                       "LinearSVC(probability=True) or SVC(probability=True), and make the report "
                       "of that."}  # fmt: skip
    if not truth.size:
        return {"why": "There are no rows of classes that the model knows."}
    if about.binary:
        given, happened = p[:, 1], truth == 1
        what = f"probability of {about.classes[1]}"
        brier = "Brier score"
    else:
        said = p.argmax(axis=1)
        given, happened = measures.own(p, said), said == truth
        what = "probability of the likeliest class"
        brier = "Brier score over all classes"
    found = measures.reliability(given, happened, weight)
    score = found.brier if about.binary else measures.multiclass_brier(p, truth, weight)
    chart = Chart(
        "What happened against the probability given",
        axes.unit(what), axes.unit("share that came true"), width=400, height=340,
    )  # fmt: skip
    chart.diagonal()
    chart.line(found.given.tolist(), found.happened.tolist(), "s1", "share that came true")
    titles = [
        f"given {number(g, 3)} on average, came true in {share(h)} of {count(r)} rows"
        for g, h, r in zip(found.given, found.happened, found.rows, strict=True)
    ]
    chart.dots(found.given.tolist(), found.happened.tolist(), titles)
    return {
        "why": "",
        "chart": chart.svg(),
        "rows": [
            {"given": fixed(g), "happened": fixed(h), "rows": count(r)}
            for g, h, r in zip(found.given, found.happened, found.rows, strict=True)
        ],
        "error": fixed(found.error),
        "brier_name": brier,
        "brier": fixed(score, 4),
        "log_loss": fixed(measures.mean_log_loss(p, truth, weight), 4),
        "what": what,
    }
