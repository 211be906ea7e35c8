"""The tokenizer's files: loads `tokenizer.json`, the special tokens and the chat template."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
SENTENCEPIECE_FILE: Final = "tokenizer.model"
TEKKEN_FILE: Final = "tekken.json"
TEMPLATE_FILE: Final = "chat_template.jinja"

#: Templates with names are here, which tokenizer_config.json had as a list.
_LISTED_FOLDER: Final = "additional_chat_templates"
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
        """Tell whether a GGUF of these files would put a bos token where the tokenizer puts none.

        As llama.cpp's converter reads them: the post-processor of `tokenizer.json` decides, else
        what tokenizer_config.json declares, else a sentencepiece model does.
        """
        if self.special.get("bos_token") is None or self.adds_bos:
            return False
        decides = type(self.tokenizer.post_processor).__name__ not in _UNDECIDED
        return False if decides else sentencepiece if declared is None else declared

    def is_closed(self, encoding: "Encoding") -> bool:
        """Tell whether the last token is eos already."""
        return bool(len(encoding)) and encoding.tokens[-1] == self.eos


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerConfig:
    """What the small files say, before the large one is read.

    `two_templates`: tokenizer_config.json holds another chat template than `template`, which is
    that of `chat_template.jinja`. `legacy` and `prefix_space` say where a tokenizer of
    sentencepiece reads a space that is not in the text.
    """

    special: Mapping[str, str]
    template: str | None
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
    special = _special(_read_json(folder / "special_tokens_map.json")) | _special(config)
    longest, side = config.get("model_max_length"), config.get("padding_side", "right")
    if isinstance(longest, str):
        raise TokenizerFileError(f"`{CONFIG_FILE}` has a text as `model_max_length`")
    if side not in ("right", "left"):
        raise TokenizerFileError(f"`{CONFIG_FILE}` has a `padding_side` other than left and right")
    _require_kinds(config)
    name = config.get("tokenizer_class")
    template, listed = _template(folder, config), _listed_template(config)
    return TokenizerConfig(
        special=special,
        template=template,
        added=config.get("added_tokens_decoder", {}),
        model_max_tokens=longest if isinstance(longest, int) and longest < 10**9 else None,
        add_bos=_flag(config, "add_bos_token"),
        legacy=_flag(config, "legacy"),
        prefix_space=_flag(config, "add_prefix_space"),
        tokenizer_class=name if isinstance(name, str) and name else None,
        two_templates=None not in (template, listed) and _trimmed(template) != _trimmed(listed),
    )


def _require_kinds(config: Mapping[str, Any]) -> None:
    """Raise TokenizerFileError for a value of tokenizer_config.json that transformers refuses."""
    added = config.get("added_tokens_decoder", {})
    kinds: dict[str, tuple[type, ...]] = dict.fromkeys(_SPECIAL, (str, dict))
    kinds |= {"tokenizer_class": (str,), "extra_special_tokens": (list, dict)}
    for key, accepted in kinds.items():
        if not isinstance(config.get(key), (*accepted, type(None))):
            raise TokenizerFileError(f"`{CONFIG_FILE}` has a value of a wrong kind as `{key}`")
    if not isinstance(added, dict) or not all(map(_is_added, added.items())):
        raise TokenizerFileError(
            f"`added_tokens_decoder` of `{CONFIG_FILE}` does not give a token for each id"
        )


def _is_added(item: tuple[str, Any]) -> bool:
    return item[0].isdecimal() and isinstance(item[1], dict) and "content" in item[1]


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
    path = folder / TOKENIZER_FILE
    tokenizer = _load(str(path), hash_file(path))
    _add_tokens(tokenizer, config)
    special = dict(config.special)
    if "eos_token" not in special and (eos := _eos_by_id(folder, tokenizer)) is not None:
        special["eos_token"] = eos
    source = template if template is not None else config.template
    compiled = None
    if source is not None:
        compiled = compile_chat_template(source, {**special, **(options or {})})
    return LoadedTokenizer(
        tokenizer=tokenizer,
        special=special,
        template=compiled,
        reads_keys=compiled is not None and writes_keys(compiled),
    )


@lru_cache(maxsize=2)
def _load(path: str, _digest: str) -> "Tokenizer":
    """Read a `tokenizer.json`, once for both its facts and the lengths of the data."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the library raises nothing narrower
        raise TokenizerFileError(f"`{TOKENIZER_FILE}` cannot be loaded: {error}"[:200]) from error
    tokenizer.no_truncation()  # transformers sets both anew at each call
    tokenizer.no_padding()
    return tokenizer


def _add_tokens(tokenizer: "Tokenizer", config: TokenizerConfig) -> None:
    """Add the tokens of the small files that `tokenizer.json` lacks, as transformers does."""
    from tokenizers import AddedToken  # noqa: PLC0415

    by_id = sorted(config.added.items(), key=lambda item: int(item[0]) if item[0].isdigit() else 0)
    tokens: list[AddedToken] = []
    for _, entry in by_id:
        if isinstance(entry, dict) and isinstance(content := entry.get("content"), str):
            keys = ("single_word", "lstrip", "rstrip", "normalized", "special")
            flags = {key: bool(entry[key]) for key in keys if key in entry}
            tokens.append(AddedToken(content, **flags))
    tokens += [AddedToken(content, special=True) for content in config.special.values()]
    missing = [token for token in tokens if tokenizer.token_to_id(token.content) is None]
    if missing:
        tokenizer.add_tokens(missing)


def _eos_by_id(folder: Path, tokenizer: "Tokenizer") -> str | None:
    """Return the token that the model's own config ends a text with."""
    for name in ("generation_config.json", "config.json"):
        eos = _read_json(folder / name).get("eos_token_id")
        eos = eos[0] if isinstance(eos, list) and eos else eos
        if isinstance(eos, int):
            return tokenizer.id_to_token(eos)
    return None


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


def _template(folder: Path, config: Mapping[str, Any]) -> str | None:
    """Return the default template: its own file first, as transformers does."""
    for path in (folder / TEMPLATE_FILE, folder / _LISTED_FOLDER / "default.jinja"):
        if path.is_file():
            try:
                return path.read_text(encoding="utf-8")
            except ValueError as error:
                raise TokenizerFileError(f"`{path.name}` is not UTF-8") from error
    return _listed_template(config)


def _listed_template(config: Mapping[str, Any]) -> str | None:
    """Return the default template that tokenizer_config.json holds."""
    template = config.get("chat_template")
    if isinstance(template, list):
        entries = [entry for entry in template if isinstance(entry, dict)]
        named = (entry for entry in entries if entry.get("name") == "default")
        template = next(named, {}).get("template")
    return template if isinstance(template, str) else None


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
