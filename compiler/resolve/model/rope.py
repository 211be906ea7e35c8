"""Finds errors in `rope_parameters` and `rope_scaling` that make transformers fail."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.compiler.knowledge.architectures.rope_types import (
    list_rope_types,
    reads_rope,
    rope_type,
)
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.model.sections import Part, value_fault
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.message import Message

#: The names of the section in files of old and of new versions; the first that says something.
_SECTIONS: Final = ("rope_scaling", "rope_parameters")
#: The type that has a factor for each pair of rotated dimensions.
_LISTED: Final = "longrope"
_LISTS: Final = ("short_factor", "long_factor")
_NUMBERS: Final = (
    *("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
    "rope_theta",
)


def find_rope_fault(config: Part, name: str) -> Finding | None:
    """Return why transformers cannot compute the positions of a model with this config."""
    known = list_rope_types(config.model_type)
    if known is None:
        return None
    data, prefix = config.data, config.prefix
    section = next((key for key in _SECTIONS if data.get(key)), None)
    said = {} if section is None else data[section]
    if not isinstance(said, dict):
        return value_fault(name, f"{prefix}{section}", said, Message("phrase.object"))
    parts = [*_parts(f"{prefix}{section}", said, data.get("layer_types"))]
    for where, part in parts:
        if not isinstance(part, dict):
            return value_fault(name, where, part, Message("phrase.object"))
        kind = rope_type(config.model_type, part)
        fault = _find_fault(name, where, part, kind, known)
        if fault is None and kind == _LISTED:
            fault = _find_wrong_length(name, where, part, data)
        if fault is not None:
            return fault
    theta = data.get("rope_theta", 0)
    is_unread = all("rope_theta" in part for _, part in parts)
    if theta is None or _is_number(theta) or is_unread or not reads_rope(config.model_type):
        return None
    return value_fault(name, f"{prefix}rope_theta", theta, Message("phrase.number"))


def _parts(section: str, said: Mapping[str, Any], layers: object) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of each type of layer, or of all; a type without any has none."""
    named = [key for key in said if isinstance(layers, list) and key in layers]
    for key in named:
        if said[key] is not None:
            yield f"{section}.{key}", said[key]
    if not named:
        yield section, said


def _find_fault(
    name: str,
    where: str,
    part: Mapping[str, Any],
    kind: object,
    known: Mapping[str, Sequence[str]],
) -> Finding | None:
    if not isinstance(kind, str) or kind not in known:
        return explanations.BROKEN_CONFIG.finding(
            message="rope_type",
            help="rope_type",
            name=name,
            key=where,
            value=quote(kind),
            types=sorted(known),
        )
    if missing := [key for key in known[kind] if key not in part]:
        return explanations.BROKEN_CONFIG.finding(
            message="rope_missing",
            help="rope_missing",
            name=name,
            key=where,
            kind=kind,
            missing=missing,
        )
    for key in (*_NUMBERS, *_LISTS):
        is_read = key in known[kind] or key in ("rope_theta", "original_max_position_embeddings")
        if not is_read or key not in part:
            continue
        value = part[key]
        if key in _LISTS and not (isinstance(value, list) and all(map(_is_number, value))):
            return value_fault(name, f"{where}.{key}", value, Message("phrase.numbers"))
        if key in _NUMBERS and not _is_number(value):
            return value_fault(name, f"{where}.{key}", value, Message("phrase.number"))
    return None


def _find_wrong_length(
    name: str, where: str, part: Mapping[str, Any], data: Mapping[str, Any]
) -> Finding | None:
    """Return a finding for a list of other factors than the head has pairs of dimensions.

    With latent attention only the part of `qk_rope_head_dim` is turned.
    """
    hidden, heads = data.get("hidden_size"), data.get("num_attention_heads")
    if type(hidden) is not int or type(heads) is not int or heads < 1:
        return None
    width = data.get("qk_rope_head_dim") or data.get("head_dim") or hidden // heads
    share = part.get("partial_rotary_factor", data.get("partial_rotary_factor", 1.0))
    if type(width) is not int or not _is_number(share):
        return None
    wanted = int(width * share) // 2
    for key in _LISTS:
        held = len(part[key]) if isinstance(part.get(key), list) else wanted
        if held != wanted:
            return explanations.BROKEN_CONFIG.finding(
                message="factors",
                help="value",
                name=name,
                key=f"{where}.{key}",
                held=held,
                wanted=wanted,
            )
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
