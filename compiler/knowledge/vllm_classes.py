"""The classes of models that write text in the pinned vLLM.

vllm_classes.json has the names in the registry of vLLM's wheel. Another class is loaded by vLLM's
backend for classes of transformers, where that can read it.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Final

_PATH: Final = files("ftc.compiler.knowledge") / "vllm_classes.json"


@cache
def vllm_classes() -> frozenset[str]:
    """Return the names of the classes."""
    return frozenset(json.loads(_PATH.read_text(encoding="utf-8"))["classes"])
