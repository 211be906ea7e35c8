"""The pages of the site that are made from ftc: complete, and with links that lead somewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import normpath
from typing import Final

import pytest

from docs.site.__main__ import OUTPUT, copied_files, make_all, make_copies, write_sources
from docs.site.commands import commands_page
from docs.site.entries import list_entries
from docs.site.gallery import EXAMPLES, fill, gallery_page, list_examples
from docs.site.links import mark_language, rewrite_links, show_needs
from docs.site.matrix import base_spec, find_errors
from docs.site.reference import fields_page, glossary_page
from docs.site.rules import CODE, STAGES, make_pages, read_table
from ftc.compiler.resolve.resolver import Resolver

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ROOT / "docs" / "pages"
#: Pages that take seconds to make: only the whole build reads them.
SLOW: Final = ("what-works-with-what.md", "can-i-train.md")


def rules() -> Mapping[str, str]:
    """Return the pages of the rules by name."""
    return make_pages(list_entries("code"), read_table())


def quick_pages() -> Mapping[str, str]:
    """Return every page that is written or quickly made, by its path in the site."""
    readmes = {name: (EXAMPLES / name / "README.md").read_text() for name in list_examples()}
    written = {
        path.relative_to(PAGES).as_posix(): path.read_text(encoding="utf-8")
        for path in PAGES.rglob("*.md")
    }
    return {
        **written,
        **make_copies(),
        **{f"rules/{name}": text for name, text in rules().items()},
        "commands.md": commands_page(),
        "examples.md": gallery_page(readmes),
        "fields.md": fields_page(),
        "glossary.md": glossary_page(),
    }


def test_every_code_has_a_page_and_stands_in_the_index() -> None:
    """Under the stage that its first digit names."""
    pages = rules()
    codes = {entry["code"] for entry in list_entries("code")}
    assert {code[3] for code in codes} == set(STAGES)
    assert set(pages) == {"index.md", *(f"{code}.md" for code in codes)}
    index = pages["index.md"]
    assert set(re.findall(r"^\| \[(FTC\d{3})\]\(\1\.md\) \|", index, re.MULTILINE)) == codes


def test_every_field_term_and_command_has_a_heading() -> None:
    """The pages are what `ftc explain` and `--help` print."""
    fields, terms, commands = fields_page(), glossary_page(), commands_page()
    headings = set(re.findall(r"^##+ (.+)$", fields, re.MULTILINE))
    assert {entry["field"] for entry in list_entries("field")} == headings
    assert all(entry["text"] in fields for entry in list_entries("field"))
    assert all(f"## {entry['term']}\n" in terms for entry in list_entries("term"))
    assert "## ftc compile\n" in commands
    assert "--calibrate" in commands


def links(pages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every link inside the site: its page, and the path of what it leads to."""
    for name, text in pages.items():
        for target in re.findall(
            r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        ):
            file = target.partition("#")[0]
            if file and "://" not in file and not file.startswith("mailto:"):
                yield name, normpath(f"{Path(name).parent.as_posix()}/{file}")


def test_links_lead_to_pages() -> None:
    """Of the written pages and of the made ones; Zensical checks headings too."""
    pages = quick_pages()
    assets = {path.relative_to(PAGES).as_posix() for path in (PAGES / "assets").iterdir()}
    pictures = {f"benchmarks/{path.name}" for path in (ROOT / "benchmarks").glob("*.svg")}
    known = {*pages, *SLOW, *assets, *pictures}
    assert [each for each in links(pages) if each[1] not in known] == []


def test_every_written_page_stands_in_the_navigation() -> None:
    """A page that nobody finds is of no use."""
    navigation = (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8")
    for path in PAGES.rglob("*.md"):
        assert f'"{path.relative_to(PAGES).as_posix()}"' in navigation, path


def test_links_of_the_readme_lead_somewhere() -> None:
    """To files of the repository; it has at most 150 lines."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", readme):
        assert "://" in target or (ROOT / target).exists(), target
    assert CODE.search(readme)
    assert len(readme.splitlines()) <= 150


@pytest.mark.parametrize("name", list_examples())
def test_the_readme_of_an_example_shows_its_files(name: str, *, update_golden: bool) -> None:
    """Its rows, its spec and its plan; `--update-golden` writes them again."""
    path = EXAMPLES / name / "README.md"
    text = path.read_text(encoding="utf-8")
    if update_golden:
        path.write_text(fill(name, text), encoding="utf-8")
        text = path.read_text(encoding="utf-8")
    assert fill(name, text) == text, "run with --update-golden"
    assert "<!-- plan -->" in text
    assert "## The result" in text


def test_links_out_of_the_site_lose_their_target() -> None:
    """A file of the repository that is no page is named, not linked."""
    places = {"docs/a.md": "a.md"}
    text = "[a](../docs/a.md#part), [script](run.py), [web](https://example.com)"
    assert rewrite_links(text, "benchmarks/x.md", places.get) == (
        "[a](a.md#part), `script`, [web](https://example.com)"
    )


def test_a_translated_page_names_its_language() -> None:
    """The theme reads it from the front matter; a page in English has none."""
    assert mark_language("# Dades\n", "ca") == "---\nlanguage: ca\n---\n\n# Dades\n"
    assert mark_language("# Data\n", "pages") == "# Data\n"


def test_a_reader_sees_what_a_command_needs() -> None:
    """In the language of the page; a mark that only a test reads is left out."""
    assert show_needs("<!-- needs: a GPU -->\n```bash\n", "pages") == "*Needs a GPU.*\n\n```bash\n"
    assert show_needs("<!-- needs: una GPU -->\n", "ca") == "*Necessita una GPU.*\n\n"
    assert show_needs("<!-- needs: nothing -->\n```console\n", "pages") == "```console\n"


def test_the_matrix_asks_the_rules(tmp_path: Path) -> None:
    """A combination that works has no error, one that does not has the code of its rule."""
    path, resolver = tmp_path / "spec.json", Resolver()
    sft = base_spec("sft")
    assert find_errors(sft, path, resolver) == []
    quantized = {**sft, "method": "qlora", "distribution": "zero3"}
    assert find_errors(quantized, path, resolver) == ["FTC427"]


@pytest.mark.prove
def test_the_whole_site_is_built_and_a_broken_link_fails(tmp_path: Path) -> None:
    """With every page, a search, and nothing fetched from elsewhere."""
    pytest.importorskip("zensical")
    write_sources(make_all(), tmp_path)
    built = build(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    html = tmp_path / "html"
    assert (html / "search.json").stat().st_size > 100_000
    assert len(list((html / "rules").glob("FTC*.html"))) == len(list_entries("code"))
    assert all((html / place).with_suffix(".html").is_file() for place in copied_files().values())
    page = (html / "index.html").read_text(encoding="utf-8")
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', page)
    assert "On this page" in (html / "data.html").read_text(encoding="utf-8")
    for language, words in {"ca": "Taula de continguts", "es": "Tabla de contenidos"}.items():
        page = (html / language / "data.html").read_text(encoding="utf-8")
        assert f'<html lang="{language}"' in page
        assert words in page
        assert "On this page" not in page

    (tmp_path / "docs" / "plan.md").write_text("[gone](nowhere.md)\n", encoding="utf-8")
    broken = build(tmp_path)
    assert broken.returncode != 0
    said = re.sub(r"\x1b\[[\d;]*m", "", broken.stdout + broken.stderr)
    assert "page does not exist" in said
    assert "nowhere.md" in said


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Zensical as `make site` does."""
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_site_is_not_committed() -> None:
    """Git ignores the folder that the build writes."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"/{OUTPUT.name}/" in ignored
