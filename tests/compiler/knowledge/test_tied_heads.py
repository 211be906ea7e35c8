"""Which key of a multimodal config ties the head, as the pinned transformers reads it."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.multimodal.tied_heads import ties_head

FOLDER: Final = Path(__file__).parents[3] / "compiler/knowledge/multimodal"
TABLE: Final = FOLDER / "tied_heads.json"
WRAPPERS: Final[dict[str, Any]] = json.loads((FOLDER / "wrappers.json").read_text(encoding="utf-8"))


def is_tied(name: str, whole: bool | None, text: bool | None) -> bool | None:
    """Return whether the class that is loaded ties, given the key in both places; None is neither.

    None too where the config cannot be made, or says nothing.
    """
    transformers = pytest.importorskip("transformers")
    entry = WRAPPERS[name]
    inside: dict[str, Any] = {"model_type": entry["text_types"][0]}
    said: dict[str, Any] = {} if entry.get("whole") else {"text_config": inside}
    if text is not None:
        inside["tie_word_embeddings"] = text
    if whole is not None:
        said["tie_word_embeddings"] = whole
    try:
        config = transformers.CONFIG_MAPPING[entry["model_type"]](**said)
    except Exception:  # noqa: BLE001 - each class has its own
        return None
    read = config.get_text_config() if entry["loads"] == "text" else config
    return getattr(read, "tie_word_embeddings", None)


def describe(name: str) -> dict[str, Any]:
    """Return the entry of a class: the place that decides, and what holds where it says nothing."""
    if WRAPPERS[name]["loads"] == "text":
        return {"by": "text", "tied": False}
    is_parted = not WRAPPERS[name].get("whole")
    either = is_parted and bool(is_tied(name, whole=False, text=True))
    tied = bool(is_tied(name, whole=None, text=False))
    first = is_parted and not tied and bool(is_tied(name, whole=None, text=True))
    return {"by": "either" if either else "first" if first else "whole", "tied": tied}


@pytest.mark.prove
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """Every class of the table of wrappers."""
    source, classes = "the configuration classes of transformers 5.23.0", sorted(WRAPPERS)
    real: dict[str, Any] = {"source": source, "classes": {n: describe(n) for n in classes}}
    if update_golden:
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in real["classes"].items()]
        text = f'{{\n "source": {json.dumps(source)},\n "classes": {{\n'
        TABLE.write_text(text + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == real


@pytest.mark.prove
@pytest.mark.parametrize("name", WRAPPERS)
def test_the_rule_is_that_of_the_class(name: str) -> None:
    """Where either place says something."""
    for whole in (None, True, False):
        for text in (True, False):
            real = is_tied(name, whole=whole, text=text)
            if real is None or (WRAPPERS[name].get("whole") and whole is None):
                continue
            said: dict[str, Any] = {"text_config": {"tie_word_embeddings": text}}
            said |= {} if whole is None else {"tie_word_embeddings": whole}
            assert ties_head(name, said, text_default=False) == real, (whole, text)


def test_the_whole_config_decides_where_the_class_reads_it() -> None:
    """Mistral 3 ties unless its whole config says otherwise; Qwen2.5-VL if either place says so."""
    apart = {"text_config": {"tie_word_embeddings": False}}
    assert ties_head("Mistral3ForConditionalGeneration", apart, text_default=False)
    said = {**apart, "tie_word_embeddings": False}
    assert not ties_head("Mistral3ForConditionalGeneration", said, text_default=False)
    within = {"text_config": {"tie_word_embeddings": True}, "tie_word_embeddings": False}
    assert ties_head("Qwen2_5_VLForConditionalGeneration", within, text_default=False)
    assert not ties_head("Qwen3VLForConditionalGeneration", within, text_default=False)
    assert ties_head("Qwen3_5ForConditionalGeneration", {}, text_default=True)
