"""Parses the text of a foreign config: YAML of any dialect, and JSON.

Other tools' YAML has anchors, custom tags, several documents and placeholders. Nothing in it is
executed: a tag is dropped, and its value is kept.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from ftc.spec.text.problems import DEEPEST, LONGEST_NUMBER, MOST_VALUES
from ftc.spec.text.yaml_reader import as_number, kind_of

_PLACE: Final = re.compile(r"(?<![\"'\w])\{\{[^{}\n]*\}\}|\{%[^\n]{0,200}?%\}")

_QUOTES: Final = str.maketrans("", "", "\"':#,[]")


class UnreadableConfigError(ValueError):
    """The text is not YAML; `line` is the place of the error."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def read_documents(text: str) -> list[Any]:
    """Return the documents of a YAML or JSON text; raises UnreadableConfigError."""
    try:
        return _compose(text)
    except UnreadableConfigError:
        filled = _PLACE.sub(lambda match: _quoted(match[0]), text)
        if filled == text:
            raise
        return _compose(filled)


def _quoted(place: str) -> str:
    """Return a placeholder in a form that YAML can read: `{{ x }}` as `$( x )`."""
    return "" if place.startswith("{%") else f"$({place[2:-2].translate(_QUOTES)})"


def _compose(text: str) -> list[Any]:
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
        return [_Values().of(node, 0) for node in nodes if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UnreadableConfigError(error.problem or "it ends too soon", _line(mark)) from None
    except yaml.YAMLError as error:
        raise UnreadableConfigError(str(error).partition("\n")[0], 1) from None
    except RecursionError:
        raise UnreadableConfigError("its values are nested too deep", 1) from None
    except ValueError as error:
        raise UnreadableConfigError(
            str(error) or "a character that YAML does not allow", 1
        ) from None


def _line(mark: Any) -> int:
    return int(mark.line) + 1 if mark is not None else 1


class _Values:
    """Builds values from nodes; an alias becomes a copy, up to a total number of values."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, node: Any, depth: int) -> Any:
        self.count += 1
        if self.count > MOST_VALUES or depth > DEEPEST:
            raise UnreadableConfigError("it has too many values", _line(node.start_mark))
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.of(item, depth + 1) for item in node.value]
        members: dict[str, Any] = {}
        for key, inner in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            value = self.of(inner, depth + 1)
            if name == "<<":
                for each in value if isinstance(value, list) else [value]:
                    members = {**each, **members} if isinstance(each, Mapping) else members
            else:
                members[name] = value
        return members


def _scalar(node: yaml.ScalarNode) -> Any:
    """Return a scalar's value; a quoted scalar is text unless it has a tag."""
    written = str(node.value)
    own = node.tag.startswith("!")  # a tag of another tool: `!ENV`, `!!python/name`
    if node.style is not None or (own and node.tag != "!"):
        return written
    match kind_of(written):
        case "null":
            return None
        case "boolean":
            return written.lower() == "true"
        case "number" if len(written) <= LONGEST_NUMBER:
            return as_number(written)
    return written
