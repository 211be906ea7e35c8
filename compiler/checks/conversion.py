"""The rules about tokenizers on their way to GGUF (FTC622, FTC640 to FTC646)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.reading import find_reading
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.converter import find_converter, pre_tokenizer_name

_NAMED = 3  # markers that a message names
_WHERE = "/model/id"
_MEANINGS: Final[Mapping[str, str]] = {
    "n_ctx": "the number that `n_positions` has",
    "rotary_pct": "the share of a head that is rotated (`partial_rotary_factor`)",
}
_NO_EXPORT = "export nothing (the merged 16-bit folder remains)"
_BRING_MODEL = "copy `tokenizer.model` from the model's original repository into its folder"


@rule("FTC622", "sentencepiece-model-missing", "warning", reads=("model", "tokenizer"))
def sentencepiece_model_missing(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer is of the sentencepiece kind, and `tokenizer.model` is not there.

    Why it matters: The GGUF converter reads the pieces from `tokenizer.json` instead, where their
    scores are not, and gives all the same. llama.cpp then splits text differently from what the
    model was trained on: in 363 to 1,261 of 3,000 messages, measured. `quantize.py` compares, and
    stops.

    Example: {"model": "./mistral-without-tokenizer.model", "export": ["Q8_0"]}

    Use instead: {"model": "./mistral-with-tokenizer.model", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is not None and reading.path == "equal" and not _is_unpadded(case):
        yield Problem(
            message="the model has no `tokenizer.model`: the converter will give all tokens equal "
            "scores, and llama.cpp will split text differently",
            help=_BRING_MODEL,
            pointer=_WHERE,
        )


@rule("FTC640", "tokenizer-without-pieces", "error", reads=("model", "tokenizer"))
def tokenizer_without_pieces(case: Case) -> Iterator[Problem]:
    """What it is: `tokenizer.model` is missing, or is no sentencepiece model.

    Why it matters: The converter reads this architecture's tokenizer from it. Training and merging
    would go well, and then the conversion to GGUF stops. A folder cloned without Git LFS has a
    pointer of a few lines in the file's place.

    Example: {"model": "./phi-3-without-tokenizer.model", "export": ["Q4_K_M"]}

    Use instead: {"model": "./phi-3-with-tokenizer.model", "export": ["Q4_K_M"]}
    """
    reading = find_reading(case)
    if reading is None:
        return
    there = case.tokenizer.has_sentencepiece_model
    known = pre_tokenizer_name(reading.found.pre_tokenizer_sha256) is not None
    by_hash = reading.path == "bpe" and reading.found.byte_fallback and not known and not there
    broken = reading.path == "scores" and reading.found.pieces is None
    if reading.path == "stop" or by_hash or broken:
        what = "is no sentencepiece model" if there else "is missing"
        yield Problem(
            message=f"`tokenizer.model` {what}: the conversion of `{case.model.architecture}` to "
            "GGUF stops without it",
            help=f"{_BRING_MODEL}, or {_NO_EXPORT}",
            pointer=_WHERE,
        )


@rule("FTC641", "unknown-pre-tokenizer", "error", reads=("model", "tokenizer"), fix_safety="unsafe")
def unknown_pre_tokenizer(case: Case) -> Iterator[Problem]:
    """What it is: The pinned llama.cpp does not know how this tokenizer cuts text into words.

    Why it matters: The converter tells pre-tokenizers apart by a hash of the tokens of one text.
    One that is not in its table, such as every byte-level BPE that somebody trained or retrained,
    stops it with "BPE pre-tokenizer was not recognized", after the training.

    Example: {"model": "./my-own-byte-level-bpe", "export": ["Q4_K_M"]}

    Use instead: {"model": "./my-own-byte-level-bpe", "export": []}
    """
    reading = find_reading(case)
    if reading is None or reading.path != "bpe":
        return
    sha256 = reading.found.pre_tokenizer_sha256
    without_pieces = reading.found.byte_fallback and not case.tokenizer.has_sentencepiece_model
    if pre_tokenizer_name(sha256) is None and not without_pieces:
        yield Problem(
            message=f"llama.cpp does not know this tokenizer (hash {sha256[:12]}): the conversion "
            "to GGUF stops with `BPE pre-tokenizer was not recognized`",
            help="use the tokenizer that the base model came with, unchanged, or "
            f"{_NO_EXPORT}; a newer llama.cpp may know it",
            pointer=_WHERE,
            fix=(put("/export/types", []),),
        )


@rule("FTC643", "marker-missing-from-gguf", "error", reads=("model", "tokenizer"))
def marker_missing_from_gguf(case: Case) -> Iterator[Problem]:
    """What it is: A token that every row holds stands in `tokenizer.json` alone.

    Why it matters: The converter of this architecture reads `tokenizer.model`, `added_tokens.json`
    and `tokenizer_config.json`. The GGUF has a filler in the token's place: llama.cpp spells the
    marker out letter by letter, which the model has never seen, and never stops at it.

    Example: {"model": "./llama-with-chatml-tokens", "export": ["Q8_0"]}

    Use instead: {"model": "./llama-with-chatml-tokens-in-added_tokens.json", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is None or reading.path != "scores" or reading.converter.reads_added:
        return
    if unlisted := reading.found.unlisted:
        names = ", ".join(f"`{name}`" for name in unlisted[:_NAMED])
        more = " and others" if len(unlisted) > _NAMED else ""
        yield Problem(
            message=f"the GGUF will lack {names}{more}: the converter does not read "
            "`tokenizer.json` for this architecture, and nothing else lists it",
            help="list it with its id in `added_tokens.json` beside the tokenizer, as in "
            '`{"<|im_end|>": 32001}`',
            pointer=_WHERE,
        )


@rule("FTC644", "vocabulary-left-unpadded", "error", reads=("model", "tokenizer"))
def vocabulary_left_unpadded(case: Case) -> Iterator[Problem]:
    """What it is: There is no `tokenizer.model`, and fewer or more tokens than embedding rows.

    Why it matters: From `tokenizer.json` alone the converter writes the tokens as they are, where
    it otherwise fills up to the embedding. llama.cpp then refuses to load the file, since the
    shape of `token_embd.weight` is not what the tokens say.

    Example: {"model": "./padded-mistral-without-tokenizer.model", "export": ["Q8_0"]}

    Use instead: {"model": "./padded-mistral-with-tokenizer.model", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is not None and reading.path == "equal" and _is_unpadded(case):
        yield Problem(
            message=f"without `tokenizer.model` the GGUF would have "
            f"{case.tokenizer.vocabulary_tokens} tokens and {case.model.embedding_rows} rows of "
            "the embedding, which llama.cpp does not load",
            help=_BRING_MODEL,
            pointer=_WHERE,
        )


@rule("FTC645", "untied-head-dropped", "error", reads=("model",), fix_safety="unsafe")
def untied_head_dropped(case: Case) -> Iterator[Problem]:
    """What it is: The model has an output matrix of its own, which its converter leaves out.

    Why it matters: llama.cpp answers with the embedding in its place, as it is right for a model
    whose two ends are tied. This one's are not, and its answers are noise.

    Example: {"model": "./gemma-2-with-untied-head", "export": ["Q8_0"]}

    Use instead: {"model": "google/gemma-2-2b-it", "export": ["Q8_0"]}
    """
    converter, shape = find_converter(case.model.architecture), case.model.shape
    if not case.spec.export.types or converter is None or shape is None:
        return
    if converter.drops_head and not shape.tied:
        yield Problem(
            message=f"the converter leaves out the output matrix of `{shape.architecture}`, and "
            "this model's is not tied to the embedding",
            help=f"{_NO_EXPORT}, or choose a model with `tie_word_embeddings`",
            pointer="/export/types",
            fix=(put("/export/types", []),),
        )


@rule("FTC646", "config-key-missing", "error", reads=("model",))
def config_key_missing(case: Case) -> Iterator[Problem]:
    """What it is: `config.json` lacks a key that the converter of this architecture looks up.

    Why it matters: transformers does not write it any more, so that `merge.py` has to carry it over
    from the base model. Where that was saved by transformers as well, nobody has it, and the
    conversion to GGUF stops with a `KeyError` after the training.

    Example: {"model": "./gpt-2-saved-again", "export": ["Q8_0"]}

    Use instead: {"model": "openai-community/gpt2", "export": ["Q8_0"]}
    """
    missing = case.model.unwritten_keys
    if case.spec.export.types and missing:
        yield Problem(
            message=f"the model's `config.json` has no `{missing[0]}`: the conversion of "
            f"`{case.model.architecture}` to GGUF stops without it",
            help=f"add the key, {_MEANINGS.get(missing[0], 'as the original model has it')}, to "
            f"the base model's `config.json`, or {_NO_EXPORT}",
            pointer=_WHERE,
        )


def _is_unpadded(case: Case) -> bool:
    return case.tokenizer.vocabulary_tokens != case.model.embedding_rows
