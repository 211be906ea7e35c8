"""Every command of the README and of a page runs and prints what is shown, or says its needs."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
import pytest

from ftc.__main__ import ftc
from tests.page_commands import (
    Fence,
    copy_start,
    find_difference,
    read_fences,
    run_command,
)

ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ROOT / "docs" / "pages"
README: Final = ROOT / "README.md"
NAMES: Final = sorted(path.name for path in PAGES.glob("*.md"))
#: Files that name commands, from the root.
SOURCES: Final = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/pages/**/*.md", "examples/*/README.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
    if path.name != "CHANGELOG.md"
)
TRANSLATED: Final = ("index.md", "first-fine-tune.md", "choosing.md", "data.md")
FIRST: Final = "first-fine-tune.md"
LANGUAGES: Final = ("ca", "es")
#: What a page shows of a command that exits with another code than 0.
FAILURES: Final = ("error[", "does not fit")


def fences(path: Path) -> list[Fence]:
    """Return the fences of a page."""
    return list(read_fences(path.read_text(encoding="utf-8")))


def run_page(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of a page in order, in one folder, without the Hub.

    They succeed, except where the page shows why not, and print what it shows.
    """
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(folder.parent / "hub"))
    monkeypatch.setenv("COLUMNS", "100")
    text = path.read_text(encoding="utf-8")
    copy_start(text, folder)
    for fence in read_fences(text):
        if fence.file is not None:
            (folder / fence.file).write_text(fence.text, encoding="utf-8")
        for command in fence.commands if fence.needs is None else ():
            code, lines = run_command(command.line)
            said = "\n".join(lines)
            shown = "\n".join(command.shown or ())
            if not any(word in shown for word in FAILURES):
                assert code == 0, f"{command.line}\n{said}"
            if command.shown is not None:
                difference = find_difference(command.shown, lines)
                assert difference is None, f"{command.line}\n{said}\n\nnot as shown:\n{difference}"


@pytest.mark.parametrize("path", [README, PAGES / FIRST], ids=lambda path: path.name)
def test_the_first_page_works(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages that a new user follows, in the quick tests too."""
    run_page(path, tmp_path, monkeypatch)


@pytest.mark.prove
@pytest.mark.parametrize("name", [name for name in NAMES if name != FIRST])
def test_commands_print_what_the_page_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of every other page."""
    run_page(PAGES / name, tmp_path, monkeypatch)


def test_every_console_shows_something() -> None:
    """A command whose whole output is left out proves nothing, except one that prints nothing."""
    for name in NAMES:
        for fence in fences(PAGES / name):
            assert all(command.shown != ("...",) for command in fence.commands), name


def test_no_command_escapes() -> None:
    """Blocks of code are fences with a language, so that none is left out."""
    for path in (README, *sorted(PAGES.rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        outside = re.sub(r"^```\w.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert "```" not in outside, path
        assert not re.search(r"^ {4}\S", outside, re.MULTILINE), path


def named_commands(path: Path) -> Iterator[str]:
    """Yield every command of ftc and of make that a text names or that is not run."""
    text = path.read_text(encoding="utf-8")
    yield from re.findall(r"`((?:ftc|make) [^`]*)`", text.replace("\\|", "|"))
    yield from re.findall(r"^ {4}((?:ftc|make) .*)$", text, re.MULTILINE)
    for fence in fences(path):
        for command in fence.commands if fence.needs is not None else ():
            if re.match(r"(?:ftc|make) ", command.line):
                yield command.line


@pytest.mark.parametrize("name", SOURCES)
def test_commands_that_are_not_run_exist(name: str) -> None:
    """Commands of ftc are checked with each option that they name; those of make are targets."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    for line in named_commands(ROOT / name):
        program, *words = shlex.split(line, comments=True)
        if program == "make":
            assert {word for word in words if "=" not in word} <= set(targets), line
        elif not words[0].startswith("-"):
            with click.Context(ftc) as context:
                command = ftc.get_command(context, words[0])
            assert command is not None, line
            options = (each.opts + each.secondary_opts for each in command.params)
            known = {option for each in options for option in each}
            assert {word for word in words if re.match(r"--?[a-z]", word)} <= known, line


@pytest.mark.parametrize("name", SOURCES)
def test_scripts_that_are_named_exist(name: str) -> None:
    """Modules and scripts of the repository, which benchmarks name to reproduce their numbers."""
    text = (ROOT / name).read_text(encoding="utf-8")
    modules = re.findall(r"python -m ((?:benchmarks|docs)[\w.]*\w)", text)
    paths = [each.replace(".", "/") for each in modules]
    found = {*re.findall(r"python ((?:benchmarks|docs|\.ci)/[\w/]+\.py)", text)}
    assert all((ROOT / path).is_file() for path in found), found
    assert all(
        (ROOT / f"{path}.py").is_file() or (ROOT / path / "__main__.py").is_file() for path in paths
    ), paths


def test_most_commands_are_run() -> None:
    """A page marks a command that cannot run here; few are."""
    counts = {True: 0, False: 0}
    for name in NAMES:
        for fence in fences(PAGES / name):
            counts[fence.needs is None] += len(fence.commands)
    assert counts[True] > counts[False] > 0, counts


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", TRANSLATED)
def test_a_translation_has_the_same_commands(language: str, name: str) -> None:
    """And the same files and output, so that they need not run again."""
    translated, original = (
        [(fence.commands, fence.file, fence.text, fence.needs is None) for fence in fences(path)]
        for path in (PAGES / language / name, PAGES / name)
    )
    assert translated == original


def test_a_difference_is_found() -> None:
    """In the first line, in the last, in the middle, and where more is printed than shown."""
    lines = ["one", "two", "three", "four"]
    assert find_difference(("one", "...", "four"), lines) is None
    assert find_difference(("...", "three", "..."), lines) is None
    assert find_difference(("one", "two", "three", "four"), lines) is None
    assert find_difference(("two", "..."), lines) == "two"
    assert find_difference(("...", "three"), lines) == "three"
    assert find_difference(("...", "2", "..."), lines) == "2"
    assert find_difference(("one",), lines) == "two\nthree\nfour"
    assert find_difference(("...", "three", "two", "..."), lines) == "three\ntwo"
