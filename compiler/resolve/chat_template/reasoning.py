"""A chat template's options and how it treats reasoning, found by rendering conversations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from jinja2 import meta, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from ftc.compiler.resolve.chat_template.rendering import (
    ChatTemplate,
    ChatTemplateError,
    Message,
    compile_chat_template,
)
from ftc.compiler.resolve.detail_facts import ReasoningFacts
from ftc.runtime.read.reasoning import CLOSING, OPENING, join
from ftc.runtime.tokens.reasoned_chats import PROBE, reads_keys

_QUESTION: Final = PROBE[0]
_ANSWER: Final = str(PROBE[1]["content"])
_THOUGHT: Final = str(PROBE[1]["thinking"])
_PLAIN: Final[Message] = {"role": "assistant", "content": _ANSWER}
#: How families write reasoning: its opening and its closing.
_TAGS: Final = (
    (OPENING, CLOSING),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
#: The options by which templates are told to leave reasoning out.
_SWITCHES: Final = ("enable_thinking", "thinking")
#: What transformers and llama.cpp give to every template, besides the special tokens.
RENDERED: Final = frozenset(
    {
        *("messages", "tools", "documents", "add_generation_prompt", "continue_final_message"),
        *("raise_exception", "strftime_now"),
    }
)
#: What Jinja itself defines or reads as syntax.
_SYNTAX: Final = frozenset(
    {
        *("and", "or", "not", "in", "is", "if", "else", "elif", "for", "recursive", "import"),
        *("with", "context", "without", "true", "false", "none", "True", "False", "None"),
        *("loop", "self", "caller", "varargs", "kwargs", "super", *DEFAULT_NAMESPACE),
    }
)


def writes_keys(template: ChatTemplate) -> bool:
    """Return whether the template writes the reasoning that a message has under its keys."""
    try:
        return reads_keys(template.render)
    except ChatTemplateError:
        return False


def probe_reasoning(source: str, template: ChatTemplate) -> ReasoningFacts:
    """Return how a template with the text `source` treats reasoning before a last answer.

    Raises ChatTemplateError for a template that is nested too deeply.
    """
    options = list_options(source, template)
    has_keys = writes_keys(template)
    try:
        empty = find_empty(template)
        reasoned = template.render([_QUESTION, _reasoned(has_keys=has_keys)])
    except ChatTemplateError:
        return ReasoningFacts(options=options)
    return ReasoningFacts(
        options=options,
        reads_keys=has_keys,
        drops=_THOUGHT not in reasoned,
        empty=empty,
        without_empty=_find_switch(source, template, options) if empty else {},
        misfits=tuple(_find_misfits(template, has_keys=has_keys)),
        thinks=_thinks(source, template, options),
    )


def _thinks(source: str, template: ChatTemplate, options: Sequence[str]) -> bool:
    """Return whether reasoning is left open before an answer, or closed only by an option."""
    asked = template.render([_QUESTION], add_generation_prompt=True)
    if asked.rstrip().endswith(tuple(opening for opening, _ in _TAGS)):
        return True
    for name in set(_SWITCHES).intersection(options):
        other = _set_off(source, template, name)
        try:
            without = other.render([_QUESTION], add_generation_prompt=True)
        except ChatTemplateError:
            continue
        if any(closing in without and closing not in asked for _, closing in _TAGS):
            return True
    return False


def _set_off(source: str, template: ChatTemplate, name: str) -> ChatTemplate:
    """Return the template `source` compiled with one option set to false."""
    other = compile_chat_template(source, {**template.variables, name: False})
    return replace(other, in_parts=template.in_parts)


def find_empty(template: ChatTemplate) -> str:
    """Return the empty reasoning that is learned with an answer that has none, or "".

    What the generation prompt ends with is not learned. Raises ChatTemplateError.
    """
    asked = template.render([_QUESTION], add_generation_prompt=True)
    before = _before_answer(template.render([_QUESTION, _PLAIN]))
    for opening, closing in _TAGS:
        head, found, inside = before.rpartition(opening)
        is_empty = bool(found) and not inside.replace(closing, "", 1).strip()
        if is_empty and closing in inside and len(head) + len(opening) >= len(asked.rstrip()):
            return before[len(head) :].strip()
    return ""


def _find_switch(source: str, template: ChatTemplate, options: Sequence[str]) -> Mapping[str, bool]:
    """Return an option with which the template writes no empty reasoning that is learned."""
    for name in _SWITCHES:
        if name in options:
            other = _set_off(source, template, name)
            try:
                if not find_empty(other) and not any(_find_misfits(other, has_keys=None)):
                    return {name: False}
            except ChatTemplateError:
                continue
    return {}


def _find_misfits(
    template: ChatTemplate, *, has_keys: bool | None
) -> Iterator[Literal["with", "without"]]:
    """Yield which rows do not begin with their generation prompt; None: rows without reasoning."""
    asked = template.render([_QUESTION], add_generation_prompt=True).rstrip()
    if has_keys is not None and not template.render(
        [_QUESTION, _reasoned(has_keys=has_keys)]
    ).startswith(asked):
        yield "with"
    if not template.render([_QUESTION, _PLAIN]).startswith(asked):
        yield "without"


def _reasoned(*, has_keys: bool) -> Message:
    return PROBE[1] if has_keys else {**_PLAIN, "content": join(_THOUGHT, _ANSWER)}


def _before_answer(text: str) -> str:
    return text[: text.rfind(_ANSWER)]


def is_reserved(name: str) -> bool:
    """Return whether the renderer, or Jinja, already gives this name a meaning."""
    is_token = name.endswith("_token")  # as the names of special tokens do
    return is_token or name in RENDERED or name in _SYNTAX


def list_options(source: str, template: ChatTemplate) -> tuple[str, ...]:
    """Return the variables that a template with the text `source` takes from its caller, sorted.

    A variable that the template sets is one only where the template asks whether it is defined, or
    has a default for it. Raises ChatTemplateError for a template that is nested too deeply.
    """
    tree = template.environment.parse(source)
    try:
        undeclared = meta.find_undeclared_variables(tree)
    except (RecursionError, MemoryError) as error:
        raise ChatTemplateError(type(error).__name__) from error
    stored = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    asked = {*_list_asked(tree, nodes.Test, ("defined", "undefined", "none"))}
    asked |= {*_list_asked(tree, nodes.Filter, ("default", "d"))}
    free = undeclared - (stored - asked)
    return tuple(sorted(name for name in free if not is_reserved(name)))


def _list_asked(
    tree: nodes.Template, kind: type[nodes.Test | nodes.Filter], names: tuple[str, ...]
) -> list[str]:
    """Return the variables that a test or a filter of one of these names is applied to.

    The parameter of a macro is none of them.
    """
    parameters = {
        id(node)
        for macro in tree.find_all(nodes.Macro)
        for node in macro.find_all(nodes.Name)
        if node.name in {each.name for each in macro.args}
    }
    found = (node.node for node in tree.find_all(kind) if node.name in names)
    return [n.name for n in found if isinstance(n, nodes.Name) and id(n) not in parameters]
