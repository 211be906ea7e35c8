"""Models, by name, that reason before each answer by default."""

import re
from typing import Final

#: Names of models whose cards say so. For the small Qwen3.5, the template decides.
_NAMES: Final = re.compile(
    r"thinking|-think\b|reasoning|deepseek-r1|qwq|magistral|gpt-oss|glm-z1|smollm3-3b$"
    r"|glm-4\.[5-7]\b|glm-5\b|qwen3-[\d.]+b(-a\d+b)?$|qwen3\.5-(9|27|35|122|397)b|qwen3\.6-",
    re.IGNORECASE,
)


def is_base(name: str) -> bool:
    """Return whether a model's name is that of a base model, trained on plain text."""
    return name.lower().endswith("-base")


def thinks_by_name(name: str) -> bool:
    """Return whether the model with this name reasons by default."""
    return not is_base(name) and _NAMES.search(name) is not None
