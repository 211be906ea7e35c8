"""The adapter by itself as GGUF: on its base it is the trained model, or nothing is written."""

import shutil
import sys
from pathlib import Path

import pytest

from ftc.compiler.verify.modelfile import read_modelfile
from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import compile_spec, read_json, run, run_together

pytestmark = pytest.mark.prove

pytest.importorskip("llama_cpp")

# A converter that runs the real one, and what one of them does to the adapter afterwards.
CONVERTER = """
import subprocess, sys
subprocess.run([sys.executable, "REAL", *sys.argv[1:]], check=True)
"""
NEGATE = """
from gguf import GGUFReader
for tensor in GGUFReader(sys.argv[sys.argv.index("--outfile") + 1], "r+").tensors:
    if tensor.name.endswith("lora_b"):
        tensor.data[:] = -tensor.data
"""


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
    ended = run_together(found, sdist=sdist)
    assert ended.code == 0, ended.said
    return found


@pytest.fixture
def copied(bundle: Path, tmp_path: Path) -> Path:
    """Return a copy of the bundle beside a link to its model, for a test to damage."""
    (tmp_path / "model").symlink_to((bundle.parent / "model").resolve())
    shutil.copytree(bundle, tmp_path / "triage", symlinks=True)
    shutil.rmtree(tmp_path / "triage" / "run" / "quantize")
    return tmp_path / "triage"


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


def test_another_adapter_is_no_trained_model(bundle: Path, copied: Path, tmp_path: Path) -> None:
    """A converter that writes other weights is found out, and no file is left."""
    (real,) = (bundle / "run/tools").glob("llama.cpp-*")
    tools = tmp_path / "llama.cpp"
    tools.mkdir()
    for name in ("convert_hf_to_gguf.py", "convert_lora_to_gguf.py"):
        change = NEGATE if "lora" in name else ""
        text = CONVERTER.replace("REAL", str(real / name)) + change
        (tools / name).write_text(text, encoding="utf-8")

    ended = run(sys.executable, "export.py", "--llama-cpp", tools, cwd=copied)

    assert ended.code == 1, ended.said
    assert "nats per token from the merged model" in ended.said
    assert ended.err.count("export.py: ") == 1
    assert list((copied / "run/quantize").iterdir()) == []
