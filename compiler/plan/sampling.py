"""Objectives that learn from answers they try: how many, how long, how rewarded and averaged."""

import math
from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.arrangement import Arrangement
from ftc.compiler.plan.batch import Batch, divisors
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.job import Reference
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.source import decide, derived, keep
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.compiler.resolve.rewards import list_rewards
from ftc.spec.sections import PolicyLoss, Reward, Spec

_GENERATIONS: Final = 8
_LEAST_PROMPTS, _MOST_PROMPTS = 4, 16  # of a step
_PROMPTS_SHARE: Final = 100
_LEAST_TOKENS, _MOST_TOKENS = 64, 1024
_LONGER: Final = 1.5  # than the data's own answers
_MANY_PROMPTS: Final = 2000
_NUMBERED_SHARE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """What was decided; None everywhere where no answers are tried."""

    rewards: Decision[tuple[str, ...]] | None = None
    generations: Decision[int] | None = None
    temperature: Decision[float] | None = None
    loss: Decision[PolicyLoss] | None = None
    beta: Decision[float] | None = None


def samples(spec: Spec) -> bool:
    """Tell whether the model learns from answers that it tries."""
    return spec.objective.type == "grpo"


def decide_sampling(spec: Spec, data: DataFacts) -> Sampling:
    """Return the rewards and the knobs of GRPO (arXiv 2402.03300), as the pinned TRL has them.

    Eight answers to a prompt and a temperature of 1 are its defaults, and the loss of DAPO (arXiv
    2503.14476) as well. Without `beta` nothing holds the model to its base, as in DAPO and in Dr.
    GRPO (arXiv 2503.20783): the rewards are verified, and the reference costs a pass.
    """
    if not samples(spec):
        return Sampling()
    objective = spec.objective
    return Sampling(
        rewards=_rewards(spec, data),
        generations=decide_generations(spec),
        temperature=keep(spec, "/objective/temperature", objective.temperature),
        loss=keep(spec, "/objective/policy_loss", objective.policy_loss),
        beta=decide(
            spec, "/objective/beta", objective.beta, lambda: (0.0, Because(key="beta.none"))
        ),
    )


def decide_generations(spec: Spec) -> Decision[int]:
    """Return the answers per prompt."""
    return decide(
        spec,
        "/objective/num_generations",
        spec.objective.num_generations,
        lambda: (_GENERATIONS, Because(key="generations.usual")),
    )


def find_rewards(spec: Spec, data: DataFacts) -> tuple[Reward, ...]:
    """Return the rewards of the spec, or the one that the data's answers ask for."""
    return list_rewards(spec) or (Reward(match="numeric" if _is_numbered(data) else "exact"),)


def sampling_reference(spec: Spec) -> Reference:
    """Return where the reference of a `beta` comes from: TRL's own choice."""
    if spec.objective.beta == "auto":
        return "none"
    return "copy" if spec.method.type in ("full", "freeze") else "adapter_off"


def decide_sampled_tokens(spec: Spec, model: ModelFacts, data: DataFacts) -> Decision[int]:
    """Return after how many tokens an answer is cut off: half as many again as the data's have."""
    longest, prompt = data.lengths.answer_max, data.lengths.prompt_max

    def derive() -> tuple[int, Because]:
        wanted = math.ceil(_LONGER * longest / 8) * 8
        tokens = min(_MOST_TOKENS, max(_LEAST_TOKENS, wanted))
        room = max(1, model.context_tokens - prompt)
        key = "answer_tokens.room" if room < tokens else "answer_tokens.sampled"
        return min(tokens, room), Because(key=key, values={"tokens": longest, "prompt": prompt})

    return decide(spec, "/objective/answer_tokens", spec.objective.answer_tokens, derive)


def decide_group_batch(spec: Spec, *, train_rows: int, world: int) -> Batch:
    """Return answers per step: of 4 to 16 prompts, near a hundredth of them, all of a prompt's.

    A number of the spec that parts the answers to a prompt gives way to the nearest that does not.
    """
    group = decide_generations(spec).value

    def derive() -> tuple[int, Because]:
        target = min(_MOST_PROMPTS, max(_LEAST_PROMPTS, train_rows / _PROMPTS_SHARE))
        prompts = min(2 ** round(math.log2(target)), max(1, train_rows))
        values = {"prompts": prompts, "group": group, "rows": train_rows}
        return prompts * group, Because(key="global_batch.groups", values=values)

    decision = decide(spec, "/training/global_batch", spec.training.global_batch, derive)
    micro = spec.training.micro_batch
    unit = math.lcm(group, world if micro == "auto" else world * micro)
    whole = unit * max(1, round(decision.value / unit))
    if whole != decision.value:
        decision = derived(whole, "global_batch.grouped", asked=decision.value, unit=unit)
    rows = whole // world
    options = divisors(rows) if micro == "auto" else (micro,)
    return Batch(decision=decision, rows_per_process=rows, micro_options=options)


def arrange_groups(
    spec: Spec, facts: KnownFacts, batch: Batch, *, rows: int, max_length: int
) -> Arrangement:
    """Return the answers of an epoch: TRL leaves out the prompts that fill no whole step.

    It pads all that a process tries for a step alike, and then cuts them into passes. Source: TRL
    1.16, `RepeatSampler`, which drops the last, incomplete chunk of prompts, and `GRPOTrainer`.
    """
    steps = max(1, rows * decide_generations(spec).value // batch.decision.value)
    tokens = decide_sampled_tokens(spec, facts.model, facts.data).value
    prompt = min(facts.data.lengths.prompt_max, max_length)
    return Arrangement(
        together=batch.rows_per_process,
        rows=steps * batch.decision.value,
        lengths=facts.data.lengths,
        length_tokens=prompt + tokens,
    )


def sampling_rate(spec: Spec) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW: a reward says little of each token, so steps are low.

    1e-6 for all weights is TRL's default for GRPO and DAPO's rate; adapters take ten times as much
    (Schulman et al., "LoRA Without Regret", 2025).
    """
    if spec.method.type in ("full", "freeze"):
        return 1e-6, Because(key="learning_rate.sampling_full")
    return 1e-5, Because(key="learning_rate.sampling_adapter")


def sampling_epochs(prompts: int) -> tuple[float, Because]:
    """Return the epochs: few prompts are tried again, each time with other answers."""
    values = {"rows": prompts}
    if prompts < _MANY_PROMPTS:
        return 3.0, Because(key="epochs.sampling_few", values=values)
    return 1.0, Because(key="epochs.sampling", values=values)


def _rewards(spec: Spec, data: DataFacts) -> Decision[tuple[str, ...]]:
    words = tuple(_word(reward) for reward in find_rewards(spec, data))
    if list_rewards(spec):
        return keep(spec, "/objective/rewards", words)
    if not _is_numbered(data):
        return derived(words, "rewards.exact")
    found = data.rewards
    share = found.numbered_rows / max(1, found.rows) if found else 0.0
    return derived(words, "rewards.numeric", share=share)


def _word(reward: Reward) -> str:
    """Return what the README calls a reward."""
    kind: str = reward.match or ""
    if reward.regex is not None:
        kind = "regex"
    elif reward.json_schema is not None:
        kind = "json_schema"
    elif reward.functions is not None:
        kind = " + ".join(reward.names)
    return kind if reward.weight == 1 else f"{kind} x {reward.weight:g}"


def _is_numbered(data: DataFacts) -> bool:
    found = data.rewards
    return found is not None and found.numbered_rows >= _NUMBERED_SHARE * max(1, found.rows)
