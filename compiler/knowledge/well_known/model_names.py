"""Maps informal model names ("qwen 2.5 7b", "llama3") to ids."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from ftc.compiler.knowledge.well_known.models import Model, all_models

#: A size, a number of experts, a version, a length, a word or a number.
PART: Final = re.compile(
    r"\d+(?:\.\d+)?[bm]\b|\d+x\d+b|v\d+(?:\.\d+)?|\d+(?:\.\d+)?k|[a-z]+|\d+(?:\.\d+)?"
)
#: The first words of a model's name, each with the word that the table uses for it.
FAMILIES: Final = frozenset(
    {"llama", "qwen", "mistral", "mixtral", "gemma", "phi", "smollm", "granite", "olmo", "falcon",
     "pythia", "gpt", "gpt2", "starcoder", "salamandra", "yi", "zephyr", "tinyllama", "eurollm",
     "croissantllm", "deepseek", "ministral", "solar", "stablelm", "aya", "hermes", "tulu",
     "distilgpt", "openhermes"}
)  # fmt: skip
#: Words of an id that are ignored when names are compared.
MUTE: Final = frozenset({"hf", "meta", "it", "instruct", "chat", "base", "pt"})
TUNED: Final = frozenset({"it", "instruct", "chat", "instruction", "tuned"})
BASE: Final = frozenset({"base", "pt", "pretrained"})
#: Models whose weights nobody can download.
CLOSED: Final = re.compile(
    r"(?<![\w/-])(?:chat ?gpt|gpt[ -]?(?:[45](?:\.\d)?[a-z]*|3\.5)(?:[ -](?:mini|turbo|nano))?"
    r"|claude(?:[ -](?:\d(?:\.\d)?|opus|sonnet|haiku))*"
    r"|gemini(?:[ -](?:\d(?:\.\d)?|pro|flash))*|copilot|bard|o[1345](?:[ -]mini)?)(?![\w/-])"
)
#: A suffix of a closed model's name: a date, "latest", "preview".
_EDITION: Final = re.compile(r"(?:[-@]?(?:\d{2,8}|latest|preview|exp|thinking|v\d))*$")


def names_a_family(folded: str) -> bool:
    """Return whether a folded text names a family of models."""
    return not FAMILIES.isdisjoint(re.findall("[a-z]+", folded))


def is_closed(name: str) -> bool:
    """Return whether a name, with or without its owner, is a model without public weights."""
    last = name.casefold().rpartition("/")[2].strip().replace("_", "-")
    match = CLOSED.match(_EDITION.sub("", last))
    return match is not None and match.end() == len(match.string)


def find_said(name: str) -> tuple[Model, ...]:
    """Return the models for a complete informal name; () if none fits.

    An owner in the name must match, since another owner's model is a different model.
    """
    owner, _, last = name.casefold().rpartition("/")
    said = PART.findall(last.replace("_", "."))
    if not any(len(part) > 1 and part.isalpha() for part in set(said) - MUTE - TUNED - BASE):
        return ()
    models = choose_nearest(find_fitting(said), said)
    return tuple(each for each in models if owner in ("", each.id.casefold().partition("/")[0]))


def find_fitting(said: Sequence[str]) -> list[Model]:
    """Return the models whose ids have all words of the name."""
    wanted = set(said) - TUNED - BASE
    models = [model for model in all_models() if wanted <= words_of(model.id)]
    if set(said) & TUNED:
        models = [model for model in models if model.kind == "instruct"]
    if set(said) & BASE:
        models = [model for model in models if model.kind == "base"]
    return models


def choose_nearest(models: Sequence[Model], said: Sequence[str]) -> tuple[Model, ...]:
    """Return the models whose ids have the fewest other words, in one size and tuned."""
    wanted = set(said) - TUNED - BASE
    extra = {model.id: len(words_of(model.id) - wanted - MUTE) for model in models}
    fewest = min(extra.values(), default=0)
    close = [model for model in models if extra[model.id] == fewest]
    if not set(said) & BASE:
        tuned = [model for model in close if model.kind == "instruct"]
        close = tuned or close
    close.sort(key=lambda model: (model.shape.parameters, model.id))
    sizes = {round(model.shape.parameters / 1e8) for model in close}
    return (close[-1],) if len(sizes) == 1 else tuple(close)


def find_tuned(name: str) -> str | None:
    """Return the id of the instruction-tuned variant of a base model in the table."""
    owner, words = name.partition("/")[0], words_of(name) - MUTE - TUNED - BASE
    return next(
        (
            model.id
            for model in all_models()
            if model.kind == "instruct"
            and model.id.partition("/")[0] == owner
            and words_of(model.id) - MUTE - TUNED - BASE == words
            and model.id != name
        ),
        None,
    )


@cache
def words_of(name: str) -> frozenset[str]:
    """Return the words of an id's name, without its owner."""
    return frozenset(PART.findall(name.partition("/")[2].casefold().replace("_", ".")))
