"""Turns conversations with images into tokens and labels, for prepare.py.

A record has the placeholders of its images as often as the processor writes them, and references to
their files: never their pixels.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from ..read.image_rows import (
    Reference,
    list_images,
    read_with_images,
    replace_bytes,
    to_image_messages,
)
from ..read.rows import Fault, Row, Turn, Turns
from ..vision.image_store import keep_bytes, keep_download
from ..vision.image_tokens import Rule, place_images, repeat_tokens, reserved_texts
from ..vision.images import looker
from .encoding import NOT_LEARNED, Chats, Encoder, Message, Tokens, Tools


def read_images(
    row: Row,
    *,
    read: Callable[..., Turns | Fault],
    folder: Path,
    store: Path,
    rule: Rule,
    root: Path | None = None,
    download: bool = False,
    images: str | None = None,
    **columns: str,
) -> Turns | Fault:
    """Return the turns of a row and, as the first one, its images, which are below `folder`.

    References are relative to `root`, a folder above, or else to `folder` itself.
    Those that are bytes of the row are kept in `store`; so are downloads, if
    `download` allows that. `read` returns the turns without images; the other arguments are
    columns. No text may contain a placeholder of `rule`.
    """
    held = [*columns.values(), *([images] if images is not None else [])]
    return read_with_images(
        replace_bytes(row, columns=held, refer=partial(keep_bytes, store=store)),
        read=partial(read, **columns),
        look=partial(_look, folder=folder, root=root or folder, store=store, download=download),
        conversations=tuple(columns.values()),
        images=images,
        reserved=reserved_texts(rule),
    )


def _look(
    reference: Reference, *, folder: Path, root: Path, store: Path, download: bool
) -> Reference | Fault:
    keep = partial(keep_bytes, store=store)
    found = looker(folder, allow_download=download, keep=keep)(reference)
    if isinstance(found, str) or "stored" in found:
        return found
    if "url" in found:
        return keep_download(reference, store=store)
    place = folder.resolve().relative_to(root.resolve())
    return {**found, "path": (place / found["path"]).as_posix()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEncoder:
    """The counterpart of `Encoder`: the tokenizer, and the rule by which images become tokens."""

    tokenizer: Any
    rule: Rule

    @property
    def eos(self) -> int:
        """The token that ends an answer."""
        return self._text.eos

    @property
    def _text(self) -> Encoder:
        return Encoder(tokenizer=self.tokenizer)

    def decode(self, ids: Tokens, *, skip_special_tokens: bool = False) -> str:
        """Return the text of tokens."""
        return self._text.decode(ids, skip_special_tokens=skip_special_tokens)

    def arrange(self, chats: Chats) -> list[list[Message]]:
        """Return conversations as they are."""
        return [list(chat) for chat in chats]

    def render(self, chats: Chats, tools: Tools | None = None) -> list[Tokens]:
        """Return the tokens of each conversation; white space after its last turn is left out."""
        return self._place(chats, [text.rstrip() for text in self._apply(chats, tools)])

    def render_prompts(self, chats: Chats, tools: Tools | None = None) -> list[Tokens]:
        """Return the tokens of each conversation up to the beginning of the model's answer."""
        return self._place(chats, self._apply(chats, tools, add_generation_prompt=True))

    def _apply(self, chats: Chats, tools: Tools | None, **options: bool) -> list[str]:
        apply = self.tokenizer.apply_chat_template
        pairs = zip(chats, tools or [None] * len(chats), strict=True)
        return [str(apply(list(chat), given, tokenize=False, **options)) for chat, given in pairs]

    def _place(self, chats: Chats, texts: Sequence[str]) -> list[Tokens]:
        encode = Encoder(tokenizer=self.tokenizer).encode
        pairs = zip(chats, texts, strict=True)
        return [encode_placed(lambda t: encode([t])[0], *pair, rule=self.rule) for pair in pairs]


def encode_placed(
    encode: Callable[[str], Tokens], messages: Sequence[Message], text: str, *, rule: Rule
) -> Tokens:
    """Return the tokens of a rendered conversation, whose image parts have their sizes.

    Raises TemplateError if the text has other placeholders than those of its images.
    """
    parts = (part for message in messages for part in message["content"] or ())
    sizes = [(part["width"], part["height"]) for part in parts if part["type"] == "image"]
    placed = place_images(rule, text, sizes)
    if placed is None:
        raise TemplateError("a text contains the placeholder of an image")
    (token,) = encode(rule.token)
    return repeat_tokens(encode(placed[0]), token, placed[1])


def make_with_images(
    group: Sequence[Turns],
    *,
    make: Callable[..., list[dict[str, Any]]],
    encoder: ImageEncoder,
    **options: Any,
) -> list[dict[str, Any]]:
    """Return the record that `make` makes of each row, with the references to its images.

    `make` is given the other options. Tokens of images are never learned.
    """
    records = make(group, encoder=encoder, to_messages=_to_messages, **options)
    token = encoder.tokenizer.convert_tokens_to_ids(encoder.rule.token)
    for record, turns in zip(records, group, strict=True):
        pairs = zip(record["input_ids"], record["labels"], strict=True)
        record["labels"] = [NOT_LEARNED if one == token else label for one, label in pairs]
        record["images"] = json.dumps(list_images(turns))
        if turns[-1][0] == "assistant":
            record["answer"] = turns[-1][1]
    return records


def _to_messages(turns: Sequence[Turn]) -> tuple[list[Message], list[Any] | None]:
    """Return the messages and tools of a conversation; the parts of images have their sizes."""
    messages, tools = to_image_messages(tuple(turns))
    left = iter(list_images(turns))
    for message in messages:
        message["content"] = [_add_size(part, left) for part in message["content"]]
    return messages, tools


def _add_size(part: Mapping[str, Any], left: Any) -> dict[str, Any]:
    if part["type"] != "image":
        return dict(part)
    reference = next(left)
    return {**part, "width": reference["width"], "height": reference["height"]}
