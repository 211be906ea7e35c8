"""The rules about tools that the model calls in its answers (FTC556 to FTC559, FTC597)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.text.tool_templates import is_readable
from ftc.compiler.plan.objective.sampling import CALL_TOKENS, calls_tools
from ftc.spec.message import Message

_TOOLS: Final = "/objective/tools"
_LIMITS: Final = ("max_tool_calling_iterations", "tool_seconds")


@rule("FTC556", "unusable-tools", "error", reads=("data",))
def unusable_tools(case: Case) -> Iterator[Problem]:
    """What it is: The file of `objective.tools` or one of its functions cannot be used.

    Why it matters: The model reads what a tool does from its name, its type hints and its
    docstring. transformers' `get_json_schema` needs a hint and a description of every argument.
    Functions whose names begin with an underscore are not tools. ftc reads the file and never runs
    it.

    Example: {"objective": {"type": "grpo", "tools": "tools-without-hints.py"}}

    Use instead: {"objective": {"type": "grpo", "tools": "tools.py"}}
    """
    found = case.data.rewards.tools if case.data.rewards else None
    for fault in found.faults if found and calls_tools(case.spec.objective) else ():
        is_file = not fault.key.startswith("tool.")
        yield problem(_TOOLS, help="file" if is_file else "", what=Message(fault.key, fault.values))


@rule("FTC557", "tools-without-their-template", "error", reads=("tokenizer",))
def tools_without_their_template(case: Case) -> Iterator[Problem]:
    """What it is: The pinned TRL cannot read calls of tools in this model's chat template.

    Why it matters: The trainer finds the calls in an answer by the chat template's own markers. It
    knows them for a list of templates, and compares their whole text. Options of a template would
    change its text.

    Example: {"model": "HuggingFaceTB/SmolLM2-1.7B-Instruct",
     "objective": {"type": "grpo", "tools": "tools.py"}}

    Use instead: {"model": "Qwen/Qwen2.5-1.5B-Instruct",
     "objective": {"type": "grpo", "tools": "tools.py"}}
    """
    if not calls_tools(case.spec.objective):
        return
    found = case.tokenizer.template_sha256
    if found is None:
        if case.tokenizer.exact:
            yield problem(_TOOLS, message="none", model=case.spec.model.id)
    elif not is_readable(found):
        yield problem(_TOOLS, message="unknown", model=case.spec.model.id)
    elif case.spec.data.template_options:
        yield problem("/data/template_options", message="options", help="options")


@rule("FTC558", "tools-beside-unproven-setting", "error", reads=("data",))
def tools_beside_unproven_setting(case: Case) -> Iterator[Problem]:
    """What it is: Tools are combined with vLLM, or with rows that declare tools of their own.

    Why it matters: After a call, the trainer asks vLLM for as many tokens again as a whole answer
    has, which is more than its context is planned for. Rows with tools of their own would declare
    functions that cannot be executed.

    Example: {"objective": {"type": "grpo", "tools": "tools.py", "vllm": "colocate"}}

    Use instead: {"objective": {"type": "grpo", "tools": "tools.py"}}
    """
    if not calls_tools(case.spec.objective):
        return
    if case.spec.objective.vllm != "off":
        fix = (put("/objective/vllm", "off"),)
        yield problem("/objective/vllm", message="vllm", help="vllm", fix=fix)
    if case.data.calls:
        yield problem(_TOOLS, message="declared", help="declared")


@rule("FTC559", "answers-without-room-for-calls", "warning", fix_safety="unsafe")
def answers_without_room_for_calls(case: Case) -> Iterator[Problem]:
    """What it is: `objective.answer_tokens` is too small for one call of a tool and its result.

    Why it matters: Calls and their results are tokens of the answer. The trainer drops a result
    that does not fit, and the answer ends with its call.

    Example: {"objective": {"type": "grpo", "tools": "tools.py", "answer_tokens": 32}}

    Use instead: {"objective": {"type": "grpo", "tools": "tools.py"}}
    """
    pointer, tokens = "/objective/answer_tokens", case.spec.objective.answer_tokens
    if calls_tools(case.spec.objective) and isinstance(tokens, int) and tokens < CALL_TOKENS:
        fix = ({"op": "remove", "path": pointer},) if pointer in case.spec.said else ()
        yield problem(pointer, fix=fix, tokens=tokens, least=CALL_TOKENS)


@rule("FTC597", "limit-of-calls-without-tools", "warning")
def limit_of_calls_without_tools(case: Case) -> Iterator[Problem]:
    """What it is: The spec limits the rounds or the seconds of calls, and there are no tools.

    Why it matters: Without `objective.tools` nothing can be called.

    Example: {"objective": {"type": "grpo", "max_tool_calling_iterations": 2}}

    Use instead: {"objective": {"type": "grpo", "tools": "tools.py",
     "max_tool_calling_iterations": 2}}
    """
    objective = case.spec.objective
    if not OBJECTIVES[objective.type].calls or objective.tools is not None:
        return
    for field in _LIMITS:
        pointer = f"/objective/{field}"
        if pointer in case.spec.said:
            yield problem(pointer, fix=({"op": "remove", "path": pointer},), field=field)
