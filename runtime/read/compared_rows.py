"""Reads preferences, feedback and scored pairs of public data sets. Standard library only.

An answer is a text, a message, or a list of messages that ends with it and may begin with the
prompt; a transcript, as in Anthropic's data, is such a list. Both answers must follow one prompt.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from .chat_rows import find_disorder, read_messages
from .cleaning import fold, is_blank
from .rows import Fault, Row, Turns
from .text_rows import read_cell

_TRANSCRIPT: Final = re.compile(r"(?:^|\n\n)(Human|Assistant):")
VERDICTS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "good", "up", "desirable", "+1"), "true"),
    **dict.fromkeys(("false", "0", "0.0", "no", "bad", "down", "undesirable", "-1"), "false"),
    **dict.fromkeys(
        ("thumbs up", "thumbs_up", "thumbs-up", "thumbsup", "\N{THUMBS UP SIGN}"), "true"
    ),
    **dict.fromkeys(
        ("thumbs down", "thumbs_down", "thumbs-down", "thumbsdown", "\N{THUMBS DOWN SIGN}"), "false"
    ),
}
#: What may follow a thumb emoji: a variation selector or a skin tone.
_SHADES: Final = "\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400)))
_SPEAKERS: Final = {"Human": "user", "Assistant": "assistant"}


def read_pair(row: Row, *, chosen: str, rejected: str, prompt: str | None = None) -> Turns | Fault:
    """Return the prompt's turns, then one of the role `chosen` and one of the role `rejected`.

    The arguments are columns. `prompt` is not used for an answer that includes its own.
    """
    answers: list[Turns] = []
    for column in (chosen, rejected):
        turns = _read_answered(row, column, prompt)
        if isinstance(turns, str):
            return (
                "one_conversation"
                if turns == "no_prompt" and _are_unlike(row, chosen, rejected)
                else turns
            )
        answers.append(turns)
    (*asked, (_, one)), (*also_asked, (_, other)) = answers
    if [(role, fold(text)) for role, text in asked] != [(r, fold(text)) for r, text in also_asked]:
        return "one_conversation" if _are_unlike(row, chosen, rejected) else "two_prompts"
    if fold(one) == fold(other):
        return "blank" if is_blank(one) else "same_answers"
    return (*asked, ("chosen", one), ("rejected", other))


def read_verdict(
    row: Row, *, completion: str, label: str, prompt: str | None = None
) -> Turns | Fault:
    """Return the prompt's turns, the answer's, and one of the role `label`: "true" or "false".

    The arguments are columns. `prompt` is not used for an answer that includes its own.
    """
    turns = _read_answered(row, completion, prompt)
    if isinstance(turns, str):
        return turns
    verdict = VERDICTS.get(str(row.get(label)).strip().rstrip(_SHADES).lower())
    return "no_label" if verdict is None else (*turns, ("label", verdict))


def _read_answered(row: Row, column: str, prompt: str | None) -> Turns | Fault:
    """Return the turns of an answer in a column, after those of its prompt if it lacks them.

    `prompt` is the column of the prompt, if there is one.
    """
    turns = _read_cell(row.get(column), role="assistant")
    if isinstance(turns, str):
        return turns
    if turns[0][0] == "assistant":
        before = _read_cell(row.get(prompt) if prompt is not None else None, role="user")
        if isinstance(before, str):
            return "no_prompt" if prompt is None else before
        turns = (*before, *turns)
    return find_disorder(turns) or turns


def _are_unlike(row: Row, chosen: str, rejected: str) -> bool:
    """Return whether one answer includes its prompt and the other does not."""
    read = [_read_cell(row.get(column), role="assistant") for column in (chosen, rejected)]
    return len({turns[0][0] == "assistant" for turns in read if not isinstance(turns, str)}) > 1


def read_scored(row: Row, *, prompt: str, completion: str, score: str) -> Turns | Fault:
    """Return both texts of a pair, and a turn of the role `score`: a number from 0 to 1."""
    first, second = read_cell(row.get(prompt)), read_cell(row.get(completion))
    if first is None or second is None:
        return "not_text"
    if is_blank(first) or is_blank(second):
        return "blank"
    try:
        number = float(str(row.get(score)))
    except ValueError:
        return "no_score"
    if not 0 <= number <= 1:
        return "no_score"
    return (("user", first), ("assistant", second), ("score", f"{number:g}"))


def _read_cell(cell: Any, *, role: str) -> Turns | Fault:
    """Read a text as a turn of `role`; a list, its JSON or a transcript as several turns.

    A message by itself is a list of one, and an object with `messages` (OpenAI's) stands for these.
    """
    if isinstance(cell, dict) and isinstance(cell.get("messages"), list):
        cell = cell["messages"]
    if isinstance(cell, dict):
        message = read_messages([cell])
        return "not_text" if isinstance(message, str) else message
    if isinstance(cell, list):
        texts = bool(cell) and all(isinstance(each, str) for each in cell)
        return "not_text" if texts else read_messages(cell)
    text = read_cell(cell)
    if text is None:
        return "not_text"
    if is_blank(text):
        return "blank"
    if text.lstrip().startswith("[{"):
        turns = read_messages(text)
        return ((role, text),) if turns == "no_list" else turns
    _, *parts = _TRANSCRIPT.split(text.strip())
    if len(parts) > 2 and text.lstrip().startswith("Human:"):  # noqa: PLR2004 - speaker and words
        speakers, words = parts[::2], parts[1::2]
        return tuple((_SPEAKERS[s], w.strip()) for s, w in zip(speakers, words, strict=True))
    return ((role, text),)
