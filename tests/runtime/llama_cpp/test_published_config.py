"""The folder in which the converter reads a config.json by itself."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.llama_cpp import published_config as module
from ftc.runtime.llama_cpp.converter import Converter
from ftc.runtime.llama_cpp.published_config import hide_type, start_converter
from ftc.runtime.run import Run

PATTERN = "hybrid_override_pattern"


def write(folder: Path) -> Path:
    """Write a model whose pattern transformers changes when it reads it."""
    folder.mkdir(parents=True)
    config = {"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", PATTERN: "M-*"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def test_transformers_does_not_know_the_type(tmp_path: Path) -> None:
    """All other keys are as they were, and so are the model and its folder afterwards."""
    auto = pytest.importorskip("transformers")
    model = write(tmp_path / "merged")
    assert PATTERN not in auto.AutoConfig.from_pretrained(model).to_dict()
    with hide_type(model) as shown:
        config = json.loads((shown / "config.json").read_text())
        assert (config[PATTERN], config["architectures"]) == ("M-*", ["NemotronHForCausalLM"])
        assert (shown / "model.safetensors").read_bytes() == b"weights"
        with pytest.raises(ValueError, match="nemotron_h_as_published"):
            auto.AutoConfig.from_pretrained(shown)
    assert not shown.exists()
    assert json.loads((model / "config.json").read_text())["model_type"] == "nemotron_h"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["merged"]


@pytest.mark.parametrize(
    ("script", "before"),
    [("convert_hf_to_gguf.py", ()), ("convert_lora_to_gguf.py", ("adapter", "--base"))],
)
def test_the_converter_reads_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, before: tuple[str, ...]
) -> None:
    """It is the model itself, or the base of an adapter."""
    model, into, read = write(tmp_path / "merged"), tmp_path / "out.gguf", list[str]()

    def convert(command: list[Any], **_: Any) -> SimpleNamespace:
        shown = Path(command[2 + len(before)])
        read.extend([*map(str, command[2 : 2 + len(before)]), shown.name.partition("-")[0]])
        read.append(json.loads((shown / "config.json").read_text())["model_type"])
        into.write_bytes(b"GGUF")
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=convert))
    converter = Converter(sha256="", checkout=tmp_path, start=start_converter)
    run = Run(tmp_path, stage="quantize", script="export.py")
    converter.convert(run, script, *before, model, "--outtype", "f16", into=into)
    assert read == [*before, "as", "nemotron_h_as_published"]
