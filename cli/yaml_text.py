"""JSON patches on YAML text: comments, quotes and the order of keys stay."""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
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
        reading = read_yaml(repaired)
        if reading.data == wanted:
            return (repaired if not reading.findings else _write_out(repaired, wanted)), True
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


def _write_out(text: str, wanted: Mapping[str, Any]) -> str:
    """Return the text without anchors, aliases, tags and keys that occur twice.

    Raises PatchError where that is not the same.
    """
    editor = YAML()
    editor.preserve_quotes = True
    editor.allow_duplicate_keys = True
    editor.width = _WIDEST
    dash = _indent(_DASHED, text, 0)
    editor.indent(mapping=_indent(_NESTED, text, 2), sequence=dash + 2, offset=dash)
    written = StringIO()
    try:
        editor.dump(_plain(editor.load(text), wanted), written)
    except (YAMLError, TypeError, KeyError, ValueError) as error:
        raise PatchError("the YAML cannot be edited in place") from error
    reading = read_yaml(written.getvalue())
    if reading.findings or reading.data != wanted:
        raise PatchError("the YAML cannot be edited in place")
    return written.getvalue()


def _plain(node: Any, wanted: Any) -> Any:
    """Return a node with these values, its comments and its layout, but no anchors and tags."""
    written: CommentedMap | CommentedSeq
    if isinstance(node, CommentedMap) and isinstance(wanted, Mapping):
        written = CommentedMap({key: _plain(node.get(key), value) for key, value in wanted.items()})
    elif isinstance(node, CommentedSeq) and isinstance(wanted, list):
        pairs = zip(node, wanted, strict=True)
        written = CommentedSeq([_plain(each, value) for each, value in pairs])
    else:
        anchor = getattr(node, "anchor", None)
        is_plain = anchor is None or anchor.value is None
        return node if is_plain and type(node) is not TaggedScalar and node == wanted else wanted
    written.ca.comment, written.ca.end = node.ca.comment, node.ca.end
    written.ca.items.update(node.ca.items)
    if node.fa.flow_style():
        written.fa.set_flow_style()
    return written


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
