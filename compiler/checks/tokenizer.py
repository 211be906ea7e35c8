"""The rules about tokenizer and chat template (FTC140 to FTC161)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, rule


@rule("FTC140", "tokenizer-without-pad", "info", reads=("tokenizer",))
def tokenizer_without_pad(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer has no padding token of its own.

    Why it matters: Rows of a batch need one. The bundle pads with the end token and masks by
    length, never by token id, so that the end of an answer is still learned.

    Example: {"model": "meta-llama/Llama-3.1-8B"}

    Use instead: {"model": "meta-llama/Llama-3.1-8B", "allow": ["FTC140"]}
    """
    pad, eos = case.tokenizer.pad, case.tokenizer.eos
    if case.tokenizer.exact and eos is not None and (pad is None or pad == eos):
        yield Problem(
            message=f"the tokenizer has no padding token of its own: `{eos}` will pad",
            help="nothing to do: padding is masked by length, and the end token is learned",
            pointer="/model/id",
        )


@rule("FTC141", "chat-without-template", "error", reads=("tokenizer", "data"))
def chat_without_template(case: Case) -> Iterator[Problem]:
    """What it is: The data holds conversations, and the tokenizer has no chat template.

    Why it matters: Nothing says how roles and turns become text. Base models often have none.

    Example: {"model": "meta-llama/Llama-3.1-8B", "data": "chats.jsonl"}

    Use instead: {"model": {"id": "meta-llama/Llama-3.1-8B", "chat_template": "chatml.jinja"}}
    """
    if not case.tokenizer.exact or case.tokenizer.template_sha256 is not None:
        return
    if case.data.form == "chat":
        yield Problem(
            message="the data is chat and the tokenizer has no chat template",
            help="set `model.chat_template` to a Jinja file, or choose an instruct model",
            pointer="/model/id",
        )


@rule("FTC142", "system-refused-by-template", "error", reads=("tokenizer", "data"))
def system_refused_by_template(case: Case) -> Iterator[Problem]:
    """What it is: There is a system message, and the chat template raises an error on one.

    Why it matters: Preparing the data would stop at the first such row. Gemma's templates do so.

    Example: {"model": "google/gemma-2-2b-it", "data": {"source": "a.csv", "system": "Be brief."}}

    Use instead: {"model": "google/gemma-2-2b-it", "data": {"source": "a.csv"}}
    """
    said = case.spec.data.system is not None
    if case.tokenizer.accepts_system is False and (said or case.data.has_system):
        where = "the spec has a system message" if said else "the data has system messages"
        yield Problem(
            message=f"{where}, which the chat template refuses",
            help="put it into the first user message, or set `model.chat_template` to one that "
            "accepts it",
            pointer="/data/system" if said else "/data/source",
        )


@rule("FTC143", "answer-left-open", "warning", reads=("tokenizer",))
def answer_left_open(case: Case) -> Iterator[Problem]:
    """What it is: The chat template does not end an answer with the tokenizer's end token.

    Why it matters: A model that never learns to stop goes on after its answer until the limit.

    Example: {"model": {"id": "./base", "chat_template": "no-end.jinja"}}

    Use instead: {"model": {"id": "./base", "chat_template": "ends-with-eos.jinja"}}
    """
    if case.tokenizer.closes_answer is False:
        yield Problem(
            message=f"the chat template does not end an answer with `{case.tokenizer.eos}`",
            help="use a template that does, or check that the end marker it writes is the one "
            "that generation stops at",
            pointer="/model/chat_template" if case.tokenizer.template_from_spec else "/model/id",
        )


@rule("FTC144", "tokenizer-without-end", "error", reads=("tokenizer",))
def tokenizer_without_end(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer names no end-of-sequence token.

    Why it matters: An answer has no end to learn, rows have nothing to be padded with, and the
    GGUF runs to its limit.

    Example: {"model": "./tokenizer-without-eos"}

    Use instead: {"model": "./tokenizer-with-eos"}
    """
    if case.tokenizer.exact and case.tokenizer.eos is None:
        yield Problem(
            message="the tokenizer has no end-of-sequence token",
            help="set `eos_token` in the model's tokenizer_config.json",
            pointer="/model/id",
        )


@rule("FTC145", "history-rewritten-by-template", "warning", reads=("tokenizer", "data"))
def history_rewritten_by_template(case: Case) -> Iterator[Problem]:
    """What it is: The template renders an earlier turn differently once a later turn follows.

    Why it matters: Templates of reasoning models leave the reasoning out of earlier answers, for
    one. Those are then not the tokens that the model would write, and are only read: of each
    conversation the last answer is learned, and of the others those that stay as they were.

    Example: {"model": "Qwen/Qwen3-8B", "data": "multi-turn.jsonl"}

    Use instead: {"model": {"id": "Qwen/Qwen3-8B", "chat_template": "stable.jinja"}}
    """
    if case.tokenizer.prefix_stable is False and case.data.multi_turn:
        yield Problem(
            message="the chat template rewrites earlier turns of a conversation",
            help="answers that it rewrites will only be read: to learn them too, write a row for "
            "each that ends with it, or set `model.chat_template` to one whose rendering only ever "
            "grows",
            pointer="/model/id",
        )


@rule("FTC160", "template-of-another-family", "warning", reads=("tokenizer",))
def template_of_another_family(case: Case) -> Iterator[Problem]:
    """What it is: The template that the spec brings writes markers that this tokenizer cuts up.

    Why it matters: The model knows its own markers and not these: it must learn from scattered
    pieces where a turn begins and ends, and what asks it later may cut them otherwise. With the
    template of another family Qwen answered 26 % instead of 57 % (LLaMA-Factory #2509).

    Example: {"model": {"id": "meta-llama/Llama-3.1-8B-Instruct", "chat_template": "chatml.jinja"}}

    Use instead: {"model": "meta-llama/Llama-3.1-8B-Instruct"}
    """
    split = case.tokenizer.split_markers
    if case.tokenizer.template_from_spec and split:
        shown = ", ".join(f"`{marker}`" for marker in split)
        yield Problem(
            message=f"the chat template writes {shown}, which the tokenizer cuts into pieces",
            help="use the model's own template, or one whose markers are tokens of this tokenizer",
            pointer="/model/chat_template",
        )


@rule("FTC161", "two-chat-templates", "warning", reads=("tokenizer",))
def two_chat_templates(case: Case) -> Iterator[Problem]:
    """What it is: `chat_template.jinja` and tokenizer_config.json hold different chat templates.

    Why it matters: transformers reads the first and ignores the second, so that the first is what
    is learned. llama.cpp's converter prefers the second: `merge.py` leaves it out of the merged
    folder, and a GGUF that others made of the base, for an adapter to sit on, has it.

    Example: {"model": "./base-with-two-templates"}

    Use instead: {"model": {"id": "./base-with-two-templates", "chat_template": "meant.jinja"}}
    """
    if case.tokenizer.two_templates and not case.tokenizer.template_from_spec:
        yield Problem(
            message="the model has two different chat templates: `chat_template.jinja`, which "
            "training uses, and the one in `tokenizer_config.json`, which llama.cpp would",
            help="take the one that is not meant out of the model's folder, or name a file of your "
            "own in `model.chat_template`",
            pointer="/model/id",
        )
