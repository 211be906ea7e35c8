"""The values of publish.py: the repository, and what the model card says that no stage measures."""

from typing import Any, Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts, gives_relevance
from ftc.compiler.knowledge.well_known.hub_licences import describe_licence
from ftc.compiler.render.source import BundleSource, sees
from ftc.compiler.resolve.facts import DataFacts

_LEAST_LANGUAGE_SHARE: Final = 0.05  # fewer rows are likely misread


def publishing_values(source: BundleSource) -> dict[str, Any]:
    """Return the values; none if nothing is published."""
    published = source.plan.decisions.published
    if published is None:
        return {}
    spec, facts = source.spec, source.facts
    parts = facts.data.sources or (facts.data,)
    return {
        "repository": spec.publish.repo,
        "private": spec.publish.private,
        "card": _metadata(source, published.value),
        "licence": spec.publish.licence,
        "base": (facts.model.id if facts.model.path is None else None),
        "base_licence": facts.model.licence,
        "data_licence": spec.publish.data_licence,
        "data_names": tuple(map(_name_data, parts)),
        "objective": spec.objective.type,
    }


def _metadata(source: BundleSource, what: tuple[str, ...]) -> dict[str, Any]:
    """Return the front matter of the card, by the keys that the Hub documents."""
    spec, facts = source.spec, source.facts
    parts = facts.data.sources or (facts.data,)
    shares = facts.data.languages.items()
    found: dict[str, Any] = {
        **(describe_licence(spec.publish.licence) if spec.publish.licence else {}),
        "language": [code for code, share in shares if share >= _LEAST_LANGUAGE_SHARE],
        "base_model": [facts.model.id] if facts.model.path is None else [],
        "datasets": [part.source for part in parts if part.origin == "hub"],
        "pipeline_tag": _find_task(source),
        "library_name": _find_library(source, what),
        "tags": _list_tags(source, what),
    }
    if found["base_model"]:
        found["base_model_relation"] = "adapter" if what[0] == "adapter" else "finetune"
    return {name: value for name, value in found.items() if value}


def _find_task(source: BundleSource) -> str:
    """Return the Hub's name of what the model does."""
    objective = source.spec.objective.type
    if gives_relevance(objective):
        return "text-ranking"
    if compares_texts(objective):
        return "sentence-similarity"
    if OBJECTIVES[objective].head == "scores":
        return "text-classification"
    return "image-text-to-text" if sees(source) else "text-generation"


def _find_library(source: BundleSource, what: tuple[str, ...]) -> str:
    """Return the library that loads the files at the root of the repository."""
    if what == ("gguf",):
        return "gguf"
    if compares_texts(source.spec.objective.type):
        return "sentence-transformers"
    return "peft" if "adapter" in what and "merged" not in what else "transformers"


def _list_tags(source: BundleSource, what: tuple[str, ...]) -> list[str]:
    spec = source.spec
    tags = ["ftc", spec.objective.type, spec.method.type]
    tags += ["gguf"] if "gguf" in what else []
    return [*tags, "compressed-tensors"] if "vllm" in what else tags


def _name_data(part: DataFacts) -> str:
    """Return a data set of the Hub by its id, and a file by its name alone."""
    return part.source if part.origin == "hub" else part.source.replace("\\", "/").split("/")[-1]
