"""Objectives that learn from sampled answers: their number, length and rewards."""

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, has_teacher
from ftc.compiler.knowledge.well_known.thinking import is_base, thinks_by_name
from ftc.compiler.plan.batch.sizes import Arrangement, Batch, divisors
from ftc.compiler.plan.decision import Because, Decision, decide, derived, keep
from ftc.compiler.plan.job import Reference
from ftc.compiler.plan.objective.comparison import scale_rate
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.resolve.content.rewards import list_rewards
from ftc.compiler.resolve.detail_facts import ReasoningFacts
from ftc.compiler.resolve.facts import DataFacts, Lengths, ModelFacts
from ftc.spec.sections import Method, Objective, PolicyLoss, Reward, Spec, Vllm

_GENERATIONS: Final = 8
_LEFT_OUT: Final = 4  # of RLOO: each answer is compared with the three others
_LEAST_PROMPTS, _MOST_PROMPTS = 4, 16  # of a step
_PROMPTS_SHARE: Final = 100
_LEAST_TOKENS, _MOST_TOKENS = 64, 1024
_LONGER: Final = 1.5  # than the data's own answers
_FINAL_TOKENS: Final = 32  # of a reference that is a final answer without its reasoning
_REASONING_TOKENS: Final = 256  # reasoning about such a question takes 150 to 300, often 200
THINKING_TOKENS: Final = 2048  # of a model that reasons by itself, often at more length
_THINKING: Final = "enable_thinking"
CALL_TOKENS: Final = 64  # of a short call, its short result and the markers around them
_ROUNDS: Final = "/objective/max_tool_calling_iterations"
_SECONDS: Final = "/objective/tool_seconds"
_MANY_PROMPTS: Final = 2000
_NUMBERED_SHARE: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The decisions; every field is None where no answers are sampled."""

    rewards: Decision[tuple[str, ...]] | None = None
    generations: Decision[int] | None = None
    temperature: Decision[float] | None = None
    loss: Decision[PolicyLoss] | None = None
    beta: Decision[float] | None = None
    tool_rounds: Decision[int] | None = None
    tool_seconds: Decision[int] | None = None


def samples(objective: Objective) -> bool:
    """Return whether training samples answers from the model itself."""
    return OBJECTIVES[objective.type].samples


def rewarded(objective: Objective) -> bool:
    """Return whether the sampled answers are rewarded."""
    return OBJECTIVES[objective.type].rewards


def find_engine(objective: Objective) -> Vllm:
    """Return whether vLLM generates the answers that are rewarded; others are never vLLM's."""
    return objective.vllm if rewarded(objective) else "off"


def learns_from_shards(spec: Spec, sharding: Sharding) -> bool:
    """Return whether the objective works while processes divide the weights by ZeRO-3 or FSDP.

    Under FSDP TRL 1.16 leaves a teacher on the CPU, and under ZeRO-3 it divides it too, of which
    the plan knows nothing.

    TRL 1.16 gathers all weights at once to generate answers with transformers, and to merge an
    adapter before vLLM gets the weights. Otherwise vLLM gets one whole weight after the other
    (`VLLMGeneration._iter_named_params`). FSDP2 leaves weights whole after a pass without a
    backward pass, and TRL stops at them: in an evaluation vLLM in the same process gets the weights
    again after such a pass, as sleep has discarded them.
    """
    engine = find_engine(spec.objective)
    if has_teacher(spec.objective.type):
        return False
    if not samples(spec.objective):
        return True
    merges = spec.method.type in ("lora", "qlora")
    return not merges and (engine == "server" or (engine == "colocate" and sharding != "fsdp"))


def calls_tools(objective: Objective) -> bool:
    """Return whether tools may be called in the sampled answers."""
    return OBJECTIVES[objective.type].calls and objective.tools is not None


def decide_sampling(spec: Spec, data: DataFacts) -> Sampling:
    """Decide the rewards and the settings of GRPO (arXiv 2402.03300) and RLOO (2402.14740).

    Distillation (arXiv 2306.13649) has a temperature, and a `beta` that selects the divergence.

    TRL's defaults for GRPO are eight answers to a prompt, a temperature of 1 and the loss of DAPO
    (arXiv 2503.14476). RLOO has one loss. Without `beta` there is no reference, as in DAPO and in
    Dr. GRPO (arXiv 2503.20783): the rewards are verified, and a reference costs a pass.
    """
    objective = spec.objective
    if has_teacher(objective.type):
        warm = keep(spec, "/objective/temperature", objective.temperature)
        return Sampling(
            temperature=warm if samples(objective) else None, beta=decide_divergence(spec)
        )
    if not samples(spec.objective):
        return Sampling()
    return Sampling(
        rewards=_rewards(spec, data),
        generations=decide_generations(spec),
        temperature=keep(spec, "/objective/temperature", objective.temperature),
        loss=keep(spec, "/objective/policy_loss", objective.policy_loss)
        if objective.type == "grpo"
        else None,
        beta=decide(
            spec, "/objective/beta", objective.beta, lambda: (0.0, Because(key="beta.none"))
        ),
        tool_rounds=keep(spec, _ROUNDS, objective.max_tool_calling_iterations)
        if calls_tools(spec.objective)
        else None,
        tool_seconds=keep(spec, _SECONDS, objective.tool_seconds)
        if calls_tools(spec.objective)
        else None,
    )


def decide_divergence(spec: Spec) -> Decision[float]:
    """Decide which divergence from the teacher's probabilities is learned."""

    def derive() -> tuple[float, Because]:
        kind = spec.objective.type
        because = Because(key="beta.divergence", values={"objective": kind})
        return OBJECTIVES[kind].divergence or 0.0, because

    return decide(spec, "/objective/beta", spec.objective.beta, derive)


def decide_generations(spec: Spec) -> Decision[int]:
    """Return the answers per prompt. RLOO's paper tries two and four, and four is better."""

    def derive() -> tuple[int, Because]:
        if OBJECTIVES[spec.objective.type].leaves_out:
            return _LEFT_OUT, Because(key="generations.left_out")
        return _GENERATIONS, Because(key="generations.usual")

    pointer = "/objective/num_generations"
    return decide(spec, pointer, spec.objective.num_generations, derive)


def find_rewards(objective: Objective, data: DataFacts) -> tuple[Reward, ...]:
    """Return the rewards of the spec, or the one that suits the answers in the data."""
    return list_rewards(objective) or (Reward(match="numeric" if _is_numbered(data) else "exact"),)


def sampling_reference(spec: Spec) -> Reference:
    """Return where the reference comes from that `beta` needs, as TRL chooses it."""
    if not rewarded(spec.objective) or spec.objective.beta in ("auto", 0):
        return "none"
    return "copy" if spec.method.type in ("full", "freeze") else "adapter_off"


def thinks(spec: Spec, reasoning: ReasoningFacts | None) -> bool:
    """Return whether the model reasons before each answer: by its template, else by its name."""
    name, options = spec.model.id, spec.data.template_options or {}
    if reasoning is not None and reasoning.thinks:
        return not is_base(name)
    if options.get(_THINKING) is False or (reasoning and _THINKING in reasoning.options):
        return False
    return thinks_by_name(name)


def decide_sampled_tokens(
    spec: Spec, model: ModelFacts, data: DataFacts, *, thinking: bool = False
) -> Decision[int]:
    """Decide the most tokens of a sampled answer: half as many again as the data's answers have.

    Where the data's answers are final ones only, there is room for reasoning before them, and as
    much where the data have none; there is more for a model that is `thinking` by itself. Calls of
    tools and their results are tokens of the answer, so that there is room for them, too.
    """
    longest, prompt = data.lengths.answer_max, data.lengths.prompt_max
    rounds = spec.objective.max_tool_calling_iterations

    def derive() -> tuple[int, Because]:
        wanted = math.ceil(_LONGER * longest / 8) * 8
        tokens, key = min(_MOST_TOKENS, max(_LEAST_TOKENS, wanted)), "answer_tokens.sampled"
        if data.form == "prompt":
            tokens, key = _REASONING_TOKENS, "answer_tokens.prompts"
        elif _leaves_out_reasoning(spec.objective, data):
            tokens, key = _REASONING_TOKENS, "answer_tokens.reasoning"
        if thinking and tokens < THINKING_TOKENS:
            tokens, key = THINKING_TOKENS, "answer_tokens.thinking"
        if calls_tools(spec.objective):
            tokens, key = tokens + rounds * CALL_TOKENS, "answer_tokens.called"
        room = max(1, model.context_tokens - prompt)
        if room < tokens:
            tokens, key = room, f"{key}.room"
        values = {"tokens": longest, "prompt": prompt}
        if calls_tools(spec.objective):
            values |= {"each": CALL_TOKENS, "rounds": rounds}
        return tokens, Because(key=key, values=values)

    return decide(spec, "/objective/answer_tokens", spec.objective.answer_tokens, derive)


def _leaves_out_reasoning(objective: Objective, data: DataFacts) -> bool:
    """Return whether the references are final answers and the rewards accept text before them.

    A teacher judges any text, so that only labels have to stand alone.
    """
    if not rewarded(objective):
        return data.lengths.answer_max <= _FINAL_TOKENS and not data.labels
    exact_only = all(reward.match == "exact" for reward in find_rewards(objective, data))
    return data.lengths.answer_max <= _FINAL_TOKENS and (_is_numbered(data) or not exact_only)


def decide_group_batch(spec: Spec, *, train_rows: int, world: int) -> Batch:
    """Decide the answers per step: all those of 4 to 16 prompts, near a hundredth of the prompts.

    A number of the spec that would divide the answers to one prompt is replaced by the nearest that
    does not.
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
    spec: Spec, data: DataFacts, batch: Batch, *, rows: int, max_length: int, answer_tokens: int
) -> Arrangement:
    """Return the arrangement of sampled answers: TRL drops the prompts that do not fill a step.

    It pads all answers of a process and step to one length, and then divides them into passes.
    Source: TRL 1.16, `RepeatSampler`, which drops the last, incomplete chunk of prompts, and
    `GRPOTrainer`, `DistillationTrainer`.
    """
    group = decide_generations(spec).value if rewarded(spec.objective) else 1
    steps = max(1, rows * group // batch.decision.value)
    prompt = min(data.lengths.prompt_max, max_length)
    lengths = data.lengths if data.form != "prompt" else add_answers(data.lengths, answer_tokens)
    return Arrangement(
        together=batch.rows_per_process,
        rows=steps * batch.decision.value,
        lengths=lengths,
        length_tokens=prompt + answer_tokens,
    )


def add_answers(lengths: Lengths, tokens: int) -> Lengths:
    """Return the lengths of prompts, each with an answer that has all the tokens it may have."""
    names = ("mean", "p50", "p90", "p95", "p99", "max")
    longer: dict[str, Any] = {name: getattr(lengths, name) + tokens for name in names}
    longer |= dict.fromkeys(("answer_p50", "answer_p95", "answer_max"), tokens)
    return replace(
        lengths,
        **longer,
        histogram=tuple((edge + tokens, rows) for edge, rows in lengths.histogram),
    )


def sampling_rate(method: Method, model: ModelFacts) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW. It is low, as a reward says little about each token.

    1e-6 for all weights is GRPO's own rate for a model of 7B (arXiv 2402.03300, section 4.2) and
    TRL's default. It falls with size as Tulu 3's rates for verifiable rewards do (`scale_rate`).
    The most, 2e-5, is that of Open R1's demonstration with 1.5B parameters
    (`recipes/Qwen2.5-1.5B-Instruct/grpo/config_demo.yaml`). Adapters take ten times as much as all
    weights (Schulman et al., "LoRA Without Regret", 2025), at most half of what supervised
    fine-tuning takes.
    """
    values = {"parameters": model.parameters}
    if method.type in ("full", "freeze"):
        rate = scale_rate(1e-6, model.parameters, most=2e-5)
        return rate, Because(key="learning_rate.sampling_full", values=values)
    rate = scale_rate(1e-5, model.parameters, most=1e-4)
    return rate, Because(key="learning_rate.sampling_adapter", values=values)


def sampling_epochs(objective: Objective, prompts: int) -> tuple[float, Because]:
    """Return the epochs: a few prompts are used several times, each time with new answers.

    An epoch has several answers to each prompt where they are rewarded, and else one.
    """
    values = {"rows": prompts}
    if prompts < _MANY_PROMPTS:
        return 3.0, Because(key="epochs.sampling_few", values=values)
    key = "epochs.sampling" if rewarded(objective) else "epochs.sampling_one"
    return 1.0, Because(key=key, values=values)


def _rewards(spec: Spec, data: DataFacts) -> Decision[tuple[str, ...]]:
    words = tuple(_word(reward) for reward in find_rewards(spec.objective, data))
    if list_rewards(spec.objective):
        return keep(spec, "/objective/rewards", words)
    if not _is_numbered(data):
        return derived(words, "rewards.exact")
    found = data.rewards
    share = found.numbered_rows / max(1, found.rows) if found else 0.0
    return derived(words, "rewards.numeric", share=share)


def _word(reward: Reward) -> str:
    """Return the README's name of a reward."""
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
