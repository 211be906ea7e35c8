"""The dtypes of a config: the names are torch's, and an invalid one is reported at its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.dtypes import DTYPES, dtype_named, said_dtype
from ftc.compiler.resolve.model.config import Config, read_config
from tests.tiny_models import write_model

#: Values of `dtype` and `torch_dtype`, each with what is read of it; "" where transformers stops.
VALUES: dict[str, tuple[Any, str | None]] = {
    "a name": ("float16", "float16"),
    "a short name": ("half", "float16"),
    "eight bits": ("float8_e4m3fn", "bfloat16"),
    "null": (None, None),
    "auto": ("auto", ""),
    "a name of ftc": ("bf16", ""),
    "with its module": ("torch.float16", ""),
    "empty": ("", ""),
    "a module of torch": ("nn", ""),
    "a list": (["float16"], ""),
    "by part": ({"": "bfloat16"}, None),
}


def say(folder: Path, key: str, value: Any) -> Path:
    """Write a model whose config says this dtype."""
    path = write_model(folder / "model") / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    del config["torch_dtype"]
    path.write_text(json.dumps({**config, key: value}), encoding="utf-8")
    return path.parent


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
@pytest.mark.parametrize("case", VALUES)
def test_what_is_no_dtype_is_told(tmp_path: Path, key: str, case: str) -> None:
    """By its key; weights of eight bits are loaded in sixteen."""
    value, expected = VALUES[case]
    found = read_config(say(tmp_path, key, value), "./model")
    if isinstance(found, Config):
        assert found.dtype == expected
    else:
        assert (expected, found.code) == ("", "FTC102")
        assert f"`{key}` is" in found.message


def test_the_newer_name_counts() -> None:
    """As in transformers, unless it says nothing."""
    assert said_dtype({"torch_dtype": "float16", "dtype": "bfloat16"}) == ("dtype", "bfloat16")
    assert said_dtype({"torch_dtype": "float16", "dtype": None}) == ("torch_dtype", "float16")
    assert dtype_named("float") == "float32"


@pytest.mark.prove
@pytest.mark.parametrize("case", VALUES)
def test_transformers_agrees(tmp_path: Path, case: str) -> None:
    """It stops at the same values."""
    transformers = pytest.importorskip("transformers")
    value, expected = VALUES[case]
    folder = say(tmp_path, "dtype", value)
    try:
        transformers.AutoConfig.from_pretrained(folder)
        stopped = False
    except Exception:  # noqa: BLE001 - whatever it raises, it stops
        stopped = True
    assert stopped is (expected == "")


@pytest.mark.prove
def test_the_names_are_those_of_torch() -> None:
    """All of them, and no other."""
    torch = pytest.importorskip("torch")
    assert {n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype)} == DTYPES
