"""Faults of `rope_parameters`: exactly those at which transformers stops are reported."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.model.config import Config, read_config
from ftc.compiler.resolve.model.rope import find_rope_fault
from ftc.compiler.resolve.model.sections import list_parts
from ftc.spec.findings.finding import Finding
from tests.tiny_models import write_model

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}  # fmt: skip
#: Values of the section that transformers 5 stops at, each with words of the finding.
BROKEN: dict[str, tuple[Any, str]] = {
    "text": ("linear", 'is `"linear"`'),
    "list": ([1], "is a list"),
    "number": (5, "is `5`"),
    "unknown type": ({"rope_type": "foo", "factor": 2.0}, 'the type `"foo"`'),
    "type is no text": ({"rope_type": 3, "factor": 2.0}, "the type `3`"),
    "old name of the type": ({"type": "foo"}, 'the type `"foo"`'),
    "no factor": ({"rope_type": "linear"}, "does not have `factor`"),
    "no factor of yarn": ({"rope_type": "yarn"}, "does not have `factor`"),
    "two missing": ({"rope_type": "llama3", "factor": 8.0}, "`high_freq_factor` and"),
    "no lists": ({"rope_type": "longrope"}, "does not have `long_factor` and `short_factor`"),
    "factor as text": ({"rope_type": "linear", "factor": "2"}, 'factor` is `"2"`'),
    "context as text": (
        {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": "32"},
        "a number",
    ),
    "frequency as text": ({**LLAMA3, "low_freq_factor": "1"}, "a number"),
    "list as text": (
        {"rope_type": "longrope", "short_factor": "x", "long_factor": [1.0] * 16},
        "a list of numbers",
    ),
    "too few factors": (
        {
            "rope_type": "longrope",
            "short_factor": [1.0] * 32,
            "long_factor": [1.0] * 5,
            "original_max_position_embeddings": 32,
        },
        "has 5 numbers",
    ),
    "theta as text": ({"rope_type": "default", "rope_theta": "10000"}, "a number"),
    "theta is null": ({"rope_type": "default", "rope_theta": None}, "a number"),
}
SOUND: dict[str, Any] = {
    "none": None,
    "empty": {},
    "default": {"rope_type": "default", "rope_theta": 10000.0},
    "linear": {"rope_type": "linear", "factor": 2},
    "old name": {"type": "linear", "factor": 2.0},
    "small factor": {"rope_type": "linear", "factor": 0.5},
    "other keys": {"rope_type": "linear", "factor": 2.0, "foo": "bar"},
    "llama3": LLAMA3,
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
}


def find_fault(data: dict[str, Any]) -> Finding | None:
    """Return the fault of a config, or of one inside it."""
    faults = (find_rope_fault(part, "m") for part in list_parts(data))
    return next((fault for fault in faults if fault is not None), None)


def say(folder: Path, key: str, value: Any) -> Path:
    """Write a config with this section into the folder of a model."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for name in ("rope_scaling", "rope_parameters"):
        config.pop(name, None)
    path.write_text(json.dumps({**config, key: value}), encoding="utf-8")
    return path


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("case", BROKEN)
def test_what_transformers_stops_at_is_told(tmp_path: Path, key: str, case: str) -> None:
    """Under the old name of the section and the new one; the model is not read further."""
    value, words = BROKEN[case]
    say(write_model(tmp_path / "model"), key, value)
    found = read_config(tmp_path / "model", "./model")
    assert not isinstance(found, Config)
    assert (found.code, words in found.message) == ("FTC102", True), found.message


@pytest.mark.parametrize("case", SOUND)
def test_what_transformers_reads_is_sound(tmp_path: Path, case: str) -> None:
    """Old names, unknown keys and strange factors load."""
    say(write_model(tmp_path / "model"), "rope_scaling", SOUND[case])
    assert isinstance(read_config(tmp_path / "model", "./model"), Config)


def test_layers_have_their_own() -> None:
    """Each type of layer is looked at; a type without positions has none."""
    layers = {"model_type": "llama", "layer_types": ["full_attention", "sliding_attention"]}
    sound = {"full_attention": {"rope_type": "default"}, "sliding_attention": None}
    assert find_fault({**layers, "rope_parameters": sound}) is None
    broken = {**sound, "sliding_attention": {"rope_type": "yarn"}}
    found = find_fault({**layers, "rope_parameters": broken})
    assert found is not None
    assert "`rope_parameters.sliding_attention`" in found.message


def test_a_section_has_its_own() -> None:
    """The key is named with the section that it is in."""
    inside = {"model_type": "qwen2", "rope_scaling": {"type": "yarn"}}
    found = find_fault({"model_type": "llava", "text_config": inside})
    assert found is not None
    assert "`text_config.rope_scaling` has the type `yarn`" in found.message


def test_other_classes_are_left_alone() -> None:
    """Their own rules may read anything."""
    assert find_fault({"model_type": "internlm3", "rope_scaling": {"type": "own"}}) is None
    assert find_fault({"model_type": "gpt2", "rope_scaling": "linear"}) is None


FACTORS = {"short_factor": [1.0] * 8, "long_factor": [1.0] * 8}
#: Positions of classes with rules of their own, each with words of the finding, if there is one.
OWN: dict[str, tuple[str, dict[str, Any], str]] = {
    "su": ("phi3", {"type": "su", **FACTORS}, "does not have `original_max_position_embeddings`"),
    "su with its context": (
        "phi3", {"type": "su", **FACTORS, "original_max_position_embeddings": 32}, "",
    ),
    "longrope": ("phi3", {"type": "longrope", **FACTORS}, ""),
    "linear Phi": ("phi3", {"type": "linear", "factor": 2.0}, "the type `linear`"),
    "su of Olmo": ("olmo3", {"rope_type": "su", **FACTORS}, 'the type `"su"`'),
    "older key of Olmo": ("olmo3", {"type": "su", **FACTORS}, ""),
    "linear Olmo": ("olmo3", {"rope_type": "linear", "factor": 2.0}, ""),
    "dynamic NeoX": ("gpt_neox", {"rope_type": "dynamic"}, "does not have `factor`"),
}  # fmt: skip


@pytest.mark.parametrize("case", OWN)
def test_classes_have_types_of_their_own(case: str) -> None:
    """An older name may need a key more, and a type of the common code may be refused."""
    kind, said, words = OWN[case]
    found = find_fault({"model_type": kind, "rope_scaling": said})
    assert (found is not None) is bool(words)
    assert found is None or words.replace('"', "") in found.message.replace('"', "")


@pytest.mark.prove
@pytest.mark.parametrize("case", OWN)
def test_classes_agree(case: str) -> None:
    """The real class stops where there is a finding: at its config, or at the model."""
    transformers = pytest.importorskip("transformers")
    kind, said, words = OWN[case]
    sizes = {
        "vocab_size": 64,
        "pad_token_id": 0,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
    }
    try:
        config = transformers.AutoConfig.for_model(kind, rope_scaling=dict(said), **sizes)
        transformers.AutoModelForCausalLM.from_config(config)
        stopped = False
    except Exception:  # noqa: BLE001 - whatever it raises, it stops
        stopped = True
    assert stopped is bool(words)


@pytest.mark.prove
@pytest.mark.parametrize("case", [*BROKEN, *SOUND])
def test_transformers_agrees(tmp_path: Path, case: str) -> None:
    """It stops at the same values: at the config, or at the model."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    value = BROKEN[case][0] if case in BROKEN else SOUND[case]
    say(write_model(tmp_path / "model"), "rope_parameters", value)
    try:
        config = transformers.AutoConfig.from_pretrained(tmp_path / "model")
        model = transformers.AutoModelForCausalLM.from_config(config)
        model(torch.tensor([[1, 2, 3]]))
        stopped = False
    except Exception:  # noqa: BLE001 - whatever it raises, it stops
        stopped = True
    assert stopped == (case in BROKEN)


@pytest.mark.parametrize("theta", ["auto", [1.0]])
@pytest.mark.parametrize(("section", "told"), [({"rope_theta": 1e4}, False), ({}, True)])
def test_a_theta_beside_the_section(
    tmp_path: Path, theta: object, section: dict[str, object], *, told: bool
) -> None:
    """Nothing reads it where the section has its own."""
    folder = write_model(tmp_path / "model")
    path = folder / "config.json"
    data = json.loads(path.read_text()) | {"rope_theta": theta}
    path.write_text(json.dumps(data | {"rope_parameters": {"rope_type": "default", **section}}))
    assert isinstance(read_config(folder, "./model"), Finding) is told
    transformers = pytest.importorskip("transformers")
    try:
        config = transformers.AutoConfig.from_pretrained(folder)
        transformers.AutoModelForCausalLM.from_config(config)
    except Exception:  # noqa: BLE001 - each value has its own
        assert told
    else:
        assert not told
