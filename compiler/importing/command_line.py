"""Arguments of a command as keys: `trl sft --lora_r 16`, `accelerate launch train.py ...`."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ftc.spec.text.yaml_reader import as_number, kind_of
from ftc.spec.tools.entry import Entry
from ftc.spec.tools.tables import read_table

_FLAG: Final = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_PAIR: Final = re.compile(r"([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
_SCRIPT: Final = re.compile(r"(?:.*/)?(?P<name>[\w-]+)\.py")
_STARTER: Final = re.compile(
    r"(?m)^\s*(?:\$ ?|!)?(?:[A-Z_]+=\S+ )*"
    r"(?:trl|accelerate|torchrun|deepspeed|python3?|axolotl|tune|llamafactory-cli|uv run|uvx)\b"
)
_FEWEST: Final = 2


def is_command(text: str) -> bool:
    """Return whether a text starts a training program, or consists only of arguments."""
    joined = _joined(text)
    alone = joined.lstrip().startswith("--")
    return is_arguments(joined) and (alone or _STARTER.search(joined) is not None)


def is_arguments(text: str) -> bool:
    """Return whether a text has several arguments of a command."""
    return len(re.findall(r"(?:^|\s)--[A-Za-z]", text)) >= _FEWEST


def read_command(text: str) -> list[Entry]:
    """Return the arguments of the longest command, with its subcommand as `command`."""
    lines = _joined(text).splitlines()
    best = max(lines, key=lambda line: line.count(" --"), default="")
    try:
        words = shlex.split(best.lstrip("$! "), comments=True)
    except ValueError:
        words = best.split()
    return list(_entries(words))


def read_value(text: str) -> Any:
    """Return the value of an argument."""
    kind = kind_of(text)
    if kind == "boolean":
        return text.lower() == "true"
    if kind == "number":
        return as_number(text) if len(text) < 300 else text  # noqa: PLR2004 - no such number
    return None if text in ("None", "null") else text


def _joined(text: str) -> str:
    return re.sub(r"\\\r?\n", " ", text) if "\\\n" in text else _flags_joined(text)


def _flags_joined(text: str) -> str:
    """Join lines that contain only arguments, as in a list with one argument per line."""
    lines = text.strip().splitlines()
    ahead = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if len(ahead) > 1 and all(line.lstrip().startswith("--") for line in ahead[1:]):
        return " ".join(ahead)
    return text


def _entries(words: Sequence[str]) -> Iterator[Entry]:
    index, commands = 0, read_table("trl").values["@command"]
    while index < len(words):
        word = words[index]
        index += 1
        flag, pair = _FLAG.fullmatch(word), _PAIR.fullmatch(word)
        if flag is not None and word != "-m":
            values = [] if flag[2] is None else [flag[2]]
            while flag[2] is None and index < len(words) and not _FLAG.fullmatch(words[index]):
                if _SCRIPT.fullmatch(words[index]) or (values and _PAIR.fullmatch(words[index])):
                    break
                values.append(words[index])
                index += 1
            read = [read_value(value) for value in values]
            path = flag[1].replace("-", "_")
            yield Entry(path=path, value=True if not read else read[0] if len(read) == 1 else read)
        elif pair is not None and not pair[1].isupper():
            yield Entry(path=pair[1], value=read_value(pair[2]))
        elif word in commands:
            yield Entry(path="command", value=word)
        elif (script := _SCRIPT.fullmatch(word)) is not None:
            named = script["name"] in commands
            key = "command" if named else "program"
            yield Entry(path=key, value=script["name"] if named else word)
        else:
            yield Entry(path="program", value=word)
