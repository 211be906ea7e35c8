"""A row of the data: its turns, what is wrong with it, and the keys by which rows are compared.

Each form of data has a module with a function that reads its rows: text_rows, chat_rows, tool_rows
and compared_rows; image_rows adds the images of rows. The compiler counts rows with the same
functions. Standard library only.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Literal

from .cleaning import clean_text, fold, is_whole, key_of, repair_encoding

#: A role and a text. Plain text is one turn of the role `text`. A preference ends with a turn of
#: the role `chosen` and one of the role `rejected`, feedback with the answer and a turn of the role
#: `label`: "true" or "false". A scored pair ends with both texts and a turn of the role `score`. A
#: prompt alone ends with what the model answers: a turn of the role `user` or `tool`.
Turn = tuple[str, str]
Turns = tuple[Turn, ...]


class Unlearned(str):
    """The role of an answer that its row excludes from training: a message with the weight 0.

    It equals the role itself, so that the answer is read and rendered like any other. The weight is
    that of OpenAI's format for fine-tuning (https://developers.openai.com/api/docs/guides).
    """

    __slots__ = ()


class NamedClass(int):
    """A class index in a cell. Texts use its `name`; verdicts and scores use the number."""

    name: str


Row = Mapping[str, Any]
#: Why a row cannot be used: it is blank, or malformed in one of the other ways.
Fault = Literal[
    "blank", "unreadable", "not_text", "not_whole", "no_list", "no_turn", "order", "unanswered",
    "unlearned", "answered", "no_prompt", "two_prompts", "one_conversation", "same_answers",
    "no_label", "no_score", "no_tools", "unknown_role", "bad_call", "no_image", "image_count",
    "image_role", "image_missing", "image_outside", "image_url", "image_broken", "image_truncated",
    "image_animated", "image_tiny", "image_huge", "image_narrow", "video", "audio", "image_part",
    "placeholder",
]  # fmt: skip
ReadTurns = Callable[[Row], Turns | Fault]
CHUNK_ROWS: Final = 256  # that one process works on at a time


class DataError(Exception):
    """The data cannot be used; the text says why and, where possible, what to do.

    `key` and `values` identify the text for a program that shows it in another language.
    """

    def __init__(self, text: str, *, key: str = "", **values: str | int) -> None:
        super().__init__(text)
        self.key, self.values = key, values


def cut(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in lists of CHUNK_ROWS."""
    rows = iter(rows)
    return iter(lambda: list(islice(rows, CHUNK_ROWS)), [])


def clean_turns(turns: Turns, *, repair: bool) -> Turns | Fault:
    """Return the turns as they are trained on; `repair` says whether encodings are repaired.

    A system message without text is left out. A tool may return nothing; any other turn without
    text makes the row unusable.
    """
    for _, text in turns:
        if not is_whole(text):
            return "not_whole"
    cleaned = [(role, clean_text(text, repair=repair)) for role, text in turns]
    kept = tuple([turn for turn in cleaned if turn[1] or turn[0] != "system"])
    return kept if all(text or role == "tool" for role, text in kept) else "blank"


def is_repaired(turns: Turns) -> bool:
    """Return whether repairing the encoding changes a text; `turns` are as in the data."""
    return any(repair_encoding(text) != text for _, text in turns)


def prompt_of(turns: Turns) -> Turns:
    """Return the turns before the answer, or before both answers; plain text is its own prompt."""
    if turns[-1][0] in ("rejected", "label", "score"):
        return turns[:-2]
    return turns if turns[0][0] == "text" or is_prompt(turns) else turns[:-1]


def is_prompt(turns: Sequence[Turn]) -> bool:
    """Return whether the turns are a prompt alone: the model answers the last one."""
    return turns[-1][0] in ("user", "tool")


def before_answer(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the messages of a record before its answer; a prompt alone has no answer."""
    return messages[:-1] if messages[-1]["role"] == "assistant" else messages


def row_key(turns: Turns) -> int:
    """Return a key that rows with equal texts share; white space is ignored."""
    return key_of("\x1f".join([fold(text) for _, text in turns]))


def prompt_key(turns: Turns) -> int:
    """Return the key of a row's prompt; rows that share it stay in the same split."""
    return key_of(fold("\x1f".join([text for _, text in prompt_of(turns)])))


def add_system(turns: Sequence[Turn], system: str | None) -> Turns:
    """Return the turns with a system message unless they have one; plain text gets none."""
    first = sum(role in ("images", "tools") for role, _ in turns[:2])
    if system is None or turns[first][0] in ("system", "text"):
        return tuple(turns)
    return (*turns[:first], ("system", system), *turns[first:])
