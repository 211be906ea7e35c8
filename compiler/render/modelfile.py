"""The Modelfile: the settings of the GGUF files for Ollama."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.compiler.knowledge.ollama_templates import find_ollama_family, is_sayable
from ftc.compiler.render.find_uses import renders_template
from ftc.compiler.render.source import BundleSource, find_context_tokens
from ftc.compiler.render.values import ModelfileText, Word
from ftc.compiler.resolve.chat_template.ollama import write_template

#: Rows without a chat template: each text on its own line, as prepare.py writes them.
_PLAIN: Final = "{{ if .System }}{{ .System }}\n{{ end }}{{ .Prompt }}\n"
_TEXT: Final = "{{ .Prompt }}"  # the start of a text, unchanged


def modelfile_data(source: BundleSource) -> Mapping[str, Any]:
    """Return the content of the merged model's Modelfile, as its parser returns it."""
    first, *_ = source.spec.export.types
    return {"from": f"./run/quantize/{source.spec.name}-{first}.gguf", **_conversation(source)}


def adapter_modelfile_data(source: BundleSource) -> Mapping[str, Any]:
    """Return the content of the adapter's Modelfile: the base model and the adapter."""
    return {
        "from": f"./run/quantize/{source.spec.name}-base-F16.gguf",
        "adapter": f"./run/quantize/{source.spec.name}-adapter.gguf",
        **_conversation(source),
    }


def modelfile_context(source: BundleSource) -> Mapping[str, Any]:
    """Return the context of both Modelfile templates; a value is None if it is omitted."""
    said = _conversation(source)
    return {
        "name": Word(source.spec.name),
        "files": [Word(f"{source.spec.name}-{kind}.gguf") for kind in source.spec.export.types],
        "template": ModelfileText(said["template"]) if "template" in said else None,
        "system": ModelfileText(said["system"]) if "system" in said else None,
        "context_tokens": Word(str(find_context_tokens(source))),
        "stops": [ModelfileText(stop) for stop in said["stop"]],
    }


def _conversation(source: BundleSource) -> dict[str, Any]:
    """Return the template, system message and parameters, if there are any."""
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
