"""Loads the teacher of a distillation, and measures how far a model's probabilities are from it.

The model learns to give each token of an answer the probability that the teacher gives it.
Evaluations measure this divergence on the answers in the data: sampled answers would give
different numbers at each evaluation. If the data has no answers, it is
measured on the model's own most likely ones.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers.utils.quantization_config import BitsAndBytesConfig

from ..language_models import find_class
from ..models.loaded_weights import require_weights
from ..tokens.encoding import NOT_LEARNED
from .answers import find_ends, generate
from .judging import (
    BATCH_ROWS,
    Labeled,
    choose_padding,
    compute_logits,
    make_batches,
)

_TOKENS = 512  # whose probabilities are compared at a time: each has a number per word


def load_teacher(
    source: Any,
    *,
    dtype: str,
    attention: str,
    rows: int | None = None,
    in_4_bits: bool = False,
    **options: Any,
) -> Any:
    """Return the teacher, frozen, in evaluation mode; `options` go to `from_pretrained`.

    `rows` is the student's number of rows in embedding and head. Extra rows of the teacher are for
    no token of the tokenizer and are removed; the logits of all tokens stay the same.
    """
    quantization = None
    if in_4_bits:
        quantization = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_4bit=True,
            bnb_4bit_compute_dtype=getattr(torch, dtype),
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
        )
    loading = find_class(source, revision=options.get("revision"))
    model, loaded = loading.from_pretrained(
        source,
        dtype=dtype,
        attn_implementation=attention,
        quantization_config=quantization,
        use_safetensors=True,
        output_loading_info=True,
        **options,
    )
    require_weights(model, loaded)
    if rows is not None and rows < model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(rows)
    return model.requires_grad_(False).eval()


def divergence(student: Any, teacher: Any, beta: float) -> Any:
    """Return the generalised Jensen-Shannon divergence of each token's logits, in nats.

    Section 3 of arXiv 2306.13649, as the pinned TRL computes it: 0 is the forward KL, from the
    teacher to the student, 1 the reverse KL, and between them both to their mixture.
    """
    own, other = student.float().log_softmax(-1), teacher.float().log_softmax(-1)
    if beta == 0:
        return (other.exp() * (other - own)).sum(-1)
    if beta == 1:
        return (own.exp() * (own - other)).sum(-1)
    mixture = torch.logaddexp(own + math.log1p(-beta), other + math.log(beta))
    to_teacher = (other.exp() * (other - mixture)).sum(-1)
    to_student = (own.exp() * (own - mixture)).sum(-1)
    return beta * to_teacher + (1 - beta) * to_student


def measure_divergence(
    model: Any,
    teacher: Any,
    sequences: Sequence[Labeled],
    pad: int,
    *,
    beta: float,
    temperature: float = 1.0,
) -> list[float]:
    """Return the divergence of each sequence in nats, summed over its learned tokens."""
    nats = [0.0] * len(sequences)
    lengths = [len(ids) for ids, _ in sequences]
    for batch in make_batches(lengths, most_rows=BATCH_ROWS):
        ids = [sequences[place][0] for place in batch]
        both = zip(compute_logits(model, ids, pad), compute_logits(teacher, ids, pad), strict=True)
        for place, (own, other) in zip(batch, both, strict=True):
            labels = torch.tensor(sequences[place][1][1:], device=own.device)
            learned: Any = (labels != NOT_LEARNED).nonzero().flatten()
            nats[place] = sum(
                divergence(
                    own[some] / temperature,
                    other[some.to(other.device)].to(own) / temperature,
                    beta,
                )
                .sum()
                .item()
                for some in learned.split(_TOKENS)
            )
    return nats


def measure_own_answers(
    model: Any,
    teacher: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    answer_tokens: int,
    *,
    beta: float,
    temperature: float,
) -> dict[str, Any]:
    """Return the model's most likely answers, and how far it is from the teacher on each of them.

    `said` has their texts, `apart` the divergence in nats, summed over the answer, and `tokens` the
    length of the answer.
    """
    prompts = [row["prompt_ids"] for row in rows]
    ends = find_ends(model, tokenizer, rows)
    written = generate(model, tokenizer, prompts, answer_tokens, ends)
    own = [
        (asked + said, [NOT_LEARNED] * len(asked) + said)
        for asked, said in zip(prompts, written, strict=True)
    ]
    pad = choose_padding(tokenizer)
    return {
        "said": tokenizer.batch_decode(written, skip_special_tokens=True),
        "apart": measure_divergence(model, teacher, own, pad, beta=beta, temperature=temperature),
        "tokens": list(map(len, written)),
    }
