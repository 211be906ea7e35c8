"""Loads a model to judge it, and measures the loss of token sequences with it."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from ..language_models import find_class
from ..tokens.encoding import NOT_LEARNED

BATCH_ROWS = 16
BATCH_TOKENS = 4096  # of a batch with its padding: each has a logit per word of the vocabulary
CHUNK_TOKENS = 512  # whose logits are in fp32 at a time

#: The ids of a row, and one label for each id.
Labeled = tuple[list[int], list[int]]
#: Given a model, the places of sequences and their ids, returns the inputs other than tokens.
See = Callable[[Any, Sequence[int], Sequence[list[int]]], Mapping[str, Any]]


def load(
    source: Any,
    *,
    dtype: Any,
    attention: str,
    device: str,
    kind: Any = None,
    words: int | None = None,
    use_safetensors: bool | None = True,
    **options: Any,
) -> Any:
    """Return a model in evaluation mode, after freeing the memory of an earlier one.

    `kind` is the Auto class, by default the one for text. `words` is the size of the vocabulary,
    for a base whose embeddings have no rows for new tokens yet. `options` go to `from_pretrained`.
    """
    gc.collect()  # a model that is spread over GPUs contains cycles
    torch.cuda.empty_cache()
    kind = kind or find_class(source, **options)
    model = kind.from_pretrained(
        source,
        dtype=dtype,
        attn_implementation=attention,
        device_map=device,
        use_safetensors=use_safetensors,
        **options,
    )
    if words is not None and words > model.get_input_embeddings().num_embeddings:
        torch.manual_seed(0)
        model.resize_token_embeddings(words)
    return model.eval()


def choose_padding(tokenizer: Any) -> int:
    """Return the id of the token to pad with; padding is neither read nor counted."""
    known = tokenizer.pad_token_id is not None
    return int(tokenizer.pad_token_id if known else tokenizer.eos_token_id)


def select_rows(rows: Sequence[Any], most: int) -> list[Any]:
    """Return at most `most` rows, evenly spaced."""
    count = min(len(rows), most)
    return [rows[place * len(rows) // count] for place in range(count)]


def make_batches(
    lengths: Sequence[int], *, most_rows: int = BATCH_ROWS, most_tokens: int = BATCH_TOKENS
) -> Iterator[list[int]]:
    """Yield the places of sequences of similar length, as many as a batch holds."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        is_full = len(batch) == most_rows or (len(batch) + 1) * lengths[place] > most_tokens
        if batch and is_full:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def compute_logits(
    model: Any, sequences: Sequence[list[int]], pad: int, more: Mapping[str, Any] | None = None
) -> Any:
    """Return the logits of token sequences, which are padded to the longest of them."""
    width = max(map(len, sequences))
    ids = [[*tokens, *[pad] * (width - len(tokens))] for tokens in sequences]
    reads = [[1] * len(tokens) + [0] * (width - len(tokens)) for tokens in sequences]
    with torch.inference_mode():
        return model(
            input_ids=torch.tensor(ids, device=model.device),
            attention_mask=torch.tensor(reads, device=model.device),
            **(more or {}),
        ).logits


def measure_loss(
    model: Any,
    sequences: Sequence[Labeled],
    pad: int,
    *,
    most_rows: int = BATCH_ROWS,
    most_tokens: int = BATCH_TOKENS,
    see: See | None = None,
) -> tuple[list[float], list[int]]:
    """Return the loss of each sequence in nats, summed over its learned tokens, and their number.

    The loss of a split is the sum of the nats over the sum of the tokens, so it is the same in any
    batches. `see` returns the model's inputs other than tokens, for some of the sequences.
    """
    nats, tokens = [0.0] * len(sequences), [0] * len(sequences)
    lengths = [len(ids) for ids, _ in sequences]
    for batch in make_batches(lengths, most_rows=most_rows, most_tokens=most_tokens):
        ids = [sequences[place][0] for place in batch]
        logits = compute_logits(model, ids, pad, see(model, batch, ids) if see else {})
        for place, row in zip(batch, logits, strict=True):
            labels = torch.tensor(sequences[place][1][1:], device=row.device)
            learned: Any = (labels != NOT_LEARNED).nonzero().flatten()
            nats[place] = sum(
                cross_entropy(row[some].float(), labels[some], reduction="sum").item()
                for some in learned.split(CHUNK_TOKENS)
            )
            tokens[place] = len(learned)
    return nats, tokens
