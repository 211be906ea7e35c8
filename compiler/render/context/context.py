"""The context of the templates: values as literals, reasons as comments, and conditions."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.exports.gguf_types import wants_matrix
from ftc.compiler.knowledge.locked_packages import hash_source
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.batch.lengths import share_above
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.gguf.verification import importance_reason, importance_tokens
from ftc.compiler.plan.memory.peak import shape_of
from ftc.compiler.plan.objective.vectors import pairs_in_passes
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.served import CALIBRATION_TOKENS, calibration_reason
from ftc.compiler.render.context.arguments import listed_words, passed_words
from ftc.compiler.render.context.forms import form_words, list_readers
from ftc.compiler.render.context.publishing import publishing_values
from ftc.compiler.render.context.rewards import reward_values
from ftc.compiler.render.context.sources import source_values
from ftc.compiler.render.context.trainer import (
    checkpointing_options,
    schedule_reasons,
    trainer_settings,
)
from ftc.compiler.render.files.launch import job_options, launch_words
from ftc.compiler.render.method import is_fenced, method_values, token_tables
from ftc.compiler.render.output.values import Comment, Literal, Word
from ftc.compiler.render.source import BundleSource, find_context_tokens, sees
from ftc.compiler.render.uses import Uses
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.regression import list_kinds
from ftc.runtime.vision.image_tokens import limit_pixels, make_rule, to_settings

_DTYPES: Final = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_RESTARTS: Final = 20
_OPEN_ANSWER_TOKENS: Final = 512


def _stores_numbers(uses: Uses) -> bool:
    """Return whether 4-bit weights are stored in a type that can be sharded, not in bytes."""
    storage = uses.decisions.method.quant_storage
    return storage is not None and storage.value != "uint8"


#: Values that only some bundles have, and the bundles that have them.
NEEDED_BY: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "also_train": lambda uses: uses.also_train,
    "answered_rows": lambda uses: uses.best_by_metric,
    "checkpointing_options": lambda uses: bool(checkpointing_options(uses.decisions)),
    "compile": lambda uses: uses.decisions.loop.compile.value,
    "delimiter": lambda uses: "csv" in uses.formats,
    "encoding": lambda uses: uses.facts.data.format != "parquet",
    "epochs": lambda uses: uses.spec.training.max_steps is None,
    "eval_batch": lambda uses: uses.decisions.splits.validation_rows.value > 0,
    "eval_steps": lambda uses: uses.decisions.splits.validation_rows.value > 0,
    "expert_targets": lambda uses: uses.decisions.method.lora_experts is not None,
    "labels": lambda uses: uses.spec.objective.type == "classification",
    "loader_prefetch": lambda uses: (
        uses.decisions.loop.loader_workers.value > 0
        and uses.decisions.loop.loader_prefetch is not None
    ),
    "loader_workers": lambda uses: uses.decisions.loop.loader_workers.value > 0,
    "lora_excluded": lambda uses: is_fenced(uses.source),
    "lora_init": lambda uses: uses.decisions.method.lora_init is not None,
    "optimizer": lambda uses: uses.spec.training.optimizer != "adamw",
    "pair_loss": lambda uses: uses.decisions.comparison.margin is not None,
    "patience": lambda uses: uses.early_stopping,
    "quant_storage": _stores_numbers,
    "schedule_options": lambda uses: bool(schedule_reasons(uses.decisions)),
    "system": lambda uses: uses.system,
    "token_tables": lambda uses: bool(token_tables(uses.source)),
    "total_steps": lambda uses: uses.spec.training.max_steps is not None,
}
_FROZEN_TOWER: Final = "the language model; the tower beside it reads no text and stays as it is"
_IMAGE_RULE: Final = "how the processor makes tokens of an image, by its width and height"
_SAME_BATCH: Final = "each line is the same batch in less memory"
_FEWER_PAIRS: Final = "less memory, but the loss compares only the pairs of one pass"
_PINNED: Final = "the commit that was checked"
_UNPINNED: Final = "the newest: the Hub could not be read; `ftc compile SPEC --update` pins it"


def make_context(source: BundleSource, uses: Uses) -> dict[str, Any]:
    """Return `value`, `why` and `word` to print, and what conditions read.

    These are the spec, the facts, the decisions, the entry of the objective, and `uses`, which
    combines them. `items` are lists of words.
    """
    decided = source.plan.decisions.items()
    values = {**_decided_values(source), **_spec_values(source)}
    return {
        "uses": uses,
        "source": source,
        "spec": source.spec,
        "facts": source.facts,
        "decisions": source.plan.decisions,
        "objective": uses.objective,
        "items": listed_words(uses),
        "readers": list_readers(uses),
        "job_options": job_options(source),
        "value": _literals(_keep_needed(values, uses)),
        "why": {**_reasons(decided), **_more_reasons(source)},
        "word": {
            "restarts": Word(str(_RESTARTS)),
            **launch_words(source),
            **passed_words(uses),
            **_trainer_words(source),
            **form_words(uses),
            "set_prompts": Word(_name_setter(uses)),
            "asked": Word("messages" if uses.template else "prompt"),
            "python": Word("python3" if uses.container else "python"),
            "read_table": Word(f"read_{source.facts.data.format}"),
            "supervisor": Word("nodes" if uses.every_node else "supervise"),
            "train_rows": Word(
                "packed" if uses.decisions.rows.packing.value != "none" else "train_rows"
            ),
            "metric": Word(source.plan.decisions.evaluation.metric.value),
            "processing": Word("images.processor" if uses.vision else "tokenizer"),
            "session": Word("DistributedSession" if uses.distributed else "TrainingSession"),
            "model_class": Word(_model_class(uses)),
        },
    }


def neutralize(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return a context with an ellipsis for every value and one sentence for every reason.

    Which values exist, and so which lines a template renders, stays the same.
    """
    return {
        **context,
        "value": dict.fromkeys(context["value"], Literal(...)),
        "why": dict.fromkeys(context["why"], Comment("a reason")),
    }


def _trainer_words(source: BundleSource) -> dict[str, Word]:
    """Return what begins the names of TRL's classes, where a template serves several of them."""
    name = OBJECTIVES[source.spec.objective.type].trainer
    return {"trainer": Word(name), "trainer_module": Word(name.lower())} if name else {}


def _name_setter(uses: Uses) -> str:
    """Return the function that gives a trainer the prompts of prepare.py."""
    if uses.facts.teacher is not None and uses.decisions.splits.validation_rows.value > 0:
        return (
            "set_prompts_and_seed"
            if uses.facts.data.form == "prompt"
            else "set_prompts_and_answers"
        )
    return "set_prompts_of_calls" if uses.callable_tools else "set_prompts"


def _model_class(uses: Uses) -> str:
    """Return the class of transformers that loads the model to train."""
    if uses.objective.head == "scores":
        return "AutoModelForSequenceClassification"
    image_text = uses.wrapped or uses.vision
    return "AutoModelForImageTextToText" if image_text else "AutoModelForCausalLM"


def _keep_needed(values: Mapping[str, Any], uses: Uses) -> dict[str, Any]:
    """Return the values that this bundle has; scripts leave out an argument without its value.

    Raises ValueError if a value is missing that a choice needs.
    """
    needed = {name: is_needed(uses) for name, is_needed in NEEDED_BY.items()}
    for name, is_needed in needed.items():
        if is_needed and name not in values:
            raise ValueError(f"a script needs {name}, which this bundle does not have")
    return {name: value for name, value in values.items() if needed.get(name, True)}


def _literals(values: Mapping[str, Any]) -> dict[str, Literal]:
    return {name: Literal(value) for name, value in values.items()}


def _decided_values(source: BundleSource) -> dict[str, Any]:
    """Return the plan's values in the spelling of the scripts' libraries."""
    plan = source.plan
    decisions = plan.decisions
    values = {name: decision.value for name, decision in decisions.items().items()}
    gpu = source.facts.hardware.kind == "gpu"
    room = find_context_tokens(source)
    open_answer = not source.facts.data.labels
    return {
        **values,
        "load_dtype": _DTYPES[decisions.compute.load_dtype.value],
        "mining_dtype": _DTYPES[decisions.compute.precision.value],
        **_storage(decisions),
        "evaluated_rows": values.get("answered_rows"),
        **trainer_settings(decisions),
        **method_values(source),
        "ladder": _ladder(source),
        "planned_bytes": plan.memory.reserved_bytes if gpu else plan.memory.device_bytes,
        "overlong_share": round(_overlong_share(source.facts.data, values["max_length"]), 4),
        "merged_dtype": _merged_dtype(source),
        "converted_class": source.facts.model.older_name,
        **_image_values(source),
        "asked_tokens": min(_OPEN_ANSWER_TOKENS, room // 2)
        if open_answer
        else decisions.most_answer_tokens,
        "context_tokens": room,
    }


def _storage(decided: Decisions) -> dict[str, str]:
    """Return torch's name of the storage type of 4-bit weights."""
    storage = decided.method.quant_storage
    return {} if storage is None else {"quant_storage": _DTYPES.get(storage.value, storage.value)}


def _spec_values(source: BundleSource) -> dict[str, Any]:
    """Return the values of the spec, the model and the data."""
    spec, facts = source.spec, source.facts
    data = facts.data
    return {
        "name": spec.name,
        "model": facts.model.id if source.model_path is None else source.model_path,
        "model_revision": facts.model.revision,
        "data": data.source if source.data_path is None else source.data_path,
        **source_values(source),
        "planned_sha256": tuple(part.sha256 for part in data.sources or (data,)),
        "planned_rows": tuple(part.usable_rows for part in data.sources or (data,)),
        "planned_p95": data.lengths.p95,
        "data_revision": data.revision,
        "data_files": data.files,
        "delimiter": data.delimiter,
        "encoding": data.encoding,
        **reward_values(source),
        **_teacher_values(source),
        "regression": _list_checks(source),
        **publishing_values(source),
        "labels": tuple(label.name for label in data.labels),
        "pair_loss": spec.objective.type,
        "system": spec.data.system,
        "template_options": spec.data.template_options,
        "max_rows": spec.data.max_rows,
        "new_tokens": spec.model.new_tokens,
        "split_shares": _split_shares(source),
        "types": spec.export.types,
        "predicted_bytes": _sizes(source, spec.export.types),
        "served_types": spec.export.vllm,
        "served_bytes": _sizes(source, spec.export.vllm),
        "calibration_tokens": CALIBRATION_TOKENS,
        "weighed_types": tuple(kind for kind in spec.export.types if wants_matrix(kind)),
        "sdist_sha256": hash_source("llama-cpp-python"),
        "importance_tokens": importance_tokens(shape_of(facts.model)),
    }


def _sizes(source: BundleSource, kinds: Iterable[str]) -> dict[str, int]:
    """Return the planned bytes of some types."""
    return {kind: source.plan.export_bytes[kind] for kind in kinds}


def _list_checks(source: BundleSource) -> tuple[dict[str, Any], ...]:
    """Return the regression checks with the paths and hashes of their files."""
    checks = []
    files = source.facts.data.regression
    written = source.spec.training.evaluation.regression
    for check, file, path in zip(written, files, source.compared_paths, strict=True):
        (kind,) = list_kinds(check)
        asked = {"metric": check.metric, "answer_tokens": check.answer_tokens}
        checks.append(
            {
                "kind": kind,
                "path": path,
                "sha256": "" if file is None else file.sha256,
                "max_drop": check.max_drop,
                **(asked if kind == "prompts" else {}),
            }
        )
    return tuple(checks)


def _teacher_values(source: BundleSource) -> dict[str, Any]:
    """Return the values of the teacher, if there is one. It computes as the model does."""
    found = source.facts.teacher
    if found is None:
        return {}
    return {
        "teacher": found.model.id if source.teacher_path is None else source.teacher_path,
        "teacher_revision": found.model.revision,
        "teacher_dtype": _DTYPES[source.plan.decisions.compute.precision.value],
    }


def _image_values(source: BundleSource) -> dict[str, Any]:
    """Return how images become tokens, for rows that have some."""
    vision, limit = source.facts.model.vision, source.plan.decisions.rows.max_pixels
    if vision is None or limit is None or not sees(source):
        return {}
    rule = limit_pixels(make_rule(vision.rule), limit.value)
    return {"image_rule": to_settings(rule), "image_token": vision.token_id}


def _split_shares(source: BundleSource) -> dict[str, float]:
    """Return the shares of the splits that have rows, training apart."""
    shares, decided = source.spec.data.splits, source.plan.decisions
    named = {
        "test": (shares.test, decided.splits.test_rows.value),
        "validation": (shares.validation, decided.splits.validation_rows.value),
    }
    return {name: share for name, (share, rows) in named.items() if rows > 0}


def _reasons(decided: Mapping[str, Decision[Any]]) -> dict[str, Comment]:
    return {name: Comment(sentence(decision.because)) for name, decision in decided.items()}


def _more_reasons(source: BundleSource) -> dict[str, Comment]:
    """Return the reasons of values that are not decisions."""
    estimate = source.facts.data.lengths.estimate
    counted = "estimated from characters" if estimate else "counted with the model's tokenizer"
    base = source.facts.model.dtype
    is_scored = OBJECTIVES[source.spec.objective.type].head == "scores"
    split_pairs = pairs_in_passes(source.spec.objective, source.facts.data)
    merged = _merged_dtype(source)
    kept = "as the base is" if base == merged else f"of the 16-bit formats the nearest to {base}"
    phase = source.plan.memory.largest_phase.replace("_", " ")
    decided = source.plan.decisions
    targets = decided.method.target_pattern or decided.lora.lora_targets
    options = (sentence(knob.because) for knob in schedule_reasons(decided))
    return {
        **({"lora_targets": Comment(sentence(targets.because))} if targets else {}),
        **({} if decided.method.trained_layers else {"trained_layers": _tower_reason(source)}),
        **_image_reason(decided),
        "model_revision": Comment(_PINNED if source.facts.model.revision else _UNPINNED),
        **_teacher_reasons(source),
        "expert_targets": Comment("every expert of a layer, in two tensors"),
        "lora_excluded": Comment("PEFT cuts the pattern to last names, which the tower has too"),
        "schedule_options": Comment("; ".join(dict.fromkeys(options))),
        "checkpointing_options": Comment("what of the activations is recomputed, and kept where"),
        "labels": Comment("the head's order: a label's place is its number"),
        "overlong_share": Comment(f"the share of rows longer than that, {counted}"),
        "merged_dtype": Comment(
            kept if is_scored else f"{kept}: llama.cpp reads it without another rounding"
        ),
        "predicted_bytes": Comment("by the types that llama.cpp gives the tensors"),
        "served_bytes": Comment("of the weights: all but the matrices of the layers keep 16 bits"),
        "calibration_tokens": Comment(sentence(calibration_reason())),
        "weighed_types": Comment("these lose clearly less, or are not to be had without"),
        "importance_tokens": Comment(sentence(importance_reason(shape_of(source.facts.model)))),
        "ladder": Comment(_FEWER_PAIRS if split_pairs else _SAME_BATCH),
        "memory": Comment(f"the plan's peak of one process, in the phase: {phase}"),
    }


def _teacher_reasons(source: BundleSource) -> dict[str, Comment]:
    """Return the reason of the teacher's revision, if there is a teacher."""
    found = source.facts.teacher
    if found is None:
        return {}
    return {"teacher_revision": Comment(_PINNED if found.model.revision else _UNPINNED)}


def _image_reason(decided: Decisions) -> dict[str, Comment]:
    """Return how images become tokens, and why they are no larger."""
    limit = decided.rows.max_pixels
    if limit is None:
        return {}
    return {"image_rule": Comment(f"{_IMAGE_RULE}; max_pixels: {sentence(limit.because)}")}


def _tower_reason(source: BundleSource) -> Comment:
    """Return why not all weights beside the language model are trained."""
    if not sees(source):
        return Comment(_FROZEN_TOWER)
    return Comment(f"method.parts: {', '.join(source.spec.method.parts)}")


def _ladder(source: BundleSource) -> tuple[tuple[int, int], ...]:
    """Return (micro-batch, accumulation) pairs to try, the decided one first."""
    decided = source.plan.decisions
    first = (decided.batch.micro_batch.value, decided.batch.accumulation.value)
    return (first, *(row for row in source.plan.ladder if row != first))


def _overlong_share(data: DataFacts, max_length: int) -> float:
    """Return the fraction of usable rows that are longer, each row counted once."""
    parts = data.sources or (data,)
    rows = sum(part.usable_rows for part in parts)
    longer = (part.usable_rows * share_above(part.lengths, max_length) for part in parts)
    return sum(longer) / max(1, rows)


def _merged_dtype(source: BundleSource) -> str:
    """Return bfloat16 for a bfloat16 base; float16 keeps more digits of a float32 base."""
    return "bfloat16" if source.facts.model.dtype == "bfloat16" else "float16"
