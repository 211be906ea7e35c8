"""Groups of answers: batches hold whole ones, and steps count what the trainer counts."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.objective.sampling import arrange_groups, decide_group_batch
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.time.run import pass_tokens
from ftc.compiler.resolve.facts import Facts, known
from ftc.spec.sections import Spec

Build = Callable[[Mapping[str, Any]], tuple[Spec, Facts]]
GRPO: Mapping[str, Any] = {
    "/spec/objective/type": "grpo",
    "/facts/data/labels": [],
    "/facts/data/rewards": {"rows": 1000, "numbered_rows": 1000},
}


def plan(build: Build, **edits: Any) -> Plan:
    """Return the plan of the base case under GRPO, with some fields of the spec changed."""
    changes = {f"/spec/{name.replace('__', '/')}": value for name, value in edits.items()}
    spec, facts = build({**GRPO, **changes})
    every = known(facts)
    assert every is not None
    return make_plan(spec, every)


@pytest.mark.parametrize("group", [2, 6, 8, 16])
def test_a_step_has_whole_groups(build: Build, group: int) -> None:
    """16 prompts of 4,000, and the answers to each."""
    decided = plan(build, objective__num_generations=group).decisions

    assert decided.batch.global_batch.value == 16 * group
    assert decided.batch.micro_batch.value * decided.batch.accumulation.value == 16 * group


def test_fewer_answers_are_left_out_of(build: Build) -> None:
    """RLOO compares four answers, and has one loss; both have no reference by default."""
    decided = plan(build, objective__type="rloo").decisions

    assert decided.sampling.num_generations is not None
    assert decided.sampling.num_generations.value == 4
    assert decided.sampling.policy_loss is None
    assert decided.comparison.beta is not None
    assert decided.comparison.beta.value == 0


def test_a_smaller_pass_saves_no_padding(build: Build) -> None:
    """All rows of a step are padded to its longest before they are cut into passes."""
    spec, facts = build(GRPO)
    every = known(facts)
    assert every is not None
    batch = decide_group_batch(spec, train_rows=4000, world=1)
    rows = arrange_groups(spec, every.data, batch, rows=4000, max_length=500, answer_tokens=200)

    passes = {micro: pass_tokens(rows, micro=micro, world=1, step=128) for micro in (1, 16, 128)}

    assert len(set(passes.values())) == 1
    assert passes[1] > 1.5 * rows.lengths.mean


def test_an_epoch_leaves_out_what_fills_no_step(build: Build) -> None:
    """4,000 prompts in steps of 3: 1,333, and one prompt is left."""
    decided = plan(build, training__global_batch=24, training__epochs=1).decisions

    assert decided.splits.train_rows.value == 4000
    assert decided.training.total_steps.value == 1333


def test_answers_are_as_long_as_the_data_ask_for(build: Build) -> None:
    """Half as long again as the longest, 64 at least; the spec's number wins."""
    spec, facts = build({**GRPO, "/facts/data/lengths/answer_max": 40})
    every = known(facts)
    assert every is not None
    assert make_plan(spec, every).decisions.most_answer_tokens == 64
    assert plan(build, objective__answer_tokens=300).decisions.most_answer_tokens == 300


@pytest.mark.parametrize(("context", "tokens"), [(32768, 256), (600, 600)])
def test_final_answers_leave_room_for_reasoning(build: Build, context: int, tokens: int) -> None:
    """References of one number get 256 tokens, or what the context leaves; the reason says so."""
    edits = {"/facts/data/lengths/answer_max": 3, "/facts/model/context_tokens": context}
    spec, facts = build({**GRPO, **edits})
    every = known(facts)
    assert every is not None

    decided = make_plan(spec, every).decisions.answer_tokens

    assert decided is not None
    assert decided.value == min(tokens, context - every.data.lengths.prompt_max)
    assert "reasoning" in sentence(decided.because)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("Qwen/Qwen3-8B", None, 2048),
        ("Qwen/Qwen3-8B", {"enable_thinking": False}, 256),
        ("Qwen/Qwen3-8B-Base", None, 256),
        ("Qwen/Qwen3-4B-Instruct-2507", None, 256),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", None, 2048),
    ],
)
def test_a_model_that_reasons_by_itself_gets_more(
    build: Build, name: str, options: Mapping[str, bool] | None, expected: int
) -> None:
    """Also where its template was not read, so that only its name tells."""
    edits = {"/spec/model/id": name, "/facts/data/lengths/answer_max": 3}
    if options is not None:
        edits["/spec/data/template_options"] = options
    spec, facts = build({**GRPO, **edits, "/facts/tokenizer/reasoning": None})
    every = known(facts)
    assert every is not None
    assert make_plan(spec, every).decisions.most_answer_tokens == expected


def test_exact_words_need_no_reasoning(build: Build) -> None:
    """An answer that has to equal one word has no room for reasoning before it."""
    words = {"/facts/data/rewards": {"rows": 1000, "numbered_rows": 0}}
    spec, facts = build({**GRPO, **words, "/facts/data/lengths/answer_max": 3})
    every = known(facts)
    assert every is not None
    assert make_plan(spec, every).decisions.most_answer_tokens == 64


def test_answers_take_memory(build: Build) -> None:
    """The plan has a phase for them, and longer ones need more in it."""
    short, long = plan(build), plan(build, objective__answer_tokens=2000)

    assert 0 < short.memory.phases["generation"] < long.memory.phases["generation"]


def test_a_reference_is_there_where_beta_is(build: Build) -> None:
    """None by default; of an adapter the base itself, of all weights a copy of them."""
    without, adapter = plan(build), plan(build, objective__beta=0.04)

    assert "reference" not in without.memory.phases
    assert "reference" in adapter.memory.phases
    assert without.decisions.comparison.beta is not None
    assert without.decisions.comparison.beta.value == 0


def test_the_numbers_of_the_data_choose_the_reward(build: Build) -> None:
    """Where hardly an answer lacks one; else answers are compared as they are."""
    numeric, exact = plan(build).decisions, None
    spec, facts = build({**GRPO, "/facts/data/rewards": {"rows": 1000, "numbered_rows": 500}})
    every = known(facts)
    assert every is not None
    exact = make_plan(spec, every).decisions

    assert numeric.sampling.rewards is not None
    assert exact.sampling.rewards is not None
    assert (numeric.sampling.rewards.value, numeric.evaluation.metric.value) == (
        ("numeric",),
        "numeric_match",
    )
    assert (exact.sampling.rewards.value, exact.evaluation.metric.value) == (
        ("exact",),
        "exact_match",
    )


def test_vllm_takes_its_memory_while_it_generates(build: Build) -> None:
    """A second copy of the weights and a cache in the training process, or nothing of it there."""
    spec, facts = build({**GRPO, "/spec/objective/vllm": "colocate"})
    every = known(facts)
    assert every is not None
    beside, alone = make_plan(spec, every), plan(build)
    generation = beside.memory.parts["generation"]
    share = beside.decisions.engine.vllm_share

    assert share is not None
    assert (
        generation["copies"] == 2 * every.model.parameters == share.because.values["weights_bytes"]
    )
    assert generation["cache"] == share.because.values["cache_bytes"]
    needed = share.because.values["needed_bytes"]
    assert sum(generation.values()) - generation["static"] == needed
    assert share.value * every.hardware.memory_bytes >= needed
    assert "reference" not in alone.memory.phases  # it has no pass without gradients
    assert "extra_pass" in beside.memory.phases  # its own log-probabilities
    assert alone.decisions.engine.vllm_share is None


def test_a_server_has_the_last_gpu(build: Build) -> None:
    """Of four, three train; they generate nothing, and the server holds the answers of all."""
    spec, facts = build({**GRPO, "/spec/objective/vllm": "server", "/facts/hardware/count": 4})
    every = known(facts)
    assert every is not None
    made = make_plan(spec, every)
    share = made.decisions.engine.vllm_share

    assert made.decisions.distribution.world.value == 3
    assert "less the one that generates" in sentence(made.decisions.distribution.world.because)
    assert "generation" not in made.memory.phases
    assert share is not None
    arriving = share.because.values["arriving_bytes"]
    assert arriving == 2 * (1024**3 + 2 * 152_064 * 3584)  # two packs, each up to an embedding more
    assert share.value == math.floor(90 - 100 * arriving / every.hardware.memory_bytes) / 100


@pytest.mark.parametrize("mode", ["server", "colocate"])
def test_vllm_lets_the_weights_be_divided(build: Build, mode: str) -> None:
    """Where all of them are trained: they are gathered to be sent, and nothing is merged."""
    edits = {**GRPO, "/spec/objective/vllm": mode, "/facts/hardware/count": 3}
    full = {**edits, "/spec/method/type": "full"}
    parts, parameters = {}, 0
    for strategy in ("zero2", "zero3"):
        spec, facts = build({**full, "/spec/distribution/strategy": strategy})
        every = known(facts)
        assert every is not None
        parameters = every.model.parameters
        parts[strategy] = make_plan(spec, every).memory.parts["sending"]

    embedding = 2 * 152_064 * 3584
    pack = 1024**3 + embedding
    copies = 2 * pack if mode == "server" else 2 * parameters
    assert {each["copies"] for each in parts.values()} == {copies}
    assert parts["zero2"]["gathered"] == 0
    assert parts["zero3"]["gathered"] == (pack if mode == "server" else embedding)

    large = {
        "/config/hidden_size": 5120,
        "/config/num_hidden_layers": 64,
        "/facts/hardware/count": 8,
    }
    chosen = {}
    for method in ("full", "lora"):
        spec, facts = build({**edits, **large, "/spec/method/type": method})
        every = known(facts)
        assert every is not None
        chosen[method] = make_plan(spec, every).decisions.distribution.sharding.value
    assert chosen["full"] == "zero3" != chosen["lora"]


def test_calls_of_tools_have_room_and_memory(build: Build) -> None:
    """Each round adds tokens to an answer; a result is read again, and twice the tokens kept."""
    alone = plan(build, objective__max_tool_calling_iterations=2)
    calling = plan(build, objective__tools="tools.py", objective__max_tool_calling_iterations=2)
    more = plan(build, objective__tools="tools.py", objective__max_tool_calling_iterations=6)

    added = alone.decisions.most_answer_tokens + 2 * 64
    assert calling.decisions.most_answer_tokens == added
    assert more.decisions.most_answer_tokens == added + 4 * 64
    assert alone.decisions.sampling.tool_rounds is None
    assert calling.decisions.answer_tokens is not None
    assert "2 calls" in sentence(calling.decisions.answer_tokens.because)
    given = {"objective__answer_tokens": 256, "training__micro_batch": 4}
    short = plan(build, **given)
    called = plan(build, objective__tools="tools.py", **given)
    assert called.memory.phases["generation"] > short.memory.phases["generation"]
    assert called.time is not None
    assert short.time is not None
    assert called.time.training_seconds > short.time.training_seconds


def test_an_evaluation_generates_its_answers(build: Build) -> None:
    """More answers take longer, and longer answers too."""
    usual = {"training__evaluation__every_steps": 10, "training__max_steps": 100}

    def seconds(**edits: Any) -> float:
        time = plan(build, **usual, **edits).time
        assert time is not None
        return time.evaluation_seconds

    every = seconds()
    assert seconds(objective__answer_tokens=1600) > 3 * every
    assert seconds(training__evaluation__answered_rows=1) < every


@pytest.mark.parametrize("objective", ["grpo", "rloo", "distill"])
def test_prompts_alone_are_planned_with_the_longest_answers(build: Build, objective: str) -> None:
    """The data say nothing of them: time and padding count all tokens that an answer may have."""
    alone = {"/facts/data/form": "prompt", "/facts/data/completion": None}
    spec, facts = build({**GRPO, **alone, "/spec/objective/type": objective})
    every = known(facts)
    assert every is not None
    batch = decide_group_batch(spec, train_rows=4000, world=1)
    data = every.data
    rows = arrange_groups(spec, data, batch, rows=4000, max_length=500, answer_tokens=200)

    assert rows.lengths.max == data.lengths.max + 200
    assert rows.lengths.answer_max == rows.lengths.answer_p50 == 200
    assert [n for _, n in rows.lengths.histogram] == [n for _, n in data.lengths.histogram]
    decided = make_plan(spec, every).decisions
    assert (decided.most_answer_tokens, decided.evaluation.metric.value) == (256, "none")
    assert decided.answer_tokens is not None
    assert "no answers to measure" in sentence(decided.answer_tokens.because)
