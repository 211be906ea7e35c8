"""Reads rows that hold a conversation: a list of messages, or its text. Standard library only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .cleaning import is_blank
from .json_files import parse_cell
from .reasoning import KEYS, join, split
from .rows import Fault, Row, Turn, Turns, Unlearned

#: The names of roles in data sets, in lower case.
ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human", "customer", "client", "prompter"), "user"),
    **dict.fromkeys(
        ("assistant", "gpt", "chatgpt", "bot", "chatbot", "model", "ai", "agent", "support"),
        "assistant",
    ),
    **dict.fromkeys(("tool", "function", "observation"), "tool"),
}
#: The types of parts of a message that are images, and those that are videos and audio.
IMAGES: Final = frozenset({"image", "image_url", "input_image"})
VIDEOS: Final = frozenset({"video", "video_url", "input_video"})
AUDIO: Final = frozenset({"audio", "audio_url", "input_audio"})
#: The roles that may follow a role; `calls` are calls of tools, see tool_rows.
_FOLLOWS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset({"system", "user"}),
    "system": frozenset({"user"}),
    "user": frozenset({"assistant", "calls"}),
    "assistant": frozenset({"user", "tool", "calls"}),
    "calls": frozenset({"tool"}),
    "tool": frozenset({"assistant", "tool", "calls"}),
}


def read_chat(row: Row, *, messages: str) -> Turns | Fault:
    """Return the turns of a conversation without tool calls; `messages` is the column."""
    turns = read_messages(row.get(messages), _read_plain)
    return turns if isinstance(turns, str) else end_chat(turns)


def load_messages(cell: Any) -> list[Any] | Fault:
    """Return the list of messages in a cell, which may be a text of JSON or Python.

    Null keys are dropped: tables give every message the keys of all the others.
    """
    if isinstance(cell, str):
        if is_blank(cell):
            return "blank"
        try:
            cell = parse_cell(cell)
        except ValueError:
            return "no_list"
    if cell is None or cell == []:
        return "blank"
    return list(map(_drop_nulls, cell)) if isinstance(cell, list) else "no_list"


def _drop_nulls(message: Any) -> Any:
    if not isinstance(message, dict) or None not in message.values():
        return message
    return {key: value for key, value in message.items() if value is not None}


def read_messages(cell: Any, read: Callable[[Any], Turn | None] | None = None) -> Turns | Fault:
    """Return the turns of a list of messages, with the roles in any order.

    `read` returns the turn of a message, by default `read_turn`.
    """
    messages = load_messages(cell)
    if isinstance(messages, str):
        return messages
    turns = tuple(map(read or read_turn, messages))
    if None in turns:
        return why_no_turn(messages[turns.index(None)])
    return turns  # type: ignore[return-value]  # none is None


def find_disorder(turns: Sequence[Turn]) -> Fault | None:
    """Return what is wrong with the order of the roles: the assistant must come last."""
    before = ""
    for role, _ in turns:
        if role not in _FOLLOWS[before]:
            return "order"
        before = role
    return None if before in ("assistant", "calls") else "unanswered"


def end_chat(turns: Turns) -> Turns | Fault:
    """Return a conversation in order up to its last answer that is learned.

    What follows that answer is not learned and changes nothing before it.
    """
    if fault := find_disorder(turns):
        return fault
    learned = [place for place, (role, _) in enumerate(turns) if is_answer(role)]
    return turns[: learned[-1] + 1] if learned else "unlearned"


def is_answer(role: str) -> bool:
    """Return whether a turn of this role may be learned: an answer, or tool calls."""
    return role in ("assistant", "calls") and not isinstance(role, Unlearned)


def weigh(role: str, message: Mapping[str, Any]) -> str:
    """Return the role of a turn; an answer with the weight 0 is not learned."""
    weight = message.get("weight")
    excluded = isinstance(weight, int | float) and weight == 0
    return Unlearned(role) if excluded and role in ("assistant", "calls") else role


def read_turn(message: Any) -> Turn | None:
    """Read `{"role", "content"}`, ShareGPT's `{"from", "value"}`, or Gemini's `{"role", "parts"}`.

    A content may be a list of parts that are texts. Reasoning under a key of its own comes before
    the answer of an assistant.
    """
    if not isinstance(message, dict):
        return None
    known = find_role(message.get("role", message.get("from")))
    content = join_texts(content_of(message))
    if known is None or not isinstance(content, str):
        return None
    if known == "assistant" and not is_blank(content):
        content = add_reasoning(content, message)
    return weigh(known, message), content


def join_texts(content: Any) -> Any:
    """Return a list of parts that are texts as one text, and any other content as it is."""
    if not isinstance(content, list) or not content:
        return content
    texts = [part.get("text") for part in content if _kind_of(part) == "text"]
    whole = len(texts) == len(content) and all(isinstance(text, str) for text in texts)
    return "".join(texts) if whole else content


def content_of(message: Mapping[str, Any]) -> Any:
    """Return what a message says, under the key of any of the usual formats."""
    usual = ("content", "value", "parts", "text")
    return next((message[key] for key in usual if key in message), None)


def _kind_of(part: Any) -> Any:
    """Return the type of a part; Bedrock and Gemini write none for a text."""
    if not isinstance(part, dict):
        return None
    return "text" if part.keys() == {"text"} else part.get("type")


def add_reasoning(content: str, message: Mapping[str, Any]) -> str:
    """Return what an assistant says, after the reasoning that its message has under a key."""
    found = (message.get(key) for key in KEYS)
    texts = (text.strip() for text in found if isinstance(text, str))
    reasoning = next(filter(None, texts), "")
    return join(reasoning, content) if reasoning and not split(content)[0] else content


def why_no_turn(message: Any) -> Fault:
    """Return why a message is not a valid turn."""
    role = message.get("role", message.get("from")) if isinstance(message, dict) else None
    if not isinstance(role, str):
        return "no_turn"
    known = find_role(role)
    if known == "assistant" and calls_of(message):
        return "bad_call"
    content = content_of(message)
    kinds = set(map(str, map(_kind_of, content))) if isinstance(content, list) else set()
    if kinds & (IMAGES | VIDEOS | AUDIO):
        return "image_part" if kinds & IMAGES else "video" if kinds & VIDEOS else "audio"
    return "unknown_role" if known is None else "no_turn"


def calls_of(message: Mapping[str, Any]) -> Any:
    """Return the tool calls of a message, or its single call in OpenAI's older `function_call`."""
    return message.get("tool_calls") or message.get("function_call")


def find_role(name: Any) -> str | None:
    """Return the role that a name of a data set stands for, in any case; None for an unknown."""
    return ROLES.get(name.strip().lower()) if isinstance(name, str) else None


def _read_plain(message: Any) -> Turn | None:
    """Read a message; an assistant's broken calls of tools make it malformed."""
    turn = read_turn(message)
    return None if turn and turn[0] == "assistant" and calls_of(message) else turn
