"""Turns preferences and feedback into tokens: a prompt and the answers that are compared."""

from collections.abc import Sequence
from typing import Any

from ..read.reasoning import split
from ..read.rows import DataError, Turn, Turns, add_system
from .encoding import NOT_LEARNED, Encoder, Message, ToMessages, count_shared
from .plain_records import encode_answers, encode_prompts

Record = dict[str, Any]


def make_pairs(
    group: Sequence[Turns],
    *,
    encoder: Encoder,
    whole: bool,
    system: str | None = None,
    append_eos: bool = False,
    to_messages: ToMessages | None = None,
) -> list[Record]:
    """Return the record of each preference: its prompt and both answers, by the chat template.

    With `whole` the answers begin with their prompt, as a reward model reads them. `append_eos` is
    for a template that does not end an answer with it. `to_messages` is given for rows with images:
    see image_records.
    """
    read = to_messages or _read_texts
    better, worse = (
        encoder.arrange([_read_pair(turns, place, system, read) for turns in group])
        for place in (-2, -1)
    )
    prompts = encoder.render_prompts([chat[:-1] for chat in better])
    found = zip(group, better, prompts, encoder.render(better), encoder.render(worse), strict=True)
    records = []
    for turns, messages, prompt, ids, other in found:
        begin = min(count_shared(prompt, ids), count_shared(prompt, other))
        if begin < len(prompt) - 1:
            raise DataError(f"the chat template rewrites the prompt, as in {messages}")
        if append_eos:
            ids.append(encoder.eos)
            other.append(encoder.eos)
        records.append(
            {
                "input_ids": ids,
                "labels": [NOT_LEARNED] * begin + ids[begin:],
                "prompt_ids": ids[:begin],
                "chosen_ids": ids if whole else ids[begin:],
                "rejected_ids": other if whole else other[begin:],
                "messages": messages,
                "answer": split(turns[-2][1])[1],
            }
        )
    return records


def make_plain_pairs(
    group: Sequence[Turns], *, encoder: Encoder, whole: bool, system: str | None = None
) -> list[Record]:
    """Return the record of each preference without a chat template."""
    prompts, prompt_ids = encode_prompts([turns[:-2] for turns in group], encoder, system)
    better, worse = (
        encode_answers([turns[place][1] for turns in group], encoder) for place in (-2, -1)
    )
    found = zip(group, prompts, prompt_ids, better, worse, strict=True)
    return [
        {
            "input_ids": before + chosen,
            "labels": [NOT_LEARNED] * len(before) + chosen,
            "prompt_ids": before,
            "chosen_ids": before + chosen if whole else chosen,
            "rejected_ids": before + rejected if whole else rejected,
            "prompt": prompt,
            "answer": turns[-2][1],
        }
        for turns, prompt, before, chosen, rejected in found
    ]


def make_feedback(
    group: Sequence[Turns],
    *,
    encoder: Encoder,
    system: str | None = None,
    append_eos: bool = False,
) -> list[Record]:
    """Return the record of each row of feedback: prompt, answer and verdict, by the template."""
    chats = encoder.arrange(_begin_chats(group, system))
    prompts = encoder.render_prompts(chats)
    chats = [_answer(chat, turns[-2][1]) for chat, turns in zip(chats, group, strict=True)]
    chats = encoder.arrange(chats)
    records = []
    for turns, messages, prompt, ids in zip(
        group, chats, prompts, encoder.render(chats), strict=True
    ):
        begin = count_shared(prompt, ids)
        if begin < len(prompt) - 1:
            raise DataError(f"the chat template rewrites the prompt, as in {messages}")
        if append_eos:
            ids.append(encoder.eos)
        records.append(
            {
                "input_ids": ids,
                "labels": [NOT_LEARNED] * begin + ids[begin:],
                "prompt_ids": ids[:begin],
                "completion_ids": ids[begin:],
                "label": turns[-1][1] == "true",
                "messages": messages,
                "answer": split(turns[-2][1])[1],
            }
        )
    return records


def make_plain_feedback(
    group: Sequence[Turns], *, encoder: Encoder, system: str | None = None
) -> list[Record]:
    """Return the record of each row of feedback without a chat template."""
    prompts, prompt_ids = encode_prompts([turns[:-2] for turns in group], encoder, system)
    answers = encode_answers([turns[-2][1] for turns in group], encoder)
    found = zip(group, prompts, prompt_ids, answers, strict=True)
    return [
        {
            "input_ids": before + answer,
            "labels": [NOT_LEARNED] * len(before) + answer,
            "prompt_ids": before,
            "completion_ids": answer,
            "label": turns[-1][1] == "true",
            "prompt": prompt,
            "answer": turns[-2][1],
        }
        for turns, prompt, before, answer in found
    ]


def count_pair(record: Record) -> int:
    """Return the tokens of the longer conversation of a preference."""
    return len(record["prompt_ids"]) + count_whole_pair(record)


def count_whole_pair(record: Record) -> int:
    """Return the same if the answers begin with their prompt."""
    return max(len(record["chosen_ids"]), len(record["rejected_ids"]))


def cut_answers(record: Record, most: int) -> None:
    """Cut the answers of a record whose conversations may have `most` tokens."""
    room = max(0, most - len(record["prompt_ids"]))
    for name in ("chosen_ids", "rejected_ids", "completion_ids"):
        if name in record:
            record[name] = record[name][:room]


def cut_whole_answers(record: Record, most: int) -> None:
    """Cut answers that begin with their prompt."""
    for name in ("chosen_ids", "rejected_ids"):
        record[name] = record[name][:most]


def _read_pair(turns: Turns, place: int, system: str | None, read: ToMessages) -> list[Message]:
    """Return the messages of a preference with the answer at this place of its turns."""
    return read(add_system((*turns[:-2], ("assistant", turns[place][1])), system))[0]


def _read_texts(turns: Sequence[Turn]) -> tuple[list[Message], None]:
    return [{"role": role, "content": text} for role, text in turns], None


def _begin_chats(group: Sequence[Turns], system: str | None) -> list[list[Message]]:
    """Return the messages of each row before its answers."""
    before = [add_system(turns[:-2], system) for turns in group]
    return [[{"role": role, "content": text} for role, text in turns] for turns in before]


def _answer(chat: list[Message], text: str) -> list[Message]:
    return [*chat, {"role": "assistant", "content": text}]
