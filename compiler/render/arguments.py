"""Arguments that only some bundles pass: the name that is passed, by its place in the templates.

A script leaves out a keyword argument whose name is not among the words of its bundle.
"""

from collections.abc import Mapping
from typing import Final

from ftc.compiler.render.uses import Uses
from ftc.compiler.render.values import Word

#: The name that is passed, and the choice (a field of `Uses`) with which it is.
_PASSED: Final[Mapping[str, tuple[str, str]]] = {
    "adapter": ("adapter", "wrapped_by_trainer"),
    "answered_metric": ("METRIC", "answered_gguf"),
    "class_metric": ("METRIC", "best_class_metric"),
    "collator": ("images.collate", "vision"),
    "count_calls": ("tool_calls.count_rows", "declared_tools"),
    "cut_length": ("MAX_LENGTH", "cut"),
    "has_tools": ("tool_calls.has_tools", "declared_tools"),
    "images": ("images", "vision"),
    "kept_columns": ("False", "vision"),
    "leave_out": ("tool_calls.leave_out", "declared_tools"),
    "no_template": ("False", "raw"),
    "offered": ("OFFERED_TOOLS", "callable_tools"),
    "options": ("options", "options"),
    "quantization": ("quantization", "qlora"),
    "reference": ("reference", "reference_copy"),
    "see": ("see", "vision"),
    "revision": ("MODEL_REVISION", "model_hub"),
    "start_rank": ("LORA_RANK", "split_init"),
    "to_messages": ("to_messages", "tools"),
    "validation_rows": ("validation_rows", "validation"),
}
#: Steps of the merge, in their order.
_FINISHING: Final[Mapping[str, str]] = {
    "one_key_head": "use_one_key_head",
    "hidden_rotation": "name_rotary_share",
    "padless": "pad_with_end",
}
#: Callbacks of the trainer after its session, in their order.
_CALLBACKS: Final[Mapping[str, str]] = {"validation": "best", "samples": "samples"}
#: Rewards that need no constant, in the order of the weights.
_REWARDS: Final[Mapping[str, str]] = {
    "reward_exact": "rewards.exact",
    "reward_numeric": "rewards.numeric",
}


def passed_words(uses: Uses) -> dict[str, Word]:
    """Return the names that this bundle passes."""
    return {place: Word(name) for place, (name, choice) in _PASSED.items() if getattr(uses, choice)}


def listed_words(uses: Uses) -> dict[str, list[Word]]:
    """Return the items of the lists whose items depend on the bundle."""
    lists = {"finishing": _FINISHING, "callbacks": _CALLBACKS, "rewards": _REWARDS}
    return {
        place: [Word(name) for choice, name in items.items() if getattr(uses, choice)]
        for place, items in lists.items()
    }
