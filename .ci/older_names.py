"""Find the legacy config keys that a class still accepts, such as `n_embed` of BLOOM."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import transformers
from builds import SKIPPED, Family, layer_key

__all__ = ["find_older_names"]

_READ = re.compile(r"""kwargs\.(?:pop|get)\(\s*["'](\w+)["']""")


def find_older_names(family: Family) -> dict[str, str]:
    """Return the legacy keys, each with the current key that it overrides.

    A key is one if a size under it builds the same tensors as that size under the current key.
    """
    base = family.build(family.base)
    cls = transformers.CONFIG_MAPPING[family.said["type"]]
    found: dict[str, str] = {}
    for name in _list_read(cls):
        for key, value in family.base.items():
            skipped = SKIPPED.fullmatch(key) and key != layer_key(family.aliases)
            if type(value) is not int or not value or skipped or key == name:
                continue
            written = _tensors(family, {key: 2 * value})
            if base is None or written is None or written == base.tensors():
                continue
            if _tensors(family, {name: 2 * value}) == written:
                found[name] = key
                break
    return found


def _list_read(cls: Any) -> Iterator[str]:
    """Yield the keyword arguments that a class reads without having a field for them."""
    own = {each.name for each in fields(cls)} | set(cls.attribute_map)
    classes = (each for each in cls.__mro__ if each.__module__.startswith("transformers.models"))
    names = (name for each in classes for name in _READ.findall(inspect.getsource(each)))
    yield from (name for name in dict.fromkeys(names) if name not in own)


def _tensors(family: Family, entries: dict[str, int]) -> Any:
    """Return the tensors of the base config with these entries; None if it cannot be built."""
    try:
        built = family.build({**family.base, **entries})
    except SystemExit:  # the kinds of its layers do not fit these entries
        return None
    return None if built is None else built.tensors()
