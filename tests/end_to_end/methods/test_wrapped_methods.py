"""Language models inside wrappers, trained on text by each objective, method and form of sharding.

Each bundle prepares, trains and merges in miniature; the merge has the base's settings, and only
tensors of the language model differ.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tokenizers import Tokenizer

from tests.end_to_end.exports.test_wrappers import build, write_base
from tests.end_to_end.objectives.test_preferences import write_data
from tests.end_to_end.process import compile_spec, run, write_json
from tests.real_tokenizers import real_tokenizer
from tests.tiny_models import write_model, write_rows

torch = pytest.importorskip("torch")
from ftc.runtime.merge.safetensors_files import read_weights  # noqa: E402 - it needs torch
from ftc.runtime.merge.trained_config import TRAINED_KEYS  # noqa: E402 - they need torch

pytestmark = pytest.mark.prove_all

SHIM: Final = Path(__file__).parents[1] / "sharding/shard_on_cpu.py"
TRAINING: Final = {"max_steps": 2, "global_batch": 8, "micro_batch": 4, "learning_rate": 0.01}
SHARDED: Final = {**TRAINING, "micro_batch": 2, "precision": "fp32"}
TICKETS: Final = {"source": "tickets.csv", "max_rows": 60}
WRITTEN: Final = {"export": ["F16"]}  # which a model trained as a whole is merged for
GPUS: Final = {"gpu": "A100-80GB", "count": 2, "ram_gib": 200}
#: Miniatures of wrappers as their repositories have them; those of Qwen2-VL have no `text_config`.
BASES: Final[Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("wrapped.json").read_text(encoding="utf-8")
)
#: Bases, and what a spec says beside them.
CASES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "dpo-in-4-bits": (
        "mistral3",
        {"data": "pairs.jsonl", "objective": "dpo", "method": "qlora"},
    ),
    "kto-under-zero3": (
        "gemma3",
        {
            "data": "verdicts.jsonl",
            "objective": "kto",
            "method": "lora",
            "hardware": "2x cpu",
            "distribution": "zero3",
        },
    ),
    "orpo-under-fsdp": (
        "qwen3_vl",
        {
            "data": "pairs.jsonl",
            "objective": "orpo",
            "method": "lora",
            "hardware": GPUS,
            "distribution": "fsdp",
            "training": SHARDED,
        },
    ),
    "grpo": (
        "gemma3",
        {
            "data": "sums.jsonl",
            "objective": {"type": "grpo", "rewards": [{"regex": "^[a-m]"}], "answer_tokens": 8},
            "method": "lora",
        },
    ),
    "streamed": (
        "qwen3_5",
        {
            "data": {"source": "pairs.jsonl", "streaming": True},
            "objective": "dpo",
            "method": "lora",
        },
    ),
    "frozen": ("mistral3", {"data": TICKETS, "method": {"type": "freeze", "layers": 1}, **WRITTEN}),
    "all-weights": ("gemma4", {"data": TICKETS, "method": "full", **WRITTEN}),
    **{name: (name, {"data": TICKETS, "method": "lora"}) for name in BASES},
}


def write_other(folder: Path, name: str, sdist: Path) -> Path:
    """Write a miniature of `wrapped.json`, with a tokenizer of its family."""
    folder.mkdir(parents=True)
    if name.startswith("qwen"):
        real_tokenizer("qwen2", folder, sdist=sdist)
    else:
        write_model(folder)
    words = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    config = json.loads(json.dumps(BASES[name]))
    config.get("text_config", config)["vocab_size"] = words
    write_json(folder / "config.json", config)
    return folder


def widen(base: Path) -> None:
    """Give the MLPs a width that bitsandbytes computes with in 4 bits on a CPU."""
    config = json.loads((base / "config.json").read_bytes())
    config["text_config"]["intermediate_size"] = 128
    write_json(base / "config.json", config)


def read_settings(folder: Path) -> dict[str, Any]:
    """Return config.json without what training may change: numbers of tokens, and how many."""
    found: dict[str, Any] = json.loads((folder / "config.json").read_bytes())
    for section in (found, found.get("text_config", {})):
        for key in TRAINED_KEYS:
            section.pop(key, None)
    return found


@pytest.mark.parametrize("case", CASES)
def test_only_the_language_model_is_trained(tmp_path: Path, sdist: Path, case: str) -> None:
    """By a bundle from `prepare` to the merge: the tower's tensors and the config stay."""
    name, said = CASES[case]
    folder = tmp_path / "base"
    base = (write_other if name in BASES else write_base)(folder, name, sdist)
    if said["method"] == "qlora":
        widen(base)
    build(base)
    write_data(tmp_path)
    write_rows(tmp_path)
    sums = [{"prompt": f"What is {n} plus {n}?", "completion": str(2 * n)} for n in range(60)]
    text = "".join(json.dumps(row) + "\n" for row in sums)
    (tmp_path / "sums.jsonl").write_text(text, encoding="utf-8")
    spec = {"model": "./base", "hardware": "cpu", "training": TRAINING, **said}
    bundle = compile_spec(tmp_path, {"name": "wrapped", **spec})

    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    alone = spec["hardware"] == "cpu"
    launch = ("accelerate", "launch", "--config_file", "accelerate.yaml")
    shim = (SHIM,) if spec.get("distribution") == "fsdp" else ()
    ended = run(
        *((sys.executable,) if alone else (*launch, *shim)),
        "train.py",
        cwd=bundle,
        extra={"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"},
    )
    assert ended.code == 0, ended.said
    ended = run(sys.executable, "export.py", "--merge", cwd=bundle)
    assert ended.code == 0, ended.said
    merged = bundle / "run/merged"
    old, new = read_weights(base), read_weights(merged)
    changed = {each for each in old.entries if not torch.equal(old.read(each), new.read(each))}
    assert changed
    seeing = {"visual", "vision_tower", "vision_model", "multi_modal_projector", "connector", "mtp"}
    assert not seeing & {part for each in changed for part in each.split(".")}
    assert read_settings(merged) == read_settings(base)
