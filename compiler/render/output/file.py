"""One rendered file of a bundle, before anything is written."""

from dataclasses import dataclass
from typing import Any, Literal

# "copy" is an unchanged file of the user, "runtime" an unchanged module of ftc.runtime
Language = Literal[
    "python", "shell", "json", "yaml", "markdown", "modelfile", "text", "copy", "runtime"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """`name` is relative to the bundle; `data` is the content of a JSON, YAML or Modelfile.

    `neutral` is the text of a Python script that was rendered without any values.
    """

    name: str
    text: str
    language: Language
    data: Any = None
    executable: bool = False
    neutral: str | None = None
