"""The loss on the test rows of each source of a mixture."""

from collections.abc import Sequence
from typing import Any

from .metrics import compare, interval, loss


def by_source(
    sources: Sequence[str],
    after: tuple[Sequence[float], Sequence[int]],
    before: tuple[Sequence[float], Sequence[int]] | None = None,
) -> dict[str, Any]:
    """Return the loss on the rows of each source; models are given as nats and tokens per row."""

    def part(numbers: Sequence[Any], source: str) -> list[Any]:
        pairs = zip(sources, numbers, strict=True)
        return [number for name, number in pairs if name == source]

    found: dict[str, dict[str, Any]] = {}
    for source in dict.fromkeys(sorted(sources)):
        trained = loss(*(part(numbers, source) for numbers in after))
        found[source] = {"rows": len(trained.parts), "loss": trained.value}
        found[source]["interval"] = interval(trained)
        if before is not None:
            base = loss(*(part(numbers, source) for numbers in before))
            found[source] |= {"base_loss": base.value, "change": compare(base, trained)}
    return found
