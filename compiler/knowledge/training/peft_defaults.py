"""The modules that PEFT adapts if a config names none, by model type."""

from collections.abc import Sequence
from functools import cache

from ftc.compiler.knowledge.tables import read_table
from ftc.compiler.knowledge.well_known.models import find_model


def find_peft_targets(model: str) -> Sequence[str] | None:
    """Return the names of the modules, or None if the model or a list for its type is unknown."""
    known = find_model(model)
    if known is None:
        return None
    found = _targets().get(str(known.config.get("model_type")))
    return found if isinstance(found, list) else None


@cache
def _targets() -> dict[str, list[str] | str]:
    return dict(read_table(__name__, "peft_defaults.json"))
