"""The rules about rewards and answers that are tried (FTC585 to FTC594)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.plan.sampling import decide_generations, find_rewards, samples
from ftc.compiler.resolve.facts import RewardFunction
from ftc.compiler.resolve.rewards import list_rewards

_REWARDS: Final = "/objective/rewards"
_SELDOM: Final = 0.9
_LONG_TOKENS: Final = 32  # of an answer that nobody hits to the letter by chance
#: What a reward function is given, by name: TRL's own arguments and the columns of the rows.
GIVEN: Final = frozenset(
    {
        "prompts", "completions", "completion_ids", "answer", "input_ids", "labels", "prompt_ids",
        "trainer_state", "log_extra", "log_metric",
    }
)  # fmt: skip


@rule("FTC585", "unusable-reward", "error", reads=("data",))
def unusable_reward(case: Case) -> Iterator[Problem]:
    """What it is: A reward names a file that cannot be used, or a pattern that is none.

    Why it matters: The file of functions must be there and be Python, the schema must be a JSON
    Schema, the pattern a regular expression of Python's. ftc reads them and never runs them.

    Example: {"objective": {"type": "grpo", "rewards": [{"regex": "(unclosed"}]}}

    Use instead: {"objective": {"type": "grpo", "rewards": [{"regex": "(closed)"}]}}
    """
    found = case.data.rewards
    for fault in found.faults if found else ():
        yield Problem(
            message=f"reward {fault.place + 1}: {fault.what}",
            help="write the path relative to the spec, and repair what is in the file or pattern",
            pointer=f"{_REWARDS}/{fault.place}",
        )


@rule("FTC586", "unclear-reward", "error")
def unclear_reward(case: Case) -> Iterator[Problem]:
    """What it is: A reward says nothing, several things at once, or a file without its functions.

    Why it matters: Each entry is one of `match`, `regex`, `json_schema` and `functions`; `names`
    are the functions of that file. The script has one function of each kind, patterns apart.

    Example: {"objective": {"type": "grpo", "rewards": [{"functions": "mine.py"}]}}

    Use instead: {"objective": {"type": "grpo",
     "rewards": [{"functions": "mine.py", "names": ["is_brief"]}]}}
    """
    rewards = list_rewards(case.spec) if samples(case.spec) else ()
    kinds: Counter[str] = Counter()
    for place, reward in enumerate(rewards):
        said = {
            "match": reward.match,
            "regex": reward.regex,
            "json_schema": reward.json_schema,
            "functions": reward.functions,
        }
        named = [kind for kind, value in said.items() if value is not None]
        pointer = f"{_REWARDS}/{place}"
        if len(named) != 1:
            words = " and ".join(f"`{kind}`" for kind in named) or "nothing"
            yield Problem(
                message=f"reward {place + 1} says {words}",
                help="give each reward one of `match`, `regex`, `json_schema` and `functions`",
                pointer=pointer,
            )
        elif bool(reward.names) != (named[0] == "functions"):
            yield Problem(
                message=f"reward {place + 1} names a file and none of its functions"
                if not reward.names
                else f"reward {place + 1} names functions and no file",
                help="`functions` is the file, and `names` those of its functions that are called",
                pointer=pointer,
            )
        kinds.update([str(reward.match or kind) for kind in named if kind != "regex"])
    for kind, count in kinds.items():
        if count > 1:
            yield Problem(
                message=f"there are {count} rewards of the kind `{kind}`",
                help="keep one, with the weights added, or join them in one file of functions",
                pointer=_REWARDS,
            )


@rule("FTC587", "reward-never-given", "error", reads=("data",), fix_safety="unsafe")
def reward_never_given(case: Case) -> Iterator[Problem]:
    """What it is: Answers are held against the last number of the data's, which have none.

    Why it matters: No answer could ever be right: every one gets the same reward, nothing, and
    nothing is learned.

    Example: {"data": "capitals.jsonl", "objective": {"type": "grpo", "rewards": ["numeric"]}}

    Use instead: {"data": "capitals.jsonl", "objective": {"type": "grpo", "rewards": ["exact"]}}
    """
    found = case.data.rewards
    for place, reward in enumerate(list_rewards(case.spec)):
        if found and reward.match == "numeric" and not found.numbered_rows:
            yield Problem(
                message="`numeric` compares the last number of an answer, and none of the "
                f"{found.rows:,} answers looked at has a number",
                help="use `exact`, or a regular expression",
                pointer=f"{_REWARDS}/{place}",
                fix=(put(_REWARDS, ["exact"]),) if place == 0 and _alone(case) else (),
            )


@rule("FTC588", "reward-seldom-given", "warning", reads=("data",))
def reward_seldom_given(case: Case) -> Iterator[Problem]:
    """What it is: A reward that not even the data's own answers would get, or only some of them.

    Why it matters: The model learns from answers that get more than others. What is (almost) never
    reached is not learned: numbers that many answers lack, a pattern or a schema that none of them
    fits, long texts that must be hit to the letter.

    Example: {"data": "essays.jsonl", "objective": {"type": "grpo", "rewards": ["exact"]}}

    Use instead: {"data": "essays.jsonl",
     "objective": {"type": "grpo", "rewards": [{"functions": "mine.py", "names": ["covers"]}]}}
    """
    found, patterns = case.data.rewards, 0
    if found is None:
        return
    share = found.numbered_rows / max(1, found.rows)
    for place, reward in enumerate(find_rewards(case.spec, case.data)):
        pointer = f"{_REWARDS}/{place}" if list_rewards(case.spec) else _REWARDS
        if reward.match == "numeric" and 0 < share < _SELDOM:
            message = f"only {share:.0%} of the data's answers have a number to compare"
        elif reward.match == "exact" and case.data.lengths.answer_p50 > _LONG_TOKENS:
            message = (
                f"`exact` wants answers to the letter, and half of them have more than "
                f"{case.data.lengths.answer_p50:,} tokens"
            )
        elif reward.regex is not None:
            rows = found.matched_rows[patterns] if patterns < len(found.matched_rows) else None
            patterns += 1
            if rows != 0:
                continue
            message = f"`{reward.regex}` is found in none of the data's own answers"
        elif reward.json_schema is not None and found.valid_rows == 0:
            message = "none of the data's own answers is JSON of that schema"
        else:
            continue
        yield Problem(
            message=message,
            help="reward something that a good answer has and the model sometimes reaches",
            pointer=pointer,
        )


@rule("FTC589", "missing-reward-function", "error", reads=("data",))
def missing_reward_function(case: Case) -> Iterator[Problem]:
    """What it is: A named function is not in the file, or cannot be called as rewards are.

    Why it matters: The trainer gives every function the answers (`completions`), the prompts, the
    rows' `answer` and more, all by name: a function takes what it needs, and `**kwargs` the rest.

    Example: {"objective": {"type": "grpo",
     "rewards": [{"functions": "mine.py", "names": ["is_breif"]}]}}

    Use instead: {"objective": {"type": "grpo",
     "rewards": [{"functions": "mine.py", "names": ["is_brief"]}]}}
    """
    found = case.data.rewards
    if found is None:
        return
    defined = {function.name: function for function in found.functions}
    for place, reward in enumerate(list_rewards(case.spec)):
        if reward.functions is None or place in {fault.place for fault in found.faults}:
            continue
        for name in reward.names:
            if wrong := _misfit(defined.get(name)):
                yield Problem(
                    message=f"`{name}` of `{reward.functions}` {wrong}",
                    help="write `def NAME(completions, answer, **kwargs)` at the top of the file; "
                    f"by name there are {', '.join(sorted(GIVEN))}",
                    pointer=f"{_REWARDS}/{place}/names",
                )


@rule("FTC590", "parted-answers", "error", reads=("plan",), fix_safety="unsafe")
def parted_answers(case: Case) -> Iterator[Problem]:
    """What it is: The global batch is no multiple of the answers per prompt.

    Why it matters: An answer is worth what it gets beyond the mean of all answers to its prompt, so
    a step has all of them: the trainer refuses another batch.

    Example: {"objective": {"type": "grpo", "num_generations": 8}, "training": {"global_batch": 20}}

    Use instead: {"objective": {"type": "grpo", "num_generations": 8},
     "training": {"global_batch": 24}}
    """
    asked, group = case.spec.training.global_batch, decide_generations(case.spec).value
    planned = case.plan.decisions.global_batch.value
    if samples(case.spec) and asked not in {"auto", planned}:
        yield Problem(
            message=f"a batch of {asked:,} answers cannot be divided into groups of {group} and "
            "equal passes",
            help=f"use {planned:,} for `training.global_batch`",
            pointer="/training/global_batch",
            fix=(put("/training/global_batch", planned),),
        )


@rule("FTC591", "fewer-prompts-than-a-step", "error", reads=("plan",))
def fewer_prompts_than_a_step(case: Case) -> Iterator[Problem]:
    """What it is: A step needs more prompts than the training split has.

    Why it matters: The pinned trainer leaves out prompts that fill no whole step: none would be
    left, and training would end at once.

    Example: {"data": "ten-questions.jsonl", "objective": {"type": "grpo", "num_generations": 8},
     "training": {"global_batch": 256}}

    Use instead: {"data": "ten-questions.jsonl",
     "objective": {"type": "grpo", "num_generations": 8}, "training": {"global_batch": 32}}
    """
    if not samples(case.spec):
        return
    decided, group = case.plan.decisions, decide_generations(case.spec).value
    prompts, rows = decided.global_batch.value // group, decided.train_rows.value
    if prompts > rows:
        yield Problem(
            message=f"a step of {decided.global_batch.value:,} answers has {prompts:,} prompts, "
            f"and the training split {rows:,}",
            help=f"use at most {rows * group:,} in `training.global_batch`, or bring more rows",
            pointer="/training/global_batch",
        )


@rule("FTC592", "best-by-other-than-reward", "error")
def best_by_other_than_reward(case: Case) -> Iterator[Problem]:
    """What it is: Something else than the mean reward is to choose the best checkpoint.

    Why it matters: Answers are tried so that they are rewarded, and the best checkpoint is that of
    the highest mean reward on validation rows. The loss of tried answers is near zero throughout
    and says nothing.

    Example: {"objective": "grpo", "training": {"evaluation": {"best_by": "metric"}}}

    Use instead: {"objective": "grpo"}
    """
    if not samples(case.spec):
        return
    best_by, pointer = case.spec.training.evaluation.best_by, "/training/evaluation/best_by"
    if best_by == "metric" or pointer in case.spec.said:
        yield Problem(
            message="`training.evaluation.best_by` is set, and the best checkpoint is that of the "
            "highest mean reward",
            help="leave it out",
            pointer=pointer,
            fix=({"op": "remove", "path": pointer},),
        )


@rule("FTC593", "answers-of-divided-weights", "error", reads=("plan",), fix_safety="unsafe")
def answers_of_divided_weights(case: Case) -> Iterator[Problem]:
    """What it is: Answers are to be tried while the weights are divided among processes.

    Why it matters: Every token of an answer needs all of the weights. Under ZeRO-3 and FSDP the
    trainer gathers them on each GPU for that, so what was saved by dividing them is needed again,
    and the plan's memory would be too low.

    Example: {"objective": "grpo", "distribution": {"strategy": "zero3"}}

    Use instead: {"objective": "grpo", "distribution": {"strategy": "zero2"}}
    """
    sharding = case.plan.decisions.sharding.value
    if samples(case.spec) and sharding in ("zero3", "fsdp"):
        name = "FSDP" if sharding == "fsdp" else "ZeRO-3"
        yield Problem(
            message=f"each answer is written with all of the weights, and {name} divides them",
            help="use `zero2`, `lora` or `qlora`, or a smaller model",
            pointer="/distribution/strategy",
            fix=(put("/distribution/strategy", "zero2"),)
            if case.spec.distribution.strategy in ("zero3", "fsdp")
            else (),
        )


@rule("FTC594", "no-room-for-an-answer", "error", reads=("model", "data", "plan"))
def no_room_for_an_answer(case: Case) -> Iterator[Problem]:
    """What it is: The longest prompt and the longest answer are longer than the model's context.

    Why it matters: Beyond it the model has never learned where it is in a text: what it writes
    there is noise, which rewards would judge.

    Example: {"model": "openai-community/gpt2", "objective": {"type": "grpo",
     "answer_tokens": 2000}}

    Use instead: {"model": "openai-community/gpt2", "objective": {"type": "grpo",
     "answer_tokens": 256}}
    """
    if not samples(case.spec):
        return
    tokens, context = case.plan.decisions.answer_tokens.value, case.model.context_tokens
    prompt = min(case.data.lengths.prompt_max, case.plan.decisions.max_length.value)
    if prompt + tokens > context:
        yield Problem(
            message=f"the longest prompt has {prompt:,} tokens and an answer up to {tokens:,}, and "
            f"the model's context is {context:,}",
            help=f"set `objective.answer_tokens` to {max(1, context - prompt):,} or less",
            pointer="/objective/answer_tokens",
        )


def _misfit(function: RewardFunction | None) -> str | None:
    """Return why a function cannot be called as a reward, None where it can."""
    if function is None:
        return "is not defined at the top of the file"
    if unknown := [need for need in function.needs if need not in GIVEN]:
        return f"needs `{unknown[0]}`, which no reward is given"
    if not function.by_name or not function.takes_others:
        return "has no `**kwargs` for what else it is given by name"
    return None


def _alone(case: Case) -> bool:
    return len(list_rewards(case.spec)) == 1
