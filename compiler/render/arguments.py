"""Names that only some bundles pass or call, by their place in the templates.

A script leaves out an argument, an item of a list and a statement whose name is not among the words
of its bundle.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ftc.compiler.render.uses import Uses
from ftc.compiler.render.values import Word

#: The name that is passed, and the choice (a field of `Uses`) with which it is.
_PASSED: Final[Mapping[str, tuple[str, str]]] = {
    "adapter": ("adapter", "wrapped_by_trainer"),
    "answered_metric": ("METRIC", "answered_gguf"),
    "base_options": ("base_options", "options"),
    "chat_template": ("CHAT_TEMPLATE", "chat_template_file"),
    "class_metric": ("METRIC", "best_class_metric"),
    "compute_rounded": ("compute_rounded", "qlora"),
    "count_calls": ("tool_calls.count_rows", "declared_tools"),
    "count_pair_tokens": ("count_pair_tokens", "pairs"),
    "cut_length": ("MAX_LENGTH", "cut"),
    "draft_options": ("skip_drafts", "drafted"),
    "feedback_rows": ("rows", "feedback"),
    "finds_unused": ("False", "distributed"),
    "gained": ("gained", "validation"),
    "gather_weights": ("gather_weights", "zero3"),
    "hub_base": ("BASE", "model_hub"),
    "hub_model": ("MODEL", "model_hub"),
    "hub_options": ("options", "model_hub"),
    "hub_teacher": ("TEACHER", "teacher_hub"),
    "images": ("images", "vision"),
    "kept": ("kept", "regression"),
    "kept_columns": ("False", "vision"),
    "no_own_pooling": ("False", "pooling_said"),
    "offered": ("OFFERED_TOOLS", "callable_tools"),
    "options": ("options", "options"),
    "published_config": ("start_converter", "published_config"),
    "quantization": ("quantization", "qlora"),
    "place_reasoning": ("place_reasoning", "reasoning"),
    "reference": ("reference", "reference_copy"),
    "scorer": ("metric", "answered"),
    "scoring": ("gguf_answers", "answered_gguf"),
    "see": ("see", "vision"),
    "revision": ("MODEL_REVISION", "model_hub"),
    "own_beta": ("BETA", "odds"),
    "start_rank": ("LORA_RANK", "split_init"),
    "talked": ("found", "callable_tools"),
    "strip_reasoning": ("strip", "strip_reasoning"),
    "teacher": ("teacher", "distilled"),
    "teacher_revision": ("TEACHER_REVISION", "teacher_hub"),
    "to_messages": ("to_messages", "tools"),
    "validation_rows": ("validation_rows", "validation"),
    "weighed_types": ("WEIGHED_TYPES", "importance"),
    "weighing_rows": ("TRAIN_ROWS", "importance"),
}
#: Functions that are called as a statement, as a callback or as an item, and when they are.
_CALLED: Final[Mapping[str, tuple[str, Callable[[Uses], bool]]]] = {
    "add_adapter": ("add_adapter", lambda uses: uses.lora),
    "add_changed_data": ("add_argument", lambda uses: uses.file_data),
    "add_pictures": ("add_pictures", lambda uses: uses.vision),
    "append_predictions": ("append", lambda uses: uses.answered_gguf),
    "append_predictions_of_merged": ("append", lambda uses: uses.answered_gguf and not uses.gguf),
    "append_predictions_served": ("append", lambda uses: uses.answered_gguf and uses.served),
    "append_sources": ("append", lambda uses: uses.test),
    "attach": ("attach", lambda uses: uses.validation and (uses.rewarded or uses.early_stopping)),
    "average_loss": ("average_loss", lambda uses: uses.mean_loss),
    "check_lengths": ("check_lengths", lambda uses: not uses.split),
    "check_planned_lengths": ("check_planned_lengths", lambda uses: uses.exact_lengths),
    "check_rows": ("check_rows", lambda uses: uses.planned_files and not uses.mixture),
    "check_rows_of_sources": ("check_rows", lambda uses: uses.planned_files and uses.mixture),
    "drop_copies": ("drop_copies", lambda uses: uses.deduplicate),
    "ensure_kept": ("ensure_kept", lambda uses: uses.regression),
    "early_stopping": ("EarlyStopping", lambda uses: uses.early_stopping),
    "end_if_worse": ("end_if_worse", lambda uses: uses.validation),
    "fit_schema": ("fit_schema", lambda uses: uses.reward_schema),
    "judge_own": ("update", lambda uses: uses.form_prompt and uses.distilled),
    "keep_adapter_dtype": (
        "keep_adapter_dtype",
        lambda uses: uses.cast_adapter and not uses.fp16,
    ),
    "label_names": ("LABELS", lambda uses: uses.classes and uses.lora),
    "list_files": ("list_files", lambda uses: uses.regression),
    "limit": ("limit", lambda uses: uses.max_rows),
    "limit_sources": ("limit_sources", lambda uses: uses.source_limits),
    "load_by_names": (
        "load_by_names_in_memory",
        lambda uses: uses.lora and (uses.wrapped or uses.vision),
    ),
    "make_judge": ("make_judge", lambda uses: uses.validation),
    "mark_as_text": ("mark_as_text", lambda uses: uses.asks_types),
    "match_patterns": ("match_patterns", lambda uses: uses.reward_regex),
    "need_base": ("need_model", lambda uses: not uses.referred and not uses.scores),
    "need_reference": ("need_model", lambda uses: uses.referred),
    "need_teacher": ("need_model", lambda uses: uses.distilled),
    "open_tracker": ("open_tracker", lambda uses: uses.tracked),
    "partial_defaults": ("partial", lambda uses: uses.template_options),
    "partial_images": ("partial", lambda uses: uses.vision),
    "partial_importance": ("partial", lambda uses: uses.importance),
    "partial_tokens": ("partial", lambda uses: uses.new_tokens),
    "remove_head_bias": ("remove_head_bias", lambda uses: uses.token_rows),
    "save_as_loaded": (
        "save_as_loaded",
        lambda uses: not uses.lora and (uses.frozen_tower or uses.wrapped or uses.vision),
    ),
    "score_learned_tokens": (
        "score_learned_tokens",
        lambda uses: uses.cpu and uses.fused_head,
    ),
    "set_default_of": ("set_default_of", lambda uses: uses.template_options),
    "set_rates": ("set_rates", lambda uses: uses.loraplus or uses.embedding_rate),
    "share_loss": ("share_loss", lambda uses: uses.shared_loss),
    "shard_check": ("ShardCheck", lambda uses: uses.zero3 or uses.fsdp),
    "tracked_arguments": ("arguments", lambda uses: uses.tracked),
    "vllm_arguments": ("read_arguments", lambda uses: uses.vllm),
    "widen_adapter": ("train_in_fp32", lambda uses: uses.cast_adapter and uses.fp16),
    "widen_added_adapter": (
        "train_in_fp32",
        lambda uses: uses.texts and uses.lora and (uses.bf16 or uses.fp16),
    ),
    "widen_also_trained": (
        "train_in_fp32",
        lambda uses: uses.also_train and not uses.qlora and not uses.deepspeed,
    ),
    "widen_frozen": ("train_in_fp32", lambda uses: uses.halved),
    "widen_reward": ("train_in_fp32", lambda uses: uses.widened),
    "write_sources": ("write_json", lambda uses: uses.test),
}
#: Steps of the merge, in their order.
_FINISHING: Final[Mapping[str, str]] = {
    "one_key_head": "use_one_key_head",
    "hidden_rotation": "name_rotary_share",
    "padless": "pad_with_end",
    "unwritten_bos": "leave_out_bos",
}
#: Callbacks of the trainer after its session, in their order.
_CALLBACKS: Final[Mapping[str, str]] = {"validation": "best", "samples": "samples"}
#: Rewards that need no constant, in the order of the weights.
_REWARDS: Final[Mapping[str, str]] = {
    "reward_exact": "rewards.exact",
    "reward_numeric": "rewards.numeric",
}


def passed_words(uses: Uses) -> dict[str, Word]:
    """Return the names that this bundle passes and calls."""
    passed = {place: name for place, (name, choice) in _PASSED.items() if getattr(uses, choice)}
    called = {place: name for place, (name, is_called) in _CALLED.items() if is_called(uses)}
    return {place: Word(name) for place, name in (passed | called).items()}


def listed_words(uses: Uses) -> dict[str, list[Word]]:
    """Return the items of the lists whose items depend on the bundle."""
    lists = {"finishing": _FINISHING, "callbacks": _CALLBACKS, "rewards": _REWARDS}
    return {
        place: [Word(name) for choice, name in items.items() if getattr(uses, choice)]
        for place, items in lists.items()
    }
