"""The content of READMEs in other languages: the plan in numbers, and each decision's reason."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.locked_packages import list_pythons
from ftc.compiler.plan.translated_reasons import respell, sentence_in
from ftc.compiler.render.output.values import Markdown
from ftc.compiler.render.readme import durations
from ftc.compiler.render.source import BundleSource
from ftc.spec.message import Language

_GIB: Final = 2**30
#: The word for a decision's source.
_SOURCES: Final[Mapping[Language, Mapping[str, str]]] = {
    "ca": {"spec": "l'especificació", "derived": "el pla", "default": "valor per defecte"},
    "es": {"spec": "la especificación", "derived": "el plan", "default": "valor por defecto"},
}

#: The words for what is on, off, or not there.
_WORDS: Final[Mapping[Language, Mapping[bool | None, str]]] = {
    "ca": {True: "sí", False: "no", None: "cap"},
    "es": {True: "sí", False: "no", None: "ninguno"},
}


def localized_context(source: BundleSource) -> dict[str, Any]:
    """Return the numbers of the plan by name, and the decisions by language, as Markdown."""
    return {
        "numbers": {name: Markdown(text) for name, text in _numbers(source)},
        "reasons": {language: list(_reasons(source, language)) for language in _SOURCES},
    }


def _numbers(source: BundleSource) -> Iterable[tuple[str, str]]:
    """Yield what the plan comes to; a name or a number needs no translation."""
    facts, plan, decided = source.facts, source.plan, source.plan.decisions
    pythons = list_pythons()
    yield "oldest", pythons[0]
    yield "newest", pythons[-1]
    yield "model", facts.model.id
    yield "parameters", _count(facts.model.parameters)
    yield "trained", _count(plan.trainable_parameters)
    yield "data", ", ".join(part.source for part in facts.data.sources or (facts.data,))
    yield "rows", _count(facts.data.usable_rows)
    yield "hardware", f"{facts.hardware.nodes * facts.hardware.count}x {facts.hardware.name}"
    yield "method", source.spec.method.type
    yield "batch", _count(decided.batch.global_batch.value)
    yield "steps", _count(decided.training.total_steps.value)
    yield "time", "?" if plan.time is None else " \u2013 ".join(durations(plan.time))
    yield "memory", _size(plan.memory.device_bytes)
    capacity = plan.memory.capacity_bytes
    yield "capacity", "?" if capacity is None else _size(capacity)
    yield "disk", _size(plan.disk_bytes)
    yield "host", _size(plan.host_ram_bytes)


def _reasons(source: BundleSource, language: Language) -> Iterable[tuple[Markdown, ...]]:
    """Yield the name, value, source and reason of each decision."""
    for name, decision in source.plan.decisions.items().items():
        why, shown = sentence_in(language, decision.because), _show(decision.value, language)
        cells = (name, shown, _SOURCES[language][decision.source], why)
        yield tuple(Markdown(cell) for cell in cells)


def _show(value: Any, language: Language) -> str:
    if isinstance(value, tuple | Mapping):
        return ", ".join(map(str, value))
    if value is None or isinstance(value, bool):
        return _WORDS[language][value]
    return str(value)


def _count(number: int) -> str:
    return respell(f"{number:,}")


def _size(size_bytes: int) -> str:
    return respell(f"{size_bytes / _GIB:,.1f} GiB")
