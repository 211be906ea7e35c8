"""Names of things that are no columns: files, cards, types of GGUF files and models."""

import re
from typing import Final

from ftc.compiler.knowledge.well_known.model_names import FAMILIES
from ftc.tui.understanding.exports.exports import is_type
from ftc.tui.understanding.machines.hardware import is_chip

_FILE: Final = re.compile(r"\S+\.(?:csv|tsv|jsonl?|parquet|txt|xlsx|gguf)")
#: "starcoder2", "qwen2.5-7b", "bge-reranker-v2-m3"; not "gpt4_answer".
_MODEL: Final = re.compile(
    r"(?P<family>[a-z]+)[-.]?v?\d[a-z\d.-]*|[a-z][a-z\d]*-(?=[a-z.-]*\d)[a-z\d.-]+"
)


def is_other(name: str) -> bool:
    """Return whether a folded name is that of a file, a card, a type of a file, or a model."""
    if _FILE.fullmatch(name) or is_chip(name) or is_type(name):
        return True
    model = _MODEL.fullmatch(name)
    return model is not None and (model["family"] is None or model["family"] in FAMILIES)
