"""The classes of models that write text in the pinned vLLM.

vllm_classes.json has the names in the registry of vLLM's wheel. Another class is loaded by vLLM's
backend for classes of transformers, where that can read it.
"""

from functools import cache

from ftc.compiler.knowledge.tables import read_table


@cache
def vllm_classes() -> frozenset[str]:
    """Return the names of the classes."""
    return frozenset(read_table(__name__, "vllm_classes.json")["classes"])
