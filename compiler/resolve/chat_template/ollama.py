"""Finds the family of Ollama templates that renders conversations like a chat template.

A family is recognised by its output and not by a name: for every probe conversation its Go template
must give the same text as the Jinja template.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from ftc.compiler.knowledge.text.ollama_templates import (
    OPENING,
    Family,
    find_ollama_family,
    ollama_families,
)
from ftc.compiler.resolve.chat_template.go_string import go_string
from ftc.compiler.resolve.chat_template.go_template import render_go
from ftc.compiler.resolve.chat_template.rendering import (
    ChatTemplate,
    ChatTemplateError,
    Message,
    compile_chat_template,
)
from ftc.compiler.resolve.detail_facts import OllamaFacts

_OTHER_DAY: Final = datetime(2031, 11, 28, 12, 0, 0)  # noqa: DTZ001 - templates read a local time
_ASKED: Final = 'Is "{{ x }}" said\nin Lima?'
_TURNS: Final[Sequence[Message]] = (
    {"role": "system", "content": "Be brief,\n\nplease: it\u2019s late."},
    {"role": "user", "content": _ASKED},
    {"role": "assistant", "content": "It is; 1 + 1 = 2."},
    {"role": "user", "content": "And <b>there</b>?"},
    {"role": "assistant", "content": "No."},
    {"role": "user", "content": "Why\u00e7 not?"},
)
#: Conversations that wait for an answer: with and without a system message, of one to three turns.
PROBES: Final[Sequence[Sequence[Message]]] = tuple(
    _TURNS[first:last] for last in (2, 4, 6) for first in (1, 0)
)
_CLOCK: Final = "strftime_now"
_ANSWER: Final = "It is the answer."
_LONGEST_DEFAULT: Final = 8000  # characters of a model's default system message
_LONGEST_OPENING: Final = 200
_HALVES: Final = re.compile(r"[\ud800-\udfff]")  # of surrogate pairs: no file can hold them


def recognise(source: str, template: ChatTemplate, *, adds_bos: bool | None) -> OllamaFacts | None:
    """Return how Ollama writes what a template (with the text `source`) renders, or the obstacle.

    `adds_bos`: whether llama.cpp will put the first token before every text; None if unknown.
    Returns None if the template cannot render one question, which other rules report.
    """
    rendered = tuple(_render(template))
    if not rendered or rendered[0][0] is not PROBES[0]:
        return None
    if _CLOCK in source:
        later = compile_chat_template(source, template.variables, today=_OTHER_DAY)
        if rendered != tuple(_render(later)):
            return OllamaFacts(obstacle="date")
    bos = template.variables.get("bos_token", "")
    begins = bool(bos) and all(text.startswith(bos) for _, text in rendered)
    if adds_bos and not begins:
        return OllamaFacts(obstacle="bos")
    cut = len(bos) if begins else 0
    bare = tuple((messages, text[cut:]) for messages, text in rendered)
    end = _find_end(template)
    for family in ollama_families():
        fitted = _fit(family, bare) if end.startswith(family.stop) else None
        if fitted is not None:
            return replace(fitted, begun=bos if begins and not adds_bos else "")
    return OllamaFacts(obstacle="unknown")


def writes_same(
    facts: OllamaFacts, template: ChatTemplate, messages: Sequence[Message]
) -> bool | None:
    """Return whether Ollama and the template write the same prompt for a conversation.

    Returns None where the template refuses the conversation. `facts` have a family.
    """
    try:
        text = template.render(messages, add_generation_prompt=True)
    except ChatTemplateError:
        return None
    bos = template.variables.get("bos_token", "")
    written = _render_go(replace(facts, begun=""), messages)
    return written in (text, text.removeprefix(bos))


def write_template(facts: OllamaFacts) -> str:
    """Return the text of TEMPLATE; raises ValueError where no family was recognised."""
    family = find_ollama_family(facts.family or "")
    if family is None:
        raise ValueError("no family of the table writes this template")
    text = go_string(facts.begun) if facts.begun else ""
    if family.default is not None and facts.default_system:
        before, after = family.default
        said = f"{before}{go_string(facts.default_system)}{after}"
        text += "{{ if not .System }}" + said + "{{ end }}"
    opening = go_string(facts.opening) if facts.opening else ""
    return text + family.template.replace(OPENING, opening)


def collate(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the messages that Ollama passes to a template.

    Consecutive messages of one role are joined.
    """
    joined: list[dict[str, Any]] = []
    for message in messages:
        if joined and joined[-1]["Role"] == message["role"]:
            joined[-1]["Content"] += "\n\n" + message["content"]
        else:
            joined.append({"Role": message["role"], "Content": message["content"]})
    system = [message["content"] for message in messages if message["role"] == "system"]
    return {"System": "\n\n".join(system), "Messages": joined, "Response": ""}


def _render(template: ChatTemplate) -> Iterator[tuple[Sequence[Message], str]]:
    """Yield the probes that the template renders; some templates raise for a system turn."""
    for messages in PROBES:
        try:
            yield messages, template.render(messages, add_generation_prompt=True)
        except ChatTemplateError:
            continue


def _find_end(template: ChatTemplate) -> str:
    """Return what the template writes after an answer, without white space at its start."""
    try:
        text = template.render([*PROBES[0], {"role": "assistant", "content": _ANSWER}])
    except ChatTemplateError:
        return ""
    return text.rpartition(_ANSWER)[2].lstrip()


def _fit(family: Family, rendered: Sequence[tuple[Sequence[Message], str]]) -> OllamaFacts | None:
    """Return the family with its parameters, if it then gives every rendering."""
    messages, text = rendered[0]
    plain = _render_go(OllamaFacts(family=family.name), messages)
    head, found, opening = text.partition(plain)
    if not plain or not found:
        return None
    default = ""
    if head and family.default is not None:
        before, after = family.default
        if not (head.startswith(before) and head.endswith(after)):
            return None
        default = head[len(before) : len(head) - len(after)]
    if len(default) > _LONGEST_DEFAULT or len(opening) > _LONGEST_OPENING:
        return None
    if _HALVES.search(default + opening):
        return None
    fitted = OllamaFacts(family=family.name, default_system=default, opening=opening)
    same = all(_render_go(fitted, messages) == text for messages, text in rendered)
    return fitted if same else None


def _render_go(facts: OllamaFacts, messages: Sequence[Message]) -> str:
    return render_go(write_template(facts), collate(messages))
