"""Tokenizer facts: vocabulary, special tokens, and how the chat template behaves when probed."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.models import find_model
from ftc.compiler.knowledge.tokenizers import chars_per_token
from ftc.compiler.resolve import pages
from ftc.compiler.resolve.chain import find_first_run, promised_tokenizer
from ftc.compiler.resolve.chat_template import (
    ChatTemplate,
    ChatTemplateError,
    compile_chat_template,
)
from ftc.compiler.resolve.conversion import read_conversion
from ftc.compiler.resolve.facts import ModelFacts, TokenizerFacts, Unknown
from ftc.compiler.resolve.gguf_vocabulary import count_gguf_bytes
from ftc.compiler.resolve.markers import find_split_markers
from ftc.compiler.resolve.model_faults import no_promise
from ftc.compiler.resolve.model_folder import find_tokenizer_folder, located_folder
from ftc.compiler.resolve.ollama import recognise
from ftc.compiler.resolve.place import at
from ftc.compiler.resolve.tokenizer_files import (
    SENTENCEPIECE_FILE,
    TOKENIZER_FILE,
    LoadedTokenizer,
    TokenizerFileError,
    hash_file,
    load_tokenizer,
    read_tokenizer_config,
)
from ftc.spec.finding import Finding
from ftc.spec.sections import Spec

_USER: Final = {"role": "user", "content": "What is the capital of Peru?"}
_ANSWER: Final = {"role": "assistant", "content": "It is Lima."}
_SYSTEM: Final = {"role": "system", "content": "Answer with one sentence."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """What rendering a few conversations shows of a template; None without a template."""

    closes_answer: bool | None = None
    accepts_system: bool | None = None
    prefix_stable: bool | None = None


def resolve_tokenizer(
    spec: Spec, *, folder: Path, model: ModelFacts | Unknown
) -> TokenizerFacts | Unknown:
    """Return the tokenizer's facts; without a model's there are none, for the same reason."""
    if isinstance(model, Unknown):
        return model
    own = _own_template(spec, folder)
    if isinstance(own, Finding):
        return Unknown(finding=own)
    try:
        if model.origin == "table":
            return _estimated(model, None, own)
        first = find_first_run(spec, folder=folder)
        if first is not None and not first.has_run:
            promised = promised_tokenizer(first)
            return promised or Unknown(finding=no_promise(spec.model.id))
        place = located_folder(model, folder=folder)
        if (place / TOKENIZER_FILE).is_file():
            return _exact(model, place, own)
        if (place / SENTENCEPIECE_FILE).is_file():
            return _estimated(model, place, own)
    except TokenizerFileError as error:
        return Unknown(finding=_broken_file(spec, error))
    except OSError as error:
        unreadable = TokenizerFileError(f"a file cannot be read ({error.strerror or 'failure'})")
        return Unknown(finding=_broken_file(spec, unreadable))
    except ChatTemplateError as error:
        return Unknown(finding=_broken_template(spec, error))
    return Unknown(
        finding=pages.NO_TOKENIZER.finding(
            message=f"`{spec.model.id}` has neither `tokenizer.json` nor `tokenizer.model`",
            help="save its tokenizer beside its weights: `tokenizer.save_pretrained(folder)`",
            pointer="/model/id",
        )
    )


def assume_tokenizer(model: ModelFacts) -> TokenizerFacts:
    """Return what the table knows of a model's tokenizer; no file is looked for."""
    return _estimated(model, None, None)


def reload_tokenizer(spec: Spec, facts: TokenizerFacts, *, folder: Path) -> LoadedTokenizer | None:
    """Load the tokenizer that the facts describe; None where its files are not at hand."""
    own = _own_template(spec, folder)
    if not facts.exact or facts.sha256 is None or isinstance(own, Finding):
        return None
    place = find_tokenizer_folder(spec, folder=folder, sha256=facts.sha256)
    try:
        return None if place is None else load_tokenizer(place, template=own)
    except (TokenizerFileError, ChatTemplateError):
        return None


def probe_template(template: ChatTemplate, eos: str | None) -> Probes:
    """Render short conversations and look at how they end and how they nest."""
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
    return Probes(closes_answer=closes, accepts_system=accepts, prefix_stable=stable)


def _exact(model: ModelFacts, place: Path, own: str | None) -> TokenizerFacts:
    """Read what `tokenizer.json` and the files beside it say."""
    loaded = load_tokenizer(place, template=own)
    config = read_tokenizer_config(place)
    source = own if own is not None else config.template
    special, family = loaded.special, _family(model)
    sentencepiece = (place / SENTENCEPIECE_FILE).is_file()
    probes, ollama = Probes(), None
    split: tuple[str, ...] = ()
    if loaded.template is not None and source is not None:
        probes = probe_template(loaded.template, special.get("eos_token"))
        split = find_split_markers(loaded.template, loaded.tokenizer, [_USER, _ANSWER])
        adds_bos = loaded.adds_bos(config.add_bos, sentencepiece=sentencepiece)
        ollama = recognise(source, loaded.template, adds_bos=adds_bos)
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
        template_sha256=_digest(source),
        template_from_spec=own is not None,
        closes_answer=probes.closes_answer,
        accepts_system=probes.accepts_system,
        prefix_stable=probes.prefix_stable,
        has_sentencepiece_model=sentencepiece,
        conversion=read_conversion(place, loaded, config, model_type=model.model_type),
        ollama=ollama,
        gguf_bytes=count_gguf_bytes(place, loaded.tokenizer, source),
        split_markers=split,
        two_templates=config.two_templates,
    )


def _estimated(model: ModelFacts, place: Path | None, own: str | None) -> TokenizerFacts:
    """Say what is known without `tokenizer.json`: small files, the table, and a ratio."""
    config = read_tokenizer_config(place) if place is not None else None
    special = config.special if config is not None else {}
    source = own if own is not None else (config.template if config is not None else None)
    family, entry = _family(model), find_model(model.id)
    probes, ollama = Probes(), None
    if source is not None:
        template = compile_chat_template(source, special)
        probes = probe_template(template, special.get("eos_token"))
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
        template_sha256=_digest(source),
        template_from_spec=own is not None,
        closes_answer=probes.closes_answer if special else None,
        accepts_system=probes.accepts_system,
        prefix_stable=probes.prefix_stable,
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
        what = "is no UTF-8 text" if isinstance(error, ValueError) else "cannot be read"
        return pages.NO_TEMPLATE.finding(
            message=f"the chat template `{name}` {what}",
            help="write the path of a Jinja file relative to the spec",
            pointer="/model/chat_template",
        )


def _broken_file(spec: Spec, error: TokenizerFileError) -> Finding:
    return pages.BROKEN_TOKENIZER.finding(
        message=f"the tokenizer of `{spec.model.id}` is broken: {error}",
        help="copy or download the tokenizer's files again",
        pointer="/model/id",
    )


def _broken_template(spec: Spec, error: ChatTemplateError) -> Finding:
    own = spec.model.chat_template
    name = f"`{own}`" if own is not None else f"of `{spec.model.id}`"
    return pages.BROKEN_TEMPLATE.finding(
        message=f"the chat template {name} does not compile: {error}",
        help="repair the template" if own else "bring a working one with `model.chat_template`",
        pointer="/model/chat_template" if own is not None else "/model/id",
    )


def _digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()
