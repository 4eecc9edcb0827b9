"""RESULTS.md, from the ``result.json`` files."""

from pathlib import Path

from benchmarks.table import header, row
from pegasos.util.atomic import atomic_write
from reproduce import NAMES
from reproduce.experiment import Claim, by_name, load, named

NAME = "RESULTS.md"

_HEAD = """# The sources' tables and figures, run again

Made by `pegasos reproduce --all` (or `make reproduce`) from the `result.json` files beside it: do
not edit. Verdicts are computed from the measurements, by the rule that stands beside each claim.
Data are real where `PEGASOS_DATA` has them, otherwise generated and called **stand-in** wherever
they appear; extrapolated numbers are called so. Seconds are of one machine, with one thread unless
said; what counts are ratios, from runs in turn. SVM-perf and SVM-light are not to be had here: the
claims say what stands in their place."""


def write(folder):
    """Replace the page of a folder."""
    with atomic_write(Path(folder) / NAME) as file:
        file.write(text(folder).encode())


def text(folder):
    """The page of the results that are in a folder."""
    results = [(name, load(name, folder)) for name in NAMES]
    there = [result for _, result in results if result is not None]
    lines = [_HEAD, "", *_summary(results), ""]
    lines.append(f"{len(there)} of {len(NAMES)}, {_minutes(there)} in all.")
    for number, (name, result) in enumerate(results, start=1):
        lines += ["", *_section(number, name, result)]
    return "\n".join(lines) + "\n"


def _summary(results):
    yield from header("", "what", "verdict", "data", "seconds", "command")
    for number, (name, result) in enumerate(results, start=1):
        module, command = by_name(name), f"`pegasos reproduce {name}`"
        if result is None:
            yield row(number, _cell(module.TITLE), "not run", "", "", command)
            continue
        kinds = "; ".join(dict.fromkeys(one["kind"] for one in result["data"]))
        yield row(number, _cell(module.TITLE), f"**{result['verdict']}**", kinds,
                  f"{result['seconds']:.0f}", command)  # fmt: skip


def _minutes(results):
    return f"{sum(result['seconds'] for result in results) / 60:.1f} minutes"


def _section(number, name, result):
    module = by_name(name)
    yield f"## {number}. {module.TITLE}"
    yield ""
    yield f"{module.QUESTION} Source: {module.SOURCE}."
    yield ""
    if result is None:
        yield f"Not run yet: `pegasos reproduce {name}`"
        return
    yield f"**{result['verdict'].capitalize()}.** {result['reason']}"
    yield ""
    yield from header("claim", "where", "claimed", "measured", "verdict", "rule, remarks")
    for one in result["claims"]:
        claim = Claim(**one)
        entries = (claim.text, claim.source, claim.claimed, claim.measured)
        yield row(*map(_cell, entries), claim.verdict, _cell(claim.note))
    yield ""
    yield f"![{module.TITLE}]({name}/picture.png)"
    for table in result["tables"]:
        yield ""
        yield f"{table['title']}:"
        yield ""
        yield from header(*map(_cell, table["header"]))
        for entries in table["rows"]:
            yield row(*map(_cell, entries))
    yield ""
    yield f"Data: {'; '.join(named(one) for one in result['data'])}."
    versions = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    commit = f"; commit {result['commit']}" if result["commit"] else ""
    yield (
        f"`pegasos reproduce {name}`: {result['seconds']:.0f} s on {result['date'][:10]}; "
        f"{result['machine']}; {versions}{commit}."
    )


def _cell(words):
    """Nothing in it ends a cell."""
    return str(words).replace("|", "\\|").replace("\n", " ")
