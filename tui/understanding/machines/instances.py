"""Reads names of cloud instances: `g5.12xlarge`, `a2-highgpu-1g`, `Standard_NC24ads_A100_v4`.

`instances.json` has the GPU and the number of GPUs of each. Source: the providers' pages of
instance types (AWS, Google Cloud, Azure, Lambda).
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import read_number
from ftc.tui.understanding.text.word_tables import word_table

_PROVIDER: Final = r"(?:aws|amazon|ec2|sagemaker|gcp|google cloud|azure|lambda(?: labs)?)"
_BEFORE: Final = (
    rf"(?:(?P<nodes>{NUMBER}|\d+)\s*(?:[x\u00d7]\s*)?(?:nodes?|nodos?|instances?|instancies"
    rf"|instancias?)?\s*(?:of |de |d')?)?(?:{_PROVIDER}\s+)?(?:standard[_ ]|ml\.)?"
)
_AFTER: Final = rf"(?:\s+(?:on|in|at|from|a|en|de|d')\s*(?:the )?{_PROVIDER}\b)?"
#: The form of an instance's name, even of one that is not in the table.
_ANY: Final = (
    r"(?:(?:g\d|p\d|inf|trn)[a-z0-9-]*\.(?:\d*xlarge|metal)|[ag]\d-[a-z]+-\d+g?"
    r"|n[cdv]\d+[a-z]*(?:_[a-z]+\d+)?_v\d|gpu_\d+x_[a-z0-9_]+)"
)
_INSTANCE: Final = re.compile(rf"(?<![\w.-]){_BEFORE}(?P<name>{_ANY})(?![\w-]){_AFTER}")
_MOST_NODES: Final = 1024


def read_instances(message: Message) -> Iterator[Change | Choice]:
    """Yield the GPU of the named instance, the number of GPUs, and the number of instances.

    For an instance that is not in the table, ftc asks.
    """
    for match in message.take(_INSTANCE):
        words = message.words(*match.span())
        if message.denied(match.start()):
            continue
        found = _find(match["name"])
        if found is None:
            yield Choice(pointer="/hardware/gpu", values=(), words=words)
            continue
        gpu, count = found
        yield Change(pointer="/hardware/gpu", value=gpu, words=words)
        yield Change(pointer="/hardware/count", value=count, words=words)
        nodes = int(read_number(match["nodes"]) or 1) if match["nodes"] else 1
        if 1 < nodes <= _MOST_NODES:
            yield Change(pointer="/hardware/nodes", value=nodes, words=words)


def _find(name: str) -> tuple[str, int] | None:
    """Return the GPU of an instance and the number of GPUs, or None if it is not in the table."""
    for pattern, gpu, count in _table():
        if match := pattern.fullmatch(name):
            return gpu, count or int(match["gpus"])
    return None


@cache
def _table() -> tuple[tuple[re.Pattern[str], str, int | None], ...]:
    return tuple(
        (re.compile(each["pattern"]), each["gpu"], each.get("count"))
        for each in word_table("instances")
    )
