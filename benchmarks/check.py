"""Whether a peer solves the same problem: it must come within 1e-2 of our optimum at C = 1.

On every small data set that is here, or on generated text where none is. The results are in
results/check.json; a peer that fails is reported, and not timed.
"""

import tempfile

from benchmarks import datasets, measure, peers, store
from benchmarks.arrays import save_rows
from benchmarks.worker import PeerError, Worker
from pegasos.data.synthetic import make_news

WITHIN = 1e-2


def check(runnable, fresh=False):
    """The names of the peers that solve our problem."""
    known = {} if fresh else store.read("check")
    todo = [p for p in runnable if known.get(p.name, {}).get("version") != p.version()]
    if todo:
        found = _suboptimalities(todo)
        for peer in todo:
            known[peer.name] = {"version": peer.version(), "best": found[peer.name]}
        store.write("check", known)
    for peer in runnable:
        best = known[peer.name]["best"]
        verdict = "same objective" if passes(best) else "other objective"
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in best.items())
        print(f"{peer.title}: {verdict} ({shown})", flush=True)
    return {peer.name for peer in runnable if passes(known[peer.name]["best"])}


def passes(best):
    """Whether these suboptimalities are those of the same problem."""
    return all(value is not None and value <= WITHIN for value in best.values())


def _suboptimalities(todo):
    """Peer -> data set -> the best suboptimality on the way to ``WITHIN``; None without any."""
    found = {peer.name: {} for peer in todo}
    for name, X, y in _small():
        with tempfile.TemporaryDirectory(prefix="pegasos-bench-") as folder:
            save_rows(folder, X, y)
            dual = _with(peers.by_name(peers.OURS), folder, measure.reference)["dual"]
            for peer in todo:
                found[peer.name][name] = _best(peer, folder, dual)
    return found


def _small():
    here = []
    for name in datasets.SMALL:
        try:
            here.append((name, *datasets.module(name).load()))
        except datasets.MissingError:
            continue
    return here or [("generated news, 10,000 rows", *make_news(10_000))]


def _best(peer, folder, dual):
    def go(worker, C):
        return measure.sweep(worker, peer, C, dual, target=WITHIN)["runs"]

    try:
        runs = _with(peer, folder, go)
    except PeerError as error:
        print(f"{peer.title}: {error}", flush=True)
        return None
    return min((run["suboptimality"] for run in runs), default=None)


def _with(peer, folder, use):
    """What ``use(worker, C)`` gives for C = 1 and one thread."""
    worker = Worker(peer.name, folder, 1)
    try:
        return use(worker, 1.0)
    finally:
        worker.close()


def _shown(value):
    return "failed" if value is None else f"{value:.1e}"
