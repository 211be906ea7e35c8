"""The tools that the model may call: functions of the user's file.

`tool_loop` calls them.
"""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import isfunction
from time import monotonic
from typing import Any

from transformers.utils.chat_template_utils import get_json_schema

Tool = Callable[..., str]


class _TooLong(BaseException):
    """Ends a call; no `except Exception` of a tool catches it."""


def read_tools(module: Any, seconds: float | None = None) -> list[Tool]:
    """Return the public functions that a module defines, in their order.

    Each returns text, as chat templates want it, and raises TimeoutError after some seconds.
    """
    return [
        _return_text(value, seconds)
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
        return "the chat template does not render tool calls, or not their results"
    try:
        add_response_schema(tokenizer)
        if not is_chat_template_prefix_preserving(tokenizer):
            get_training_chat_template(tokenizer)
    except ValueError:
        return "the pinned TRL does not know this chat template, and cannot read calls in answers"
    return None


def _return_text(function: Callable[..., Any], seconds: float | None) -> Tool:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> str:
        if seconds is None:
            return str(function(*args, **kwargs))
        try:
            with _end_after(seconds):
                return str(function(*args, **kwargs))
        except _TooLong:
            raise TimeoutError(f"no result after {seconds:g} seconds") from None

    return call


@contextmanager
def _end_after(seconds: float) -> Iterator[None]:
    """Raise _TooLong in this block after some seconds: in the main thread, which calls tools.

    A timer that is already running is set again afterwards, with its remaining time.
    """

    def end(*_: object) -> None:
        raise _TooLong

    began, handler = monotonic(), signal.signal(signal.SIGALRM, end)
    left, again = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            rest = max(left - (monotonic() - began), 1e-3)  # 0 would stop it
            signal.setitimer(signal.ITIMER_REAL, rest, again)
