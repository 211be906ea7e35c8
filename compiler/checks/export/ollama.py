"""The rules about Ollama and the adapter as GGUF (FTC670 to FTC679)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.text.ollama_templates import is_sayable


@rule("FTC670", "template-unknown-to-ollama", "info", reads=("tokenizer", "data"))
def template_unknown_to_ollama(case: Case) -> Iterator[Problem]:
    """What it is: The chat template is not one of those that ftc can write for Ollama.

    Why it matters: The `Modelfile` then has no TEMPLATE, and Ollama uses the chat template in the
    GGUF, or guesses. `ask.py` renders that template through llama-cpp-python exactly as training
    did.

    Example: {"model": "zai-org/GLM-4.6", "export": ["Q4_K_M"]}

    Use instead: {"model": {"id": "./base", "chat_template": "chatml.jinja"}, "export": ["Q4_K_M"]}
    """
    if _obstacle(case) == "unknown":
        yield problem(_pointer(case))


@rule("FTC671", "template-with-date", "info", reads=("tokenizer", "data"))
def template_with_date(case: Case) -> Iterator[Problem]:
    """What it is: The chat template prints the current date.

    Why it matters: The prompt contains the date of training, and users ask on other days.
    Ollama's templates cannot print the date in that form, so the `Modelfile` has no TEMPLATE.

    Example: {"model": "meta-llama/Llama-3.2-3B-Instruct", "export": ["Q4_K_M"]}

    Use instead: {"model": {"id": "./base", "chat_template": "dateless.jinja"}}
    """
    if _obstacle(case) == "date":
        yield problem(_pointer(case))


@rule("FTC672", "first-token-untrained", "warning", reads=("tokenizer", "data"))
def first_token_untrained(case: Case) -> Iterator[Problem]:
    """What it is: llama.cpp puts a token before every text, and the chat template does not.

    Why it matters: Servers that tokenize by themselves, such as Ollama, start with a token that the
    model has not seen in training. `ask.py` leaves it out.

    Example: {"model": {"id": "./llama", "chat_template": "chatml.jinja"}, "export": ["Q4_K_M"]}

    Use instead: {"model": {"id": "./llama", "chat_template": "chatml-with-bos.jinja"}}
    """
    if _obstacle(case) == "bos":
        bos = case.tokenizer.bos
        yield problem(_pointer(case), message="" if bos else "unnamed", bos=bos or "")


@rule("FTC673", "system-unsayable-in-modelfile", "warning", reads=("data",))
def system_unsayable_in_modelfile(case: Case) -> Iterator[Problem]:
    r"""What it is: The system message holds triple quotes, a tab or another unprintable character.

    Why it matters: A Modelfile cannot escape them: Ollama ends the text there, or silently drops
    the character. The `Modelfile` then has no SYSTEM, and each request has to send the message.

    Example: {"data": {"source": "a.csv", "system": "Be brief.\tAnd polite."}}

    Use instead: {"data": {"source": "a.csv", "system": "Be brief. And polite."}}
    """
    system = case.spec.data.system
    if system is not None and _is_asked(case) and not is_sayable(system):
        yield problem("/data/system")


@rule("FTC674", "adapter-of-full-fine-tune", "error", reads=(), fix_safety="unsafe")
def adapter_of_full_fine_tune(case: Case) -> Iterator[Problem]:
    """What it is: An adapter is to be exported, and the method trains none.

    Why it matters: A full fine-tune has no adapter, and neither has a fine-tune of some layers.

    Example: {"method": "full", "export": {"types": ["Q8_0"], "adapter": true}}

    Use instead: {"method": "lora", "export": {"types": ["Q8_0"], "adapter": true}}
    """
    method = case.spec.method.type
    if case.spec.export.adapter and method in ("full", "freeze"):
        yield problem("/export/adapter", message=method, fix=(put("/export/adapter", False),))


@rule("FTC675", "unconvertible-adapter", "error", reads=("model",), fix_safety="unsafe")
def unconvertible_adapter(case: Case) -> Iterator[Problem]:
    """What it is: The pinned llama.cpp has no converter for the architecture of the adapter's base.

    Why it matters: Neither the adapter nor its base can be converted to GGUF.

    Example: {"model": "org/brand-new-architecture", "export": {"adapter": true}}

    Use instead: {"model": "org/brand-new-architecture", "export": []}
    """
    if case.spec.export.adapter and not is_convertible(case.model.converted):
        yield problem(
            "/export/adapter",
            fix=(put("/export/adapter", False),),
            architecture=case.model.architecture,
        )


@rule("FTC676", "template-unseen", "info", reads=("tokenizer", "data"))
def template_unseen(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer's files are not available, so the chat template is not known.

    Why it matters: The `Modelfile` then has no TEMPLATE, whatever the model family is, and Ollama
    has to read the chat template in the GGUF.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct", "export": ["Q4_K_M"]}

    Use instead: {"model": "./Qwen2.5-7B-Instruct", "export": ["Q4_K_M"]}
    """
    tokenizer = case.tokenizer
    if _is_asked(case) and not tokenizer.exact and tokenizer.template_sha256 is None:
        yield problem("/model/id")


@rule("FTC677", "rows-unlike-in-ollama", "warning", reads=("tokenizer", "data"))
def rows_unlike_in_ollama(case: Case) -> Iterator[Problem]:
    """What it is: For some rows, Ollama would write another prompt than training does.

    Why it matters: Ollama renders conversations with the `Modelfile`'s TEMPLATE. Some chat
    templates leave reasoning out of earlier answers or change white space, and TEMPLATE does not.
    For such requests the model gets a prompt that it has not seen in training.

    Example: {"model": "Qwen/Qwen3-8B", "data": "chats-that-reason.jsonl", "export": ["Q4_K_M"]}

    Use instead: {"data": {"source": "chats-that-reason.jsonl", "reasoning": "strip"}}
    """
    found = case.data.contents.ollama
    if found is not None and found.other and _is_asked(case):
        yield problem("/data/source", count=found.other, rows=found.compared, row=found.first or 1)


def _is_asked(case: Case) -> bool:
    """Return whether Ollama is to render a chat template around questions to the result."""
    export = case.spec.export
    is_plain = OBJECTIVES[case.spec.objective.type].plain or case.data.form == "text"
    return bool(export.types or export.adapter) and not is_plain


def _obstacle(case: Case) -> str | None:
    """Return what keeps Ollama from rendering as training does; None where nothing is exported."""
    ollama = case.tokenizer.ollama
    return None if ollama is None or not _is_asked(case) else ollama.obstacle


def _pointer(case: Case) -> str:
    return "/model/chat_template" if case.tokenizer.template_from_spec else "/model/id"
