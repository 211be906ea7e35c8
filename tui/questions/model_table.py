"""A table of the offered models: quality, speed, licence, languages and memory."""

from collections.abc import Sequence
from typing import Final

from ftc.compiler.knowledge.well_known.models import Model, find_model
from ftc.tui.languages.voice import Voice
from ftc.tui.questions.dialogue import Option
from ftc.tui.state.line import Cells

_BILLION: Final = 1e9
#: The minimum number of parameters for each class of answer quality, the best class last.
_CLASSES: Final = (0, 1_000_000_000, 3_500_000_000, 7_000_000_000, 20_000_000_000)
_MOST_LANGUAGES: Final = 4
_OWN: Final = ("en", "es", "ca")


def tabulate(options: Sequence[Option], voice: Voice) -> Cells:
    """Return a table of the answers that name a known model; empty if none does."""
    found = [
        (number, option, model)
        for number, option in enumerate(options, start=1)
        if any(change.pointer == "/model/id" for change in option.changes)
        and (model := find_model(option.label)) is not None
    ]
    if not found:
        return ()
    names = ("size", "quality", "speed", "licence", "languages", "memory")
    head = ("", *(voice.say(f"models.{name}") for name in names))
    rows = ((str(number), *_cells(option, model, voice)) for number, option, model in found)
    return (head, *rows)


def _cells(option: Option, model: Model, voice: Voice) -> tuple[str, ...]:
    parameters = model.shape.parameters
    plan = option.plan
    time = "" if plan is None or plan.time_seconds is None else voice.duration(plan.time_seconds)
    memory = "" if plan is None else voice.size(plan.memory.device_bytes)
    return (
        _size(parameters, voice),
        "*" * sum(parameters >= least for least in _CLASSES),
        time or "?",
        model.licence + (" (!)" if model.gated else ""),
        _languages(model),
        memory or "?",
    )


def _languages(model: Model) -> str:
    """Return language codes, the assistant's languages first, and the number of the rest."""
    codes = sorted(model.languages, key=lambda code: (code not in _OWN, _rank(code), code))
    shown = ", ".join(codes[:_MOST_LANGUAGES])
    return shown + (f" +{len(codes) - _MOST_LANGUAGES}" if len(codes) > _MOST_LANGUAGES else "")


def _rank(code: str) -> int:
    return _OWN.index(code) if code in _OWN else len(_OWN)


def _size(parameters: int, voice: Voice) -> str:
    if parameters < _BILLION / 10:
        return f"{round(parameters / 1e6)}M"
    return f"{voice.show(round(parameters / _BILLION, 1))}B"
