"""What MkDocs calls on its way: pages that are generated, links, formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docs.tools import formulas, included, reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Pages that are generated get their places: ``nav`` names their sections only."""
    sections: dict[str, list[Any]] = {
        "Reference": [
            *({group.title: f"reference/{name}.md"} for name, group in reference.GROUPS.items()),
            {"Command line": "reference/command-line.md"},
        ],
        "Measured": [{included.benchmark_title(p): p} for p in included.benchmarks()],
        "Project": [
            {"Architecture": "project/architecture.md"},
            {"Contributing": "project/contributing.md"},
            {"Changelog": "project/changelog.md"},
        ],
    }
    if "reproduce/index.md" in included.sources():
        sections["Measured"].insert(0, {"The papers' figures": "reproduce/index.md"})
    background = next(part["Background"] for part in config.nav or [] if "Background" in part)
    background += [{title: page} for page, title in included.coming().items()]
    config.nav = [*(config.nav or []), *({name: pages} for name, pages in sections.items())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages themselves."""
    for name, group in reference.GROUPS.items():
        path = f"reference/{name}.md"
        files.append(File.generated(config, path, content=reference.page(group)))
    path = "reference/command-line.md"
    files.append(File.generated(config, path, content=reference.command_line()))
    for path, source in included.sources().items():
        if path.endswith(".md"):
            files.append(File.generated(config, path, content=included.text(path)))
        else:
            file = str(included.ROOT / source)
            files.append(File.generated(config, path, abs_src_path=file))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to files lead to their pages."""
    return included.relinked(page.file.src_uri, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Formulas."""
    return formulas.with_mathml(html)


def on_post_build(config: MkDocsConfig) -> None:
    """Their font."""
    target = Path(config.site_dir, formulas.FONT)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(formulas.font())
