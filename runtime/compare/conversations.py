"""Compares conversations, which llama-cpp-python renders with the chat template in a GGUF file."""

from collections.abc import Callable
from typing import Any

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from ..read.rows import before_answer
from .same_tokens import Row, Vocabulary

Encode = Callable[[Callable[[str], list[int]], Any, str], list[int]]


def render(vocabulary: Vocabulary, messages: Any, tools: Any, *, answering: bool) -> str:
    """Render a conversation as llama-cpp-python does; `answering` adds the prompt for an answer.

    Raises TemplateError or ValueError if the template rejects the conversation.
    """
    words = vocabulary.words
    template = words.metadata().get("tokenizer.chat_template")
    vocabulary.run.ensure(template, "the GGUF file contains the chat template")
    formatter: Any = Jinja2ChatFormatter(
        template=template,
        eos_token=words.token_get_text(words.token_eos()),
        bos_token=words.token_get_text(words.token_bos()),
        add_generation_prompt=answering,
    )
    # A template may print the date: use the one on which prepare.py wrote the rows.
    formatter.strftime_now = vocabulary.rows_written_at.strftime
    text: str = formatter(messages=messages, tools=tools).prompt
    return text if answering else text.rstrip()


def is_same(vocabulary: Vocabulary, row: Row) -> bool:
    """Return whether llama.cpp encodes a conversation to the same tokens as training did."""
    return render_row(vocabulary, row) == (row["prompt_ids"], row["input_ids"])


def render_row(
    vocabulary: Vocabulary, row: Row, encode: Encode | None = None
) -> tuple[list[int], list[int]] | None:
    """Return the tokens of the prompt, and the tokens of the whole conversation.

    `encode` is given messages and their text. Returns None if the template rejects the row, which
    prepare.py would have left out.
    """
    asked, tools = before_answer(row["messages"]), row.get("tools")
    try:
        prompt = whole = render(vocabulary, asked, tools, answering=True)
        if len(asked) < len(row["messages"]):  # the row has an answer
            whole = render(vocabulary, row["messages"], tools, answering=False)
        if encode is None:
            return vocabulary.encode(prompt), vocabulary.encode(whole)
        texts = (asked, prompt), (row["messages"], whole)
        before, ids = (encode(vocabulary.encode, messages, text) for messages, text in texts)
    except (ValueError, TemplateError):
        return None
    return before, ids
