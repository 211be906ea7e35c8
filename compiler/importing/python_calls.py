"""Reads scripts and notebooks as keys: the literal arguments of calls that set up training.

The text is parsed and never run. A name has the literal that was last assigned to it; the value of
any other expression is COMPUTED. Code under `if False:` is not read.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.spec.tools.entry import COMPUTED, Entry

#: Calls whose arguments are read; their positional arguments have these names.
_CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "from_pretrained": ("model_name",),
    "get_peft_model": ("model", "peft_config"),
    "load_dataset": ("path", "name"),
    "get_chat_template": (),
    "train_on_responses_only": (),
    "save_pretrained_gguf": ("directory", "tokenizer", "quantization_method"),
    "save_pretrained_merged": ("directory",),
}
_CLASS: Final = re.compile(r"\w*(?:Config|Arguments|Trainer)")
_TRAINER: Final = re.compile(r"\w*Trainer")
_MODELS: Final = re.compile(r"Fast\w*(?:Model|Transformer)|AutoModel\w*")
_ADAPTER: Final = "peft_config"
_PLUMBING: Final = frozenset({"model", "tokenizer", "processing_class", "args", "data_collator"})
_MAGIC: Final = re.compile(r"(\s*)[%!?]")
_ASSIGNED_MAGIC: Final = re.compile(r"(\s*\w+ *= *)[%!].*")
_DEEPEST: Final = 40


class UnreadableScriptError(ValueError):
    """The text is not Python; `line` is the place of the error."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def read_notebook(text: str) -> list[str] | None:
    """Return the code of a notebook's cells, or None if the text is not a notebook."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, Mapping) else None
    if not isinstance(cells, list):
        return None
    sources = [
        cell.get("source", "")
        for cell in cells
        if isinstance(cell, Mapping) and cell.get("cell_type") == "code"
    ]
    texts = ("".join(map(str, each)) if isinstance(each, list) else str(each) for each in sources)
    return list(map(blank_magics, texts))


def blank_magics(code: str) -> str:
    """Replace notebook magics and shell commands in a cell by `pass`."""
    if re.match(r"\s*%%(?!capture|time)", code):
        return ""
    lines, continued = [], False
    for line in code.splitlines():
        begins = _MAGIC.match(line) is not None
        if continued or not begins:
            lines.append("" if continued else _ASSIGNED_MAGIC.sub(r"\1None", line))
        else:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}pass")
        continued = (continued or begins) and line.rstrip().endswith("\\")
    return "\n".join(lines)


def read_script(cells: Sequence[str]) -> list[Entry]:
    """Return the keys of the calls in a script, or in a notebook's cells.

    A cell that is not Python becomes a key with its number; raises UnreadableScriptError if no cell
    is Python.
    """
    script, entries, broken = _Script(), list[Entry](), list[UnreadableScriptError]()
    for number, cell in enumerate(cells, start=1):
        try:
            entries += script.read(ast.parse(cell).body)
            continue
        except SyntaxError as error:
            broken.append(UnreadableScriptError(error.msg, error.lineno or 1))
        except (ValueError, RecursionError, MemoryError):
            broken.append(UnreadableScriptError("it is no Python text", 1))
        entries.append(Entry(path=f"cell {number}", value=str(broken[-1])))
    if broken and len(broken) == len(cells):
        raise broken[0]
    return entries


class _Script:
    """Follows statements in order, so that a name has the value last assigned to it."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.classes: dict[str, str] = {}
        self.seen: set[str] = set()

    def read(self, body: Sequence[ast.stmt]) -> Iterator[Entry]:
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from self.loaded(statement)
                continue
            if isinstance(statement, ast.ClassDef):
                continue
            if isinstance(statement, ast.If):
                condition = self.value(statement.test)
                yield from self.read(statement.body if condition else ())
                yield from self.read(statement.orelse if condition is not True else ())
            elif isinstance(statement, ast.For | ast.While | ast.With | ast.Try):
                yield from self.read(statement.body)
            else:
                yield from self.calls(statement)
                self.assign(statement)

    def assign(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, self.value(statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], self.value(statement.value)
        else:
            return
        for target in targets:
            if isinstance(target, ast.Name):
                self.names[target.id] = value
                self.classes[target.id] = self.class_of(statement.value)
            elif isinstance(target, ast.Tuple):
                self.names.update(
                    (each.id, COMPUTED) for each in target.elts if isinstance(each, ast.Name)
                )

    def calls(self, statement: ast.stmt) -> Iterator[Entry]:
        found = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
        for call in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
            yield from self.call(call)

    def loaded(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Entry]:
        """Yield the data sets that a function loads, with unknown arguments."""
        outer = self.names
        self.names = {**outer, **{each.arg: COMPUTED for each in function.args.args}}
        for statement in function.body:
            for entry in self.calls(statement):
                if "load_dataset." in entry.path:
                    yield entry
        self.names = outer

    def call(self, call: ast.Call) -> Iterator[Entry]:
        parts = _dotted(call.func).split(".")
        name = parts[-1]
        owner = parts[-2] if len(parts) > 1 else ""
        if name == "from_pretrained" and not _MODELS.fullmatch(owner):
            return
        if name not in _CALLS and not _CLASS.fullmatch(name):
            return
        if name == "from_pretrained":
            yield Entry(path=_family(owner), value=owner)
        if name in ("get_peft_model", "LoraConfig"):
            yield Entry(path=name, value=True)
        if _TRAINER.fullmatch(name):
            yield Entry(path="trainer", value=name)
        repeated = name in self.seen and name in ("from_pretrained", "load_dataset")
        self.seen.add(name)
        head = f"later.{name}" if repeated else name
        positional = zip(_CALLS.get(name, ()), call.args, strict=False)
        named = ((each.arg or "**", each.value) for each in call.keywords)
        for key, node in (*positional, *named):
            if key in _PLUMBING and not isinstance(node, ast.Constant):
                continue
            value = self.value(node)
            if key == _ADAPTER and value is COMPUTED:
                value = self.class_of(node) or value
            yield Entry(path=f"{head}.{key}", value=value)

    def class_of(self, node: ast.expr | None) -> str:
        """Return the class of a value, or "" if it is unknown."""
        if isinstance(node, ast.Name):
            return self.classes.get(node.id, "")
        if isinstance(node, ast.IfExp):
            return self.class_of(node.body) or self.class_of(node.orelse)
        name = _dotted(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        return name if _CLASS.fullmatch(name) else ""

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """Return the value of a literal, or of an expression of literals and names only."""
        if depth > _DEEPEST:
            return COMPUTED
        if isinstance(node, ast.Constant):
            plain = node.value is None or isinstance(node.value, str | int | float)
            return node.value if plain else COMPUTED
        if isinstance(node, ast.Name):
            return self.names.get(node.id, COMPUTED)
        if isinstance(node, ast.List | ast.Tuple):
            items = [self.value(item, depth + 1) for item in node.elts]
            return COMPUTED if COMPUTED in items else items
        if isinstance(node, ast.UnaryOp | ast.BinOp):
            return self.arithmetic(node, depth)
        if isinstance(node, ast.Attribute) and _dotted(node).startswith("torch."):
            return _dotted(node).removeprefix("torch.")
        if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
            pairs = zip(node.keys, node.values, strict=True)
            return {
                str(ast.literal_eval(key)): self.value(inner, depth + 1)
                for key, inner in pairs
                if key
            }
        return COMPUTED

    def arithmetic(self, node: ast.UnaryOp | ast.BinOp, depth: int) -> Any:
        if isinstance(node, ast.UnaryOp):
            inner = self.value(node.operand, depth + 1)
            plain = isinstance(inner, int | float)
            if isinstance(node.op, ast.Not) and inner is not COMPUTED:
                return not inner
            return -inner if plain and isinstance(node.op, ast.USub) else COMPUTED
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            return COMPUTED
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        return COMPUTED


def _family(owner: str) -> str:
    return owner if owner in ("FastVisionModel", "FastSentenceTransformer") else "fast_model"


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))
