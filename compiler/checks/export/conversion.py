"""The rules about tokenizers on their way to GGUF (FTC622, FTC640 to FTC647)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.checks.model.converter_reading import find_reading
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.exports.converter import find_converter, pre_tokenizer_name
from ftc.compiler.knowledge.multimodal.wrappers import TEXT_CLASS_KEY
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.text.tokenizer_classes import LEGACY_CLASSES
from ftc.spec.message import Message

_NAMED = 3  # markers that a message names
_WHERE = "/model/id"
_MEANINGS: Final[Mapping[str, Message]] = {
    "n_ctx": Message("phrase.same_number", {"key": "n_positions"}),
    "rotary_pct": Message("phrase.rotated_share", {"key": "partial_rotary_factor"}),
}


@rule("FTC622", "sentencepiece-model-missing", "warning", reads=("model", "tokenizer"))
def sentencepiece_model_missing(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer is a sentencepiece tokenizer, and `tokenizer.model` is missing.

    Why it matters: Without that file the GGUF converter reads the pieces from `tokenizer.json`,
    which has no scores, and gives all pieces the same score. llama.cpp then splits text differently
    from training: in 363 to 1,261 of 3,000 messages, measured. The export compares the two and
    stops.

    Example: {"model": "./mistral-without-tokenizer.model", "export": ["Q8_0"]}

    Use instead: {"model": "./mistral-with-tokenizer.model", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is not None and reading.path == "equal" and not _is_unpadded(case):
        yield problem(_WHERE)


@rule("FTC640", "tokenizer-without-pieces", "error", reads=("model", "tokenizer"))
def tokenizer_without_pieces(case: Case) -> Iterator[Problem]:
    """What it is: `tokenizer.model` is missing, or is not a sentencepiece model.

    Why it matters: The converter reads this architecture's tokenizer from that file. Training and
    merging would succeed, and then the conversion to GGUF would stop. A folder cloned without Git
    LFS has a short pointer file instead.

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
        yield problem(
            _WHERE, message="broken" if there else "", architecture=case.model.architecture
        )


@rule("FTC641", "unknown-pre-tokenizer", "error", reads=("model", "tokenizer"), fix_safety="unsafe")
def unknown_pre_tokenizer(case: Case) -> Iterator[Problem]:
    """What it is: The pinned llama.cpp does not know how this tokenizer splits text into words.

    Why it matters: The converter identifies a pre-tokenizer by a hash of the tokens of one text. A
    hash that is not in its table stops it with "BPE pre-tokenizer was not recognized", after the
    training. Every byte-level BPE that was trained or retrained has such a hash, and so has every
    vocabulary of word pieces but those of a few models, such as the English BERT.

    Example: {"model": "./my-own-byte-level-bpe", "export": ["Q4_K_M"]}

    Use instead: {"model": "./my-own-byte-level-bpe", "export": []}
    """
    reading = find_reading(case)
    if reading is None or reading.path not in ("bpe", "words"):
        return
    sha256 = reading.found.pre_tokenizer_sha256
    without_pieces = reading.found.byte_fallback and not case.tokenizer.has_sentencepiece_model
    without_pieces = without_pieces and reading.path == "bpe"  # FTC640 reports the others
    if pre_tokenizer_name(sha256) is None and not without_pieces:
        yield problem(_WHERE, fix=(put("/export/types", []),), hash=sha256[:12])


@rule("FTC643", "marker-missing-from-gguf", "error", reads=("model", "tokenizer"))
def marker_missing_from_gguf(case: Case) -> Iterator[Problem]:
    """What it is: A token that every row contains is listed only in `tokenizer.json`.

    Why it matters: The converter of this architecture reads `tokenizer.model`, `added_tokens.json`
    and `tokenizer_config.json`. The GGUF would have a filler in the token's place. llama.cpp would
    then split the marker into letters, which the model has never seen, and would never stop at it.

    Example: {"model": "./llama-with-chatml-tokens", "export": ["Q8_0"]}

    Use instead: {"model": "./llama-with-chatml-tokens-in-added_tokens.json", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is None or reading.path != "scores" or reading.converter.reads_added:
        return
    if unlisted := reading.found.unlisted:
        more = len(unlisted) > _NAMED
        yield problem(_WHERE, message="more" if more else "", names=unlisted[:_NAMED])


@rule("FTC644", "vocabulary-left-unpadded", "error", reads=("model", "tokenizer"))
def vocabulary_left_unpadded(case: Case) -> Iterator[Problem]:
    """What it is: `tokenizer.model` is missing, and there are not as many tokens as embedding rows.

    Why it matters: With `tokenizer.model` the converter pads the vocabulary to the size of the
    embedding. From `tokenizer.json` it writes the tokens without padding, and llama.cpp does not
    load the file because `token_embd.weight` has another shape.

    Example: {"model": "./padded-mistral-without-tokenizer.model", "export": ["Q8_0"]}

    Use instead: {"model": "./padded-mistral-with-tokenizer.model", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is not None and reading.path == "equal" and _is_unpadded(case):
        yield problem(
            _WHERE, tokens=case.tokenizer.vocabulary_tokens, rows=case.model.embedding_rows
        )


@rule("FTC647", "space-after-marker", "error", reads=("model", "tokenizer", "data"))
def space_after_marker(case: Case) -> Iterator[Problem]:
    """What it is: llama.cpp reads a space after a marker of the chat template; training does not.

    Why it matters: transformers puts a space before a text at its start alone, unless the
    tokenizer's config says `"legacy": true`. llama.cpp also does so after each special token, such
    as a `<s>` that the template writes. The model would be trained on other tokens than those that
    llama.cpp gives it. The export compares the two and stops, after the training.

    Example: {"model": "./llama-without-legacy", "export": ["Q8_0"]}

    Use instead: {"model": "./llama-with-legacy-true", "export": ["Q8_0"]}
    """
    reading = find_reading(case)
    if reading is None or reading.path not in ("scores", "equal"):
        return
    marker, is_plain = reading.found.respaced, OBJECTIVES[case.spec.objective.type].plain
    if marker is None or not reading.converter.adds_space or is_plain or case.data.form == "text":
        return
    by_class = case.tokenizer.loaded_class in LEGACY_CLASSES
    yield problem(
        _WHERE,
        message="" if marker else "start",
        help="start" if not marker else "" if by_class else "file",
        marker=marker,
    )


@rule("FTC645", "untied-head-dropped", "error", reads=("model",), fix_safety="unsafe")
def untied_head_dropped(case: Case) -> Iterator[Problem]:
    """What it is: The model has a separate output matrix, which its converter leaves out.

    Why it matters: llama.cpp then uses the embedding as the output matrix, which is correct only
    for models that tie the two. This model does not, so its answers would be noise.

    Example: {"model": "./gemma-2-with-untied-head", "export": ["Q8_0"]}

    Use instead: {"model": "google/gemma-2-2b-it", "export": ["Q8_0"]}
    """
    converter, shape = find_converter(case.model.converted), case.model.shape
    if not case.spec.export.types or converter is None or shape is None:
        return
    if converter.drops_head and not shape.tied:
        yield problem(
            "/export/types", fix=(put("/export/types", []),), architecture=shape.architecture
        )


@rule("FTC646", "config-key-missing", "error", reads=("model",))
def config_key_missing(case: Case) -> Iterator[Problem]:
    """What it is: `config.json` lacks a key that the converter of this architecture reads.

    Why it matters: transformers no longer writes that key, so the merge copies it from the base
    model. If the base was saved by transformers as well, no file has it, and the conversion to GGUF
    stops after the training. Of most multimodal classes the converter knows only the language
    model, by its name in `text_config.architectures`.

    Example: {"model": "./gpt-2-saved-again", "export": ["Q8_0"]}

    Use instead: {"model": "openai-community/gpt2", "export": ["Q8_0"]}
    """
    missing = case.model.unwritten_keys
    if case.spec.export.types and missing:
        yield problem(
            _WHERE,
            key=missing[0],
            architecture=case.model.architecture,
            meaning=Message("phrase.class_of_text", {"name": case.model.architecture})
            if missing[0] == TEXT_CLASS_KEY
            else _MEANINGS.get(missing[0], Message("phrase.as_original")),
        )


def _is_unpadded(case: Case) -> bool:
    return case.tokenizer.vocabulary_tokens != case.model.embedding_rows
