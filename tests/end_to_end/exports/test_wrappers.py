"""Wrappers, experts and models with dropped layers: trained on text, merged into the base's files.

`layouts.json` has a miniature of each: its config as a Hub has it, the tensors that transformers
drops, LoRA's targets, and how many tensors of the base a merge changes.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tokenizers import Tokenizer

from ftc.runtime.llama_cpp.converter import Converter
from ftc.runtime.run import Run
from tests.end_to_end.process import compile_spec, run, write_json
from tests.real_tokenizers import real_tokenizer
from tests.tiny_models import write_model, write_rows

torch = pytest.importorskip("torch")
from ftc.runtime.merge.safetensors_files import read_weights  # noqa: E402 - it needs torch

HERE: Final = Path(__file__).parent
CASES: Final[Mapping[str, Any]] = json.loads((HERE / "layouts.json").read_text(encoding="utf-8"))
#: Families whose tokenizer is a byte-level BPE, as that of Qwen2 is.
BYTES: Final = ("qwen", "internvl", "lfm2")
#: The type of the wrapper's text model, where AutoModelForCausalLM loads it alone.
ALONE: Final = {"qwen3_5": "Qwen3_5ForCausalLM"}
#: A wrapper of a hybrid, a model with experts, and a wrapper of equal layers: where the layers of
#: the language model are in the base's files, and how many linear modules these have.
RESUMED: Final = (
    pytest.param(
        *("qwen3_5", "model.language_model.layers.", 3 * (3 + 3) + 4 + 3), marks=pytest.mark.prove
    ),
    pytest.param("qwen3_moe", "model.layers.", 4 * 2, marks=pytest.mark.prove),
    pytest.param("gemma3", "language_model.model.layers.", 7 * 4, marks=pytest.mark.prove_all),
)


def write_base(folder: Path, name: str, sdist: Path) -> Path:
    """Write a tokenizer that the converter takes for this family, and the config."""
    case = CASES[name]
    folder.mkdir(parents=True)
    if name.startswith(BYTES):
        real_tokenizer("qwen2", folder, sdist=sdist)
    else:
        write_model(folder)
    words = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    config = json.loads(json.dumps(case["config"]))
    text = config.get("text_config", config)
    text |= {key: words for key in ("vocab_size", "vocab_size_per_layer_input") if key in text}
    write_json(folder / "config.json", config)
    if "dropped" in case:
        write_json(folder / "dropped.json", case["dropped"])
    return folder


def build(*folders: Path, extra: Mapping[str, str] | None = None) -> None:
    """Give folders weights."""
    built = run(
        sys.executable,
        HERE.parent / "builders/build_wrapped.py",
        *folders,
        cwd=folders[0],
        extra=extra,
    )
    assert built.code == 0, built.said


@pytest.fixture(scope="module")
def merged(
    tmp_path_factory: pytest.TempPathFactory, sdist: Path, vision: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return what became of every merge; Gemma 3n's tower needs timm, beside torchvision."""
    folder = tmp_path_factory.mktemp("layouts")
    bases = [write_base(folder / "bases" / name, name, sdist) for name in CASES]
    build(*bases, extra=vision)
    for name, base in zip(CASES, bases, strict=True):
        write_json(folder / f"{name}.json", {**CASES[name], "base": str(base)})
    sha256 = hashlib.sha256(sdist.read_bytes()).hexdigest()
    stage = Run(folder, stage="tools")
    tools = Converter(sha256=sha256).unpack(stage, sdist, folder / "tools")
    jobs = [folder / f"{name}.json" for name in CASES]
    done = run(sys.executable, HERE / "merge_layouts.py", tools, *jobs, cwd=folder, extra=vision)
    assert done.code == 0, done.said
    found = [json.loads(line) for line in done.out.splitlines()]
    return {each["name"]: each for each in found}


@pytest.mark.prove
@pytest.mark.parametrize("name", CASES)
def test_the_files_of_the_base(merged: Mapping[str, Any], name: str) -> None:
    """The targets' tensors differ, and nothing else: neither config.json nor what is dropped."""
    found, case = merged[name], CASES[name]

    assert len(found["changed"]) == case["changed"]
    assert not {"visual", "vision_tower", "mtp"} & {
        part for tensor in found["changed"] for part in tensor.split(".")
    }
    assert not case.get("dropped", {}).keys() & set(found["changed"])
    assert {"config.json", "model.safetensors.index.json", "tokenizer.json"} <= {*found["same"]}
    if "dropped" in case:
        assert "dropped.safetensors" in found["same"]


@pytest.mark.prove
@pytest.mark.parametrize("name", CASES)
def test_every_reader_has_the_trained_model(merged: Mapping[str, Any], name: str) -> None:
    """Transformers by each class that loads the base, and llama.cpp by the real converter."""
    found, case = merged[name], CASES[name]
    kinds = {"AutoModelForCausalLM": ALONE.get(name), "AutoModelForImageTextToText": None}

    most = found["base"] / 100
    for reader, (kind, apart) in found["read"].items():
        assert kind == (kinds[reader] or case["config"]["architectures"][0])
        assert apart < most
    # Gemma 3n's is not compared: llama.cpp divides the variance by n - 1 where the activations are
    # sparse, transformers by n, which differs at this width of 96 (0.010, in F32 as in F16)
    assert ("gguf" in found) == case.get("converts", True)
    assert found.get("gguf", 0) < min(most, 0.001)


@pytest.mark.parametrize(("name", "inside", "linears"), RESUMED)
def test_it_is_trained_stopped_and_resumed(
    tmp_path: Path, sdist: Path, name: str, inside: str, linears: int
) -> None:
    """By the bundle of a spec: the resumed adapter is the uninterrupted one, in the text alone."""
    base = write_base(tmp_path / "base", name, sdist)
    build(base)
    write_rows(tmp_path)
    bundle = compile_spec(
        tmp_path,
        {
            "name": "wrapped",
            "model": "./base",
            "data": {"source": "tickets.csv", "max_rows": 60},
            "hardware": "cpu",
            "method": "lora",
            "training": {"max_steps": 4, "global_batch": 8, "learning_rate": 0.01, "seed": 7},
        },
    )
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    other = Path(shutil.copytree(bundle, bundle.with_name("other")))
    (bundle / "run/stop").touch()
    stopped = run(sys.executable, "train.py", cwd=bundle)
    assert "stopped by a signal at step 1 of 4" in stopped.out + stopped.err, stopped.said
    for folder in (bundle, other):
        ended = run(sys.executable, "train.py", cwd=folder)
        assert ended.code == 0, ended.said
    ended = run(sys.executable, "export.py", "--merge", cwd=bundle)
    assert ended.code == 0, ended.said

    adapter = "run/train/model/adapter_model.safetensors"
    assert (bundle / adapter).read_bytes() == (other / adapter).read_bytes()
    old, new = (read_weights(folder) for folder in (base, bundle / "run/merged"))
    assert old.entries == new.entries
    changed = {name for name in old.entries if not torch.equal(old.read(name), new.read(name))}
    assert len(changed) == linears
    assert all(name.startswith(inside) for name in changed)
    config = (base / "config.json").read_bytes()
    assert (bundle / "run/merged/config.json").read_bytes() == config
