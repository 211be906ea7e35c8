"""The rules about what kind of answers rows have (FTC295 to FTC298)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.rows.roles import are_swapped
from ftc.spec.columns.usual_names import NEEDED
from ftc.spec.sources import WholeSource, list_sources

_FEWEST_ROWS = 20
_REFUSED_SHARE = 0.5
_ASKING_SHARE = 0.6
_ASKED_SHARE = 0.1
#: How names of columns end that have the turns before a question.
_EARLIER = ("history", "previous_turns")


@rule("FTC295", "needed-column-left-out", "warning", reads=("data",), fix_safety="unsafe")
def needed_column_left_out(case: Case) -> Iterator[Problem]:
    """What it is: Training leaves out a column that the answers of its rows depend on.

    Why it matters: An answer from a passage cannot be learned without the passage: the model learns
    to make facts up. Such a column has words of the answer that the same column of another row does
    not have, or a name such as that of a column of system messages. Without a column of verdicts,
    answers that were judged bad are learned too.
    If two columns have names that are usual for answers or prompts, only one is read. An
    explanation of the answer and the options of a multiple-choice question are left out too.

    Example: {"data": {"source": "passages-questions-answers.jsonl",
     "columns": {"prompt": "question", "completion": "answer"}}}

    Use instead: {"data": {"source": "passages-questions-answers.jsonl",
     "columns": {"instruction": "question", "input": "context", "output": "answer"}}}
    """
    about = OBJECTIVES[case.spec.objective.type]
    answers = not about.rewards and about.head == "tokens"
    parts = zip(list_sources(case.spec.data), case.data.sources or (case.data,), strict=False)
    for source, data in parts:
        yield from _find_rivals(source, data)
        for column, rows in data.contents.needed_columns.items() if answers else ():
            if column == source.columns.input:
                continue
            earlier = column.casefold().endswith(_EARLIER)
            fix = () if earlier or data is not case.data else read_before(data, column)
            yield problem(
                source.at("source"),
                help="" if fix else "earlier" if earlier else "other",
                fix=fix,
                column=column,
                rows=rows,
                prompt=data.prompt or "",
                completion=data.completion or "",
            )
        if answers:
            yield from _find_systems(case, source, data)
            yield from _find_beside(source, data)
        for column, rows in data.contents.bad_rows.items() if answers else ():
            yield problem(source.at("source"), message="bad", help="bad", column=column, rows=rows)


def _find_systems(case: Case, source: WholeSource, data: DataFacts) -> Iterator[Problem]:
    """Yield the columns of system messages, unless `data.system` says what all rows have."""
    for column, text in data.contents.system_columns.items():
        if text and case.spec.data.system is not None:
            continue
        yield problem(
            source.at("source"),
            message="system",
            help="same_system" if text else "system",
            fix=(put("/data/system", text),) if text else (),
            column=column,
        )


def _find_beside(source: WholeSource, data: DataFacts) -> Iterator[Problem]:
    """Yield the columns that explain the answers, and those that they are chosen from."""
    held = data.contents
    answer = data.completion or data.output or ""
    role = "completion" if data.completion is not None else "output"
    told = {*held.needed_columns, *held.rival_columns}
    for column in held.explaining_columns:
        if column not in told:
            yield problem(
                source.at("source"),
                message="explaining",
                help="explaining",
                column=column,
                answer=answer,
                role=role,
            )
    if options := [column for column in held.option_columns if column not in told]:
        yield problem(
            source.at("source"), message="options", help="options", columns=options, answer=answer
        )


def _find_rivals(source: WholeSource, data: DataFacts) -> Iterator[Problem]:
    """Yield the columns that were not taken although their names fit as well."""
    told = {*data.contents.needed_columns, *data.contents.bad_rows}
    for column, taken in data.contents.rival_columns.items():
        role = next((role for role in NEEDED[data.form] if getattr(data, role) == taken), None)
        if role is not None and column not in told:
            yield problem(
                source.at("source"),
                message="rival",
                help="rival",
                column=column,
                taken=taken,
                role=role,
            )


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

    Why it matters: The model learns to stop there too. The usual causes are a program that shortens
    texts for a table or a display, and a database column that is too narrow.

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


def read_before(data: DataFacts, column: str) -> tuple[dict[str, object], ...]:
    """Return the fix that puts a column after the question, if that is a column by itself."""
    if data.form != "prompt_completion" or data.prompt is None or data.images is not None:
        return ()
    columns = {"instruction": data.prompt, "input": column, "output": data.completion}
    return (dict(put("/data/columns", columns)),)


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
