"""The rules about verified exports (FTC650 to FTC659): bounds that hold nothing, or too much."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator, Mapping
from typing import Any

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, rule
from ftc.compiler.knowledge.gguf_quality import published
from ftc.spec.schema import fields

_SECTION = "/export/verify/"


@rule("FTC650", "verification-without-files", "error")
def verification_without_files(case: Case) -> Iterator[Problem]:
    """What it is: A bound of `export.verify` is set, and no GGUF file is exported.

    Why it matters: Nothing would be held to it: the bound would be accepted and then ignored.

    Example: {"export": {"types": [], "verify": {"max_divergence": 0.05}}}

    Use instead: {"export": {"types": ["Q8_0"], "verify": {"max_divergence": 0.05}}}
    """
    export = case.spec.export
    if export.types:
        return
    for name, default in _defaults().items():
        if getattr(export.verify, name) == default or (name == "tokens" and export.adapter):
            continue
        yield Problem(
            message=f"`export.verify.{name}` is set, and there is no GGUF file to verify",
            help="name GGUF types in `export.types`, or remove it",
            pointer=_SECTION + name,
            fix=({"op": "remove", "path": _SECTION + name},),
        )


def _defaults() -> Mapping[str, Any]:
    """Return what each field of `export.verify` is where a spec does not say it."""
    stem = "export.verify."
    inside = (field for field in fields() if field.name.startswith(stem))
    return {field.name.removeprefix(stem): field.schema["default"] for field in inside}


@rule("FTC651", "metric-bound-without-metric", "warning", reads=("plan",))
def metric_bound_without_metric(case: Case) -> Iterator[Problem]:
    """What it is: `max_metric_drop` is set, and the test split is judged by no metric.

    Why it matters: Only answers that are right or wrong, on rows that were held out, can become
    fewer. Divergence, agreement and perplexity are held to their bounds all the same.

    Example: {"training": {"evaluation": {"metric": "none"}}, "export": {"types": ["Q8_0"],
    "verify": {"max_metric_drop": 0.02}}}

    Use instead: {"export": {"types": ["Q8_0"], "verify": {"min_agreement": 0.95}}}
    """
    pointer = f"{_SECTION}max_metric_drop"
    export = case.spec.export
    if export.verify.max_metric_drop != "auto" and export.types:
        decided = case.plan.decisions
        if decided.max_metric_drop is None:
            why = "no rows are held out" if not decided.test_rows.value else "there is no metric"
            yield Problem(
                message=f"`export.verify.max_metric_drop` is set, and {why} to measure it by",
                help="remove it: `export.verify.min_agreement` bounds what every model has",
                pointer=pointer,
                fix=({"op": "remove", "path": pointer},),
            )


@rule("FTC652", "bound-beyond-published", "warning")
def bound_beyond_published(case: Case) -> Iterator[Problem]:
    """What it is: A bound asks more of a GGUF type than llama.cpp reports of it at 8B.

    Why it matters: The export would probably fail, after the training is paid for. A model that is
    very sure of its answers can still hold such a bound.

    Example: {"export": {"types": ["Q2_K"], "verify": {"max_divergence": 0.01}}}

    Use instead: {"export": {"types": ["Q6_K"], "verify": {"max_divergence": 0.01}}}
    """
    verify = case.spec.export.verify
    for kind in case.spec.export.types:
        known = published(kind)
        divergence, agreement = verify.max_divergence, verify.min_agreement
        if divergence != "auto" and divergence < known.divergence:
            said = f"a divergence of {known.divergence:.3g} nats per token, above {divergence:g}"
            yield _beyond(kind, said, "max_divergence")
        if agreement != "auto" and known.agreement and agreement > known.agreement:
            said = f"an agreement of {known.agreement:.1%}, below {agreement:.1%}"
            yield _beyond(kind, said, "min_agreement")


def _beyond(kind: str, said: str, name: str) -> Problem:
    return Problem(
        message=f"llama.cpp reports of {kind}, for an 8B model, {said}: the export may fail",
        help="export a larger type, or set a bound that this type can hold",
        pointer=_SECTION + name,
    )
