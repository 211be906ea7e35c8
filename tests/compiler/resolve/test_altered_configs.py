"""Published configs, altered as fine-tunes of them are: facts or one clear finding, never an error.

The configs are those of the benchmarks of families.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.resolve.facts import ModelFacts, Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.spec.sections import Spec

ROOT: Final = Path(__file__).parents[3]
CONFIGS: Final[dict[str, dict[str, Any]]] = {
    case["config"]["architectures"][0]: case["config"]
    for name in ("families.json", "derived_families.json")
    for case in json.loads((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))
}
Edit = Callable[[dict[str, Any], dict[str, Any]], object]
#: With the lists that Phi-3 reads by this name too.
SCALED: Final[Mapping[str, Any]] = {
    "rope_type": "yarn",
    "factor": 4.0,
    **dict.fromkeys(("short_factor", "long_factor"), [1.0] * 48),
}
QUANTIZED: Final[Mapping[str, Any]] = {
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 128},
    "gptq": {"quant_method": "gptq", "bits": 4},
    "bitsandbytes": {"quant_method": "bitsandbytes", "load_in_4bit": True},
    "fp8": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}


def put(where: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Set keys."""
    where.update(values)
    return where


def drop(where: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Remove keys."""
    for key in keys:
        where.pop(key, None)
    return where


def quantize(said: Mapping[str, Any]) -> Edit:
    """Return the edit that says how the weights are quantized."""
    return lambda whole, _: put(whole, quantization_config=said)


def flip(whole: dict[str, Any], text: dict[str, Any]) -> None:
    """Tie the embeddings, or part them."""
    tied = not text.get("tie_word_embeddings", whole.get("tie_word_embeddings", False))
    put(whole, tie_word_embeddings=tied)
    put(text, tie_word_embeddings=tied)


#: Edits of a whole config and of its text, after which there are facts still.
KEPT: Final[Mapping[str, Edit]] = {
    "another vocabulary": lambda _, text: put(text, vocab_size=33_333, pad_token_id=0),
    "scaled rotations": lambda _, text: put(text, rope_scaling=SCALED),
    "rotations as of transformers 5": lambda _, text: (
        drop(text, "rope_scaling", "rope_theta"),
        put(text, rope_parameters={"rope_type": "default", "rope_theta": 1e4}),
    ),
    "dtype in place of torch_dtype": lambda whole, _: (
        drop(whole, "torch_dtype"),
        put(whole, dtype="bfloat16"),
    ),
    "no dtype": lambda whole, _: drop(whole, "torch_dtype"),
    "another tie": flip,
    "unknown keys": lambda whole, text: (
        put(whole, unsloth_fixed=True, _name_or_path="/root/x", extra={"a": [1]}),
        put(text, use_mtp=None),
    ),
    "code of a repository": lambda whole, _: put(
        whole, auto_map={"AutoModelForCausalLM": "modeling_x.X", "AutoConfig": "x.C"}
    ),
    "no architectures": lambda whole, _: drop(whole, "architectures"),
    "null quantization": lambda whole, _: put(whole, quantization_config=None),
    "several ends": lambda _, text: put(text, eos_token_id=[1, 2]),
    **{name: quantize(said) for name, said in QUANTIZED.items()},
}
#: Edits that must give either facts or a finding, never a traceback.
BROKEN: Final[Mapping[str, Edit]] = {
    "a size as text": lambda _, text: put(text, hidden_size="4096", d_model="4096"),
    "a size with a point": lambda _, text: put(text, hidden_size=4096.0, vocab_size=32e3),
    "no layers": lambda _, text: put(text, num_hidden_layers=0, n_layer=-1),
    "null sizes": lambda _, text: put(text, **dict.fromkeys(text)),
    "lists for numbers": lambda _, text: put(
        text, **{key: [value] for key, value in text.items() if type(value) is int}
    ),
    "a name for a list": lambda whole, _: put(whole, architectures="LlamaForCausalLM"),
    "an empty list of names": lambda whole, _: put(whole, architectures=[]),
    "numbers for names": lambda whole, _: put(whole, architectures=[7], model_type=7),
    "a word for an object": lambda whole, _: put(
        whole, quantization_config="awq", text_config="x", vision_config=3, auto_map=[]
    ),
    "a config within a config": lambda whole, text: put(whole, text_config=dict(text)),
    "fewer layers than kinds": lambda _, text: put(text, num_hidden_layers=3),
    "another class first": lambda whole, _: put(
        whole, architectures=["AutoModel", *whole["architectures"]]
    ),
    "no section of the text": lambda whole, _: drop(whole, "text_config"),
    "a section of custom code": lambda whole, text: put(
        whole, architectures=["X"], auto_map={"AutoModelForCausalLM": "x.X"}, llm_config=dict(text)
    ),
    "no experts": lambda _, text: put(text, num_experts=0, num_local_experts=None),
    "rotations of no kind": lambda _, text: put(text, rope_parameters=[1], rope_scaling="yarn"),
    "nothing but names": lambda whole, _: drop(
        whole, *(key for key in list(whole) if key not in ("architectures", "model_type"))
    ),
}


def resolve(spec: Spec, folder: Path, name: str, edit: Edit) -> ModelFacts | Unknown:
    """Return what is known of a folder with an edited config."""
    config = deepcopy(CONFIGS[name])
    text = config.get("text_config", config)
    edit(config, text)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return resolve_model(spec, folder=folder.parent)


@pytest.mark.parametrize("edit", KEPT)
def test_a_derivative_has_facts(make_spec: Any, model_folder: Path, edit: str) -> None:
    """Of its class, with the quantization and the code that it names, and no sizes of another."""
    assert len(CONFIGS) > 40
    spec = make_spec()
    for name in CONFIGS:
        found = resolve(spec, model_folder, name, KEPT[edit])
        assert isinstance(found, ModelFacts), (name, found)
        assert found.shape is not None, name
        assert found.quantized == (QUANTIZED[edit]["quant_method"] if edit in QUANTIZED else None)
        if edit == "another vocabulary":
            assert found.embedding_rows == 33_333, name


@pytest.mark.parametrize("edit", BROKEN)
def test_a_broken_config_is_told(make_spec: Any, model_folder: Path, edit: str) -> None:
    """In one finding with a help, where there are no facts."""
    spec = make_spec()
    for name in CONFIGS:
        found = resolve(spec, model_folder, name, BROKEN[edit])
        assert isinstance(found, ModelFacts) or found.finding.help, name
