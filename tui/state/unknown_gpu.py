"""GPU names that are not in the table, and the most similar names in it."""

import re
from difflib import get_close_matches
from typing import Final

from ftc.compiler.knowledge.hardware.accelerators import (
    all_accelerators,
    find_accelerator,
    find_other_maker,
    suggest,
)
from ftc.tui.understanding.reading import Choice
from ftc.tui.understanding.text.message import fold

#: A GPU's name as people write it: a maker's word and a number, or a letter and a number.
_NAME: Final = re.compile(
    r"\b(?:(?:nvidia |geforce |quadro |tesla )*(?:rtx|gtx|quadro|tesla|titan|geforce|nvidia)"
    r"[ -]?[a-z]?\d{2,5}[a-z]{0,2}(?:[ -](?:ti|super|ada|pro))*|(?:gpu |una |an? |\d+ ?x ?)"
    r"[abhlpt]\d{2,4}s?)\b"
)
_COUNT: Final = re.compile(r"^(?:gpu |una |an? |\d+ ?x ?)")
_GPU: Final = "/hardware/gpu"
_LONGEST_ANSWER: Final = 4
_MOST: Final = 4
_ALIKE: Final = 0.4


def ask_near(text: str) -> Choice | None:
    """Ask which known GPU an unknown name means; return None if there is no such name."""
    match = _NAME.search(fold(text))
    if match is None:
        return None
    wanted = _COUNT.sub("", match[0])
    return Choice(
        pointer=_GPU,
        values=find_near(wanted),
        words=text[match.start() + len(match[0]) - len(wanted) : match.end()],
        why="gpu.unknown",
    )


def ask_suggested(text: str, asked: str | None) -> Choice | None:
    """Ask which known GPU a bare answer means, if it shares a number with any."""
    if asked != _GPU or len(text.split()) > _LONGEST_ANSWER or not re.search(r"\d", text):
        return None
    names = suggest(text).names
    return Choice(pointer=_GPU, values=names, words=text, why="gpu.unknown") if names else None


def find_near(name: str) -> tuple[str, ...]:
    """Return the names of the table most similar to an unknown name; none for a known name."""
    if find_accelerator(name) is not None or find_other_maker(name) is not None:
        return ()
    names = {_bare(device.name): device.name for device in all_accelerators()}
    return tuple(names[near] for near in get_close_matches(_bare(name), names, _MOST, _ALIKE))


def _bare(name: str) -> str:
    """Return a name without maker, memory size and punctuation: `rtx5090` for RTX-5090."""
    plain = re.sub(r"\b(?:nvidia|geforce)\b|\d+gb\b", "", fold(name))
    return re.sub(r"[^a-z0-9]+", "", plain)
