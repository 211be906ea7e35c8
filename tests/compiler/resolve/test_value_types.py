"""A config value of the wrong type is reported before training; other values are not."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.resolve.model.config import Config, read_config
from ftc.compiler.resolve.model.value_types import find_type_fault
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


def test_published_configs_have_no_fault() -> None:
    """Those of every rehearsed family, and of every miniature with the sizes of a published one."""
    for name in ("families.json", "derived_families.json"):
        cases = json.loads((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))
        assert cases
        for case in cases:
            assert find_type_fault(case["config"], case["name"]) is None


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
            fault = find_type_fault(data, "model")
            if fault is not None:
                told += 1
                with pytest.raises(Exception, match=key):
                    transformers.AutoConfig.from_pretrained(folder)
    assert told
