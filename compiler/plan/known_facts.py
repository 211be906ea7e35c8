"""The facts of a spec once all four are known: what a plan rests on."""

from dataclasses import dataclass

from ftc.compiler.resolve.facts import (
    DataFacts,
    Facts,
    HardwareFacts,
    ModelFacts,
    TokenizerFacts,
    Unknown,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFacts:
    """The four facts, none of them unknown."""

    model: ModelFacts
    tokenizer: TokenizerFacts
    data: DataFacts
    hardware: HardwareFacts


def known(facts: Facts) -> KnownFacts | None:
    """Return the facts when all four are known, None when one is not."""
    model, tokenizer, data, hardware = facts.model, facts.tokenizer, facts.data, facts.hardware
    if (
        isinstance(model, Unknown)
        or isinstance(tokenizer, Unknown)
        or isinstance(data, Unknown)
        or isinstance(hardware, Unknown)
    ):
        return None
    return KnownFacts(model=model, tokenizer=tokenizer, data=data, hardware=hardware)
