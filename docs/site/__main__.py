"""Builds the documentation site: `python -m docs.site` writes .site/html.

It copies the written pages of docs/pages, adds the pages that are made from ftc itself (rules,
fields, glossary, examples, what works with what, models) and from files of the repository, and
calls Zensical, which fails on a link to a page or a heading that does not exist.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from posixpath import relpath
from typing import Final

from docs.site.abilities import abilities_page
from docs.site.commands import commands_page
from docs.site.diagram import show_diagram
from docs.site.entries import list_entries
from docs.site.gallery import EXAMPLES, fill, gallery_page, list_examples
from docs.site.links import mark_language, rewrite_links, show_needs
from docs.site.matrix import matrix_page
from docs.site.reference import fields_page, glossary_page
from docs.site.rules import make_pages, read_table

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ROOT / "docs" / "pages"
OUTPUT: Final = ROOT / ".site"
#: Files of the repository that are pages too, by their path there.
COPIED: Final[Mapping[str, str]] = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "AGENTS.md": "agents.md",
    "benchmarks/README.md": "benchmarks/index.md",
}


def copied_files() -> Mapping[str, str]:
    """Return every file of the repository that becomes a page: its path there and in the site."""
    measured = {
        f"benchmarks/{path.name}": f"benchmarks/{path.name}"
        for path in sorted((ROOT / "benchmarks").glob("*.md"))
        if path.name != "README.md"
    }
    examples = {f"examples/{name}/README.md": f"examples/{name}.md" for name in list_examples()}
    return {**COPIED, **measured, **examples}


def make_copies() -> Mapping[str, str]:
    """Return the text of every copied page by its path in the site."""
    places = copied_files()
    return {
        place: rewrite_links(
            (ROOT / path).read_text(encoding="utf-8"), path, _finder(places, place)
        )
        for path, place in places.items()
    }


def _finder(places: Mapping[str, str], place: str) -> Callable[[str], str | None]:
    folder = Path(place).parent.as_posix()

    def find(path: str) -> str | None:
        if path.startswith("docs/pages/"):
            return relpath(path.removeprefix("docs/pages/"), folder)
        if path in {"examples", "examples/README.md"}:
            return relpath("examples.md", folder)
        return relpath(places[path], folder) if path in places else None

    return find


def make_all() -> Mapping[str, str]:
    """Return every page that is not written by hand, by its path in the site."""
    copies = make_copies()
    readmes = {
        name: fill(name, (EXAMPLES / name / "README.md").read_text(encoding="utf-8"))
        for name in list_examples()
    }
    rules = make_pages(list_entries("code"), read_table())
    return {
        **copies,
        **{f"rules/{name}": text for name, text in rules.items()},
        "commands.md": commands_page(),
        "fields.md": fields_page(),
        "glossary.md": glossary_page(),
        "examples.md": gallery_page(readmes),
        "what-works-with-what.md": matrix_page(),
        "can-i-train.md": abilities_page(),
    }


def write_sources(pages: Mapping[str, str], folder: Path) -> None:
    """Write the settings, the theme and the pages that Zensical reads into a folder."""
    shutil.copy(ROOT / "docs" / "zensical.toml", folder)
    shutil.copytree(ROOT / "docs" / "theme", folder / "theme")
    place = folder / "docs"
    shutil.copytree(PAGES, place)
    (place / "benchmarks").mkdir()
    for picture in (ROOT / "benchmarks").glob("*.svg"):
        shutil.copy(picture, place / "benchmarks")
    for name, text in pages.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in place.rglob("*.md"):
        text = show_needs(path.read_text(encoding="utf-8"), path.parent.name)
        path.write_text(mark_language(show_diagram(text), path.parent.name), encoding="utf-8")


def main() -> int:
    """Build the site, and return the exit code of Zensical."""
    # the pages are the same on every machine: models come from ftc's table
    os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(OUTPUT / "hub"), COLUMNS="100")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir()
    write_sources(make_all(), OUTPUT)
    zensical = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(zensical, cwd=OUTPUT, check=False)
    if built.returncode == 0:
        print(f"the site is in {(OUTPUT / 'html').relative_to(ROOT)}/index.html")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
