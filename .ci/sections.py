"""Write spec/sections.py anew: the dataclasses of the spec, from the fields of spec/schema.json.

    make sections

A section becomes a frozen dataclass, a field an attribute with its type, default and description.
A list of words becomes a `Literal` that is named after its field, or by `x-type` where another
name says more; `x-type` also names an object that stands in a list. The forms of rows that go with
each word of a field, its `x-forms`, become a table. Nothing here knows a field by name: to change
what a field is, change the schema.
"""

import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ftc.spec.normal import FOR_READERS
from ftc.spec.schema import Schema, read_schema

TARGET: Final = Path(__file__).parents[1] / "spec" / "sections.py"
_LINE_CHARS: Final = 100
_INDENT: Final = "    "
_AUTO: Final = "auto"
_PLAIN: Final[Mapping[str, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
_HEAD: Final = '''\
"""The typed spec: what `validate` returns once short forms are long and defaults are filled in.

Generated from `schema.json` by `make sections`; change the schema, not this file. `"auto"` means
that the planner decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Auto = Literal["auto"]
'''
_FORMS_SAY: Final = "The forms of rows of each objective, in the order in which they are tried."
_CLASS: Final = "@dataclass(frozen=True, slots=True, kw_only=True)\nclass {name}:\n"
_SAID: Final = '''\
    said: frozenset[str]
    """JSON pointers, of the long form, to what the user wrote: they tell a choice from a default.
    """
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What is written so far: lists of words by their words, classes by their names."""

    schema: Schema
    names: Mapping[tuple[str, ...], str]
    classes: dict[str, str] = field(default_factory=dict)


def main() -> None:
    """Write the file."""
    TARGET.write_text(generate(read_schema()), encoding="utf-8")


def generate(schema: Schema) -> str:
    """Return the source of the dataclasses of a schema, as `ruff format` lays it out."""
    module = Module(schema=schema, names=name_words(schema))
    read = {key: node for key, node in schema["properties"].items() if key not in FOR_READERS}
    add_class(module, "Spec", {**schema, "properties": read}, tail=_SAID)
    hold_apart([*module.names.values(), *module.classes])
    words = "".join(
        f"{name} = Literal[{', '.join(map(repr, words))}]\n" for words, name in module.names.items()
    )
    text = "\n\n".join((_HEAD + words + tabulate(module), *module.classes.values()))
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(TARGET)]
    done = subprocess.run([*command, "-"], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def tabulate(module: Module) -> str:
    """Return the table of the forms of rows, by the words of the field that has them."""
    [node] = [node for _, node in walk(module.schema, module.schema, None) if "x-forms" in node]
    forms = {word: tuple(node["x-forms"][word]) for word in words_of(node)}
    kind = f"Mapping[{module.names[words_of(node)]}, tuple[Form, ...]]"
    return f"\n#: {_FORMS_SAY}\nFORMS: Final[{kind}] = {forms!r}\n"


def name_words(schema: Schema) -> Mapping[tuple[str, ...], str]:
    """Return the name of each list of words: its `x-type`, else that of the field that has it.

    Fields with the same words share the name. Words beside another form, as in "a list or one of
    these", have a name only where a field has them alone.
    """
    said: dict[tuple[str, ...], str] = {}
    own: dict[tuple[str, ...], str] = {}
    for key, node in walk(schema, schema, None):
        if "enum" in node and "x-type" in node:
            said[words_of(node)] = node["x-type"]
        elif "enum" in node and key is not None:
            own.setdefault(words_of(node), camel(key))
    return {words: name for words, name in {**own, **said}.items() if words}


def hold_apart(names: Sequence[str]) -> None:
    """Refuse a name that two types would have."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"different types have one name: say an x-type for one of {twice}")


def walk(root: Schema, node: Schema, key: str | None) -> Iterator[tuple[str | None, Schema]]:
    """Yield every schema in a schema, with the name of the field that it is all of."""
    yield key, node
    for branch in node.get("anyOf", ()):
        yield from walk(root, branch, None)
    if "$ref" in node:
        yield from walk(root, resolve(root, node), None)
    if "items" in node:
        yield from walk(root, node["items"], None)
    for name, inner in node.get("properties", {}).items():
        yield from walk(root, inner, name)


def resolve(root: Schema, node: Schema) -> Schema:
    """Return what a reference refers to, with the name of its class."""
    name = node["$ref"].removeprefix("#/$defs/")
    return {"x-type": camel(name), **root["$defs"][name]}


def add_class(module: Module, name: str, section: Schema, *, tail: str = "") -> None:
    """Write a class, and before it those that it refers to."""
    fields = [
        write_field(module, key, node, required=key in section.get("required", ()))
        for key, node in section["properties"].items()
    ]
    lines = describe(section["description"], title=section.get("title", name))
    head = _CLASS.format(name=name) + lines + "\n"
    module.classes[name] = head + "".join(fields) + tail


def write_field(module: Module, key: str, node: Schema, *, required: bool) -> str:
    """Return an attribute and what it means; a section is described by its class."""
    section = find_section(module.schema, node)
    if section is not None:
        words = {name: node[name] for name in ("title", "description")}
        add_class(module, section["x-type"], {**section, **words})
        kind, default = section["x-type"], f"{section['x-type']}()"
    else:
        kind = type_of(module, node)
        default = repr(as_value(node.get("default", empty(node)), kind))
        if not required and default == "None" and not kind.endswith("None"):
            kind = f"{kind} | None"
    line = f"{_INDENT}{key}: {kind}" + ("\n" if required else f" = {default}\n")
    if section is not None or "description" not in node:
        return line
    return line + describe(node["description"])


def find_section(root: Schema, node: Schema) -> Schema | None:
    """Return the long form of a section, None for any other field."""
    branches = [branch for branch in (node, *node.get("anyOf", ())) if "$ref" in branch]
    return resolve(root, branches[0]) if branches else None


def type_of(module: Module, node: Schema) -> str:
    """Return the annotation of a field: its forms in the schema's order, then auto and None."""
    found = [kind for leaf in node.get("anyOf", (node,)) for kind in types_of(module, leaf)]
    last = [kind for kind in ("Auto", "None") if kind in found]
    return " | ".join(dict.fromkeys([*(kind for kind in found if kind not in last), *last]))


def types_of(module: Module, leaf: Schema) -> Iterator[str]:
    """Yield the annotation of each type that one form accepts."""
    if words := words_of(leaf):
        yield module.names.get(words, f"Literal[{', '.join(map(repr, words))}]")
    choices = leaf.get("enum", [leaf["const"]] if "const" in leaf else [])
    if _AUTO in choices:
        yield "Auto"
    if choices:
        return
    kinds = leaf["type"]
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "array":
            yield f"tuple[{type_of(module, leaf['items'])}, ...]"
        elif kind == "object":
            yield object_type(module, leaf)
        else:
            yield _PLAIN[kind]


def object_type(module: Module, leaf: Schema) -> str:
    """Return the class of an object that has a name; any other is a dict."""
    if "x-type" in leaf:
        add_class(module, leaf["x-type"], leaf)
        return str(leaf["x-type"])
    kinds = {type_of(module, inner) for inner in leaf.get("properties", {}).values()}
    return f"dict[str, {' | '.join(sorted(kinds)) or 'Any'}]"


def words_of(node: Schema) -> tuple[str, ...]:
    """Return the words that a form accepts by name, "auto" aside."""
    choices = node.get("enum", [node["const"]] if "const" in node else [])
    return tuple(word for word in choices if word != _AUTO)


def empty(node: Schema) -> Sequence[Any] | None:
    """Return the value of an optional field that has no default and is left out."""
    return [] if node.get("type") == "array" else None


def as_value(default: Any, kind: str) -> Any:
    """Return a default as the dataclass holds it: a tuple for a list, 0.0 for a float's 0."""
    if isinstance(default, list):
        return tuple(default)
    counts = "float" not in kind.split(" | ")
    return default if counts or type(default) is not int else float(default)


def describe(text: str, *, title: str | None = None) -> str:
    """Return a docstring; one that takes several lines begins with a line that stands alone.

    That line is the first sentence, or the title. The docstring of a field, which has no title, is
    plain prose.
    """
    text = text.replace("\\", "\\\\")
    if len(text) <= _LINE_CHARS - len(_INDENT) - len('""""""'):
        return f'{_INDENT}"""{text}"""\n'
    if title is not None:
        summary, _, rest = text.partition(". ")
        if not rest or len(summary) > _LINE_CHARS - len(_INDENT) - len('""".'):
            summary, rest = title, text
        paragraphs = [f'"""{summary}.', "", *_wrap(rest)]
    else:
        paragraphs = _wrap(f'"""{text}')
    lines = [*paragraphs, '"""']
    return "".join(f"{_INDENT}{line}".rstrip() + "\n" for line in lines)


def _wrap(text: str) -> list[str]:
    width = _LINE_CHARS - len(_INDENT)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def camel(name: str) -> str:
    """Return "QuantStorage" for "quant_storage"."""
    return "".join(word.capitalize() for word in name.split("_"))


if __name__ == "__main__":
    main()
