"""Tokenizers of the benchmarks that are trained with sentencepiece on their own texts.

Imports no test: the GPU benchmark runs where `tests/` is left out.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def train_sentencepiece(
    texts: Iterable[str], *, tokens: int, named: Sequence[str], markers: Sequence[str] = ()
) -> bytes:
    """Return a `tokenizer.model` with this many tokens: BPE with byte fallback, no dummy prefix.

    `named` are padding, end, begin and unknown; they get the ids 0 to 3, as in Gemma.
    """
    import sentencepiece  # noqa: PLC0415 - most benchmarks need no training of a tokenizer

    model = io.BytesIO()
    pad, end, begin, unknown = named
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type="bpe",
        vocab_size=tokens,
        byte_fallback=True,
        character_coverage=0.9995,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        split_digits=True,
        control_symbols=list(markers),
        pad_id=0,
        pad_piece=pad,
        eos_id=1,
        eos_piece=end,
        bos_id=2,
        bos_piece=begin,
        unk_id=3,
        unk_piece=unknown,
        num_threads=1,
        minloglevel=2,
    )
    return model.getvalue()


def finish_tokenizer(folder: Path, named: Mapping[str, object]) -> None:
    """Write the files beside a `tokenizer.model`: its settings, and tokenizer.json."""
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds

    settings = {
        "tokenizer_class": "LlamaTokenizer",
        "add_bos_token": True,
        "add_eos_token": False,
        "model_max_length": 8192,
        **named,
    }
    written = json.dumps(settings, indent=1) + "\n"
    (folder / "tokenizer_config.json").write_text(written, encoding="utf-8")
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text(written, encoding="utf-8")
