"""LLaMA-Factory's list of data sets: each of its keys leads to a field, or to a reason."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.importing.importer import Import, import_file

TEXT: Final = (
    "model_name_or_path: a/b\nstage: {}\nfinetuning_type: lora\ndataset: {}\ndataset_dir: .\n"
)


def read(
    folder: Path, listed: Mapping[str, Any], *, stage: str = "sft", names: str = "d", more: str = ""
) -> Import:
    """Import a config beside a list of data sets."""
    (folder / "dataset_info.json").write_text(json.dumps(listed), encoding="utf-8")
    path = folder / "config.yaml"
    path.write_text(f"{TEXT.format(stage, names)}{more}", encoding="utf-8")
    return import_file(str(path))


def test_every_key_of_the_list_is_carried_or_named(tmp_path: Path) -> None:
    """None is dropped without a word."""
    known = {
        "hf_hub_url": "x/y",
        "split": "validation",
        "subset": "en",
        "num_samples": 500,
        "folder": "part",
        "formatting": "sharegpt",
        "columns": {"messages": "turns", "tools": "functions"},
        "tags": {"role_tag": "speaker", "user_tag": "human"},
        "unheard_of": 1,
    }
    imported = read(tmp_path, {"d": known}).imported
    assert imported is not None
    became = {
        each.key.removeprefix("dataset_info.d."): each.fields or each.reason
        for each in imported.keys
        if each.key.startswith("dataset_info.")
    }
    assert became == {
        "hf_hub_url": {"/data/source": "x/y"},
        "split": {"/data/split": "validation"},
        "subset": {"/data/subset": "en"},
        "num_samples": {"/data/max_rows": 500},
        "folder": "folder",
        "formatting": "data",
        "columns.messages": {"/data/columns/messages": "turns"},
        "columns.tools": {"/data/columns/tools": "functions"},
        "tags.role_tag": "tags",
        "tags.user_tag": "default_alike",
        "unheard_of": "unknown",
    }


@pytest.mark.parametrize("column", ["system", "history", "images", "audios"])
def test_a_column_that_ftc_does_not_read_is_refused(tmp_path: Path, column: str) -> None:
    """The rows would lose a part of what the model sees."""
    known = {"file_name": "d.json", "columns": {"prompt": "q", "response": "a", column: "other"}}
    result = read(tmp_path, {"d": known})
    assert [each.code for each in result.findings] == ["FTC091"]
    assert column in result.findings[0].message


@pytest.mark.parametrize(
    ("stage", "columns", "expected"),
    [
        ("sft", {"prompt": "q", "query": "i", "response": "a"},
         {"instruction": "q", "input": "i", "output": "a"}),
        ("kto", {"prompt": "q", "response": "a", "kto_tag": "good"},
         {"prompt": "q", "completion": "a", "label": "good"}),
        ("dpo", {"prompt": "q", "chosen": "c", "rejected": "r"},
         {"prompt": "q", "chosen": "c", "rejected": "r"}),
        ("pt", {"prompt": "q"}, {"text": "q"}),
    ],
)  # fmt: skip
def test_columns_by_stage(
    tmp_path: Path, stage: str, columns: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    """The same column has another role in rows of another objective."""
    listed = {"d": {"file_name": "d.json", "columns": columns}}
    imported = read(tmp_path, listed, stage=stage).imported
    assert imported is not None
    found = {
        pointer.rpartition("/")[2]: value
        for pointer, value in imported.fields.items()
        if pointer.startswith("/data/columns/")
    }
    assert found == expected


def test_rows_are_limited_in_each_data_set(tmp_path: Path) -> None:
    """`max_samples` holds for every data set, and the lower of two limits for one of them."""
    listed = {"a": {"hf_hub_url": "x/a", "num_samples": 50}, "b": {"hf_hub_url": "x/b"}}
    imported = read(tmp_path, listed, names="a,b", more="max_samples: 100\n").imported
    assert imported is not None
    assert "/data/max_rows" not in imported.fields
    assert [each["max_rows"] for each in imported.fields["/data/sources"]] == [50, 100]
    one = read(tmp_path, listed, names="b", more="max_samples: 100\n").imported
    assert one is not None
    assert one.fields["/data/max_rows"] == 100
