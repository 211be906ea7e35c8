"""The rules about what rows say of themselves, or hold beside their texts (FTC196 to FTC199)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.spec.sources import list_sources

_MARKUP_SHARE = 0.1
_FILES_SHARE = 0.01
_FEWEST_ROWS = 3


@rule("FTC196", "split-column-ignored", "warning", reads=("data",))
def split_column_ignored(case: Case) -> Iterator[Problem]:
    """What it is: A column of the data says which rows are for training and which for testing.

    Why it matters: Nothing reads this column. The rows are divided anew, so that the model
    trains on rows that were meant to test it, and its result cannot be compared with others.

    Example: {"data": "rows-with-train-and-test-in-a-column.jsonl"}

    Use instead: {"data": {"source": "rows-for-training.jsonl"}}
    """
    parts = case.data.sources or (case.data,)
    for source, data in zip(list_sources(case.spec.data), parts, strict=False):
        for column, rows in data.contents.split_columns.items():
            yield problem(source.at("source"), name=source.source, column=column, rows=rows)


@rule("FTC197", "markup-in-texts", "warning", reads=("data",))
def markup_in_texts(case: Case) -> Iterator[Problem]:
    """What it is: At least a tenth of the rows have HTML in their texts: tags, or `&amp;` and such.

    Why it matters: The text was taken from a page with what formats it there. The model learns to
    write tags and entities, and they take tokens from the text. Rows that speak of HTML and code
    between backticks are not counted.

    Example: {"data": "scraped-pages.jsonl"}

    Use instead: {"data": "texts-of-pages.jsonl"}
    """
    held = case.data.contents
    rows = held.foreign.get("markup", 0)
    if rows >= _FEWEST_ROWS and rows >= _MARKUP_SHARE * held.looked_rows:
        yield problem("/data/source", count=rows, rows=held.looked_rows)


@rule("FTC198", "files-in-texts", "warning", reads=("data",))
def files_in_texts(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold a file as text: an image or the like in base64.

    Why it matters: The model reads base64 letter by letter. It sees no image in it, and one image
    takes thousands of tokens. One row in a hundred is reported.

    Example: {"data": "rows-with-data-urls.jsonl"}

    Use instead: {"data": {"source": "rows.jsonl", "columns": {"images": "image"}}}
    """
    held = case.data.contents
    rows = held.foreign.get("base64", 0)
    if rows >= _FEWEST_ROWS and rows >= _FILES_SHARE * held.looked_rows:
        yield problem("/data/source", count=rows, rows=held.looked_rows)


@rule("FTC199", "excluded-answers-learned", "error", reads=("data",), fix_safety="unsafe")
def excluded_answers_learned(case: Case) -> Iterator[Problem]:
    """What it is: Answers have the weight 0, which excludes them, and the training learns them.

    Why it matters: Nothing reads the key `weight` of a message. An answer that was excluded
    because it is bad is learned like the others.

    Example: {"data": "openai-rows-with-weight-0.jsonl"}

    Use instead: {"data": "openai-rows-with-weight-0.jsonl", "objective": {"type": "sft",
     "loss_on": "last_turn"}}
    """
    held, spec = case.data.contents, case.spec
    if spec.objective.type != "sft" or not held.excluded_rows:
        return
    is_last = held.last_only_rows == held.excluded_rows
    if is_last and spec.objective.loss_on == "last_turn":
        return
    yield problem(
        "/data/source",
        help="last" if is_last else "",
        fix=(put("/objective/loss_on", "last_turn"),) if is_last else (),
        rows=held.excluded_rows,
    )
