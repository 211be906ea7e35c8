"""The rules about tokenizer and chat template (FTC140 to FTC161, FTC168 to FTC170)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.knowledge.text.tokenizer_classes import find_class_steps, find_loaded_class
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.runtime.tokenizer.round_trip import SEPARATORS

_ANY_CLASS: Final = "PreTrainedTokenizerFast"  # takes `tokenizer.json` as it is saved
#: The classes of the first Gemmas, whose templates raise an error for a system message.
_WITHOUT_SYSTEM: Final = frozenset({"GemmaForCausalLM", "Gemma2ForCausalLM"})
_FEW_ROWS: Final = 0.01  # share of the rows of which no rule speaks
_NAMED: Final = 5  # characters that a message names


@rule("FTC140", "tokenizer-without-pad", "info", reads=("tokenizer",))
def tokenizer_without_pad(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer has no padding token.

    Why it matters: Rows of a batch need padding. The bundle pads with the end token and masks by
    length, never by token id, so that the end of an answer is still learned.

    Example: {"model": "meta-llama/Llama-3.1-8B"}

    Use instead: {"model": "meta-llama/Llama-3.1-8B", "allow": ["FTC140"]}
    """
    pad, eos = case.tokenizer.pad, case.tokenizer.eos
    if case.tokenizer.exact and eos is not None and (pad is None or pad == eos):
        yield problem("/model/id", eos=eos)


@rule("FTC141", "chat-without-template", "error", reads=("model", "tokenizer", "data"))
def chat_without_template(case: Case) -> Iterator[Problem]:
    """What it is: The data holds conversations, and the tokenizer has no chat template.

    Why it matters: Nothing says how roles and turns become text. Base models often have none.

    Example: {"model": "meta-llama/Llama-3.1-8B", "data": "chats.jsonl"}

    Use instead: {"model": {"id": "meta-llama/Llama-3.1-8B", "chat_template": "chatml.jinja"}}
    """
    tokenizer, entry = case.tokenizer, find_model(case.model.id)
    listed = entry is not None and entry.chat_template == "none"
    without = tokenizer.template_sha256 is None and (tokenizer.exact or listed)
    if without and case.data.form == "chat" and not OBJECTIVES[case.spec.objective.type].plain:
        yield problem("/model/id")


@rule("FTC524", "prompts-without-template", "warning", reads=("model", "tokenizer", "data"))
def prompts_without_template(case: Case) -> Iterator[Problem]:
    """What it is: The data holds prompts and answers, and the tokenizer has no chat template.

    Why it matters: A row is read as its prompt, a line break and its answer. Nothing else marks
    where the answer begins, so the model answers well only if it is asked in the same way: with the
    prompt and a line break, and without a chat. TRL joins the two without the line break.

    Example: {"model": "meta-llama/Llama-3.1-8B", "data": "questions.csv"}

    Use instead: {"model": {"id": "meta-llama/Llama-3.1-8B", "chat_template": "chatml.jinja"}}
    """
    tokenizer, kind = case.tokenizer, OBJECTIVES[case.spec.objective.type]
    without = tokenizer.exact and tokenizer.template_sha256 is None
    if without and case.data.form not in ("chat", "text") and not kind.plain:
        yield problem("/model/id")


@rule("FTC142", "system-refused-by-template", "error", reads=("model", "tokenizer", "data"))
def system_refused_by_template(case: Case) -> Iterator[Problem]:
    """What it is: There is a system message, and the chat template raises an error for it.

    Why it matters: Preparing the data would stop at the first such row. Gemma's templates raise
    this error.

    Example: {"model": "google/gemma-2-2b-it", "data": {"source": "a.csv", "system": "Be brief."}}

    Use instead: {"model": "google/gemma-2-2b-it", "data": {"source": "a.csv"}}
    """
    said, tokenizer = case.spec.data.system is not None, case.tokenizer
    entry = None if tokenizer.exact or tokenizer.template_sha256 else find_model(case.model.id)
    listed = entry is not None and entry.chat_template == "gemma"
    refused = tokenizer.accepts_system is False or (
        listed and case.model.architecture in _WITHOUT_SYSTEM
    )
    if refused and (said or case.data.has_system):
        pointer = "/data/system" if said else "/data/source"
        yield problem(pointer, message="spec" if said else "data")


@rule("FTC143", "answer-left-open", "warning", reads=("tokenizer",))
def answer_left_open(case: Case) -> Iterator[Problem]:
    """What it is: The chat template does not end an answer with the tokenizer's end token.

    Why it matters: A model that never learns to stop continues after its answer until the token
    limit.

    Example: {"model": {"id": "./base", "chat_template": "no-end.jinja"}}

    Use instead: {"model": {"id": "./base", "chat_template": "ends-with-eos.jinja"}}
    """
    if case.tokenizer.closes_answer is False:
        yield problem(
            "/model/chat_template" if case.tokenizer.template_from_spec else "/model/id",
            eos=case.tokenizer.eos or "",
        )


@rule("FTC144", "tokenizer-without-end", "error", reads=("tokenizer",))
def tokenizer_without_end(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer names no end-of-sequence token.

    Why it matters: The model cannot learn where an answer ends, rows have no token for padding, and
    the GGUF generates until its limit.

    Example: {"model": "./tokenizer-without-eos"}

    Use instead: {"model": "./tokenizer-with-eos"}
    """
    writes = not compares_texts(case.spec.objective.type)
    if writes and case.tokenizer.exact and case.tokenizer.eos is None:
        yield problem("/model/id")


@rule("FTC145", "history-rewritten-by-template", "warning", reads=("tokenizer", "data"))
def history_rewritten_by_template(case: Case) -> Iterator[Problem]:
    """What it is: The template renders an earlier turn differently once a later turn follows.

    Why it matters: For example, templates of reasoning models remove the reasoning from earlier
    answers. Those tokens are then not what the model would generate, so they are left out of the
    loss: the last answer of a conversation is trained on, and of the others only those that do not
    change.

    Example: {"model": "Qwen/Qwen3-8B", "data": "multi-turn.jsonl"}

    Use instead: {"model": {"id": "Qwen/Qwen3-8B", "chat_template": "stable.jinja"}}
    """
    if case.tokenizer.prefix_stable is False and case.data.multi_turn:
        yield problem("/model/id")


@rule("FTC160", "template-of-another-family", "warning", reads=("tokenizer",))
def template_of_another_family(case: Case) -> Iterator[Problem]:
    """What it is: The spec's chat template writes markers that this tokenizer splits into pieces.

    Why it matters: The model does not know these markers: it must learn from several tokens where a
    turn begins and ends, and another program may split them differently. With the template of
    another family Qwen answered 26 % instead of 57 % (LLaMA-Factory #2509).

    Example: {"model": {"id": "meta-llama/Llama-3.1-8B-Instruct", "chat_template": "chatml.jinja"}}

    Use instead: {"model": "meta-llama/Llama-3.1-8B-Instruct"}
    """
    split = case.tokenizer.split_markers
    if case.tokenizer.template_from_spec and split:
        yield problem("/model/chat_template", markers=split)


@rule("FTC161", "two-chat-templates", "warning", reads=("tokenizer",))
def two_chat_templates(case: Case) -> Iterator[Problem]:
    """What it is: `chat_template.jinja` and tokenizer_config.json hold different chat templates.

    Why it matters: transformers uses the first and ignores the second, so training uses the first.
    llama.cpp's converter prefers the second. The merged folder leaves the second out, but a GGUF of
    the base that somebody else made, on which an adapter is used, contains it.

    Example: {"model": "./base-with-two-templates"}

    Use instead: {"model": {"id": "./base-with-two-templates", "chat_template": "meant.jinja"}}
    """
    if case.tokenizer.two_templates and not case.tokenizer.template_from_spec:
        yield problem("/model/id")


@rule("FTC168", "separators-lost-by-tokenizer", "error", reads=("model", "tokenizer", "data"))
def separators_lost_by_tokenizer(case: Case) -> Iterator[Problem]:
    """What it is: Rows lose spaces between words, or line breaks, when they are encoded.

    Why it matters: The model would learn text without spaces between its words, and its loss would
    still fall. It happens when transformers loads a tokenizer as a class of another kind, such as a
    sentencepiece tokenizer as the `Qwen2Tokenizer` of a `qwen2` config. ftc encodes and decodes
    rows of the data as transformers would, and compares the result with the rows.

    Example: {"model": "./qwen2-config-with-a-sentencepiece-tokenizer"}

    Use instead: {"model": "./qwen2-config-with-its-own-tokenizer"}
    """
    found = case.data.round_trip
    if found is None or not found.torn_rows:
        return
    lost = SEPARATORS & set(found.lost)
    yield problem(
        "/model/id",
        message="lines" if lost == {"\n"} else "both" if len(lost) > 1 else "",
        help=_remedy(case),
        torn_rows=found.torn_rows,
        rows=found.rows,
        model_type=case.model.model_type,
        any_class=_ANY_CLASS,
        name=case.tokenizer.loaded_class or "",
    )


@rule("FTC169", "characters-lost-by-tokenizer", "warning", reads=("tokenizer", "data"))
def characters_lost_by_tokenizer(case: Case) -> Iterator[Problem]:
    """What it is: More than 1% of the rows contain a character without a token in the tokenizer.

    Why it matters: The character is left out or becomes the unknown token, so the model can neither
    read nor write it. Letters that are only normalised, such as to lower case or without accents,
    do not count.

    Example: {"model": "./tokenizer-without-emoji", "data": "posts.jsonl"}

    Use instead: {"model": "./byte-level-tokenizer", "data": "posts.jsonl"}
    """
    found = case.data.round_trip
    if found is None or found.torn_rows:  # FTC168 says it
        return
    often = {key: rows for key, rows in found.lost.items() if rows > _FEW_ROWS * found.rows}
    lost = [key for key in often if key not in SEPARATORS]
    if lost:
        codes = [" ".join(f"U+{ord(letter):04X}" for letter in key) for key in lost[:_NAMED]]
        yield problem(
            "/model/id",
            message="more" if len(lost) > _NAMED else "",
            names=codes,
            lost_rows=found.lost[lost[0]],
            rows=found.rows,
        )


@rule("FTC170", "tokenizer-replaced-by-class", "warning", reads=("model", "tokenizer", "data"))
def tokenizer_replaced_by_class(case: Case) -> Iterator[Problem]:
    """What it is: The class that transformers loads splits rows differently from `tokenizer.json`.

    Why it matters: The class replaces the normalizer and pre-tokenizer of `tokenizer.json` with its
    own. A model that was trained with those of the file then gets other tokens, and programs that
    read the file use other tokens than the fine-tune. The rule applies if more than 1 % of the rows
    get other tokens.

    Example: {"model": "./tokenizer-saved-with-another-class"}

    Use instead: {"model": "./tokenizer-as-published"}
    """
    found = case.data.round_trip
    if found is None or found.torn_rows:  # FTC168 says it
        return
    if (found.other_rows or 0) <= _FEW_ROWS * found.rows:
        return
    yield problem(
        "/model/id",
        help=_remedy(case),
        name=case.tokenizer.loaded_class or "",
        other_rows=found.other_rows or 0,
        rows=found.rows,
        model_type=case.model.model_type,
        any_class=_ANY_CLASS,
    )


def _remedy(case: Case) -> str:
    """Return which help fits: the tokenizer's class is wrong, or its file is."""
    found = case.data.round_trip
    if found is None or not found.other_rows:
        return ""
    any_class = find_loaded_class(case.model.model_type, _ANY_CLASS, byte_level=False)
    return "class" if find_class_steps(any_class) is None else "type"
