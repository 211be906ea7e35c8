"""The rules about token ids, new tokens and rows of the embedding (FTC126, FTC138 to FTC642)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.model.converter_reading import find_reading
from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case


@rule("FTC126", "vocabulary-beyond-embeddings", "error", reads=("model", "tokenizer"))
def vocabulary_beyond_embeddings(case: Case) -> Iterator[Problem]:
    """What it is: The embedding has no row for the end or padding token, or a template's marker.

    Why it matters: Batches contain that token. The first one stops with "index out of range", on a
    GPU with a device-side assertion that names no cause. It happens when tokens were added to a
    tokenizer and the model was not resized. Some classes add a padding token by themselves.

    Example: {"model": "./chatml-tokens-added-without-resizing"}

    Use instead: {"model": "./chatml-tokens-added-and-embedding-resized"}
    """
    found = case.tokenizer.conversion
    if found is not None and _has_marker_beyond(case):
        yield problem(
            "/model/chat_template" if case.tokenizer.template_from_spec else "/model/id",
            marker=found.marker or "",
            id=found.marker_id or 0,
            rows=case.model.embedding_rows,
        )


@rule("FTC147", "tokens-beyond-embedding", "info", reads=("model", "tokenizer"))
def tokens_beyond_embedding(case: Case) -> Iterator[Problem]:
    """What it is: The embedding has no rows for some ids that the template does not use.

    Why it matters: A text that contains such a token would stop the training. Some models are
    published like that: Gemma 3's 1B has a marker for images.

    Example: {"model": "google/gemma-3-1b-it"}

    Use instead: {"model": "google/gemma-3-1b-it", "allow": ["FTC147"]}
    """
    found, rows = case.tokenizer.conversion, case.model.embedding_rows
    reading = find_reading(case)
    unpadded = reading is not None and reading.path == "equal"  # FTC644 reports it
    told = _has_marker_beyond(case) or _is_refused(case) or unpadded
    if found is not None and found.highest_id >= rows and not told:
        yield problem("/model/id", token=found.highest_token, id=found.highest_id, rows=rows)


@rule("FTC138", "new-token-that-exists", "warning", reads=("tokenizer",), fix_safety="unsafe")
def new_token_that_exists(case: Case) -> Iterator[Problem]:
    """What it is: A token of `model.new_tokens` is in the tokenizer's vocabulary already.

    Why it matters: It gets no new row. Its own row is trained, and the exported tokenizer no longer
    treats it as before: a control token such as `<|im_start|>` becomes plain text that is printed.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<|im_start|>", "<plan>"]}}

    Use instead: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<plan>"]}}
    """
    for index, token in enumerate(case.spec.model.new_tokens):
        if token in case.tokenizer.existing_tokens:
            pointer = f"/model/new_tokens/{index}"
            yield problem(pointer, fix=({"op": "remove", "path": pointer},), token=token)


@rule("FTC171", "new-token-never-in-data", "warning", reads=("tokenizer", "data"))
def new_token_never_in_data(case: Case) -> Iterator[Problem]:
    """What it is: No row of the data holds a token of `model.new_tokens`, nor does the template.

    Why it matters: The row of an added token starts near the mean of the others and learns only
    where the token occurs. The model would neither read nor write it. A usual cause is another
    spelling in the data, such as `<tool>` and `<tools>`.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<plan>"]}, "data": "no-plan.csv"}

    Use instead: {"model": "Qwen/Qwen2.5-7B", "data": "no-plan.csv"}
    """
    unread = case.tokenizer.template_sha256 is None and not case.tokenizer.exact
    if unread and case.data.form != "text":  # the template may write it
        return
    told = {*case.tokenizer.template_tokens, *case.tokenizer.existing_tokens}
    for index, token in enumerate(case.spec.model.new_tokens):
        if token in case.data.absent_tokens and token not in told:
            yield problem(f"/model/new_tokens/{index}", token=token, rows=case.data.rows)


@rule("FTC642", "vocabulary-past-embedding", "error", reads=("model", "tokenizer"))
def vocabulary_past_embedding(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer has ids that the embedding has no rows for.

    Why it matters: Training never meets those tokens, so it succeeds. The converter of this
    architecture needs a row for each token and stops with an assertion or an index that is out of
    range.

    Example: {"model": "./tokens-added-without-resizing", "export": ["Q4_K_M"]}

    Use instead: {"model": "./tokens-added-and-embedding-resized", "export": ["Q4_K_M"]}
    """
    found = case.tokenizer.conversion
    if found is not None and _is_refused(case):
        yield problem(
            "/model/id",
            token=found.highest_token,
            id=found.highest_id,
            rows=case.model.embedding_rows,
        )


def _has_marker_beyond(case: Case) -> bool:
    found = case.tokenizer.conversion
    if found is None or found.marker_id is None:
        return False
    return found.marker_id >= case.model.embedding_rows


def _is_refused(case: Case) -> bool:
    """Return whether the converter stops at an id without a row that training never meets."""
    reading = find_reading(case)
    if reading is None or _has_marker_beyond(case):
        return False
    minds = reading.path == "scores" and reading.converter.refuses_beyond
    beyond = reading.found.highest_id >= case.model.embedding_rows
    return beyond and (minds or reading.path == "bpe")
