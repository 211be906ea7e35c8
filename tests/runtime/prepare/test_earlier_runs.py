"""Held-out rows that an earlier run of the chain has learned."""

import json
from collections.abc import Iterable
from pathlib import Path

from ftc.runtime.prepare.earlier_runs import find_bundles, find_seen


def write_rows(path: Path, prompts: Iterable[str]) -> None:
    """Write conversations that begin with these prompts, as prepare.py does."""
    chats = ([{"role": "user", "content": text}, {"role": "assistant"}] for text in prompts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"messages": chat}) + "\n" for chat in chats))


def make_bundle(folder: Path, model: str, prompts: Iterable[str]) -> Path:
    """Write a bundle that was trained on these prompts; return its result."""
    write_rows(folder / "run/data/train.jsonl", prompts)
    (folder / "spec.json").write_text(json.dumps({"model": model}))
    (folder / "ftc.lock.json").touch()
    (folder / "run/merged").mkdir()
    return folder / "run/merged"


def test_prompts_of_every_earlier_run_are_counted(tmp_path: Path) -> None:
    """By their text without its white space, in each split, and each run is named."""
    make_bundle(tmp_path / "sft", "org/base", ["where is it?", "cancel", "late"])
    model = make_bundle(tmp_path / "dpo", "../sft", ["refund"])
    write_rows(tmp_path / "data/test.jsonl", [" where  is it?\n", "refund", "new", "late"])
    write_rows(tmp_path / "data/validation.jsonl", ["newer", "late"])

    told = list(find_seen(model, tmp_path / "data", ["test", "validation"]))

    assert [bundle.name for bundle in find_bundles(model)] == ["dpo", "sft"]
    assert [sentence.split(", so they")[0] for sentence in told] == [
        "1 of 4 rows in test have a prompt that the bundle `dpo` trained on",
        "2 of 4 rows in test have a prompt that the bundle `sft` trained on",
        "1 of 2 rows in validation have a prompt that the bundle `sft` trained on",
    ]


def test_a_model_of_nobody_s_bundle_has_seen_nothing(tmp_path: Path) -> None:
    """A plain folder, and a run on other prompts."""
    model = make_bundle(tmp_path / "sft", "./base", ["where is it?"])
    write_rows(tmp_path / "data/test.jsonl", ["cancel"])
    (tmp_path / "base").mkdir()

    for source in (model, tmp_path / "base"):
        assert not list(find_seen(source, tmp_path / "data", ["test"]))
