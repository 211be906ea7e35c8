"""The rules about rewards and answers that are tried (FTC545, FTC546, FTC584 to FTC596)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.objective.sampling import (
    THINKING_TOKENS,
    calls_tools,
    decide_generations,
    find_rewards,
    rewarded,
    samples,
    thinks,
)
from ftc.compiler.resolve.content.rewards import list_rewards
from ftc.compiler.resolve.detail_facts import RewardFunction
from ftc.spec.message import Message

_REWARDS: Final = "/objective/rewards"
_SELDOM: Final = 0.9
_LONG_SECONDS: Final = 24 * 3600
_EXPLAINED: Final = 0.5  # of the answers, with the steps before the result
_LONG_TOKENS: Final = 32  # of an answer that nobody hits to the letter by chance
#: What a reward function is given, by name: TRL's own arguments and the columns of the rows.
GIVEN: Final = frozenset(
    {
        "prompts", "completions", "completion_ids", "answer", "input_ids", "labels", "prompt_ids",
        "trainer_state", "log_extra", "log_metric",
    }
)  # fmt: skip


def needs_answers(case: Case) -> bool:
    """Return whether a reward compares what is sampled with the answer of the row."""
    if not rewarded(case.spec.objective):
        return False
    rewards, held = list_rewards(case.spec.objective), case.data.rewards
    needy = {one.name for one in held.functions if "answer" in one.needs} if held else set()
    return not rewards or any(
        reward.match is not None or needy.intersection(reward.names or ()) for reward in rewards
    )


@rule("FTC584", "reward-without-answers", "error", reads=("data",))
def reward_without_answers(case: Case) -> Iterator[Problem]:
    """What it is: A reward compares with the right answer, and the rows are prompts alone.

    Why it matters: `exact`, `numeric` and functions that take `answer` get the answer of the row.
    Without one nothing can be compared, and training would stop at its first step.

    Example: {"data": "questions.jsonl", "objective": {"type": "grpo", "rewards": ["numeric"]}}

    Use instead: {"data": "questions.jsonl",
     "objective": {"type": "grpo", "rewards": [{"regex": "<answer>.+</answer>"}]}}
    """
    if case.data.form != "prompt" or not rewarded(case.spec.objective):
        return
    columns = [name for name in case.data.columns if name != case.data.prompt]
    help_ = "columns" if columns else ""
    rewards = list_rewards(case.spec.objective)
    if not rewards:
        yield problem(_REWARDS, message="auto", help=help_, columns=columns)
    functions = {one.name: one for one in case.data.rewards.functions} if case.data.rewards else {}
    for place, reward in enumerate(rewards):
        pointer = f"{_REWARDS}/{place}"
        if reward.match is not None:
            yield problem(pointer, help=help_, match=reward.match, columns=columns)
        for name in reward.names or ():
            if name in functions and "answer" in functions[name].needs:
                yield problem(
                    pointer,
                    message="function",
                    help=help_,
                    name=name,
                    file=reward.functions or "",
                    columns=columns,
                )


@rule("FTC545", "truncated-prompts", "error", reads=("data",), fix_safety="unsafe")
def truncated_prompts(case: Case) -> Iterator[Problem]:
    """What it is: Rows that are too long are to be truncated, and the rows are prompts alone.

    Why it matters: The end of a prompt is its question, and the mark that the model's answer
    begins. A prompt without it asks for something else.

    Example: {"data": {"source": "questions.jsonl", "cleaning": {"overlong": "truncate"}},
     "objective": "grpo"}

    Use instead: {"data": "questions.jsonl", "objective": "grpo"}
    """
    pointer = "/data/cleaning/overlong"
    if case.data.form == "prompt" and case.spec.data.cleaning.overlong == "truncate":
        yield problem(pointer, fix=(put(pointer, "drop"),))


@rule("FTC546", "days-of-answers-on-cpu", "warning", reads=("hardware", "plan"))
def days_of_answers_on_cpu(case: Case) -> Iterator[Problem]:
    """What it is: On a CPU, the answers that training samples take more than a day.

    Why it matters: Each token of an answer takes a pass over all weights, and a CPU reads them some
    thirty times as slowly as a GPU. Most of such a run is spent on writing answers.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct", "objective": "grpo", "hardware": "cpu"}

    Use instead: {"model": "Qwen/Qwen2.5-0.5B-Instruct", "objective": {"type": "grpo",
     "answer_tokens": 64}, "training": {"max_steps": 50}, "hardware": "cpu"}
    """
    seconds = case.plan.time_seconds
    if case.hardware.kind == "gpu" or not samples(case.spec.objective) or seconds is None:
        return
    if seconds > _LONG_SECONDS:
        decided = case.plan.decisions
        yield problem(
            "/hardware/gpu",
            hours=seconds / 3600,
            steps=decided.training.total_steps.value,
            answers=decided.batch.global_batch.value,
            tokens=decided.most_answer_tokens,
        )


@rule("FTC585", "unusable-reward", "error", reads=("data",))
def unusable_reward(case: Case) -> Iterator[Problem]:
    """What it is: A reward names a file that cannot be used, or an invalid pattern.

    Why it matters: The file of functions must exist and be Python, the schema must be a JSON
    Schema, and the pattern a Python regular expression. ftc reads them and never runs them.

    Example: {"objective": {"type": "grpo", "rewards": [{"regex": "(unclosed"}]}}

    Use instead: {"objective": {"type": "grpo", "rewards": [{"regex": "(closed)"}]}}
    """
    found = case.data.rewards
    for fault in found.faults if found else ():
        yield problem(
            f"{_REWARDS}/{fault.place}",
            place=fault.place + 1,
            what=Message(fault.key, fault.values),
        )


@rule("FTC586", "unclear-reward", "error")
def unclear_reward(case: Case) -> Iterator[Problem]:
    """What it is: A reward sets no kind, several kinds, or a file without its functions.

    Why it matters: Each entry is one of `match`, `regex`, `json_schema` and `functions`; `names`
    lists the functions of that file. The script has one function of each kind, except for patterns.

    Example: {"objective": {"type": "grpo", "rewards": [{"functions": "mine.py"}]}}

    Use instead: {"objective": {"type": "grpo",
     "rewards": [{"functions": "mine.py", "names": ["is_brief"]}]}}
    """
    rewards = list_rewards(case.spec.objective) if rewarded(case.spec.objective) else ()
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
            yield problem(
                pointer,
                message="words" if named else "nothing",
                help="words",
                place=place + 1,
                words=named,
            )
        elif bool(reward.names) != (named[0] == "functions"):
            yield problem(
                pointer,
                message="no_names" if not reward.names else "no_file",
                help="names",
                place=place + 1,
            )
        kinds.update([str(reward.match or kind) for kind in named if kind != "regex"])
    for kind, count in kinds.items():
        if count > 1:
            yield problem(_REWARDS, message="repeated", help="repeated", count=count, kind=kind)


@rule("FTC587", "reward-never-given", "error", reads=("data",), fix_safety="unsafe")
def reward_never_given(case: Case) -> Iterator[Problem]:
    """What it is: Answers are compared by a last number that no answer has, or all weights are 0.

    Why it matters: No answer could be right. All answers get the same reward, zero, and nothing is
    learned.

    Example: {"data": "capitals.jsonl", "objective": {"type": "grpo", "rewards": ["numeric"]}}

    Use instead: {"data": "capitals.jsonl", "objective": {"type": "grpo", "rewards": ["exact"]}}
    """
    found, rewards = case.data.rewards, list_rewards(case.spec.objective)
    if rewards and not any(reward.weight for reward in rewards):
        yield problem(_REWARDS, message="weightless", help="weightless")
    for place, reward in enumerate(rewards):
        if found and found.rows and reward.match == "numeric" and not found.numbered_rows:
            yield problem(
                f"{_REWARDS}/{place}",
                fix=(put(_REWARDS, ["exact"]),) if place == 0 and _alone(case) else (),
                rows=found.rows,
            )


@rule("FTC506", "right-answers-punished", "warning", reads=())
def right_answers_punished(case: Case) -> Iterator[Problem]:
    """What it is: A reward that compares an answer with the right one has a weight below 0.

    Why it matters: Weights multiply rewards. A right answer then gets less than a wrong one, and
    the model learns to make mistakes. A weight below 0 suits what an answer should not contain.

    Example: {"objective": {"type": "grpo", "rewards": [{"match": "exact", "weight": -1}]}}

    Use instead: {"objective": {"type": "grpo",
     "rewards": ["exact", {"regex": "(?i)as an ai", "weight": -1}]}}
    """
    for place, reward in enumerate(list_rewards(case.spec.objective)):
        if reward.match is not None and reward.weight < 0:
            pointer = f"{_REWARDS}/{place}/weight"
            yield problem(pointer, kind=reward.match, weight=reward.weight)


@rule("FTC588", "reward-seldom-given", "warning", reads=("data",))
def reward_seldom_given(case: Case) -> Iterator[Problem]:
    """What it is: The data's own answers would never, or seldom, get a reward.

    Why it matters: The model learns from answers that get a higher reward than others, and learns
    nothing from a reward that is almost never given. Examples are numbers that many answers lack, a
    pattern or a schema that none of them matches, and long texts that must match letter by letter.
    A pattern beside `numeric` or functions may match none of the data's answers. These look for the
    result, and leave the text around it to the pattern.

    Example: {"data": "essays.jsonl", "objective": {"type": "grpo", "rewards": ["exact"]}}

    Use instead: {"data": "essays.jsonl",
     "objective": {"type": "grpo", "rewards": [{"functions": "mine.py", "names": ["covers"]}]}}
    """
    found, patterns = case.data.rewards, 0
    if found is None or not found.rows:
        return
    share = found.numbered_rows / max(1, found.rows)
    explained = found.explained_rows / max(1, found.rows)
    is_format = any(r.match == "numeric" or r.functions for r in list_rewards(case.spec.objective))
    for place, reward in enumerate(find_rewards(case.spec.objective, case.data)):
        pointer = f"{_REWARDS}/{place}" if list_rewards(case.spec.objective) else _REWARDS
        if reward.match == "numeric" and 0 < share < _SELDOM:
            kind = "numeric"
        elif reward.match == "exact" and case.data.lengths.answer_p50 > _LONG_TOKENS:
            kind = "exact"
        elif reward.match == "exact" and explained >= _EXPLAINED:
            kind = "explained"
        elif reward.regex is not None:
            rows = found.matched_rows[patterns] if patterns < len(found.matched_rows) else None
            patterns += 1
            if rows != 0 or is_format:
                continue
            kind = "regex"
        elif reward.json_schema is not None and found.valid_rows == 0:
            kind = "json_schema"
        else:
            continue
        yield problem(
            pointer,
            message=kind,
            help="explained" if kind == "explained" else "",
            share=explained if kind == "explained" else share,
            tokens=case.data.lengths.answer_p50,
            pattern=reward.regex or "",
        )


@rule("FTC589", "missing-reward-function", "error", reads=("data",))
def missing_reward_function(case: Case) -> Iterator[Problem]:
    """What it is: A named function is not in the file, or does not have the signature of a reward.

    Why it matters: The trainer passes the answers (`completions`), the prompts, the rows' `answer`
    and more to every function by name. A function takes those that it needs, and `**kwargs` takes
    the rest.

    Example: {"objective": {"type": "grpo",
     "rewards": [{"functions": "mine.py", "names": ["is_breif"]}]}}

    Use instead: {"objective": {"type": "grpo",
     "rewards": [{"functions": "mine.py", "names": ["is_brief"]}]}}
    """
    found = case.data.rewards
    if found is None:
        return
    defined = {function.name: function for function in found.functions}
    given = GIVEN | {"conversations"} if calls_tools(case.spec.objective) else GIVEN
    for place, reward in enumerate(list_rewards(case.spec.objective)):
        if reward.functions is None or place in {fault.place for fault in found.faults}:
            continue
        for name in reward.names:
            function = defined.get(name)
            if wrong := _misfit(function, given):
                yield problem(
                    f"{_REWARDS}/{place}/names",
                    message=wrong,
                    name=name,
                    file=reward.functions,
                    need=_find_unknown(function, given),
                    given=sorted(given),
                )


@rule("FTC590", "parted-answers", "error", reads=("plan",), fix_safety="unsafe")
def parted_answers(case: Case) -> Iterator[Problem]:
    """What it is: The global batch is not a multiple of the answers per prompt.

    Why it matters: The advantage of an answer is its reward minus the mean reward of all answers to
    its prompt, so a step must contain all of them. The trainer does not start with another batch.

    Example: {"objective": {"type": "grpo", "num_generations": 8}, "training": {"global_batch": 20}}

    Use instead: {"objective": {"type": "grpo", "num_generations": 8},
     "training": {"global_batch": 24}}
    """
    asked, group = case.spec.training.global_batch, decide_generations(case.spec).value
    planned = case.plan.decisions.batch.global_batch.value
    if rewarded(case.spec.objective) and asked not in {"auto", planned}:
        yield problem(
            "/training/global_batch",
            fix=(put("/training/global_batch", planned),),
            asked=asked,
            group=group,
            planned=planned,
        )


@rule("FTC591", "fewer-prompts-than-a-step", "error", reads=("plan",))
def fewer_prompts_than_a_step(case: Case) -> Iterator[Problem]:
    """What it is: A step needs more prompts than the training split has.

    Why it matters: The pinned trainer leaves out prompts that do not fill a whole step. No prompt
    would be left, and training would end at once.

    Example: {"data": "ten-questions.jsonl", "objective": {"type": "grpo", "num_generations": 8},
     "training": {"global_batch": 256}}

    Use instead: {"data": "ten-questions.jsonl",
     "objective": {"type": "grpo", "num_generations": 8}, "training": {"global_batch": 32}}
    """
    if not samples(case.spec.objective):
        return
    decided = case.plan.decisions
    group = decide_generations(case.spec).value if rewarded(case.spec.objective) else 1
    prompts, rows = decided.batch.global_batch.value // group, decided.splits.train_rows.value
    if 0 < rows < prompts:  # FTC224 says that no row is left
        yield problem(
            "/training/global_batch",
            answers=decided.batch.global_batch.value,
            prompts=prompts,
            rows=rows,
            most=rows * group,
        )


@rule("FTC592", "best-by-other-than-reward", "error")
def best_by_other_than_reward(case: Case) -> Iterator[Problem]:
    """What it is: The best checkpoint is to be chosen by something other than the mean reward.

    Why it matters: The training maximises the reward, and the best checkpoint is the one with the
    highest mean reward on validation rows. The loss of sampled answers stays near zero and carries
    no information.

    Example: {"objective": "grpo", "training": {"evaluation": {"best_by": "metric"}}}

    Use instead: {"objective": "grpo"}
    """
    if not rewarded(case.spec.objective):
        return
    best_by, pointer = case.spec.training.evaluation.best_by, "/training/evaluation/best_by"
    if best_by == "metric" or pointer in case.spec.said:
        yield problem(pointer, fix=({"op": "remove", "path": pointer},))


@rule("FTC594", "no-room-for-an-answer", "error", reads=("model", "data", "plan"))
def no_room_for_an_answer(case: Case) -> Iterator[Problem]:
    """What it is: The longest prompt and the longest answer are longer than the model's context.

    Why it matters: Beyond its context the model has not learned any positions: what it writes there
    is noise, and rewards would score that noise.

    Example: {"model": "openai-community/gpt2", "objective": {"type": "grpo",
     "answer_tokens": 2000}}

    Use instead: {"model": "openai-community/gpt2", "objective": {"type": "grpo",
     "answer_tokens": 256}}
    """
    if not samples(case.spec.objective):
        return
    tokens, context = case.plan.decisions.most_answer_tokens, case.model.context_tokens
    prompt = min(case.data.lengths.prompt_max, case.plan.decisions.rows.max_length.value)
    if prompt + tokens > context:
        yield problem(
            "/objective/answer_tokens",
            prompt=prompt,
            tokens=tokens,
            context=context,
            most=max(1, context - prompt),
        )


@rule("FTC595", "reward-for-nothing", "warning", reads=("data",))
def reward_for_nothing(case: Case) -> Iterator[Problem]:
    r"""What it is: A pattern matches every text, or the empty answer gets the only reward.

    Why it matters: A pattern that matches every text gives all answers the same reward, from which
    nothing is learned. A model that is rewarded for the empty answer learns to give it.

    Example: {"objective": {"type": "grpo", "rewards": [{"regex": "\\d*"}]}}

    Use instead: {"objective": {"type": "grpo", "rewards": [{"regex": "\\d+"}]}}
    """
    found = case.data.rewards
    rewards = list_rewards(case.spec.objective) if rewarded(case.spec.objective) and found else ()
    patterns = [place for place, reward in enumerate(rewards) if reward.regex is not None]
    tried = (found.always_matched, found.empty_matched) if found else ((), ())
    for place, always, empty in zip(patterns, *tried, strict=False):
        if always or (empty and len(rewards) == 1):
            yield problem(
                f"{_REWARDS}/{place}",
                message="always" if always else "",
                pattern=rewards[place].regex or "",
            )


@rule("FTC596", "answers-cut-short", "warning", reads=("data", "tokenizer"), fix_safety="unsafe")
def answers_cut_short(case: Case) -> Iterator[Problem]:
    """What it is: `objective.answer_tokens` is less than the answers of data or model need.

    Why it matters: An answer is cut at this length. Where its result stands at the end, a right
    answer is then cut before it, and gets no reward. A model that reasons before each answer needs
    a thousand tokens or more.

    Example: {"data": "long-solutions.jsonl", "objective": {"type": "grpo", "answer_tokens": 16}}

    Use instead: {"data": "long-solutions.jsonl", "objective": "grpo"}
    """
    pointer, tokens = "/objective/answer_tokens", case.spec.objective.answer_tokens
    lengths = case.data.lengths
    if (
        not samples(case.spec.objective)
        or pointer not in case.spec.said
        or not isinstance(tokens, int)
    ):
        return
    if tokens < THINKING_TOKENS // 2 and thinks(case.spec, case.tokenizer.reasoning):
        yield problem(pointer, message="thinking", help="thinking", tokens=tokens)
    elif rewarded(case.spec.objective) and tokens < lengths.answer_p95:  # 0 for prompts alone
        yield problem(
            pointer,
            fix=({"op": "remove", "path": pointer},),
            tokens=tokens,
            median=lengths.answer_p50,
            most=lengths.answer_p95,
        )


def _misfit(function: RewardFunction | None, given: AbstractSet[str]) -> str | None:
    """Return why a function cannot be called as a reward, None where it can."""
    if function is None:
        return "undefined"
    if _find_unknown(function, given):
        return "unknown_need"
    if not function.by_name or not function.takes_others:
        return "no_kwargs"
    return None


def _find_unknown(function: RewardFunction | None, given: AbstractSet[str]) -> str:
    """Return the first parameter that no reward is given, "" where all are known."""
    needs = () if function is None else function.needs
    return next((need for need in needs if need not in given), "")


def _alone(case: Case) -> bool:
    return len(list_rewards(case.spec.objective)) == 1
