"""Counts the tokens of rows with the model's tokenizer, or estimates them by script."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from ftc.compiler.knowledge.objectives import compares_texts, gives_relevance
from ftc.compiler.knowledge.text.default_systems import default_system
from ftc.compiler.knowledge.text.tokenizers import chars_per_token, count_tokens, find_scripts
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.content.scan import Scan
from ftc.compiler.resolve.data.images import ImageCount
from ftc.compiler.resolve.data.lengths import (
    Count,
    count_lengths,
    count_longest,
    count_scored,
    estimate_lengths,
    estimate_longest,
    estimate_scored,
)
from ftc.compiler.resolve.facts import TokenizerFacts
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.runtime.vision.image_tokens import Rule
from ftc.spec.salvage import known_or_none
from ftc.spec.sections import Spec

#: Text in which at least this share of Latin letters is outside ASCII does not count as English.
_FOREIGN_SHARE: Final = 0.01


def choose_count(
    spec: Spec,
    scan: Scan,
    *,
    known: TokenizerFacts | None,
    loaded: LoadedTokenizer | None,
    rule: Rule | None,
    schemas: Sequence[str],
) -> Count:
    """Return the counter or estimator of tokens for the objective of the spec."""
    system, joined = spec.data.system, gives_relevance(spec.objective.type)
    if loaded is not None and known is not None:
        if spec.objective.type == "classification":
            return partial(count_scored, tokenizer=loaded)
        if compares_texts(spec.objective.type):
            return partial(count_longest, tokenizer=loaded, joined=joined)
        system = None if known.accepts_system is False else system
        return partial(count_lengths, tokenizer=loaded, system=system, rule=rule)
    family = known.family if known is not None else ""
    estimate = partial(count_tokens, family=family, latin=_ratio(scan, known))
    if spec.objective.type == "classification":
        return partial(estimate_scored, estimate=estimate)
    if compares_texts(spec.objective.type):
        return partial(estimate_longest, estimate=estimate, joined=joined)
    system = system or known_or_none(lambda: _template_system(spec))
    system = "\n".join([*filter(None, [system]), *schemas]) or None
    count = partial(estimate_lengths, estimate=estimate, system=system)
    if rule is None:
        return count
    return partial(count, count_images=ImageCount(rule=rule, tokenizer=None).of)


def _template_system(spec: Spec) -> str | None:
    """Return what the chat template of a known tuned model writes where a row has no system."""
    entry = find_model(spec.model.id)
    own = spec.model.chat_template is not None
    return None if own or entry is None or entry.kind == "base" else default_system(entry.id)


def _ratio(scan: Scan, tokenizer: TokenizerFacts | None) -> float:
    """Return Latin characters per token, lower for text with many letters beyond ASCII."""
    texts = [text for example in scan.examples[:1000] for _, text in example.turns]
    others = sum(sum(map(len, runs)) for text in texts for runs in find_scripts(text).values())
    latin = sum(map(len, texts)) - others
    ascii_only = sum(len(text.encode("ascii", "ignore")) for text in texts)
    english = latin - ascii_only <= _FOREIGN_SHARE * latin
    family = tokenizer.family if tokenizer is not None else ""
    ratio = chars_per_token(family, english=english)
    return min(ratio, tokenizer.chars_per_token) if tokenizer is not None else ratio
