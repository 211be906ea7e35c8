"""The rules about what kind of answers rows have (FTC296 to FTC298)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.rows.roles import are_swapped

_FEWEST_ROWS = 20
_REFUSED_SHARE = 0.5
_ASKING_SHARE = 0.6
_ASKED_SHARE = 0.1


@rule("FTC296", "answers-that-refuse", "warning", reads=("data",))
def answers_that_refuse(case: Case) -> Iterator[Problem]:
    """What it is: At least half of the answers decline, such as "I'm sorry, but I can't".

    Why it matters: The model learns that refusing is the usual answer, and refuses questions that
    it could answer before. Such rows come from another model that was asked for answers.

    Example: {"data": "answers-of-a-careful-model.jsonl"}

    Use instead: {"data": "answers-without-refusals.jsonl"}
    """
    held = case.data.contents
    if held.looked_rows >= _FEWEST_ROWS and held.refused_rows >= _REFUSED_SHARE * held.looked_rows:
        yield problem("/data/source", count=held.refused_rows, rows=held.looked_rows)


@rule("FTC297", "answers-cut-off", "warning", reads=("data",))
def answers_cut_off(case: Case) -> Iterator[Problem]:
    """What it is: Most answers stop in the middle of a sentence, all at the same length.

    Why it matters: The model learns to stop there too. A program that shortens texts for a table or
    a display cut them, or a column of a database was too narrow.

    Example: {"data": "export-with-120-characters-per-cell.csv"}

    Use instead: {"data": "export-with-whole-answers.csv"}
    """
    held = case.data.contents
    if held.cut is not None:
        yield problem(
            "/data/source",
            count=held.cut.rows,
            rows=held.looked_rows,
            characters=held.cut.characters,
        )


@rule("FTC298", "prompt-and-answer-swapped", "warning", reads=("data",), fix_safety="unsafe")
def prompt_and_answer_swapped(case: Case) -> Iterator[Problem]:
    """What it is: The column of the prompts holds answers, and that of the answers prompts.

    Why it matters: The model learns to write the question that belongs to an answer. The columns
    have each other's names, or most answers end with a question mark and hardly any prompt does.

    Example: {"data": {"source": "faq.csv",
     "columns": {"prompt": "answer", "completion": "question"}}}

    Use instead: {"data": {"source": "faq.csv",
     "columns": {"prompt": "question", "completion": "answer"}}}
    """
    data, said = case.data, case.spec.data.columns
    named = are_swapped(said.prompt or data.prompt or "", said.completion or data.completion or "")
    meant = said.prompt is not None or said.completion is not None
    if not named and (meant or not _answers_ask(data)):
        return
    yield problem(
        "/data/columns/completion" if data.prompt and not data.sources else "/data/source",
        message="named" if named else "",
        help="" if data.prompt else "other",
        fix=swap_columns(data),
        prompt=data.prompt or "",
        completion=data.completion or "",
        asking=data.contents.asking_answers,
        asked=data.contents.asking_prompts,
        rows=data.contents.looked_rows,
    )


def swap_columns(data: DataFacts) -> tuple[dict[str, object], ...]:
    """Return the fix that exchanges prompt and completion, where a single file has both."""
    if data.prompt is None or data.completion is None or data.sources:
        return ()
    return (
        dict(put("/data/columns/prompt", data.completion)),
        dict(put("/data/columns/completion", data.prompt)),
    )


def _answers_ask(data: DataFacts) -> bool:
    held = data.contents
    if data.form not in ("prompt_completion", "instruction") or held.looked_rows < _FEWEST_ROWS:
        return False
    asking, asked = held.asking_answers / held.looked_rows, held.asking_prompts / held.looked_rows
    return asking >= _ASKING_SHARE and asked <= _ASKED_SHARE
