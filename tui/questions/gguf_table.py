"""A table of GGUF types for the chosen model: the file's size, and what the type loses."""

from typing import Final

from ftc.compiler.knowledge.exports.gguf_quality import published
from ftc.compiler.knowledge.exports.gguf_types import file_type
from ftc.compiler.plan.gguf.size import weight_bytes
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import GgufType
from ftc.tui.languages.voice import Voice
from ftc.tui.state.line import Cells

#: The types that are compared: from hardly any loss to the smallest that is advisable.
_COMPARED: Final[tuple[GgufType, ...]] = ("F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M")
#: The most that the perplexity may rise for a star, and for each further one.
_RISES: Final = (1.0, 0.12, 0.035, 0.012, 0.004)
_NAMES: Final = ("type", "size", "bits", "quality", "rise")


def tabulate_types(model: ModelFacts, voice: Voice) -> Cells:
    """Return a row for each type: size for this model, bits per weight, quality.

    The quality is the rise of the perplexity over 16 bits that llama.cpp publishes for an 8B model.
    """
    shape = shape_of(model)
    rows = []
    for kind in _COMPARED:
        rise = published(kind).perplexity_ratio - 1
        size, bits = weight_bytes(shape, kind), round(file_type(kind).bits_per_weight, 1)
        stars = "*" * sum(rise <= most for most in _RISES)
        rows.append((kind, voice.size(size), voice.show(bits), stars, f"+{voice.percent(rise)}"))
    return (tuple(voice.say(f"types.{name}") for name in _NAMES), *rows)
