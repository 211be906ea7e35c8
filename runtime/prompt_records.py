"""Turns prompts without answers into tokens: what GRPO, RLOO and distillation sample from."""

from collections.abc import Sequence
from typing import Any

from .encoding import Encoder
from .plain_records import encode_prompts
from .rows import Turns, add_system


def make_prompts(
    group: Sequence[Turns],
    *,
    encoder: Encoder,
    system: str | None = None,
    offered: list[Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the record of each prompt: its tokens by the chat template, and its text.

    Every prompt declares the tools whose schemas are `offered`. Raises jinja2's TemplateError for a
    prompt that the template rejects.
    """
    turns = [add_system(prompt, system) for prompt in group]
    chats = encoder.arrange([[{"role": role, "content": text} for role, text in t] for t in turns])
    tools = None if offered is None else [offered] * len(chats)
    given = {} if offered is None else {"tools": offered}
    return [
        {
            "input_ids": ids,
            "prompt_ids": ids,
            "messages": chat,
            "prompt": encoder.decode(ids),
            **given,
        }
        for chat, ids in zip(chats, encoder.render_prompts(chats, tools), strict=True)
    ]


def make_plain_prompts(
    group: Sequence[Turns], *, encoder: Encoder, system: str | None = None
) -> list[dict[str, Any]]:
    """Return the record of each prompt without a chat template: its lines, as one text."""
    texts, found = encode_prompts(group, encoder, system)
    return [
        {"input_ids": ids, "prompt_ids": ids, "prompt": text}
        for text, ids in zip(texts, found, strict=True)
    ]
