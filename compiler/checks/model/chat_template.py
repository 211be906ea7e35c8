"""The rules about parts of rows that a chat template omits (FTC146, FTC148, FTC149, FTC278)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES

#: Forms whose rows the chat template renders, where there is one.
RENDERED = ("chat", "instruction", "prompt_completion", "preference", "feedback", "prompt")


def _at(case: Case) -> str:
    return "/model/chat_template" if case.tokenizer.template_from_spec else "/model/id"


def _renders(case: Case) -> bool:
    rendered = not OBJECTIVES[case.spec.objective.type].plain
    return rendered and case.data.form in RENDERED


@rule("FTC146", "tool-turns-dropped-by-template", "error", reads=("tokenizer", "data"))
def tool_turns_dropped_by_template(case: Case) -> Iterator[Problem]:
    """What it is: The chat template does not write the tool calls or the tool results of the data.

    Why it matters: An answer that is a call is then empty text, and the model learns to say
    nothing. Without the results it learns answers that nothing in the conversation supports.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "chat_template": "plain-chatml.jinja"},
     "data": "chats-with-tool-calls.jsonl"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "data": "chats-with-tool-calls.jsonl"}
    """
    use, unwritten = case.data.contents.tool_use, case.tokenizer.unwritten
    if use is None:
        return
    if "calls" in unwritten and use.call_rows:
        yield problem(_at(case), rows=use.call_rows)
    if "results" in unwritten and "calls" not in unwritten and use.result_rows:
        yield problem(_at(case), message="results", rows=use.result_rows)


@rule("FTC148", "tools-dropped-by-template", "warning", reads=("tokenizer", "data"))
def tools_dropped_by_template(case: Case) -> Iterator[Problem]:
    """What it is: Rows declare tools, and the chat template does not write the declarations.

    Why it matters: The model learns to call functions that the conversation does not mention. It
    then knows the tools of the training rows only, and ignores others when it is used.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "chat_template": "without-tools.jinja"},
     "data": "chats-with-tools.jsonl"}

    Use instead: {"model": "Qwen/Qwen2.5-7B-Instruct", "data": "chats-with-tools.jsonl"}
    """
    use = case.data.contents.tool_use
    hidden = 0 if use is None else use.declaring_rows - use.described_rows
    if "tools" in case.tokenizer.unwritten and hidden:
        yield problem(_at(case), rows=hidden)


@rule("FTC149", "turns-dropped-by-template", "error", reads=("tokenizer", "data"))
def turns_dropped_by_template(case: Case) -> Iterator[Problem]:
    """What it is: The chat template does not write the user's turn, or drops earlier user turns.

    Why it matters: The model learns answers to questions that it does not see.

    Example: {"model": {"id": "./base", "chat_template": "last-turn-only.jinja"},
     "data": "conversations.jsonl"}

    Use instead: {"model": {"id": "./base", "chat_template": "every-turn.jinja"},
     "data": "conversations.jsonl"}
    """
    unwritten = case.tokenizer.unwritten
    if not _renders(case):
        return
    is_plain = case.data.pictures is None  # contents are texts, not parts beside images
    if "question" in unwritten or ("plain" in unwritten and is_plain):
        yield problem(_at(case))
    elif "earlier_turn" in unwritten and case.data.multi_turn:
        yield problem(_at(case), message="earlier")


@rule("FTC278", "template-without-generation-prompt", "warning", reads=("tokenizer", "data"))
def template_without_generation_prompt(case: Case) -> Iterator[Problem]:
    """What it is: `add_generation_prompt` does not add the header that each answer begins with.

    Why it matters: Programs that use the model end the prompt without the header. The model has to
    write it first, and users see it in the answer.

    Example: {"model": {"id": "./base", "chat_template": "no-generation-prompt.jinja"},
     "data": "chats.jsonl"}

    Use instead: {"model": {"id": "./base", "chat_template": "with-generation-prompt.jinja"},
     "data": "chats.jsonl"}
    """
    if _renders(case) and "opening" in case.tokenizer.unwritten:
        yield problem(_at(case))
