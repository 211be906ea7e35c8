"""A config value of the wrong type is reported before training; other values are not."""

import importlib
import json
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.resolve.model.config import Config, read_config
from ftc.compiler.resolve.model.rope import find_rope_fault
from ftc.compiler.resolve.model.sections import find_section_fault, find_type_fault, list_parts
from ftc.spec.findings.finding import Finding
from tests.compiler.knowledge.test_config_types import list_types, reach
from tests.tiny_models import write_model

ROOT = Path(__file__).parents[3]
REFUSED: Final[dict[str, tuple[Any, str]]] = {
    "tie_word_embeddings": ("yes", 'is `"yes"` in the `config.json` of `./model`: transformers'),
    "use_cache": (None, "needs `true` or `false`"),
    "rms_norm_eps": ("1e-6", "needs a number with a decimal point"),
    "attention_dropout": ("none", "needs a number or `null`"),
    "hidden_act": (5, "needs text in quotes"),
    "eos_token_id": ("</s>", "needs a whole number, a list or `null`"),
    "intermediate_size": (128.5, "needs a whole number"),
}
ACCEPTED: Final[dict[str, Any]] = {
    "eos_token_id": [1, 2],
    "attention_dropout": 0,
    "head_dim": None,
    "rope_theta": 10000.0,
    "novel": "text",
}
#: One value of each kind.
KINDS: Final = (3, 0.5, True, "text", [1], {"a": 1}, None)


#: A small multimodal model of several kinds, each with its section of text.
LLAVA: Final[dict[str, Any]] = {
    "architectures": ["LlavaForConditionalGeneration"],
    "model_type": "llava",
    "text_config": {"model_type": "qwen2", "hidden_size": 64, "vocab_size": 100},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 64},
}
QWEN: Final[dict[str, Any]] = {
    "architectures": ["Qwen2VLForConditionalGeneration"],
    "model_type": "qwen2_vl",
    "text_config": {"model_type": "qwen2", "hidden_size": 64, "vocab_size": 100},
    "vision_config": {"model_type": "qwen2_vl", "depth": 2},
}
EXAONE: Final[dict[str, Any]] = {
    "architectures": ["Exaone4_5_ForConditionalGeneration"],
    "model_type": "exaone4_5",
    "text_config": {"model_type": "exaone4", "hidden_size": 64, "vocab_size": 100},
}
#: Keys of a section, a value, and words of the finding.
NESTED: Final[dict[str, tuple[dict[str, Any], str, str, Any, str]]] = {
    "a size": (LLAVA, "text_config", "hidden_size", 64.5, "`text_config.hidden_size` is `64.5`"),
    "the tower": (LLAVA, "vision_config", "hidden_act", 5, "`vision_config.hidden_act` is `5`"),
    "the type of a class": (LLAVA, "text_config", "model_type", "novel", "no model of this type"),
    "a type that is no text": (LLAVA, "vision_config", "model_type", 5, "no model of this type"),
    "the section's own class": (QWEN, "text_config", "hidden_act", 1, "`text_config.hidden_act`"),
    "no type": (EXAONE, "text_config", "model_type", None, "has no `model_type`"),
}


def find_fault(data: dict[str, Any]) -> Finding | None:
    """Return the first fault of a config and of what is inside it."""
    for part in list_parts(data):
        for find in (find_type_fault, find_section_fault, find_rope_fault):
            if (fault := find(part, "model")) is not None:
                return fault
    return None


def alter(config: dict[str, Any], section: str, key: str, value: Any) -> dict[str, Any]:
    """Return a config with another value in a section; None takes the key away."""
    inside = {**config[section], key: value}
    return {**config, section: {k: v for k, v in inside.items() if v is not None}}


def change(folder: Path, key: str, value: Any) -> Path:
    """Write a value into the config of a model's folder."""
    path = folder / "config.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, key: value}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("key", REFUSED)
def test_a_refused_type_is_told(tmp_path: Path, key: str) -> None:
    """The message has the value and what the key takes."""
    value, words = REFUSED[key]
    found = read_config(change(write_model(tmp_path / "model"), key, value), "./model")
    assert not isinstance(found, Config)
    assert (found.code, words in found.message) == ("FTC102", True), found.message


@pytest.mark.parametrize("key", ACCEPTED)
def test_an_accepted_type_is_not(tmp_path: Path, key: str) -> None:
    """Keys that the class does not have are ignored."""
    folder = change(write_model(tmp_path / "model"), key, ACCEPTED[key])
    assert isinstance(read_config(folder, "./model"), Config)


@pytest.mark.parametrize("case", NESTED)
def test_a_section_is_read_as_the_config_is(tmp_path: Path, case: str) -> None:
    """By its own class, or by that of the type that it names; the key is said with its section."""
    config, section, key, value, words = NESTED[case]
    (tmp_path / "config.json").write_text(json.dumps(alter(config, section, key, value)))
    found = read_config(tmp_path, "./model")
    assert not isinstance(found, Config)
    assert (found.code, words in found.message) == ("FTC102", True), found.message
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert isinstance(read_config(tmp_path, "./model"), Config)


def test_the_flat_keys_of_a_language_model(tmp_path: Path) -> None:
    """Transformers moves them into a section, whose class refuses them."""
    flat = {**QWEN, **QWEN["text_config"], "model_type": "qwen2_vl", "rms_norm_eps": "1e-6"}
    del flat["text_config"]
    (tmp_path / "config.json").write_text(json.dumps(flat))
    found = read_config(tmp_path, "./model")
    assert not isinstance(found, Config)
    assert "`rms_norm_eps` is" in found.message


def test_a_deep_config_ends() -> None:
    """Deeply nested configs do not exhaust the stack."""
    deep: dict[str, object] = {"model_type": "llava", "hidden_size": "64"}
    for _ in range(2000):
        deep = {"model_type": "llava", "text_config": deep}
    assert find_fault(deep) is None


def test_published_configs_have_no_fault() -> None:
    """Those of every rehearsed family, and of every miniature with the sizes of a published one."""
    for name in ("families.json", "derived_families.json"):
        cases = json.loads((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))
        assert cases
        for case in cases:
            assert find_fault(case["config"]) is None, case["name"]


@pytest.mark.prove_all
def test_transformers_agrees(tmp_path: Path) -> None:
    """It refuses a value of each kind for each key of a config where a fault is found."""
    transformers = pytest.importorskip("transformers")
    folder = write_model(tmp_path / "model")
    written = (folder / "config.json").read_text(encoding="utf-8")
    told = 0
    for key in json.loads(written):
        if key in {"model_type", "architectures", "rope_parameters", "rope_scaling", "dtype"}:
            continue
        for value in KINDS:
            (folder / "config.json").write_text(written, encoding="utf-8")
            data = json.loads(written) | {key: value}
            change(folder, key, value)
            fault = find_fault(data)
            if fault is not None:
                told += 1
                with pytest.raises(Exception, match=key):
                    transformers.AutoConfig.from_pretrained(folder)
    assert told


@pytest.mark.prove_all
@pytest.mark.parametrize("case", NESTED)
def test_transformers_agrees_on_sections(tmp_path: Path, case: str) -> None:
    """It reads the config, and stops at the altered one."""
    transformers = pytest.importorskip("transformers")
    config, section, key, value, _ = NESTED[case]
    (tmp_path / "config.json").write_text(json.dumps(config))
    transformers.AutoConfig.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(alter(config, section, key, value)))
    with pytest.raises(Exception, match=f"{key}|model type"):
        transformers.AutoConfig.from_pretrained(tmp_path)


@pytest.mark.prove_all
@pytest.mark.filterwarnings("ignore")
def test_what_transformers_writes_has_no_fault() -> None:
    """Configs of every class, with all keys and with only those that differ from the defaults."""
    pytest.importorskip("transformers")
    errors = importlib.import_module("huggingface_hub.errors")
    classes = reach(list_types())
    assert len(classes) > 300
    for kind, config in classes.items():
        for use_diff in (True, False):
            try:
                written = config().to_json_string(use_diff=use_diff)
            except errors.StrictDataclassClassValidationError:
                continue  # it has no default
            fault = find_fault(json.loads(written))
            assert fault is None, (kind, fault)
