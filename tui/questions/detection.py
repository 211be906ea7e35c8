"""Detects GPUs and data files at the start, and composes example messages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.resolve import hardware
from ftc.compiler.resolve.hardware import Gpu
from ftc.tui.languages.voice import Voice
from ftc.tui.state.likely_files import list_likely, read_columns

_MOST_FILES: Final = 4
_FALLBACK_GPU: Final = "RTX-4090"
_LABELS: Final = frozenset({"label", "labels", "category", "class", "intent", "target"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """The machine's GPUs and main memory, and the folder's data files, the most likely first."""

    gpus: tuple[Gpu, ...]
    ram_bytes: int
    files: tuple[str, ...]
    is_labelled: bool

    @property
    def gpu(self) -> str | None:
        """The name of the first GPU, as in the table if the table has it."""
        if not self.gpus:
            return None
        match = find_accelerator(self.gpus[0].name)
        return self.gpus[0].name if match is None else match.accelerator.name


def detect(folder: Path) -> Detection:
    """Look at the machine and at the files of a folder."""
    files = tuple(list_likely(folder))
    columns = read_columns(folder / files[0]) if files else ()
    return Detection(
        gpus=hardware.read_gpus(),
        ram_bytes=psutil.virtual_memory().total,
        files=files,
        is_labelled=any(column.casefold() in _LABELS for column in columns),
    )


def tell_detection(found: Detection, voice: Voice) -> str:
    """Return a line about the machine and one about the files."""
    if found.gpu is None:
        machine = voice.say("found.no_gpu", ram=voice.size(found.ram_bytes))
    else:
        memory = voice.size(min(gpu.memory_bytes for gpu in found.gpus))
        machine = voice.say("found.gpu", count=len(found.gpus), gpu=found.gpu, memory=memory)
    if not found.files:
        return f"{machine}\n{voice.say('found.no_files')}"
    more = len(found.files) - _MOST_FILES
    names = ", ".join(found.files[:_MOST_FILES]) + (f" +{more}" if more > 0 else "")
    return f"{machine}\n{voice.say('found.files', count=len(found.files), files=names)}"


def make_examples(found: Detection, voice: Voice) -> tuple[str, str, str]:
    """Return three example messages for the detected files: a full request, a goal, a question."""
    gpu = found.gpu or _FALLBACK_GPU
    if not found.files:
        whole = voice.say("example.no_file", gpu=gpu)
        return whole, voice.say("example.no_data"), voice.say("example.models", gpu=gpu)
    file = found.files[0]
    goal = "example.labels" if found.is_labelled else "example.answers"
    return (
        voice.say("example.whole", gpu=gpu, file=file),
        voice.say(goal, file=file),
        voice.say("example.models", gpu=gpu),
    )
