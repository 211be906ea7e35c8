"""The tokenizer's files: loads `tokenizer.json`, the special tokens and the chat template."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ftc.compiler.knowledge.text.tokenizer_classes import find_class_tokens, find_loaded_class
from ftc.compiler.resolve.chat_template.reasoning import writes_keys
from ftc.compiler.resolve.chat_template.rendering import ChatTemplate, compile_chat_template
from ftc.runtime.read.image_rows import to_parts, without_images
from ftc.runtime.read.rows import Turns
from ftc.runtime.read.tool_rows import to_messages
from ftc.runtime.tokens.reasoned_chats import key_messages

if TYPE_CHECKING:  # slow to import, needed only where a tokenizer is there
    from tokenizers import Encoding, Tokenizer

TOKENIZER_FILE: Final = "tokenizer.json"
CONFIG_FILE: Final = "tokenizer_config.json"
MAP_FILE: Final = "special_tokens_map.json"
SENTENCEPIECE_FILE: Final = "tokenizer.model"
TEKKEN_FILE: Final = "tekken.json"
TEMPLATE_FILE: Final = "chat_template.jinja"
#: Templates with names, which tokenizer_config.json has as a list.
TEMPLATE_FILES: Final = re.compile(r"additional_chat_templates/[^/]+\.jinja")

_SPECIAL: Final = (
    *("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"),
)
#: What may be half of a character, escaped or as bytes that JSON's reader lets through.
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")

#: Post-processors that say nothing of the bos token when they add none.
_UNDECIDED: Final = ("NoneType", "TemplateProcessing")


class TokenizerFileError(Exception):
    """A file of the tokenizer is broken; the text names it and says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTokenizer:
    """A tokenizer that encodes, with its special tokens by role and its compiled template.

    `reads_keys`: the template writes the reasoning that messages have under a key. `reads_parts`:
    it gets contents as lists of parts, as for data with images. `offered` are the schemas of tools
    that every conversation declares.
    """

    tokenizer: "Tokenizer"
    special: Mapping[str, str]
    template: ChatTemplate | None
    reads_keys: bool = False
    reads_parts: bool = False
    offered: tuple[Any, ...] = ()

    @property
    def eos(self) -> str:
        """The text of the end-of-sequence token, empty where there is none."""
        return self.special.get("eos_token", "")

    def encode(self, texts: Sequence[str], *, special: bool) -> "Iterator[Encoding]":
        """Encode texts; `special` adds the tokens that a chat template writes by itself."""
        return iter(self.tokenizer.encode_batch(list(texts), add_special_tokens=special))

    def read_turns(self, turns: Turns) -> tuple[list[dict[str, Any]], list[Any] | None]:
        """Return the messages and the tools of a conversation, as prepare.py renders them."""
        messages, tools = to_messages(without_images(turns))
        messages = [{**message, "role": str(message["role"])} for message in messages]
        tools = tools or list(self.offered) or None
        messages = key_messages(messages) if self.reads_keys else messages
        return (to_parts(messages) if self.reads_parts else messages), tools

    @property
    def adds_bos(self) -> bool:
        """Whether the bos token is put before every text that is no conversation."""
        bos = self.special.get("bos_token")
        return bos is not None and self.tokenizer.encode("a").tokens[:1] == [bos]

    def misleads_converter(self, declared: bool | None, *, sentencepiece: bool) -> bool:
        """Return whether a GGUF of these files would put a bos token where the tokenizer puts none.

        As llama.cpp's converter reads them: the post-processor of `tokenizer.json` decides, else
        what tokenizer_config.json declares, else a sentencepiece model does.
        """
        if self.special.get("bos_token") is None or self.adds_bos:
            return False
        decides = type(self.tokenizer.post_processor).__name__ not in _UNDECIDED
        return False if decides else sentencepiece if declared is None else declared

    def is_closed(self, encoding: "Encoding") -> bool:
        """Return whether the last token is eos already."""
        return bool(len(encoding)) and encoding.tokens[-1] == self.eos


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerConfig:
    """What the small files say, before the large one is read.

    `two_templates`: tokenizer_config.json holds another chat template than `template`, which is
    that of a file. Conversations with tools get `tool_template`, if there is one. `cleared` are
    roles without a token, even if the class has one by itself. `legacy` and `prefix_space` say
    where a tokenizer of sentencepiece reads a space that is not in the text.
    """

    special: Mapping[str, str]
    cleared: frozenset[str]
    template: str | None
    tool_template: str | None
    added: Mapping[str, Mapping[str, Any]]
    model_max_tokens: int | None
    add_bos: bool | None
    legacy: bool | None
    prefix_space: bool | None
    tokenizer_class: str | None
    two_templates: bool


def read_tokenizer_config(folder: Path) -> TokenizerConfig:
    """Read the special tokens and the template. Raises TokenizerFileError for a broken file."""
    config = _read_json(folder / CONFIG_FILE)
    read = (_read_json(folder / MAP_FILE), config)
    special = _special(read[0]) | _special(config)
    longest = config.get("model_max_length")
    if isinstance(longest, str):
        raise TokenizerFileError(f"`{CONFIG_FILE}` has a text as `model_max_length`")
    for key in ("padding_side", "truncation_side"):
        if config.get(key, "right") not in ("right", "left"):
            raise TokenizerFileError(f"`{CONFIG_FILE}` has a `{key}` other than left and right")
    _require_kinds(config, read[0])
    name = config.get("tokenizer_class")
    templates, listed = _templates(folder, config), _listed(config).get("default")
    template = templates.get("default")
    return TokenizerConfig(
        special=special,
        cleared=frozenset(role for each in read for role in _SPECIAL if each.get(role, "") is None),
        template=template,
        tool_template=templates.get("tool_use"),
        added=config.get("added_tokens_decoder", {}),
        model_max_tokens=longest if isinstance(longest, int) and longest < 10**9 else None,
        add_bos=_flag(config, "add_bos_token"),
        legacy=_flag(config, "legacy"),
        prefix_space=_flag(config, "add_prefix_space"),
        tokenizer_class=name if isinstance(name, str) and name else None,
        two_templates=None not in (template, listed) and _trimmed(template) != _trimmed(listed),
    )


def _require_kinds(config: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Raise TokenizerFileError for a value of the small files that transformers refuses."""
    added = config.get("added_tokens_decoder", {})
    for key, value in config.items():
        accepted = _KINDS.get(key)
        if accepted is not None and not accepted(value):
            raise TokenizerFileError(f"`{CONFIG_FILE}` has a value of a wrong kind as `{key}`")
    if not isinstance(added, dict) or not all(map(_is_added, added.items())):
        raise TokenizerFileError(
            f"`added_tokens_decoder` of `{CONFIG_FILE}` does not give a token for each id"
        )
    for key in _SPECIAL:
        if not isinstance(others.get(key), str | dict | None):
            raise TokenizerFileError(f"`{MAP_FILE}` has a value of a wrong kind as `{key}`")


def _is_typed(token: object) -> bool:
    """Return whether an object of tokenizer_config.json says that it is a token."""
    return isinstance(token, dict) and token.get("__type") == "AddedToken"


def _is_token(value: object) -> bool:
    return isinstance(value, str) or _is_typed(value)


def _are_tokens(value: object) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [0]
    return value is None or all(map(_is_token, parts))


#: What transformers takes as the values of tokenizer_config.json that it refuses others of.
_KINDS: Final[Mapping[str, Callable[[object], bool]]] = {
    **dict.fromkeys(_SPECIAL, lambda value: value is None or _is_token(value)),
    **dict.fromkeys(("additional_special_tokens", "extra_special_tokens"), _are_tokens),
    "tokenizer_class": lambda value: isinstance(value, str | None),
    "split_special_tokens": lambda value: isinstance(value, bool | None),
    "auto_map": lambda value: isinstance(value, list | dict),
}


def _is_added(item: tuple[str, Any]) -> bool:
    number, token = item
    is_token = isinstance(token, dict) and isinstance(token.get("content"), str)
    return number.isdecimal() and is_token


def read_added_tokens(folder: Path) -> dict[str, int]:
    """Return the ids of `added_tokens.json`, which older folders have beside `tokenizer.model`."""
    read = _read_json(folder / "added_tokens.json")
    return {text: number for text, number in read.items() if type(number) is int}


def load_tokenizer(
    folder: Path, *, template: str | None, options: Mapping[str, Any] | None = None
) -> LoadedTokenizer:
    """Load the folder's `tokenizer.json`; `template` (its text) replaces the model's own.

    `options` are given to the template. Raises TokenizerFileError, and ChatTemplateError where a
    template does not compile.
    """
    config = read_tokenizer_config(folder)
    model_type = str(_read_json(folder / "config.json").get("model_type", ""))
    files = [folder / name for name in (TOKENIZER_FILE, CONFIG_FILE, MAP_FILE)]
    digests = tuple(hash_file(path) if path.is_file() else "" for path in files)
    tokenizer, special = _load(folder, model_type, digests)
    source = template if template is not None else config.template
    compiled = None
    if source is not None:
        variables = {**special, **(options or {})}
        compiled = compile_chat_template(source, variables)
        if template is None and config.tool_template is not None:
            with_tools = compile_chat_template(config.tool_template, variables)
            compiled = replace(compiled, with_tools=with_tools)
    return LoadedTokenizer(
        tokenizer=tokenizer,
        special=special,
        template=compiled,
        reads_keys=compiled is not None and writes_keys(compiled),
    )


@lru_cache(maxsize=2)
def _load(
    folder: Path, model_type: str, _digests: tuple[str, ...]
) -> tuple["Tokenizer", Mapping[str, str]]:
    """Return the tokenizer and its special tokens, once for both its facts and lengths of data."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    except Exception as error:  # the library raises nothing narrower
        raise TokenizerFileError(f"`{TOKENIZER_FILE}` cannot be loaded: {error}"[:200]) from error
    tokenizer.no_truncation()  # transformers sets both anew at each call
    tokenizer.no_padding()
    config = read_tokenizer_config(folder)
    name = find_class(tokenizer, model_type=model_type, tokenizer_class=config.tokenizer_class)
    own = find_class_tokens(name).items()
    special = {role: text for role, text in own if role not in config.cleared}
    special |= config.special
    _add_tokens(tokenizer, config, special)
    return tokenizer, special


def find_class(tokenizer: "Tokenizer", *, model_type: str, tokenizer_class: str | None) -> str:
    """Return the name of the class that transformers loads for a `tokenizer.json`."""
    parts = (tokenizer.pre_tokenizer, tokenizer.decoder, tokenizer.post_processor)
    byte_level = any(part is not None and b'"ByteLevel"' in part.__getstate__() for part in parts)
    return find_loaded_class(model_type, tokenizer_class, byte_level=byte_level)


def _add_tokens(
    tokenizer: "Tokenizer", config: TokenizerConfig, special: Mapping[str, str]
) -> None:
    """Add the tokens that `tokenizer.json` lacks, as transformers does.

    They are those of the small files, and the special ones that the class has by itself.
    """
    from tokenizers import AddedToken  # noqa: PLC0415

    by_id = sorted(config.added.items(), key=lambda item: int(item[0]) if item[0].isdigit() else 0)
    tokens: list[AddedToken] = []
    for _, entry in by_id:
        if isinstance(entry, dict) and isinstance(content := entry.get("content"), str):
            keys = ("single_word", "lstrip", "rstrip", "normalized", "special")
            flags = {key: bool(entry[key]) for key in keys if key in entry}
            tokens.append(AddedToken(content, **flags))
    tokens += [AddedToken(content, special=True) for content in special.values()]
    missing = [token for token in tokens if tokenizer.token_to_id(token.content) is None]
    if missing:
        tokenizer.add_tokens(missing)


def _flag(config: Mapping[str, Any], name: str) -> bool | None:
    """Return the value of a flag; None where there is none."""
    value = config.get(name)
    return value if isinstance(value, bool) else None


def _special(data: Mapping[str, Any]) -> dict[str, str]:
    """Read tokens written as strings or as objects with their `content`."""
    tokens = {}
    for name in _SPECIAL:
        value = data.get(name)
        value = value.get("content") if isinstance(value, dict) else value
        if isinstance(value, str) and value:
            tokens[name] = value
    return tokens


def _templates(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """Return the templates by name, as transformers chooses them: those in files first."""
    default = folder / TEMPLATE_FILE
    others = sorted(folder.glob("additional_chat_templates/*.jinja"))
    named = [("default", default)] if default.is_file() else []
    named += [(path.stem, path) for path in others]
    try:
        return {name: path.read_text(encoding="utf-8") for name, path in named} or _listed(config)
    except ValueError as error:
        raise TokenizerFileError("a chat template is not UTF-8") from error


def _listed(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the templates that tokenizer_config.json holds."""
    said = config.get("chat_template")
    entries = said if isinstance(said, list) else [{"name": "default", "template": said}]
    return {
        str(entry.get("name")): entry["template"]
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("template"), str)
    }


def _trimmed(template: str | None) -> str:
    """Return a template with normal line ends and without the last one."""
    return (template or "").replace("\r\n", "\n").removesuffix("\n")


def _read_json(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        text = path.read_bytes()
        data = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise TokenizerFileError(f"`{path.name}` holds half of a character") from error
    except (ValueError, RecursionError) as error:
        raise TokenizerFileError(f"`{path.name}` is not JSON") from error
    if not isinstance(data, dict):
        raise TokenizerFileError(f"`{path.name}` holds no JSON object")
    return data


def hash_template(template: str | None) -> str | None:
    """Return the SHA-256 of a chat template; None without one."""
    return None if template is None else hashlib.sha256(template.encode()).hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
