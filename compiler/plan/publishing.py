"""Decides what is published: the adapter, the merged weights, GGUF files, folders for vLLM."""

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
    """Return the adapter where others have its base, else the merged weights, and all files."""
    names: tuple[Published, ...] = ("gguf",) if spec.export.types else ()
    names += ("vllm",) if spec.export.vllm else ()
    ending = ".".join(("", "_".join(names))) if names else ""
    if not has_adapter(spec):
        return ("merged", *names), Because(key=f"published.all_weights{ending}")
    if model.path is not None:
        return ("merged", *names), Because(key=f"published.local_base{ending}")
    return ("adapter", *names), Because(key=f"published.adapter{ending}")
