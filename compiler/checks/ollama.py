"""The rules about Ollama and the adapter as GGUF (FTC670 to FTC679)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.architecture import is_convertible
from ftc.compiler.knowledge.ollama_templates import is_sayable


@rule("FTC670", "template-unknown-to-ollama", "info", reads=("tokenizer", "data"))
def template_unknown_to_ollama(case: Case) -> Iterator[Problem]:
    """What it is: The chat template renders as none of the families that ftc can write for Ollama.

    Why it matters: The `Modelfile` has no TEMPLATE then, and Ollama has to make do with the chat
    template inside the GGUF, or guesses. `ask.py` renders that one through llama-cpp-python exactly
    as training did.

    Example: {"model": "zai-org/GLM-4.6", "export": ["Q4_K_M"]}

    Use instead: {"model": {"id": "./base", "chat_template": "chatml.jinja"}, "export": ["Q4_K_M"]}
    """
    if _obstacle(case) == "unknown":
        yield Problem(
            message="the chat template renders as none of the families that ftc writes for Ollama: "
            "the Modelfile has no TEMPLATE, and Ollama has to read the one inside the GGUF",
            help="use `ask.py`, which renders the template inside the GGUF, or write TEMPLATE by "
            "hand",
            pointer=_pointer(case),
        )


@rule("FTC671", "template-with-date", "info", reads=("tokenizer", "data"))
def template_with_date(case: Case) -> Iterator[Problem]:
    """What it is: The chat template prints the day on which it is rendered.

    Why it matters: The model learns the day of its training, and is asked on other days. Ollama's
    templates cannot print the day in that form, so the `Modelfile` has no TEMPLATE.

    Example: {"model": "meta-llama/Llama-3.2-3B-Instruct", "export": ["Q4_K_M"]}

    Use instead: {"model": {"id": "./base", "chat_template": "dateless.jinja"}}
    """
    if _obstacle(case) == "date":
        yield Problem(
            message="the chat template prints the date of the day, which Ollama cannot: "
            "the Modelfile has no TEMPLATE",
            help="set `model.chat_template` to a copy of the template with a fixed date in the "
            "place of `strftime_now`",
            pointer=_pointer(case),
        )


@rule("FTC672", "first-token-untrained", "warning", reads=("tokenizer", "data"))
def first_token_untrained(case: Case) -> Iterator[Problem]:
    """What it is: llama.cpp puts a token before every text, and the chat template never does.

    Why it matters: Servers that tokenise by themselves, Ollama among them, ask the model with a
    first token that training never showed it. `ask.py` leaves it out.

    Example: {"model": {"id": "./llama", "chat_template": "chatml.jinja"}, "export": ["Q4_K_M"]}

    Use instead: {"model": {"id": "./llama", "chat_template": "chatml-with-bos.jinja"}}
    """
    if _obstacle(case) == "bos":
        yield Problem(
            message=f"llama.cpp puts `{case.tokenizer.bos}` before every text, and the chat "
            "template does not begin with it: the Modelfile has no TEMPLATE",
            help="begin the template with `{{ bos_token }}`, so that training shows that token too",
            pointer=_pointer(case),
        )


@rule("FTC673", "system-unsayable-in-modelfile", "warning", reads=("data",))
def system_unsayable_in_modelfile(case: Case) -> Iterator[Problem]:
    r"""What it is: The system message holds triple quotes, or a tab or another unprintable letter.

    Why it matters: A Modelfile has no escape for them: Ollama ends the text there, or drops the
    letter in silence. The `Modelfile` has no SYSTEM then, and each request has to bring it.

    Example: {"data": {"source": "a.csv", "system": "Be brief.\tAnd polite."}}

    Use instead: {"data": {"source": "a.csv", "system": "Be brief. And polite."}}
    """
    system, export = case.spec.data.system, case.spec.export
    if not (export.types or export.adapter) or system is None or case.data.form == "text":
        return
    if not is_sayable(system):
        yield Problem(
            message="no Modelfile can hold the system message: it has triple quotes or unprintable "
            "letters",
            help="write it with plain spaces and without triple quotes, or send it with each "
            "request to Ollama",
            pointer="/data/system",
        )


@rule("FTC674", "adapter-of-full-fine-tune", "error", reads=(), fix_safety="unsafe")
def adapter_of_full_fine_tune(case: Case) -> Iterator[Problem]:
    """What it is: An adapter is to be exported, and the method moves all weights.

    Why it matters: A full fine-tune has no adapter, and neither has one of some layers.

    Example: {"method": "full", "export": {"types": ["Q8_0"], "adapter": true}}

    Use instead: {"method": "lora", "export": {"types": ["Q8_0"], "adapter": true}}
    """
    kinds = {"full": "a full fine-tune", "freeze": "a fine-tune of some layers"}
    kind = kinds.get(case.spec.method.type)
    if case.spec.export.adapter and kind is not None:
        yield Problem(
            message=f"{kind} has no adapter to export",
            help="leave `export.adapter` out, or train with `lora`",
            pointer="/export/adapter",
            fix=(put("/export/adapter", False),),
        )


@rule("FTC675", "unconvertible-adapter", "error", reads=("model",), fix_safety="unsafe")
def unconvertible_adapter(case: Case) -> Iterator[Problem]:
    """What it is: The pinned llama.cpp has no converter for the architecture of the adapter's base.

    Why it matters: Neither the adapter nor the base that it belongs on can become a GGUF.

    Example: {"model": "org/brand-new-architecture", "export": {"adapter": true}}

    Use instead: {"model": "org/brand-new-architecture", "export": []}
    """
    if case.spec.export.adapter and not is_convertible(case.model.architecture):
        yield Problem(
            message=f"llama.cpp cannot convert adapters of `{case.model.architecture}` to GGUF",
            help="leave `export.adapter` out: the adapter stays in run/train/model as PEFT saves "
            "it",
            pointer="/export/adapter",
            fix=(put("/export/adapter", False),),
        )


@rule("FTC676", "template-unseen", "info", reads=("tokenizer", "data"))
def template_unseen(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer's files are not at hand, so nobody has seen its chat template.

    Why it matters: The `Modelfile` has no TEMPLATE then, whatever the family is, and Ollama has to
    read the chat template inside the GGUF.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct", "export": ["Q4_K_M"]}

    Use instead: {"model": "./Qwen2.5-7B-Instruct", "export": ["Q4_K_M"]}
    """
    tokenizer, export = case.tokenizer, case.spec.export
    unseen = not tokenizer.exact and tokenizer.template_sha256 is None
    if unseen and (export.types or export.adapter) and case.data.form != "text":
        yield Problem(
            message="the chat template was not seen, since the tokenizer's files are not at hand: "
            "the Modelfile has no TEMPLATE, and Ollama has to read the one inside the GGUF",
            help="compile again with `--update` where the model's folder or the Hub can be read",
            pointer="/model/id",
        )


def _obstacle(case: Case) -> str | None:
    """Return what keeps Ollama from rendering as training does; None where nothing is exported."""
    export, ollama = case.spec.export, case.tokenizer.ollama
    if not (export.types or export.adapter) or case.data.form == "text" or ollama is None:
        return None
    return ollama.obstacle


def _pointer(case: Case) -> str:
    return "/model/chat_template" if case.tokenizer.template_from_spec else "/model/id"
