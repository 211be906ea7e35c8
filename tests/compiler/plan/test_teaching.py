"""A teacher in the plan: its weights on every process, its passes, and which of its rows stay."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import Facts, known
from ftc.spec.message import read_messages
from ftc.spec.sections import Spec

Build = Callable[[Mapping[str, Any]], tuple[Spec, Facts]]
WRITTEN: Mapping[str, Any] = {"id": "org/teacher", "revision": None, "quantization": "none"}


def plan(build: Build, *, quantization: str = "none", model: Any = None, **edits: Any) -> Plan:
    """Return the plan of the base case as a distillation from a model with these facts."""
    changes = {f"/{name.replace('__', '/')}": value for name, value in edits.items()}
    spec, facts = build(
        {
            "/spec/objective/type": "distill",
            "/spec/objective/teacher": {**WRITTEN, "quantization": quantization},
            "/facts/data/labels": [],
            "/facts/teacher": {"vocabulary": "same", "model": model or {}},
            **changes,
        }
    )
    every = known(facts)
    assert every is not None
    return make_plan(spec, every)


def alone(build: Build) -> Plan:
    """Return the plan of the same model under plain supervised fine-tuning."""
    spec, facts = build({"/facts/data/labels": []})
    every = known(facts)
    assert every is not None
    return make_plan(spec, every)


def test_the_teacher_is_in_every_phase(build: Build) -> None:
    """Its weights stay between steps: they add the same bytes to all that is static."""
    taught, plain = plan(build), alone(build)
    size = taught.decisions.items()["teacher_bytes"].value

    for phase in ("loss", "optimizer_step", "evaluation"):
        more = taught.memory.parts[phase]["static"] - plain.memory.parts[phase]["static"]
        assert more == size
    assert {"teacher", "generation"} <= taught.memory.phases.keys()
    named = {key.removeprefix("phase.") for key in read_messages("en") if key.startswith("phase.")}
    assert taught.memory.phases.keys() <= named


def test_4_bits_are_about_a_third(build: Build) -> None:
    """Embedding and head stay in 16 bits."""
    wide, narrow = (
        plan(build, quantization=kind).decisions.items()["teacher_bytes"].value
        for kind in ("none", "nf4")
    )
    assert 0.25 * wide < narrow < 0.75 * wide


def test_on_two_processes_each_has_the_whole_teacher(build: Build) -> None:
    """Neither DDP nor ZeRO-2 divides it."""
    for strategy in ("ddp", "zero2"):
        made = plan(build, facts__hardware__count=2, spec__distribution__strategy=strategy)
        size = made.decisions.items()["teacher_bytes"].value
        assert made.memory.parts["loss"]["static"] > size


def test_time_has_the_teacher_s_passes(build: Build) -> None:
    """In training, in evaluations and on the test split; a teacher of more layers takes longer."""
    short, none = plan(build).time, alone(build).time
    assert short is not None
    assert none is not None
    assert short.training_seconds > none.training_seconds
    assert short.judging_seconds > none.judging_seconds


@pytest.mark.parametrize(("more", "is_cut"), [(128, True), (0, False)])
def test_rows_beyond_the_student_s_are_dropped(build: Build, more: int, is_cut: bool) -> None:
    """As many stay as the student has."""
    _, facts = build({})
    every = known(facts)
    assert every is not None
    rows = every.model.embedding_rows
    decided = plan(build, model={"embedding_rows": rows + more}).decisions.items()

    assert ("teacher_rows" in decided) == is_cut
    assert not is_cut or decided["teacher_rows"].value == rows


def test_settings_of_a_distillation(build: Build) -> None:
    """The reverse KL, one answer to a prompt, whole steps only, no reference, no rewards."""
    decided = plan(build).decisions.items()

    assert decided["beta"].value == 1.0
    assert decided["temperature"].value == 1.0
    assert not {"rewards", "num_generations", "reference"} & decided.keys()
    steps, batch = decided["total_steps"].value, decided["global_batch"].value
    assert steps <= decided["epochs"].value * decided["train_rows"].value / batch


def test_answers_in_the_data(build: Build) -> None:
    """`gkd` learns them: by the forward KL, without generating any, with all logits at once."""
    given, sampled = plan(build, spec__objective__type="gkd"), plan(build)
    decided = given.decisions.items()

    assert decided["beta"].value == 0.0
    assert not {"temperature", "rewards", "reference"} & decided.keys()
    assert {"loss", "teacher"} <= given.memory.phases.keys()
    assert "generation" not in given.memory.phases
    assert decided["teacher_bytes"].value == sampled.decisions.items()["teacher_bytes"].value
    assert given.time is not None
    assert sampled.time is not None
    assert given.time.training_seconds < sampled.time.training_seconds


@pytest.mark.parametrize(("beta", "times"), [(0, 36), (1, 40), (0.5, 68)])
def test_logits_of_both_models(build: Build, beta: float, times: int) -> None:
    """A mixture has the most of them; see test_logits.py."""
    least = plan(build, spec__objective__type="gkd").memory.parts["loss"]["loss"]
    parts = plan(build, spec__objective__type="gkd", spec__objective__beta=beta).memory.parts

    assert parts["loss"]["loss"] == pytest.approx(least * times / 36, rel=0.02)


def test_an_epoch_has_one_answer_to_each_prompt(build: Build) -> None:
    """Several are for rewards, which compare them."""
    epochs = plan(build).decisions.training.epochs
    assert epochs.because.key == "epochs.sampling_one"
