"""Decides what is published: the adapter, the merged weights, the GGUF files."""

from ftc.compiler.plan.decision import Because, Decision, decide
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Published, Spec


def decide_published(spec: Spec, model: ModelFacts) -> Decision[tuple[Published, ...]] | None:
    """Return what is uploaded beside the model card; None without a repository."""
    if spec.publish.repo is None:
        return None
    return decide(spec, "/publish/what", spec.publish.what, lambda: _derive(spec, model))


def has_adapter(spec: Spec) -> bool:
    """Return whether training leaves an adapter that can be published by itself."""
    return spec.method.type in ("lora", "qlora")


def _derive(spec: Spec, model: ModelFacts) -> tuple[tuple[Published, ...], Because]:
    """Return the adapter where others have its base, else the merged weights."""
    if not has_adapter(spec):
        if spec.export.types:
            return ("merged", "gguf"), Because(key="published.all_weights.gguf")
        return ("merged",), Because(key="published.all_weights")
    if model.path is not None:
        if spec.export.types:
            return ("merged", "gguf"), Because(key="published.local_base.gguf")
        return ("merged",), Because(key="published.local_base")
    if spec.export.types:
        return ("adapter", "gguf"), Because(key="published.adapter.gguf")
    return ("adapter",), Because(key="published.adapter")
