"""One answer of the model, put together from the chunks of its stream."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ftc.tui.agent.wire import clean
from ftc.tui.state.served_model import ModelError

#: The reasoning that a model writes before its answer, if the server does not separate it.
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)
_LONGEST_WHY: Final = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a tool; `arguments` is the text that the model wrote."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The model's output in one answer: text for the user, and tool calls."""

    text: str
    calls: tuple[Call, ...]


@dataclass(slots=True)
class _Gathered:
    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: list[dict[str, str]] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    finish: str = ""
    letters: int = 0


def gather(
    chunks: Iterable[Mapping[str, Any]],
    *,
    address: str,
    most_letters: int,
    listen: Callable[[str], None],
) -> Said:
    """Return the answer of a stream. After each chunk with text, `listen` gets the text so far.

    Raises ModelError for a refusal, and for an answer that broke off.
    """
    got = _Gathered()
    for chunk in chunks:
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise ModelError("agent.garbage", address=address)
        got.finish = got.finish or ("stop" if chunk.get("done") else "")
        heard = len(got.text)
        for choice in choices[:1]:  # a last chunk with the usage has none
            try:
                _add(got, choice)
            except (AttributeError, TypeError) as error:
                raise ModelError("agent.garbage", address=address) from error
        if got.letters > most_letters:
            raise ModelError("agent.long")
        if len(got.text) > heard:
            listen("".join(got.text))
    if got.refusal or got.finish == "content_filter":
        why = clean("".join(got.refusal))[:_LONGEST_WHY]
        raise ModelError("agent.refusal", why=why or got.finish)
    if not got.finish:
        raise ModelError("agent.broken", address=address)
    if got.finish == "length":
        raise ModelError("agent.cut")
    text = strip_thoughts("".join(got.text)).strip()
    calls = tuple(
        Call(id=each["id"] or f"call_{number}", name=each["name"], arguments=each["arguments"])
        for number, each in enumerate(got.calls)
    )
    if not text and not calls:
        raise ModelError("agent.empty")
    return Said(text=text, calls=calls)


def strip_thoughts(text: str) -> str:
    """Return a text without the reasoning that the model wrote before its answer."""
    return _THOUGHT.sub("", text)


def _add(got: _Gathered, choice: Mapping[str, Any]) -> None:
    delta = choice.get("delta") or choice.get("message") or {}
    text, refusal = delta.get("content") or "", delta.get("refusal") or ""
    if text:
        got.text.append("" + text)  # raises TypeError for another kind of value
    got.letters += len(text)
    if refusal:
        got.refusal.append("" + refusal)
    for part in delta.get("tool_calls") or ():
        _add_call(got, part)
    got.finish = choice.get("finish_reason") or got.finish


def _add_call(got: _Gathered, part: Mapping[str, Any]) -> None:
    """Add a fragment of a call; a new id at a known index starts another call (Ollama)."""
    function = part.get("function") or {}
    index, known = part.get("index", len(got.calls)), "" + (part.get("id") or "")
    at = got.places.get(index)
    if at is None or (known and got.calls[at]["id"] not in ("", known)):
        got.places[index] = at = len(got.calls)
        got.calls.append({"id": known, "name": "", "arguments": ""})
    call, arguments = got.calls[at], function.get("arguments") or ""
    call["id"] = call["id"] or known
    call["name"] += function.get("name") or ""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call["arguments"] += written
    got.letters += len(written)


def read_written_call(text: str, names: Iterable[str]) -> Call | None:
    """Return the call that makes up the whole text, as models without tools write it, or None."""
    fenced = _FENCE.match(text)
    try:
        # the grammar of llama-cpp-python allows control characters in a text
        found = json.loads(fenced[1] if fenced else text, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    name = found.get("tool", found.get("name"))
    arguments = found.get("arguments", found.get("parameters", {}))
    if name not in set(names):
        return None
    return Call(id="call_0", name=name, arguments=json.dumps(arguments))
