"""The rules about fields of `data` that nothing would read."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.spec.findings.quote import shown
from ftc.spec.pointer import dotted
from ftc.spec.sources import list_sources

_MOST_KEYS: Final = 3


@rule("FTC234", "completion-loss-on-plain-text", "warning", reads=("data",))
def completion_loss_on_plain_text(case: Case) -> Iterator[Problem]:
    """What it is: The loss is set to completions only, and the data is plain text.

    Why it matters: Plain text has no prompt to leave out of the loss: every token is trained on.

    Example: {"data": {"source": "book.jsonl", "form": "text"},
     "objective": {"type": "sft", "loss_on": "completion"}}

    Use instead: {"data": {"source": "book.jsonl", "form": "text"},
     "objective": {"type": "sft", "loss_on": "all"}}
    """
    said = "/objective/loss_on" in case.spec.said and case.spec.objective.loss_on != "all"
    if said and case.data.form == "text":
        yield problem("/objective/loss_on", fix=(put("/objective/loss_on", "all"),))


@rule("FTC290", "last-of-one-answer", "info", reads=("data",))
def last_of_one_answer(case: Case) -> Iterator[Problem]:
    """What it is: The loss is set to the last turn, and no row has more than one answer.

    Why it matters: The last answer is the only one, so `completion` trains on the same tokens.

    Example: {"data": "questions.jsonl", "objective": {"type": "sft", "loss_on": "last_turn"}}

    Use instead: {"data": "questions.jsonl", "objective": {"type": "sft", "loss_on": "completion"}}
    """
    last = case.spec.objective.loss_on == "last_turn"
    if last and case.data.form != "text" and not case.data.multi_turn:
        yield problem("/objective/loss_on", fix=(put("/objective/loss_on", "completion"),))


@rule("FTC235", "system-message-on-plain-text", "warning", reads=("data",))
def system_message_on_plain_text(case: Case) -> Iterator[Problem]:
    """What it is: The spec has a system message, and the data is plain text.

    Why it matters: There is no conversation that a system message could start, so the field has no
    effect.

    Example: {"data": {"source": "book.jsonl", "form": "text", "system": "Be brief."}}

    Use instead: {"data": {"source": "book.jsonl", "form": "text"}}
    """
    if case.spec.data.system is not None and case.data.form == "text":
        yield problem("/data/system", fix=({"op": "remove", "path": "/data/system"},))


@rule("FTC236", "hub-option-on-file", "warning", reads=("data",))
def hub_option_on_file(case: Case) -> Iterator[Problem]:
    """What it is: A field about data sets of the Hub is set, and the data is a local file.

    Why it matters: A file has no revision, subset or split, so the field has no effect.

    Example: {"data": {"source": "tickets.csv", "split": "test"}}

    Use instead: {"data": "tickets.csv"}
    """
    parts = case.data.sources or (case.data,)
    local = [part.origin == "file" for part in parts]
    places = ["/data"] if all(local) else []
    places += [
        source.pointer
        for source, is_local in zip(list_sources(case.spec.data), local, strict=False)
        if is_local and source.pointer != "/data"
    ]
    said = {f"{s.pointer}/{field}" for s in list_sources(case.spec.data) for field in s.said}
    for field in ("revision", "subset", "split"):
        for pointer in (f"{place}/{field}" for place in places):
            if pointer in case.spec.said or pointer in said:
                yield problem(
                    pointer,
                    fix=({"op": "remove", "path": pointer},),
                    field=field,
                    name=dotted(pointer),
                )


@rule("FTC195", "lists-left-out", "warning", reads=("data",))
def lists_left_out(case: Case) -> Iterator[Problem]:
    """What it is: A JSON file has more than one list of rows, such as `train` and `test`.

    Why it matters: Only one of them is read. The held-out rows are drawn from it, and the rows of
    the other lists are used for nothing.

    Example: {"data": "train-and-test.json"}

    Use instead: {"data": {"source": "all-rows.json", "splits": {"test": 0.1}}}
    """
    parts = case.data.sources or (case.data,)
    for source, part in zip(list_sources(case.spec.data), parts, strict=False):
        if part.left_lists:
            yield problem(
                source.at("source"),
                name=source.source,
                left=tuple(part.left_lists),
                count=sum(part.left_lists.values()),
            )


@rule("FTC508", "key-given-twice-in-a-row", "warning", reads=("data",))
def key_given_twice_in_a_row(case: Case) -> Iterator[Problem]:
    """What it is: Objects of a JSON file have a key more than once, such as two `completion`.

    Why it matters: Only the last value of the key is read, as Python and most programs read JSON.
    The model is not trained on the others, and other programs may read another value.

    Example: {"data": "merged-rows.jsonl"}

    Use instead: {"data": "rows-with-each-key-once.jsonl"}
    """
    parts = case.data.sources or (case.data,)
    for source, part in zip(list_sources(case.spec.data), parts, strict=False):
        if part.repeated_keys:
            often = sorted(part.repeated_keys.items(), key=lambda item: (-item[1], item[0]))
            yield problem(
                source.at("source"),
                name=source.source,
                count=sum(part.repeated_keys.values()),
                keys=[shown(key) for key, _ in often[:_MOST_KEYS]],
            )
