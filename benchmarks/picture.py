"""results/suboptimality.png: suboptimality against time at C = 1, one panel per data set."""

import math

from benchmarks import datasets, measure, peers, store

# Okabe and Ito's colours, told apart by colour-blind readers too; and a marker of its own each.
STYLES = {
    peers.OURS: ("#000000", "o"),
    "liblinear": ("#D55E00", "s"),
    "sklearn-linear-svc": ("#0072B2", "^"),
    "sklearn-sgd": ("#009E73", "v"),
    "skglm": ("#CC79A7", "D"),
    "snapml": ("#E69F00", "P"),
    "ocas": ("#56B4E9", "X"),
}
FLOOR, CEILING = 1e-6, 3.0  # below the floor, the reference is no more exact than the run


def draw():
    """The picture, from whatever results there are."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    panels = [found for found in map(store.read, datasets.NAMES) if _cell(found)]
    if not panels:
        return
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    size = (max(8, 4 * columns), 3.1 * rows + 1)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    shown = {}
    for axis, found in zip(axes.flat, panels, strict=False):
        shown |= _panel(axis, found)
        axis.set_xlabel("seconds, one thread")
        axis.xaxis.set_minor_formatter(NullFormatter())  # those of a short axis overlap
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    order = [name for name in STYLES if name in shown]
    figure.legend(
        [shown[name] for name in order],
        [_label(name) for name in order],
        loc="outside lower center",
        ncols=min(columns + 1, 4),
        frameon=False,
    )
    figure.supylabel("suboptimality")
    figure.savefig(store.RESULTS / "suboptimality.png", dpi=130)
    pyplot.close(figure)


def _cell(found):
    cell = found.get("cells", {}).get(measure.PICTURED)
    return cell if cell and cell["sweeps"] else None


def _panel(axis, found):
    """Draw every contender with one thread; their lines by name."""
    data, lines = found["data"], {}
    for name, (colour, marker) in STYLES.items():
        runs = _cell(found)["sweeps"].get(f"{name}/1", {"runs": []})["runs"]
        if not runs:
            continue
        ours = name == peers.OURS
        style = {"color": colour, "marker": marker, "zorder": 3 if ours else 2}
        size = 5 if ours else 4
        axis.loglog(*_points(runs), linestyle="none", markersize=size, alpha=0.5, **style)
        front = _front(runs)
        (lines[name],) = axis.loglog(
            *_points(front), linewidth=1.8 if ours else 1, markersize=size, **style
        )
    for target in measure.TARGETS:
        axis.axhline(target, color="#bbbbbb", linewidth=0.6, zorder=1)
    axis.set_ylim(FLOOR / 1.5, CEILING)
    origin = ", generated" if data["generated"] else ""
    axis.set_title(
        f"{data['title']}: {data['rows']:,} x {data['features']:,}{origin}", fontsize="medium"
    )
    axis.spines[["top", "right"]].set_visible(False)
    return lines


def _front(runs):
    """The runs that are better than all faster ones: what an oracle would choose from."""
    front = []
    for run in sorted(runs, key=lambda run: run["seconds"]):
        if not front or run["suboptimality"] < front[-1]["suboptimality"]:
            front.append(run)
    return front


def _points(runs):
    values = [max(run["suboptimality"], FLOOR) for run in runs]
    return [run["seconds"] for run in runs], values


def _label(name):
    title = peers.by_name(name).title
    return f"{title} (certified, stops by itself)" if name == peers.OURS else title


if __name__ == "__main__":
    draw()
