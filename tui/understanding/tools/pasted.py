"""Pasted configs: axolotl's and LLaMA-Factory's YAML, the arguments of TRL scripts, JSON, a spec.

A config is recognised by its form, and translated as `ftc import` translates a file. A value is
used if the schema of its field accepts it; the answer lists the keys without a field.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ftc.compiler.importing.command_line import is_arguments, read_command, read_value
from ftc.compiler.importing.config_text import UnreadableConfigError, read_documents
from ftc.compiler.importing.python_calls import UnreadableScriptError, read_script
from ftc.spec.normal import lengthen
from ftc.spec.schema import fields, read_schema
from ftc.spec.text.json_reader import read_json
from ftc.spec.tools.entry import Became, Entry, Imported, flatten
from ftc.spec.tools.tables import count_unknown, read_table, recognise
from ftc.spec.tools.translation import translate
from ftc.spec.values.admission import admits
from ftc.tui.understanding.fields.field_index import field_index, normalise
from ftc.tui.understanding.fields.shorthand import ACCUMULATION, read_shorthand, settle_batches
from ftc.tui.understanding.fields.stated import read_stated
from ftc.tui.understanding.models.models import read_models
from ftc.tui.understanding.reading import Change, Choice, Paste, Reading
from ftc.tui.understanding.text.message import Message

_LINE: Final = re.compile(r"\s*(?:- )?[\"']?[A-Za-z_][\w.-]*[\"']?\s*:(?:\s|$).*|\s*(?:-\s.*|#.*|)")
#: A line of a JSON object: "r": 16,
_JSON_LINE: Final = re.compile(r"\s*\"[A-Za-z_][\w.-]*\"\s*:\s*.+")
_KEY_LINE: Final = re.compile(r"^[\"']?[A-Za-z_][\w.-]*[\"']?\s*:(?:\s|$)", re.MULTILINE)
_ARGUMENT: Final = re.compile(
    r"\b(?P<key>[a-z][a-z0-9_]*)\s*=\s*(?P<value>\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[^\s,()]+)"
)
_CALL: Final = re.compile(r"(?:Config|Arguments|Trainer|from_pretrained|get_peft_model)\(")
_SBATCH: Final = re.compile(r"(?i)\b(?:sbatch|srun|salloc)\b|^[^-\n]*\bslurm\b\W*\s-")
_FEWEST_LINES: Final = 2
_BATCH: Final = "/training/global_batch"
#: The reasons why a key has no field: no table has it, or the field rejects the value.
_UNKNOWN, _VALUE = "unknown", "value"
_TYPES: Final = "/export/types"
_PART: Final = "/data/sources/"
_EPOCHS, _STEPS = "/training/epochs", "/training/max_steps"
_REFERENCES: Final = frozenset({"/model/id", "/data/source"})
_REFERENCE: Final = re.compile(r"\S+/\S+|\S+\.\w{2,8}")


def read_pasted(
    text: str, draft: Mapping[str, Any], read: Callable[[str], Reading]
) -> Reading | None:
    """Return the reading of a config, or None if the text is not one.

    `read` is the reader of messages, for flags that no tool has, such as "--quants q4,q8".
    """
    if is_submission(text):
        return None
    entries = _parse(text)
    if not entries:
        return None
    data = _as_data(text) if text.lstrip().startswith("{") or not _CALL.search(text) else None
    if data is not None and _is_spec(data):
        return _own_reading(data, text)
    tool = _find_tool([entry.path for entry in entries])
    imported = translate(tool, entries, whole=False, gpus=_gpus(draft))
    return _reading(imported, text, draft, read)


def is_submission(text: str) -> bool:
    """Return whether a text contains options of sbatch, which have their own reader."""
    return _SBATCH.search(text) is not None and not text.lstrip().startswith("{")


def _find_tool(paths: Sequence[str]) -> str:
    """Return a config's tool, or "" if the tables of all tools together know more of its keys."""
    tool = recognise(paths)
    known, all_known = (count_unknown(read_table(each), paths) for each in (tool, ""))
    return tool if known <= all_known else ""


def _reading(
    imported: Imported, text: str, draft: Mapping[str, Any], read: Callable[[str], Reading]
) -> Reading | None:
    """Return the changes in a config, and the keys without a field."""
    changes: dict[str, Change] = {}
    choices: list[Choice] = []
    left = []
    flags = is_arguments(text)
    for each in imported.keys:
        words = _words(each.key, text)
        taken = False
        unread = each.reason == _UNKNOWN or (flags and each.reason == _VALUE)
        for pointer, value in each.fields.items():
            if pointer.startswith(_PART):
                taken = "/data/sources" in imported.fields
                continue
            kept = _checked(pointer, value)
            if kept is None or imported.fields.get(pointer) != value:
                continue
            taken = True
            if pointer == _BATCH and each.kind == "derived":
                choices.append(Choice(pointer=_BATCH, values=(kept,), words=words, why="batch_of"))
            else:
                changes.setdefault(pointer, Change(pointer=pointer, value=kept, words=words))
        short = _shortened(each, words, read if flags else None) if unread and not taken else ()
        for change in short:
            changes.setdefault(change.pointer, change)
        if not (taken or short):
            left.append(each.key)
    if not changes and not text.lstrip().startswith(("{", "--")):
        return None
    paste = Paste(lines=len(text.splitlines()), left=tuple(map(_without_first, left)))
    settled = settle_batches([*changes.values(), *choices], draft)
    return Reading(
        changes=tuple(each for each in settled if isinstance(each, Change)),
        choices=tuple(each for each in settled if isinstance(each, Choice)),
        paste=paste,
    )


def _shortened(key: Became, words: str, read: Callable[[str], Reading] | None) -> Sequence[Change]:
    """Return the changes of a key that is an expert's abbreviation, such as "--ep 1".

    With `read`, a flag is also read as a message: "--quants q4,q8".
    """
    line = f"{key.key}={key.value}"
    short = [each for each in read_shorthand(Message(line)) if isinstance(each, Change)]
    if len(short) == 1 and (
        short[0].pointer == ACCUMULATION or admits(short[0].pointer, short[0].value)
    ):
        return [replace(short[0], words=words)]
    stated = list(read_stated(Message(line), {}))
    if not stated and read is not None:
        name = "gguf" if _means_types(key.key) else key.key.replace("_", " ")
        reading = read(f"{name}: {key.value}")
        stated = [] if reading.choices or reading.refused else list(reading.changes)
    return [replace(each, words=words) for each in stated]


def _means_types(key: str) -> bool:
    named = field_index().get(normalise(key), ())
    return any(each.field.pointer == _TYPES for each in named)


def _without_first(key: str) -> str:
    """Return a key in the readers' form: the first item of a list becomes the list."""
    return key.replace("[0]", "")


def _checked(pointer: str, value: Any) -> Any:
    """Return a value; the value of a model or data field only if it is a valid name."""
    if pointer not in _REFERENCES or (isinstance(value, str) and _REFERENCE.fullmatch(value)):
        return value
    return _named_model(value) if pointer == "/model/id" else None


def _own_reading(data: Mapping[str, Any], text: str) -> Reading:
    """Return the reading of a spec of ftc."""
    changes: dict[str, Change] = {}
    left = []
    for entry in flatten(data):
        taken = list(_own(entry, text))
        if not taken:
            left.append(_without_first(entry.path))
        for change in taken:
            changes[change.pointer] = change
    if {_EPOCHS, _STEPS} <= changes.keys():  # the steps override the epochs, as in the Trainer
        del changes[_EPOCHS]
        left.append("epochs")
    paste = Paste(lines=len(text.splitlines()), left=tuple(left))
    return Reading(changes=tuple(changes.values()), paste=paste)


def _own(entry: Entry, text: str) -> Iterator[Change]:
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
            yield Change(pointer=at, value=value, words=_words(entry.path, text))


def _parse(text: str) -> Sequence[Entry]:
    """Return the keys of a config in one of its forms."""
    bare = text.strip()
    if bare.startswith("{"):
        data = _as_data(bare)
        return list(flatten(data)) if data else ()
    if is_arguments(bare):
        return read_command(bare)
    if _CALL.search(bare):
        return _read_calls(bare)
    lines = bare.splitlines()
    keys = len(_KEY_LINE.findall(bare))
    if len(lines) < _FEWEST_LINES or not keys or not all(map(_LINE.fullmatch, lines)):
        return ()
    data = _as_data(bare)
    return list(flatten(data)) if data else ()


def _read_calls(text: str) -> Sequence[Entry]:
    """Return the arguments of calls; an incomplete call, which is not Python, is read by words."""
    try:
        found = read_script([text])
    except UnreadableScriptError:
        found = []
    return found or [
        Entry(path=match["key"], value=_scalar(match["value"]))
        for match in _ARGUMENT.finditer(text)
    ]


def _scalar(text: str) -> Any:
    bare = text.strip("\"'").rstrip(",")
    if bare.startswith("["):
        return [part.strip(" \"'") for part in bare[1:-1].split(",")]
    return read_value(bare)


def _as_data(text: str) -> Mapping[str, Any] | None:
    bare = text.strip()
    if all(map(_JSON_LINE.fullmatch, bare.splitlines())):  # a part of a JSON object
        bare = f"{{{bare.removesuffix(',')}}}"
    if bare.startswith("{"):
        data = read_json(bare).data
    else:
        try:
            data = next(iter(read_documents(f"{bare}\n")), None)
        except UnreadableConfigError:
            return None
    return data if isinstance(data, Mapping) and data else None


def _words(path: str, text: str) -> str:
    """Return the key and its value as written, up to the end of the line or the value."""
    key = path.rpartition(".")[2]
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


def _named_model(value: object) -> str | None:
    """Return the id of the one model that a value such as "qwen 2.5 7b" names."""
    found = list(read_models(Message(str(value)), {}))
    only = found[0] if len(found) == 1 else None
    return str(only.value) if isinstance(only, Change) else None


def _gpus(draft: Mapping[str, Any]) -> int:
    """Return the number of GPUs in the draft, by default one."""
    hardware = draft.get("hardware")
    own = hardware if isinstance(hardware, Mapping) else {}
    count, nodes = own.get("count", 1), own.get("nodes", 1)
    return count * nodes if isinstance(count, int) and isinstance(nodes, int) else 1


@cache
def _pointers() -> frozenset[str]:
    return frozenset(field.pointer for field in fields())


#: Sections that can be a value themselves.
_LEAVES: Final = frozenset({"/name", "/allow"})
