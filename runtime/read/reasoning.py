"""The reasoning that a model writes before its answer, in `<think>` tags. Standard library only."""

from collections.abc import Sequence
from typing import Final

from .rows import Turn

OPENING: Final = "<think>"
CLOSING: Final = "</think>"
#: The names that data have for the reasoning of a message; templates read the first two.
KEYS: Final = ("reasoning_content", "thinking", "reasoning")
_ANSWERS: Final = frozenset({"assistant", "chosen", "rejected"})


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


def has_reasoning(turns: Sequence[Turn]) -> bool:
    """Return whether an answer has reasoning before it."""
    said = (text for role, text in turns if role in _ANSWERS and CLOSING in text)
    return any(split(text)[0] for text in said)
