"""Asks a model that can call tools; the tools run as in training."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from ..language_models import find_class
from ..reward.offered_tools import Tool, describe
from ..reward.tool_loop import Message, Tokens, converse, read_texts

Turn = Mapping[str, str]


def answer(
    folder: Path,
    turns: Sequence[Turn],
    answer_tokens: int,
    *,
    tools: Sequence[Tool],
    rounds: int,
    **options: Any,
) -> str:
    """Return the model's text after its last tool call; print each tool result on stderr.

    `folder` has the model. `options` go to `from_pretrained`.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    model = find_class(folder, **options).from_pretrained(
        folder, dtype="auto", use_safetensors=True, **options
    )
    rows = [{"prompt_ids": render(tokenizer, turns, tools)}]
    (chat,) = converse(model, tokenizer, rows, answer_tokens, tools=tools, rounds=rounds)
    return read(chat)


def render(tokenizer: Any, turns: Sequence[Turn], tools: Sequence[Tool]) -> Tokens:
    """Return the tokens of a prompt that declares the tools."""
    ids: Tokens = tokenizer.apply_chat_template(
        list(turns), tools=describe(tools), add_generation_prompt=True, return_dict=False
    )
    return ids


def read(chat: Sequence[Message]) -> str:
    """Return the text of an answer; print the results of its tool calls on stderr."""
    for message in chat:
        if message["role"] == "tool":
            print(f"{message['name']}: {message['content']}", file=sys.stderr)
    return read_texts([chat])[0]
