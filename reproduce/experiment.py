"""What an experiment gives: claims with verdicts, tables, and the files they are kept in."""

import json
import tempfile
import textwrap
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks import machine
from pegasos.util.atomic import atomic_path, atomic_write
from reproduce import NAMES

HOLDS, FAILS, IN_PART, UNTESTED = "holds", "does not hold", "holds in part", "not tested"


@dataclass(frozen=True)
class Claim:
    """One statement of a source beside our measurement of it."""

    source: str  # where it is made
    text: str
    claimed: str
    measured: str
    holds: bool | None  # None: it could not be tested here
    note: str = ""

    @property
    def verdict(self):
        """In words."""
        return UNTESTED if self.holds is None else HOLDS if self.holds else FAILS


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    title: str
    header: list
    rows: list


def verdict(claims):
    """The verdict of an experiment by those of its claims, and why in a sentence."""
    tested = [claim for claim in claims if claim.holds is not None]
    failed = [claim.text for claim in tested if not claim.holds]
    if not tested:
        return UNTESTED, "None of its claims could be tested here."
    left_out = len(claims) - len(tested)
    more = f" {left_out} could not be tested here." if left_out else ""
    if not failed:
        return HOLDS, f"All {len(tested)} claims that were tested hold.{more}"
    word = FAILS if len(failed) == len(tested) else IN_PART
    held = len(tested) - len(failed)
    named = "; ".join(failed)
    return word, f"{held} of {len(tested)} claims hold. Not so: {named}.{more}"


def by_name(name):
    """The module of an experiment."""
    if name not in NAMES:
        raise ValueError(f"no reproduction {name!r}; there are {', '.join(NAMES)}")
    return import_module(f"reproduce.{name}")


def run(name, settings=None):
    """Measure, and judge; what ``result.json`` holds."""
    module = by_name(name)
    began = time.perf_counter()
    measured, data = module.measure(module.Settings() if settings is None else settings)
    measured = json.loads(json.dumps(measured, allow_nan=False))  # as it will be read again
    claims = module.claims(measured)
    word, reason = verdict(claims)
    return {
        "name": name,
        "verdict": word,
        "reason": reason,
        "claims": [asdict(claim) for claim in claims],
        "tables": [asdict(table) for table in module.tables(measured)],
        "data": data,
        "measured": measured,
        "seconds": round(time.perf_counter() - began, 1),
        "date": machine.now(),
        "commit": machine.commit(),
        "machine": f"{machine.machine()['cores']} cores, {machine.machine()['cpu']}",
        "versions": machine.versions(),
    }


def prepare(folder):
    """Raise before minutes are spent if results could not be stored in ``folder`` after them."""
    if not find_spec("matplotlib"):
        raise ImportError("pictures need matplotlib: pip install 'pegasos[demo]'")
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def store(result, folder):
    """Write ``result.json`` and ``picture.png`` into the experiment's folder of ``folder``."""
    place = Path(folder) / result["name"]
    place.mkdir(parents=True, exist_ok=True)
    with atomic_path(place / "picture.png") as path:
        draw(result, path)
    with atomic_write(place / "result.json") as file:
        file.write((json.dumps(result, indent=1, allow_nan=False) + "\n").encode())


def load(name, folder):
    """The stored result of that name, or None."""
    path = Path(folder) / name / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def draw(result, path):
    """The picture of a result; where data are generated, its title says so."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    module = by_name(result["name"])
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    module.draw(result["measured"], result["data"], figure)
    about = textwrap.fill("; ".join(named(one) for one in result["data"]), 120)
    figure.suptitle(f"{module.TITLE}\n{about}", size=8)
    figure.savefig(path, dpi=110)


def named(data):
    """A data set in a few words."""
    return f"{data['title']}, {data['rows']:,} x {data['features']:,} ({data['kind']})"
