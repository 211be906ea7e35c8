"""Generates the answers of a model that is in memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from .reasoning import CLOSING, split

BATCH_ROWS = 16
LEARNED = ("labels", "chosen_ids", "completion_ids")  # by the objective

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

    Rows have `prompt_ids`, and the tokens of a right answer under one of LEARNED. An answer ends at
    a token that ends a turn of the model, of the tokenizer or of these rows, and has at most
    `answer_tokens` tokens. Reasoning before it is left out, as in the right answer of the row.
    `images` is an image_batches.ImageReader for rows with images.
    """
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    ends = model.generation_config.eos_token_id
    ends = set(ends if isinstance(ends, list) else [ends]) | {tokenizer.eos_token_id}
    lasts = {row[name][-1] for row in rows for name in LEARNED if row.get(name)}
    ends |= lasts & set(tokenizer.all_special_ids)
    by_length = sorted(range(len(rows)), key=lambda place: len(rows[place]["prompt_ids"]))
    said = [""] * len(rows)
    for start in range(0, len(rows), BATCH_ROWS):
        batch = by_length[start : start + BATCH_ROWS]
        prompts = [rows[place]["prompt_ids"] for place in batch]
        width = len(prompts[-1])
        ids = [[pad] * (width - len(prompt)) + prompt for prompt in prompts]
        reads = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
        asked = [rows[place] for place in batch]
        seen = images.read_for(model, asked, prompts, left=True) if images else {}
        written = model.generate(
            input_ids=torch.tensor(ids, device=model.device),
            attention_mask=torch.tensor(reads, device=model.device),
            **seen,
            max_new_tokens=answer_tokens,
            do_sample=False,
            eos_token_id=sorted(ends - {None}),
            pad_token_id=pad,
        )[:, width:]
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        for place, text in zip(batch, texts, strict=True):
            is_whole = CLOSING in str(rows[place].get("answer", ""))
            said[place] = text.strip() if is_whole else split(text)[1].strip()
    return said


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
