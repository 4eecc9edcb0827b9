"""Pages of the site that are files elsewhere in the repository, and links between them all.

Files keep their own links, which work where the repository is read; on the site each leads to the
page that the file has become.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
_PICTURES = (".png", ".svg")
_SHORT = {
    "index": "Against peers",
    "certify": "Certified to 1e-6",
    "cluster": "Clusters",
    "gpu": "GPUs",
    "many": "Many models in one fit",
    "memory": "Memory",
    "reading": "Reading files",
    "threads": "Threads",
}


COMING = {"reliability.md": "Reliability"}
"""Pages of docs that are in the navigation as soon as they are there."""


def coming() -> dict[str, str]:
    """Those that are."""
    return {page: title for page, title in COMING.items() if (ROOT / "docs" / page).exists()}


def sources() -> dict[str, str]:
    """Pages and pictures by their path on the site: the file each one is, from the root."""
    found = {
        "project/architecture.md": "ARCHITECTURE.md",
        "project/contributing.md": "CONTRIBUTING.md",
        "project/changelog.md": "CHANGELOG.md",
    }
    for file in sorted((ROOT / "benchmarks/results").iterdir()):
        if file.suffix in (".md", *_PICTURES):
            name = "index.md" if file.name == "README.md" else file.name
            found[f"benchmarks/{name}"] = f"benchmarks/results/{file.name}"
    if (ROOT / "reproduce/RESULTS.md").exists():
        found["reproduce/index.md"] = "reproduce/RESULTS.md"
        for file in sorted((ROOT / "reproduce").rglob("*")):
            if file.suffix in _PICTURES:
                path = file.relative_to(ROOT).as_posix()
                found[path] = path
    return found


def benchmarks() -> list[str]:
    """The pages of benchmarks, the first one first."""
    found = [p for p in sources() if p.startswith("benchmarks/") and p.endswith(".md")]
    return sorted(found, key=lambda page: (page != "benchmarks/index.md", page))


def benchmark_title(page: str) -> str:
    """In the navigation: a short name, or the page's own heading."""
    heading = re.search(r"^# (.+)$", text(page), re.MULTILINE)
    if heading is None:
        raise ValueError(f"{sources()[page]} needs a heading")
    return _SHORT.get(Path(page).stem, heading[1])


def text(page: str) -> str:
    """The Markdown of an included page."""
    markdown = (ROOT / sources()[page]).read_text()
    picture = "suboptimality.png"
    if page == "benchmarks/index.md" and f"({picture})" not in markdown:
        # The table names the picture and does not show it.
        markdown += f"\n## All runs at C = 1\n\n![Suboptimality against time]({picture})\n"
    return markdown


def relinked(page: str, markdown: str) -> str:
    """The page with links that hold on the site; ValueError for one that leads nowhere."""
    source = sources().get(page, f"docs/{page}")
    there = {file: path for path, file in sources().items()}

    def link(match: re.Match[str]) -> str:
        before, target, anchor, after = match[1], match[2], match[3] or "", match[4]
        if re.match(r"[a-z]+:", target):
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if file.startswith("docs/"):
            path = file.removeprefix("docs/")
            if page == path or source == f"docs/{page}":
                return match[0]  # both are in docs: MkDocs checks it
        elif file in there:
            path = there[file]
        elif file == "benchmarks/results":
            path = "benchmarks/index.md"
        else:
            raise ValueError(f"{source}: the link to {target} leads to no page of the site")
        return before + posixpath.relpath(path, posixpath.dirname(page)) + anchor + after

    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)
