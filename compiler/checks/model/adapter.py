"""The rules about the size of an adapter (FTC162 to FTC169)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

import math
from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import count_adapter_parameters
from ftc.compiler.plan.method.adapter import hit

_STRONG = 8.0
_WEAK = 0.25


@rule("FTC162", "rank-beyond-matrices", "warning", reads=("model", "plan"), fix_safety="unsafe")
def rank_beyond_matrices(case: Case) -> Iterator[Problem]:
    """What it is: The adapter has as many weights as the matrices that it adapts.

    Why it matters: LoRA saves memory by being small. At this rank the adapter has as many weights
    as a full fine-tune would train, and it cannot represent anything that those matrices cannot.

    Example: {"model": "HuggingFaceTB/SmolLM2-135M", "method": {"type": "lora", "rank": 256}}

    Use instead: {"model": "HuggingFaceTB/SmolLM2-135M", "method": {"type": "lora", "rank": 16}}
    """
    d, shape = case.plan.decisions, case.model.shape
    if d.lora.lora_rank is None or d.lora.lora_targets is None or shape is None:
        return
    targets = hit(shape, d.lora.lora_targets.value)
    linears = [shape.linear_shapes[name] for name in targets]
    adapted = sum(each.count * each.in_features * each.out_features for each in linears)
    added = count_adapter_parameters(shape, targets, d.lora.lora_rank.value)
    if added >= adapted > 0:
        yield problem(
            "/method/rank",
            fix=(put("/method/rank", "auto"),),
            rank=d.lora.lora_rank.value,
            added=added,
            adapted=adapted,
        )


@rule("FTC163", "adapter-strength-off-scale", "warning", reads=("plan",), fix_safety="unsafe")
def adapter_strength_off_scale(case: Case) -> Iterator[Problem]:
    """What it is: Alpha is many times the rank, or a small fraction of it.

    Why it matters: An adapter's change is multiplied by alpha / rank. The usual learning rates
    assume 1 or 2. Far above that the run diverges; far below it hardly learns.

    Example: {"method": {"type": "lora", "rank": 8, "alpha": 512}}

    Use instead: {"method": {"type": "lora", "rank": 8, "alpha": 16}}
    """
    d = case.plan.decisions
    if d.lora.lora_rank is None or d.lora.lora_alpha is None or d.lora.lora_alpha.source != "spec":
        return
    rank = d.lora.lora_rank.value
    strength = d.lora.lora_alpha.value / (rank if d.method.rslora is None else math.sqrt(rank))
    if not _WEAK <= strength <= _STRONG:
        yield problem(
            "/method/alpha",
            fix=(put("/method/alpha", "auto"),),
            alpha=d.lora.lora_alpha.value,
            rank=d.lora.lora_rank.value,
            strength=strength,
            alpha2=2 * d.lora.lora_rank.value,
        )
