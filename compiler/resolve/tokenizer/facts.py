"""Tokenizer facts: vocabulary, special tokens, and how the chat template behaves when probed."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from ftc.compiler.knowledge.text.tokenizers import chars_per_token
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.chat_template.ollama import recognise
from ftc.compiler.resolve.chat_template.reasoning import probe_reasoning
from ftc.compiler.resolve.chat_template.rendering import (
    ChatTemplate,
    ChatTemplateError,
    Message,
    compile_chat_template,
)
from ftc.compiler.resolve.detail_facts import ReasoningFacts, Unwritten
from ftc.compiler.resolve.facts import ModelFacts, TokenizerFacts, Unknown
from ftc.compiler.resolve.local_paths import at
from ftc.compiler.resolve.model.chain import find_first_run, promised_tokenizer
from ftc.compiler.resolve.model.findings import no_promise
from ftc.compiler.resolve.model.folder import find_tokenizer_folder, located_folder
from ftc.compiler.resolve.model.tokenizer_files import (
    SENTENCEPIECE_FILE,
    TEKKEN_FILE,
    TOKENIZER_FILE,
    LoadedTokenizer,
    TokenizerFileError,
    find_class,
    hash_file,
    hash_template,
    load_tokenizer,
    read_tokenizer_config,
)
from ftc.compiler.resolve.tokenizer.conversion import count_gguf_bytes, read_conversion
from ftc.runtime.read.rows import Turns
from ftc.runtime.read.tool_rows import to_messages
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec

if TYPE_CHECKING:  # slow to import, needed only where a tokenizer is there
    from tokenizers import Tokenizer

#: Control markers as families write them: `<|im_start|>`, `<start_of_turn>`; `[INST]` is plain text
#: in most of the families that write it.
_MARKER: Final = re.compile(r"<\|[^<>|\s]{1,40}\|>|<[a-z]+_of_[a-z]+>")
_USER: Final = {"role": "user", "content": "What is the capital of Peru?"}
_ANSWER: Final = {"role": "assistant", "content": "It is Lima."}
_SYSTEM: Final = {"role": "system", "content": "Answer with one sentence."}
#: The special tokens for probing a template if the tokenizer's own ones are not available.
_STAND_INS: Final = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"}
_CALLED: Final = "find_capital_city"
_TURNS: Final[Turns] = (("user", _USER["content"]), ("assistant", _ANSWER["content"]))
_CALL: Final = {"name": _CALLED, "arguments": {"country": "Peru"}}
_CALLS: Final[Turns] = (
    _TURNS[0],
    ("calls", json.dumps([{"id": "a1b2c3d4e", "type": "function", "function": _CALL}])),
)
_TOOL: Final = {
    "name": _CALLED,
    "description": "Return the capital of a country.",
    "parameters": {
        "type": "object",
        "properties": {"country": {"type": "string", "description": "The country."}},
        "required": ["country"],
    },
}
#: Conversations that show whether a template writes a part, and a text of that part.
_PARTS: Final[Mapping[Unwritten, Turns]] = {
    "question": _TURNS,
    "earlier_turn": (("user", "Which country has lamas?"), ("assistant", "Peru has."), *_TURNS),
    "tools": (("tools", json.dumps([{"type": "function", "function": _TOOL}])), *_TURNS),
    "calls": _CALLS,
    "results": (*_CALLS, ("tool", '{"capital": "Lima", "rank": 7531}'), _TURNS[1]),
}
_SAID: Final[Mapping[Unwritten, str]] = {
    "question": _USER["content"],
    "earlier_turn": "Which country has lamas?",
    "tools": _CALLED,
    "calls": _CALLED,
    "results": "7531",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """What rendering a few conversations shows about a template; None without a template."""

    closes_answer: bool | None = None
    accepts_system: bool | None = None
    prefix_stable: bool | None = None
    unwritten: tuple[Unwritten, ...] = ()


def resolve_tokenizer(
    spec: Spec, *, folder: Path, model: ModelFacts | Unknown
) -> TokenizerFacts | Unknown:
    """Return the tokenizer's facts; unknown for the same reason where the model's are."""
    if isinstance(model, Unknown):
        return model
    own = _own_template(spec, folder)
    if isinstance(own, Finding):
        return Unknown(finding=own)
    options = _options(spec)
    try:
        if model.origin == "table":
            return _with_template(spec, _estimated(model, None, own, options), own)
        first = find_first_run(spec.model, folder=folder)
        if first is not None and not first.has_run:
            promised = promised_tokenizer(first)
            return promised or Unknown(finding=no_promise(spec.model.id))
        place = located_folder(model, folder=folder)
        if (place / TOKENIZER_FILE).is_file():
            return _exact(spec, model, place, own)
        if (place / SENTENCEPIECE_FILE).is_file():
            template = own or read_tokenizer_config(place).template
            return _with_template(spec, _estimated(model, place, own, options), template)
        kind = "tekken" if (place / TEKKEN_FILE).is_file() else ""
    except TokenizerFileError as error:
        return Unknown(finding=_broken_file(spec, error))
    except OSError as error:
        unreadable = TokenizerFileError(f"a file cannot be read ({error.strerror or 'failure'})")
        return Unknown(finding=_broken_file(spec, unreadable))
    except ChatTemplateError as error:
        return Unknown(finding=_broken_template(spec, error))
    return Unknown(
        finding=explanations.NO_TOKENIZER.finding(
            message=kind, help=kind, pointer="/model/id", name=spec.model.id
        )
    )


def assume_tokenizer(model: ModelFacts) -> TokenizerFacts:
    """Return what the table knows about a model's tokenizer; no file is read."""
    return _estimated(model, None, None, {})


def reload_tokenizer(spec: Spec, facts: TokenizerFacts, *, folder: Path) -> LoadedTokenizer | None:
    """Load the tokenizer that the facts describe; None where its files are not on this disk."""
    own = _own_template(spec, folder)
    if not facts.exact or facts.sha256 is None or isinstance(own, Finding):
        return None
    try:
        place = find_tokenizer_folder(spec.model, facts, folder=folder)
        return None if place is None else _load(spec, place, own)
    except (TokenizerFileError, ChatTemplateError):
        return None


def probe_template(template: ChatTemplate, eos: str | None) -> Probes:
    """Return how a template renders the ends and the starts of short conversations."""
    try:
        asked = template.render([_USER], add_generation_prompt=True)
        answered = template.render([_USER, _ANSWER])
        closes = eos is not None and answered.rstrip().endswith(eos.strip())
    except ChatTemplateError:
        return Probes(closes_answer=False, accepts_system=False, prefix_stable=False)
    try:
        longer = template.render([_USER, _ANSWER, _USER, _ANSWER])
        stable = answered.startswith(asked) and longer.startswith(answered)
    except ChatTemplateError:
        stable = False
    try:
        accepts = _SYSTEM["content"] in template.render([_SYSTEM, _USER, _ANSWER])
    except ChatTemplateError:
        accepts = False
    return Probes(
        closes_answer=closes,
        accepts_system=accepts,
        prefix_stable=stable,
        unwritten=tuple(part for part in get_args(Unwritten) if _leaves_out(template, part)),
    )


def find_form(template: ChatTemplate) -> ChatTemplate:
    """Return a template that gets contents in the form that it reads: texts or lists of parts.

    The templates of many image-text models loop over parts, and ignore a content that is a text.
    """
    in_parts = replace(template, in_parts=True)
    is_so = not _writes_question(template) and _writes_question(in_parts)
    return in_parts if is_so else template


def _writes_question(template: ChatTemplate) -> bool:
    """Return whether a template accepts a short conversation, and writes what the user says."""
    try:
        return _SAID["question"] in template.render([_USER, _ANSWER])
    except ChatTemplateError:
        return False


def _leaves_out(template: ChatTemplate, part: Unwritten) -> bool:
    """Return whether a template does not write a part of a conversation that it accepts.

    Rows have the same form: `tool_rows.to_messages` makes their messages.
    """
    try:
        if part == "opening":
            return _opens_nothing(template)
        if part == "plain":
            return template.in_parts
        messages, tools = to_messages(_PARTS[part])
        return _SAID[part] not in template.render(messages, tools=tools)
    except ChatTemplateError:
        return False


def _opens_nothing(template: ChatTemplate) -> bool:
    """Return whether a generation prompt lacks what the template writes before an answer."""
    asked = template.render([_USER]).rstrip()
    if template.render([_USER], add_generation_prompt=True).rstrip() != asked:
        return False
    answered = template.render([_USER, _ANSWER])
    before = answered[: answered.rfind(_ANSWER["content"])].rstrip()
    return before.startswith(asked) and before != asked


def _exact(spec: Spec, model: ModelFacts, place: Path, own: str | None) -> TokenizerFacts:
    """Read what `tokenizer.json` and the files beside it say."""
    loaded = _load(spec, place, own)
    config = read_tokenizer_config(place)
    source = own if own is not None else config.template
    special, family = loaded.special, _family(model)
    sentencepiece = (place / SENTENCEPIECE_FILE).is_file()
    probes, ollama = Probes(), None
    split: tuple[str, ...] = ()
    if loaded.template is not None and source is not None:
        template = find_form(loaded.template)
        probes = probe_template(template, special.get("eos_token"))
        split = find_split_markers(template, loaded.tokenizer, [_USER, _ANSWER])
        ollama = recognise(source, loaded.template, adds_bos=loaded.adds_bos)
    return TokenizerFacts(
        exact=True,
        sha256=hash_file(place / TOKENIZER_FILE),
        family=family,
        chars_per_token=chars_per_token(family),
        vocabulary_tokens=loaded.tokenizer.get_vocab_size(with_added_tokens=True),
        bos=special.get("bos_token"),
        eos=special.get("eos_token"),
        pad=special.get("pad_token"),
        unk=special.get("unk_token"),
        template_sha256=hash_template(source),
        template_from_spec=own is not None,
        closes_answer=probes.closes_answer,
        accepts_system=probes.accepts_system,
        prefix_stable=probes.prefix_stable,
        unwritten=probes.unwritten,
        reasoning=_probe_reasoning(source, loaded.template),
        has_sentencepiece_model=sentencepiece,
        conversion=read_conversion(place, loaded, config, model_type=model.model_type),
        ollama=ollama,
        gguf_bytes=count_gguf_bytes(place, loaded.tokenizer, source),
        split_markers=split,
        two_templates=config.two_templates,
        loaded_class=find_class(
            loaded.tokenizer, model_type=model.model_type, tokenizer_class=config.tokenizer_class
        ),
        existing_tokens=tuple(
            token
            for token in spec.model.new_tokens
            if loaded.tokenizer.token_to_id(token) is not None
        ),
        template_tokens=_written_tokens(spec, source),
    )


def _load(spec: Spec, place: Path, own: str | None) -> LoadedTokenizer:
    return load_tokenizer(place, template=own, options=_options(spec))


def _options(spec: Spec) -> Mapping[str, Any]:
    """Return what the chat template is given; without it, lengths are not known."""
    return spec.data.template_options or {}


def _probe_reasoning(source: str | None, template: ChatTemplate | None) -> ReasoningFacts | None:
    """Return how a template treats reasoning; None without a template."""
    if source is None or template is None:
        return None
    return probe_reasoning(source, find_form(template))


def _with_template(spec: Spec, facts: TokenizerFacts, template: str | None) -> TokenizerFacts:
    """Return the facts with the new tokens that the template writes."""
    return replace(facts, template_tokens=_written_tokens(spec, template))


def _written_tokens(spec: Spec, template: str | None) -> tuple[str, ...]:
    """Return the new tokens that the text of a template holds."""
    return tuple(token for token in spec.model.new_tokens if token in (template or ""))


def _estimated(
    model: ModelFacts, place: Path | None, own: str | None, options: Mapping[str, Any]
) -> TokenizerFacts:
    """Return what is known without `tokenizer.json`: from small files, the table, and a ratio."""
    config = read_tokenizer_config(place) if place is not None else None
    special = config.special if config is not None else {}
    source = own if own is not None else (config.template if config is not None else None)
    family, entry = _family(model), find_model(model.id)
    probes, ollama, reasoning = Probes(), None, None
    if source is not None:
        template = compile_chat_template(source, {**special, **options})
        filled = compile_chat_template(source, {**_STAND_INS, **special, **options})
        probes = probe_template(find_form(filled), special.get("eos_token"))
        reasoning = _probe_reasoning(source, filled)
        adds_bos = config.add_bos if config is not None else None
        ollama = recognise(source, template, adds_bos=adds_bos is not False)
    return TokenizerFacts(
        exact=False,
        sha256=hash_file(place / SENTENCEPIECE_FILE) if place is not None else None,
        family=family,
        chars_per_token=chars_per_token(family),
        vocabulary_tokens=entry.vocab_tokens if entry is not None else model.embedding_rows,
        bos=special.get("bos_token"),
        eos=special.get("eos_token"),
        pad=special.get("pad_token"),
        unk=special.get("unk_token"),
        template_sha256=hash_template(source),
        template_from_spec=own is not None,
        closes_answer=probes.closes_answer if special else None,
        accepts_system=probes.accepts_system,
        prefix_stable=probes.prefix_stable,
        unwritten=probes.unwritten,
        reasoning=reasoning,
        has_sentencepiece_model=place is not None,
        conversion=None,
        ollama=ollama,
        two_templates=config is not None and config.two_templates,
    )


def _family(model: ModelFacts) -> str:
    """Return the table's family of a known model, else the model's type."""
    entry = find_model(model.id)
    return entry.tokenizer if entry is not None else model.model_type


def _own_template(spec: Spec, folder: Path) -> str | Finding | None:
    """Read the template that the spec brings."""
    name = spec.model.chat_template
    if name is None:
        return None
    try:
        return at(name, folder=folder).read_text(encoding="utf-8").replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        return explanations.NO_TEMPLATE.finding(
            message="not_utf8" if isinstance(error, ValueError) else "",
            pointer="/model/chat_template",
            name=name,
        )


def _broken_file(spec: Spec, error: TokenizerFileError) -> Finding:
    return explanations.BROKEN_TOKENIZER.finding(
        pointer="/model/id", name=spec.model.id, reason=str(error)
    )


def _broken_template(spec: Spec, error: ChatTemplateError) -> Finding:
    own = spec.model.chat_template
    return explanations.BROKEN_TEMPLATE.finding(
        message="own" if own is not None else "",
        help="own" if own is not None else "",
        pointer="/model/chat_template" if own is not None else "/model/id",
        name=spec.model.id if own is None else own,
        reason=error.reason,
    )


def find_split_markers(
    template: ChatTemplate, tokenizer: "Tokenizer", messages: Sequence[Message]
) -> tuple[str, ...]:
    """Return the markers of a rendered conversation that are not tokens, sorted."""
    try:
        text = template.render(messages)
    except ChatTemplateError:
        return ()
    markers = sorted(set(_MARKER.findall(text)))
    return tuple(marker for marker in markers if tokenizer.token_to_id(marker) is None)


def mask_generated(
    template: ChatTemplate,
    tokenizer: "Tokenizer",
    messages: Sequence[Message],
    *,
    add_generation_prompt: bool = False,
) -> tuple[list[int], list[bool]]:
    """Return a conversation's tokens, and for each whether it stands in a `{% generation %}` block.

    The rule is that of transformers' `return_assistant_tokens_mask`: a block takes every token that
    holds one of its characters. Raises ChatTemplateError.
    """
    text, spans = template.render_marked(messages, add_generation_prompt=add_generation_prompt)
    encoding = tokenizer.encode(text, add_special_tokens=False)
    mask = [False] * len(encoding.ids)
    for begin, end in spans:
        if begin == end:
            continue
        first = encoding.char_to_token(begin)
        if first is None:
            break
        last = encoding.char_to_token(end - 1)
        upto = last + 1 if last else len(mask)
        mask[first:upto] = [True] * (upto - first)
    return encoding.ids, mask
