"""The closed table of keys is what the pinned libraries' own classes accept."""

import copy
import dataclasses
import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.verify.keys import read_keys

TABLE = Path(__file__).parents[3] / "compiler" / "verify" / "keys.json"
LIBRARIES = ("accelerate", "deepspeed", "peft", "transformers", "trl")


class Asked(dict[str, Any]):
    """A settings block that notes in a shared set every key that the library asks it for."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self.keys_asked: set[str] = set()

    def __copy__(self) -> "Asked":
        return self

    def __contains__(self, key: object) -> bool:
        self.keys_asked.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self.keys_asked.add(key)
        return super().__getitem__(key)

    def keys(self) -> "Asked":  # type: ignore[override]
        """Return the block itself, so that `key in block.keys()` is noted."""
        return self

    def get(self, key: str, default: Any = None) -> Any:
        """Note the key, as every way of reading does."""
        self.keys_asked.add(key)
        return super().get(key, default)


def _load(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _deepspeed_keys() -> dict[str, list[str]]:
    """Ask DeepSpeedConfig itself: what it reads of its top level, and its blocks' own models."""
    config = importlib.import_module("deepspeed.runtime.config")
    asked = Asked({"train_micro_batch_size_per_gpu": 1})
    config.DeepSpeedConfig(asked)
    removed = set(config._REMOVED_TOP_LEVEL_CONFIG_KEYS)
    zero = _load("deepspeed.runtime.zero.config.DeepSpeedZeroConfig")
    blocks = {
        "zero_optimization": zero,
        "zero_optimization.offload_param": _load(
            "deepspeed.runtime.zero.offload_config.DeepSpeedZeroOffloadParamConfig"
        ),
        "zero_optimization.offload_optimizer": _load(
            "deepspeed.runtime.zero.offload_config.DeepSpeedZeroOffloadOptimizerConfig"
        ),
        "bf16": _load("deepspeed.runtime.precision_config.DeepSpeedBF16Config"),
        "fp16": _load("deepspeed.runtime.precision_config.DeepSpeedFP16Config"),
    }
    return {
        "": sorted(asked.keys_asked - removed),
        **{name: sorted(_current_fields(model)) for name, model in blocks.items()},
        **_deepspeed_optimizer_keys(config),
    }


def _deepspeed_optimizer_keys(config: Any) -> dict[str, list[str]]:
    """Return what the optimizer and scheduler blocks and the classes behind them accept."""
    optimizer, scheduler = Asked({"type": "AdamW"}), Asked({"type": "WarmupLR"})
    settings = {"optimizer": optimizer, "scheduler": scheduler}
    config.DeepSpeedConfig({"train_micro_batch_size_per_gpu": 1, **settings})
    adam = [
        _load("deepspeed.ops.adam.FusedAdam"),
        _load("deepspeed.ops.adam.DeepSpeedCPUAdam"),
    ]
    shared = set.intersection(*(set(_parameters(cls)) for cls in adam))
    opt_in = {config.TORCH_ADAM_PARAM, config.ADAM_W_MODE}
    schedules = importlib.import_module("deepspeed.runtime.lr_schedules")
    linear = {
        key
        for name in ("WarmupLR", "WarmupDecayLR", "WarmupCosineLR")
        for key in _parameters(getattr(schedules, name))
    }
    return {
        "optimizer": sorted(optimizer.keys_asked),
        "optimizer.params": sorted((shared | opt_in) - {"model_params", "adamw_mode"}),
        "scheduler": sorted(scheduler.keys_asked),
        "scheduler.params": sorted(linear - {"optimizer"}),
    }


def _current_fields(model: Any) -> Iterator[str]:
    """Yield the names and aliases of a pydantic model's fields that are not deprecated."""
    for name, field in model.model_fields.items():
        if not (field.json_schema_extra or {}).get("deprecated"):
            yield name
            if field.alias:
                yield field.alias


def _accelerate_keys() -> dict[str, list[str]]:
    """Return ClusterConfig's fields, and for its blocks the launcher's own arguments."""
    cluster = _load("accelerate.commands.config.config_args.ClusterConfig")
    parser = _load("accelerate.commands.launch.launch_command_parser")()
    groups = {
        group.title: {action.dest for action in group._group_actions}
        for group in parser._action_groups
    }
    return {
        "": sorted(field.name for field in dataclasses.fields(cluster)),
        "deepspeed_config": sorted(groups["DeepSpeed Arguments"]),
        "fsdp_config": sorted(groups["FSDP Arguments"]),
    }


def _python_keys() -> dict[str, list[str]]:
    """Return the keyword names of the classes that a generated script constructs."""
    classes = (
        "trl.SFTConfig",
        "trl.SFTTrainer",
        "peft.LoraConfig",
        "transformers.TrainingArguments",
        "transformers.EarlyStoppingCallback",
    )
    return {path.rpartition(".")[2]: sorted(_parameters(_load(path))) for path in classes}


def _parameters(cls: Any) -> Iterator[str]:
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.kind not in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
            yield parameter.name


def _accepted() -> dict[str, Any]:
    return {
        "versions": {name: version(name) for name in LIBRARIES},
        "accelerate": _accelerate_keys(),
        "deepspeed": _deepspeed_keys(),
        "python": _python_keys(),
    }


@pytest.mark.filterwarnings("default")
def test_table_is_what_the_libraries_accept(update_golden: bool) -> None:
    """Each list of the table is read from the class that takes those keys."""
    for name in LIBRARIES:
        pytest.importorskip(name)
    accepted = _accepted()
    if update_golden:
        TABLE.write_text(json.dumps(accepted, indent=1, sort_keys=True) + "\n", encoding="ascii")
    assert json.loads(TABLE.read_text(encoding="ascii")) == accepted


def test_table_holds_keys_that_a_bundle_needs() -> None:
    """The keys whose absence broke real runs are there, and invented ones are not."""
    keys = read_keys()
    zero = keys["deepspeed"]["zero_optimization"]
    assert {"stage", "stage3_gather_16bit_weights_on_model_save", "overlap_comm"} <= zero
    assert {"gradient_clipping", "bf16", "zero_optimization"} <= keys["deepspeed"][""]
    assert {"completion_only_loss", "max_length", "warmup_steps"} <= keys["python"]["SFTConfig"]
    assert not {"warmup_ratio", "group_by_length", "max_seq_length"} & keys["python"]["SFTConfig"]
    assert {"target_modules", "r", "lora_alpha"} <= keys["python"]["LoraConfig"]
    assert {"deepspeed_config", "use_cpu"} <= keys["accelerate"][""]


def test_noting_block_notes_a_copy_too() -> None:
    """DeepSpeed reads a copy of its settings, which must note into the same set."""
    asked = Asked({"a": 1})
    copied = copy.copy(asked)
    assert "b" not in copied
    assert copied.get("c") is None
    assert copied["a"] == 1
    assert "d" not in copied.keys()  # noqa: SIM118 - the way that DeepSpeed asks
    assert asked.keys_asked == {"a", "b", "c", "d"}
