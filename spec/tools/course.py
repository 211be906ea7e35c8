"""Reads how a foreign config trains: batch, schedule, precision, GPUs and tracking."""

import re
from typing import Any, Final

from ftc.spec.tools.entry import Entry
from ftc.spec.tools.work import Work
from ftc.spec.values.admission import admits

_ZERO: Final = re.compile(r"(?i)(?:zero|z)[_-]?(?:stage)?[_-]?([0-3])")
_SHARDED: Final = re.compile(r"(?i)full_shard|fsdp|true|auto_wrap|hybrid_shard")
_HOST: Final = ("cpu", "nvme")
_OFFLOADED: Final = re.compile(r"(?i)offload")
_SCHEDULES: Final = {
    "constant_with_warmup": "constant", "cosine_with_min_lr": "cosine",
    "cosine_with_restarts": "cosine_with_restarts", "rex": None, "one_cycle": None,
}  # fmt: skip
_PRECISIONS: Final = {
    "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16", "half": "fp16",
    "fp32": "fp32", "float32": "fp32", "auto": "auto", "no": "fp32",
}  # fmt: skip
_TRACKERS: Final = ("tensorboard", "wandb", "mlflow", "trackio", "none")
_MOST_WARMUP: Final = 0.9
_STRATEGY, _OFFLOAD = "/distribution/strategy", "/distribution/offload"


def derive_course(work: Work) -> None:
    """Set everything about the course of the training."""
    _read_steps(work)
    _read_schedule(work)
    _read_precision(work)
    _read_checkpointing(work)
    _read_machine(work)
    _read_batch(work)
    _read_sharding(work)
    _read_tracker(work)
    _read_gguf(work)
    _read_best(work)
    for name, value in (("@attention_flag", "flash_attention_2"), ("@attention_sdpa", "sdpa")):
        if (entry := work.entry(name)) is not None:
            if entry.value is True:
                work.put(entry, "/model/attention", value)
            else:
                work.leave(entry, "off")
    _read_loaded_length(work)
    _read_push(work)


def _read_push(work: Work) -> None:
    """Leave out the upload switch: ftc uploads if `publish.repo` is set."""
    if (entry := work.entry("@push")) is not None:
        named = "hub" if "/publish/repo" in work.fields else "upload"
        work.leave(entry, named if entry.value is True else "off")


def _read_loaded_length(work: Work) -> None:
    """Set the length that Unsloth loads a model for; only its trainer of texts cuts rows at it."""
    pointer, entry = "/data/max_length", work.entry("@loaded_length")
    if entry is None:
        return
    earlier = work.sources.get(pointer)
    whole = work.fields.get("/objective/type") in ("sft", "cpt")
    if earlier is None or (whole and earlier.path.startswith("(")):
        work.put(entry, pointer, entry.value, "carried")
    else:
        work.use(entry, {pointer: work.fields[pointer]})


def _read_best(work: Work) -> None:
    """Set what the best checkpoint is chosen by: the loss, or a metric that ftc has."""
    entry = work.entry("@best_metric")
    if entry is None:
        return
    metric = str(entry.value).removeprefix("eval_")
    if metric == "loss":
        work.put(entry, "/training/evaluation/best_by", "loss")
    elif admits("/training/evaluation/metric", metric):
        work.put(entry, "/training/evaluation/best_by", "metric")
        work.put(entry, "/training/evaluation/metric", metric)
    else:
        work.leave(entry, "best_metric")


def _number(entry: Entry | None) -> float | None:
    value = entry.value if entry is not None else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_steps(work: Work) -> None:
    """Let a number of steps override the epochs, as in the Trainer; -1 is none."""
    entry = work.entry("@max_steps")
    steps = _number(entry)
    each = work.entry("@steps_per_epoch")
    count, epochs = _number(each), work.fields.get("/training/epochs", 1)
    if each is not None and count is not None and count > 0 and isinstance(epochs, int):
        entry, steps = each, count * epochs
    if entry is None:
        return
    if steps is None or steps <= 0:
        work.leave(entry, "off" if steps is not None else "value")
    elif work.put(entry, "/training/max_steps", int(steps), "carried") and (
        "/training/epochs" in work.fields
    ):
        work.forget("/training/epochs", "repeated")


def _read_schedule(work: Work) -> None:
    entry = work.entry("@schedule")
    word = work.meaning("@schedule")
    constant = False
    if entry is not None:
        schedule = _SCHEDULES.get(str(word), word)
        constant = word == "constant" and work.entry("@warmup_steps") is not entry
        if schedule is None or not work.put(entry, "/training/schedule", schedule, "carried"):
            work.leave(entry, "schedule")
    _read_lowest_rate(work)
    pointer, steps = "/training/warmup", work.fields.get("/training/max_steps")
    for name in ("@warmup_ratio", "@warmup_steps"):
        stated = work.entry(name)
        value = _number(stated)
        if stated is None:
            continue
        if constant and entry is not None:
            work.put(entry, pointer, 0)
            work.use(stated, {pointer: 0})
        elif value is None:
            work.leave(stated, "value")
        elif value < 1:
            if not (stated.path.startswith("(") and work.entry("@warmup_steps") is not None):
                work.put(stated, pointer, value, "carried")
        elif isinstance(steps, int):
            work.put(stated, pointer, min(_MOST_WARMUP, round(value / steps, 4)))
        else:
            work.leave(stated, "warmup")


def _read_lowest_rate(work: Work) -> None:
    """Set the last learning rate as a share of the highest one, if that is known."""
    entry = work.entry("@lowest_rate")
    lowest, highest = _number(entry), work.fields.get("/training/learning_rate")
    if entry is None:
        return
    if lowest is None or not isinstance(highest, int | float) or not highest > lowest >= 0:
        work.leave(entry, "lowest_rate")
    else:
        work.put(entry, "/training/learning_rate_floor", float(f"{lowest / highest:.6g}"))


def _read_precision(work: Work) -> None:
    """Switches of two precisions, or the name of one; both switched off are full precision."""
    pointer = "/training/precision"
    switches = [_on(work, "@bf16"), _on(work, "@fp16")]
    for entry, word in zip(switches, ("bf16", "fp16"), strict=True):
        if entry is None:
            continue
        if entry.value is True or entry.value in ("full", "true"):
            work.put(entry, pointer, word)
        elif entry.value == "auto":
            work.put(entry, pointer, "auto", "carried")
        elif pointer in work.fields or entry.value is not False:
            work.leave(entry, "off" if entry.value is False else "value")
    both = all(entry is not None and entry.value is False for entry in switches)
    for switch in switches:
        if switch is not None and switch.path not in work.became:
            if both:
                work.put(switch, pointer, "fp32")
            else:
                work.leave(switch, "off")
    for fact in ("@dtype", "@mixed"):
        stated = work.entry(fact)
        if stated is None:
            continue
        named = _PRECISIONS.get(str(stated.value).removeprefix("torch."))
        if pointer in work.fields:
            work.leave(stated, "loading")
        elif named is None:
            work.leave(stated, "value")
        else:
            work.put(stated, pointer, named)


def _on(work: Work, name: str) -> Entry | None:
    """Return the key that switches a precision on, or the last key about it."""
    entries = work.facts.get(name, [])
    entries.sort(key=lambda entry: entry.value is True)
    return work.entry(name)


def _read_checkpointing(work: Work) -> None:
    pointer = "/training/gradient_checkpointing"
    for entry in work.facts.get("@checkpointing", []):
        value = work.table.values.get("@checkpointing", {}).get(str(entry.value), entry.value)
        words = {"full": True, "unsloth": True, "True": True, "none": False, "block": True}
        value = words.get(value, value) if isinstance(value, str) else value
        if value is None:
            work.leave(entry, "empty")
        elif pointer in work.fields and work.fields[pointer] == value:
            work.use(entry, {pointer: value})
        else:
            work.put(entry, pointer, value, "carried" if value == entry.value else "derived")
    for name, value in (("@checkpointing_off", False), ("@offload_activations", "offload")):
        switch = work.entry(name)
        if switch is not None and switch.value in (True, "legacy", "disk"):
            work.put(switch, pointer, value)
        elif switch is not None:
            work.leave(switch, "off")


def _read_machine(work: Work) -> None:
    gpus, processes, nodes = work.entry("@gpus"), work.entry("@processes"), work.entry("@nodes")
    count = _number(nodes) or 1
    for entry, share in ((gpus, 1), (processes, count)):
        value = _number(entry)
        if entry is None:
            continue
        if value is None or value < 1 or value % share:
            work.leave(entry, "machine")
        else:
            work.put(entry, "/hardware/count", int(value // share), "carried")
    if nodes is not None:
        if count == 1:
            work.leave(nodes, "default_alike")
        else:
            work.put(nodes, "/hardware/nodes", nodes.value, "carried")


def _read_batch(work: Work) -> None:
    """Set the global batch: the micro-batch times its accumulation times the GPUs.

    The tool's micro-batch counts only as a part of the global batch, which the plan divides anew.
    """
    pointer, usual = "/training/global_batch", work.entry("@micro")
    micro = work.fields.get("/training/micro_batch", usual.value if usual is not None else None)
    if "/training/micro_batch" in work.stated and "/training/micro_batch" not in work.fields:
        micro = None  # it is stated, but not known
    steps, whole = work.entry("@accumulation"), work.entry("@batch_axolotl")
    count = work.fields.get("/hardware/count", 1) * work.fields.get("/hardware/nodes", 1)
    gpus = work.gpus if work.gpus is not None else count
    value = _number(steps)
    if steps is not None:
        rows = micro * value if isinstance(micro, int) and value is not None else 0
        if rows and value is not None and value >= 1 and pointer not in work.fields:
            work.put(steps, pointer, int(rows * gpus))
        else:
            work.leave(steps, "value")
    if whole is not None:
        if pointer in work.fields or _number(whole) is None:
            work.leave(whole, "repeated")
        else:
            work.put(whole, pointer, int(whole.value * gpus))


def _read_sharding(work: Work) -> None:
    for name in ("@sharding", "@sharding_name", "@zero_stage"):
        entry = work.entry(name)
        if entry is None:
            continue
        word = work.meaning(name)
        match = _ZERO.search(str(word)) if name != "@zero_stage" else re.match("([0-3])", str(word))
        if match is not None:
            stage = int(match[1])
            work.put(entry, _STRATEGY, f"zero{stage}" if stage else "ddp")
            if _OFFLOADED.search(str(word)):
                work.put(entry, _OFFLOAD, "parameters" if stage == 3 else "optimizer")  # noqa: PLR2004
        elif _SHARDED.search(str(word)) and "deepspeed" not in str(word):
            work.put(entry, _STRATEGY, "fsdp")
        else:
            work.leave(entry, "layout")
    _read_offload(work)
    fsdp = work.entry("@fsdp")
    markers = work.facts.get("@fsdp_marker", [])
    if fsdp is not None and fsdp.value and _SHARDED.search(str(fsdp.value)):
        work.put(fsdp, _STRATEGY, "fsdp")
    elif fsdp is not None:
        work.leave(fsdp, "layout" if fsdp.value else "off")
    elif any(entry.value is not None for entry in markers) and _STRATEGY not in work.fields:
        work.put(markers[0], _STRATEGY, "fsdp")
    for entry in markers:
        work.leave(entry, "layout")
    if (entry := work.entry("@fsdp_offload")) is not None:
        if entry.value is True:
            if _STRATEGY not in work.fields:
                work.put(entry, _STRATEGY, "fsdp")
            work.put(entry, _OFFLOAD, "parameters")
        else:
            work.leave(entry, "off")


def _read_offload(work: Work) -> None:
    """Read the devices of a DeepSpeed configuration; the weights go with the optimizer's states."""
    weights, states = work.entry("@zero_offload_weights"), work.entry("@zero_offload")
    for entry, value in ((weights, "parameters"), (states, "optimizer")):
        if entry is None:
            continue
        if entry.value not in _HOST:
            work.leave(entry, "off")
        elif _OFFLOAD in work.fields:
            work.use(entry, {_OFFLOAD: work.fields[_OFFLOAD]})
        else:
            work.put(entry, _OFFLOAD, value)


def _read_tracker(work: Work) -> None:
    pointer = "/tracking/type"
    flags = {"@use_wandb": "wandb", "@use_tensorboard": "tensorboard"}
    for name, word in flags.items():
        if (entry := work.entry(name)) is not None:
            if entry.value is True:
                work.put(entry, pointer, word)
            else:
                work.leave(entry, "off")
    for name in ("@tracker", "@tune_logger"):
        entry = work.entry(name)
        if entry is None:
            continue
        said: Any = work.meaning(name)
        word = said[0] if isinstance(said, list) and len(said) == 1 else said
        word = "none" if word in ([], "None") else word
        if word in _TRACKERS:
            work.put(entry, pointer, word)
        elif word == "disk":
            work.leave(entry, "default_alike")
        else:
            work.leave(entry, "tracking")
    for tracker in ("wandb", "mlflow", "trackio"):
        project, run = work.entry(f"@{tracker}_project"), work.entry(f"@{tracker}_run")
        if project is not None and project.value and pointer not in work.fields:
            work.put(project, pointer, tracker)
        for entry, field in ((project, "project"), (run, "run")):
            if entry is not None:
                work.put(entry, f"/tracking/{field}", entry.value, "carried")
    if (entry := work.entry("@run")) is not None:
        work.put(entry, "/tracking/run", entry.value, "carried")


def _read_gguf(work: Work) -> None:
    """Set the GGUF types that a script writes at its end."""
    kinds: list[Any] = []
    for entry in work.facts.get("@gguf", []):
        kinds += entry.value if isinstance(entry.value, list) else [entry.value]
        types = sorted({str(kind).upper() for kind in kinds})
        work.put(entry, "/export/types", types)
