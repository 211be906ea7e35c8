"""Completion of names, and the history of messages."""

import os
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.well_known import models
from ftc.tui.terminal.completion import complete
from ftc.tui.terminal.history import History


@pytest.mark.parametrize(
    ("typed", "kind", "name"),
    [
        ("use tick", "file", "tickets.csv"),
        ("on a 4090", "gpu", "RTX-4090"),
        ("h100", "gpu", "H100-SXM5-80GB"),
        ("train Qwen/Qwen3-4", "model", "Qwen/Qwen3-4B"),
        ("data is sub/de", "file", "sub/deep.jsonl"),
        ("data is su", "file", "sub/"),
    ],
)
def test_names_are_completed(typed: str, kind: str, name: str, folder: Path) -> None:
    """Files of the folder and of folders in it, models and GPUs."""
    (folder / "sub").mkdir()
    (folder / "sub" / "deep.jsonl").write_text('{"text": "a"}\n', encoding="utf-8")
    assert (kind, name) in [(each.kind, each.name) for each in complete(typed, folder)]


@pytest.mark.parametrize("typed", ["", "a", "use tickets.csv ", "16", "epochs 3", "xyzzyx", "~/\0"])
def test_nothing_is_offered_for_other_words(typed: str, folder: Path) -> None:
    """A letter, a short number, a finished word."""
    assert complete(typed, folder) == ()


def test_only_a_beginning_has_a_rest(folder: Path) -> None:
    """What is shown behind the cursor continues the letters that are typed."""
    first = complete("tick", folder)[0]
    assert (first.name, first.rest) == ("tickets.csv", "ets.csv")
    assert complete("TICK", folder)[0].rest == ""


def test_a_folder_is_listed_once_until_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a file is read in the background, listing each entry waits for the interpreter."""
    listed: list[Path] = []
    real = os.scandir

    def scan(place: Path) -> Any:
        listed.append(place)
        return real(place)

    monkeypatch.setattr("os.scandir", scan)
    complete("ne", folder)
    complete("new", folder)
    assert listed == [folder]
    (folder / "newer.csv").write_text("a,b\n", encoding="utf-8")
    assert [each.name for each in complete("new", folder)] == ["newer.csv"]


def test_names_of_models_need_no_shapes(folder: Path) -> None:
    """While a file is read in the background, deriving all shapes takes a second."""
    models.all_models.cache_clear()
    assert complete("Qwen/Qwen3-4", folder)
    assert models.all_models.cache_info().currsize == 0


def test_the_history_goes_both_ways() -> None:
    """Back to the first message, and forward to the unsent one."""
    history = History(messages=["one"])
    history.add("two")
    history.add("two")
    assert history.older("draft") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer() == "two"
    assert history.newer() == "draft"
    assert history.newer() is None
