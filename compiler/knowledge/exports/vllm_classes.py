"""The classes of text generation models in the pinned vLLM.

vllm_classes.json has the names in the registry of vLLM's wheel. vLLM loads other classes with its
Transformers backend, if that supports them.
"""

from functools import cache

from ftc.compiler.knowledge.tables import read_table


@cache
def vllm_classes() -> frozenset[str]:
    """Return the names of the classes."""
    return frozenset(read_table(__name__, "vllm_classes.json")["classes"])
