"""Turns conversations into tokens and labels by the model's chat template."""

from collections.abc import Sequence
from typing import Any, Literal

from .encoding import Encoder, Message, Tokens, ToMessages
from .masking import NOT_LEARNED, count_shared, find_learned
from .reasoning import split, vary_answer
from .rows import DataError, Turns, add_system

Learn = Literal["last answer", "every answer", "everything"]
BATCH_ROWS = 16  # beginnings of conversations in a call of the tokenizer


def make_chats(
    group: Sequence[Turns],
    *,
    encoder: Encoder,
    learn: Learn,
    system: str | None = None,
    append_eos: bool = False,
    to_messages: ToMessages | None = None,
    keep_prompt: bool = False,
    mask_reasoning: bool = False,
    offered: list[Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the record of each conversation: its tokens, its labels and what evaluation needs.

    `append_eos` is for a template that does not end an answer with it. `to_messages` is given for
    conversations that call tools: see tool_rows. With `keep_prompt` the record has the text of its
    prompt. With `mask_reasoning` whatever comes before the text of an answer is only read. Every
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
    chats = encoder.arrange(chats)
    prompts = encoder.render_prompts([chat[:-1] for chat in chats], tools)
    rows = encoder.render(chats, tools)
    if learn == "everything":
        labels = [list(ids) for ids in rows]
    elif learn == "last answer":
        labels = list(map(_learn_last, rows, prompts, chats))
    else:
        labels = _learn_all(encoder, chats, tools, rows, prompts)
    if mask_reasoning:
        _mask_reasoning(encoder, chats, tools, rows, labels, last_only=learn == "last answer")
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


def _learn_last(ids: Tokens, prompt: Tokens, chat: Sequence[Message]) -> Tokens:
    """Return the labels of a conversation of which the last answer is learned."""
    begin = count_shared(ids, prompt)
    if begin < len(prompt) - 1:
        raise DataError(f"the chat template rewrites earlier turns, as in {chat}")
    return [NOT_LEARNED] * begin + ids[begin:]


def _learn_all(
    encoder: Encoder,
    chats: Sequence[Sequence[Message]],
    tools: Sequence[list[Any] | None] | None,
    rows: Sequence[Tokens],
    prompts: Sequence[Tokens],
) -> list[Tokens]:
    """Return the labels of conversations of which every answer is learned."""
    labels = [_learn_last(*row) for row in zip(rows, prompts, chats, strict=True)]
    earlier = [(chat, turn) for chat, turn in _list_answers(chats) if turn + 1 < len(chats[chat])]
    for start in range(0, len(earlier), BATCH_ROWS):
        some = earlier[start : start + BATCH_ROWS]
        given = None if tools is None else [tools[chat] for chat, _ in some]
        befores = encoder.render_prompts([chats[chat][:turn] for chat, turn in some], given)
        uptos = encoder.render([chats[chat][: turn + 1] for chat, turn in some], given)
        for (chat, _), before, upto in zip(some, befores, uptos, strict=True):
            if found := find_learned(rows[chat], before, upto):
                begin, end = found
                labels[chat][begin:end] = rows[chat][begin:end]
    return labels


def _mask_reasoning(
    encoder: Encoder,
    chats: Sequence[Sequence[Message]],
    tools: Sequence[list[Any] | None] | None,
    rows: Sequence[Tokens],
    labels: Sequence[Tokens],
    *,
    last_only: bool,
) -> None:
    """Set the labels before the text of each answer, or of each last one, to NOT_LEARNED.

    Another answer in its place shows where the text begins: the tokens before it are the same.
    """
    places = _list_answers(chats)
    if last_only:
        places = [(chat, turn) for chat, turn in places if turn + 1 == len(chats[chat])]
    for start in range(0, len(places), BATCH_ROWS):
        some = places[start : start + BATCH_ROWS]
        given = None if tools is None else [tools[chat] for chat, _ in some]
        befores = encoder.render_prompts([chats[chat][:turn] for chat, turn in some], given)
        varied = [[*chats[chat][:turn], vary_answer(chats[chat][turn])] for chat, turn in some]
        for (chat, _), before, other in zip(
            some, befores, encoder.render(varied, given), strict=True
        ):
            begin, end = (count_shared(rows[chat], beginning) for beginning in (before, other))
            labels[chat][begin:end] = [NOT_LEARNED] * max(0, end - begin)


def _list_answers(chats: Sequence[Sequence[Message]]) -> list[tuple[int, int]]:
    """Return the places of all answers: the conversation's and the turn's."""
    return [
        (chat, turn)
        for chat, messages in enumerate(chats)
        for turn, message in enumerate(messages)
        if message["role"] == "assistant"
    ]
