"""The rules about unwanted content in the texts of rows (FTC263 to FTC277)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping

from ftc.compiler.checks.model.chat_template import RENDERED
from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.facts import Label
from ftc.spec.message import Message

_MOST_ROWS = 0.5
_SOME_ROWS = 0.01
_FEWEST_ROWS = 3
#: Words that only a program writes for a missing value; the others can be answers.
_SURELY_MISSING = frozenset({"nan", "null", "<na>", "nat", "#n/a", "undefined"})
_SURE_SHARE = 0.002
_ECHO_SHARE = 0.5
_BEGUN_SHARE = 0.9
_CONTRADICTING_SHARE = 0.01
_PERSONAL_SHARE: Mapping[str, float] = {"email": 0.02, "phone": 0.02, "card": 0.002, "iban": 0.002}


def _is_rendered(case: Case) -> bool:
    """Return whether a chat template is put around the texts of rows."""
    if OBJECTIVES[case.spec.objective.type].plain or case.data.form not in RENDERED:
        return False
    tokenizer = case.tokenizer
    if tokenizer.exact or tokenizer.template_sha256 is not None:
        return tokenizer.template_sha256 is not None
    entry = find_model(case.model.id)
    return case.data.form == "chat" if entry is None else entry.chat_template != "none"


def _is_many(rows: int, looked: int, share: float) -> bool:
    return rows >= _FEWEST_ROWS and rows >= share * looked


@rule("FTC263", "rows-templated-already", "error", reads=("model", "tokenizer", "data"))
def rows_templated_already(case: Case) -> Iterator[Problem]:
    """What it is: At least half of the rows hold the markers of a chat template in their texts.

    Why it matters: The model's chat template is put around them again. The model learns
    conversations inside of conversations, and prompts that no
    program sends later. Markers that are special tokens end the turn in the middle of a text.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct", "data": "rows-that-begin-with-im_start.jsonl"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "data": "messages.jsonl"}
    """
    held, looked = case.data.contents.markers, case.data.contents.looked_rows
    if _is_rendered(case) and _is_many(held.turn_rows, looked, _MOST_ROWS):
        yield problem(
            "/data/source", count=held.turn_rows, rows=looked, marker=held.turn_markers[0]
        )


@rule("FTC264", "markers-in-rows", "warning", reads=("model", "tokenizer", "data"))
def markers_in_rows(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold special tokens or markers of a chat template as text.

    Why it matters: The tokenizer reads such text as a control token: a literal `</s>` ends the
    answer. A marker of another model is cut into pieces that mean nothing to this one. Prompts that
    end with `Assistant:` open the answer a second time. From a text with a whole exchange, `Human:`
    and `Assistant:` included, a model learns the questions too, in a format that is not that of its
    chat template. One row in a hundred is enough for a token, and half of the rows for such words.

    Example: {"model": "mistralai/Mistral-7B-Instruct-v0.3", "data": "answers-that-end-in-eos.csv"}

    Use instead: {"model": "mistralai/Mistral-7B-Instruct-v0.3", "data": "answers-alone.csv"}
    """
    held, looked = case.data.contents.markers, case.data.contents.looked_rows
    is_rendered = _is_rendered(case)
    begun = held.opened_rows if is_rendered else held.foreign_rows
    if _is_many(begun, looked, _MOST_ROWS):
        yield problem(
            "/data/source",
            message="opened" if is_rendered else "foreign",
            help="opened" if is_rendered else "foreign",
            count=begun,
            rows=looked,
            marker=held.opening if is_rendered else held.turn_markers[0],
            name=case.model.id,
        )
    elif _is_transcribed(case) and not held.turn_rows:
        yield problem(
            "/data/source",
            message="spoken",
            help="spoken",
            count=held.spoken_rows,
            rows=looked,
            speakers=held.speakers,
        )
    if not is_rendered or _is_many(held.turn_rows, looked, _MOST_ROWS):
        return
    rows, markers = max(
        (held.special_rows, held.special_tokens), (held.turn_rows, held.turn_markers)
    )
    if _is_many(rows, looked, _SOME_ROWS):
        yield problem("/data/source", count=rows, rows=looked, marker=markers[0])


def _is_transcribed(case: Case) -> bool:
    """Return whether most rows hold an exchange as one text, and the model has a chat template."""
    held = case.data.contents
    if not _is_many(held.markers.spoken_rows, held.looked_rows, _MOST_ROWS):
        return False
    if case.data.form != "text" or case.spec.objective.type != "sft":
        return False
    entry = find_model(case.model.id)
    listed = entry is not None and entry.chat_template != "none"
    return listed or case.tokenizer.template_sha256 is not None


@rule("FTC265", "missing-values-as-text", "warning", reads=("data",))
def missing_values_as_text(case: Case) -> Iterator[Problem]:
    """What it is: Answers or prompts are words for a missing value: `nan`, `null`, `None`, `-`.

    Why it matters: The model learns to answer with the word. It comes from a table with empty
    cells that a program wrote as text. A word that the prompt itself names is not counted, nor is
    one that is written like the other labels, if no other such word is there.

    Example: {"data": "exported-with-nan.csv"}

    Use instead: {"data": "exported-without-empty-answers.csv"}
    """
    held = case.data.contents
    answers = {
        word: rows
        for word, rows in held.missing_answers.items()
        if not _is_label(word, case.data.labels)
    }
    if _is_many(sum(answers.values()), held.looked_rows, _SURE_SHARE):
        answers = dict(held.missing_answers)  # where some are no labels, none of them are
    for kind, counts in (("", answers), ("prompts", held.missing_prompts)):
        sure = {word: n for word, n in counts.items() if word.casefold() in _SURELY_MISSING}
        found = counts
        if not _is_many(sum(counts.values()), held.looked_rows, _SOME_ROWS):
            found = sure
        if _is_many(sum(found.values()), held.looked_rows, _SURE_SHARE):
            often = sorted(found.items(), key=lambda item: (-item[1], item[0]))
            yield problem(
                "/data/source",
                message=kind,
                count=sum(found.values()),
                rows=held.looked_rows,
                words=[Message("phrase.word_rows", {"word": w, "rows": n}) for w, n in often],
            )


def _is_label(word: str, labels: tuple[Label, ...]) -> bool:
    """Return whether a word that can be an answer is a label, written as the others are.

    Python's `None` among labels in lower case is no label, and `none` among those is one.
    """
    others = [label.name for label in labels if label.name != word]
    if not others or word.casefold() in _SURELY_MISSING or not word[0].isalpha():
        return False
    if not any(name[:1].isalpha() for name in others):
        return False
    return any(name[:1].isupper() == word[0].isupper() for name in others)


@rule("FTC266", "calls-of-undeclared-tools", "warning", reads=("data",))
def calls_of_undeclared_tools(case: Case) -> Iterator[Problem]:
    """What it is: Conversations call tools that neither their declarations nor their messages name.

    Why it matters: The model learns to invent functions. When it is used it calls one that the
    program does not have.

    Example: {"data": "calls-without-a-column-of-tools.jsonl"}

    Use instead: {"data": {"source": "calls-with-tools.jsonl", "columns": {"tools": "tools"}}}
    """
    use = case.data.contents.tool_use
    if use is None:
        return
    for has_others, rows in ((False, use.unoffered_rows), (True, use.undeclared_rows)):
        if rows:
            yield problem(
                "/data/source",
                message="others" if has_others else "",
                help="others" if has_others else "",
                count=rows,
                rows=use.call_rows,
                names=use.undeclared,
            )


@rule("FTC267", "calls-without-required-arguments", "warning", reads=("data",))
def calls_without_required_arguments(case: Case) -> Iterator[Problem]:
    """What it is: Tool calls leave out arguments that the tool's declaration requires.

    Why it matters: The model learns calls that the program refuses.

    Example: {"data": "calls-without-the-city.jsonl"}

    Use instead: {"data": "whole-calls.jsonl"}
    """
    use = case.data.contents.tool_use
    if use is not None and use.incomplete_rows:
        yield problem(
            "/data/source", count=use.incomplete_rows, rows=use.call_rows, names=use.incomplete
        )


@rule("FTC268", "results-of-unknown-calls", "warning", reads=("data",))
def results_of_unknown_calls(case: Case) -> Iterator[Problem]:
    """What it is: The `tool_call_id` of a tool's result is not the id of a call before it.

    Why it matters: A result is then read as that of another call, or of none.

    Example: {"data": "results-with-other-ids.jsonl"}

    Use instead: {"data": "results-with-the-ids-of-their-calls.jsonl"}
    """
    use = case.data.contents.tool_use
    if use is not None and use.unmatched_rows:
        yield problem("/data/source", count=use.unmatched_rows)


@rule("FTC269", "answer-inside-prompt", "warning", reads=("data",))
def answer_inside_prompt(case: Case) -> Iterator[Problem]:
    """What it is: Nearly every prompt holds its own answer.

    Why it matters: A prompt holds its own label and no other one, or its answer after the words
    that are the same in each row. The model learns to copy. Results on the test split are close to
    perfect, and are poor on prompts without the answer, which are the ones that it is used for.

    Example: {"data": {"source": "tickets.csv",
     "columns": {"prompt": "text_with_team", "completion": "team"}}}

    Use instead: {"data": {"source": "tickets.csv",
     "columns": {"prompt": "text", "completion": "team"}}}
    """
    leak = case.data.contents.leak
    if leak is not None:
        yield problem(
            "/data/source",
            message="" if leak.kind == "label" else leak.kind,
            count=leak.rows,
            rows=leak.looked_rows,
            before=leak.before,
        )


@rule("FTC274", "contradicting-preferences", "warning", reads=("data",))
def contradicting_preferences(case: Case) -> Iterator[Problem]:
    """What it is: A row prefers what another row with the same prompt and answers rejects.

    Why it matters: The two rows push the model in opposite directions, and cancel out. So do two
    rows that rate the same answer good and bad.

    Example: {"objective": "dpo", "data": "pairs-of-two-annotators.jsonl"}

    Use instead: {"objective": "dpo", "data": "pairs-that-annotators-agreed-on.jsonl"}
    """
    rows, data = case.data.contents.contradicting_rows, case.data
    if rows and _is_many(2 * rows, data.usable_rows, _CONTRADICTING_SHARE):
        yield problem("/data/source", count=rows, rows=data.usable_rows)


@rule("FTC275", "answer-repeats-prompt", "warning", reads=("data",))
def answer_repeats_prompt(case: Case) -> Iterator[Problem]:
    """What it is: The answer is the question in half of the rows, or begins with it in nearly all.

    Why it matters: The model learns to repeat what it is asked. Two columns with the same text are
    the usual cause, or a column that holds the prompt and the answer. Questions of fewer than four
    words are not counted as beginnings: an entry of a dictionary may begin with its word.

    Example: {"data": {"source": "tickets.csv",
     "columns": {"prompt": "text", "completion": "copy_of_text"}}}

    Use instead: {"data": {"source": "tickets.csv",
     "columns": {"prompt": "text", "completion": "reply"}}}
    """
    held = case.data.contents
    is_echo = _is_many(held.echo_rows, held.looked_rows, _ECHO_SHARE)
    if is_echo or _is_many(held.begun_rows, held.looked_rows, _BEGUN_SHARE):
        yield problem(
            "/data/source",
            message="" if is_echo else "begins",
            help="" if is_echo else "begins",
            count=held.echo_rows if is_echo else held.begun_rows,
            rows=held.looked_rows,
        )


@rule("FTC276", "secrets-in-rows", "warning", reads=("data",))
def secrets_in_rows(case: Case) -> Iterator[Problem]:
    """What it is: Rows hold private keys, API keys, access tokens, or passwords in addresses.

    Why it matters: A model can repeat what it was trained on, to anybody who asks. Only the kinds
    of secrets are counted; their text is never shown or kept.

    Example: {"data": "chat-logs-with-keys.jsonl"}

    Use instead: {"data": "chat-logs-without-keys.jsonl"}
    """
    held = case.data.contents
    if held.secrets:
        kinds = [Message(f"private.{kind}", {"rows": n}) for kind, n in held.secrets.items()]
        yield problem("/data/source", kinds=kinds, rows=held.looked_rows)


@rule("FTC277", "personal-data-in-rows", "info", reads=("data",))
def personal_data_in_rows(case: Case) -> Iterator[Problem]:
    """What it is: Rows hold e-mail addresses, telephone numbers, card numbers or bank accounts.

    Why it matters: A model can repeat what it was trained on, and the law of many countries asks
    for a reason to process such data. Only the kinds are counted; the text is never shown or kept.

    Example: {"data": "support-mails.jsonl"}

    Use instead: {"data": "support-mails-without-names-and-addresses.jsonl"}
    """
    held = case.data.contents
    found = {
        kind: rows
        for kind, rows in held.personal.items()
        if _is_many(rows, held.personal_looked_rows, _PERSONAL_SHARE[kind])
    }
    if found:
        kinds = [Message(f"private.{kind}", {"rows": n}) for kind, n in found.items()]
        yield problem("/data/source", kinds=kinds, rows=held.personal_looked_rows)
