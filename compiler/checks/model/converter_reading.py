"""Finds how the converter will read the tokenizer of a spec that exports to GGUF."""

from dataclasses import dataclass

from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.exports.converter import Converter, Path, find_converter
from ftc.compiler.resolve.facts import ConversionFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the converter's class will read the tokenizer, and what it will find."""

    converter: Converter
    path: Path
    found: ConversionFacts


def find_reading(case: Case) -> Reading | None:
    """Return how the tokenizer will be read; None where nothing is exported or too little known."""
    found = case.tokenizer.conversion
    converter = find_converter(case.model.converted)
    if not case.spec.export.types or found is None or converter is None:
        return None
    path = converter.path(
        sentencepiece=case.tokenizer.has_sentencepiece_model,
        byte_fallback=found.byte_fallback,
        name=found.tokenizer_class,
    )
    return Reading(converter=converter, path=path, found=found)
