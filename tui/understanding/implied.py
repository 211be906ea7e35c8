"""The values that a value implies or removes: "lora rank 8" implies LoRA."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.compiler.knowledge.objectives import ABBREVIATED
from ftc.spec.schema import fields_by_pointer
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.message import SENTENCE_END, find_around, find_places, fold

#: Fields for which any value removes other fields, and the placeholder for that value.
KIND: Final = {"/training/epochs": "any", "/training/max_steps": "any"}
_KNOBS: Final = (
    *("/method/rank", "/method/alpha", "/method/dropout", "/method/targets"),
    *("/method/target_pattern", "/method/experts", "/method/rslora", "/method/dora"),
    *("/method/init", "/method/double_quantization", "/method/quantization"),
)
#: The fields that a value removes, because a spec may not have both.
_DISPLACES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("/training/epochs", "any"): ("/training/max_steps",),
    ("/training/max_steps", "any"): ("/training/epochs",),
    ("/method/type", "full"): (*_KNOBS, "/method/also_train", "/method/layers"),
    ("/method/type", "freeze"): _KNOBS,
    ("/method/type", "lora"): (*_KNOBS[-2:], "/method/layers"),
    ("/method/type", "qlora"): ("/method/layers",),
    ("/method/quantization", "int8"): ("/method/double_quantization",),
}
_LAUNCH: Final = "/launch/"
ROUNDED: Final = "/method/quantization"
_METHOD: Final = "/method/type"
_ADAPTERS: Final = re.compile(r"\blora\b|\badap(?:ters?|tador(?:s|es)?)\b")
_WIDTH: Final = re.compile(r"\bbits?\b")
_LORA: Final = re.compile(r"(?i)lora\b")
_METRIC, _BEST_BY = "/training/evaluation/metric", "/training/evaluation/best_by"
_NO_METRIC: Final = ("none", "auto")
_PICKS: Final = (
    r"\b(?:best|mejor|millor|pick|chos|choos|select|keep|decid|tri[aei]|eleg|elij|elig|escoll"
    r"|judg)\w*\b"
)
_KEPT: Final = r"\b(?:checkpoint|ckpt|model|modelo|epoch|version|weights|pesos|one)\b"
#: The fields that choose one of several checkpoints.
_PICKED: Final = re.compile(rf"{_PICKS}[^.;!?\n]{{0,40}}{_KEPT}|{_KEPT}[^.;!?\n]{{0,30}}{_PICKS}")
_OBJECTIVE: Final = re.compile(rf"(?i)({'|'.join(ABBREVIATED)})\b")


def drop_denied_methods(said: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Remove a method that was only inferred from a negation if the message says more about it.

    "Instead of 4 bit" implies LoRA unless another width is requested. "No adapters" implies a full
    fine-tune unless another method is requested.
    """
    rounded = any(each.pointer == ROUNDED for each in said)
    methods = [each for each in said if each.pointer == _METHOD]
    others = len(methods) > 1 or any(each.pointer in _KNOBS for each in said if _is_kept(each))
    return [
        each
        for each in said
        if each not in methods
        or not ((rounded and _WIDTH.search(fold(each.words))) or (others and _is_denial(each)))
    ]


def _is_kept(said: Change | Choice) -> bool:
    """Return whether an option of adapters is set: "dora instead of plain lora"."""
    return isinstance(said, Change) and said.value not in (None, False)


def _is_denial(said: Change | Choice) -> bool:
    """Return whether a full fine-tune was read from a word for adapters."""
    full = isinstance(said, Change) and said.value == "full"
    return full and _ADAPTERS.search(fold(said.words)) is not None


def imply(said: Sequence[Change | Choice], draft: Mapping[str, Any]) -> list[Change]:
    """Return LoRA as the method for "lora rank 8", and DPO as the objective for "dpo beta".

    Only if neither the draft nor the message has one.
    """
    objective = [
        Change(pointer="/objective/type", value=named[1].lower(), words=each.words)
        for each in said
        if each.pointer.startswith("/objective/") and (named := _OBJECTIVE.match(each.words))
    ][:1]
    if draft.get("objective") or any(each.pointer == "/objective/type" for each in said):
        objective = []
    return [*objective, *_implied_method(said, draft)]


def settle_method(said: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values without a method that only negates another one.

    Beside "train the last 4 layers", "no LoRA" does not mean full fine-tuning.
    """
    types = [each for each in said if each.pointer == "/method/type"]
    values = {getattr(each, "value", None) for each in types}
    if "full" in values:  # "train all the weights, no adapter" exports nothing
        said = [each for each in said if (each.pointer, _value(each)) != ("/export/adapter", False)]
    if not {"freeze", "full"} <= values:
        return list(said)
    return [each for each in said if each.pointer != "/method/type" or _value(each) != "full"]


def _value(each: Change | Choice) -> object:
    return each.value if isinstance(each, Change) else None


def imply_by_name(said: Sequence[Change | Choice], draft: Mapping[str, Any]) -> list[Change]:
    """Return the values inside the names of other fields: "polynomial power 1.5"."""
    known = fields_by_pointer()
    has = {each.pointer for each in said}
    found = {
        pointer: Change(pointer=pointer, value=value, words=each.words)
        for each in said
        if isinstance(each, Change)
        if each.pointer in known
        for pointer, values in known[each.pointer].schema.get("x-when", {}).items()
        if pointer not in has and value_at(draft, pointer) is None
        for value in values
        if re.search(rf"(?<![\w-]){re.escape(str(value))}(?![\w-])", fold(each.words))
    }
    return list(found.values())


def imply_kinds(said: Sequence[Change | Choice], draft: Mapping[str, Any]) -> list[Change | Choice]:
    """Return the values with the one type that has their fields: a partition belongs to Slurm.

    A field of only one type implies that type, unless the draft or a change has another.
    """
    known = fields_by_pointer()
    told = {each.pointer for each in said if isinstance(each, Change)}
    kinds: dict[str, set[Any]] = {}
    for each in said:
        if not isinstance(each, Change) or each.pointer not in known:
            continue
        for pointer, values in known[each.pointer].schema.get("x-when", {}).items():
            if pointer.startswith(_LAUNCH) and len(values) == 1:
                kinds.setdefault(pointer, set()).add((values[0], each.words))
    added = [
        Change(pointer=pointer, value=value, words=words)
        for pointer, found in kinds.items()
        if pointer not in told and value_at(draft, pointer) is None
        if len({kind for kind, _ in found}) == 1
        for value, words in sorted(found)[:1]
    ]
    gone = {each.pointer for each in added}
    return [*(each for each in said if each.pointer not in gone), *added]


def imply_best(
    said: Sequence[Change | Choice], text: str, draft: Mapping[str, Any]
) -> list[Change]:
    """Return that the metric selects the checkpoint: "keep the one with the best macro F1"."""
    if any(each.pointer == _BEST_BY for each in said) or value_at(draft, _BEST_BY) == "metric":
        return []
    folded = fold(text)
    return [
        Change(pointer=_BEST_BY, value="metric", words=each.words)
        for each in said
        if isinstance(each, Change) and each.pointer == _METRIC and each.value not in _NO_METRIC
        for place in find_places(text, each.words)[:1]
        if _PICKED.search(folded, *find_around(SENTENCE_END, folded, place))
    ][:1]


def _implied_method(said: Sequence[Change | Choice], draft: Mapping[str, Any]) -> list[Change]:
    own = value_at(draft, "/method/type")
    rounded = [each for each in said if isinstance(each, Change) and each.pointer == ROUNDED]
    types = [each for each in said if each.pointer == "/method/type"]
    lora = [each for each in types if getattr(each, "value", None) == "lora"]
    if rounded and own != "qlora" and len(types) == len(lora):
        return [Change(pointer="/method/type", value="qlora", words=rounded[0].words)]
    has = draft.get("method") or any(each.pointer == "/method/type" for each in said)
    named = [
        each for each in said if each.pointer.startswith("/method/") and _LORA.match(each.words)
    ]
    if has or not named:
        return []
    return [Change(pointer="/method/type", value="lora", words=named[0].words)]


def find_displaced(said: Sequence[Change], draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields of the draft that conflict with a later change."""
    own = {each.pointer for each in said}
    for change in said:
        value = KIND.get(change.pointer, str(change.value))
        for pointer in _DISPLACES.get((change.pointer, value), ()):
            section, key = pointer[1:].split("/")
            inner = draft.get(section)
            if isinstance(inner, Mapping) and inner.get(key) is not None and pointer not in own:
                yield Change(pointer=pointer, value=None, words=change.words)
