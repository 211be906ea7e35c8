"""Conversations whose answers have reasoning before them.

A chat template either reads the reasoning as a key of the message, or prints the text as it is.
Bundles whose data have no reasoning do not carry this module.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jinja2 import TemplateError

from ..read.reasoning import CLOSING, KEYS, split
from ..read.rows import Turns

Message = dict[str, Any]
Render = Callable[[list[Message]], str]

#: A conversation that shows whether a chat template reads a message's keys.
PROBE: Final[Sequence[Message]] = (
    {"role": "user", "content": "How much is 2 + 2?"},
    {"role": "assistant", "content": "It is 4.", **dict.fromkeys(KEYS[:2], "Two and two.")},
)


def place_reasoning(chats: Sequence[Sequence[Message]], render: Render) -> list[list[Message]]:
    """Return conversations with their reasoning where the chat template reads it.

    That is under a key of the message, or before the answer in its text. `render` returns the text
    of a conversation.
    """
    if not any(_may_reason(message) for chat in chats for message in chat):
        return [list(chat) for chat in chats]
    try:
        has_keys = reads_keys(render)
    except TemplateError:
        has_keys = False
    return [key_messages(chat) if has_keys else list(chat) for chat in chats]


def reads_keys(render: Render) -> bool:
    """Return whether a chat template writes the reasoning that a message has under its keys."""
    return str(PROBE[1]["thinking"]) in render(list(PROBE))


def key_messages(messages: Sequence[Message]) -> list[Message]:
    """Return messages whose reasoning is under the keys that chat templates read."""
    return [_key(message) if _may_reason(message) else message for message in messages]


def strip(turns: Turns) -> Turns:
    """Return turns whose answers have no reasoning; one that is nothing else is left out.

    The last turn stays, as blank text: such a row has no answer.
    """
    kept = []
    for place, (role, text) in enumerate(turns):
        said = split(text)[1] if role == "assistant" else text
        if said or not text or place + 1 == len(turns):
            kept.append((role, said))
    return tuple(kept)


def _may_reason(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and CLOSING in message["content"]


def _key(message: Message) -> Message:
    reasoning, answer = split(message["content"])
    keys = dict.fromkeys(KEYS[:2], reasoning) if reasoning else {}
    return {**message, "content": answer, **keys}
