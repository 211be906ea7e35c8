"""The rules about rows: enough of them, whole, and undamaged."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from dataclasses import fields

from ftc.compiler.checks.data.images import loses_images
from ftc.compiler.checks.data.lengths import prompts_fill
from ftc.compiler.checks.objective.rewards import needs_answers
from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.plan.batch.lengths import round_up
from ftc.compiler.resolve.data.findings import name_fault
from ftc.compiler.resolve.rows.roles import Unassigned, assign_roles, columns_of_text
from ftc.spec.message import Message, Value, name_language
from ftc.spec.sections import Columns

_FEW_ROWS = 50
_MUCH = 0.30
_MOST_LANGUAGES = 8
_MANY_DUPLICATES = 0.10
_MANY_BLANK = 0.10
#: The advice for the commonest fault of rows.
_KINDS = {
    "no_score": "scores",
    "no_label": "verdicts",
    "one_conversation": "halves",
    "unreadable": "unreadable",
    "cells": "cells",
    "order": "order",
    "unanswered": "unanswered",
    "no_turn": "turn",
    "broken_json": "broken_json",
    "not_text": "lists",
    "unknown_role": "roles",
}


@rule("FTC224", "no-rows-to-train-on", "error", reads=("model", "data", "plan"))
def no_rows_to_train_on(case: Case) -> Iterator[Problem]:
    """What it is: After cleaning and splitting, no row is left for training.

    Why it matters: There is nothing to learn from.

    Example: {"data": "all-blank.csv"}

    Use instead: {"data": "tickets.csv"}
    """
    if case.plan.decisions.splits.train_rows.value < 1:
        data = case.data
        lost = data.blank_rows + data.duplicate_rows + data.malformed_rows
        if not lost and data.usable_rows and prompts_fill(case):
            return  # FTC221 says which length keeps them
        enough = min(round_up(data.lengths.max), case.model.context_tokens)
        most = case.plan.decisions.rows.max_length.value
        short = not lost and most < enough
        long = case.model.context_tokens <= most < data.lengths.p50
        yield problem(
            "/data/max_length" if short else "/data/source",
            message="" if lost else "whole",
            help="" if lost else "length" if short else "long" if long else "whole",
            enough=enough,
            rows=data.rows,
            usable=data.usable_rows,
            blank=data.blank_rows,
            duplicate=data.duplicate_rows,
            malformed=data.malformed_rows,
        )


@rule("FTC225", "few-rows", "warning", reads=("data", "plan"))
def few_rows(case: Case) -> Iterator[Problem]:
    """What it is: Fewer than fifty rows are left for training.

    Why it matters: A model memorises so few rows, and the result on the test split is mostly
    chance.

    Example: {"data": "ten-examples.csv"}

    Use instead: {"data": "a-thousand-examples.csv"}
    """
    d = case.plan.decisions
    if has_few_rows(case) and not loses_images(case):
        held_out = d.splits.validation_rows.value + d.splits.test_rows.value
        asked = case.spec.data.splits.validation + case.spec.data.splits.test
        yield problem(
            "/data/source",
            message="unmeasured" if asked and not held_out else "",
            rows=d.splits.train_rows.value,
        )


def has_few_rows(case: Case) -> bool:
    """Return whether there are so few rows to train on that nothing else about their number counts.

    FTC225 then says it alone.
    """
    return bool(1 <= case.plan.decisions.splits.train_rows.value < _FEW_ROWS)


@rule("FTC229", "many-duplicates", "info", reads=("data",))
def many_duplicates(case: Case) -> Iterator[Problem]:
    """What it is: More than one row in ten is a copy of another.

    Why it matters: Copies weigh more than other rows, and would leak from training into the test.
    The bundle removes them by default, and never puts copies into different splits.

    Example: {"data": "exported-twice.csv"}

    Use instead: {"data": "exported-once.csv"}
    """
    data = case.data
    if data.duplicate_rows > _MANY_DUPLICATES * data.rows and not loses_images(case):
        yield problem(
            "/data/source",
            help="" if case.spec.data.cleaning.drop_duplicates else "kept",
            count=data.duplicate_rows,
            rows=data.rows,
        )


@rule("FTC230", "misencoded-rows", "info", reads=("data",))
def misencoded_rows(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold text that was decoded with the wrong encoding, such as `Ã©`.

    Why it matters: The model learns the damaged text like any other.

    Example: {"data": {"source": "latin1.csv", "cleaning": {"repair_encoding": false}}}

    Use instead: {"data": {"source": "latin1.csv", "cleaning": {"repair_encoding": true}}}
    """
    damaged = case.data.misencoded_rows - case.data.lost_rows
    if damaged > 0:
        repairs = case.spec.data.cleaning.repair_encoding
        yield problem("/data/source", help="repaired" if repairs else "", count=damaged)


@rule("FTC231", "malformed-rows", "warning", reads=("data",))
def malformed_rows(case: Case) -> Iterator[Problem]:
    """What it is: Some rows do not have the form of the others: a missing answer, a wrong role.

    Why it matters: They cannot be trained on and are left out. Many of them mean that the form or
    the columns are wrong.

    Example: {"data": "half-broken.jsonl"}

    Use instead: {"data": "checked.jsonl"}
    """
    malformed, rows = case.data.malformed_rows, case.data.rows
    if malformed:
        often = sorted(case.data.faults.items(), key=lambda item: (-item[1], item[0]))
        reasons = [_reason(case, fault, count) for fault, count in often]
        first = name_fault(often[0][0], case.data.format) if often else ""
        strange = case.data.contents.strange_roles
        unnamed = first == "unknown_role" and not strange
        samples = OBJECTIVES[case.spec.objective.type].samples
        mixed = samples and not {"answered", "unanswered"}.isdisjoint(case.data.faults)
        yield problem(
            "/data/source",
            message="" if reasons else "unsaid",
            help="prompts" if mixed else "" if unnamed else _KINDS.get(first, ""),
            count=malformed,
            rows=rows,
            reasons=reasons,
            roles=strange,
        )


@rule("FTC237", "many-blank-rows", "warning", reads=("data",))
def many_blank_rows(case: Case) -> Iterator[Problem]:
    """What it is: More than one row in ten lacks a text that its form needs.

    Why it matters: Such a row cannot be trained on and is left out. Many of them mean that a column
    is only partly filled in, or is the wrong one.

    Example: {"data": "half-labelled.csv"}

    Use instead: {"data": "labelled.csv"}
    """
    blank, rows = case.data.blank_rows, case.data.rows
    if blank > _MANY_BLANK * rows:
        samples = OBJECTIVES[case.spec.objective.type].samples and case.data.form != "prompt"
        alone = samples and not needs_answers(case)
        others = _other_form(case)
        yield problem(
            "/data/source",
            help="prompts" if alone else "forms" if others else "",
            count=blank,
            rows=rows,
            reason=_reason(case, "blank", blank),
            columns=columns_of_text(case.data),
            others=others,
        )


def _other_form(case: Case) -> tuple[str, ...]:
    """Return the columns of another form that rows have, in files whose rows name their columns."""
    if case.data.format not in ("jsonl", "json"):
        return ()
    own = {getattr(case.data, role.name) for role in fields(Columns)}
    free = [column for column in case.data.columns if column not in own]
    forms = OBJECTIVES[case.spec.objective.type].forms
    found = assign_roles(free, named=Columns(), form="auto", forms=forms)
    return () if isinstance(found, Unassigned) else columns_of_text(found)


def _reason(case: Case, fault: str, count: int) -> Message:
    """Return why rows cannot be used, with the number of the first of them if it is known."""
    columns = columns_of_text(case.data)
    strange = case.data.contents.strange_roles if fault == "unknown_role" else ()
    kind = "strange_role" if strange else name_fault(fault, case.data.format)
    values: dict[str, Value] = {"count": count, "columns": columns, "roles": strange}
    reason = Message(f"fault.{kind}", values)
    first, *_ = case.data.contents.review.get(fault, ()) or (None,)
    if first is None:
        return reason
    return Message("phrase.first_row", {"reason": reason, "row": first, "count": count})


@rule("FTC247", "lost-characters", "warning", reads=("data",))
def lost_characters(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold U+FFFD, which replaces a character that could not be decoded.

    Why it matters: The original character is lost and cannot be repaired; the model learns to write
    U+FFFD. It comes from an export that was read with the wrong encoding.

    Example: {"data": "export-with-question-mark-diamonds.csv"}

    Use instead: {"data": "the-same-export-in-utf-8.csv"}
    """
    data = case.data
    if data.lost_rows:
        yield problem("/data/source", count=data.lost_rows, rows=data.rows)


@rule("FTC248", "control-characters", "warning", reads=("data",))
def control_characters(case: Case) -> Iterator[Problem]:
    """What it is: Some rows hold control characters: NUL, escape sequences, a byte order mark.

    Why it matters: They are invisible in most editors, cost tokens, and are learned like any other
    text; a terminal that prints the model's answer obeys them.

    Example: {"data": "terminal-log.jsonl"}

    Use instead: {"data": "log-without-escape-sequences.jsonl"}
    """
    data = case.data
    if data.control_rows:
        yield problem("/data/source", count=data.control_rows, rows=data.rows)


@rule("FTC251", "limit-beyond-rows", "info", reads=("data",))
def limit_beyond_rows(case: Case) -> Iterator[Problem]:
    """What it is: `data.max_rows` is more than the rows that cleaning leaves.

    Why it matters: The field limits nothing, and a reader of the spec expects more rows than there
    are.

    Example: {"data": {"source": "300-rows.csv", "max_rows": 10000}}

    Use instead: {"data": "300-rows.csv"}
    """
    most, usable = case.spec.data.max_rows, case.data.usable_rows
    if most is not None and most > usable and case.data.streamed_rows is None:
        yield problem(
            "/data/max_rows",
            fix=({"op": "remove", "path": "/data/max_rows"},),
            most=most,
            rows=usable,
        )


@rule("FTC255", "language-new-to-model", "info", reads=("model", "data"))
def language_new_to_model(case: Case) -> Iterator[Problem]:
    """What it is: Much of the data is in a language that the model's authors do not list.

    Why it matters: A fine-tune teaches a task, but hardly a new language: answers in a language
    that the base rarely read remain poor, and its tokenizer needs more tokens for it.

    Example: {"model": "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "data": "basque-chats.jsonl"}

    Use instead: {"model": "BSC-LT/salamandra-2b-instruct", "data": "basque-chats.jsonl"}
    """
    entry = find_model(case.model.id)
    if entry is None or not entry.languages:
        return
    for code, share in case.data.languages.items():
        if share >= _MUCH and code not in entry.languages:
            yield problem(
                "/model/id",
                share=share,
                language=name_language(code),
                model=entry.id,
                languages=[name_language(each) for each in entry.languages[:_MOST_LANGUAGES]],
            )
