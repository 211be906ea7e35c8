"""Which of the spec's new tokens no row holds."""

from collections.abc import Sequence

from ftc.compiler.resolve.rows.example import Example
from ftc.spec.sections import Spec


def find_absent_tokens(spec: Spec, examples: Sequence[Example]) -> tuple[str, ...]:
    """Return the tokens of `model.new_tokens` that neither a row nor the system message holds."""
    system = spec.data.system or ""
    absent = [token for token in spec.model.new_tokens if token not in system]
    for example in examples:
        if not absent:
            break
        absent = [token for token in absent if not any(token in text for _, text in example.turns)]
    return tuple(absent)
