"""The commands on a page of the documentation, and running them as a reader would.

A fence named `console` has commands after `$ ` and what they print; a line `...` stands for any
lines. A fence named `bash` has commands alone. Both run in one temporary folder for each page,
where `<!-- start: PATH... -->` copies files of the repository, and a fence with a title writes a
file. `<!-- needs: ... -->` before a fence says why it is not run.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ftc.__main__ import run

ROOT: Final = Path(__file__).resolve().parent.parent
_FENCE: Final = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^\n]+) -->\n)?"
    r'```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_START: Final = re.compile(r"^<!-- start: (.+) -->$", re.MULTILINE)
_ELLIPSIS: Final = "..."
_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line and the lines shown after it; `shown` is None where a page shows no output."""

    line: str
    shown: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fence of a page: commands to run, or the text of a file; `needs` says why it is not run."""

    commands: tuple[Command, ...] = ()
    needs: str | None = None
    file: str | None = None
    text: str = ""


def read_fences(text: str) -> Iterator[Fence]:
    """Yield the fences of a page that have commands or a title, in order."""
    for found in _FENCE.finditer(text):
        needs = None if found["needs"] == _NOTHING else found["needs"]
        if found["title"]:
            yield Fence(file=found["title"], text=found["body"])
        elif found["language"] == "console":
            yield Fence(commands=tuple(_read_console(found["body"])), needs=needs)
        elif found["language"] == "bash":
            lines = [line for line in found["body"].splitlines() if line.strip()]
            commands = tuple(Command(line=line, shown=None) for line in lines)
            yield Fence(commands=commands, needs=needs)


def _read_console(body: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, *shown = part.splitlines()
        yield Command(line=line, shown=tuple(each.rstrip() for each in shown))


def copy_start(text: str, folder: Path) -> None:
    """Copy the files with which a page starts into its folder."""
    for found in _START.finditer(text):
        for path in found[1].split():
            shutil.copy(ROOT / path, folder)


def run_command(line: str) -> tuple[int, list[str]]:
    """Run a command in the current folder; return its exit code and its lines, stderr included.

    `ftc` runs in this process, everything else in bash.
    """
    words = shlex.split(line, comments=True)
    if words[0] != "ftc" or any(word in {"|", ">", "&&"} for word in words):
        tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", line],
            env={**os.environ, "PATH": tools},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, [each.rstrip() for each in done.stdout.splitlines()]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run(words[1:])
    return code, [each.rstrip() for each in said.getvalue().splitlines()]


def find_difference(shown: tuple[str, ...], lines: list[str]) -> str | None:
    """Return the first part of the shown output that was not printed in its place, None if all was.

    Parts between two `...` are looked for in their order; the first and the last part have to be at
    the beginning and the end unless a `...` stands there.
    """
    wanted = [line for line in shown if line]
    printed = [line for line in lines if line]
    parts: list[list[str]] = [[]]
    for line in wanted:
        if line == _ELLIPSIS:
            parts.append([])
        else:
            parts[-1].append(line)
    place = 0
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if is_last and number and part:
            place = max(place, len(printed) - len(part))
        starts = [place] if number == 0 or is_last else range(place, len(printed) + 1)
        found = [start for start in starts if printed[start : start + len(part)] == part]
        if not found:
            return "\n".join(part)
        place = found[0] + len(part)
    is_open = bool(wanted) and wanted[-1] == _ELLIPSIS
    return None if is_open or place == len(printed) else "\n".join(printed[place:])
