"""A table of GGUF types for the chosen model: file size and loss of quality."""

from typing import Final

from ftc.compiler.knowledge.exports.gguf_quality import published
from ftc.compiler.knowledge.exports.gguf_types import file_type
from ftc.compiler.plan.gguf.size import weight_bytes
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import GgufType
from ftc.tui.languages.voice import Voice
from ftc.tui.state.line import Cells

#: The compared types, from almost no loss to the smallest type that is advisable.
_COMPARED: Final[tuple[GgufType, ...]] = ("F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M")
#: The maximum increase of the perplexity for one star, and for each further star.
_RISES: Final = (1.0, 0.12, 0.035, 0.012, 0.004)
_NAMES: Final = ("type", "size", "bits", "quality", "rise")


def tabulate_types(model: ModelFacts, voice: Voice) -> Cells:
    """Return a row for each type: file size for this model, bits per weight, quality.

    The quality is the perplexity increase over 16 bits that llama.cpp publishes for an 8B model.
    """
    shape = shape_of(model)
    rows = []
    for kind in _COMPARED:
        rise = published(kind).perplexity_ratio - 1
        size, bits = weight_bytes(shape, kind), round(file_type(kind).bits_per_weight, 1)
        stars = "*" * sum(rise <= most for most in _RISES)
        rows.append((kind, voice.size(size), voice.show(bits), stars, f"+{voice.percent(rise)}"))
    return (tuple(voice.say(f"types.{name}") for name in _NAMES), *rows)
