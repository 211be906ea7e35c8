"""Find what a key of a configuration stands for where it is missing, or null."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import transformers
from builds import SKIPPED, Build, Family, layer_key

from ftc.compiler.knowledge.architectures.expression import evaluate

__all__ = ["find_absences"]


def find_absences(family: Family, keys: Sequence[str]) -> dict[str, Any]:
    """Return what a key stands for where it is missing, and where it is null.

    A rule is a constant or a product of keys that, given in its place, builds the same tensors.
    """
    missing: dict[str, Any] = {}
    null: dict[str, Any] = {}
    extra = family.said.get("extra", {})
    cls = transformers.CONFIG_MAPPING[family.said["type"]]
    plain = {each.name: each.default for each in fields(cls)}
    said = transformers.CONFIG_MAPPING[family.said["type"]]().to_dict()
    for key, value in family.base.items():
        if type(value) is bool or SKIPPED.fullmatch(key):
            if key in said and type(said[key]) in (bool, int):
                missing[key] = said[key]
            continue
        if type(value) is not int:
            continue
        if type(plain.get(key)) is int:  # only a null is replaced by what follows from others
            missing[key] = plain[key]
        elif (rule := _rule(family, key, keys, drop=True)) is not None:
            missing[key] = rule
        if (rule := _rule(family, key, keys, drop=False)) is not None:
            null[key] = rule
    for key in ("max_position_embeddings", "model_max_length", "num_experts_per_tok"):
        if type(said.get(key)) is int:
            missing.setdefault(key, said[key])
    missing |= extra
    null |= {key: rule for key, rule in extra.items() if isinstance(rule, str)}
    layers = layer_key(family.aliases)
    for key in family.said.get("rounded", {}).values():
        missing.setdefault(key, said[key])
    if type(said.get(layers)) is int:
        missing.setdefault(layers, said[layers])
    null |= family.replaced
    missing |= {key: size for key, size in family.replaced.items() if plain.get(key) is None}
    return {"defaults": missing, "nulls": null}


def _rule(family: Family, key: str, keys: Sequence[str], *, drop: bool) -> int | str | None:
    """Find the default of a missing (or null) key by comparing builds of several sizes."""
    others = [k for k in keys if k != key]

    def without(given: Mapping[str, Any]) -> Build | None:
        rest = {k: v for k, v in given.items() if k != key}
        return family.build(rest if drop else rest | {key: None})

    doubled = (family.base | {other: family.base[other] * 2} for other in others)
    bases = [family.base, *doubled]
    pairs = [(b, w) for b in bases if (w := without(b)) is not None]
    if not pairs:
        return None
    default = transformers.CONFIG_MAPPING[family.said["type"]]().to_dict().get(key)
    candidates: list[int | str] = [default] if type(default) is int else []
    candidates += ["hidden_size/num_attention_heads", *others, "hidden_size/16"]
    candidates += [f"{n}*{k}" for k in others for n in (2, 3, 4)]
    candidates += [f"{k}*{o}/{d}" for k, o, d in _triples(others)]
    for candidate in candidates:
        if all(_agrees(family, key, candidate, b, w) for b, w in pairs):
            return candidate
    return None


def _triples(keys: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield products of two keys over a third, of those that make up widths of heads."""
    for one in keys:
        if "expand" in one:
            for below in keys:
                if "head" in below:
                    yield one, "hidden_size", below


def _same(one: Build, other: Build) -> bool:
    return one.tensors() == other.tensors()


def _agrees(
    family: Family, key: str, candidate: int | str, given: Mapping[str, Any], built: Build
) -> bool:
    """Return whether the class is the same with the candidate's value written out."""
    value = candidate if isinstance(candidate, int) else evaluate(candidate, given.get)
    if value is None:
        return False
    written = family.build({**given, key: value})
    return written is not None and _same(written, built)
