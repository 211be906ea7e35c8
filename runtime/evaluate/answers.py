"""Generates the answers of a model that is in memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from ..read.reasoning import CLOSING, split
from .judging import make_batches

BATCH_TOKENS = 8192  # of prompts and answers: each has keys and values in every layer
LEARNED = ("labels", "chosen_ids", "completion_ids")  # columns of answers, by objective

Grade = Callable[[Sequence[str], Sequence[str]], list[float]]


def write(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    answer_tokens: int,
    *,
    images: Any = None,
) -> list[str]:
    """Return the answer that the model finds most likely (greedy) to the prompt of each row.

    Rows have `prompt_ids`, and the tokens of a right answer under one of LEARNED. Reasoning before
    an answer is left out, as in the right answer of the row. `images` is an
    image_batches.ImageReader for rows with images.
    """
    prompts = [row["prompt_ids"] for row in rows]
    ends = find_ends(model, tokenizer, rows)

    def see(places: Sequence[int]) -> Mapping[str, Any]:
        asked = [rows[place] for place in places]
        starts = [prompts[place] for place in places]
        read: Mapping[str, Any] = images.read_for(model, asked, starts, left=True)
        return read

    written = generate(
        model, tokenizer, prompts, answer_tokens, ends, see=see if images is not None else None
    )
    texts = tokenizer.batch_decode(written, skip_special_tokens=True) if rows else []
    said = []
    for row, text in zip(rows, texts, strict=True):
        is_whole = CLOSING in str(row.get("answer", ""))
        said.append(text.strip() if is_whole else split(text)[1].strip())
    return said


def find_ends(model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the tokens that end a turn of the model, of the tokenizer or of these rows."""
    ends = model.generation_config.eos_token_id
    ends = set(ends if isinstance(ends, list) else [ends]) | {tokenizer.eos_token_id}
    lasts = {row[name][-1] for row in rows for name in LEARNED if row.get(name)}
    ends |= lasts & set(tokenizer.all_special_ids)
    return sorted(ends - {None})


def generate(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[list[int]],
    answer_tokens: int,
    ends: Sequence[int],
    *,
    see: Callable[[Sequence[int]], Mapping[str, Any]] | None = None,
) -> list[list[int]]:
    """Return the tokens of the most likely answer to each prompt, up to the first of `ends`.

    `see` returns the model's inputs other than tokens, for the prompts at some places.
    """
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    found: list[list[int]] = [[] for _ in prompts]
    lengths = [len(prompt) + answer_tokens for prompt in prompts]
    for batch in make_batches(lengths, most_tokens=BATCH_TOKENS):
        width = len(prompts[batch[-1]])
        ids = [[pad] * (width - len(prompts[place])) + prompts[place] for place in batch]
        reads = [[0] * (width - len(prompts[place])) + [1] * len(prompts[place]) for place in batch]
        seen = see(batch) if see is not None else {}
        written = model.generate(
            input_ids=torch.tensor(ids, device=model.device),
            attention_mask=torch.tensor(reads, device=model.device),
            **seen,
            max_new_tokens=answer_tokens,
            do_sample=False,
            eos_token_id=list(ends),
            pad_token_id=pad,
            tokenizer=tokenizer,  # for the texts that end an answer, if the model has any
        )[:, width:].tolist()
        for place, tokens in zip(batch, written, strict=True):
            last = next((n for n, token in enumerate(tokens, 1) if token in ends), len(tokens))
            found[place] = tokens[:last]
    return found


def list_predictions(
    rows: Sequence[Mapping[str, Any]],
    tokenizer: Any,
    grade: Grade,
    said: Sequence[str],
    base_said: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Yield each row with the answers of the trained model and of the base, and their scores."""
    right = [row["answer"] for row in rows]
    scores, base_scores = grade(said, right), grade(base_said, right)
    for place, row in enumerate(rows):
        yield {
            "prompt": tokenizer.decode(row["prompt_ids"]),
            "answer": row["answer"],
            "said": said[place],
            "score": scores[place],
            "base_said": base_said[place],
            "base_score": base_scores[place],
            "prompt_ids": row["prompt_ids"],
        }
