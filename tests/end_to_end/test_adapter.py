"""The adapter by itself as GGUF: on its base it is the trained model, or nothing is written."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from ftc.compiler.verify.modelfile import read_modelfile
from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import Ended, compile_spec, read_json, run

pytestmark = pytest.mark.prove

safetensors = pytest.importorskip("safetensors.torch")


@pytest.fixture(scope="module")
def bundle(
    tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]], sdist: Path
) -> Path:
    """Run a LoRA bundle that exports the adapter alone, to its end."""
    folder = tmp_path_factory.mktemp("adapter")
    (folder / "model").symlink_to(model)
    write_table(folder / "tickets.csv", tickets[:200])
    spec = {
        "name": "triage",
        "model": "./model",
        "data": {"source": "tickets.csv", "system": "Name the intent."},
        "hardware": "cpu",
        "method": {"type": "lora", "rank": 8},
        "training": {"max_steps": 6, "learning_rate": 0.002},
        "export": {"types": [], "adapter": True},
    }
    found = compile_spec(folder, spec)
    ended = run("./run.sh", cwd=found, extra={"FTC_LLAMA_CPP_SDIST": str(sdist)})
    assert ended.code == 0, ended.said
    return found


@pytest.fixture
def copied(bundle: Path, tmp_path: Path) -> Path:
    """Return a copy of the bundle beside a link to its model, for a test to damage."""
    (tmp_path / "model").symlink_to((bundle.parent / "model").resolve())
    shutil.copytree(bundle, tmp_path / "triage", symlinks=True)
    shutil.rmtree(tmp_path / "triage" / "run" / "quantize")
    return tmp_path / "triage"


def convert(folder: Path) -> Ended:
    """Run the stage."""
    return run(sys.executable, "adapter.py", cwd=folder)


def test_the_adapter_on_its_base_is_the_trained_model(bundle: Path) -> None:
    """The base alone is something else, the files are those that the Modelfile names."""
    found = read_json(bundle / "run/quantize/adapter.json")
    said = read_modelfile((bundle / "Modelfile.adapter").read_text(encoding="utf-8"))

    assert found["adapter"]["divergence"] < 0.001
    assert found["adapter"]["answers"]
    assert (bundle / said["from"]).name == found["base"]
    assert (bundle / said["adapter"]).name == found["adapter"]["file"]
    assert (bundle / said["adapter"]).stat().st_size == found["adapter"]["bytes"]
    assert (bundle / said["from"]).is_file()
    assert said["system"] == "Name the intent."
    assert "<|assistant|>" in said["template"]
    assert sorted(path.name for path in (bundle / "run/quantize").iterdir()) == [
        "adapter.json",
        "triage-adapter.gguf",
        "triage-base-F16.gguf",
    ]
    assert not (bundle / "Modelfile").exists()


def test_another_adapter_is_no_trained_model(copied: Path) -> None:
    """Weights that are not those that were merged are found, and no file is left."""
    path = copied / "run/train/model/adapter_model.safetensors"
    weights = safetensors.load_file(path)
    changed = {name: -tensor if "lora_B" in name else tensor for name, tensor in weights.items()}
    safetensors.save_file(changed, path)

    ended = convert(copied)

    assert ended.code == 1, ended.said
    assert "nats per token from the merged model" in ended.said
    assert list((copied / "run/quantize").iterdir()) == []


def test_what_cannot_be_converted_is_one_sentence(copied: Path) -> None:
    """A kind of adapter that GGUF has no place for, a file cut off, and no adapter at all."""
    folder = copied / "run/train/model"
    path = folder / "adapter_config.json"
    right = json.loads(path.read_text(encoding="utf-8"))
    said = []
    for key, value in (("use_dora", True), ("modules_to_save", ["lm_head"]), ("use_rslora", True)):
        path.write_text(json.dumps({**right, key: value}), encoding="utf-8")
        said.append((key, convert(copied)))
    path.write_text(json.dumps(right), encoding="utf-8")
    weights = folder / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    said.append(("cut off", convert(copied)))
    weights.unlink()
    said.append(("run train.py", convert(copied)))

    for words, ended in said:
        assert ended.code == 1, ended.said
        assert words in ended.err
        assert len(ended.err.strip().splitlines()) == 1, ended.said
