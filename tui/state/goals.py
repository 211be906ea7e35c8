"""The goals of a fine-tune: what the model should learn to do, and example rows for each."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.message import Message, reason_of
from ftc.tui.languages.voice import Language
from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import fold

Goal = Literal["classify", "style", "transform", "tools", "preferences", "retrieval"]
GOALS: Final[tuple[Goal, ...]] = get_args(Goal)


#: "no preference pairs": a negation right before the words of a goal.
_DENIED: Final = re.compile(
    r"\b(?:no|not|without|never|nor|isn't|sense|cap|sin|ningun\w*|ni|res de|nada de)\s+(?:(?:any"
    r"|an?|real|de|cap"
    r"|una?)\s+)?\Z"
)


def find_goal(text: str) -> tuple[Goal, str] | None:
    """Return the goal that a message describes, and the words that describe it.

    The most specific goal comes first in the table. A negated goal does not count.
    """
    folded = fold(text)
    for goal, pattern in _patterns().items():
        for match in pattern.finditer(folded):
            if not _DENIED.search(folded, 0, match.start()):
                return goal, text[slice(*match.span())]
    return None


def objective_of(goal: Goal) -> str:
    """Return the objective of a goal, as `objective.type` writes it."""
    return str(_read("goals.json")[goal]["objective"])


def free_name(goal: Goal, folder: Path) -> str:
    """Return the name of an example file that does not exist in the folder."""
    name, number = f"{goal}-examples.jsonl", 2
    while (folder / name).exists():
        name, number = f"{goal}-examples-{number}.jsonl", number + 1
    return name


def write_examples(path: Path, goal: Goal, language: Language) -> int:
    """Write a few rows in the format of the goal, and return their number.

    Raises EnvironmentFailure if the file exists or cannot be written.
    """
    rows = _read("starter_rows.json")[goal][language]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise EnvironmentFailure(
            message=Message(
                "failure.unwritable.message", {"path": str(path), "reason": reason_of(error)}
            ),
            help=Message("failure.unwritable.help"),
        ) from error
    return len(rows)


@cache
def _patterns() -> Mapping[Goal, re.Pattern[str]]:
    table = _read("goals.json")
    return {goal: re.compile(any_of(entry["words"])) for goal, entry in table.items()}


@cache
def _read(name: str) -> Mapping[Any, Any]:
    text = (files("ftc.tui.state") / name).read_text(encoding="utf-8")
    table: Mapping[Any, Any] = json.loads(text)
    return table
