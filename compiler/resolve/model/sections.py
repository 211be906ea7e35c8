"""The configs inside a `config.json`, such as `text_config`, and what transformers cannot read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.architectures.config_types import (
    KINDS,
    Section,
    find_refused,
    find_refused_inside,
    find_section,
    kind_of,
    knows_activation,
    list_activation_keys,
    pads_embedding,
)
from ftc.compiler.knowledge.architectures.dtypes import DTYPES, said_dtype
from ftc.compiler.knowledge.architectures.stopping_values import list_words, stops
from ftc.compiler.resolve import explanations
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.message import Message

_TYPE: Final = "model_type"
_TEXT: Final = "text_config"
#: How each kind of values is called, by its letter in the table.
_NAMES: Final[Mapping[str, Message | str]] = {
    "i": Message("phrase.integer"),
    "f": Message("phrase.fraction"),
    "b": Message("phrase.boolean"),
    "s": Message("phrase.text"),
    "l": Message("phrase.list"),
    "d": Message("phrase.object"),
    "n": "`null`",
}
_LOADED_CLASSES: Final = ("AutoConfig", "AutoModelForCausalLM")
_BOTH: Final = "if"  # whole numbers and others


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The config itself, or one inside it; `prefix` is what stands before the names of its keys."""

    model_type: str
    data: Mapping[str, Any]
    prefix: str = ""

    def sections(self) -> Iterator[tuple[str, Section, Mapping[str, Any]]]:
        """Yield the name, the rules and the keys of each config that is inside this one."""
        for key, value in self.data.items():
            section = find_section(self.model_type, key) if isinstance(value, dict) else None
            if section is not None:
                yield key, section, value


def list_parts(data: Mapping[str, Any], *, flat: bool = False) -> Iterator[Part]:
    """Yield the config and all its sections; sections of unknown classes are left out.

    `flat`: the keys of the language model are beside the others, which transformers then moves.
    """
    model_type = data.get(_TYPE)
    if not isinstance(model_type, str):
        return
    waiting = [Part(model_type=model_type, data=data)]
    text = find_section(model_type, _TEXT)
    if flat and text is not None and not isinstance(data.get(_TEXT), dict):
        waiting.append(Part(model_type=text.model_type, data=data))
    while waiting:
        part = waiting.pop(0)
        yield part
        for key, section, inside in part.sections():
            kind = section.read_type(inside.get(_TYPE)) or ""
            waiting.append(Part(model_type=kind, data=inside, prefix=f"{part.prefix}{key}."))


def find_section_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for a section of `part` whose class transformers cannot find, or None."""
    for key, section, inside in part.sections():
        named = inside.get(_TYPE)
        where = f"{part.prefix}{key}"
        if named is None and section.must_name:
            return explanations.BROKEN_CONFIG.finding(
                message="untyped", help="untyped", name=name, key=where, known=section.model_type
            )
        if section.read_type(named) is None:
            return explanations.BROKEN_CONFIG.finding(
                message="section_type",
                help="section_type",
                name=name,
                key=f"{where}.{_TYPE}",
                value=quote(named),
            )
    return None


def find_type_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for the first value whose type transformers rejects, or None.

    Nothing is reported for classes outside the table, such as those with their own code.
    """
    for key, value in part.data.items():
        refused = find_refused(part.model_type, key)
        if kind_of(value) in refused:
            return value_fault(name, part.prefix + key, value, _say_accepted(refused))
        inside = find_refused_inside(part.model_type, key) if isinstance(value, list) else ""
        for place, each in enumerate(value if inside else ()):
            if kind_of(each) in inside:
                where = f"{part.prefix}{key}[{place}]"
                return value_fault(name, where, each, _say_accepted(inside))
    return None


def find_stopping_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for the first value at which the class stops, or None."""
    kinds = part.data.get("layer_types")
    for key, value in part.data.items():
        if stops(part.model_type, key, value, kinds):
            return _stopped(name, part.prefix + key, value)
    return None


def _stopped(name: str, key: str, value: object) -> Finding:
    return explanations.BROKEN_CONFIG.finding(
        message="stops", help="value", name=name, key=key, value=quote(value)
    )


def find_dtype_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for a dtype that torch does not have, such as `auto` or a list, or None.

    transformers looks a text up in torch. It keeps other values, and nothing reads them.
    """
    key, said = said_dtype(part.data)
    if isinstance(said, list) or (isinstance(said, str) and said not in DTYPES):
        return value_fault(name, part.prefix + key, said, Message("phrase.dtype"))
    return None


def find_activation_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for the first name that is not an activation function of transformers."""
    for key in list_activation_keys(part.model_type):
        said = part.data.get(key)
        if isinstance(said, str) and not knows_activation(said):
            return value_fault(name, part.prefix + key, said, Message("phrase.activation"))
    return None


def find_padding_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for a padding token without a row in the embedding, or None.

    Older trainers added such a token to the tokenizer alone.
    """
    pad, rows = part.data.get("pad_token_id"), part.data.get("vocab_size")
    if type(pad) is not int or type(rows) is not int or not pads_embedding(part.model_type):
        return None
    if -rows <= pad < rows:
        return None
    return explanations.BROKEN_CONFIG.finding(
        message="padding",
        help="padding",
        name=name,
        key=f"{part.prefix}pad_token_id",
        id=pad,
        rows=rows,
    )


def find_code_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for a class in `auto_map` that is no text, or None.

    transformers looks for the name of another repository in it, whether the code is trusted or not.
    """
    named = part.data.get("auto_map")
    if part.prefix or not isinstance(named, dict):
        return None
    for key in _LOADED_CLASSES:
        if key in named and (named[key] is None or isinstance(named[key], int | float)):
            return value_fault(name, f"auto_map.{key}", named[key], Message("phrase.text"))
    return None


def find_layers_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for a list of layer kinds that transformers rejects, or None.

    It knows a few kinds, and wants one for each layer.
    """
    number = part.data.get("num_hidden_layers")
    for key in ("layer_types", "mlp_layer_types"):
        kinds = part.data.get(key)
        words = list_words(part.model_type, key, part.data.get("layer_types"))
        if words is None or not isinstance(kinds, list):
            continue
        for place, kind in enumerate(kinds):
            if kind not in words:
                return _stopped(name, f"{part.prefix}{key}[{place}]", kind)
        if type(number) is int and len(kinds) != number:
            return explanations.BROKEN_CONFIG.finding(
                message="layers",
                help="value",
                name=name,
                key=part.prefix + key,
                held=len(kinds),
                layers=number,
            )
    return None


def value_fault(name: str, key: str, value: object, expected: Message) -> Finding:
    """Return the finding for a value that transformers cannot read: it needs `expected`."""
    return explanations.BROKEN_CONFIG.finding(
        message="value", help="value", name=name, key=key, value=quote(value), expected=expected
    )


def _say_accepted(refused: str) -> Message:
    accepted = "".join(kind for kind in KINDS.values() if kind not in refused)
    numbers = [Message("phrase.number")] if accepted.startswith(_BOTH) else []
    rest = accepted.removeprefix(_BOTH)
    options = (*numbers, *(_NAMES[kind] for kind in rest))
    return Message("phrase.either", {"options": options})
