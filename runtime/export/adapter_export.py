"""Writes a LoRA adapter as its own GGUF file; compares base plus adapter with the merged model."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from huggingface_hub import snapshot_download

from ..compare import fidelity, reference, same_tokens
from ..compare.same_tokens import JudgedRows
from ..files import read_json, sync, write_json
from ..llama_cpp.converter import Converter
from ..run import Run
from ..stages import Identity
from .whole_weights import is_complete

#: Parts of adapters that the converter drops silently or cannot read.
UNCONVERTIBLE: Final = (
    "use_dora",
    "use_rslora",
    "modules_to_save",
    "rank_pattern",
    "alpha_pattern",
)
_WEIGHTS = (".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The two files in run/quantize: NAME-base-F16.gguf and NAME-adapter.gguf.

    `base` is the folder or Hub id of the base model, `revision` its commit on the Hub.
    """

    run: Run
    name: str
    base: Path | str
    converter: Converter
    judged: JudgedRows
    fidelity: reference.Job
    revision: str | None = None


def check_adapter(run: Run) -> None:
    """End the stage unless run/train/model has an adapter that llama.cpp can represent."""
    trained = run.folder / "train" / "model"
    weights = trained / "adapter_model.safetensors"
    if not (trained / "adapter_config.json").is_file() or not weights.is_file():
        run.stop("run/train/model has no adapter: run train.py first (see run.sh)")
    if not is_complete(weights):
        run.stop("run/train/model/adapter_model.safetensors is cut off: run train.py again")
    settings = read_json(trained / "adapter_config.json")
    if found := [name for name in UNCONVERTIBLE if settings.get(name)]:
        run.stop(f"llama.cpp cannot represent {found[0]} of this adapter: use the merged model")


def write_adapter(job: Job, identity: Identity) -> None:
    """Write and verify both files and adapter.json; ends the stage if they are unsound."""
    run, out = job.run, job.run.folder / "quantize"
    out.mkdir(parents=True, exist_ok=True)
    base_file, adapter_file = out / f"{job.name}-base-F16.gguf", out / f"{job.name}-adapter.gguf"
    for leftover in out.glob("adapter-unfinished-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="adapter-unfinished-", dir=out) as name:
        folder = Path(name)
        base = _link_base(job, folder / "base")
        base_gguf, adapter_gguf = folder / base_file.name, folder / adapter_file.name
        job.converter.convert(
            run, "convert_hf_to_gguf.py", base, "--outtype", "f16", into=base_gguf
        )
        how = "convert_lora_to_gguf.py", run.folder / "train" / "model", "--base", base
        job.converter.convert(run, *how, "--outtype", "f32", into=adapter_gguf)
        compared = same_tokens.compare(run, job.judged, base_gguf)
        fidelity.note_reference(run, job.fidelity)
        found = fidelity.judge(run, base_gguf, lora_path=adapter_gguf)
        alone = fidelity.judge(run, base_gguf, tokens_only=True)["divergence"] or 0.0
        _, most = reference.read_response(run, job.fidelity)
        off = float("inf") if found["divergence"] is None else found["divergence"]
        words = f"{off:.2g} nats per token from the merged model (the base alone: {alone:.2g})"
        if off > most:
            run.stop(f"the adapter on its base is {words}; rounding explains up to {most:.2g}")
        if alone <= most:
            run.say("warning: the base alone is as close, so any other adapter would pass as well")
        run.say(f"the adapter on its base is {words}")
        for path, kept in ((base_gguf, base_file), (adapter_gguf, adapter_file)):
            sync(path)
            path.replace(kept)
    entry = {"file": adapter_file.name, "bytes": adapter_file.stat().st_size, **found}
    entry["bounds"] = {"max_divergence": most}
    report = {"version": 1, "base": base_file.name, "adapter": entry, "tokens": compared}
    write_json(out / "adapter.json", report)
    run.mark_done(identity, base_file, adapter_file, out / "adapter.json")


def _link_base(job: Job, folder: Path) -> Path:
    """Return a folder with the base's weights, and the merged model's tokenizer and template."""
    base = Path(job.base)
    if not base.is_dir():
        base = Path(snapshot_download(str(job.base), revision=job.revision))
    folder.mkdir()
    for path in base.iterdir():
        if path.name.endswith(_WEIGHTS):
            (folder / path.name).symlink_to(path.resolve())
    for path in (job.run.folder / "merged").iterdir():
        if path.is_file() and not path.name.endswith(_WEIGHTS):
            shutil.copyfile(path, folder / path.name)
    return folder
