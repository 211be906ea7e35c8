"""The tools that the model may call: functions of the user's file.

`tool_loop` has what calls them.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import isfunction
from typing import Any

from transformers.utils.chat_template_utils import get_json_schema

Tool = Callable[..., str]


def read_tools(module: Any) -> list[Tool]:
    """Return the public functions that a module defines, in their order.

    Each returns text, as chat templates want it.
    """
    return [
        _return_text(value)
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def describe(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the JSON schema of each tool, from its type hints and its docstring."""
    return [get_json_schema(tool) for tool in tools]


def find_fault(tokenizer: Any) -> str | None:
    """Return why TRL cannot read calls in this tokenizer's chat template; None if it can."""
    from trl.chat_template_utils import (  # noqa: PLC0415 - slow, and few bundles have tools
        add_response_schema,
        get_training_chat_template,
        is_chat_template_prefix_preserving,
        supports_tool_calling,
    )

    if not supports_tool_calling(tokenizer):
        return "the chat template does not write calls of tools, or not their results"
    try:
        add_response_schema(tokenizer)
        if not is_chat_template_prefix_preserving(tokenizer):
            get_training_chat_template(tokenizer)
    except ValueError:
        return "the pinned TRL does not know this chat template, and cannot read calls in answers"
    return None


def _return_text(function: Callable[..., Any]) -> Tool:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> str:
        return str(function(*args, **kwargs))

    return call
