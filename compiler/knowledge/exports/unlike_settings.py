"""The settings of a config at which llama.cpp's converter stops, or its file computes otherwise."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

from ftc.compiler.knowledge.architectures.layer_kinds import find_period
from ftc.compiler.knowledge.tables import read_table

__all__ = ["NUMBER", "ROPE_TYPE", "Unlike", "find_unlike", "list_codes"]

#: The name that the table has for the type of RoPE scaling, which is inside of a section.
ROPE_TYPE: Final = "rope_type"
_SECTIONS: Final = ("rope_parameters", "rope_scaling")
_OF_YARN: Final = ("truncate", "beta_fast", "beta_slow")
_SHARES: Final = ("rotary_pct", "partial_rotary_factor")
_HEADS: Final = "num_attention_heads"
#: As many key heads as heads.
HEADS: Final = "heads"
NUMBER: Final = re.compile(rf"-?[\d.]+(e[+-]?\d+)?|{HEADS}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlike:
    """A setting, and the stage at which a miniature stops that differs from others by it alone."""

    key: str
    value: str
    stage: str


def find_unlike(architecture: str, config: Mapping[str, Any]) -> Unlike | None:
    """Return the first setting of a config with which a miniature of the class stopped, or None."""
    known = _table().get(architecture, {})
    for key, value in list_codes(config):
        stage = _find_stage(known[key], value) if key in known else None
        if stage is not None:
            return Unlike(key=key, value=value, stage=stage)
    return None


def _find_stage(entry: Mapping[str, Any], value: str) -> str | None:
    """Return the stage of a value, or of all numbers but one, or of all above one."""
    stage: str | None = entry["stops"].get(value)
    if stage is not None or "rest" not in entry or NUMBER.fullmatch(value) is None:
        return stage
    is_above = value != HEADS and float(value) > entry.get("above", -math.inf)
    is_other = value not in entry["fits"] and (value == HEADS or is_above)
    return cast("str", entry["rest"]) if is_other else None


def list_codes(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings of a config, each with the text that stands for its value in the table.

    A list of one entry for each layer is the entries of its period, any other list whether it has
    entries. As many key heads as heads are `heads`, a share of a head with an odd width `odd`.
    """
    for key, value in config.items():
        if key in _SECTIONS and isinstance(value, Mapping):
            yield from _code_rope(value)
        elif "key_value_heads" in key and value == config.get(_HEADS):
            yield key, HEADS
        elif key in _SHARES and _is_odd(value, config):
            yield key, "odd"
        elif (code := _code(value)) is not None:
            yield key, code


def _is_odd(share: object, config: Mapping[str, Any]) -> bool:
    """Return whether a share of a head is an odd number of dimensions, which rotate in pairs."""
    heads, hidden = config.get(_HEADS), config.get("hidden_size")
    width = config.get("head_dim")
    if type(width) is not int and type(heads) is int and type(hidden) is int and heads > 0:
        width = hidden // heads
    return isinstance(share, float) and type(width) is int and int(share * width) % 2 == 1


def _code_rope(said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(kind := said.get(ROPE_TYPE, said.get("type")), str):
        yield ROPE_TYPE, kind
    for key in _OF_YARN:
        if (code := _code(said.get(key))) not in (None, "null"):
            yield key, str(code)


def _code(value: object) -> str | None:
    """Return the text for a value; None for an object, whose settings the table does not have."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return _code_list(value)
    if isinstance(value, int | float):
        return f"{float(value):g}"
    return value if isinstance(value, str) else None


def _code_list(value: Sequence[object]) -> str:
    words = [each for each in value if isinstance(each, str)]
    if len(words) < len(value) or not value:
        return "[...]" if value else "[]"
    return ", ".join(words[: find_period(words)])


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    table = read_table(__name__, "unlike_settings.json")["architectures"]
    return cast("Mapping[str, Mapping[str, Any]]", table)
