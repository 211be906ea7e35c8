"""Names that only some bundles pass or call, by their place in the templates.

A script leaves out an argument, an item of a list and a statement whose name is not among the words
of its bundle.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ftc.compiler.knowledge.exports.converter import expects_drafts, hides_rotation, reads_published
from ftc.compiler.render.method import asks_types, token_tables
from ftc.compiler.render.output.values import Word
from ftc.compiler.render.uses import Uses


def _averages_loss(uses: Uses) -> bool:
    """Return whether one process averages the validation loss over tokens."""
    return uses.averages_loss and uses.by_token and uses.decisions.distribution.world.value == 1


def _is_adapted_by_trainer(uses: Uses) -> bool:
    """Return whether the trainer wraps the model in the adapter."""
    labelled = uses.spec.objective.type == "classification"
    return uses.decisions.lora.lora_rank is not None and not (labelled or uses.texts)


def _has_halved_layers(uses: Uses) -> bool:
    """Return whether frozen layers are kept in 16 bits beside trained ones in 32."""
    return uses.decisions.compute.load_dtype.because.key.startswith("load.frozen_layers")


def _has_narrow_reward(uses: Uses) -> bool:
    """Return whether TRL trains a reward model's 16-bit adapter without an fp32 copy."""
    decided = uses.decisions
    quantized = (
        decided.compute.precision.value == "fp32" and decided.method.quantization is not None
    )
    adapted = decided.lora.lora_rank is not None and (quantized or not uses.deepspeed)
    return uses.spec.objective.type == "reward" and adapted


def _has_narrow_adapter(uses: Uses) -> bool:
    """Return whether an adapter that the script adds has the base's 16 bits."""
    narrow = uses.decisions.compute.precision.value in ("bf16", "fp16")
    return narrow and uses.texts and uses.decisions.lora.lora_rank is not None


def _has_copy(uses: Uses) -> bool:
    """Return whether the reference of preferences is a second model."""
    reference = uses.decisions.comparison.reference
    return reference is not None and reference.value == "copy"


def _loads_image_text(uses: Uses) -> bool:
    """Return whether the language model is loaded together with its tower."""
    return uses.wrapped or uses.vision


def _leaves_out_bos(uses: Uses) -> bool:
    """Return whether a GGUF would begin texts with a token that the model was not trained on."""
    conversion = uses.facts.tokenizer.conversion
    return uses.converted and conversion is not None and conversion.unwritten_bos


def _has_one_key_head(uses: Uses) -> bool:
    """Return whether it is a Falcon with one key head for all query heads (`multi_query`)."""
    model = uses.facts.model
    return model.model_type == "falcon" and model.shape is not None and model.shape.kv_heads == 1


def _has_continued_rows(uses: Uses) -> bool:
    """Return whether rows may have several answers, so that one can continue another."""
    talks = ("chat", "preference", "feedback")
    return any(part.form in talks or part.has_message_cells for part in uses.parts)


#: The names that are passed, and their conditions.
_PASSED: Final[Mapping[str, tuple[str, Callable[[Uses], bool]]]] = {
    "adapter": ("adapter", _is_adapted_by_trainer),
    "answered_metric": ("METRIC", lambda uses: uses.answered_gguf),
    "base_options": ("base_options", lambda uses: uses.options),
    "chat_template": ("CHAT_TEMPLATE", lambda uses: uses.source.chat_template is not None),
    "class_metric": ("METRIC", lambda uses: uses.best_class_metric),
    "compute_rounded": (
        "compute_rounded",
        lambda uses: uses.decisions.method.quantization is not None,
    ),
    "count_calls": (
        "tool_calls.count_rows",
        lambda uses: uses.facts.data.calls or uses.callable_tools,
    ),
    "count_pair_tokens": ("count_pair_tokens", lambda uses: uses.pairs),
    "cut_length": ("MAX_LENGTH", lambda uses: uses.cut),
    "conversations": ("Conversations", _has_continued_rows),
    "draft_options": ("skip_drafts", lambda uses: expects_drafts(uses.facts.model.architecture)),
    "feedback_rows": ("rows", lambda uses: uses.facts.data.form == "feedback"),
    "finds_unused": ("False", lambda uses: uses.distributed),
    "gained": ("gained", lambda uses: uses.decisions.splits.validation_rows.value > 0),
    "gather_weights": (
        "gather_weights",
        lambda uses: uses.decisions.distribution.sharding.value == "zero3",
    ),
    "hub_base": ("BASE", lambda uses: uses.source.model_path is None),
    "hub_model": ("MODEL", lambda uses: uses.source.model_path is None),
    "hub_options": ("options", lambda uses: uses.source.model_path is None),
    "hub_teacher": ("TEACHER", lambda uses: uses.teacher_hub),
    "images": ("images", lambda uses: uses.vision),
    "kept": ("kept", lambda uses: bool(uses.source.compared_paths)),
    "kept_columns": ("False", lambda uses: uses.vision),
    "no_own_pooling": ("False", lambda uses: uses.spec.objective.pooling != "auto"),
    "offered": ("OFFERED_TOOLS", lambda uses: uses.callable_tools),
    "options": ("options", lambda uses: uses.options),
    "published_config": (
        "start_converter",
        lambda uses: reads_published(uses.facts.model.converted),
    ),
    "quantization": ("quantization", lambda uses: uses.decisions.method.quantization is not None),
    "place_reasoning": (
        "place_reasoning",
        lambda uses: any(part.has_reasoning for part in uses.parts),
    ),
    "reference": ("reference", _has_copy),
    "scorer": ("metric", lambda uses: uses.answered),
    "scoring": ("gguf_answers", lambda uses: uses.answered_gguf),
    "see": ("see", lambda uses: uses.vision),
    "revision": ("MODEL_REVISION", lambda uses: uses.source.model_path is None),
    "own_beta": (
        "BETA",
        lambda uses: (
            uses.decisions.comparison.beta is not None
            and uses.decisions.comparison.reference is None
        ),
    ),
    "divide_apart": (
        "divide_apart",
        lambda uses: uses.spec.objective.type == "embed" and uses.facts.data.form != "scored",
    ),
    "start_rank": ("LORA_RANK", lambda uses: uses.split_init),
    "talked": ("found", lambda uses: uses.callable_tools),
    "strip_reasoning": ("strip", lambda uses: uses.spec.data.reasoning == "strip"),
    "teacher": ("teacher", lambda uses: uses.facts.teacher is not None),
    "teacher_revision": ("TEACHER_REVISION", lambda uses: uses.teacher_hub),
    "to_messages": ("to_messages", lambda uses: uses.facts.data.calls),
    "validation_rows": (
        "validation_rows",
        lambda uses: uses.decisions.splits.validation_rows.value > 0,
    ),
    "weighed_types": ("WEIGHED_TYPES", lambda uses: uses.importance),
    "weighing_rows": ("TRAIN_ROWS", lambda uses: uses.importance),
}


def _computes_beside_cast_modules(uses: Uses) -> bool:
    """Return whether modules that TRL makes bf16 would get fp32 inputs, outside autocast."""
    precise = uses.decisions.compute.precision.value == "fp32"
    return precise and uses.also_train and uses.spec.method.type == "qlora"


#: Functions that are called as a statement, a callback or an item, and their conditions.
_CALLED: Final[Mapping[str, tuple[str, Callable[[Uses], bool]]]] = {
    "widen_added_adapter": ("train_in_fp32", _has_narrow_adapter),
    "add_adapter": ("add_adapter", lambda uses: uses.decisions.lora.lora_rank is not None),
    "add_changed_data": ("add_argument", lambda uses: uses.file_data),
    "add_pictures": ("add_pictures", lambda uses: uses.vision),
    "append_predictions": ("append", lambda uses: uses.answered_gguf),
    "append_predictions_of_merged": (
        "append",
        lambda uses: uses.answered_gguf and not uses.spec.export.types,
    ),
    "append_predictions_served": (
        "append",
        lambda uses: uses.answered_gguf and bool(uses.spec.export.vllm),
    ),
    "append_sources": ("append", lambda uses: uses.decisions.splits.test_rows.value > 0),
    "attach": (
        "attach",
        lambda uses: uses.decisions.splits.validation_rows.value > 0 and uses.objective.rewards,
    ),
    "average_loss": ("average_loss", _averages_loss),
    "check_lengths": ("check_lengths", lambda uses: not uses.objective.splits),
    "check_planned_lengths": ("check_planned_lengths", lambda uses: uses.exact_lengths),
    "check_rows": ("check_rows", lambda uses: uses.planned_files and not uses.facts.data.sources),
    "check_rows_of_sources": (
        "check_rows",
        lambda uses: uses.planned_files and bool(uses.facts.data.sources),
    ),
    "drop_copies": ("drop_copies", lambda uses: uses.spec.data.cleaning.drop_duplicates),
    "ensure_kept": ("ensure_kept", lambda uses: bool(uses.source.compared_paths)),
    "early_stopping": ("EarlyStopping", lambda uses: uses.early_stopping),
    "end_if_worse": ("end_if_worse", lambda uses: uses.decisions.splits.validation_rows.value > 0),
    "fit_schema": ("fit_schema", lambda uses: uses.reward_schema),
    "judge_own": (
        "update",
        lambda uses: uses.facts.data.form == "prompt" and uses.facts.teacher is not None,
    ),
    "keep_adapter_dtype": (
        "keep_adapter_dtype",
        lambda uses: uses.cast_adapter and uses.decisions.compute.precision.value != "fp16",
    ),
    "label_names": (
        "LABELS",
        lambda uses: (
            uses.spec.objective.type == "classification"
            and uses.decisions.lora.lora_rank is not None
        ),
    ),
    "name_base": ("name_base", lambda uses: uses.pins_engine),
    "pin_model": ("pin_model", lambda uses: uses.pins_engine),
    "list_pictures": ("list_pictures", lambda uses: uses.vision),
    "extend_pictures": ("extend", lambda uses: uses.vision),
    "list_files": ("list_files", lambda uses: bool(uses.source.compared_paths)),
    "limit": ("limit", lambda uses: uses.spec.data.max_rows is not None),
    "limit_sources": ("limit_sources", lambda uses: uses.source_limits),
    "load_by_names": (
        "load_by_names_in_memory",
        lambda uses: uses.decisions.lora.lora_rank is not None and _loads_image_text(uses),
    ),
    "make_judge": ("make_judge", lambda uses: uses.decisions.splits.validation_rows.value > 0),
    "mark_as_text": ("mark_as_text", lambda uses: asks_types(uses.source)),
    "match_patterns": (
        "match_patterns",
        lambda uses: any(reward.regex is not None for reward in uses.reward_rules),
    ),
    "need_base": (
        "need_model",
        lambda uses: (
            uses.decisions.comparison.reference is None and uses.objective.head != "scores"
        ),
    ),
    "need_reference": ("need_model", lambda uses: uses.decisions.comparison.reference is not None),
    "need_teacher": ("need_model", lambda uses: uses.facts.teacher is not None),
    "open_tracker": ("open_tracker", lambda uses: uses.spec.tracking.type != "none"),
    "order_rows": (
        "order_rows",
        lambda uses: not (uses.by_length or uses.objective.samples or uses.texts),
    ),
    "partial_defaults": ("partial", lambda uses: uses.template_options),
    "partial_images": ("partial", lambda uses: uses.vision),
    "partial_importance": ("partial", lambda uses: uses.importance),
    "partial_name": (
        "partial",
        lambda uses: uses.converted and uses.facts.model.older_name is not None,
    ),
    "partial_tokens": ("partial", lambda uses: bool(uses.spec.model.new_tokens)),
    "remove_head_bias": ("remove_head_bias", lambda uses: bool(token_tables(uses.source))),
    "save_as_loaded": (
        "save_as_loaded",
        lambda uses: (
            uses.decisions.lora.lora_rank is None and (uses.frozen_tower or _loads_image_text(uses))
        ),
    ),
    "score_learned_tokens": (
        "score_learned_tokens",
        lambda uses: uses.facts.hardware.kind == "cpu" and uses.objective.loss == "fused",
    ),
    "set_default_of": ("set_default_of", lambda uses: uses.template_options),
    "set_rates": (
        "set_rates",
        lambda uses: (
            uses.decisions.method.loraplus_ratio is not None
            or uses.decisions.training.embedding_learning_rate is not None
        ),
    ),
    "share_loss": (
        "share_loss",
        lambda uses: uses.averages_loss and uses.decisions.distribution.world.value > 1,
    ),
    "sort_rows": ("sort_rows", lambda uses: uses.by_length),
    "shard_check": (
        "ShardCheck",
        lambda uses: uses.decisions.distribution.sharding.value in ("zero3", "fsdp"),
    ),
    "tracked_arguments": ("arguments", lambda uses: uses.spec.tracking.type != "none"),
    "vllm_arguments": ("read_arguments", lambda uses: uses.decisions.engine.vllm_share is not None),
    "widen_adapter": (
        "train_in_fp32",
        lambda uses: (
            (uses.cast_adapter and uses.decisions.compute.precision.value == "fp16")
            or _computes_beside_cast_modules(uses)
        ),
    ),
    "widen_also_trained": (
        "train_in_fp32",
        lambda uses: (
            uses.also_train and uses.decisions.method.quantization is None and not uses.deepspeed
        ),
    ),
    "widen_frozen": ("train_in_fp32", _has_halved_layers),
    "widen_reward": ("train_in_fp32", _has_narrow_reward),
    "write_sources": ("write_json", lambda uses: uses.decisions.splits.test_rows.value > 0),
}
#: Steps of the merge, in their order.
_FINISHING: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "use_one_key_head": _has_one_key_head,
    "name_rotary_share": lambda uses: (
        uses.converted and hides_rotation(uses.facts.model.architecture)
    ),
    "pad_with_end": lambda uses: (
        uses.objective.head == "scores" and uses.facts.tokenizer.pad is None
    ),
    "leave_out_bos": _leaves_out_bos,
}
#: Callbacks of the trainer after its session, in their order.
_CALLBACKS: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "best": lambda uses: uses.decisions.splits.validation_rows.value > 0,
    "samples": lambda uses: "samples" in uses.decisions.settings,
}
#: Rewards that need no constant, in the order of the weights.
_REWARDS: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "rewards.exact": lambda uses: any(rule.match == "exact" for rule in uses.reward_rules),
    "rewards.numeric": lambda uses: any(rule.match == "numeric" for rule in uses.reward_rules),
}


def passed_words(uses: Uses) -> dict[str, Word]:
    """Return the names that this bundle passes and calls."""
    words = {**_PASSED, **_CALLED}
    return {place: Word(name) for place, (name, is_chosen) in words.items() if is_chosen(uses)}


def listed_words(uses: Uses) -> dict[str, list[Word]]:
    """Return the items of the lists whose items depend on the bundle."""
    lists = {"finishing": _FINISHING, "callbacks": _CALLBACKS, "rewards": _REWARDS}
    return {
        place: [Word(name) for name, is_chosen in items.items() if is_chosen(uses)]
        for place, items in lists.items()
    }
