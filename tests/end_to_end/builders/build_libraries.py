"""Builds the libraries' own classes from the generated files of a folder of bundles.

    python build_libraries.py FOLDER

Prints one JSON object: for each bundle, what accelerate, TRL, PEFT and DeepSpeed made of it. It
runs in a process of its own, because importing these libraries changes the one that does.
"""

import ast
import importlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils import FullyShardedDataParallelPlugin
from accelerate.utils.launch import prepare_multi_gpu_env
from deepspeed.runtime.config import DeepSpeedConfig
from deepspeed.runtime.zero.offload_config import OffloadDeviceEnum
from peft import LoraConfig
from transformers import LlamaConfig, TrainingArguments
from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

STEPS = 100
LAUNCH = ("distributed_type", "num_processes", "mixed_precision", "use_cpu", "deepspeed_config")


def constants(tree: ast.Module) -> dict[str, Any]:
    """Return the constants of a script that are literals."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            with suppress(ValueError):
                found |= {name: ast.literal_eval(node.value)} if name.isupper() else {}
    return found


def read_names(tree: ast.Module) -> dict[str, Any]:
    """Return what the settings of train.py refer to: constants, and a session's first batch."""
    found = constants(tree)
    micro_batch, accumulation = found["LADDER"][0]
    tracker = SimpleNamespace(arguments=lambda: {"report_to": "none"})
    session = SimpleNamespace(
        row=0,
        place="run/train",
        micro_batch=micro_batch,
        accumulation=accumulation,
        tracker=tracker,
    )
    return {**found, "session": session}


def find_call(tree: ast.Module, name: str) -> ast.Call | None:
    """Return the call that builds a class, None where the script has none."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return next((call for call in calls if ast.unparse(call.func) == name), None)


def build(call: ast.Call, builder: type, names: dict[str, Any], **instead: Any) -> Any:
    """Make the call with the script's constants; `instead` replaces what needs its machine."""
    scope = {**names, "args": SimpleNamespace(model="")}
    written: dict[str, Any] = {}
    for word in call.keywords:
        value = eval(compile(ast.Expression(word.value), "train.py", "eval"), scope)  # noqa: S307
        written |= value if word.arg is None else {word.arg: value}
    return builder(**{**written, **instead})


def import_used(tree: ast.Module, call: ast.Call) -> dict[str, Any]:
    """Import what a call names: classes of libraries, and modules of `runtime` as ftc has them."""
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    found: dict[str, Any] = {}
    for node in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        module = node.module or ""
        module = f"ftc.{module}" if module.partition(".")[0] == "runtime" else module
        for name in used & {alias.name for alias in node.names}:
            held = importlib.import_module(module)
            found[name] = getattr(held, name, None) or importlib.import_module(f"{module}.{name}")
    return found


def find_settings(tree: ast.Module) -> tuple[ast.Call, type]:
    """Return the call that makes `config`, and its class by the script's own import."""
    call = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "config"
        and isinstance(node.value, ast.Call)
    )
    name = ast.unparse(call.func)
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    module = next(
        node.module or "" for node in imports if name in [alias.name for alias in node.names]
    )
    return call, getattr(importlib.import_module(module), name)


def read_deepspeed(path: Path, settings: TrainingArguments) -> dict[str, Any]:
    """Fill in what says `auto` as the Trainer does, and let DeepSpeed judge the whole."""
    filled: Any = HfTrainerDeepSpeedConfig(str(path))  # type: ignore[no-untyped-call]
    filled.trainer_config_process(settings)
    model = SimpleNamespace(config=LlamaConfig(hidden_size=256))
    filled.trainer_config_finalize(settings, model, STEPS)
    judged = DeepSpeedConfig(filled.config)
    return {
        "stage": judged.zero_optimization_stage,
        "micro_batch": judged.train_micro_batch_size_per_gpu,
        "accumulation": judged.gradient_accumulation_steps,
        "clipping": judged.gradient_clipping,
        "bf16": judged.bfloat16_config.enabled,
        "offloaded": {
            name: [OffloadDeviceEnum(config.device).value, str(config.nvme_path)]
            for name, config in (
                ("optimizer", judged.zero_config.offload_optimizer),
                ("parameters", judged.zero_config.offload_param),
            )
            if config is not None
        },
        "bucket": judged.zero_config.reduce_bucket_size,
    }


def read_fsdp(path: Path) -> dict[str, Any] | None:
    """Return the plugin that a process makes of what the launcher puts into its environment."""
    parser = launch_command_parser()
    given = parser.parse_args(["--config_file", str(path), "train.py"])
    launch, *_ = _validate_launch_command(given)
    if not launch.use_fsdp:
        return None
    told = prepare_multi_gpu_env(launch)
    kept = dict(os.environ)
    try:
        os.environ.update({name: word for name, word in told.items() if name.startswith("FSDP_")})
        plugin = FullyShardedDataParallelPlugin()
    finally:
        os.environ.clear()
        os.environ.update(kept)
    return {
        "fsdp_version": plugin.fsdp_version,
        "auto_wrap_policy": getattr(plugin.auto_wrap_policy, "__name__", None),
        "reshard_after_forward": plugin.reshard_after_forward,
        "state_dict_type": plugin.state_dict_type.name,
        "offloads": type(plugin.cpu_offload).__name__ == "CPUOffloadPolicy",
        "cpu_ram_efficient_loading": plugin.cpu_ram_efficient_loading,
        "activation_checkpointing": plugin.activation_checkpointing,
    }


def describe(bundle: Path, scratch: str) -> dict[str, Any]:
    """Build everything that a bundle configures, on a machine that has no GPU."""
    tree = ast.parse((bundle / "train.py").read_text(encoding="utf-8"))
    names = read_names(tree)
    launch = load_config_from_file(str(bundle / "accelerate.yaml"))
    call, settings_class = find_settings(tree)
    instead: dict[str, Any] = {"output_dir": scratch, "use_cpu": True}
    if "ANSWERS_PER_PROMPT" in names:  # a group is tried by all processes, and here is one
        passes = names["session"].accumulation * launch.num_processes
        instead |= {"gradient_accumulation_steps": passes}
    scope = {**names, **import_used(tree, call), "HERE": bundle}
    settings = build(call, settings_class, scope, **instead)
    adapter_call = find_call(tree, "LoraConfig")
    adapter = build(adapter_call, LoraConfig, names) if adapter_call else None
    deepspeed = bundle / "deepspeed.json"
    return {
        "launch": {key: getattr(launch, key, None) for key in LAUNCH},
        "fsdp": read_fsdp(bundle / "accelerate.yaml"),
        "settings": {
            "micro_batch": settings.per_device_train_batch_size,
            "accumulation": settings.gradient_accumulation_steps,
            "learning_rate": settings.learning_rate,
            "bf16": settings.bf16,
        },
        "adapter": adapter and {key: asdict(adapter)[key] for key in ("r", "lora_alpha")},
        "deepspeed": read_deepspeed(deepspeed, settings) if deepspeed.exists() else None,
    }


def main() -> None:
    """Describe every bundle of the folder."""
    with tempfile.TemporaryDirectory() as scratch:
        bundles = sorted(path.parent for path in Path(sys.argv[1]).glob("*/train.py"))
        built = {bundle.name: describe(bundle, scratch) for bundle in bundles}
    sys.stdout.write(json.dumps(built) + "\n")


if __name__ == "__main__":
    main()
