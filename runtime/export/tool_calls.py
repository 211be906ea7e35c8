"""Rows with tools: what differs between training and OpenAI's protocol.

`vocabulary` is a `same_tokens.Vocabulary`.
"""

import copy
import json
from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from ..compare.conversations import render
from ..compare.same_tokens import Row
from ..read.rows import before_answer


def has_tools(row: Row) -> bool:
    """Return whether a row has tools, tool calls or tool results."""
    turns = row["messages"]
    return bool(row["tools"]) or any(t["role"] == "tool" or t.get("tool_calls") for t in turns)


def count_rows(vocabulary: Any, rows: Sequence[Row]) -> dict[str, int]:
    """Return how many rows have tools, and in how many arguments must be passed as objects."""
    count = sum(needs_objects(vocabulary, row) for row in rows)
    if count:
        vocabulary.run.say(
            f"in {count:,} rows, pass the arguments of tool calls as objects: as JSON text, which"
            " OpenAI's protocol uses, llama-cpp-python would render them differently"
        )
    return {"rows_with_tools": sum(map(has_tools, rows)), "rows_with_calls_as_objects": count}


def needs_objects(vocabulary: Any, row: Row) -> bool:
    """Return whether calls before the answer have other tokens if their arguments are text.

    Training renders arguments as objects. OpenAI's protocol sends them as JSON text.
    """
    asked = copy.deepcopy(before_answer(row["messages"]))
    calls = [call["function"] for turn in asked for call in turn.get("tool_calls") or ()]
    if not calls:
        return False
    for call in calls:
        call["arguments"] = json.dumps(call["arguments"], ensure_ascii=False)
    try:
        text = render(vocabulary, asked, row["tools"], answering=True)
    except (ValueError, TemplateError, TypeError):
        return True
    return bool(vocabulary.encode(text) != row["prompt_ids"])
