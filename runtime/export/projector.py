"""Converts the tower and the projector of the merged model to a GGUF file, and verifies it.

llama.cpp calls that file mmproj and reads it beside any GGUF file of the language model. Its output
for some images is compared with the features that transformers computes, and the answers through
both files with those of the trained model.
"""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..compare import image_fidelity
from ..files import sync, write_json
from ..llama_cpp.converter import Converter, find_cause
from ..run import Run
from ..stages import Identity

LEAST_COSINE: Final = 0.999  # 16 bits cost about a tenth of what this allows
_WITHOUT_MODEL: Final = ("vision_tower.", "multi_modal_projector.")
ERRORS: Final = 3  # standard errors by which a metric may change


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The projector of a bundle, NAME-mmproj.gguf in run/projector.

    `types` are those of the language model's files. `rows` is the file of the judged rows, `rule`
    has the settings by which images become tokens, and `scorer` names the module of the metric.
    """

    run: Run
    name: str
    types: tuple[str, ...]
    converter: Converter
    rows: Path
    rule: Mapping[str, Any]
    token: int
    answer_tokens: int
    context_tokens: int
    attention: str
    on_gpu: bool
    custom_code: bool = False
    scorer: str | None = None

    @property
    def out(self) -> Path:
        """The folder of the file."""
        return self.run.folder / "projector"


def write_projector(job: Job, identity: Identity) -> None:
    """Write and verify the file; ends the stage if it is not sound."""
    run, out = job.run, job.out
    out.mkdir(parents=True, exist_ok=True)
    path, partial = out / f"{job.name}-mmproj.gguf", out / "unfinished.gguf"
    path.unlink(missing_ok=True)
    source = name_for_converter(run.folder / "merged", out / "merged")
    how = "convert_hf_to_gguf.py", source, "--mmproj", "--outtype", "f16"
    job.converter.convert(run, *how, into=partial)
    shutil.rmtree(out / "merged", ignore_errors=True)
    write_json(out / "job.json", _describe(job, partial))
    found = _measure(run)
    run.say(f"the projector's output agrees with the tower's: cosine {found['cosine']:.6f}")
    for kind, each in found["files"].items():
        same = f"{each['same_answers']:.0%} of {found['rows']} rows"
        run.say(f"{kind} answers {same} with images as the trained model does")
    write_json(out / "report.json", found)
    if fault := find_fault(found):
        partial.rename(path.with_suffix(".failed"))
        run.stop(f"the files do not read images as the trained model does: {fault}")
    sync(partial)
    partial.replace(path)
    run.mark_done(identity, path, out / "report.json")


def name_for_converter(merged: Path, copy: Path) -> Path:
    """Return a folder whose tower has names that the converter reads: the merged one, or a copy.

    InternVL's first repositories have names without `model.`, which the converter ignores.
    """
    config = json.loads((merged / "config.json").read_bytes())
    if config.get("architectures") != ["InternVLForConditionalGeneration"]:
        return merged
    from safetensors.torch import save_file  # noqa: PLC0415 - it needs torch

    from ..merge.safetensors_files import read_weights  # noqa: PLC0415 - it needs torch

    weights = read_weights(merged)
    named = [name for name in weights.entries if name.startswith(_WITHOUT_MODEL)]
    if not named:
        return merged
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.safetensors", "*.index.json")
    shutil.copytree(merged, copy, ignore=ignored)
    tensors = {f"model.{name}": weights.read(name) for name in named}
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


def find_fault(found: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the files as a clause, or None."""
    if not found["cosine"] > LEAST_COSINE:
        return f"a cosine of the projector's output is {found['cosine']:.4f}"
    for kind, each in found["files"].items():
        if not each["answers"]:
            return f"{kind} writes nothing after any prompt"
        chance = ERRORS * math.sqrt(each.get("changed_answers", 0.0)) / found["rows"]
        if not each.get("metric_drop", 0.0) <= max(chance, 1e-9):
            now, before = each["metric"], each["trained_metric"]
            return f"the metric of {kind} is {now:.3f}, and that of the trained model {before:.3f}"
    return None


def _describe(job: Job, path: Path) -> dict[str, Any]:
    files = {kind: f"quantize/{job.name}-{kind}.gguf" for kind in job.types}
    names = ("token", "answer_tokens", "context_tokens", "attention", "on_gpu", "custom_code")
    return {
        **{name: getattr(job, name) for name in names},
        "files": files,
        "projector": path.relative_to(job.run.folder).as_posix(),
        "rows": job.rows.relative_to(job.run.bundle).as_posix(),
        "rule": dict(job.rule),
        "scorer": job.scorer,
    }


def _measure(run: Run) -> dict[str, Any]:
    command = [sys.executable, "-m", image_fidelity.__name__]
    done = subprocess.run(command, cwd=run.bundle, capture_output=True, text=True, check=False)
    if done.returncode:
        run.stop(f"reading images with llama.cpp failed: {find_cause(done)}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
