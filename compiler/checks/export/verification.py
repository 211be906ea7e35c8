"""The rules about verified exports (FTC650 to FTC659): bounds that are unused or too strict."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping
from typing import Any

from ftc.compiler.checks.rule import Problem, problem, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.exports.gguf_quality import published
from ftc.spec.schema import fields

_SECTION = "/export/verify/"


@rule("FTC650", "verification-without-files", "error")
def verification_without_files(case: Case) -> Iterator[Problem]:
    """What it is: A bound of `export.verify` is set, and no quantized file is exported.

    Why it matters: There is no file to verify: the bound would be accepted and then ignored.

    Example: {"export": {"types": [], "verify": {"max_divergence": 0.05}}}

    Use instead: {"export": {"types": ["Q8_0"], "verify": {"max_divergence": 0.05}}}
    """
    export = case.spec.export
    if export.types or export.vllm:
        return
    for name, default in _defaults().items():
        if getattr(export.verify, name) == default or (name == "tokens" and export.adapter):
            continue
        yield problem(_SECTION + name, fix=({"op": "remove", "path": _SECTION + name},), name=name)


def _defaults() -> Mapping[str, Any]:
    """Return what each field of `export.verify` is where a spec does not say it."""
    stem = "export.verify."
    inside = (field for field in fields() if field.name.startswith(stem))
    return {field.name.removeprefix(stem): field.schema["default"] for field in inside}


@rule("FTC651", "metric-bound-without-metric", "warning", reads=("plan",))
def metric_bound_without_metric(case: Case) -> Iterator[Problem]:
    """What it is: `max_metric_drop` is set, and there is no metric on the test split.

    Why it matters: The bound limits how many answers on held-out rows become wrong, so it needs a
    metric. Divergence, agreement and perplexity are still verified.

    Example: {"training": {"evaluation": {"metric": "none"}}, "export": {"types": ["Q8_0"],
    "verify": {"max_metric_drop": 0.02}}}

    Use instead: {"export": {"types": ["Q8_0"], "verify": {"min_agreement": 0.95}}}
    """
    pointer = f"{_SECTION}max_metric_drop"
    export = case.spec.export
    if export.verify.max_metric_drop != "auto" and (export.types or export.vllm):
        decided = case.plan.decisions
        if decided.verification.max_metric_drop is None:
            yield problem(
                pointer,
                message="" if decided.splits.test_rows.value else "no_rows",
                fix=({"op": "remove", "path": pointer},),
            )


@rule("FTC652", "bound-beyond-published", "warning")
def bound_beyond_published(case: Case) -> Iterator[Problem]:
    """What it is: A bound is stricter than what llama.cpp reports for the type at 8B.

    Why it matters: The export would probably fail after the training has been paid for. A model
    that is very sure of its answers can still meet such a bound.

    Example: {"export": {"types": ["Q2_K"], "verify": {"max_divergence": 0.01}}}

    Use instead: {"export": {"types": ["Q6_K"], "verify": {"max_divergence": 0.01}}}
    """
    verify = case.spec.export.verify
    for kind in case.spec.export.types:
        known = published(kind)
        divergence, agreement = verify.max_divergence, verify.min_agreement
        if divergence != "auto" and divergence < known.divergence:
            yield _beyond(kind, "max_divergence", known.divergence, divergence)
        if agreement != "auto" and known.agreement and agreement > known.agreement:
            yield _beyond(kind, "min_agreement", known.agreement, agreement)
        ratio = verify.max_perplexity_ratio
        if ratio != "auto" and ratio < known.perplexity_ratio:
            yield _beyond(kind, "max_perplexity_ratio", known.perplexity_ratio, ratio)


def _beyond(kind: str, name: str, reported: float, bound: float) -> Problem:
    return problem(_SECTION + name, message=name, kind=kind, reported=reported, bound=bound)
