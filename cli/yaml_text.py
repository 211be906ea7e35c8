"""JSON patches on YAML text: comments, quotes and the order of keys stay."""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from ftc.spec.patch import PatchError, apply_patch, replaces_all
from ftc.spec.pointer import split
from ftc.spec.text.yaml_reader import read_yaml, repair_yaml

_WIDEST: Final = 10_000  # no line is broken that was not
_NESTED: Final = re.compile(r"^( +)[^\s#-]", re.MULTILINE)
_DASHED: Final = re.compile(r"^[^\s#-][^\n]*:\s*\n(?:#[^\n]*\n)*( *)- ", re.MULTILINE)


def edit_yaml(text: str, operations: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
    """Return the text with a fix applied, and that its comments are still the user's.

    Raises PatchError where the text that would be written does not say what the fix means.
    """
    wanted = apply_patch(read_yaml(text).data, operations)
    if replaces_all(operations):
        repaired = repair_yaml(text)
        if read_yaml(repaired).data == wanted:
            return repaired, True
        written = StringIO()
        YAML().dump(wanted, written)
        return written.getvalue(), False
    try:
        editor = YAML()
        editor.preserve_quotes = True
        editor.width = _WIDEST
        dash = _indent(_DASHED, text, 0)
        editor.indent(mapping=_indent(_NESTED, text, 2), sequence=dash + 2, offset=dash)
        written = StringIO()
        tree = editor.load(text)
        for operation in operations:
            tree = tree if _rename(tree, operation) else apply_patch(tree, [operation])
        editor.dump(tree, written)
    except (YAMLError, TypeError, KeyError, ValueError) as error:
        raise PatchError("the YAML cannot be edited in place") from error
    if read_yaml(written.getvalue()).data != wanted:
        raise PatchError("the YAML cannot be edited in place")
    return written.getvalue(), True


def _indent(pattern: re.Pattern[str], text: str, usual: int) -> int:
    """Return the smallest indentation that a pattern finds, in spaces."""
    return min((len(spaces) for spaces in pattern.findall(text)), default=usual)


def _rename(tree: Any, operation: Mapping[str, Any]) -> bool:
    """Rename a key in place and keep its comment; return False for any other edit."""
    if operation["op"] != "move":
        return False
    (*above, old), (*beside, new) = split(operation["from"]), split(operation["path"])
    if above != beside:
        return False
    for key in above:
        tree = tree[int(key) if isinstance(tree, list) else key]
    if not isinstance(tree, CommentedMap) or new in tree:
        return False
    place = list(tree).index(old)
    comment = tree.ca.items.pop(old, None)
    tree.insert(place, new, tree.pop(old))
    if comment is not None:
        tree.ca.items[new] = comment
    return True
