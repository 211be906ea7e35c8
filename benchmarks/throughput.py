"""Compares the speed of a generated train.py with a script written from TRL's documentation.

    python -m benchmarks.throughput [--runs 5]     # writes benchmarks/throughput.md and .svg

Uses banking77 (../shared/data, or the data folder that FTC_SHARED names) and the quickstart's
model. Runs are interleaved: each round runs every script once. First at equal settings, without
packing. Then the bundle as planned and the script with TRL's defaults, both with the same rows,
learning rate, schedule, steps and rows per step. Then whole runs for the held-out loss: the script
trains for one epoch, the bundle for --epochs, so that its loss is no higher. Machines are shared,
so compare the ratios of wall time and of CPU time.

FTC_AXOLOTL_PYTHON and FTC_LLAMAFACTORY_PYTHON name interpreters that have axolotl and
LLaMA-Factory, which are then measured at equal settings.
"""

import argparse
import csv
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import matplotlib.figure

from benchmarks.rehearsals import ROOT, describe_machine

HERE: Final = Path(__file__).resolve().parent
DATA: Final = Path(os.environ.get("FTC_SHARED") or ROOT.parent / "shared") / "data"
EQUAL: Final = "bundle, equal settings"
BY_HAND: Final = "by hand, equal settings"
PLANNED: Final = "bundle, as planned"
DEFAULTS: Final = "by hand, TRL's defaults"
KEPT: Final = "by hand, activations kept"
_ROWS: Final = 5000
_MICRO: Final = 8  # TRL's default
_STEPS: Final = 10
_LEARNING_RATE: Final = 0.001
_LOGGED: Final = 0.02  # fraction of the steps, as in a bundle
AXOLOTL: Final = "axolotl, equal settings"
LLAMA_FACTORY: Final = "LLaMA-Factory, equal settings"
_AXOLOTL_PYTHON: Final = os.environ.get("FTC_AXOLOTL_PYTHON")
_LLAMA_FACTORY_PYTHON: Final = os.environ.get("FTC_LLAMAFACTORY_PYTHON")

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One script with its settings: the command to measure, and its bundle.

    `python` is the interpreter with the script's libraries.
    """

    name: str
    bundle: Path
    command: Sequence[str | Path]
    python: str = sys.executable


def main() -> None:
    """Measure, and write the report beside this file."""
    parser = argparse.ArgumentParser(description="Throughput of train.py and of a plain script.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epochs", type=float, default=1.25, help="of the bundle's whole run")
    parser.add_argument(
        "--curves", type=Path, help="the output of an earlier call, to read its whole runs"
    )
    args = parser.parse_args()
    runs = args.runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        equal, timed, epoch, planned = write_bundles(folder, args.epochs)
        arms = [*equal_arms(folder, equal), *planned_arms(folder, timed)]
        whole = [planned_arms(folder, planned)[0], *planned_arms(folder, epoch)[1:]]
        curves = read_curves(args.curves) or {arm.name: measure(arm, held=True) for arm in whole}
        print(json.dumps(curves), flush=True)
        found: dict[str, list[Report]] = {arm.name: [] for arm in arms}
        for number in range(runs):
            for arm in arms:
                found[arm.name].append(measure(arm))
                print(number + 1, arm.name, json.dumps(found[arm.name][-1]), flush=True)
        draw(curves, HERE / "throughput.svg")
        text = "\n".join(tell(found, curves, planned)) + "\n"
    (HERE / "throughput.md").write_text(text, encoding="utf-8")
    print(text)


def read_curves(log: Path | None) -> dict[str, Report]:
    """Return the whole runs from the output of an earlier call."""
    lines = [] if log is None else log.read_text(encoding="utf-8").split("\n")
    return next((json.loads(line) for line in lines if line.startswith("{")), {})


def write_bundles(folder: Path, epochs: float) -> tuple[Path, Path, Path, Path]:
    """Compile and prepare bundles on the same rows: with every setting given, and with none.

    The latter for a few steps, for one epoch, and for `epochs` epochs.
    """
    write_model(folder)
    write_rows(folder / "rows.csv", read_intents())
    data = {"source": "rows.csv", "max_rows": _ROWS, "splits": {"test": 0.1, "validation": 0}}
    said = {
        "max_steps": _STEPS, "micro_batch": _MICRO, "global_batch": 2 * _MICRO,
        "group_by_length": False, "gradient_checkpointing": False,
    }  # fmt: skip
    specs: dict[str, dict[str, dict[str, Any]]] = {
        "equal": {"data": {**data, "packing": "none"}, "training": said},
        "timed": {"data": data, "training": {"max_steps": _STEPS}},
        "epoch": {"data": data, "training": {"epochs": 1}},
        "planned": {"data": data, "training": {"epochs": epochs}},
    }
    for name, spec in specs.items():
        write_bundle(folder, name, spec)
    return folder / "equal", folder / "timed", folder / "epoch", folder / "planned"


def write_model(folder: Path) -> None:
    """Make the quickstart's model in a folder."""
    maker = ROOT / "examples" / "quickstart" / "make_model.py"
    subprocess.run([sys.executable, maker, "--out", folder / "model"], check=True)


def read_intents() -> list[tuple[str, str]]:
    """Return banking77: what a customer writes, and its intent."""
    with (DATA / "banking77_train.csv").open(encoding="utf-8", newline="") as file:
        return [(row["text"], row["category"]) for row in csv.DictReader(file)]


def write_rows(path: Path, rows: Sequence[tuple[str, str]]) -> None:
    """Write prompts and completions as a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("prompt", "completion"), *rows])


def write_bundle(folder: Path, name: str, spec: Mapping[str, Mapping[str, Any]]) -> Path:
    """Compile a spec for the folder's model, prepare the data, and return the bundle.

    All weights are trained at one learning rate, so that losses can be compared.
    """
    training = {"learning_rate": _LEARNING_RATE, **spec["training"]}
    whole = {"name": name, "model": "./model", "hardware": "cpu", "method": "full", **spec}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**whole, "training": training}), encoding="utf-8")
    compiling = [sys.executable, "-m", "ftc", "compile", str(path)]
    subprocess.run(compiling, check=True, capture_output=True)
    subprocess.run([sys.executable, "prepare.py"], cwd=folder / name, check=True)
    return folder / name


def decided(bundle: Path) -> Mapping[str, Any]:
    """Return the values of a bundle's decisions."""
    lock = json.loads((bundle / "ftc.lock.json").read_text(encoding="utf-8"))
    return {name: decision["value"] for name, decision in lock["decisions"].items()}


def write_messages(bundle: Path, path: Path) -> Path:
    """Write the rows of a bundle's training split as prompt and completion."""
    with path.open("w", encoding="utf-8") as file:
        for line in (bundle / "run/data/train.jsonl").open(encoding="utf-8"):
            messages = json.loads(line)["messages"]
            row = {"prompt": messages[:-1], "completion": messages[-1:]}
            file.write(json.dumps(row) + "\n")
    return path


def hand_arm(name: str, bundle: Path, folder: Path, rows: Path, settings: Mapping[str, Any]) -> Arm:
    """Return the plain script on these rows with these settings."""
    out = folder / "out" / name.replace(" ", "-")
    told = json.dumps({"seed": 42, "disable_tqdm": True, "bf16": False, **settings})
    script = HERE / "by_hand.py"
    return Arm(name=name, bundle=bundle, command=(script, folder / "model", rows, out, told))


def equal_arms(folder: Path, bundle: Path) -> tuple[Arm, ...]:
    """Return the scripts with the same settings, and the installed peers."""
    d = decided(bundle)
    settings = {
        "max_steps": d["total_steps"],
        "per_device_train_batch_size": d["micro_batch"],
        "gradient_accumulation_steps": d["accumulation"],
        "learning_rate": d["learning_rate"],
        "lr_scheduler_type": d["schedule"],
        "warmup_steps": d["warmup_steps"],
        "weight_decay": d["weight_decay"],
        "gradient_checkpointing": d["gradient_checkpointing"],
        "logging_steps": max(1, math.ceil(_LOGGED * d["total_steps"])),
        "save_steps": d["save_steps"],
        "save_total_limit": d["keep_checkpoints"],
    }
    rows = write_messages(bundle, folder / "equal-rows.jsonl")
    train = Arm(name=EQUAL, bundle=bundle, command=(bundle / "train.py",))
    by_hand = hand_arm(BY_HAND, bundle, folder, rows, settings)
    arms = [train, by_hand]
    if _AXOLOTL_PYTHON:
        arms.append(axolotl_arm(bundle, folder, rows, settings, _AXOLOTL_PYTHON))
    if _LLAMA_FACTORY_PYTHON:
        arms.append(llama_factory_arm(bundle, folder, rows, settings, _LLAMA_FACTORY_PYTHON))
    return tuple(arms)


def write_chats(rows: Path, path: Path) -> Path:
    """Write rows of prompt and completion as whole conversations."""
    with path.open("w", encoding="utf-8") as file:
        for line in rows.open(encoding="utf-8"):
            row = json.loads(line)
            file.write(json.dumps({"messages": row["prompt"] + row["completion"]}) + "\n")
    return path


def find_module(python: str, name: str) -> Path:
    """Return the file of a module of another interpreter."""
    where = [python, "-c", f"import importlib.util as u; print(u.find_spec({name!r}).origin)"]
    found = subprocess.run(where, check=True, capture_output=True, text=True)
    return Path(found.stdout.split()[-1])


def axolotl_arm(
    bundle: Path, folder: Path, rows: Path, settings: Mapping[str, Any], python: str
) -> Arm:
    """Return axolotl's own training on these rows with the same settings."""
    chats = write_chats(rows, folder / "chats.jsonl")
    config = {
        "base_model": str(folder / "model"),
        "datasets": [{"path": str(chats), "ds_type": "json", "type": "chat_template"}],
        "dataset_prepared_path": str(folder / "axolotl-rows"),
        "val_set_size": 0,
        "output_dir": str(folder / "out" / "axolotl"),
        "sequence_len": decided(bundle)["max_length"],
        "micro_batch_size": settings["per_device_train_batch_size"],
        "gradient_accumulation_steps": settings["gradient_accumulation_steps"],
        "max_steps": settings["max_steps"],
        "attn_implementation": "sdpa",
        "pad_to_sequence_len": False,  # otherwise every batch is padded to a multiple of 64
        "optimizer": "adamw_torch_fused",
        "bf16": False, "fp16": False, "tf32": False, "seed": 42,
        **{name: settings[name] for name in (
            "learning_rate", "lr_scheduler_type", "warmup_steps", "weight_decay",
            "gradient_checkpointing", "logging_steps", "save_steps", "save_total_limit",
        )},
    }  # fmt: skip
    config["lr_scheduler"] = config.pop("lr_scheduler_type")
    path = folder / "axolotl.json"  # JSON is YAML
    path.write_text(json.dumps(config), encoding="utf-8")
    script = find_module(python, "axolotl.cli.train")
    return Arm(name=AXOLOTL, bundle=bundle, command=(script, path), python=python)


def llama_factory_arm(
    bundle: Path, folder: Path, rows: Path, settings: Mapping[str, Any], python: str
) -> Arm:
    """Return LLaMA-Factory's own training on these rows with the same settings."""
    chats = write_chats(rows, folder / "chats.jsonl")
    roles = {"role_tag": "role", "content_tag": "content", "user_tag": "user"}
    described = {
        "file_name": chats.name,
        "formatting": "sharegpt",
        "columns": {"messages": "messages"},
        "tags": {**roles, "assistant_tag": "assistant", "system_tag": "system"},
    }
    (folder / "dataset_info.json").write_text(json.dumps({"chats": described}), encoding="utf-8")
    config = {
        "stage": "sft", "do_train": True, "finetuning_type": "full", "use_cpu": True,
        "model_name_or_path": str(folder / "model"),
        "dataset": "chats",
        "dataset_dir": str(folder),
        "cutoff_len": decided(bundle)["max_length"],
        "output_dir": str(folder / "out" / "llama-factory"),
        "optim": "adamw_torch_fused",
        "flash_attn": "sdpa",
        "disable_gradient_checkpointing": not settings["gradient_checkpointing"],
        "report_to": "none", "seed": 42, "disable_tqdm": True,
        **{name: value for name, value in settings.items() if name != "gradient_checkpointing"},
    }  # fmt: skip
    path = folder / "llama-factory.yaml"  # JSON is YAML
    path.write_text(json.dumps(config), encoding="utf-8")
    script = find_module(python, "llamafactory.launcher")
    return Arm(name=LLAMA_FACTORY, bundle=bundle, command=(script, path), python=python)


def planned_arms(folder: Path, bundle: Path) -> tuple[Arm, Arm, Arm]:
    """Return the bundle as planned, and the plain script with TRL's defaults.

    Its learning rate, schedule, steps and rows per step are the plan's, so that losses can be
    compared. A second script keeps activations, which is no longer TRL's default.
    """
    d = decided(bundle)
    each = d["train_rows"] / d.get("packed_rows", d["train_rows"])
    rows_per_step = d["global_batch"] * each
    passes = max(1, round(rows_per_step / _MICRO))
    settings = {
        "max_steps": d["total_steps"],
        "per_device_train_batch_size": round(rows_per_step / passes),
        "gradient_accumulation_steps": passes,
        "learning_rate": d["learning_rate"],
        "lr_scheduler_type": d["schedule"],
        "warmup_steps": d["warmup_steps"],
        "save_steps": d["save_steps"],
    }
    rows = write_messages(bundle, folder / "planned-rows.jsonl")
    kept = {**settings, "gradient_checkpointing": False}
    return (
        Arm(name=PLANNED, bundle=bundle, command=(bundle / "train.py",)),
        hand_arm(DEFAULTS, bundle, folder, rows, settings),
        hand_arm(KEPT, bundle, folder, rows, kept),
    )


def measure(arm: Arm, *, held: bool = False) -> Report:
    """Run one script from its start and return the stopwatch's report."""
    shutil.rmtree(arm.bundle / "run" / "train", ignore_errors=True)
    (arm.bundle / "run" / "done" / "train.json").unlink(missing_ok=True)
    shutil.rmtree(arm.bundle.parent / "out", ignore_errors=True)  # never resumed
    report = arm.bundle.parent / "report.json"
    rows = arm.bundle / "run/data/test.jsonl" if held else "-"
    config = arm.bundle / "accelerate.yaml"
    launch = [arm.python, "-m", "accelerate.commands.launch", "--config_file", config]
    command = [*launch, HERE / "stopwatch.py", report, rows, *arm.command]
    done = subprocess.run(
        [str(part) for part in command],
        cwd=arm.bundle,
        env={
            **os.environ,
            "LAUNCHED": str(time.time()),
            "TOKENIZERS_PARALLELISM": "false",
            "AXOLOTL_DO_NOT_TRACK": "1",  # tracking would wait for the network
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{arm.name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: Report = json.loads(report.read_text(encoding="utf-8"))
    return found


def speed(report: Report, clock: str = "seconds") -> float:
    """Return tokens per second, without padding."""
    return float(report["tokens"] / report[clock])


def ratio(found: Mapping[str, Sequence[Report]], one: str, other: str, clock: str) -> float:
    """Return the median ratio of one script's speed to the other's in the same round."""
    pairs = zip(found[one], found[other], strict=True)
    return statistics.median(speed(a, clock) / speed(b, clock) for a, b in pairs)


def median(reports: Sequence[Report], key: str) -> float:
    """Return the median of one number."""
    return statistics.median(float(report[key]) for report in reports)


def draw(curves: Mapping[str, Report], path: Path) -> None:
    """Draw the held-out loss over tokens learned and over time."""
    figure = matplotlib.figure.Figure(figsize=(10, 4), layout="constrained")
    by_tokens, by_time = figure.subplots(1, 2, sharey=True)
    for name, report in curves.items():
        tokens, seconds, losses = zip(*report["curve"], strict=True)
        by_tokens.plot(tokens, losses, marker="o", label=name)
        by_time.plot(seconds, losses, marker="o", label=name)
    by_tokens.set(xlabel="tokens, without padding", ylabel="loss per token on held-out rows")
    by_time.set(xlabel="seconds of training")
    by_tokens.legend()
    figure.savefig(path, metadata={"Date": None})


def tell(
    found: Mapping[str, Sequence[Report]], curves: Mapping[str, Report], planned: Path
) -> list[str]:
    """Return the report as lines of Markdown."""
    runs = len(next(iter(found.values())))
    d = decided(planned)
    lines = [
        "# Throughput compared with a hand-written script",
        "",
        f"`python -m benchmarks.throughput --runs {runs}` {describe_machine()}",
        f"Medians of {runs} interleaved runs; OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}.",
        "",
        "Padding tokens are not counted. Speeds are measured from the first to the last of",
        f"{_STEPS} optimizer steps, without checkpoints: saving them would distort so short a run.",
        "On a shared machine, CPU seconds are more reliable than wall time.",
        "",
        "| script | tokens/s | tokens per processor second | first step, s | peak, MiB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, reports in found.items():
        walls = statistics.median(speed(report) for report in reports)
        computed = statistics.median(speed(report, "processor_seconds") for report in reports)
        first, peak = median(reports, "first_step_seconds"), median(reports, "peak_bytes") / 2**20
        lines.append(f"| {name} | {walls:,.0f} | {computed:,.0f} | {first:.1f} | {peak:,.0f} |")
    lines += ["", "| ratio, median of the runs' own | wall | processor | bound |"]
    lines += ["| --- | ---: | ---: | ---: |"]
    for one, other, bound in (
        (EQUAL, BY_HAND, "at least 0.98"),
        *(((EQUAL, AXOLOTL, "at least 1.2"),) if AXOLOTL in found else ()),
        *(((EQUAL, LLAMA_FACTORY, ""),) if LLAMA_FACTORY in found else ()),
        (PLANNED, DEFAULTS, "at least 1.3"),
        (PLANNED, KEPT, ""),
    ):
        wall, computed = (ratio(found, one, other, c) for c in ("seconds", "processor_seconds"))
        lines.append(f"| {one} / {other} | {wall:.2f} | {computed:.2f} | {bound} |")
    firsts = [
        one["first_step_seconds"] / other["first_step_seconds"]
        for one, other in zip(found[EQUAL], found[BY_HAND], strict=True)
    ]
    begun = statistics.median(firsts)
    lines.append(f"| time to the first step, {EQUAL} / by hand | {begun:.2f} | | at most 1.10 |")
    packed = f"{d['train_rows']:,} rows in about {d['packed_rows'] or 0:,} of {d['packed_length']}"
    lines += [
        "",
        f"The planner packs {packed} tokens.",
        "",
        *tell_whole_runs(curves),
        "![held-out loss over tokens and over time](throughput.svg)",
        "",
        "At equal settings no script packs rows. The bundle sorts the rows of a step by length,",
        "and computes the loss on learned tokens only. TRL's defaults pad rows to the longest of a",
        "batch of about eight, and use activation checkpointing. Learning rate, schedule, steps",
        "and rows per step are the plan's.",
        "",
    ]
    return lines


def tell_whole_runs(curves: Mapping[str, Report]) -> list[str]:
    """Return the results of whole runs, the bundle's and those of the hand-written scripts."""
    lines = [
        "## At equal held-out loss",
        "",
        "Whole runs with checkpoints. The hand-written scripts train for one epoch, and the bundle",
        "until its loss per token on the held-out rows is no higher.",
        "",
        "| script | steps | tokens | held-out loss | seconds | of CPU | x bundle | of CPU |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    mine = curves[PLANNED]
    for name, run in curves.items():
        seconds = [run["seconds"], run["processor_seconds"]]
        times = [seconds[0] / mine["seconds"], seconds[1] / mine["processor_seconds"]]
        tokens, _, loss = run["curve"][-1]
        cells = [f"{run['steps'] + 1}", f"{tokens:,}", f"{loss:.4f}"]
        cells += [f"{each:.0f}" for each in seconds] + [f"{each:.2f}" for each in times]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
