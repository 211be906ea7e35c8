"""Ids of models that look alike: misspellings, copies, and other members of one family."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from math import log
from typing import Final

from ftc.compiler.knowledge.exports.score_heads import find_score_class
from ftc.compiler.knowledge.well_known.model_names import find_said
from ftc.compiler.knowledge.well_known.models import all_models

_ALIKE: Final = 0.8
_WORD_ALIKE: Final = 0.7
_CANDIDATES: Final = 8
_MOST_ALIKE: Final = 3
_WORD: Final = re.compile(r"[a-z]+")
_NUMBER: Final = re.compile(r"\d")
#: What ids of quantized copies end with: formats of files, methods, and widths of weights.
_QUANTIZED: Final = re.compile(
    r"([-_.:](i1|ud|latest|gguf|ggml|awq|gptq|exl[23]|hqq|aqlm|mlx|bnb|unsloth|dynamic"
    r"|w\d+a\d+(fp\d+)?|(nv|mx)?fp[48]|int[48]|[2-8](\.\d+)?-?bits?|i?q[1-8](_\w+)?|nf4|[48]bpw))+$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """The table's model that another id seems to be a copy of, by its name; maybe quantized."""

    id: str
    quantized: bool


def find_misspelt(name: str) -> str | None:
    """Return the table's id that `name` misspells, or None.

    Versions, sizes and dates are no typos: both ids have the same digits, and every word of one is
    a word of the other, spelt alike. A name without an owner is compared with names alone.
    """
    ids = {_comparable(model.id, name): model.id for model in all_models()}
    near = get_close_matches(name.casefold(), ids, n=_CANDIDATES, cutoff=_ALIKE)
    found = (ids[each] for each in near if _has_same_parts(name.casefold(), each))
    near_id = next(found, None)
    return None if near_id == name else near_id


def find_original(name: str) -> Original | None:
    """Return the table's model of the same name under another owner, None where none has it.

    Endings that say how a copy was quantized do not count.
    """
    known = {name: model.id for model in all_models() for name in _names_of_copies(model.id)}
    bare = _QUANTIZED.sub("", _last(name))
    found = known.get(bare)
    if found is None or found.casefold() == name.casefold():
        return None
    return Original(id=found, quantized=bare != _last(name))


def find_meant(name: str) -> tuple[str, ...]:
    """Return the ids of the table that `name` may mean, whether misspelled or informal.

    A complete name without an owner means the model of exactly this name. An incomplete one means
    the instruction-tuned model, as in the assistant.
    """
    original, near = find_original(name), find_misspelt(name)
    if "/" not in name and original is not None and not original.quantized:
        return (original.id,)
    said = tuple(model.id for model in find_said(name) if model.id.casefold() != name.casefold())
    if near is not None and ("/" in name or not said):
        return (near,)
    return said[:_MOST_ALIKE]


def find_converted(name: str) -> tuple[str, ...]:
    """Return the ids of the table from which a quantized file or copy may have been made."""
    if (original := find_original(name)) is not None:
        return (original.id,)
    return find_meant(_QUANTIZED.sub("", _last(name)))


def list_alike(parameters: int) -> tuple[str, ...]:
    """Return models that generate text, each of another owner, the nearest in size first.

    They are instruct models, which are newer than most base models of such sizes, open to everybody
    and not quantized. transformers has a head for scores on each of them.
    """
    found: dict[str, str] = {}
    known = [each for each in all_models() if each.kind == "instruct" and not each.gated]
    for model in sorted(known, key=lambda each: abs(log(each.shape.parameters / parameters))):
        is_plain = model.wrapper is None and model.quantized is None
        if is_plain and find_score_class(model.shape.model_type) is not None:
            found.setdefault(_owner(model.id), model.id)
    return tuple(found.values())[:_MOST_ALIKE]


def find_family(name: str) -> str | None:
    """Return the family of a model as the table writes it, where the table has others of it."""
    owner, first = _owner(name), _first_word(name)
    for model in all_models():
        if first and (_owner(model.id), _first_word(model.id)) == (owner, first):
            written = model.id.rpartition("/")[2]
            return written[: len(first)]
    return None


def _comparable(known: str, name: str) -> str:
    return (known if "/" in name else known.rpartition("/")[2]).casefold()


def _has_same_parts(name: str, known: str) -> bool:
    if _NUMBER.findall(name) != _NUMBER.findall(known):
        return False
    owner = known.partition("/")[0]
    words, others = _WORD.findall(name), _WORD.findall(known)
    left = [word for word in words if not _take_alike(word, others)]
    # some ids repeat the owner: Meta-Llama
    return all(word in owner for word in (*left, *others))


def _take_alike(word: str, others: list[str]) -> bool:
    """Remove the word that is spelt most alike from the others; False where none is."""
    best = max(others, key=lambda other: _ratio(word, other), default="")
    if not best or _ratio(word, best) < _WORD_ALIKE:
        return False
    others.remove(best)
    return True


def _ratio(one: Sequence[str], other: Sequence[str]) -> float:
    return SequenceMatcher(None, one, other).ratio()


def _owner(name: str) -> str:
    return name.casefold().rpartition("/")[0]


def _names_of_copies(known: str) -> tuple[str, ...]:
    """Return the names of a model's copies: its own, or with its owner (or the owner's family)."""
    owner, last = _owner(known), _last(known)
    return (f"{owner.partition('-')[0]}-{last}", f"{owner}-{last}", f"{owner}_{last}", last)


def _last(name: str) -> str:
    return name.casefold().rpartition("/")[2]


def _first_word(name: str) -> str:
    match = _WORD.match(_last(name))
    return match[0] if match else ""
