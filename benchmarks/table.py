"""Markdown tables, and how their numbers are written."""

import math


def header(*names):
    yield row(*names)
    yield "|" + "---|" * len(names)


def row(*entries):
    return "| " + " | ".join(str(entry) for entry in entries) + " |"


def show_time(seconds):
    if seconds is None:
        return ""
    if math.isinf(seconds):
        return "-"
    if seconds < 1e-3:
        return "< 0.001"
    return f"{seconds:.1f}" if seconds >= 10 else f"{seconds:.2g}"


def show_ratio(ratio):
    if math.isinf(ratio):
        return "∞"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def show_gap(gap):
    return "-" if gap is None else f"{gap:.1e}"
