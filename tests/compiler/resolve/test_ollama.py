"""Families of chat templates are recognised by what they render, and Go renders the same."""

import ast
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from ftc.compiler.knowledge.text.ollama_templates import find_ollama_family, ollama_families
from ftc.compiler.resolve.chat_template.go_template import render_go
from ftc.compiler.resolve.chat_template.ollama import PROBES, collate, recognise, write_template
from ftc.compiler.resolve.chat_template.rendering import ChatTemplate, compile_chat_template
from ftc.compiler.resolve.detail_facts import OllamaFacts
from tests.compiler.resolve.go_run import run_go
from tests.real_tokenizers import KINDS, read_members, real_tokenizer

HERE = Path(__file__).parent
QUICKSTART = HERE.parents[2] / "examples" / "quickstart" / "make_model.py"
OWN: Mapping[str, Mapping[str, str]] = json.loads((HERE / "family_templates.json").read_text())
CASES: Mapping[str, Mapping[str, str]] = json.loads((HERE / "ollama_cases.json").read_text())
SPECIAL = {"bos_token": "<BOS>", "eos_token": "</s>"}
#: Content that would show wherever a template reads what it should only print.
HOSTILE: Sequence[Mapping[str, str]] = (
    {"role": "system", "content": '{{ .System }} \u2028 """ }}'},
    {"role": "user", "content": '{% raw %} "" {{- end }} <b>&amp;'},
    {"role": "assistant", "content": "\\n \\u0041 ` ' $last"},
    {"role": "user", "content": "\u00fc\u3000\U0001f600 {{"},
)


@cache
def read_templates(sdist: Path) -> Mapping[str, str]:
    """Return the chat templates that llama.cpp ships, by file name."""
    found = {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            folder, _, name = member.name.rpartition("/")
            stream = archive.extractfile(member) if name.endswith(".jinja") else None
            if stream is not None and folder.endswith("llama.cpp/models/templates"):
                found[name] = stream.read().decode()
    return found


def find_all(sdist: Path) -> Iterator[tuple[str, ChatTemplate, OllamaFacts, str]]:
    """Yield every template of a family: the real ones, ours and the quickstart's."""
    for name, source in read_templates(sdist).items():
        template = compile_chat_template(source, SPECIAL)
        facts = recognise(source, template, adds_bos=False)
        if facts is not None and facts.family is not None:
            yield name, template, facts, source
    for name, entry in (*OWN.items(), ("ftc-quickstart", read_quickstart())):
        template = compile_chat_template(entry["template"], read_special(entry))
        facts = recognise(entry["template"], template, adds_bos=False)
        assert facts is not None, name
        assert facts.family == name
        yield name, template, facts, entry["template"]


def read_special(entry: Mapping[str, str]) -> Mapping[str, str]:
    """Return the special tokens of one of our templates."""
    return {key: entry[key] for key in SPECIAL if entry[key]}


def read_quickstart() -> Mapping[str, str]:
    """Return the template that the quickstart's model is built with."""
    for node in ast.parse(QUICKSTART.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CHAT_TEMPLATE":
            template = ast.literal_eval(node.value)
            return {"template": template, "bos_token": "<s>", "eos_token": "</s>"}
    raise AssertionError("the quickstart has no chat template")


def test_real_templates_are_recognised_by_what_they_render(sdist: Path) -> None:
    """Each of the templates in llama.cpp's sources has its line in `ollama_cases.json`."""
    found: dict[str, dict[str, str]] = {}
    for name, source in read_templates(sdist).items():
        facts = recognise(source, compile_chat_template(source, SPECIAL), adds_bos=False)
        said = {} if facts is None else {key: getattr(facts, key) for key in facts.__slots__}
        found[name] = {key: value[:60] for key, value in said.items() if value}

    assert found == CASES
    assert len(found) > 60


def test_every_family_is_the_family_of_a_template(sdist: Path) -> None:
    """No entry of the table is left unproven."""
    families = {facts.family for _, _, facts, _ in find_all(sdist)}

    assert families == {family.name for family in ollama_families()}


def test_go_renders_what_the_chat_template_renders(sdist: Path) -> None:
    """Probes and hostile content, executed by Go's text/template as Ollama collates messages."""
    cases, wanted = [], []
    for name, template, facts, _ in find_all(sdist):
        text = write_template(facts)
        for messages in (*PROBES, HOSTILE, HOSTILE[1:]):
            system = messages[0]["role"] == "system"
            if system and facts.family == "gemma" and name not in OWN:
                continue  # its template refuses a system message
            cases.append((text, messages))
            wanted.append(template.render(messages, add_generation_prompt=True))

    results = run_go(cases)

    assert [result["error"] for result in results] == [""] * len(cases)
    assert [result["text"] for result in results] == wanted
    assert [render_go(text, collate(messages)) for text, messages in cases] == wanted
    assert len(cases) > 250


def test_a_token_at_the_beginning_is_not_doubled() -> None:
    """It is left to llama.cpp where that adds it, and written where it does not."""
    entry = OWN["llama-3"]
    template = compile_chat_template(entry["template"], read_special(entry))
    added = recognise(entry["template"], template, adds_bos=True)
    not_added = recognise(entry["template"], template, adds_bos=False)

    assert added is not None
    assert not_added is not None
    assert (added.begun, not_added.begun) == ("", "<|begin_of_text|>")
    messages = PROBES[1]
    whole = template.render(messages, add_generation_prompt=True)
    assert render_go(write_template(not_added), collate(messages)) == whole
    assert "<|begin_of_text|>" + render_go(write_template(added), collate(messages)) == whole


def test_a_token_that_training_never_saw_is_in_the_way() -> None:
    """llama.cpp would put it before every text."""
    entry = OWN["chatml"]
    special = {**read_special(entry), "bos_token": "<s>"}
    template = compile_chat_template(entry["template"], special)

    assert recognise(entry["template"], template, adds_bos=True) == OllamaFacts(obstacle="bos")


@pytest.mark.parametrize("name", OWN)
def test_a_template_that_is_off_by_one_letter_is_no_family(name: str) -> None:
    """Whatever marker it is in, and wherever: only equal renderings count."""
    entry = OWN[name]
    family = find_ollama_family(name)
    assert family is not None
    markers = [
        part for part in ("INST] ", "user", "|>", "\\n", "\n", ">") if part in entry["template"]
    ]
    for marker in markers:
        source = entry["template"].replace(marker, marker + "~", 1)
        try:
            template = compile_chat_template(source, read_special(entry))
            facts = recognise(source, template, adds_bos=False)
        except ValueError:
            continue
        assert facts is None or facts.family is None, source


def test_what_a_template_brings_along_is_taken_over() -> None:
    """A default system message, whatever it holds, and what an answer is begun with."""
    system = 'Say """ and {{ .System }} and \\ and \u2028.\n'
    source = (
        "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\n' }}{{ standing }}"
        "{{ '<|im_end|>\n' }}{% endif %}"
        + OWN["chatml"]["template"].replace("assistant\n'", "assistant\n<think>'")
    )
    special = {"eos_token": "<|im_end|>", "standing": system}
    facts = recognise(source, compile_chat_template(source, special), adds_bos=False)

    assert facts == OllamaFacts(family="chatml", default_system=system, opening="<think>")
    results = run_go([(write_template(facts), PROBES[0])])
    template = compile_chat_template(source, special)
    assert results[0]["text"] == template.render(PROBES[0], add_generation_prompt=True)


def test_a_template_that_prints_the_date_has_none() -> None:
    """Ollama would have to know how the template writes it."""
    source = "{{ strftime_now('%d %b %Y') }}" + OWN["chatml"]["template"]
    template = compile_chat_template(source, {})

    assert recognise(source, template, adds_bos=False) == OllamaFacts(obstacle="date")


@pytest.mark.prove
@pytest.mark.parametrize("name", ["llama-3", "qwen2", "llama-2", "phi-3"])
def test_ollama_reads_the_tokens_of_training(name: str, tmp_path: Path, sdist: Path) -> None:
    """Go's text through llama.cpp's tokenizer, which adds what it adds, is training's own ids."""
    llama_cpp = pytest.importorskip("llama_cpp")
    folder = real_tokenizer(name, tmp_path / "model", sdist=sdist)
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    source = config.get("chat_template") or OWN[name]["template"]
    if name == "phi-3":
        source = "{{ bos_token }}" + source
    special = {key: config[key] for key in SPECIAL if config[key]}
    template = compile_chat_template(source, special)
    path = tmp_path / "vocabulary.gguf"
    file = f"ggml-vocab-{KINDS[name].vocabulary}.gguf"
    path.write_bytes(read_members(sdist, file)[file])
    llm: Any = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    adds_bos = bool(llama_cpp.llama_vocab_get_add_bos(llm._model.vocab))
    facts = recognise(source, template, adds_bos=adds_bos)
    assert facts is not None
    assert facts.family is not None
    trained = Tokenizer.from_file(str(folder / "tokenizer.json"))

    results = run_go([(write_template(facts), messages) for messages in PROBES])

    for messages, result in zip(PROBES, results, strict=True):
        text = template.render(messages, add_generation_prompt=True)
        if name == "phi-3":  # its markers take the white space behind them, the rebuilt ones do not
            ids = llm.tokenize(text.encode(), add_bos=False, special=True)
        else:
            ids = trained.encode(text, add_special_tokens=False).ids
        assert llm.tokenize(result["text"].encode(), add_bos=True, special=True) == ids
    llm.close()
