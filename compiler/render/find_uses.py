"""Computes what a bundle uses: booleans by which templates omit what a run does not need."""

from collections.abc import Mapping, Sequence

from ftc.compiler.knowledge.converter import expects_drafts, hides_rotation, layer_pattern
from ftc.compiler.knowledge.gguf_types import wants_matrix
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts, gives_relevance
from ftc.compiler.knowledge.ollama_templates import find_ollama_family
from ftc.compiler.knowledge.wrappers import wrapper_named
from ftc.compiler.plan.memory.passes import NEEDS
from ftc.compiler.plan.objective.comparison import PAIRING
from ftc.compiler.plan.objective.sampling import (
    calls_tools,
    find_rewards,
    rewarded,
    samples,
    sampling_reference,
)
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.search.padding import sorts_rows
from ftc.compiler.plan.splits import is_weighed
from ftc.compiler.render.method import asks_types, is_fenced, is_plain, keeps_tower, token_tables
from ftc.compiler.render.source import BundleSource, reads_number_words, sees
from ftc.compiler.render.trainer import checkpointing_options, schedule_reasons
from ftc.compiler.render.uses import Uses
from ftc.compiler.resolve.facts import DataFacts, ModelFacts, TokenizerFacts
from ftc.compiler.resolve.model.chain import RESULT
from ftc.spec.sources import list_sources

#: The attention that accepts concatenated rows of any length; others need a padded batch.
_VARIABLE_LENGTHS = "flash_attention_2"


def find_uses(source: BundleSource) -> Uses:
    """Return what this bundle uses."""
    return Uses(
        **_model_uses(source),
        **_data_uses(source),
        **_objective_uses(source),
        **_reward_uses(source),
        **_teacher_uses(source),
        **_training_uses(source),
        **_score_uses(source),
        **_text_uses(source),
        **_launch_uses(source),
        **_tracking_uses(source),
        **_metric_uses(source),
        **_export_uses(source),
    )


def _model_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the model and its method."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    converted = bool(spec.export.types) or spec.export.adapter
    storage, wrapper = decided.quant_storage, wrapper_named(facts.model.wrapper)
    return {
        "lora": spec.method.type in ("lora", "qlora"),
        "qlora": spec.method.type == "qlora",
        "int8": spec.method.type == "qlora" and spec.method.quantization == "int8",
        "quant_storage": storage is not None and storage.value != "uint8",
        "freeze": spec.method.type == "freeze",
        "halved": decided.load_dtype.because.key.startswith("load.frozen_layers"),
        "dora": decided.dora is not None,
        "rslora": decided.rslora is not None,
        "lora_init": decided.lora_init is not None,
        "split_init": decided.lora_init is not None and decided.lora_init.value != "gaussian",
        "experts": decided.lora_experts is not None,
        "fenced": is_fenced(source),
        "new_tokens": bool(spec.model.new_tokens),
        "token_rows": bool(token_tables(source)),
        "adapts_tokens": bool(spec.model.new_tokens) and spec.method.type in ("lora", "qlora"),
        "also_train": decided.also_train is not None and spec.method.type != "freeze",
        "model_folder": source.model_path is not None,
        "chained": _is_chained(source),
        "gated": any(bool(model.gated) and model.path is None for model in _models(source)),
        "model_hub": source.model_path is None,
        "custom_code": spec.model.trust_remote_code,
        "pickles": spec.model.pickled_weights,
        "safetensors": not spec.model.pickled_weights,
        "options": source.model_path is None or spec.model.trust_remote_code,
        "chat_template_file": source.chat_template is not None,
        "template_options": bool(spec.data.template_options) and renders_template(source),
        "one_key_head": _has_one_key_head(facts.model),
        "unwritten_bos": converted and _leaves_out_bos(facts.tokenizer),
        "hidden_rotation": converted and hides_rotation(facts.model.architecture),
        "drafted": expects_drafts(facts.model.architecture),
        "published_config": layer_pattern(facts.model.architecture) is not None,
        "plain_model": is_plain(facts.model),
        "wrapped": wrapper is not None and wrapper.loads == "image-text",
        "asks_types": asks_types(source),
        "frozen_tower": spec.method.type == "full" and keeps_tower(source),
        "trains_tower": sees(source) and len(spec.method.parts) > 1,
        "tower_gradients": "vision_tower" in spec.method.parts,
        "fetches_images": sees(source) and spec.data.allow_download,
        "number_words": reads_number_words(source),
        "timm": wrapper is not None and wrapper.timm,
        "vision": sees(source),
    }


def _models(source: BundleSource) -> tuple[ModelFacts, ...]:
    """Return the facts of the model, and of the teacher if there is one."""
    teacher = source.facts.teacher
    return (source.facts.model,) if teacher is None else (source.facts.model, teacher.model)


def _is_chained(source: BundleSource) -> bool:
    """Return whether the model is another bundle's result, and rows are held out to evaluate it."""
    path, decided = source.model_path, source.plan.decisions
    held_rows = decided.validation_rows.value + decided.test_rows.value
    return path is not None and path.endswith(RESULT) and held_rows > 0


def _data_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the data."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    data, form = facts.data, facts.data.form
    parts = data.sources or (data,)
    forms, formats = {part.form for part in parts}, {part.format for part in parts}
    on_hub = [path is None for path in source.data_paths or (source.data_path,)]
    splits = OBJECTIVES[spec.objective.type].splits
    validation, test = decided.validation_rows.value > 0, decided.test_rows.value > 0
    stratify = decided.stratify.value and form not in ("text", "preference", "prompt")
    closes, alone = facts.tokenizer.closes_answer is not False, form == "prompt"
    classes, texts = spec.objective.type == "classification", compares_texts(spec.objective.type)
    compared = form in ("preference", "feedback") and not texts
    return {
        **_reading_uses(parts),
        "hub_data": any(on_hub),
        "file_data": not all(on_hub),
        "mixture": bool(data.sources),
        "weighed": bool(data.sources) and is_weighed(spec),
        "source_limits": any(one.max_rows is not None for one in list_sources(spec.data)),
        **_planned_uses(source),
        "forms": len(forms) > 1,
        "csv": "csv" in formats,
        "encoded": data.format != "parquet",
        "jsonl": "jsonl" in formats,
        "parquet": "parquet" in formats,
        "form_chat": "chat" in forms,
        "form_pairs": "prompt_completion" in forms,
        "form_instruction": "instruction" in forms,
        "form_text": form == "text",
        "form_prompt": alone,
        "pairs": form == "preference" and not texts,
        "compared": compared,
        "system": spec.data.system is not None and form != "text" and not classes,
        "template": renders_template(source),
        "conversations": renders_template(source) and not compared and not alone,
        "plain_answers": not (
            renders_template(source) or compared or classes or texts or alone or form == "text"
        ),
        "append_eos": not closes,
        "closes": renders_template(source) and not closes and not alone,
        "raw": not renders_template(source),
        "loss_on_all": spec.objective.loss_on == "all",
        "mask_reasoning": spec.data.reasoning == "mask",
        "strip_reasoning": spec.data.reasoning == "strip",
        "tools": data.calls,
        "callable_tools": calls_tools(spec),
        "declared_tools": data.calls or calls_tools(spec),
        "last_answer": spec.objective.loss_on == "last_turn" or form != "chat",
        "repair": spec.data.cleaning.repair_encoding,
        "deduplicate": spec.data.cleaning.drop_duplicates,
        "truncate": spec.data.cleaning.overlong == "truncate" and not splits,
        "split": splits,
        "cut": spec.data.cleaning.overlong == "truncate" or splits,
        "max_rows": spec.data.max_rows is not None,
        "stratify": stratify,
        "keep_answers": stratify or classes or decided.metric.value == "accuracy",
        "validation": validation,
        "test": test,
    }


def _planned_uses(source: BundleSource) -> dict[str, bool]:
    """Return what is compared with the plan: of the data only local files, which may change.

    Streamed data and files of the Hub are pinned to the planned commit. `--data` can replace a
    single data set of files.
    """
    data = source.facts.data
    on_disk = any(path is not None for path in source.data_paths or (source.data_path,))
    planned = on_disk or (not data.sources and data.streamed_rows is None)
    return {
        "planned_files": planned,
        "exact_lengths": planned and not data.sources and not data.lengths.estimate,
        "tried_tokenizer": data.round_trip is not None and not data.round_trip.other_rows,
    }


def _reading_uses(parts: Sequence[DataFacts]) -> dict[str, bool]:
    """Return the choices of how rows are read: from files or the network, and what is in them."""
    whole = [part for part in parts if part.streamed_rows is None]
    return {
        "message_cells": any(part.has_message_cells for part in parts),
        "reasoning": any(part.has_reasoning for part in parts),
        "downloads": any(part.origin == "hub" for part in whole),
        "streamed": len(whole) < len(parts),
    }


def _objective_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of preference objectives."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    validation = decided.validation_rows.value > 0
    metric = decided.metric.value
    return {
        "reference_copy": decided.reference is not None and decided.reference.value == "copy",
        "read_in_part": (
            decided.reference is not None
            and decided.reference.value == "precomputed"
            and spec.training.max_steps is not None
            and spec.training.max_steps * decided.global_batch.value < decided.train_rows.value
        ),
        "referred": decided.reference is not None,
        "rewards": decided.beta is not None and not samples(spec),
        "odds": decided.beta is not None and decided.reference is None,
        "feedback": facts.data.form == "feedback",
        "margin": decided.margin is not None,
        "whole_answers": spec.objective.type == "cpo",
        "unpadded": facts.tokenizer.pad is None,
        "best_by_margin": (
            spec.objective.type in PAIRING
            and decided.best_by.value == "metric"
            and metric == "none"
            and validation
        ),
    }


def _training_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of training."""
    spec, decided = source.spec, source.plan.decisions
    gpu, sharding = source.facts.hardware.kind == "gpu", decided.sharding.value
    validation = decided.validation_rows.value > 0
    return {
        "cpu": not gpu,
        "gpu": gpu,
        "distributed": decided.world.value > 1 or sharding.startswith("zero"),
        "deepspeed": sharding in ("zero1", "zero2", "zero3"),
        "zero3": sharding == "zero3",
        "nvme": decided.nvme_bytes is not None,
        "fsdp": sharding == "fsdp",
        "bf16": decided.precision.value == "bf16",
        "fp16": decided.precision.value == "fp16",
        "other_optimizer": spec.training.optimizer != "adamw",
        "bnb_optimizer": spec.training.optimizer not in ("adamw", "adafactor", "sgd"),
        "schedule_options": bool(schedule_reasons(decided)),
        "checkpointing_options": bool(checkpointing_options(decided)),
        "loraplus": decided.loraplus_ratio is not None,
        "embedding_rate": decided.embedding_learning_rate is not None,
        "compiled": decided.compile.value,
        "loader_workers": decided.loader_workers.value > 0,
        "loader_prefetch": decided.loader_workers.value > 0 and decided.loader_prefetch is not None,
        "max_steps": spec.training.max_steps is not None,
        "epochs": spec.training.max_steps is None,
        "early_stopping": decided.patience.value is not None and validation,
        "allow_worse": spec.training.evaluation.allow_worse,
        "packed": decided.packing.value != "none",
        "stacked": decided.packing.value != "none" and decided.attention.value != _VARIABLE_LENGTHS,
        "concatenated": (
            decided.packing.value != "none" and decided.attention.value == _VARIABLE_LENGTHS
        ),
        "liger": decided.liger is not None and decided.liger.value,
        **_order_uses(source),
        "fused_head": not gpu and NEEDS[spec.objective.type].head == "fused",
    }


def _order_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of which rows form a step, and of how the validation loss is averaged.

    Trainers that generate answers sample their prompts themselves, and their answers have no length
    before that. For labels, the mean is a metric.
    """
    spec, decided = source.spec, source.plan.decisions
    answered = spec.objective.type == "distill" and source.facts.data.form != "prompt"
    by_token = OBJECTIVES[spec.objective.type].packs or answered
    distributed = decided.world.value > 1
    averaged = decided.validation_rows.value > 0 and spec.objective.type != "classification"
    alone = rewarded(spec) or compares_texts(spec.objective.type)
    mean_loss = averaged and not alone
    return {
        "group_by_length": decided.group_by_length.value,
        "by_length": (
            decided.group_by_length.value or (decided.packing.value == "none" and sorts_rows(spec))
        ),
        "mean_loss": mean_loss and by_token and not distributed,
        "shared_loss": mean_loss and distributed,
        "by_token": by_token,
    }


def _launch_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the launcher; `every_node`: run.sh is started on each node."""
    launch, nodes = source.spec.launch, source.facts.hardware.nodes > 1
    slurm = launch.type == "slurm"
    return {
        "nodes": nodes,
        "every_node": nodes and not slurm,
        "slurm": slurm,
        "kubernetes": launch.type == "kubernetes",
        "skypilot": launch.type == "skypilot",
        "modules": slurm and bool(launch.modules),
        "container": slurm and launch.container is not None,
        "notebook": "notebook" in source.extras,
        "image": "image" in source.extras,
        "readme_ca": "readme_ca" in source.extras,
        "readme_es": "readme_es" in source.extras,
    }


def _tracking_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of tracking."""
    kind = source.spec.tracking.type
    return {
        "tracked": kind != "none",
        "tensorboard": kind == "tensorboard",
        "wandb": kind == "wandb",
        "mlflow": kind == "mlflow",
        "trackio": kind == "trackio",
    }


def _is_adapter_in_16_bits(source: BundleSource) -> bool:
    """Return whether TRL trains a 16-bit adapter of which DeepSpeed keeps no fp32 copy."""
    method, decided = source.spec.method.type, source.plan.decisions
    zero = decided.sharding.value.startswith("zero")
    wide = decided.precision.value == "fp32"
    return method in ("lora", "qlora") and (not zero or (wide and method == "qlora"))


def _score_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of a scoring head."""
    spec, facts, decided = source.spec, source.facts, source.plan.decisions
    weights = decided.class_weights.value if decided.class_weights else None
    scores = OBJECTIVES[spec.objective.type].head == "scores"
    validation = decided.validation_rows.value > 0
    return {
        "scores": scores,
        "classes": spec.objective.type == "classification",
        "reward_model": spec.objective.type == "reward",
        "widened": spec.objective.type == "reward" and _is_adapter_in_16_bits(source),
        "wrapped_by_trainer": (
            spec.method.type in ("lora", "qlora")
            and spec.objective.type != "classification"
            and not compares_texts(spec.objective.type)
        ),
        "cast_adapter": spec.method.type == "qlora"
        and not decided.sharding.value.startswith("zero"),
        "balanced": weights == "balanced",
        "weighed_labels": isinstance(weights, Mapping),
        "best_class_metric": _is_best_by_metric(decided) and scores and validation,
        "padless": scores and facts.tokenizer.pad is None,
    }


def _text_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of an embedding model or a reranker."""
    texts, form = compares_texts(source.spec.objective.type), source.facts.data.form
    relevance = gives_relevance(source.spec.objective.type)
    return {
        "texts": texts,
        "vectors": texts and not relevance,
        "relevance": relevance,
        "headed": relevance or OBJECTIVES[source.spec.objective.type].head == "scores",
        "pooling_said": source.spec.objective.pooling != "auto",
        "triplets": texts and form == "preference",
        "scored_pairs": form == "scored",
        "drawn_texts": source.plan.decisions.wrong_texts is not None,
    }


def _metric_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the metric."""
    spec, decided = source.spec, source.plan.decisions
    validation, test = decided.validation_rows.value > 0, decided.test_rows.value > 0
    metric, scores = decided.metric.value, OBJECTIVES[spec.objective.type].head == "scores"
    answered = metric != "none" and source.facts.data.form != "text" and not scores
    counted = (answered or scores) and _is_best_by_metric(decided) and not rewarded(spec)
    return {
        "answered": answered and test,
        "written": (answered or (rewarded(spec) and source.facts.data.form == "prompt")) and test,
        "answered_gguf": answered and test and not sees(source),
        "harness": decided.harness is not None,
        "regression": bool(source.compared_paths),
        "regression_tasks": any(check.task for check in spec.training.evaluation.regression),
        "best_by_metric": (
            answered and _is_best_by_metric(decided) and validation and not rewarded(spec)
        ),
        "counted": counted and validation,
        "samples": "samples" in decided.items(),
        "labels": answered and metric in ("accuracy", "macro_f1"),
        "accuracy": metric == "accuracy",
        "macro_f1": metric == "macro_f1",
        "rouge_l": metric == "rouge_l",
        "chrf": metric == "chrf",
    }


def _export_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the stages after training."""
    spec = source.spec
    converted = bool(spec.export.types) or spec.export.adapter
    return {
        "gguf": bool(spec.export.types),
        "projector": bool(spec.export.types) and sees(source),
        "importance": any(wants_matrix(kind) for kind in spec.export.types),
        "adds_end": (source.facts.tokenizer.closes_answer is False or not renders_template(source)),
        "adapter": spec.export.adapter,
        "finished": _is_finished(source),
        "converted": converted,
        "served": bool(spec.export.vllm),
        "verified": converted or bool(spec.export.vllm),
        "published": source.plan.decisions.published is not None,
    }


def _is_finished(source: BundleSource) -> bool:
    """Return whether the merged folder needs more than saving and copying gives it."""
    model, score = _model_uses(source), _score_uses(source)
    names = ("template_options", "new_tokens", "one_key_head", "hidden_rotation", "unwritten_bos")
    return any(model[name] for name in names) or score["padless"]


def renders_template(source: BundleSource) -> bool:
    """Return whether rows are rendered with a chat template.

    All forms except plain text are, if the tokenizer has a template. A tokenizer whose files could
    not be read is assumed to have one, because conversations need it. A classification uses only
    the text, as transformers' pipeline does, and so do vectors and rerankers.
    """
    tokenizer, form = source.facts.tokenizer, source.facts.data.form
    if form == "text" or OBJECTIVES[source.spec.objective.type].plain:
        return False
    if source.chat_template is not None or tokenizer.template_sha256 is not None:
        return True
    return form == "chat" or not tokenizer.exact


def _reward_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of generated answers; all false if none are generated."""
    spec, earns = source.spec, rewarded(source.spec)
    share = source.plan.decisions.vllm_share
    rewards = find_rewards(spec, source.facts.data) if earns else ()
    return {
        "sampled": samples(spec),
        "rewarded": earns,
        "vllm": share is not None,
        "vllm_server": share is not None and spec.objective.vllm == "server",
        "base_again": earns and source.model_path is None and sampling_reference(spec) == "copy",
        "reward_exact": any(reward.match == "exact" for reward in rewards),
        "reward_numeric": any(reward.match == "numeric" for reward in rewards),
        "reward_regex": any(reward.regex is not None for reward in rewards),
        "reward_schema": any(reward.json_schema is not None for reward in rewards),
        "reward_functions": any(reward.functions is not None for reward in rewards),
    }


def _teacher_uses(source: BundleSource) -> dict[str, bool]:
    """Return the choices of the teacher; all false without one."""
    found, quantization = source.facts.teacher, source.plan.decisions.teacher_quantization
    return {
        "distilled": found is not None,
        "teacher_hub": found is not None and source.teacher_path is None,
        "teacher_4bit": quantization is not None and quantization.value == "nf4",
    }


def _is_best_by_metric(decided: Decisions) -> bool:
    return decided.best_by.value == "metric" and decided.metric.value != "none"


def has_ollama_template(source: BundleSource) -> bool:
    """Return whether the chat template of training is of a family that is written for Ollama."""
    if not renders_template(source) or source.facts.data.pictures is not None:
        return False  # Ollama places images by itself
    ollama = source.facts.tokenizer.ollama
    return ollama is not None and find_ollama_family(ollama.family or "") is not None


def _leaves_out_bos(tokenizer: TokenizerFacts) -> bool:
    """Return whether a GGUF would begin texts with a token that the model was not trained on."""
    return tokenizer.conversion is not None and tokenizer.conversion.unwritten_bos


def _has_one_key_head(model: ModelFacts) -> bool:
    """Return whether it is a Falcon with one key head for all query heads (`multi_query`)."""
    return model.model_type == "falcon" and model.shape is not None and model.shape.kv_heads == 1
