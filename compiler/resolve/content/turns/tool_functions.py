"""Tools: the functions of a user's file that the model may call. The file is parsed, never run.

Its schemas are those of transformers 5.23's `get_json_schema` (utils/chat_template_utils.py), which
needs a type hint and a description of every argument; prepare.py renders prompts with them.
"""

import ast
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.content.rewards import RewardFileError, parse_python, read_functions
from ftc.compiler.resolve.detail_facts import ToolFacts, ToolFault
from ftc.compiler.resolve.local_paths import at
from ftc.spec.sections import Objective

_NAMES: Final[Mapping[str, Mapping[str, Any]]] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "list": {"type": "array"},
    "List": {"type": "array"},
    "tuple": {"type": "array"},
    "Tuple": {"type": "array"},
    "dict": {"type": "object"},
    "Dict": {"type": "object"},
    "Any": {},
}
_SCALARS: Final[Mapping[type, str]] = {
    int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null",
}  # fmt: skip
_ABOUT: Final = re.compile(r"^(.*?)[\n\s]*(Args:|Returns:|Raises:|\Z)", re.DOTALL)
_ARGUMENTS: Final = re.compile(r"\n\s*Args:\n(.*?)[\n\s]*(Returns:|Raises:|\Z)", re.DOTALL)
_RETURNED: Final = re.compile(r"\n\s*Returns:\n\s*(.*?)[\n\s]*(Raises:|\Z)", re.DOTALL)
_ARGUMENT: Final = re.compile(
    r"(?:^|\n)([ \t]*)(\w+):\s*(.*?)\s*(?=\n(?!\1[ \t])[ \t]*\w+:|\Z)", re.DOTALL
)
_CHOICES: Final = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)
_PAIR: Final = 2


class _FaultError(ValueError):
    """A function cannot be a tool; `key` is that of a sentence, `values` are its values."""

    def __init__(self, key: str, **values: str) -> None:
        super().__init__(key)
        self.key = key
        self.values = values


def find_tools(objective: Objective, *, folder: Path) -> ToolFacts | None:
    """Return what the file of tools holds; None where the spec names none."""
    written = objective.tools
    if written is None:
        return None
    try:
        tree = parse_python(read_functions(at(written, folder=folder)))
    except RewardFileError as error:
        return ToolFacts(faults=(ToolFault(key=error.key, values=error.values),))
    schemas: dict[str, str] = {}
    faults: list[ToolFault] = []
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        if node.name in schemas:
            faults.append(ToolFault(key="tool.twice", values={"name": node.name}))
            continue
        try:
            schemas[node.name] = json.dumps(_describe(node), ensure_ascii=False)
        except _FaultError as error:
            faults.append(ToolFault(key=error.key, values={"name": node.name, **error.values}))
    if not schemas and not faults:
        faults.append(ToolFault(key="tool.none", values={"file": Path(written).name}))
    return ToolFacts(names=tuple(schemas), schemas=tuple(schemas.values()), faults=tuple(faults))


def _describe(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Any]:
    """Return the schema of a function; that of what it returns only where there is one."""
    if isinstance(node, ast.AsyncFunctionDef):
        raise _FaultError("tool.async")
    if node.decorator_list:
        raise _FaultError("tool.decorated")
    if node.args.posonlyargs or node.args.vararg or node.args.kwarg:
        raise _FaultError("tool.starred")
    written = ast.get_docstring(node, clean=False)
    text = inspect.cleandoc(written or "").strip()
    if not text:
        raise _FaultError("tool.no_docstring")
    about, described, returned = _read_docstring(text)
    properties, required = {}, []
    for argument, has_default in _list_arguments(node.args):
        name = argument.arg
        if argument.annotation is None:
            raise _FaultError("tool.no_hint", argument=name)
        if name not in described:
            raise _FaultError("tool.no_description", argument=name)
        hint = ast.unparse(argument.annotation)
        try:
            schema = _read_hint(argument.annotation)
        except (ValueError, SyntaxError) as error:
            raise _FaultError("tool.hint", argument=name, hint=hint) from error
        properties[name] = schema | _read_description(name, described[name])
        if not has_default:
            required.append(name)
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    function = {"name": node.name, "description": about, "parameters": parameters}
    function |= _read_return(node, returned)
    return {"type": "function", "function": function}


def _list_arguments(signature: ast.arguments) -> Iterator[tuple[ast.arg, bool]]:
    """Yield each argument and whether it has a default."""
    first = len(signature.args) - len(signature.defaults)
    for place, argument in enumerate(signature.args):
        yield argument, place >= first
    for argument, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True):
        yield argument, default is not None


def _read_return(node: ast.FunctionDef, text: str | None) -> dict[str, Any]:
    """Return the schema of what a function returns, under its key."""
    if node.returns is None:
        return {}
    try:
        schema = _read_hint(node.returns)
    except (ValueError, SyntaxError):
        return {}
    return {"return": schema | ({} if text is None else {"description": text})}


def _read_docstring(text: str) -> tuple[str, dict[str, str], str | None]:
    """Return what Google's format says of a function, of its arguments and of what it returns."""
    about, arguments, returned = (
        pattern.search(text) for pattern in (_ABOUT, _ARGUMENTS, _RETURNED)
    )
    lines = arguments[1].split("\n") if arguments else []
    block = "\n".join(line for line in lines if line.strip())
    found = {
        name: re.sub(r"\s*\n+\s*", " ", said.strip()) for _, name, said in _ARGUMENT.findall(block)
    }
    return about[1].strip() if about else "", found, returned[1].strip() if returned else None


def _read_description(name: str, text: str) -> dict[str, Any]:
    """Return an argument's description, and the choices that may stand at its end."""
    found = _CHOICES.search(text)
    if found is None:
        return {"description": text}
    try:
        choices = json.loads(found[1])
        enum = [choice.strip() if isinstance(choice, str) else choice for choice in choices]
    except (ValueError, TypeError, RecursionError) as error:
        raise _FaultError("tool.choices", argument=name) from error
    return {"enum": enum, "description": text[: found.start()].strip()}


def _read_hint(node: ast.expr) -> dict[str, Any]:
    """Return the JSON schema of a type hint; ValueError or SyntaxError for one that has none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        node = ast.parse(node.value, mode="eval").body
    if isinstance(node, ast.Constant) and node.value is None:
        return dict(_NAMES["None"])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _unite(_list_union(node))
    if isinstance(node, ast.Subscript):
        inner = node.slice
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        return _read_generic(_name_of(node.value), parts)
    return dict(_NAMES[_known(_name_of(node))])


def _known(name: str) -> str:
    if name not in _NAMES:
        raise ValueError(name)
    return name


def _read_generic(name: str, parts: list[ast.expr]) -> dict[str, Any]:
    """Return the schema of a hint with types in brackets."""
    if name == "Optional":
        return _unite([*parts, ast.Constant(value=None)])
    if name == "Union":
        return _unite(parts)
    if name == "Literal":
        values = [ast.literal_eval(part) for part in parts]
        kinds = list(dict.fromkeys(_SCALARS.get(type(value), "") for value in values))
        if "" in kinds:
            raise ValueError(name)
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}
    if name in ("list", "List"):
        return {"type": "array", "items": _read_hint(parts[0])}
    if name in ("dict", "Dict") and len(parts) == _PAIR:
        return {"type": "object", "additionalProperties": _read_hint(parts[1])}
    if name in ("tuple", "Tuple") and len(parts) > 1:
        return {"type": "array", "prefixItems": [_read_hint(part) for part in parts]}
    raise ValueError(name)


def _unite(parts: list[ast.expr]) -> dict[str, Any]:
    """Return the schema of any of several types; None among them makes it nullable."""
    empty = [part for part in parts if isinstance(part, ast.Constant) and part.value is None]
    kinds = [_read_hint(part) for part in parts if part not in empty]
    if len(kinds) == 1:
        found = kinds[0]
    elif all(kind.keys() == {"type"} and isinstance(kind["type"], str) for kind in kinds):
        names = sorted({kind["type"] for kind in kinds})
        found = {"type": names[0] if len(names) == 1 else names}
    else:
        found = {"anyOf": kinds}
    return found | ({"nullable": True} if empty else {})


def _list_union(node: ast.expr) -> list[ast.expr]:
    """Return the types of `a | b | c` in their order."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_list_union(node.left), *_list_union(node.right)]
    return [node]


def _name_of(node: ast.expr) -> str:
    """Return the name of a type, without the module that it is read from."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    raise ValueError(ast.unparse(node))
