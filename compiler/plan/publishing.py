"""Decides which results are published: adapter, merged weights, GGUF files, vLLM folders."""

from collections.abc import Mapping
from typing import Final

from ftc.compiler.plan.decision import Because, Decision, decide
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Method, Published, Spec

_Keys = Mapping[tuple[Published, ...], str]
#: The reasons, by the files published beside the weights.
_ALL_WEIGHTS: Final[_Keys] = {
    (): "published.all_weights",
    ("gguf",): "published.all_weights.gguf",
    ("vllm",): "published.all_weights.vllm",
    ("gguf", "vllm"): "published.all_weights.gguf_vllm",
}
_LOCAL_BASE: Final[_Keys] = {
    (): "published.local_base",
    ("gguf",): "published.local_base.gguf",
    ("vllm",): "published.local_base.vllm",
    ("gguf", "vllm"): "published.local_base.gguf_vllm",
}
_ADAPTER: Final[_Keys] = {
    (): "published.adapter",
    ("gguf",): "published.adapter.gguf",
    ("vllm",): "published.adapter.vllm",
    ("gguf", "vllm"): "published.adapter.gguf_vllm",
}


def decide_published(spec: Spec, model: ModelFacts) -> Decision[tuple[Published, ...]] | None:
    """Return the files uploaded beside the model card; None without a repository."""
    if spec.publish.repo is None:
        return None
    return decide(spec, "/publish/what", spec.publish.what, lambda: _derive(spec, model))


def has_adapter(method: Method) -> bool:
    """Return whether training leaves an adapter that can be published by itself."""
    return method.type in ("lora", "qlora")


def _derive(spec: Spec, model: ModelFacts) -> tuple[tuple[Published, ...], Because]:
    """Return the adapter if its base is on the Hub, else the merged weights, and all files."""
    names: tuple[Published, ...] = ("gguf",) if spec.export.types else ()
    names += ("vllm",) if spec.export.vllm else ()
    if not has_adapter(spec.method):
        return ("merged", *names), Because(key=_ALL_WEIGHTS[names])
    if model.path is not None:
        return ("merged", *names), Because(key=_LOCAL_BASE[names])
    return ("adapter", *names), Because(key=_ADAPTER[names])
