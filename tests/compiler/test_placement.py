"""A bundle's own spec compiles to the bundle, whatever files the two specs name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import compile_bundle, drift, write
from tests.golden_bundles import ROOT
from tests.tiny_models import write_model

ROWS = {"question": "what is {n} and {n}?", "answer": "It is a number: {n}."}
REWARDS = "def short(completions, **rest):\n    return [1.0 for _ in completions]\n"
TOOLS = (ROOT / "examples" / "grpo-tools" / "tools.py").read_text(encoding="utf-8")
TEMPLATE = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}"
SPECS: Mapping[str, Mapping[str, Any]] = {
    "file": {"data": "rows/a.jsonl"},
    "absolute": {"data": "{here}/rows/a.jsonl"},
    "dotted": {"data": "./rows/../rows/a.jsonl"},
    "folder": {"model": "./model/", "data": "rows/a.jsonl"},
    "mixture": {"data": {"sources": ["rows/a.jsonl", {"source": "./rows/b.jsonl"}]}},
    "template": {"model": {"id": "./model", "chat_template": "parts/chat.jinja"}},
    "rewards": {
        "model": "Qwen/Qwen2.5-0.5B-Instruct",
        "objective": {
            "type": "grpo",
            "rewards": [{"functions": "parts/rewards.py", "names": ["short"]}],
        },
    },
    "schema": {
        "model": "Qwen/Qwen2.5-0.5B-Instruct",
        "objective": {"type": "grpo", "rewards": [{"json_schema": "parts/schema.json"}]},
    },
    "tools": {
        "model": "Qwen/Qwen2.5-1.5B-Instruct",
        "objective": {"type": "grpo", "rewards": ["numeric"], "tools": "parts/tools.py"},
    },
    "teacher": {
        "model": "./model",
        "objective": {"type": "distill", "teacher": "./elder"},
    },
    "container": {"launch": {"type": "slurm", "container": "parts/train.sif"}},
    "regression": {
        "training": {"evaluation": {"regression": [{"text": "parts/other.txt", "max_drop": 0.5}]}}
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with everything that the specs name."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    for name in ("model", "elder"):
        write_model(tmp_path / name)
    (tmp_path / "rows").mkdir()
    for name in ("a", "b"):
        rows = ({key: text.format(n=f"{name}{n}") for key, text in ROWS.items()} for n in range(90))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "rows" / f"{name}.jsonl").write_text(text)
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "rewards.py").write_text(REWARDS)
    (parts / "tools.py").write_text(TOOLS)
    (parts / "chat.jinja").write_text(TEMPLATE)
    (parts / "schema.json").write_text('{"type": "object",\n "required": ["a"]}')
    (parts / "other.txt").write_text("A text that the model knows. " * 400)
    return tmp_path


def write_spec(folder: Path, edits: Mapping[str, Any]) -> Path:
    """Write a spec with these edits."""
    base = {"name": "x", "model": "./model", "data": "rows/a.jsonl", "hardware": "1x A100-80GB"}
    text = json.dumps({**base, **edits}).replace("{here}", folder.as_posix())
    path = folder / "ours.json"
    path.write_text(text)
    return path


def compile_whole(spec: Path) -> int:
    """Compile and write a bundle; return how many of its files changed."""
    outcome = compile_bundle(str(spec))
    assert not outcome.failed, [finding.message for finding in outcome.findings]
    written = write(outcome)
    return len((*written.created, *written.replaced, *written.removed))


@pytest.mark.parametrize("name", SPECS)
def test_both_specs_compile_to_the_same_bundle(folder: Path, name: str) -> None:
    """Each is what the lock was made from, and compiling one leaves the other in order."""
    ours = write_spec(folder, SPECS[name])
    its = folder / "x" / "spec.json"

    assert compile_whole(ours)
    for spec in (ours, its):
        outcome, found = drift(str(spec))
        assert not outcome.failed, [finding.message for finding in outcome.findings]
        assert [one.name for one in found] == []
    assert compile_whole(its) == 0
    assert drift(str(ours))[1] == ()


@pytest.mark.parametrize(
    ("image", "placed"),
    [
        ("parts/train.sif", "../parts/train.sif"),
        ("/images/train.sif", "/images/train.sif"),
        ("docker://train:1", "docker://train:1"),
    ],
)
def test_a_relative_image_is_relative_to_the_spec(folder: Path, image: str, placed: str) -> None:
    """The bundle and its own spec name it from the bundle's folder; no other image is a path."""
    compile_whole(write_spec(folder, {"launch": {"type": "slurm", "container": image}}))

    assert (folder / "x" / "container.txt").read_text().splitlines()[0] == placed
    carried = json.loads((folder / "x" / "spec.json").read_text())
    assert carried["launch"]["container"] == placed


def test_other_data_are_not_those_of_the_lock(folder: Path) -> None:
    """A spec that names another file, or a template that holds other words, is looked at again."""
    ours = write_spec(folder, SPECS["template"])
    compile_whole(ours)
    (folder / "parts" / "chat.jinja").write_text(TEMPLATE.replace("<|", "<<"))
    assert compile_whole(ours)

    write_spec(folder, {"data": "rows/b.jsonl"})
    outcome = compile_bundle(str(ours))
    assert outcome.lock is not None
    assert outcome.lock.facts["data"]["path"] == "../rows/b.jsonl"
