"""The entry point: help, exit codes, and error messages."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from ftc import __version__
from ftc.commands import COMMANDS, Commands
from ftc.spec.findings.finding import EnvironmentFailure

Call = Callable[..., Any]
Failing = Callable[[BaseException], None]
FTC = [sys.executable, "-m", "ftc"]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Return a function that makes the command `schema` fail in a given way."""

    def fail_with(error: BaseException) -> None:
        def raise_it(_group: Commands, _context: click.Context, _name: str) -> click.Command:
            raise error

        monkeypatch.setattr(Commands, "get_command", raise_it)

    return fail_with


def test_version_and_help(call: Call) -> None:
    """Both leave with 0, and help lists every command."""
    assert call("--version").out == f"ftc {__version__}\n"
    for arguments in (["--help"], ["-h"]):
        result = call(*arguments)
        assert result.code == 0
        assert all(f"  {name} " in result.out for name in COMMANDS)


def test_help_imports_no_command() -> None:
    """The list of commands comes from the table: no command, and no compiler, is loaded."""
    code = (
        "import sys; from ftc.__main__ import run; run(['--help']);"
        "print([name for name in sys.modules if name.startswith(('ftc.commands.', 'ftc.comp'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(call: Call, name: str) -> None:
    """The first sentence of a command's page is the one that the table shows."""
    result = call(name, "--help")
    assert (result.code, result.err) == (0, "")
    assert COMMANDS[name] in " ".join(result.out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chek", "spec.json"], "Did you mean `check`?"),
        (["check"], "Missing argument 'SPEC'"),
        (["check", "spec.json", "--format", "xml"], "'xml' is not one of"),
        (["check", "-", "--fix"], "--fix needs a spec in a file"),
        (["plan", "spec.json", "--set", "hardware"], "is not KEY=VALUE"),
        (["plan", "spec.json", "--set", "a..b=1"], "is not KEY=VALUE"),
        (["compile", "spec.json", "--check", "--force"], "give it alone"),
        (["compile", "spec.json", "--locked", "--update"], "contradict"),
        (["compile", "spec.json", "--stop-after", "lunch"], "is not one of"),
        (["explain"], "Give a code, a field or a term"),
        (["explain", "FTC031", "--list"], "Give a code, a field or a term"),
        (["completion", "tcsh"], "is not one of"),
        (["--nonsense"], "No such option"),
    ],
)
def test_usage_errors_leave_with_2(call: Call, arguments: list[str], said: str) -> None:
    """A wrong command line has another exit code than a wrong spec."""
    result = call(*arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_failed_world_leaves_with_3(call: Call, failing: Failing) -> None:
    """One sentence and what to do about it."""
    failing(EnvironmentFailure(message="the disk is full", help="make room"))
    result = call("schema")
    assert (result.code, result.out) == (3, "")
    assert result.err == "ftc: the disk is full\nhelp: make room\n"


def test_an_interrupt_leaves_with_130(call: Call, failing: Failing) -> None:
    """Ctrl-C is one line, not a traceback."""
    failing(KeyboardInterrupt())
    result = call("schema")
    assert (result.code, result.err) == (130, "ftc: interrupted\n")


def test_a_defect_keeps_its_traceback_in_a_file(
    call: Call, failing: Failing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user sees two lines; whoever repairs it finds the traceback."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failing(RuntimeError("planted"))
    result = call("schema")
    assert result.code == 70
    assert "this is a defect of ftc" in result.err
    assert "Traceback" not in result.err
    (details,) = tmp_path.iterdir()
    assert str(details) in result.err
    assert "RuntimeError: planted" in details.read_text()


def test_a_defect_is_raised_when_asked(
    call: Call, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FTC_DEBUG=1 shows the traceback where it happens."""
    monkeypatch.setenv("FTC_DEBUG", "1")
    failing(RuntimeError("planted"))
    with pytest.raises(RuntimeError, match="planted"):
        call("schema")


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_reader_that_leaves_is_no_failure() -> None:
    """`ftc schema | head -n 1` says nothing about its broken pipe."""
    done = subprocess.run(
        ["sh", "-c", '"$0" -m ftc schema | head -n 1', sys.executable],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_ftc(call: Call, shell: str) -> None:
    """Each script defines a completion for the command `ftc`."""
    result = call("completion", shell)
    assert result.code == 0
    assert "_FTC_COMPLETE" in result.out


def test_completion_completes() -> None:
    """What the script of bash asks for: commands by their first letters, then flags."""
    env = {**os.environ, "_FTC_COMPLETE": "bash_complete"}
    for words, expected in (("ftc com", "compile"), ("ftc check --st", "--strict")):
        asked = {**env, "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
        done = subprocess.run(FTC, env=asked, capture_output=True, text=True, check=True)
        assert f"plain,{expected}" in done.stdout.split()


def _ftc(environment: dict[str, str], *arguments: str, **streams: Any) -> Any:
    command = [sys.executable, "-m", "ftc", *arguments]
    return subprocess.run(
        command, env={**os.environ, **environment}, check=False, text=True, timeout=60, **streams
    )


def test_letters_that_the_output_cannot_hold() -> None:
    """They are printed as escapes: a name is no reason to fail."""
    done = _ftc({"PYTHONIOENCODING": "latin-1"}, "check", "\u6f22.json", capture_output=True)
    assert (done.returncode, "`\\u6f22.json`" in done.stdout) == (1, True), done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_on_a_full_disk() -> None:
    """The environment failed, which is no defect of ftc."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = _ftc({}, "schema", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3
    assert done.stderr == "ftc: the output cannot be written: no space left on device\n"


def test_closed_output() -> None:
    """A shell may close it; the exit code is still that of the command."""
    line = f'"{sys.executable}" -m ftc check nowhere.json >&-'
    done = subprocess.run(["sh", "-c", line], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
