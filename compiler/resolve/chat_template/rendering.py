"""Chat templates: rendered as transformers' `apply_chat_template` does, in a sandbox with bounds.

The environment is that of transformers.utils.chat_template_utils (5.23): the immutable sandbox,
`trim_blocks`, `lstrip_blocks`, loop controls, `raise_exception`, `strftime_now`, a `tojson` that
escapes no HTML, and `{% generation %}` blocks. What a template costs is bounded, since it comes
with a model that nobody has vetted.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ftc.compiler.resolve.chat_template.bounds import (
    GROWING,
    JOINED,
    MOST_CHARS,
    BoundError,
    Joins,
    guard_filter,
    join_texts,
    limit_items,
    limit_method,
    limit_operation,
)
from ftc.runtime.read.image_rows import to_parts
from ftc.spec.message import Message as Sentence

Message = Mapping[str, Any]
#: Half-open ranges of characters.
Spans = tuple[tuple[int, int], ...]

_TEMPLATE_CHARS: Final = 1024 * 1024
_LOOP_STEPS: Final = 2_000_000
#: What all renderings of a template may take together that took longer than the second.
_SECONDS: Final = 5.0
_SLOW_SECONDS: Final = 1.0
#: The day that `strftime_now` gives: templates that print a date print one of this width.
_TODAY: Final = datetime(2026, 1, 15, 12, 0, 0)  # noqa: DTZ001 - templates read a local time
_REASONING: Final = ("reasoning_content", "thinking", "reasoning")
#: What Python makes of a template that Jinja lets through: `break` outside a loop, a number of
#: five thousand digits, a nest too deep.
_NO_PYTHON: Final = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)
#: The filter that counts the steps of a loop; the space keeps templates from naming it.
_COUNT: Final = "loop steps"


class ChatTemplateError(Exception):
    """The template does not compile, refuses the conversation, or asks for too much.

    `reason` is a sentence of the catalogue, or Jinja's own words.
    """

    def __init__(self, reason: Sentence | str) -> None:
        """Keep the reason; the text of the exception is its English."""
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTemplate:
    """A compiled template with the special tokens it may name (`bos_token`, `eos_token`, ...).

    `in_parts` says that contents are given to it as lists of parts, as rows with images have them.
    Conversations that declare tools are rendered by `with_tools`, if the model has such a template.
    """

    compiled: jinja2.Template
    environment: "_Environment"
    variables: Mapping[str, Any]
    in_parts: bool = False
    with_tools: "ChatTemplate | None" = None

    def render(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = False,
        tools: Sequence[Any] | None = None,
    ) -> str:
        """Return the conversation as the model reads it; raises ChatTemplateError."""
        return self.render_marked(
            messages, add_generation_prompt=add_generation_prompt, tools=tools
        )[0]

    def render_marked(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = False,
        tools: Sequence[Any] | None = None,
    ) -> tuple[str, Spans]:
        """Return the conversation, and where `{% generation %}` blocks begin and end in it.

        A block inside a macro or a `{% set %}` begins where that began, as in transformers, which
        counts what has left the template so far. Raises ChatTemplateError.
        """
        if tools is not None and self.with_tools is not None:
            other = replace(self.with_tools, in_parts=self.in_parts)
            return other.render_marked(
                messages, add_generation_prompt=add_generation_prompt, tools=tools
            )
        self.environment.start()
        began = time.monotonic()
        if self.in_parts:
            messages = to_parts(list(map(dict, messages)))
        try:
            context = self.compiled.new_context(
                {
                    "messages": [_plain(message) for message in messages],
                    "tools": tools,
                    "documents": None,
                    "add_generation_prompt": add_generation_prompt,
                    **self.variables,
                }
            )
            # what `Template.render` does, without rewriting the traceback of a refusal
            return self.environment.collect(self.compiled.root_render_func(context))
        except ChatTemplateError:
            raise
        except (BoundError, MemoryError) as error:
            raise ChatTemplateError(str(error) or Sentence("template.memory")) from error
        except Exception as error:  # a template can raise anything that Python can
            raise ChatTemplateError(_one_line(error)) from error
        finally:
            took = time.monotonic() - began
            self.environment.slow_seconds += took if took > _SLOW_SECONDS else 0.0


def compile_chat_template(
    source: str, variables: Mapping[str, Any], *, today: datetime = _TODAY
) -> ChatTemplate:
    """Compile a template; raises ChatTemplateError where it is no Jinja or far too long."""
    if len(source) > _TEMPLATE_CHARS:
        raise ChatTemplateError(Sentence("template.long"))
    environment = _Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    for name in GROWING:
        environment.filters[name] = guard_filter(name, environment.filters[name])
    del environment.globals["lipsum"]  # as many words as it is asked for
    environment.filters[JOINED] = jinja2.pass_context(join_texts)
    environment.filters[_COUNT] = environment.count
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = today.strftime
    try:
        tree = environment.parse(source)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _COUNT, [], [], None, None, lineno=loop.lineno)
        tree = Joins().visit(tree)
        compiled = environment.from_string(tree)
        compiled.globals = dict(compiled.globals)  # a chain of maps is copied at each rendering
    except jinja2.TemplateSyntaxError as error:
        raise ChatTemplateError(
            Sentence("reading.line", {"line": error.lineno, "reason": _one_line(error)})
        ) from error
    except (*_NO_PYTHON, jinja2.TemplateError) as error:
        raise ChatTemplateError(_one_line(error)) from error
    return ChatTemplate(compiled=compiled, environment=environment, variables=dict(variables))


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, with a budget of loop steps and seconds, and of characters per product."""

    intercepted_binops = frozenset(["*", "**", "+", "%"])

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=limit_items, **options)
        self.slow_seconds = 0.0
        self.start()

    def start(self) -> None:
        """Give one rendering its budget of steps, and the seconds that slow ones have left."""
        left = _SECONDS - self.slow_seconds
        if left <= 0:
            raise ChatTemplateError(Sentence("template.slow"))
        self._steps = _LOOP_STEPS
        self._deadline = time.monotonic() + left
        self._chars = 0
        self._marked: list[tuple[int, int]] = []

    def collect(self, blocks: Iterable[str]) -> tuple[str, Spans]:
        """Return the text that leaves the template in pieces, and the marked ranges in it.

        Raises ChatTemplateError where it is too long, or no encoding has it.
        """
        taken = []
        for block in blocks:
            taken.append(block)
            self._chars += len(block)
            if self._chars > MOST_CHARS:
                raise ChatTemplateError(Sentence("template.long_text"))
        text = "".join(taken)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ChatTemplateError(Sentence("template.half")) from error
        return text, tuple(self._marked)

    def mark(self, text: str) -> None:
        """Note that a text which is about to leave is what the model says."""
        self._marked.append((self._chars, self._chars + len(text)))

    @jinja2.pass_context  # whatever asks for it is not called once and for all at compile time
    def count(self, _context: Any, items: Any) -> Any:
        """Let a loop begin: each of its items costs one step."""
        if isinstance(items, jinja2.Undefined):
            return items
        if not hasattr(items, "__len__"):
            items = list(_within(items, self._steps))
        self._steps -= len(items)
        if self._steps < 0 or time.monotonic() > self._deadline:
            raise ChatTemplateError(Sentence("template.loops"))
        return items

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute an operation if the size of its result is bounded."""
        if operator == "+" and type(left) is str and type(right) is str:
            if len(left) + len(right) > MOST_CHARS:
                raise BoundError("the template adds without bound")
            return left + right
        limit_operation(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, called: Any, /, *arguments: Any, **named: Any) -> Any:
        """Call what the sandbox allows; a method of a text must be of bounded size."""
        method = getattr(called, "__wrapped__", called)  # the sandbox wraps `format`
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str):
            limit_method(owner, method.__name__, [*arguments, *named.values()])
        return super().call(context, called, *arguments, **named)


class _Generation(Extension):
    """Reads `{% generation %}`...`{% endgeneration %}`, and marks what stands between them."""

    tags = {"generation"}  # noqa: RUF012 - the attribute that Jinja reads

    def parse(self, parser: Parser) -> nodes.Node:
        """Keep the block's body in a scope of its own, as transformers' extension does."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_render")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _render(self, caller: Any) -> str:
        text = str(caller())
        if isinstance(self.environment, _Environment):
            self.environment.mark(text)
        return text


def _within(items: Iterable[Any], limit: int) -> Iterable[Any]:
    for position, item in enumerate(items):
        if position > limit:
            raise ChatTemplateError(Sentence("template.loops"))
        yield item


def _plain(message: Message) -> dict[str, Any]:
    """Drop keys without a value; reasoning goes by all of its names."""
    kept = {key: value for key, value in message.items() if value is not None}
    if kept.keys().isdisjoint(_REASONING):
        return kept
    reasoning = next(kept[key] for key in _REASONING if key in kept)
    return {"thinking": reasoning, **kept, "reasoning_content": reasoning}


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
