"""Words that set a field by themselves: methods, strategies, number formats, data formats."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message

_PATTERNS: Final = tuple(
    (entry["pointer"], re.compile(rf"(?<![\w-]){any_of(entry)}(?![\w-])"), entry["value"])
    for entry in WORDS["values"]
)
_MODULES: Final = re.compile(r"(?<![\w.])(?:q|k|v|o|qkv|gate|up|down|gate_up)_proj\b")
#: "targets q,k,v,o", "qkv only", "the q and v projections".
_LIST: Final = (
    r"(?:[qkvo](?:\s*[,/+&]\s*|\s+(?:and|i|y|e)\s+|,\s*(?:and|i|y)\s+)){1,3}[qkvo]|qkvo?|qv|qk"
)
_LETTERS: Final = re.compile(
    rf"\b(?:targets?|target modules|modul\w+|layers|capes|capas)\s*[=:]?\s*(?P<listed>{_LIST})\b"
    rf"(?:\s+(?:proj\w*|only|nomes|solo))*"
    rf"|(?<![\w-])(?P<alone>{_LIST})(?:\s+(?:proj\w*|proyec\w*|modul\w*|attention|only|nomes|solo))+\b"
)
#: The value for a negated word: the other one of two, or None to plan the field again.
_OTHERWISE: Final = {
    ("/method/type", "lora"): "full",
    ("/method/type", "full"): "lora",
    ("/method/type", "qlora"): "lora",
    ("/method/type", "freeze"): "lora",
    ("/method/dora", True): False,
    ("/method/rslora", True): False,
    ("/training/gradient_checkpointing", True): False,
    ("/data/cleaning/drop_duplicates", True): False,
    ("/data/packing", "best-fit"): "none",
    ("/tracking/type", "wandb"): "none",
    ("/tracking/type", "tensorboard"): "none",
    ("/tracking/type", "mlflow"): "none",
    ("/tracking/type", "trackio"): "none",
    ("/model/trust_remote_code", True): False,
    ("/objective/loss_on", "all"): "completion",
    ("/distribution/offload", "optimizer"): "none",
    ("/distribution/offload", "parameters"): "none",
}


def read_words(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the changes of single words.

    A negated word sets the opposite if the draft has that value or no value. It changes nothing if
    the draft has another value.
    """
    settled: set[str] = set()
    for change in _read_modules(message):
        yield change
        settled.add(change.pointer)
    denials: dict[str, list[tuple[Any, str]]] = {}
    for pointer, pattern, value in _PATTERNS:
        for match in message.take(pattern):
            words = message.words(*match.span())
            if message.replaced(match.start(), match.end()):
                continue
            if message.denied(match.start(), match.end()):
                denials.setdefault(pointer, []).append((value, words))
            else:
                settled.add(pointer)
                yield Change(pointer=pointer, value=value, words=words)
    for pointer, denied in denials.items():
        if pointer not in settled:
            yield from _deny(pointer, denied, value_at(draft, pointer))


def _read_modules(message: Message) -> Iterator[Change]:
    """Yield the modules that get an adapter: "q_proj, v_proj", "targets q,k,v,o", "qkv only"."""
    if modules := _MODULES.findall(message.folded):
        names = list(dict.fromkeys(modules))
        if not message.denied(message.folded.find(names[0])):
            yield Change(pointer="/method/targets", value=names, words=", ".join(names))
        return
    for match in message.take(_LETTERS):
        letters = re.findall(r"\b[qkvo]\b|[qkvo](?=[qkvo]*\b)", match["listed"] or match["alone"])
        names = [f"{letter}_proj" for letter in dict.fromkeys(letters)]
        if not message.denied(match.start()):
            words = message.words(*match.span())
            yield Change(pointer="/method/targets", value=names, words=words)


def _deny(pointer: str, denied: list[tuple[Any, str]], now: Any) -> Iterator[Change | Choice]:
    """Yield the opposite of the negated values of one field; `now` is the draft's value.

    Without an opposite, the field is planned again. If the draft has no value, ftc asks.
    """
    values = [value for value, _ in denied]
    if now is not None and now not in values:
        return
    words = denied[0][1]
    others = [_OTHERWISE.get((pointer, value)) for value in values if isinstance(value, str | bool)]
    kept = [other for other in others if other is not None and other not in values]
    if now is None and not kept:
        yield Choice(pointer=pointer, values=(), words=words)
    else:
        yield Change(pointer=pointer, value=kept[0] if kept else None, words=words)
