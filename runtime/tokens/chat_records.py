"""Turns conversations into tokens and labels by the model's chat template."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..read.reasoning import split
from ..read.rows import DataError, Turns, Unlearned, add_system
from .encoding import NOT_LEARNED, Chats, Encoder, Tokens, ToMessages, count_shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Conversations with their tools, their tokens `rows`, and the tokens of their prompts.

    `unlearned` are the places of answers that their rows exclude: the conversation's and the
    message's.
    """

    encoder: Encoder
    chats: Chats
    unlearned: frozenset[tuple[int, int]]
    tools: Sequence[list[Any] | None] | None
    rows: Sequence[Tokens]
    prompts: Sequence[Tokens]


#: Returns the labels of each conversation.
Learn = Callable[[Rendered], list[Tokens]]


def make_chats(
    group: Sequence[Turns],
    *,
    encoder: Encoder,
    learn: Learn,
    system: str | None = None,
    append_eos: bool = False,
    to_messages: ToMessages | None = None,
    keep_prompt: bool = False,
    offered: list[Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the record of each conversation: its tokens, its labels and what evaluation needs.

    `learn` returns the labels: `learn_last_answer`, or a function of chat_labels. `append_eos` is
    for a template that does not end an answer with it. `to_messages` is given for conversations
    that call tools: see tool_rows. With `keep_prompt` the record has the text of its prompt. Every
    prompt declares the tools whose schemas are `offered`.

    Raises DataError, and jinja2's TemplateError for a row that the template rejects.
    """
    group = [add_system(turns, system) for turns in group]
    tools: list[list[Any] | None] | None = None
    if to_messages is None:
        chats = [[{"role": role, "content": text} for role, text in turns] for turns in group]
        tools = None if offered is None else [offered] * len(chats)
    else:
        pairs = [to_messages(turns) for turns in group]
        chats, tools = [chat for chat, _ in pairs], [tools for _, tools in pairs]
    unlearned = find_unlearned(chats)
    chats = encoder.arrange([[{**one, "role": str(one["role"])} for one in chat] for chat in chats])
    prompts = encoder.render_prompts([chat[:-1] for chat in chats], tools)
    rows = encoder.render(chats, tools)
    labels = learn(
        Rendered(
            encoder=encoder,
            chats=chats,
            unlearned=unlearned,
            tools=tools,
            rows=rows,
            prompts=prompts,
        )
    )
    records = []
    for place, (chat, ids, learned) in enumerate(zip(chats, rows, labels, strict=True)):
        prompt = prompts[place]
        if append_eos:
            ids.append(encoder.eos)
            learned.append(encoder.eos)
        record = {"input_ids": ids, "labels": learned, "prompt_ids": prompt, "messages": chat}
        if tools is not None:
            record["tools"] = tools[place]
        if to_messages is None:
            record["answer"] = split(group[place][-1][1])[1]
        else:
            answer = ids[count_shared(ids, prompt) :]
            record["answer"] = split(encoder.decode(answer, skip_special_tokens=True))[1]
        if keep_prompt:
            record["prompt"] = encoder.decode(prompt)
        records.append(record)
    return records


def find_unlearned(chats: Chats) -> frozenset[tuple[int, int]]:
    """Return the places of the answers that their rows exclude from training."""
    return frozenset(
        (chat, turn)
        for chat, messages in enumerate(chats)
        for turn, message in enumerate(messages)
        if isinstance(message["role"], Unlearned)
    )


def learn_last_answer(given: Rendered) -> list[Tokens]:
    """Return the labels of conversations of which the last answer is learned."""
    labels = []
    for chat, ids, prompt in zip(given.chats, given.rows, given.prompts, strict=True):
        begin = count_shared(ids, prompt)
        if begin < len(prompt) - 1:
            raise DataError(f"the chat template rewrites earlier turns, as in {chat}")
        labels.append([NOT_LEARNED] * begin + ids[begin:])
    return labels
