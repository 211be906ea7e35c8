"""Models: a Hub id, a folder, or an informal name of a known model ("llama 3.1 8b")."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ftc.compiler.knowledge.models import Model, all_models, find_model
from ftc.tui.understanding.message import Message, fold
from ftc.tui.understanding.reading import Change, Choice

_ID: Final = re.compile(r"(?<![\w./\\-])[a-z0-9][\w.-]*/[\w][\w.-]*[\w](?![\w/\\-])")
_FOLDER: Final = re.compile(
    r"(?:(?<=model )|(?<=model in )|(?<=model at )|(?<=model a )|(?<=modelo )|(?<=modelo en )"
    r"|(?<=model de ))(?:\.{0,2}/|~/|[a-z]:\\)\S+[^\s.,;:!?]"
    r"|(?<![\w/])(?:\.{1,2}/|~/)[^\s,;]+[^\s.,;:!?]"
)
_DATA_BEFORE: Final = re.compile(
    r"(?:data ?set|data|dades|conjunt|datos|dataset de)\s*(?:=|:|is|from|on|de|del|en)?\s*$"
)
_PART: Final = re.compile(
    r"\d+(?:\.\d+)?[bm]\b|\d+x\d+b|v\d+(?:\.\d+)?|\d+(?:\.\d+)?k|[a-z]+|\d+(?:\.\d+)?"
)
_SPLIT: Final = re.compile(r"[\s\-_/]*|\s+(?:de|of)\s+")
#: A size beside the name ("the small one, 2b") distinguishes models with the same name.
_SIZE: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?[bm]\b")
#: Spanish says "se llama" for "is called".
_IS_CALLED: Final = re.compile(r"\b(?:se|me|te|lo|la) $")
_BASE_BEFORE: Final = re.compile(r"\bbase (?:(?:model|version) )?(?:of |de |del )?(?:the )?$")
#: The words that start a model's name, and the word of the table they stand for.
_FAMILIES: Final = frozenset(
    {"llama", "qwen", "mistral", "mixtral", "gemma", "phi", "smollm", "granite", "olmo", "falcon",
     "pythia", "gpt", "gpt2", "starcoder", "salamandra", "yi", "zephyr", "tinyllama", "eurollm",
     "croissantllm", "deepseek", "ministral", "solar", "stablelm", "aya", "hermes", "tulu",
     "distilgpt", "openhermes"}
)  # fmt: skip
#: Words in an id of the table that are ignored.
_MUTE: Final = frozenset({"hf", "meta", "it", "instruct", "chat", "base", "pt"})
_TUNED: Final = frozenset({"it", "instruct", "chat", "instruction", "tuned"})
_BASE: Final = frozenset({"base", "pt", "pretrained"})
_MOST_CHOICES: Final = 6


def read_models(message: Message) -> Iterator[Change | Choice]:
    """Yield the model that the message names, or the models that its words match.

    The instruction-tuned form of a model is meant unless the message says "base".
    """
    yield from _read_ids(message)
    for match in message.take(_FOLDER):
        words = message.words(*match.span())
        yield Change(pointer="/model/id", value=words, words=words)
    found = _find_name(message)
    if found is None:
        return
    start, end, models = found
    words = message.words(start, end)
    denied = message.denied(start)
    message.cross_out(start, end)
    if denied:
        return
    if len(models) == 1:
        yield Change(pointer="/model/id", value=models[0].id, words=words)
    else:
        values = tuple(model.id for model in models[:_MOST_CHOICES])
        yield Choice(pointer="/model/id", values=values, words=words)


def _read_ids(message: Message) -> Iterator[Change]:
    for match in message.take(_ID):
        words = message.words(*match.span())
        known = find_model(words)
        data = known is None and _DATA_BEFORE.search(message.folded[: match.start()])
        yield Change(
            pointer="/data/source" if data else "/model/id",
            value=known.id if known else words,
            words=words,
        )


def _find_name(message: Message) -> tuple[int, int, tuple[Model, ...]] | None:
    """Return the longest run of words that starts a family's name and matches a model's id."""
    parts = [(m.start(), m.end(), m[0]) for m in _PART.finditer(message.folded)]
    for index, (start, _, word) in enumerate(parts):
        if word not in _FAMILIES or (start and message.folded[start - 1].isalpha()):
            continue
        if word == "llama" and _IS_CALLED.search(message.folded[:start]):
            continue
        said, end = [word], parts[index][1]
        for begin, stop, part in parts[index + 1 :]:
            if not _SPLIT.fullmatch(message.folded[end:begin]):
                break
            if not _fitting([*said, part]):
                break
            said, end = [*said, part], stop
        if _BASE_BEFORE.search(message.folded[:start]):
            said.append("base")
        for size in _SIZE.findall(message.folded[end:]):
            if len(_best(_fitting(said), said)) > 1 and _fitting([*said, size]):
                said.append(size)
        if models := _fitting(said):
            return start, end, _best(models, said)
    return None


def _fitting(said: list[str]) -> list[Model]:
    wanted = set(said) - _TUNED - _BASE
    models = [model for model in all_models() if wanted <= _parts(model.id)]
    if set(said) & _TUNED:
        models = [model for model in models if model.kind == "instruct"]
    if set(said) & _BASE:
        models = [model for model in models if model.kind == "base"]
    return models


def _best(models: list[Model], said: list[str]) -> tuple[Model, ...]:
    """Return the models whose ids have the fewest other words; one size, the tuned form."""
    wanted = set(said) - _TUNED - _BASE
    extra = {model.id: len(_parts(model.id) - wanted - _MUTE) for model in models}
    fewest = min(extra.values(), default=0)
    close = [model for model in models if extra[model.id] == fewest]
    if not set(said) & _BASE:
        tuned = [model for model in close if model.kind == "instruct"]
        close = tuned or close
    close.sort(key=lambda model: (model.shape.parameters, model.id))
    sizes = {round(model.shape.parameters / 1e8) for model in close}
    return (close[-1],) if len(sizes) == 1 else tuple(close)


@cache
def _parts(name: str) -> frozenset[str]:
    """Return the words of an id's name, without its owner."""
    return frozenset(_PART.findall(fold(name.partition("/")[2]).replace("_", ".")))
