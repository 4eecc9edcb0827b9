"""How exact SGD-s gets: proven relative gaps against epochs."""

import numpy as np

import pegasos
from reproduce.experiment import Table
from reproduce.walk import optimum

LEVELS = (1e-2, 1e-3, 1e-4, 1e-5)


def measure(data, C, limit):
    """A run of SGD-s to its time limit, or to the last of the levels."""
    best = float(optimum(data.X, data.y, C=C).certificate.dual)
    result = pegasos.solve(
        data.X, data.y, C=C, solver="sgds", intercept="none", tol=LEVELS[-1], max_time=limit,
        seed=0, n_jobs=1,
    )  # fmt: skip
    gaps = np.minimum.accumulate(result.history["relative_gap"])
    finite = np.isfinite(gaps)
    return {
        "data": data.about(),
        "C": C,
        "limit": limit,
        "epochs": result.history["epoch"][finite].tolist(),
        "gaps": gaps[finite].tolist(),
        "away": float(result.certificate.primal / best - 1),  # at the end, as it really is
    }


def table(found):
    """The epochs to each level."""
    rows = []
    for one in found:
        gaps = np.array(one["gaps"])
        entries = []
        for level in LEVELS:
            within = np.flatnonzero(gaps <= level)
            entries.append(f"{one['epochs'][within[0]]:,.0f}" if within.size else "-")
        about = one["data"]
        proven = f"{gaps[-1]:.1e} ({one['epochs'][-1]:,.0f})"
        title = f"{about['title']} ({about['kind']})"
        rows.append([title, *entries, proven, f"{one['away']:.1e}"])
    header = [
        "data", *(f"{level:g}" for level in LEVELS), "proven at the end (epochs)",
        "from the optimum then",
    ]  # fmt: skip
    title = (
        f"SGD-s at C = {found[0]['C']:g}: epochs at which a relative accuracy was proven, in at "
        f"most {found[0]['limit']:g} s"
    )
    return Table(title, header, rows)


def slope(one):
    """gap ~ epochs^slope, in the second half of the epochs' logarithm."""
    epochs, gaps = np.array(one["epochs"]), np.array(one["gaps"])
    late = epochs >= np.sqrt(epochs[-1])
    if late.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(epochs[late]), np.log(gaps[late]), 1)[0])


def draw(found, axes):
    """Gap against epochs."""
    for one in found:
        axes.loglog(one["epochs"], one["gaps"], ".-", markersize=3, label=one["data"]["title"])
    axes.set_xlabel("epochs")
    axes.set_ylabel("proven relative gap")
    axes.set_title(f"SGD-s at C = {found[0]['C']:g}", size=9)
    axes.legend(fontsize=6)
