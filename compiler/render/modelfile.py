"""The Modelfile: what Ollama is told of the GGUF files."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from ftc.compiler.knowledge.ollama_templates import find_ollama_family, is_sayable
from ftc.compiler.render.source import BundleSource, find_context_tokens
from ftc.compiler.render.uses import renders_template
from ftc.compiler.render.values import ModelfileText, Word
from ftc.compiler.resolve.ollama import write_template

#: Rows without a chat template: each text on its line, as prepare.py writes them.
_PLAIN: Final = "{{ if .System }}{{ .System }}\n{{ end }}{{ .Prompt }}\n"
_TEXT: Final = "{{ .Prompt }}"  # the beginning of a text, as it is


def modelfile_data(source: BundleSource) -> Mapping[str, Any]:
    """Return what the Modelfile of the merged model says, as its parser reads it back."""
    first, *_ = source.spec.export.types
    return {"from": f"./run/quantize/{source.spec.name}-{first}.gguf", **_conversation(source)}


def adapter_modelfile_data(source: BundleSource) -> Mapping[str, Any]:
    """Return what the Modelfile of the adapter says: the base that it was held against, and it."""
    return {
        "from": f"./run/quantize/{source.spec.name}-base-F16.gguf",
        "adapter": f"./run/quantize/{source.spec.name}-adapter.gguf",
        **_conversation(source),
    }


def modelfile_context(source: BundleSource) -> Mapping[str, Any]:
    """Return what both templates of Modelfiles print; None where there is nothing to say."""
    said = _conversation(source)
    return {
        "name": Word(source.spec.name),
        "files": [Word(f"{source.spec.name}-{kind}.gguf") for kind in source.spec.export.types],
        "template": ModelfileText(said["template"]) if "template" in said else None,
        "system": ModelfileText(said["system"]) if "system" in said else None,
        "context_tokens": Word(str(find_context_tokens(source))),
        "stops": [ModelfileText(stop) for stop in said["stop"]],
    }


def read_go_template() -> str:
    """Return the module that evaluates Go templates: a bundle carries it as it is."""
    return (files("ftc.compiler.resolve") / "go_template.py").read_text(encoding="utf-8")


def _conversation(source: BundleSource) -> dict[str, Any]:
    """Return template, system message and parameters, where there are such."""
    said: dict[str, Any] = {"stop": [], "num_ctx": str(find_context_tokens(source))}
    ollama, system = source.facts.tokenizer.ollama, source.spec.data.system
    if not renders_template(source):
        said["template"] = _TEXT if source.facts.data.form == "text" else _PLAIN
    elif ollama is not None and (family := find_ollama_family(ollama.family or "")) is not None:
        said["template"] = write_template(ollama)
        said["stop"] = list(family.stop)
    if system is not None and source.facts.data.form != "text" and is_sayable(system):
        said["system"] = system
    return said
