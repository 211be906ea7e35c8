"""Turns prompts and answers into tokens and labels without a chat template."""

from collections.abc import Sequence
from typing import Any

from ..read.rows import Turns, add_system
from .encoding import NOT_LEARNED, Encoder, Tokens


def make_answers(
    group: Sequence[Turns], *, encoder: Encoder, learn_all: bool, system: str | None = None
) -> list[dict[str, Any]]:
    """Return the record of each row: its prompt, a line feed, its answer and the end token."""
    prompts, prompt_ids = encode_prompts([turns[:-1] for turns in group], encoder, system)
    answers = encode_answers([turns[-1][1] for turns in group], encoder)
    records = []
    for turns, prompt, before, answer in zip(group, prompts, prompt_ids, answers, strict=True):
        ids = before + answer
        records.append(
            {
                "input_ids": ids,
                "labels": ids if learn_all else [NOT_LEARNED] * len(before) + answer,
                "prompt_ids": before,
                "prompt": prompt,
                "answer": turns[-1][1],
            }
        )
    return records


def encode_prompts(
    rows: Sequence[Turns], encoder: Encoder, system: str | None
) -> tuple[list[str], list[Tokens]]:
    """Return the texts and the tokens of prompts; each ends in a line feed and has no end token."""
    rows = [add_system(turns, system) for turns in rows]
    texts = [join_prompt([text for _, text in turns]) for turns in rows]
    found = encoder.encode_marked(texts)
    for ids in found:
        if ids[-1] == encoder.eos:
            ids.pop()
    return texts, found


def encode_answers(texts: Sequence[str], encoder: Encoder) -> list[Tokens]:
    """Return the tokens of answers, each with the token that ends it."""
    found = encoder.tokenizer(texts, add_special_tokens=False)["input_ids"]
    return [[*ids, encoder.eos] for ids in found]


def join_prompt(texts: Sequence[str]) -> str:
    """Return the prompt of a model without a chat template: each text followed by a line feed."""
    return "\n".join([*texts, ""])
