"""The `modules.json` of an embedding model, in old, new and broken files."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.detail_facts import Purpose, TextModules
from ftc.compiler.resolve.model.text_modules import read_purpose, read_text_modules

NAMES = "sentence_transformers.models"
OLD = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False}


def write(folder: Path, pooling: Any, *others: str) -> None:
    """Write the list of a model, its pooling and the other modules."""
    kinds = ("Transformer", "Pooling", *others)
    modules = [
        {"idx": n, "name": str(n), "path": f"{n}_{kind}" if n else "", "type": f"{NAMES}.{kind}"}
        for n, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


@pytest.mark.parametrize(
    ("pooling", "others", "expected"),
    [
        ({"pooling_mode": "max"}, ("Normalize",), TextModules(poolings=("max",))),
        ({"pooling_mode": ["cls", "max"]}, (), TextModules(poolings=("cls", "max"))),
        ({**OLD, "pooling_mode_max_tokens": True}, (), TextModules(poolings=("max",))),
        ({**OLD, "pooling_mode_mean_tokens": True}, (), TextModules(poolings=("mean",))),
        (
            {"pooling_mode": "mean"},
            ("Dense", "Normalize"),
            TextModules(poolings=("mean",), others=("Dense",)),
        ),
    ],
)
def test_modules_are_read(
    tmp_path: Path, pooling: Any, others: tuple[str, ...], expected: TextModules
) -> None:
    """The poolings by their words, and the modules that hold weights of their own."""
    write(tmp_path, pooling, *others)
    assert read_text_modules(tmp_path) == expected


@pytest.mark.parametrize("text", ["", "[1]", "{}", '[{"type": "Pooling"}]', "null", "[[]]", "7"])
def test_a_broken_list_says_nothing(tmp_path: Path, text: str) -> None:
    """Whatever is in the file, nothing is raised and no pooling is made up."""
    (tmp_path / "modules.json").write_text(text)
    found = read_text_modules(tmp_path)
    assert found is None or found.poolings == ()


@pytest.mark.parametrize("pooling", [[], "max", None, 3])
def test_a_broken_pooling_says_nothing(tmp_path: Path, pooling: Any) -> None:
    """A pooling whose settings are no object is not known."""
    write(tmp_path, pooling)
    assert read_text_modules(tmp_path) is None
    assert read_text_modules(tmp_path / "1_Pooling") is None


@pytest.mark.parametrize(
    ("name", "files", "purpose"),
    [
        ("./model", {}, None),
        ("./model", {"modules.json": "[]"}, "vectors"),
        ("./model", {"config_sentence_transformers.json": '{"prompts": {}}'}, "vectors"),
        (
            "./model",
            {
                "config_sentence_transformers.json": '{"model_type": "CrossEncoder"}',
                "modules.json": "[]",
            },
            "relevance",
        ),
        ("./model", {"config_sentence_transformers.json": "{"}, None),
        ("./Qwen3-Reranker-0.6B/", {}, "relevance"),
        ("rerankers/tiny-chat", {}, None),
    ],
)
def test_what_a_model_compares_texts_for(
    tmp_path: Path, name: str, files: dict[str, str], purpose: Purpose | None
) -> None:
    """By the files of sentence-transformers, or the name of a reranker."""
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    assert read_purpose(tmp_path, name) == purpose
