"""The Modelfile: the settings of the GGUF files for Ollama."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.compiler.knowledge.text.ollama_templates import find_ollama_family, is_sayable
from ftc.compiler.render.output.values import ModelfileText
from ftc.compiler.render.source import BundleSource, find_context_tokens, sees
from ftc.compiler.render.uses import Uses
from ftc.compiler.resolve.chat_template.ollama import write_template
from ftc.compiler.resolve.facts import DataFacts

#: How ask.py answers and evaluate.py measures: always the most likely token. Ollama samples, and
#: lowers the probability of tokens that were written before, unless it is told otherwise.
_GREEDY: Final = {"temperature": "0", "repeat_penalty": "1"}
_PARAMETERS: Final = ("num_ctx", *_GREEDY, "num_predict")
_MEASURED: Final = "It answers as ask.py does: each token is the most likely one."
#: Rows without a chat template: each text on its own line, as prepare.py writes them.
_PLAIN: Final = "{{ if .System }}{{ .System }}\n{{ end }}{{ .Prompt }}\n"
_APART: Final = (
    "The base model and the adapter apart: one base serves as many adapters as were trained on it."
)
_TEXT: Final = "{{ .Prompt }}"  # the start of a text, unchanged


def modelfile_data(source: BundleSource) -> Mapping[str, Any]:
    """Return the content of the merged model's Modelfile, as its parser returns it."""
    first, *_ = source.spec.export.types
    files = {"from": f"./run/quantize/{source.spec.name}-{first}.gguf"}
    if projector := find_projector(source):
        files["projector"] = f"./{projector}"
    return {**files, **_conversation(source)}


def find_projector(source: BundleSource) -> str | None:
    """Return the file that Ollama reads images with, for a model that was trained on images."""
    return f"run/projector/{source.spec.name}-mmproj.gguf" if sees(source) else None


def adapter_modelfile_data(source: BundleSource) -> Mapping[str, Any]:
    """Return the content of the adapter's Modelfile: the base model and the adapter."""
    return {
        "from": f"./run/quantize/{source.spec.name}-base-F16.gguf",
        "adapter": f"./run/quantize/{source.spec.name}-adapter.gguf",
        **_conversation(source),
    }


def write_modelfile(source: BundleSource) -> str:
    """Return the merged model's Modelfile; the files of other types are named in comments."""
    spec, others = (
        source.spec,
        [f"{source.spec.name}-{kind}.gguf" for kind in source.spec.export.types[1:]],
    )
    notes = [f"ollama create {spec.name} -f Modelfile"]
    if _has_ollama_template(source):
        notes += _describe_template(source.facts.data)
    elif Uses(source).template:
        notes.append("Without a TEMPLATE, Ollama uses the chat template inside the GGUF file.")
    said = modelfile_data(source)
    files = [f"# FROM ./run/quantize/{file}" for file in others]
    if "projector" in said:
        files.insert(0, f"FROM {said['projector']}")
    return _write(notes, said, files)


def write_adapter_modelfile(source: BundleSource) -> str:
    """Return the adapter's Modelfile."""
    notes = [
        f"ollama create {source.spec.name} -f Modelfile.adapter",
        _APART,
    ]
    said = adapter_modelfile_data(source)
    return _write(notes, said, [f"ADAPTER {said['adapter']}"])


def _write(notes: Sequence[str], said: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the instructions; text of the spec or the model is in triple quotes."""
    texts = [
        f"{name.upper()} {ModelfileText(said[name])}"
        for name in ("system", "template")
        if name in said
    ]
    lines = [
        *(f"# {note}" for note in (*notes, _MEASURED)),
        f"FROM {said['from']}",
        *files,
        *(f"PARAMETER {name} {said[name]}" for name in _PARAMETERS if name in said),
        *(f"PARAMETER stop {ModelfileText(stop)}" for stop in said["stop"]),
        *texts,
    ]
    return "".join(f"{line}\n" for line in lines)


def _describe_template(data: DataFacts) -> list[str]:
    """Return comments that say on which rows TEMPLATE was compared with the chat template."""
    found = data.contents.ollama
    compared, other = (found.compared, found.other) if found else (0, 0)
    rows = f"{compared:,} rows of the data" if compared else "example conversations"
    said = ["TEMPLATE is the chat template of training in Ollama's language."]
    said += [f"It was compared with the original on {rows}."]
    said += [f"On {other:,} of them the two differ: see ftc explain FTC677."] if other else []
    if data.calls:
        said += ["It cannot write tools: Ollama refuses requests that declare some."]
    return said


def _conversation(source: BundleSource) -> dict[str, Any]:
    """Return the template, system message and parameters, if there are any."""
    said: dict[str, Any] = {"stop": [], "num_ctx": str(find_context_tokens(source)), **_GREEDY}
    if source.facts.data.labels:
        said["num_predict"] = str(source.plan.decisions.most_answer_tokens)
    ollama, system = source.facts.tokenizer.ollama, source.spec.data.system
    if not Uses(source).template:
        said["template"] = _TEXT if source.facts.data.form == "text" else _PLAIN
    elif ollama is not None and (family := find_ollama_family(ollama.family or "")) is not None:
        said["template"] = write_template(ollama)
        said["stop"] = list(family.stop)
    if system is not None and source.facts.data.form != "text" and is_sayable(system):
        said["system"] = system
    return said


def _has_ollama_template(source: BundleSource) -> bool:
    """Return whether the chat template of training is of a family that is written for Ollama."""
    if not Uses(source).template or source.facts.data.pictures is not None:
        return False  # Ollama places images by itself
    ollama = source.facts.tokenizer.ollama
    return ollama is not None and find_ollama_family(ollama.family or "") is not None
