"""Keys of other tools in the middle of a message: "lora_r: 16", "--packing", "optim=adamw_8bit".

A key is one that the tables of `ftc import` know. A key of one word needs a sign or a dash.
"""

import re
from collections.abc import Iterator
from typing import Final

from ftc.compiler.importing.command_line import read_value
from ftc.spec.tools.entry import Entry
from ftc.spec.tools.tables import find_target, read_table
from ftc.spec.tools.translation import translate
from ftc.spec.values.admission import admits
from ftc.tui.understanding.fields.shorthand import ACCUMULATION
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import MOST_GPUS, as_written
from ftc.tui.understanding.values.quantities import REVISION

_NAME: Final = r"(?P<key>[a-z][a-z0-9]*(?:[_.-][a-z0-9]+)*)"
_KEY: Final = re.compile(
    rf"(?<![\w/.\\-])(?P<dash>--)?{_NAME}(?P<sign>\s*[=:]\s*|[ \t]+)"
    r"(?P<value>\"[^\"\x00]*\"|'[^'\x00]*'|\[[^\]\x00]*\]|[^\s,;()\x00]+)"
)
#: "--bf16", "load_in_4bit": a switch without a value is on.
_FLAG: Final = re.compile(
    rf"(?<![\w/.\\-])(?:--{_NAME}|(?P<snake>[a-z][a-z0-9]*(?:_[a-z0-9]+)+))"
    r"(?=\s*(?:$|[,;|)+\n\x00]|\.(?:\s|$)|--|\s(?:w/|(?:with|and|on|amb|i|con|y|en)\b)))"
)
#: The short options of sbatch: "slurm -p gpu-long -A nlp" (https://slurm.schedmd.com/sbatch.html).
_SBATCH: Final = re.compile(
    r"(?<![\w-])(?:-(?P<flag>[paqnt])[ =]?"
    r"|--(?P<long>partition|account|qos|nodes|time|gpus-per-node|ntasks-per-node)[ =])"
    r"(?P<value>[a-z0-9][\w.:-]*)(?![\w/])"
)
_SBATCH_FIELDS: Final = {
    **dict.fromkeys(("p", "partition"), "/launch/partition"),
    **dict.fromkeys(("A", "account"), "/launch/account"),
    **dict.fromkeys(("q", "qos"), "/launch/qos"),
    **dict.fromkeys(("N", "nodes"), "/hardware/nodes"),
    **dict.fromkeys(("t", "time"), "/launch/hours"),
    **dict.fromkeys(("gpus-per-node", "ntasks-per-node"), "/hardware/count"),
}
#: "--gres=gpu:4", "--gres=gpu:a100:4"; the GPU has its own reader.
_GRES: Final = re.compile(r"--gres[= ]gpu(?=:(?:[a-z][\w.-]*:)?(?P<count>\d{1,2})\b)(?::\d+)?")
#: "12:00:00", "1-12:00:00", "12:00".
_TIME: Final = re.compile(r"(?:(?P<days>\d+)-)?(?P<hours>\d+):(?P<minutes>\d\d)(?::\d\d)?")
_SLURM: Final = re.compile(r"\b(?:slurm|sbatch)\b")
#: The position of a key of one word with a colon: "3 gpus: 4090" has none.
_AT_START: Final = re.compile(r"(?:^|[,;.\n\x00])\s*$")
#: Modules have their own reader.
_MODULE: Final = re.compile(r"[\[\"']*(?:\w+_proj|qkvo?)\b")
#: What people write for true and false beside a key.
_SWITCHED: Final = {"on": True, "yes": True, "off": False, "no": False}
_KILO: Final = re.compile(r"\d+(?:\.\d+)?k")
_LENGTH: Final = "/data/max_length"
#: Names and files have their own readers.
_ELSEWHERE: Final = ("/name", "/model/id", "/data/source", "/data/columns", "/hardware/gpu")


def read_tool_keys(message: Message) -> Iterator[Change]:
    """Yield the fields for other tools' keys."""
    yield from _read_sbatch(message)
    position = 0
    while match := _KEY.search(message.folded, position):
        position = match.end("key")
        key = match["key"].replace("-", "_")
        plain = "_" not in key and not match["dash"] and match["sign"].isspace()
        colon = "_" not in key and match["sign"].strip() == ":"
        placed = not colon or _AT_START.search(message.folded[: match.start()])
        revised = REVISION.match(message.folded, match.end()) is not None
        if (
            _MODULE.match(match["value"])
            or plain
            or not placed
            or revised
            or message.denied(match.start())
        ):
            continue
        written = message.words(*match.span("value"))
        taken = list(_translated(key, written.rstrip(".").strip("\"'")))
        if taken:
            words = message.words(*match.span()).rstrip(".")
            message.cross_out(*match.span())
            position = match.end()
            for pointer, value in taken:
                yield Change(pointer=pointer, value=value, words=words)
    for match in list(_FLAG.finditer(message.folded)):
        words = message.words(*match.span())
        key = (match["key"] or match["snake"]).replace("-", "_")
        taken = [each for each in _translated(key, "true") if not isinstance(each[1], list)]
        if match["snake"] and (not taken or message.denied(*match.span())):
            continue
        message.cross_out(*match.span())
        for pointer, value in taken:
            yield Change(pointer=pointer, value=value, words=words)


def _read_sbatch(message: Message) -> Iterator[Change]:
    """Yield the fields of sbatch's options; the short ones are case-sensitive."""
    if not _SLURM.search(message.plain):
        return
    for match in list(_GRES.finditer(message.folded)):
        count = int(match["count"])
        words = message.words(match.start(), match.end("count"))
        message.cross_out(*match.span())
        yield Change(pointer="/hardware/count", value=count, words=words)
    for match in list(_SBATCH.finditer(message.folded)):
        flag = match["long"] or message.words(*match.span("flag"))
        written = message.words(*match.span("value"))
        pointer = _SBATCH_FIELDS.get(flag)
        value = _hours(written) if pointer == "/launch/hours" else read_value(written)
        if pointer is not None and admits(pointer, value):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=value, words=words)


def _hours(written: str) -> object:
    """Return the hours of a time in sbatch's format; a number alone is in minutes."""
    time = _TIME.fullmatch(written)
    if time is None:
        return int(written) / 60 if written.isdecimal() else None
    days, hours, minutes = (int(time[name] or 0) for name in ("days", "hours", "minutes"))
    return as_written(round(24 * days + hours + minutes / 60, 4))


def _translated(key: str, written: str) -> Iterator[tuple[str, object]]:
    """Yield the fields and values of one key."""
    target = find_target(read_table(""), key)
    if target[0] not in "/@":
        return
    value = _SWITCHED.get(written.lower(), read_value(written))
    if _KILO.fullmatch(written) and target != _LENGTH:
        value = int(float(written[:-1]) * 1000)  # of rows; of tokens it is 1,024
    if target == ACCUMULATION:
        if isinstance(value, int) and value > 0:
            yield ACCUMULATION, value
        return
    found = translate("", [Entry(path=key, value=value)], whole=False)
    for pointer, meant in found.fields.items():
        card = pointer == "/hardware/count" and isinstance(meant, int) and meant > MOST_GPUS
        if not (card or pointer.startswith(_ELSEWHERE)) and admits(pointer, meant):
            yield pointer, meant
