"""The Jinja environment: templates are compiled once and kept where Python keeps its bytecode."""

import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from jinja2 import Environment

from ftc.compiler.render.output import environment


def _make(folder: Path, monkeypatch: pytest.MonkeyPatch, *, keep: bool = True) -> Environment:
    """Return an environment as a new process makes it, with Python's bytecode under a folder."""
    monkeypatch.setattr(sys, "pycache_prefix", str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", not keep)
    Path(cache_from_source(environment.__file__)).parent.mkdir(parents=True, exist_ok=True)
    environment.make_environment.cache_clear()
    made = environment.make_environment()
    environment.make_environment.cache_clear()
    return made


def test_compiled_template_is_kept_and_a_damaged_one_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is cut anywhere is no template, and is replaced by a whole one."""
    _make(tmp_path, monkeypatch).get_template("run.sh.j2")
    (kept,) = tmp_path.rglob("jinja-*.bin")
    whole = kept.read_bytes()
    for length in (0, 10, 30, 60, len(whole) // 2, len(whole) - 1):
        kept.write_bytes(whole[:length])
        _make(tmp_path, monkeypatch).get_template("run.sh.j2")
        assert kept.read_bytes() == whole


def test_kept_template_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second process compiles nothing."""
    _make(tmp_path, monkeypatch).get_template("run.sh.j2")
    again = _make(tmp_path, monkeypatch)
    monkeypatch.setattr(again, "compile", lambda *_: pytest.fail("it was compiled again"))
    again.get_template("run.sh.j2")


def test_changed_template_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was kept of another text is not used."""
    monkeypatch.setattr(environment, "_read_template", lambda _: "before")
    assert _make(tmp_path, monkeypatch).get_template("run.sh.j2").render() == "before"
    monkeypatch.setattr(environment, "_read_template", lambda _: "after")
    assert _make(tmp_path, monkeypatch).get_template("run.sh.j2").render() == "after"


def test_nothing_is_kept_where_python_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither when bytecode is unwanted, nor when its folder has gone meanwhile."""
    _make(tmp_path / "unwanted", monkeypatch, keep=False).get_template("run.sh.j2")
    made = _make(tmp_path / "gone", monkeypatch)
    for folder in sorted((tmp_path / "gone").rglob("*"), reverse=True):
        folder.rmdir()
    made.get_template("run.sh.j2")
    assert not list(tmp_path.rglob("*.bin"))
