"""The sections on how well the model predicts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from pegasos.certificate import Floats
from pegasos.report import measures
from pegasos.report.charts import Axis, Chart, linear, meter
from pegasos.report.measures import Curve, PerClass
from pegasos.report.scored import Scored
from pegasos.report.text import count, fixed, number, share, short

_MATRIX = 40  # classes: with more, only the pairs that are confused most
_SHADES = 9
_TABLE = 200  # classes of the table
_TILES = 60
_POINTS = 300  # of a large curve
_TILE_POINTS = 80
_CURVES = {  # what they show, and of which axes
    "pr": ("Precision against recall", "recall", "precision"),
    "roc": ("True against false positive rate", "false positive rate", "true positive rate"),
}


def summary(scored: Scored) -> list[tuple[str, str, str]]:
    """The few numbers at the top: names, values and notes."""
    per = scored.per_class
    low, high = measures.interval(scored.right, scored.total)
    note = ""
    if not scored.weighted and scored.rows:
        note = f"95% interval {share(low)} to {share(high)}"
    accuracy = share(scored.accuracy, 2)
    if scored.about.labels:
        wrong = scored.wrong_labels / (scored.total * scored.count) if scored.total else math.nan
        return [
            ("all labels of a row right", accuracy, note),
            ("micro F1", fixed(per.micro_f1), "of all labels together"),
            ("macro F1", fixed(per.macro_f1), "mean over labels"),
            ("single labels wrong", share(wrong, 2), "Hamming loss"),
        ]
    largest = float(per.rows.max() / per.rows.sum()) if per.rows.sum() else math.nan
    return [
        ("accuracy", accuracy, note),
        ("balanced accuracy", share(per.balanced_accuracy, 2), "mean recall of the classes"),
        ("macro F1", fixed(per.macro_f1), "mean over classes"),
        ("largest class", share(largest, 2), "accuracy of always guessing it"),
    ]


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
        {
            "true": names[i],
            "said": names[j],
            "rows": count(counts[i, j]),
            "share": share(shares[i, j]),
            "meter": meter(shares[i, j], share(shares[i, j]), "minus"),
        }
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j] > 0
    ]
    rows = []
    for i, name in enumerate(names if len(names) <= _MATRIX else ()):
        # From 0 to 9; small shares differ more than large ones.
        shades = np.clip(np.rint(_SHADES * shares[i] ** 0.6), shares[i] > 0, _SHADES).astype(int)
        rows.append((name, [
            {
                "kind": f"{'good' if i == j else 'bad'}{shades[j]}",
                "text": count(counts[i, j]) if counts[i, j] else "",
                "title": f"{count(counts[i, j])} of {short(name, 60)} predicted as "
                f"{short(other, 60)}: {share(shares[i, j])}",
            }
            for j, other in enumerate(names)
        ]))  # fmt: skip
    return {
        "why": "",
        "names": names,
        "pairs": pairs,
        "rows": rows,
        "wide": sum(min(len(name), 24) for name in names) > 70,
    }


def classes(scored: Scored) -> dict[str, Any]:
    """Precision, recall and areas of each class or label."""
    about, per = scored.about, scored.per_class
    shown = _largest(per, _TABLE)
    measured = {"precision": per.precision, "recall": per.recall, "f1": per.f1}
    rows = [
        {
            "name": about.classes[k],
            "rows": count(per.rows[k]),
            "said": count(per.said[k]),
            "measured": [
                (fixed(values[k]), meter(float(values[k]), f"{name} {fixed(values[k])}"))
                for name, values in measured.items()
            ],
        }
        for k in shown
    ]
    return {"rows": rows, "more": per.rows.size - shown.size}


def _largest(per: PerClass, most: int) -> NDArray[np.intp]:
    """The classes with the most rows, in their order."""
    return np.sort(np.argsort(-per.rows, kind="stable")[:most])


def _problems(scored: Scored) -> list[tuple[str, Floats, NDArray[np.bool_], Floats]]:
    """Class by class against the rest: its name, scores, which rows are its own, weights."""
    about = scored.about
    kept = scored.kept if about.labels else scored.kept.known
    if about.binary:
        return [(about.classes[1], kept.scores, kept.truth == 1, kept.weight)]
    return [
        (
            about.classes[k],
            kept.scores[:, k],
            kept.truth[:, k] if about.labels else kept.truth == k,
            kept.weight,
        )
        for k in _largest(scored.per_class, _TILES)
    ]


def curves(scored: Scored) -> dict[str, Any]:
    """Precision against recall, and the ROC curve: large for one problem, small for many."""
    problems = _problems(scored)
    drawn = {"pr": [], "roc": []}  # type: dict[str, list[dict[str, Any]]]
    areas = {"pr": [], "roc": []}  # type: dict[str, list[float]]
    single = len(problems) == 1
    for name, scores, positive, weight in problems:
        for kind, made in (
            ("pr", measures.precision_recall(scores, positive, weight)),
            ("roc", measures.roc(scores, positive, weight)),
        ):
            if made is not None:
                svg = _curve(kind, name, made, single, float(weight[positive].sum() / weight.sum()))
                drawn[kind].append({"name": name, "area": fixed(made.area), "svg": svg})
                areas[kind].append(made.area)
    return {
        "why": ""
        if drawn["pr"]
        else "No class of the model has rows here, so there are no curves.",
        "single": single,
        **drawn,
        "means": {kind: fixed(np.mean(of)) if of else "–" for kind, of in areas.items()},
        "votes": scored.about.scheme == "ovo" and not scored.about.binary,
        "more": 0 if single else scored.count - len(problems),
    }


def _curve(kind: str, name: str, made: Curve, large: bool, base: float) -> Markup:
    label, x, y = _CURVES[kind]
    width, height = (400, 340) if large else (150, 150)
    chart = Chart(f"{label}: {name}", Axis(x), Axis(y), width, height, small=not large)
    if kind == "roc":
        chart.diagonal()
    else:
        chart.across(base, "share of all rows" if large else "")
    thin = made.thinned(_POINTS if large else _TILE_POINTS)
    chart.line(thin.x, thin.y, y)
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
        Axis("margin", float(bars.edges[0]), float(bars.edges[-1])),
        linear("labels" if about.labels else "rows", bars.heights, zero=True),
        width=480,
        height=260,
    )
    for left, right, height in zip(bars.edges[:-1], bars.edges[1:], bars.heights, strict=True):
        kind = "wrong" if right <= 0 else "close" if inside and right <= 1 else ""
        if height:
            title = f"{count(height)} with margins from {number(left, 3)} to {number(right, 3)}"
            chart.bar(left, right, height, title, kind)
    chart.upright(0.0, "wrong", "right")
    wrong, close = (
        share(np.average(rows, weights=weight)) if weight.sum() else "–"
        for rows in (values < 0, (values >= 0) & (values < 1))
    )
    return {
        "why": "",
        "chart": chart.svg(),
        "inside": inside,
        "wrong": wrong,
        "close": close,
        "beyond": count(bars.beyond) if bars.beyond else "",
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
        found = measures.reliability(p[:, 1], truth == 1, weight)
        what, brier, score = f"probability of {about.classes[1]}", "Brier score", found.brier
    else:
        said = p.argmax(axis=1)
        found = measures.reliability(measures.own(p, said), said == truth, weight)
        what, brier = "probability of the likeliest class", "Brier score over all classes"
        score = measures.multiclass_brier(p, truth, weight)
    chart = Chart(
        "What happened against the probability given",
        Axis(what), Axis("share that came true"), width=400, height=340,
    )  # fmt: skip
    chart.diagonal()
    chart.line(found.given, found.happened, "share that came true")
    bins = list(zip(found.given, found.happened, found.rows, strict=True))
    titles = [
        f"given {number(g, 3)} on average, came true in {share(h)} of {count(r)} rows"
        for g, h, r in bins
    ]
    chart.dots(found.given, found.happened, titles)
    return {
        "why": "",
        "chart": chart.svg(),
        "rows": [(fixed(g), fixed(h), count(r)) for g, h, r in bins],
        "facts": [
            ("mean distance from the line", fixed(found.error)),
            (brier, fixed(score, 4)),
            ("log loss", fixed(measures.mean_log_loss(p, truth, weight), 4)),
        ],
        "what": what,
    }
