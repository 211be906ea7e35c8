"""The rules about token ids and the rows of the embedding (FTC126, FTC147, FTC642)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.reading import find_reading
from ftc.compiler.checks.rule import Problem, rule


@rule("FTC126", "vocabulary-beyond-embeddings", "error", reads=("model", "tokenizer"))
def vocabulary_beyond_embeddings(case: Case) -> Iterator[Problem]:
    """What it is: The embedding has no row for the end token, or for a marker of the template.

    Why it matters: Every row of the data will hold that token. The first batch stops with "index
    out of range", on a GPU with a device-side assertion that names no cause. It happens where
    tokens were added to a tokenizer and the model was not resized.

    Example: {"model": "./chatml-tokens-added-without-resizing"}

    Use instead: {"model": "./chatml-tokens-added-and-embedding-resized"}
    """
    found = case.tokenizer.conversion
    if found is not None and _has_marker_beyond(case):
        yield Problem(
            message=f"`{found.marker}` has the id {found.marker_id}, and the embedding "
            f"{case.model.embedding_rows} rows",
            help="resize the base model once (`model.resize_token_embeddings(len(tokenizer))`) "
            "and save it, or use a chat template whose markers the model has",
            pointer="/model/chat_template" if case.tokenizer.template_from_spec else "/model/id",
        )


@rule("FTC147", "tokens-beyond-embedding", "info", reads=("model", "tokenizer"))
def tokens_beyond_embedding(case: Case) -> Iterator[Problem]:
    """What it is: The embedding has no rows for ids that neither template nor special tokens use.

    Why it matters: Text that spells such a token out would stop the training. Some models are
    published so: Gemma 3's 1B has a marker for images.

    Example: {"model": "google/gemma-3-1b-it"}

    Use instead: {"model": "google/gemma-3-1b-it", "allow": ["FTC147"]}
    """
    found, rows = case.tokenizer.conversion, case.model.embedding_rows
    reading = find_reading(case)
    unpadded = reading is not None and reading.path == "equal"  # FTC644 tells of it
    told = _has_marker_beyond(case) or _is_refused(case) or unpadded
    if found is not None and found.highest_id >= rows and not told:
        yield Problem(
            message=f"the tokenizer goes up to `{found.highest_token}` with the id "
            f"{found.highest_id}, and the embedding has {rows} rows",
            help="nothing to do unless the data spells such a token out",
            pointer="/model/id",
        )


@rule("FTC642", "vocabulary-past-embedding", "error", reads=("model", "tokenizer"))
def vocabulary_past_embedding(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer has ids that the embedding has no rows for.

    Why it matters: Training never meets those tokens, so it ends well. The converter of this
    architecture wants a row for each, and then stops with an assertion or an index that is out of
    range.

    Example: {"model": "./tokens-added-without-resizing", "export": ["Q4_K_M"]}

    Use instead: {"model": "./tokens-added-and-embedding-resized", "export": ["Q4_K_M"]}
    """
    found = case.tokenizer.conversion
    if found is not None and _is_refused(case):
        yield Problem(
            message=f"`{found.highest_token}` has the id {found.highest_id} and the embedding "
            f"{case.model.embedding_rows} rows: the conversion to GGUF stops",
            help="resize the embedding of the base model (`resize_token_embeddings`), or take "
            "the token out of its tokenizer, or export nothing",
            pointer="/model/id",
        )


def _has_marker_beyond(case: Case) -> bool:
    found = case.tokenizer.conversion
    if found is None or found.marker_id is None:
        return False
    return found.marker_id >= case.model.embedding_rows


def _is_refused(case: Case) -> bool:
    """Tell whether the converter stops at an id without a row that training never meets."""
    reading = find_reading(case)
    if reading is None or _has_marker_beyond(case):
        return False
    minds = reading.path == "scores" and reading.converter.refuses_beyond
    beyond = reading.found.highest_id >= case.model.embedding_rows
    return beyond and (minds or reading.path == "bpe")
