"""The pinned packages of a bundle, which ftc is tested with."""

from collections.abc import Callable, Mapping
from typing import Final

from ftc.compiler.knowledge.locked_packages import CPU_BUILDS, PLATFORM, find_closure, list_pythons
from ftc.compiler.render.source import reads_number_words
from ftc.compiler.render.uses import Uses
from ftc.spec.findings.quote import shell_word

PINS: Final[Mapping[str, str]] = {
    "torch": "2.13.0",
    "transformers": "5.23.0",
    "trl": "1.16.0",
    "peft": "0.21.2",
    "bitsandbytes": "0.50.2",
    "liger-kernel": "0.8.5",
    "accelerate": "1.15.0",
    "datasets": "5.2.0",
    "deepspeed": "0.19.8",
    "llama-cpp-python": "0.3.36",
    "gguf": "0.19.0",
    "compressed-tensors": "0.17.0",
    "sentencepiece": "0.2.3",
    "protobuf": "7.36.2",
    "sentence-transformers": "6.2.0",
    "matplotlib": "3.11.2",
    "torchvision": "0.28.0",
    "num2words": "0.5.14",
    "timm": "1.0.31",
    "lm-eval": "0.4.13",
    "pytablewriter": "0.38.0",
    "rouge-score": "0.1.2",
    "sacrebleu": "2.6.0",
    "jsonschema": "4.26.0",
    "tensorboardx": "2.6.5",
    "wandb": "0.31.0",
    "mlflow-skinny": "3.17.2",
    "trackio": "0.43.0",
    "vllm": "0.30.0",
}

#: The size of llama-cpp-python's source package.
SDIST_MB: Final = 77


def _runs_benchmarks(uses: Uses) -> bool:
    """Return whether public benchmarks measure the model, or check it for regressions."""
    checks = uses.spec.training.evaluation.regression
    return uses.decisions.evaluation.harness is not None or any(check.task for check in checks)


_NEEDED_BY: Final[Mapping[str, Callable[[Uses], bool]]] = {
    "peft": lambda uses: uses.decisions.lora.lora_rank is not None,
    "bitsandbytes": lambda uses: (
        uses.decisions.method.quantization is not None
        or uses.spec.training.optimizer not in ("adamw", "adafactor", "sgd")
        or uses.teacher_4bit
    ),
    "liger-kernel": lambda uses: uses.liger,
    "deepspeed": lambda uses: uses.deepspeed,
    "llama-cpp-python": lambda uses: uses.converted,
    "gguf": lambda uses: uses.converted,
    "compressed-tensors": lambda uses: bool(uses.spec.export.vllm),
    "sentence-transformers": lambda uses: uses.texts,
    "lm-eval": _runs_benchmarks,
    # with pillow, which it needs; transformers' processors of images and timm use both
    "torchvision": lambda uses: uses.vision or uses.timm,
    "num2words": lambda uses: reads_number_words(uses.source),
    "timm": lambda uses: uses.timm,
    "jsonschema": lambda uses: uses.reward_schema,
    # only the writer; TensorBoard itself is needed where the run is viewed
    "tensorboardx": lambda uses: uses.spec.tracking.type == "tensorboard",
    "wandb": lambda uses: uses.spec.tracking.type == "wandb",
    "mlflow-skinny": lambda uses: uses.spec.tracking.type == "mlflow",
    "trackio": lambda uses: uses.spec.tracking.type == "trackio",
    "vllm": lambda uses: uses.decisions.engine.vllm_share is not None,
    # of lm-eval: pip rejects the metadata of other versions one by one
    "pytablewriter": _runs_benchmarks,
    "rouge-score": lambda uses: (
        uses.decisions.evaluation.metric.value == "rouge_l"
        and (uses.answered or uses.best_by_metric)
    ),
    "sacrebleu": lambda uses: (
        uses.decisions.evaluation.metric.value == "chrf" and (uses.answered or uses.best_by_metric)
    ),
}


_LLAMA_CPP: Final = "llama-cpp-python"
#: Before a command that builds llama.cpp: on some processors, a native build of it crashes.
_BUILD: Final = 'CMAKE_ARGS="-DGGML_NATIVE=OFF" '


def llama_cpp_command() -> str:
    """Return the command that installs llama.cpp's bindings, which are only published as source."""
    return f"{_BUILD}pip install {_LLAMA_CPP}=={PINS[_LLAMA_CPP]}"


def install_command(path: str, text: str) -> str:
    """Return the command that installs a requirements file, from its path and its text."""
    return f"{_BUILD if _LLAMA_CPP in text else ''}pip install -r {shell_word(path)}"


def requirements(uses: Uses) -> str:
    """Return the requirements file of a bundle: the pins that its scripts need, torch first."""
    return "".join(f"{name}=={PINS[name]}\n" for name in _needed(uses))


def requirements_lock(uses: Uses) -> str:
    """Return those pins with all dependencies, each with the hashes of its files.

    A pin that was never locked has no hash; pip rejects it and names it. Without a GPU torch is
    omitted, because its CPU build is installed before, from a separate index.
    """
    needed = _needed(uses)
    on_cpu = uses.facts.hardware.kind == "cpu"
    locked = find_closure(needed, cpu=on_cpu)
    pythons = list_pythons()
    lines = [
        "# requirements.txt and all that it needs, with the SHA-256 of every file that may come:",
        f"# {PLATFORM}, CPython {pythons[0]} to {pythons[-1]}, from the public package index.",
    ]
    if on_cpu:
        lines.append(f"# Install the CPU build of torch {PINS['torch']} first: see README.md.")
    lines.append("#   pip install --require-hashes -r requirements.lock")
    names = {package.name for package in locked} | (set(CPU_BUILDS) if on_cpu else set())
    lines += [f"{name}=={PINS[name]}" for name in needed if name not in names]
    for package in locked:
        hashes = " ".join(f"--hash=sha256:{digest}" for digest in package.hashes)
        lines.append(f"{package.name}=={package.version} {hashes}")
    return "\n".join(lines) + "\n"


def _needed(uses: Uses) -> list[str]:
    return [name for name in PINS if _NEEDED_BY.get(name, _always)(uses)]


def _always(_: Uses) -> bool:
    return True
