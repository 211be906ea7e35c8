"""What is published: the repository, the files, and what the card says that no stage measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is published where, and what the card says that no stage measures.

    `what` has some of `adapter`, `merged`, `gguf` and `vllm`. `card` is the metadata of the card.
    `base` is the id of the base on the Hub, None for a folder.
    """

    run: Run
    repository: str
    private: bool
    what: Sequence[str]
    name: str
    card: Mapping[str, Any]
    licence: str
    base: str | None
    base_licence: str | None
    data_names: Sequence[str]
    data_licence: str | None
    objective: str
