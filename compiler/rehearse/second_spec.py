"""The rehearsal's own spec: the user's, with a small model, few rows, few steps and a CPU."""

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Final

from ftc.compiler.knowledge.objectives import compares_texts, has_teacher
from ftc.compiler.plan.objective.sampling import find_rewards, rewarded, samples
from ftc.compiler.plan.plan import Plan
from ftc.compiler.relocation import relocate_checks, relocate_sources
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.normal import lengthen
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources
from ftc.spec.text.document import Document

ROWS: Final = 48
STEPS: Final = 4
CHECKPOINT_STEPS: Final = 2
PROCESSES: Final = 2  # if the real run has several
LONGEST_TOKENS: Final = 1024
_MARGIN_TOKENS: Final = 64  # for the answer, beside the longest prompt
_HELD_OUT: Final = 0.1
#: Small, so that a few steps do not teach an untrained model to give empty answers.
_LEARNING_RATE: Final = 1e-4
_COMPARED: Final = "F16"
_TRIED: Final = 4  # answers to a prompt
_TRIED_TOKENS: Final = 16
_MOST_REWARDS: Final = 16
_ANY_DROP: Final = 10  # the largest bound of a regression check
#: About a third of the texts that an untrained model writes end with one of these.
_SOMETIMES: Final = r"[a-m]\W*$"
#: Limits that an untrained model cannot meet, because it finds many words about as likely. The
#: divergence is tested as for any other model; `tokens` is what so few rows contain.
_VERIFY: Final[Mapping[str, Any]] = {
    "max_divergence": "auto",
    "min_agreement": 0,
    "max_perplexity_ratio": 1_000_000,
    "max_metric_drop": 1,
    "tokens": 1024,
}


def make_second_spec(
    document: Document, *, spec: Spec, plan: Plan, data: DataFacts, folder: Path
) -> dict[str, Any]:
    """Return the spec of the rehearsal in `folder`, with its model in `folder`/model.

    It states the decisions of the real run's plan, so that they are not made a second time.
    """
    second = {section: lengthen(section, value) for section, value in document.data.items()}
    second["model"] = _model(second["model"], spec)
    if spec.model.chat_template is not None:
        template = document.folder / spec.model.chat_template
        second["model"]["chat_template"] = _seen_from(template, folder)
    second["data"] = _data(second["data"], spec, plan, data)
    if data.path is not None:
        second["data"]["source"] = _seen_from(document.folder / data.path, folder)
    if data.sources:
        second["data"]["sources"] = _sources(document, spec, data, folder)
    if "method" in second:
        second["method"] = _method(second["method"], spec, plan)
    second["training"] = _training(second.get("training", {}), spec, plan)
    if data.regression:
        paths = [
            None if file is None else _seen_from(document.folder / file.path, folder)
            for file in data.regression
        ]
        second["training"] = _compared(relocate_checks(second["training"], paths))
    if has_teacher(spec.objective.type):
        second["objective"] = _taught(document, spec, plan)
    if rewarded(spec.objective):
        second["objective"] = _tried(document, spec, plan, data, folder)
        several_groups = (
            _TRIED * 2 * (PROCESSES if plan.decisions.distribution.world.value > 1 else 1)
        )
        second["training"] |= {"global_batch": several_groups, "micro_batch": _TRIED}
    several = (
        plan.decisions.distribution.world.value > 1
        or plan.decisions.distribution.sharding.value != "single"
    )
    second["hardware"] = {"gpu": "cpu", "count": PROCESSES if several else 1}
    second["tracking"] = {"type": "none"}  # nothing of a rehearsal belongs in the user's tracker
    second.pop("distribution", None)
    second.pop("launch", None)
    if several:
        second["distribution"] = {"strategy": plan.decisions.distribution.sharding.value}
        if plan.decisions.distribution.sharding.value.startswith("zero"):
            second["distribution"]["offload"] = plan.decisions.distribution.offload.value
    if spec.export.types:
        others = [kind for kind in spec.export.types if kind != _COMPARED]
        second["export"] = {**second["export"], "types": [_COMPARED, *others]}
    if (spec.export.types or spec.export.vllm) and not compares_texts(spec.objective.type):
        second["export"] = {**second["export"], "verify": dict(_VERIFY)}
    return second


def _model(written: Mapping[str, Any], spec: Spec) -> dict[str, Any]:
    model = {key: value for key, value in written.items() if key != "revision"}
    model["id"] = "./model"
    if spec.model.attention == "flash_attention_2":
        model["attention"] = "auto"
    return model


def _method(written: Mapping[str, Any], spec: Spec, plan: Plan) -> dict[str, Any]:
    """Name layers that the miniature has: the last one, and kinds of modules instead of numbers."""
    method = {key: value for key, value in written.items() if key != "layers"}
    targets = plan.decisions.lora.lora_targets
    if spec.method.target_pattern is not None and targets is not None:
        kinds = "|".join(re.escape(kind) for kind in targets.value)
        method["target_pattern"] = rf".*\.({kinds})"
    return method


def _data(written: Mapping[str, Any], spec: Spec, plan: Plan, facts: DataFacts) -> dict[str, Any]:
    data = {**written, "max_rows": min(ROWS, spec.data.max_rows or ROWS)}
    if facts.sources:  # each source has its own limit, so that none is left out
        data.pop("max_rows")
    room = max(LONGEST_TOKENS, facts.lengths.prompt_max + _MARGIN_TOKENS)
    data["max_length"] = min(plan.decisions.rows.max_length.value, room)
    if plan.decisions.rows.packing.value != "none":
        data["packing"] = plan.decisions.rows.packing.value
    splits = spec.data.splits
    data["splits"] = {
        **written.get("splits", {}),
        "test": max(splits.test, _HELD_OUT) if splits.test else 0,
        "validation": max(splits.validation, _HELD_OUT) if splits.validation else 0,
    }
    return data


def _sources(document: Document, spec: Spec, data: DataFacts, folder: Path) -> list[Any]:
    """Return the sources with paths relative to the folder, each with its share of the few rows."""
    sources = list_sources(spec.data)
    paths = [
        None if part.path is None else _seen_from(document.folder / part.path, folder)
        for part in data.sources
    ]
    each = -(-ROWS // len(sources))
    long = [
        item if isinstance(item, Mapping) else {"source": item}
        for item in document.data["data"]["sources"]
    ]
    few = [
        {**item, "max_rows": min(each, source.max_rows or each)}
        for item, source in zip(long, sources, strict=True)
    ]
    return relocate_sources({"data": {"sources": few}}, paths)


def _tried(
    document: Document, spec: Spec, plan: Plan, data: DataFacts, folder: Path
) -> dict[str, Any]:
    """Return the objective with fewer and shorter answers, and a reward that some of them get.

    An untrained model's answers hardly ever earn the user's rewards. If all answers earn the same
    reward, nothing is learned, and the real run would fail.
    """
    objective: dict[str, Any] = {"type": spec.objective.type}
    written = document.data.get("objective")
    if isinstance(written, Mapping):
        objective |= written
    rewards = []
    for reward in find_rewards(spec.objective, data)[: _MOST_REWARDS - 1]:
        known = {key: getattr(reward, key) for key in ("match", "regex", "json_schema")}
        known |= {"functions": reward.functions, "names": list(reward.names) or None}
        for key in ("json_schema", "functions"):
            if isinstance(known[key], str):
                known[key] = _seen_from(document.folder / known[key], folder)
        given = {key: value for key, value in known.items() if value is not None}
        rewards.append({**given, "weight": reward.weight})
    if spec.objective.tools is not None:
        objective["tools"] = _seen_from(document.folder / spec.objective.tools, folder)
    tokens = min(_TRIED_TOKENS, plan.decisions.most_answer_tokens)
    return {
        **objective,
        "rewards": [*rewards, {"regex": _SOMETIMES}],
        "num_generations": _TRIED,
        "answer_tokens": tokens,
    }


def _taught(document: Document, spec: Spec, plan: Plan) -> dict[str, Any]:
    """Return the objective with a small teacher, and short answers if it samples them."""
    written = document.data["objective"]
    teacher = {"id": "./teacher", "quantization": spec.objective.teacher.quantization}
    if not samples(spec.objective):
        return {**written, "teacher": teacher}
    tokens = min(_TRIED_TOKENS, plan.decisions.most_answer_tokens)
    return {**written, "teacher": teacher, "answer_tokens": tokens}


def _training(written: Mapping[str, Any], spec: Spec, plan: Plan) -> dict[str, Any]:
    decided = plan.decisions
    training = {key: value for key, value in written.items() if key != "epochs"}
    several = (
        decided.distribution.world.value > 1 or decided.distribution.sharding.value != "single"
    )
    micro, passes = (
        min(2, decided.batch.micro_batch.value),
        min(2, decided.batch.accumulation.value),
    )
    evaluation = dict(training.get("evaluation", {}))
    if spec.data.splits.validation:
        evaluation["every_steps"] = CHECKPOINT_STEPS
        evaluation["allow_worse"] = (
            True  # four steps show that a run works, not that the result is good
        )
    if spec.data.splits.test:
        evaluation["metric"] = decided.evaluation.metric.value
    training |= {
        "max_steps": STEPS,
        "micro_batch": micro,
        "global_batch": micro * passes * (PROCESSES if several else 1),
        "learning_rate": min(_LEARNING_RATE, decided.training.learning_rate.value),
        "precision": "auto",
        "gradient_checkpointing": decided.batch.gradient_checkpointing.value,
        "evaluation": evaluation,
    }
    return training


def _compared(training: Mapping[str, Any]) -> dict[str, Any]:
    """Return the section with checks that pass: a random model has nothing to lose."""
    evaluation = training["evaluation"]
    checks = [{**check, "max_drop": _ANY_DROP} for check in evaluation["regression"]]
    return {**training, "evaluation": {**evaluation, "regression": checks}}


def _seen_from(path: Path, folder: Path) -> str:
    """Return a path relative to the rehearsal's folder, or else an absolute one."""
    try:
        relative = PurePath(os.path.relpath(path.absolute(), folder)).as_posix()
    except ValueError:  # another drive on Windows
        return path.absolute().as_posix()
    return relative if relative.startswith(".") else f"./{relative}"
