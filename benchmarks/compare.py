"""Ours against the fastest peer in a cell."""

import math
from typing import NamedTuple

from benchmarks import peers
from benchmarks.measure import CAP, is_ours, time_to


class Comparison(NamedTuple):
    """Seconds of ours and of the fastest peer, infinite where the target was not reached."""

    ours: float
    theirs: float
    peer: str
    ratio: float

    @property
    def only_a_bound(self):
        """Whether the ratio may be larger: a peer's run met the cap, and none got there."""
        return math.isinf(self.theirs) and 0 < self.ratio < math.inf


def compare(cell, threads, target):
    """The comparison for so many threads and a target."""
    times, met_cap = {}, False
    ours = math.inf
    for contender, swept in cell["sweeps"].items():
        name, used = contender.split("/")
        if int(used) != threads:
            continue
        seconds = time_to(cell, contender, target)
        if is_ours(contender):
            ours = seconds
        else:
            times[peers.by_name(name).title] = seconds
            met_cap = met_cap or swept["ended"].startswith("over")
    peer = min(times, key=times.get, default="")
    theirs = times.get(peer, math.inf)
    if math.isinf(theirs):
        peer = ""
    bound = min(theirs, CAP if met_cap else math.inf)
    return Comparison(ours, theirs, peer, 0.0 if math.isinf(ours) else bound / ours)
