"""One rendered file of a bundle, before anything is written."""

from dataclasses import dataclass
from typing import Any, Literal

# "copy" is a file of the user's, byte for byte, which nothing of ftc wrote or answers for
Language = Literal["python", "shell", "json", "yaml", "markdown", "modelfile", "text", "copy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """`name` is relative to the bundle; `data` is what a JSON, YAML or Modelfile holds."""

    name: str
    text: str
    language: Language
    data: Any = None
    executable: bool = False
