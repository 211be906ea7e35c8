"""One measured run of a generated bundle, and the prediction of its plan."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from benchmarks.gpu.cases import SHAPES, STEPS, Case, make_spec
from benchmarks.vocabularies import finish_tokenizer, train_sentencepiece
from ftc.compiler.pipeline import compile_bundle, write
from ftc.compiler.plan.plan import Plan

_SEED: Final = 4
_TOKENS: Final = 320  # of the tokenizer; the model has its real vocabulary
_NAMED: Final = {
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "bos_token": "<s>",
    "unk_token": "<unk>",
}
_WORDS: Final = ("parcel", "order", "refund", "invoice", "late", "where", "please", "account")
_STEP: Final = re.compile(r"step (\d+) of")
_WARM: Final = 3  # steps before the rate is measured
_SAMPLE_SECONDS: Final = 0.1


def make_model(folder: Path, shape: str) -> None:
    """Write a Llama of this shape with random 16-bit weights, made on a GPU if there is one."""
    import torch  # noqa: PLC0415 - takes seconds, and a run without a GPU ends before
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    folder.mkdir(parents=True)
    texts = [_text(number, 40) for number in range(400)]
    named = tuple(_NAMED.values())
    (folder / "tokenizer.model").write_bytes(
        train_sentencepiece(texts, tokens=_TOKENS, named=named)
    )
    finish_tokenizer(folder, {**_NAMED, "add_prefix_space": False})
    torch.manual_seed(_SEED)
    ids: dict[str, Any] = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            model = LlamaForCausalLM(LlamaConfig(**SHAPES[shape], **ids))
    finally:
        torch.set_default_dtype(before)
    model.save_pretrained(folder)


def write_rows(path: Path, case: Case) -> None:
    """Write rows that are all longer than the case's length, each different."""
    rows = (_text(number, case.tokens) for number in range(case.micro * STEPS))
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), encoding="utf-8")


def _text(number: int, words: int) -> str:
    return " ".join(
        f"{_WORDS[(number * 7 + place * place) % len(_WORDS)]} {number * words + place}"
        for place in range(words)
    )


def measure(case: Case, folder: Path, *, hardware: str) -> Mapping[str, Any]:
    """Compile and run a case in a folder that holds `model/`; return prediction and measurement.

    `measured` is missing if the plan does not fit; `failed` describes the failure of a run.
    """
    write_rows(folder / "rows.jsonl", case)
    place = folder / "bundles" / str(len(list(folder.glob("bundles/*"))))
    place.mkdir(parents=True)
    spec = place / "spec.json"
    text = json.dumps(make_spec(case, hardware=hardware)).replace("../", "../../")
    spec.write_text(text, encoding="utf-8")
    outcome = compile_bundle(str(spec))
    entry = {"case": case.name, **asdict(case)}
    if outcome.plan is not None:
        entry["predicted"] = predict(outcome.plan)
    if outcome.failed:
        errors = [found.message for found in outcome.findings if found.severity == "error"]
        return {**entry, "refused": "; ".join(errors)}
    write(outcome)
    return {**entry, **run(place / "measured", case, gpu=hardware != "cpu")}


def predict(plan: Plan) -> Mapping[str, Any]:
    """Return the plan's predictions of the measured values."""
    memory = plan.memory
    return {
        "allocated_bytes": memory.allocated_bytes,
        "reserved_bytes": memory.reserved_bytes,
        "device_bytes": memory.device_bytes,
        "tokens_per_second": plan.time.tokens_per_second if plan.time is not None else None,
    }


def run(bundle: Path, case: Case, *, gpu: bool) -> Mapping[str, Any]:
    """Run `prepare` and `train` of a bundle; time its steps by its log lines."""
    prepared = subprocess.run(
        [sys.executable, "prepare.py"], cwd=bundle, capture_output=True, text=True, check=False
    )
    if prepared.returncode:
        return {"failed": _last_line(prepared.stderr)}
    launch = [sys.executable, "-m", "accelerate.commands.launch"]
    command = [*launch, "--config_file", "accelerate.yaml", "train.py"]
    environment = {**os.environ, "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    with (
        Device(active=gpu) as device,
        (bundle / "err.txt").open("w+") as errors,
        subprocess.Popen(
            command, cwd=bundle, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        seen: dict[int, float] = {}
        for line in process.stdout or ():
            found = _STEP.search(line)
            if found is not None:
                seen.setdefault(int(found.group(1)), time.monotonic())
        code = process.wait()
        errors.seek(0)
        said = errors.read()
    if code:
        return {"failed": _last_line(said)}
    curve = json.loads((bundle / "run/train/curve.json").read_text(encoding="utf-8"))
    measured = {
        "allocated_bytes": curve.get("allocated_bytes"),
        "reserved_bytes" if gpu else "device_bytes": curve["peak_bytes"],
        "tokens_per_second": _rate(seen, case),
    }
    return {"measured": {**measured, **({"device_bytes": device.peak_bytes} if gpu else {})}}


def _rate(seen: Mapping[int, float], case: Case) -> float | None:
    """Return tokens per second between the logged warm steps; None if there are too few."""
    warm = sorted((step, when) for step, when in seen.items() if step >= _WARM)
    if len(warm) < 2:  # noqa: PLR2004 - a rate needs two
        return None
    (first, start), (last, end) = warm[0], warm[-1]
    return round((last - first) * case.micro * case.tokens / max(end - start, 1e-6), 1)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


class Device:
    """Samples the driver's used memory of the first GPU, minus the memory used before."""

    def __init__(self, *, active: bool) -> None:
        """Sample inside the context; set `active` to false without a GPU."""
        self.peak_bytes = 0
        self._active = active
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        """Start sampling."""
        if self._active:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sampling."""
        self._stop.set()
        if self._active:
            self._thread.join()

    def _sample(self) -> None:
        import pynvml  # noqa: PLC0415 - of a machine with a GPU only

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        before = int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
        while not self._stop.wait(_SAMPLE_SECONDS):
            used = int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
            self.peak_bytes = max(self.peak_bytes, used - before)
        pynvml.nvmlShutdown()
