"""Pasted configs: axolotl's and LLaMA-Factory's YAML, the arguments of TRL scripts, JSON, a spec.

A config is recognised by its form. Each of its keys is taken over if ftc has such a field and the
field's schema admits the value; the others are left, and named in the answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.spec.json_reader import read_json
from ftc.spec.normal import lengthen
from ftc.spec.schema import fields, read_schema
from ftc.spec.yaml_reader import read_yaml
from ftc.spec.admission import admits
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.models import read_models
from ftc.tui.understanding.numbers import as_written
from ftc.tui.understanding.reading import Change, Choice, Paste, Reading

_FOREIGN: Final[Mapping[str, Any]] = json.loads(
    (files("ftc.tui.understanding") / "foreign.json").read_text(encoding="utf-8")
)
_LINE: Final = re.compile(r"\s*(?:- )?[\"']?[A-Za-z_][\w.-]*[\"']?\s*:(?:\s|$).*|\s*(?:-\s.*|#.*|)")
_KEY_LINE: Final = re.compile(r"^[\"']?[A-Za-z_][\w.-]*[\"']?\s*:(?:\s|$)", re.MULTILINE)
_FLAG: Final = re.compile(r"--(?P<key>[A-Za-z][\w-]*)(?:[= ]+(?P<value>(?!--)[^\s\\]+))?")
_ARGUMENT: Final = re.compile(
    r"\b(?P<key>[a-z][a-z0-9_]*)\s*=\s*(?P<value>\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[^\s,()]+)"
)
_CALL: Final = re.compile(r"\w*(?:Config|Arguments|Trainer|from_pretrained)\(")
_FEWEST_LINES: Final = 2
_ACCUMULATION: Final = "gradient_accumulation_steps"
_MICRO, _BATCH = "/training/micro_batch", "/training/global_batch"
_EPOCHS, _STEPS = "/training/epochs", "/training/max_steps"
_REFERENCES: Final = frozenset({"/model/id", "/data/source"})
_REFERENCE: Final = re.compile(r"\S+/\S+|\S+\.\w{2,8}")
_DEEPSPEED: Final = re.compile(r"(?i)zero[_-]?(?:stage)?[_-]?([123])")
_FSDP: Final = re.compile(r"(?i)full_shard|fsdp|true|auto_wrap")
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A key of a config with its path, its value, and the words that hold both."""

    path: str
    value: Any
    words: str

    @property
    def key(self) -> str:
        return self.path.rpartition(".")[2]


def read_pasted(text: str, draft: Mapping[str, Any]) -> Reading | None:
    """Return the reading of a config, or None if the text is not one."""
    data = _parse(text)
    if data is None:
        return None
    changes: dict[str, Change] = {}
    left = []
    own = _is_spec(data)
    for entry in _entries(data, text):
        taken = list(_own(entry) if own else _translated(entry))
        if not taken:
            left.append(entry)
        for change in taken:
            if change.pointer != "/method/type" or change.pointer not in changes or _is_q(change):
                changes[change.pointer] = change
    if not changes and not text.lstrip().startswith(("{", "--")):
        return None
    if {_EPOCHS, _STEPS} <= changes.keys():  # the steps override the epochs, as in the Trainer
        left.append(_Entry(path="epochs", value=None, words=changes.pop(_EPOCHS).words))
    choices = tuple(_batch(left, changes, draft))
    asked = {choice.words for choice in choices}
    names = tuple(each.path for each in left if each.words not in asked)
    paste = Paste(lines=len(text.splitlines()), left=names)
    return Reading(changes=tuple(changes.values()), choices=choices, paste=paste)


def _is_q(change: Change) -> bool:
    """Return whether a method is the more specific of two, as `load_in_4bit` beside `lora`."""
    return bool(change.value == "qlora")


def _parse(text: str) -> Mapping[str, Any] | None:
    """Return the keys and values of a config in one of its forms."""
    bare = text.strip()
    if bare.startswith("{"):
        return _mapping(read_json(bare))
    flags = {match["key"].replace("-", "_"): match["value"] for match in _FLAG.finditer(bare)}
    if len(flags) >= _FEWEST_LINES:
        return {key: _scalar(value) if value is not None else True for key, value in flags.items()}
    if _CALL.search(bare):
        return {match["key"]: _scalar(match["value"]) for match in _ARGUMENT.finditer(bare)}
    lines = bare.splitlines()
    keys = len(_KEY_LINE.findall(bare))
    if len(lines) < _FEWEST_LINES or not keys or not all(map(_LINE.fullmatch, lines)):
        return None
    return _mapping(read_yaml(f"{bare}\n"))


def _mapping(reading: Any) -> Mapping[str, Any] | None:
    return reading.data if isinstance(reading.data, Mapping) and reading.data else None


def _scalar(text: str) -> Any:
    bare = text.strip("\"'").rstrip(",")
    if bare.lower() in ("true", "false", "none", "null"):
        return {"true": True, "false": False}.get(bare.lower())
    try:
        return as_written(float(bare))
    except (ValueError, OverflowError):
        return [part.strip(" \"'") for part in bare[1:-1].split(",")] if bare[:1] == "[" else bare


def _entries(data: Mapping[str, Any], text: str, above: str = "") -> Iterator[_Entry]:
    """Yield the leaves; the first element of a list of mappings stands for the list."""
    for key, value in data.items():
        path = f"{above}.{key}" if above else str(key)
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, Mapping):
            yield from _entries(inner, text, path)
        else:
            yield _Entry(path=path, value=value, words=_words(str(key), text))


def _words(key: str, text: str) -> str:
    """Return the key and its value as written, up to the end of the line or of the value."""
    name = re.escape(key).replace("_", "[_-]")
    found = re.search(
        rf"(?<!\w)[\"']?{name}[\"']?\s*(?:[:=]|\s)\s*[^\n{{}}]*?(?=[,}}\n]|\s--|$)", text
    )
    return found[0] if found else key


def _is_spec(data: Mapping[str, Any]) -> bool:
    """Return whether a config is a spec of ftc: sections with the schema's own fields."""
    own = set(read_schema()["properties"])
    inner = any(
        f"/{key}/{name}" in _pointers()
        for key, value in data.items()
        if isinstance(value, Mapping)
        for name in value
    )
    return set(data) <= own and (inner or {"model", "data"} <= set(data))


def _own(entry: _Entry) -> Iterator[Change]:
    """Yield the fields of a spec's entry, in the long form."""
    pointer = "/" + entry.path.replace(".", "/")
    section = entry.path.partition(".")[0]
    if entry.path == section and pointer not in _LEAVES:
        long = lengthen(section, entry.value)
        items = long.items() if isinstance(long, Mapping) else ()
        pairs = [(f"/{section}/{key}", value) for key, value in items]
    else:
        pairs = [(pointer, entry.value)]
    for at, value in pairs:
        if at in _pointers() and value is not None and admits(at, value):
            yield Change(pointer=at, value=value, words=entry.words)


def _translated(entry: _Entry) -> Iterator[Change]:
    """Yield the field that another tool's key means, with its value in ftc's terms."""
    keys = _FOREIGN["keys"]
    pointer = keys.get(entry.path) or keys.get(entry.key)
    pointer = _aliases().get(entry.key, "") if pointer is None else pointer
    if not pointer or entry.value is None:
        return
    value = _value(pointer, entry)
    if value is None or not admits(pointer, value):
        return
    yield Change(pointer=pointer, value=value, words=entry.words)
    if entry.key == "load_in_8bit":
        yield Change(pointer="/method/type", value="qlora", words=entry.words)
    if entry.key == "wandb_project":
        yield Change(pointer="/tracking/type", value="wandb", words=entry.words)


def _value(pointer: str, entry: _Entry) -> Any:
    """Return the value in ftc's terms, or None if it has none."""
    value = entry.value
    if entry.key in _LISTED and isinstance(value, list) and len(value) == 1:
        value = value[0]
    said = json.dumps(value) if isinstance(value, bool) else str(value)
    if pointer == "/distribution/strategy":
        found = _DEEPSPEED.search(said)
        sharded = entry.key == "fsdp" and value and _FSDP.search(said)
        return f"zero{found[1]}" if found else "fsdp" if sharded else None
    table = _FOREIGN["values"].get(pointer, {})
    for key in (f"{entry.key}={said}", said):
        if key in table:
            return table[key]
    if pointer == "/training/precision" and isinstance(value, bool):
        return None
    if pointer in _REFERENCES and not (isinstance(value, str) and _REFERENCE.fullmatch(value)):
        return _named_model(value) if pointer == "/model/id" else None
    if pointer == "/name":
        return value if isinstance(value, str) and _NAME.fullmatch(value) else None
    if pointer == "/data/splits/validation" and isinstance(value, int | float) and value >= 1:
        return value / 100 if entry.key.endswith("percentage") else None
    return value


def _named_model(value: object) -> str | None:
    """Return the id of the one model that a value such as "qwen 2.5 7b" names."""
    found = list(read_models(Message(str(value)), {}))
    only = found[0] if len(found) == 1 else None
    return str(only.value) if isinstance(only, Change) else None


def _batch(
    left: list[_Entry], changes: Mapping[str, Change], draft: Mapping[str, Any]
) -> Iterator[Choice]:
    """Yield a question about the global batch, which accumulation and micro-batch lead to."""
    steps = next((each for each in left if each.key == _ACCUMULATION), None)
    micro = changes.get(_MICRO)
    if steps is None or micro is None or _BATCH in changes or not isinstance(steps.value, int):
        return
    hardware = draft.get("hardware")
    own = hardware if isinstance(hardware, Mapping) else {}
    count, nodes = own.get("count", 1), own.get("nodes", 1)
    world = count * nodes if isinstance(count, int) and isinstance(nodes, int) else 1
    batch = micro.value * steps.value * world
    yield Choice(pointer=_BATCH, values=(batch,), words=steps.words, why="batch_of")


@cache
def _pointers() -> frozenset[str]:
    return frozenset(field.pointer for field in fields())


@cache
def _aliases() -> Mapping[str, str]:
    """Return the pointer of each of the schema's names that only one field has."""
    named: dict[str, set[str]] = {}
    for field in fields():
        if field.pointer.count("/") > 1:
            for name in (field.pointer.rpartition("/")[2], *field.schema.get("x-aliases", ())):
                named.setdefault(name, set()).add(field.pointer)
    return {name: min(found) for name, found in named.items() if len(found) == 1}


#: Keys that hold one value, alone or as the only one of a list.
_LISTED: Final = frozenset({"report_to", "data_files", "train_file"})
#: Sections that hold a value themselves.
_LEAVES: Final = frozenset({"/name", "/allow"})
