"""The rules about the teacher of a distillation (FTC130, FTC139, FTC515, FTC564 to FTC569)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES, has_teacher
from ftc.compiler.knowledge.well_known.thinking import is_base
from ftc.compiler.plan.objective.sampling import thinks
from ftc.compiler.resolve.rows.roles import is_answer_name
from ftc.compiler.resolve.teacher import as_model
from ftc.spec.columns.usual_names import usual_name

_TEACHER: Final = "/objective/teacher"
_NAME: Final = "/objective/teacher/id"
_SWITCH: Final = "enable_thinking"


@rule("FTC130", "teacher-smaller-than-student", "warning", reads=("model", "teacher"))
def teacher_smaller_than_student(case: Case) -> Iterator[Problem]:
    """What it is: The teacher has fewer parameters than the model that learns from it.

    Why it matters: The model learns to predict as the teacher does. A larger model usually predicts
    better, so it would get worse. A small teacher is right where it was trained for this task and
    the model was not.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-0.5B-Instruct"}}

    Use instead: {"model": "Qwen/Qwen2.5-0.5B-Instruct",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}
    """
    teacher = case.teacher
    if teacher is not None and teacher.model.parameters < case.model.parameters:
        yield problem(
            _NAME, own=case.model.parameters, teachers=teacher.model.parameters, name=case.model.id
        )


@rule("FTC139", "unloadable-teacher", "error", reads=("teacher",))
def unloadable_teacher(case: Case) -> Iterator[Problem]:
    """What it is: The teacher's weights are quantized or pickles, or it needs custom code.

    Why it matters: The scripts load 16-bit safetensors with the classes of transformers, and
    quantize them in memory where `objective.teacher.quantization` asks for it. Other formats need
    packages that a bundle does not install. Pickles and custom code can run any program.

    Example: {"objective": {"type": "distill", "teacher": "org/teacher-in-GPTQ"}}

    Use instead: {"objective": {"type": "distill",
     "teacher": {"id": "org/teacher-in-16-bits", "quantization": "nf4"}}}
    """
    teacher = case.teacher
    if teacher is None:
        return
    model = teacher.model
    if model.quantized is not None:
        yield problem(_NAME, name=model.id, kind=model.quantized)
    elif model.custom_code:
        yield problem(_NAME, message="code", help="code", name=model.id)
    elif model.pickled:
        yield problem(_NAME, message="pickles", help="pickles", name=model.id)


@rule(
    "FTC515",
    "reasoning-unlike-the-teacher",
    "warning",
    reads=("model", "tokenizer", "teacher"),
    fix_safety="unsafe",
)
def reasoning_unlike_the_teacher(case: Case) -> Iterator[Problem]:
    """What it is: The model reasons before its answers and the teacher does not, or the reverse.

    Why it matters: The model writes its own answers, by its own chat template, and learns the
    teacher's probabilities of their tokens. A teacher that never reasons gives the tokens of a
    reasoning no useful probabilities. One that always reasons expects a reasoning first, and finds
    every token of a direct answer unlikely.

    Example: {"model": "Qwen/Qwen3-0.6B",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen3-4B-Instruct-2507"}}

    Use instead: {"model": "Qwen/Qwen3-0.6B",
     "data": {"source": "questions.jsonl", "template_options": {"enable_thinking": false}},
     "objective": {"type": "distill", "teacher": "Qwen/Qwen3-4B-Instruct-2507"}}
    """
    teacher = case.teacher
    if teacher is None or is_base(case.model.id) or is_base(teacher.model.id):
        return
    own, options = case.tokenizer.reasoning, case.spec.data.template_options or {}
    has_switch = own is not None and _SWITCH in own.options
    is_reasoning = thinks(case.spec, own)
    is_closed = has_switch and options.get(_SWITCH) is False  # no model reasons after the prompt
    if is_closed or is_reasoning == thinks(as_model(case.spec), teacher.reasoning):
        return
    student, name = case.model.id, teacher.model.id
    if is_reasoning and has_switch:
        options = {**options, _SWITCH: False}
        fix = (put("/data/template_options", options),)
        yield problem(_NAME, help="switch", fix=fix, student=student, teacher=name)
    else:
        kind = "" if is_reasoning else "teacher"
        yield problem(_NAME, message=kind, student=student, teacher=name)


@rule("FTC564", "no-teacher", "error")
def no_teacher(case: Case) -> Iterator[Problem]:
    """What it is: The objective learns from a teacher, and no teacher is named.

    Why it matters: A distillation learns the probabilities of another model, not the answers in the
    data.

    Example: {"objective": "distill"}

    Use instead: {"objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}
    """
    objective = case.spec.objective
    if has_teacher(objective.type) and objective.teacher.id is None:
        yield problem(_TEACHER, objective=objective.type)


@rule("FTC565", "teacher-of-other-tokens", "error", reads=("model", "teacher"))
def teacher_of_other_tokens(case: Case) -> Iterator[Problem]:
    """What it is: The teacher has another tokenizer than the model, or fewer rows in its embedding.

    Why it matters: The loss compares the probability of every token, number by number. If a number
    is another token for the teacher, the model learns nonsense. The pinned trainer stops if the two
    have different numbers of rows. A teacher with more rows, as larger models of a family often
    have, is fine: the bundle drops those rows, which belong to no token.

    Example: {"model": "Qwen/Qwen2.5-0.5B-Instruct",
     "objective": {"type": "distill", "teacher": "meta-llama/Llama-3.1-8B-Instruct"}}

    Use instead: {"model": "Qwen/Qwen2.5-0.5B-Instruct",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}
    """
    teacher = case.teacher
    if teacher is None:
        return
    rows, own = teacher.model.embedding_rows, case.model.embedding_rows
    first = teacher.first
    if teacher.vocabulary == "other" and first is not None:
        yield problem(
            _NAME,
            name=teacher.model.id,
            differing=teacher.differing,
            id=first.id,
            student=ascii(first.student),
            teacher=ascii(first.teacher),
        )
    elif teacher.vocabulary == "other":
        yield problem(_NAME, message="family", name=teacher.model.id)
    elif rows < own:
        yield problem(_NAME, message="rows", help="rows", name=teacher.model.id, rows=rows, own=own)


@rule("FTC566", "teacher-is-the-student", "error", reads=("teacher",))
def teacher_is_the_student(case: Case) -> Iterator[Problem]:
    """What it is: `model` and `objective.teacher` name the same model.

    Why it matters: The model predicts as the teacher does from the start. The loss is zero, and
    nothing is learned.

    Example: {"model": "Qwen/Qwen2.5-7B-Instruct",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}

    Use instead: {"model": "Qwen/Qwen2.5-0.5B-Instruct",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}
    """
    if case.teacher is not None and case.teacher.is_student:
        yield problem(_NAME, name=case.teacher.model.id)


@rule("FTC567", "beta-out-of-range", "error", fix_safety="unsafe")
def beta_out_of_range(case: Case) -> Iterator[Problem]:
    """What it is: `objective.beta` is above 1 in a distillation, or 0 where a loss is scaled by it.

    Why it matters: In a distillation beta selects the divergence between the forward KL (0) and the
    reverse KL (1), and the trainer stops at a larger number. In objectives that compare answers it
    scales a term that would then have no effect. At 0, those that sample answers and reward them
    train without a reference.

    Example: {"objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct", "beta": 2}}

    Use instead: {"objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct",
     "beta": 0.5}}
    """
    objective, pointer = case.spec.objective, "/objective/beta"
    beta = objective.beta
    if beta == "auto":
        return
    taught = has_teacher(objective.type)
    if taught and beta > 1:
        yield problem(pointer, fix=(put(pointer, 1),), beta=beta, objective=objective.type)
    if beta == 0 and not taught and not OBJECTIVES[objective.type].samples:
        fix = ({"op": "remove", "path": pointer},)
        yield problem(pointer, message="zero", help="zero", fix=fix, objective=objective.type)


@rule("FTC568", "answers-not-learned", "info", reads=("model", "data"))
def answers_not_learned(case: Case) -> Iterator[Problem]:
    """What it is: The data have answers, and a distillation does not learn them.

    Why it matters: The trainer reads only the prompts: the model writes its own answers and learns
    the teacher's probabilities of their tokens. ftc uses the answers in the data to evaluate. The
    published recipe has two runs: train the model on the answers with `sft` first, then distil it.
    The second spec's `model` is the first one's bundle. Answers of pairs, which are chosen and
    rejected, are not even used to evaluate.

    Example: {"model": "Qwen/Qwen2.5-0.5B", "data": "solutions.jsonl",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}

    Use instead: {"model": "./solutions-by-sft", "data": "solutions.jsonl",
     "objective": {"type": "distill", "teacher": "Qwen/Qwen2.5-7B-Instruct"}}
    """
    trained = case.model.origin == "bundle" or (case.model.path or "").endswith("run/merged")
    objective = case.spec.objective.type
    if not (has_teacher(objective) and OBJECTIVES[objective].samples):
        return
    if case.data.form != "prompt":
        remedy = "trained" if trained else ""
        rows = case.data.usable_rows
        yield problem("/objective/type", help=remedy, objective=objective, rows=rows)
        return
    unread = [name for name in case.data.columns if name not in (case.data.prompt, "")]
    if answers := [name for name in unread if is_answer_name(usual_name(name))]:
        yield problem(
            "/data/source",
            message="unread",
            help="unread",
            objective=objective,
            columns=answers,
            column=answers[0],
        )


@rule("FTC569", "teacher-tokens-unread", "warning", reads=("teacher",))
def teacher_tokens_unread(case: Case) -> Iterator[Problem]:
    """What it is: The tokenizer of the teacher, or that of the model, could not be read.

    Why it matters: Nothing shows that a number is the same token for both. With another tokenizer
    the run would train, and the model would learn nonsense.

    Example: {"model": "Qwen/Qwen2.5-0.5B-Instruct",
     "objective": {"type": "distill", "teacher": "./teacher-without-tokenizer"}}

    Use instead: {"model": "Qwen/Qwen2.5-0.5B-Instruct",
     "objective": {"type": "distill", "teacher": "./teacher-with-tokenizer"}}
    """
    if case.teacher is not None and case.teacher.vocabulary == "unread":
        yield problem(_NAME, name=case.teacher.model.id)
