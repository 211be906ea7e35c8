"""The models and the rows of the GPU benchmark: random weights, words without a meaning."""

import json
import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.cases import SHAPES, Case
from benchmarks.sentencepiece_models import finish_tokenizer, train_sentencepiece

_SEED: Final = 4
_TOKENS: Final = 320  # of the tokenizer; the model has its real vocabulary
_NAMED: Final = {
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "bos_token": "<s>",
    "unk_token": "<unk>",
}
_SHARD: Final = "1GB"  # so that many cores hash them at once
_WORDS: Final = ("parcel", "order", "refund", "invoice", "late", "where", "please", "account")
_TEMPLATE: Final = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}{% if m['role'] =="
    " 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
_TOKENS_PER_WORD: Final = 3  # at least, with its number
_SPREAD: Final = 0.8  # of the logarithm of the lengths of rows that are not all long


def describe_model(folder: Path, shape: str) -> None:
    """Write the tokenizer and the config of a Llama of this shape, without its weights."""
    folder.mkdir(parents=True)
    texts = [_text(number, 40) for number in range(400)]
    named = tuple(_NAMED.values())
    (folder / "tokenizer.model").write_bytes(
        train_sentencepiece(texts, tokens=_TOKENS, named=named)
    )
    settings = {**_NAMED, "add_prefix_space": False, "chat_template": _TEMPLATE}
    finish_tokenizer(folder, settings)
    _configure(shape).save_pretrained(folder)


def make_model(folder: Path, shape: str) -> None:
    """Write random 16-bit weights of a Llama of this shape, made on a GPU if there is one."""
    import torch  # noqa: PLC0415 - takes seconds, and a run without a GPU ends before
    from transformers import LlamaForCausalLM  # noqa: PLC0415

    torch.manual_seed(_SEED)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            model = LlamaForCausalLM(_configure(shape))
    finally:
        torch.set_default_dtype(before)
    model.save_pretrained(folder, max_shard_size=_SHARD)
    del model
    torch.cuda.empty_cache()  # does nothing without a GPU


def _configure(shape: str) -> Any:
    from transformers import LlamaConfig  # noqa: PLC0415

    ids: dict[str, Any] = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    kind: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], "dtype": "bfloat16"}
    return LlamaConfig(**SHAPES[shape], **ids, **kind)


def write_rows(path: Path, case: Case, *, rows: int) -> None:
    """Write different rows that are all longer than the case's length.

    Where rows are packed, or the plan chooses how, their lengths are log-normal instead.
    """
    varied = case.packed or case.varied or not case.micro
    drawn = random.Random(_SEED)  # noqa: S311 - lengths of rows
    median = case.tokens / (8 * _TOKENS_PER_WORD)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            words = case.tokens
            if varied:
                words = min(words, 4 + round(median * math.exp(drawn.gauss(0, _SPREAD))))
            file.write(json.dumps(_row(case, number, words)) + "\n")


def _row(case: Case, number: int, words: int) -> Mapping[str, str | bool]:
    if case.objective in {"dpo", "reward"}:
        answers = _text(number, words), _text(number + 1, words)
        prompt = _text(number, 4)
        return {"prompt": prompt, "chosen": answers[0], "rejected": answers[1]}
    if case.objective == "kto":
        prompt, answer = _text(number, 4), _text(number, words)
        return {"prompt": prompt, "completion": answer, "label": number % 2 == 0}
    if case.objective == "grpo":
        short = max(2, words // 2 if case.varied else words // 16)
        return {"prompt": _text(number, short), "completion": _text(number, 2)}
    return {"text": _text(number, words)}


def _text(number: int, words: int) -> str:
    return " ".join(_write_words(number, words))


def _write_words(number: int, words: int) -> Iterator[str]:
    for place in range(words):
        yield f"{_WORDS[(number * 7 + place * place) % len(_WORDS)]} {number * words + place}"
