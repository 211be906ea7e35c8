"""The reasoning that a model writes before its answer. Standard library only.

In the turns of a row it stands before the answer, in `<think>` tags. A chat template either reads
it as a key of the message, or prints the text as it is: see `key_messages`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .cleaning import is_blank
from .rows import Turn, Turns

Message = dict[str, Any]

OPENING: Final = "<think>"
CLOSING: Final = "</think>"
#: The names that data have for the reasoning of a message; templates read the first two.
KEYS: Final = ("reasoning_content", "thinking", "reasoning")
_ANSWERS: Final = frozenset({"assistant", "chosen", "rejected"})
#: A conversation that shows whether a chat template reads a message's keys.
PROBE: Final[Sequence[Message]] = (
    {"role": "user", "content": "How much is 2 + 2?"},
    {"role": "assistant", "content": "It is 4.", **dict.fromkeys(KEYS[:2], "Two and two.")},
)


def join(reasoning: str, answer: str) -> str:
    """Return both as one text."""
    return f"{OPENING}\n{reasoning.strip()}\n{CLOSING}\n\n{answer}"


def split(text: str) -> tuple[str, str]:
    """Return the reasoning and the answer of a text; the reasoning is "" if there is none.

    The opening tag may be missing: in some data it belongs to the prompt.
    """
    reasoning, tag, answer = text.partition(CLOSING)
    if not tag:
        return "", text
    return reasoning.strip().removeprefix(OPENING).strip(), answer.lstrip()


def read_key(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a message of the data has under a key of its own, or ""."""
    found = (message.get(key) for key in KEYS)
    text = next((text for text in found if isinstance(text, str) and not is_blank(text)), "")
    return text.strip()


def has_reasoning(turns: Sequence[Turn]) -> bool:
    """Return whether an answer has reasoning before it."""
    said = (text for role, text in turns if role in _ANSWERS and CLOSING in text)
    return any(split(text)[0] for text in said)


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


def reads_keys(render: Callable[[list[Message]], str]) -> bool:
    """Return whether a chat template writes the reasoning that a message has under its keys."""
    return str(PROBE[1]["thinking"]) in render(list(PROBE))


def key_messages(messages: Sequence[Message]) -> list[Message]:
    """Return messages whose reasoning is under the keys that chat templates read."""
    return [_key(message) if _may_reason(message) else message for message in messages]


def _may_reason(message: Message) -> bool:
    return message["role"] == "assistant" and CLOSING in message["content"]


def _key(message: Message) -> Message:
    reasoning, answer = split(message["content"])
    keys = dict.fromkeys(KEYS[:2], reasoning) if reasoning else {}
    return {**message, "content": answer, **keys}
