"""The configs inside a `config.json`, such as `text_config`, and the types they are read as."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ftc.compiler.knowledge.config_types import Section, find_section
from ftc.compiler.resolve import explanations
from ftc.spec.finding import Finding
from ftc.spec.quote import quote

__all__ = ["Part", "find_section_fault", "list_parts"]

_TYPE = "model_type"
_TEXT = "text_config"


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
                message="untyped",
                help="untyped",
                pointer="/model/id",
                name=name,
                key=where,
                known=section.model_type,
            )
        if section.read_type(named) is None:
            return explanations.BROKEN_CONFIG.finding(
                message="section_type",
                help="section_type",
                pointer="/model/id",
                name=name,
                key=f"{where}.{_TYPE}",
                value=quote(named),
            )
    return None
