"""The rules about options of chat templates, and reasoning (FTC177 to 179, 289, 291 to 294)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from functools import partial

from ftc.compiler.checks.model.chat_template import RENDERED
from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.resolve.chat_template.reasoning import is_reserved
from ftc.compiler.resolve.detail_facts import ReasoningFacts
from ftc.spec.values.nearest import is_certain, nearest

_OPTIONS = "/data/template_options"


@rule("FTC177", "unread-template-option", "error", reads=("tokenizer",), fix_safety="unsafe")
def unread_template_option(case: Case) -> Iterator[Problem]:
    """What it is: The chat template does not read an option that the spec gives to it.

    Why it matters: The option changes nothing, and rows are rendered in another mode than the spec
    says.

    Example: {"model": "Qwen/Qwen3-8B",
     "data": {"source": "chats.jsonl", "template_options": {"enable_thinkng": false}}}

    Use instead: {"model": "Qwen/Qwen3-8B",
     "data": {"source": "chats.jsonl", "template_options": {"enable_thinking": false}}}
    """
    given, facts = case.spec.data.template_options or {}, case.tokenizer.reasoning
    if facts is None:
        return
    for name, value in given.items():
        if name in facts.options or is_reserved(name):
            continue
        meant = nearest(name, facts.options)
        pointer = f"{_OPTIONS}/{name}"
        fix: tuple[dict[str, object], ...] = ()
        if meant is not None and meant not in given and is_certain(name, meant, facts.options):
            renamed = {meant if key == name else key: each for key, each in given.items()}
            fix = (dict(put(_OPTIONS, renamed)),)
        yield problem(
            pointer,
            help="near" if meant else "known" if facts.options else "",
            fix=fix,
            option=name,
            value=str(value),
            meant=meant or "",
            known=facts.options,
        )


@rule("FTC178", "reserved-template-option", "error", fix_safety="unsafe")
def reserved_template_option(case: Case) -> Iterator[Problem]:
    """What it is: An option of the chat template has a name that the renderer itself sets.

    Why it matters: transformers, llama.cpp and Jinja give these names their own values, such as
    the messages of a row. Special tokens are set by the tokenizer, and the system message by
    `data.system`.

    Example: {"model": "Qwen/Qwen3-8B",
     "data": {"source": "chats.jsonl", "template_options": {"add_generation_prompt": true}}}

    Use instead: {"model": "Qwen/Qwen3-8B",
     "data": {"source": "chats.jsonl", "template_options": {"enable_thinking": true}}}
    """
    given = case.spec.data.template_options or {}
    for name in filter(is_reserved, given):
        kept = {key: value for key, value in given.items() if not is_reserved(key)}
        yield problem(f"{_OPTIONS}/{name}", fix=(put(_OPTIONS, kept or None),), option=name)


@rule("FTC179", "template-options-without-template", "error", reads=("tokenizer", "data"))
def template_options_without_template(case: Case) -> Iterator[Problem]:
    """What it is: The spec gives options to a chat template, and no row is rendered with one.

    Why it matters: Plain text has no turns, and a tokenizer without a chat template writes each
    text on its own line. The options would have no effect.

    Example: {"data": {"source": "book.jsonl", "form": "text",
     "template_options": {"enable_thinking": false}}}

    Use instead: {"data": {"source": "book.jsonl", "form": "text"}}
    """
    if case.spec.data.template_options is None:
        return
    tokenizer, is_text = case.tokenizer, case.data.form == "text"
    if is_text or (tokenizer.exact and tokenizer.template_sha256 is None):
        yield problem(_OPTIONS, message="text" if is_text else "", fix=(put(_OPTIONS, None),))


@rule(
    "FTC291",
    "empty-reasoning-learned",
    "warning",
    reads=("tokenizer", "data"),
    fix_safety="unsafe",
)
def empty_reasoning_learned(case: Case) -> Iterator[Problem]:
    """What it is: The chat template writes empty reasoning before answers, and it is learned.

    Why it matters: Templates of reasoning models put `<think></think>` before an answer without
    reasoning. The generation prompt does not contain it, so the model learns to write it: it learns
    to stop reasoning. With `enable_thinking` false the prompt contains it, and it is only read.

    Example: {"model": "Qwen/Qwen3-8B", "data": "chats-without-reasoning.jsonl"}

    Use instead: {"model": "Qwen/Qwen3-8B", "data": {"source": "chats-without-reasoning.jsonl",
     "template_options": {"enable_thinking": false}}}
    """
    facts, data = case.tokenizer.reasoning, case.spec.data
    plain, reasoned = _count(case)
    if facts is None or not facts.empty or not plain or not _learns(case):
        return
    given = data.template_options or {}
    is_set = bool(facts.without_empty) and facts.without_empty.items() <= given.items()
    if is_set or data.reasoning == "mask" or not _masks(case):
        return
    say = partial(problem, "/data/source", rows=plain, looked=plain + reasoned)
    empty = " ".join(facts.empty.split())
    if reasoned:
        yield say(message="some", help="some", empty=empty)
    elif facts.without_empty:
        options = {**given, **facts.without_empty}
        (name,) = facts.without_empty
        yield say(fix=(put(_OPTIONS, options),), option=name, empty=empty)
    else:
        yield say(help="mask", fix=(put("/data/reasoning", "mask"),), empty=empty)


@rule(
    "FTC292",
    "reasoning-dropped-by-template",
    "warning",
    reads=("tokenizer", "data"),
    fix_safety="unsafe",
)
def reasoning_dropped_by_template(case: Case) -> Iterator[Problem]:
    """What it is: Rows have reasoning before their answers, and the chat template leaves it out.

    Why it matters: The model learns the answers alone, as if `data.reasoning` were `strip`.

    Example: {"model": "./without-reasoning", "data": "chats-with-reasoning.jsonl"}

    Use instead: {"model": "./without-reasoning",
     "data": {"source": "chats-with-reasoning.jsonl", "reasoning": "strip"}}
    """
    facts = case.tokenizer.reasoning
    _, reasoned = _count(case)
    if facts is None or not facts.drops or not reasoned or not _learns(case):
        return
    if "with" not in facts.misfits:
        fix = (put("/data/reasoning", "strip"),) if _masks(case) else ()
        yield problem("/data/source", fix=fix, rows=reasoned)


@rule("FTC289", "reasoning-before-an-unread-template", "info", reads=("tokenizer", "data"))
def reasoning_before_an_unread_template(case: Case) -> Iterator[Problem]:
    """What it is: Rows have reasoning before their answers, and the chat template was not read.

    Why it matters: Some templates keep reasoning, some leave it out, and some begin every answer
    with it. The tokenizer's files could not be read, so it is not known what this one does.

    Example: {"model": "Qwen/Qwen3-8B", "data": "chats-with-reasoning.jsonl"}

    Use instead: {"model": "./Qwen3-8B", "data": "chats-with-reasoning.jsonl"}
    """
    facts = case.tokenizer
    _, reasoned = _count(case)
    if facts.exact or facts.reasoning is not None or not reasoned or not _learns(case):
        return
    yield problem("/data/source", rows=reasoned)


@rule(
    "FTC293",
    "rows-off-generation-prompt",
    "error",
    reads=("tokenizer", "data"),
    fix_safety="unsafe",
)
def rows_off_generation_prompt(case: Case) -> Iterator[Problem]:
    """What it is: The chat template begins an answer differently from its generation prompt.

    Why it matters: Programs that use the model end the prompt as the generation prompt does. If
    that opens `<think>` and the rows do not, or closes it and the rows have reasoning, the model is
    asked in a way that it was not trained in. `prepare.py` stops at such a row.

    Example: {"model": "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "data": "chats.jsonl"}

    Use instead: {"model": {"id": "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
     "chat_template": "with-reasoning.jinja"}, "data": "chats.jsonl"}
    """
    facts = case.tokenizer.reasoning
    if facts is None or not _learns(case) or case.spec.objective.loss_on == "all":
        return
    plain, reasoned = _count(case)
    pointer = "/model/chat_template" if case.tokenizer.template_from_spec else "/model/id"
    if "with" in facts.misfits and reasoned:
        strips = _masks(case) and "without" not in facts.misfits
        fix = (put("/data/reasoning", "strip"),) if strips else ()
        advice = "strip" if strips else ""
        yield problem(pointer, message="with", help=advice, fix=fix, rows=reasoned)
    if "without" in facts.misfits and plain:
        yield problem(pointer, rows=plain)


@rule("FTC294", "reasoning-policy-without-effect", "warning", reads=("tokenizer", "data"))
def reasoning_policy_without_effect(case: Case) -> Iterator[Problem]:
    """What it is: `data.reasoning` is `mask` or `strip`, and there is nothing to mask or to remove.

    Why it matters: No row has reasoning before its answer, or the rows have no turns. `mask` also
    needs a chat template, which shows where an answer begins.

    Example: {"data": {"source": "book.jsonl", "form": "text", "reasoning": "strip"}}

    Use instead: {"data": {"source": "book.jsonl", "form": "text"}}
    """
    policy, tokenizer = case.spec.data.reasoning, case.tokenizer
    if policy == "learn":
        return
    fix = (put("/data/reasoning", "learn"),)
    is_plain = tokenizer.exact and tokenizer.template_sha256 is None
    if policy == "mask" and is_plain and case.data.form != "text":
        yield problem("/data/reasoning", message="plain", fix=fix)
    elif not case.data.contents.reasoned_rows and not (policy == "mask" and _writes_empty(case)):
        yield problem("/data/reasoning", fix=fix, policy=policy)


def _count(case: Case) -> tuple[int, int]:
    """Return how many of the rows that were looked at are learned without reasoning, and with."""
    contents = case.data.contents
    reasoned = 0 if case.spec.data.reasoning == "strip" else contents.reasoned_rows
    return contents.looked_rows - reasoned, reasoned


def _masks(case: Case) -> bool:
    """Return whether `data.reasoning` says which tokens are learned."""
    return OBJECTIVES[case.spec.objective.type].masks


def _learns(case: Case) -> bool:
    """Return whether answers are learned as the chat template writes them."""
    return not OBJECTIVES[case.spec.objective.type].plain and case.data.form in RENDERED


def _writes_empty(case: Case) -> bool:
    facts: ReasoningFacts | None = case.tokenizer.reasoning
    return facts is not None and bool(facts.empty) and _learns(case)
