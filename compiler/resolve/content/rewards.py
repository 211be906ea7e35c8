"""Rewards: what they would give the data's own answers, and what their files hold.

A user's Python file is parsed, and never run.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.resolve.detail_facts import RewardFacts, RewardFault, RewardFunction, ToolFacts
from ftc.compiler.resolve.local_paths import at
from ftc.compiler.resolve.patterns import SlowPatternError, match_texts
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.metric.numeric_match import NUMBER
from ftc.spec.message import Message
from ftc.spec.sections import Objective, Reward

#: References that are looked at: a pattern may be slow, and a share needs no more.
MOST_ROWS: Final = 1000
_MOST_BYTES: Final = 1024 * 1024
#: Text before what announces a result, as in GSM8K, MATH and answers with tags.
_RESULT: Final = re.compile(
    r"\S\s*(?:####|\\boxed\{|<answer>|\b(?:final answer|the answer is|answer:))", re.IGNORECASE
)
#: An empty answer and others that have nothing in common: what matches all asks for nothing.
_TRIED: Final = ("", "x", "Sorry, no.", "?!", "7", "\n", "\u00e9\u4e2d", "one two " * 100)


class RewardFileError(ValueError):
    """A file or pattern that a reward names cannot be used; `key` and `values` say why."""

    def __init__(self, key: str, **values: str) -> None:
        """Keep the key of a sentence of `spec/messages`, and its values."""
        super().__init__(str(Message(key, values)))
        self.key = key
        self.values = values


def list_rewards(objective: Objective) -> tuple[Reward, ...]:
    """Return the rewards that the spec names, in the long form; none where it leaves them open."""
    written = objective.rewards
    if written == "auto":
        return ()
    return tuple(Reward(match=item) if isinstance(item, str) else item for item in written)


def measure_rewards(
    objective: Objective,
    examples: Sequence[Example],
    *,
    folder: Path,
    tools: ToolFacts | None = None,
) -> RewardFacts | None:
    """Return how many of the data's answers each reward fits; None where nothing is rewarded."""
    if not OBJECTIVES[objective.type].rewards:
        return None
    answers = [one.answer for one in examples[:MOST_ROWS] if not one.is_prompt]
    found = RewardFacts(
        rows=len(answers),
        numbered_rows=sum(NUMBER.search(answer) is not None for answer in answers),
        explained_rows=sum(_RESULT.search(answer) is not None for answer in answers),
        tools=tools,
    )
    for place, reward in enumerate(list_rewards(objective)):
        try:
            found = _look(found, reward, answers, folder)
        except RewardFileError as error:
            fault = RewardFault(place=place, key=error.key, values=error.values)
            found = replace(found, faults=(*found.faults, fault))
    return found


def read_functions(path: Path) -> str:
    """Return the text of a Python file as it is, line ends included; raises RewardFileError."""
    return _read(path)


def read_schema(written: str | Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    """Return a JSON Schema, from its file where it is named; raises RewardFileError."""
    schema = dict(written) if isinstance(written, Mapping) else None
    if path is not None:
        try:
            schema = json.loads(_read(path))
        except (ValueError, RecursionError) as error:
            if isinstance(error, RewardFileError):
                raise
            raise RewardFileError("reward.not_json", name=path.name, detail=str(error)) from error
    if not isinstance(schema, dict):
        raise RewardFileError("reward.no_object", name=str(written))
    return schema


def _look(found: RewardFacts, reward: Reward, answers: Sequence[str], folder: Path) -> RewardFacts:
    """Add what one reward makes of the answers, or what its file holds."""
    if reward.regex is not None:
        try:
            rows = sum(match_texts(reward.regex, tuple(answers), "search"))
            tried = match_texts(reward.regex, _TRIED, "search")
        except (re.error, OverflowError, RecursionError) as error:
            raise RewardFileError(
                "reward.not_regex", pattern=reward.regex, detail=str(error)
            ) from error
        except SlowPatternError as error:
            raise RewardFileError("reward.slow", pattern=reward.regex) from error
        return replace(
            found,
            matched_rows=(*found.matched_rows, rows),
            always_matched=(*found.always_matched, rows == len(answers) and all(tried)),
            empty_matched=(*found.empty_matched, tried[0]),
        )
    if reward.json_schema is not None:
        written = reward.json_schema
        path = at(written, folder=folder) if isinstance(written, str) else None
        rows = _count_valid(read_schema(written, path), answers)
        return replace(found, valid_rows=rows)
    if reward.functions is not None:
        functions = tuple(_parse(read_functions(at(reward.functions, folder=folder))))
        return replace(found, functions=functions)
    return found


def _count_valid(schema: Mapping[str, Any], answers: Iterable[str]) -> int:
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415 - slow to import

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise RewardFileError("reward.not_schema", detail=error.message) from error
    validator = Draft202012Validator(schema)

    def is_valid(answer: str) -> bool:
        try:
            return bool(validator.is_valid(json.loads(answer)))
        except (ValueError, RecursionError):
            return False

    return sum(map(is_valid, answers))


def parse_python(text: str) -> ast.Module:
    """Return the syntax tree of a Python file; raises RewardFileError."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        words = getattr(error, "msg", None) or str(error)
        raise RewardFileError("reward.not_python", line=str(line or 1), detail=words) from error


def _parse(text: str) -> Iterator[RewardFunction]:
    """Yield the functions that a file defines at its top."""
    for node in parse_python(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _describe(node)


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> RewardFunction:
    """Return a function's name and which of its parameters must be given."""
    signature = node.args
    plain = [*signature.posonlyargs, *signature.args]
    needed = plain[: len(plain) - len(signature.defaults)]
    pairs = zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
    needed += [argument for argument, default in pairs if default is None]
    return RewardFunction(
        name=node.name,
        needs=tuple(argument.arg for argument in needed),
        takes_others=signature.kwarg is not None,
        by_name=not signature.posonlyargs,
    )


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise RewardFileError("reward.large", name=path.name)
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise RewardFileError("reward.not_utf8", name=path.name) from error
    except OSError as error:
        raise RewardFileError("reward.unreadable", name=path.name) from error
