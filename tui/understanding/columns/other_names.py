"""Names of things that are no columns: files, cards, types, models, keys and modules."""

import re
from typing import Final

from ftc.compiler.knowledge.well_known.model_names import FAMILIES
from ftc.spec.tools.tables import find_target, read_table
from ftc.tui.understanding.exports.exports import is_type
from ftc.tui.understanding.fields.enumerated import TEMPLATE_OPTIONS
from ftc.tui.understanding.machines.hardware import is_chip

_FILE: Final = re.compile(r"\S+\.(?:csv|tsv|jsonl?|parquet|txt|xlsx|gguf)")
#: "starcoder2", "qwen2.5-7b", "bge-reranker-v2-m3"; not "gpt4_answer".
_MODEL: Final = re.compile(
    r"(?P<family>[a-z]+)[-.]?v?\d[a-z\d.-]*|[a-z][a-z\d]*-(?=[a-z.-]*\d)[a-z\d.-]+"
)
_MODULE: Final = re.compile(r"lm_head|\w+_proj|embed_tokens")


def is_other(name: str) -> bool:
    """Return whether a folded name is that of another thing.

    That is a file, a card, a type of a file, a model, a module, or a key of another tool.
    """
    if _FILE.fullmatch(name) or is_chip(name) or is_type(name) or _MODULE.fullmatch(name):
        return True
    if name in TEMPLATE_OPTIONS or ("_" in name and find_target(read_table(""), name)[0] in "/@"):
        return True
    model = _MODEL.fullmatch(name)
    return model is not None and (model["family"] is None or model["family"] in FAMILIES)
