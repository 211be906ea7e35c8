"""Keys that name a field together with a key inside them: `"batch": {"global": 32}`."""

from collections.abc import Mapping
from typing import Any

from ftc.spec.keys.foreign import Foreign
from ftc.spec.keys.moving import ABSENT, read
from ftc.spec.keys.places import find_places
from ftc.spec.pointer import parent, split
from ftc.spec.schema import fields_by_pointer, object_form
from ftc.spec.tools.tables import WRITTEN, groups, read_table
from ftc.spec.values.repair import find_repair
from ftc.spec.values.synonyms import find_section
from ftc.spec.values.verdict import is_valid


def find_joined(here: str, value: Any, data: Mapping[str, Any]) -> Foreign | None:
    """Return the fields that a key and each key inside it name, or a key such as `count:2` alone.

    None unless all of them name a field that the spec does not set and that takes the value, and
    for a key that means a section or a group of another tool.
    """
    pointer, key = parent(here), split(here)[-1]
    name, _, rest = key.partition(":")
    if value is None and rest:
        named = [(f"{pointer}/{name}", rest)]
    elif not isinstance(value, Mapping) or pointer.count("/") > 1 or _is_group(key):
        return None
    else:
        named = [(_find_place(key, str(inner), pointer), said) for inner, said in value.items()]
    found: dict[str, Any] = {}
    for place, said in named:
        if place not in fields_by_pointer() or place in found or read(data, place) is not ABSENT:
            return None
        field = fields_by_pointer()[place].schema
        repair = None if is_valid(said, field) else find_repair(said, field)
        found[place] = said if repair is None else repair.value
        if not is_valid(found[place], field) or (repair and repair.safety == "unsafe"):
            return None
    return Foreign(fields=found, reason="", pointer="", is_translated=False) if found else None


def _is_group(key: str) -> bool:
    """Return whether a key by itself means a field with keys, here or in another tool."""
    means = (fields_by_pointer().get(place) for place in find_places(key))
    if any(field is not None and object_form(field.schema) is not None for field in means):
        return True
    return find_section(key) is not None or bool(groups(read_table(WRITTEN), key))


def _find_place(key: str, inner: str, pointer: str) -> str:
    """Return the only field of the section, or of any from the top, that both names form, or "".

    A name that other tools use for another quantity forms none.
    """
    said = [f"{key}_{inner}".casefold(), f"{inner}_{key}".casefold()]
    found = {place for name in said for place in find_places(name)} & fields_by_pointer().keys()
    near = [place for place in found if not pointer or parent(place) == pointer]
    if len(near) != 1:
        return ""
    differs = "x-aliases-differ" in fields_by_pointer()[near[0]].schema
    return "" if differs and split(near[0])[-1] not in said else near[0]
