"""Every rule in one list, and the one pass over it."""

from collections.abc import Sequence
from typing import Final

from ftc.compiler.checks.allow import check_allow, find_idle
from ftc.compiler.checks.data import (
    answers,
    contents,
    data,
    images,
    labels,
    lengths,
    mixture,
    rows,
    scores,
    splits,
    streaming,
    unheeded,
)
from ftc.compiler.checks.explanations import ALLOW_EXPLANATIONS
from ftc.compiler.checks.export import (
    conversion,
    export,
    gguf_types,
    ollama,
    publishing,
    served,
    verification,
)
from ftc.compiler.checks.hardware import distribution, engine, hardware, launch, memory, shards
from ftc.compiler.checks.model import (
    adapter,
    chain,
    chat_template,
    families,
    methods,
    model,
    quantization,
    reasoning,
    rehearsal,
    sight,
    tokenizer,
    vocabulary,
    weights,
)
from ftc.compiler.checks.objective import (
    calling,
    comparison,
    metrics,
    regression,
    rewards,
    teaching,
    vector_files,
    vectors,
)
from ftc.compiler.checks.rule import Rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.checks.training import (
    kernels,
    loop,
    optimizer,
    packing,
    precision,
    recomputing,
    schedule,
    tracking,
)
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.explanations import EXPLANATIONS as RESOLVE_EXPLANATIONS
from ftc.compiler.resolve.facts import Facts
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.explanations import EXPLANATIONS as SPEC_EXPLANATIONS
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Spec

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (
            found
            for module in (
                model,
                adapter,
                methods,
                tokenizer,
                chat_template,
                reasoning,
                vocabulary,
                data,
                lengths,
                rows,
                contents,
                answers,
                mixture,
                streaming,
                unheeded,
                scores,
                splits,
                labels,
                chain,
                comparison,
                teaching,
                vectors,
                vector_files,
                metrics,
                regression,
                rewards,
                hardware,
                images,
                sight,
                precision,
                quantization,
                families,
                memory,
                distribution,
                engine,
                calling,
                launch,
                shards,
                packing,
                kernels,
                loop,
                schedule,
                optimizer,
                tracking,
                export,
                gguf_types,
                served,
                publishing,
                conversion,
                verification,
                recomputing,
                rehearsal,
                ollama,
                weights,
            )
            for found in vars(module).values()
            if isinstance(found, Rule)
        ),
        key=lambda each: each.explanation.code,
    )
)
EXPLANATIONS: Final[tuple[Explanation, ...]] = (
    *ALLOW_EXPLANATIONS,
    *(each.explanation for each in RULES),
)


def run_checks(
    spec: Spec,
    facts: Facts,
    plan: Plan | None,
    *,
    others: Sequence[Finding] = (),
    other_explanations: Sequence[Explanation] = (),
) -> tuple[Finding, ...]:
    """Return what every rule found, by code; a warning whose code the spec allows is left out.

    A rule that reads an unknown fact, or a plan that could not be made, is not run. `others` are
    findings of the floors above, which a spec can allow as well; `other_explanations` explain them.
    """
    case = Case(spec=spec, facts=facts, known_plan=plan)
    found = [*others, *(finding for each in RULES for finding in each.findings(case))]
    kept = [f for f in found if f.severity == "error" or f.code not in spec.allow]
    explanations = (*SPEC_EXPLANATIONS, *RESOLVE_EXPLANATIONS, *EXPLANATIONS, *other_explanations)
    looked = {
        each.explanation.code
        for each in RULES
        if each.explanation.severity != "error" and all(case.has(read) for read in each.reads)
    }
    idle = find_idle(spec.allow, found={finding.code for finding in found}, looked=looked)
    return (*check_allow(spec.allow, explanations), *idle, *kept)


def find_contradictions(spec: Spec, facts: Facts) -> tuple[Finding, ...]:
    """Return the errors of an incomplete spec that concern its own values alone.

    These are the errors of rules that require no fact and no plan, at a value that the spec sets:
    no value that is still missing can solve them.
    """
    case = Case(spec=spec, facts=facts, known_plan=None)
    found = (each for rule in RULES if not rule.reads for each in rule.findings(case))
    return tuple(each for each in found if each.severity == "error" and each.pointer in spec.said)
