"""The rehearsal: its stages in order, each timed, until the first that fails."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.multimodal.wrappers import wrapper_named
from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.pipeline import Outcome, compile_bundle, write
from ftc.compiler.rehearse.bundle_run import (
    BundleRun,
    Mark,
    checkpoint,
    done,
    find_cause,
    is_done,
    make_environment,
    said,
    written,
)
from ftc.compiler.rehearse.course import Course, clean, make_folder
from ftc.compiler.rehearse.meaning import MEANINGS, find_unshown
from ftc.compiler.rehearse.model import find_files, make_miniature
from ftc.compiler.rehearse.second_spec import make_second_spec
from ftc.compiler.rehearse.stage import Failure, Rehearsal, StageFailed, Tell
from ftc.compiler.resolve.facts import ModelFacts, known
from ftc.runtime.files import read_json, read_rows
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.sections import Spec

#: The maximum difference between the 16-bit GGUF and the merged model: mean nats per token.
MOST_DIVERGENCE: Final = 0.001
#: ... of a model whose YaRN has `"truncate": false`, as gpt-oss: llama.cpp rounds the range of
#: dimensions that it stretches. Miniatures of gpt-oss differed by 1.0e-3 to 1.9e-3 in the mean, as
#: some tokens go to other experts, and by 5e-7 from transformers with that rounding.
MOST_UNROUNDED: Final = 0.01
#: ... and one minus the least cosine of a vector, or the largest difference of a score.
MOST_TURN: Final = 0.0001
MOST_DIFFERENCE: Final = 0.001
_RUNS: Final = ("torch", "transformers", "trl", "peft", "accelerate", "datasets", "matplotlib")
_OF_TORCH: Final = ("adamw", "adafactor", "sgd")  # the others are from bitsandbytes
_CONVERTS: Final = ("llama_cpp", "gguf")
_SERVES: Final = ("compressed_tensors",)
_COMPARES: Final = ("sentence_transformers",)
_TOWERS: Final = ("timm",)
_MEBI: Final = 2**20
_QUESTION_LETTERS: Final = 400
_ASKED_TEXTS: Final = 3
#: The possible measurements of an evaluation, in the order of the report.
_MEASURES: Final = {
    "loss": "loss",
    "ndcg_at_10": "nDCG@10",
    "spearman": "Spearman's correlation",
    "reward": "mean reward",  # of prompts alone, like the next one
    "divergence": "divergence from the teacher",
}


def rehearse(source: str, *, keep: Path | None, tell: Tell) -> Rehearsal:
    """Run the whole bundle of a spec on a miniature of its model; `keep` is a folder for its files.

    Raises EnvironmentFailure if this machine lacks something that a rehearsal needs.
    """
    folder = make_folder(keep)
    course = Course(folder=folder, tell=tell)
    outcome, failure = Outcome(), None
    try:
        try:
            with course.stage("compile") as result:
                outcome = compile_bundle(source, stop_after="verify")
                _hold_sound(outcome, "")
                result(f"{len(outcome.files)} files, {len(outcome.findings)} findings")
            _run(outcome, course)
        except StageFailed as failed:
            failure = _explain(course, str(failed))
        return _close(outcome, course, failure, keep)
    finally:
        if keep is None:
            clean(folder, failed=failure is not None)


def _hold_sound(outcome: Outcome, whose: str) -> None:
    """Raise StageFailed with the first error of a spec, if it has one."""
    errors = [finding for finding in outcome.findings if finding.severity == "error"]
    if errors:
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise StageFailed(f"{whose}{errors[0].code} {errors[0].message}{more}")


def _run(outcome: Outcome, course: Course) -> None:
    """Make the miniature and its bundle, then run the bundle."""
    spec = outcome.spec
    if spec is None or outcome.document is None or outcome.facts is None:
        raise ValueError("only a compiled outcome can be rehearsed")
    facts = known(outcome.facts)
    if facts is None or outcome.plan is None:
        raise ValueError("only a planned outcome can be rehearsed")
    _need_packages(spec, outcome, facts.model)
    place = find_files(facts.model, folder=outcome.document.folder)
    taught = None
    if facts.teacher is not None:
        taught = find_files(facts.teacher.model, folder=outcome.document.folder)
    second = make_second_spec(
        outcome.document, spec=spec, plan=outcome.plan, data=facts.data, folder=course.folder
    )
    with course.stage("miniature") as result:
        trusted = spec.model.trust_remote_code
        sizes = make_miniature(place, course.folder / "model", course.log, trusted=trusted)
        if taught is not None:
            folder = course.folder / "teacher"
            teacher = make_miniature(taught, folder, course.log, trusted=False, teaches=True)
            sizes = f"{sizes}; its teacher: {teacher}"
        path = course.folder / "spec.json"
        path.write_text(json.dumps(second, indent=2) + "\n", encoding="utf-8")
        _write_bundle(path, course)
        result(sizes)
    _train(course)
    _judge(spec, course)
    if OBJECTIVES[spec.objective.type].head == "scores":
        course.skip(
            "convert", "llama.cpp does not support this head: the merged folder is the result"
        )
    if spec.export.types:
        _compare(course)
    _ask(spec, course)


def _write_bundle(path: Path, course: Course) -> None:
    """Compile the rehearsal's own spec, through the same stages."""
    outcome = compile_bundle(str(path), output=course.bundle)
    _hold_sound(outcome, "its spec does not compile: ")
    write(outcome)


def _need_packages(spec: Spec, outcome: Outcome, model: ModelFacts) -> None:
    texts = _COMPARES if compares_texts(spec.objective.type) else ()
    served = _SERVES if spec.export.vllm else ()
    converted = _CONVERTS if spec.export.types or spec.export.adapter else ()
    wrapper = wrapper_named(model.wrapper)
    towers = _TOWERS if wrapper is not None and wrapper.timm else ()
    needed = (*_RUNS, *texts, *served, *converted, *towers)
    if outcome.plan is not None and outcome.plan.decisions.distribution.sharding.value.startswith(
        "zero"
    ):
        needed = (*needed, "deepspeed")
    in_4_bits = spec.method.type == "qlora" or spec.objective.teacher.quantization == "nf4"
    if in_4_bits or spec.training.optimizer not in _OF_TORCH:
        needed = (*needed, "bitsandbytes")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise EnvironmentFailure(
            message=f"a rehearsal trains, and {', '.join(missing)} cannot be imported",
            help="run `make install` in a clone of ftc to install what bundles need",
        )


def _train(course: Course) -> None:
    """Start `run.sh` and kill it at its first checkpoint."""
    with BundleRun(course.bundle, course.log) as run:
        with course.stage("prepare") as result:
            run.wait_for(done("prepare"))
            result(_count_rows(course.bundle))
        with course.stage("train") as result:
            run.wait_for(checkpoint("train"))
            run.kill()
            result("killed with SIGKILL at its first checkpoint")
    if is_done(course.bundle, "train"):
        course.skip("resume", "training ended before it could be killed")


def _judge(spec: Spec, course: Course) -> None:
    """Start `run.sh` again and follow it to its end."""
    with BundleRun(course.bundle, course.log) as run:
        for mark in _marks(spec, course):
            with course.stage(mark.stage) as result:
                run.wait_for(mark)
                if mark.stage == "resume" and "resuming from" not in run.text():
                    raise StageFailed(
                        "training started again instead of resuming from its checkpoint"
                    )
                result(_result(mark.stage, course.bundle))
        with course.stage("report"):
            run.finish()


def _marks(spec: Spec, course: Course) -> Iterator[Mark]:
    if not is_done(course.bundle, "train"):
        yield done("resume", "train")
    yield done("merge")
    if spec.data.splits.test:
        yield done("evaluate")
    if spec.export.types:
        yield said("convert", "\nconverted: ")
        if not compares_texts(spec.objective.type):  # their texts are compared with their vectors
            yield written("tokens", "run/quantize/tokens.json")
        yield done("quantize")
    if spec.export.adapter:
        yield done("adapter")
    if spec.export.vllm:
        yield done("vllm")


def _compare(course: Course) -> None:
    """Compare the export's measurements of the 16-bit GGUF with the maximum effect of rounding."""
    with course.stage("compare") as result:
        config = read_json(course.folder / "model" / "config.json")
        words, off, most = _measure(
            _qualities(course.bundle)["F16"],
            MOST_UNROUNDED if _stretches_unrounded(config) else MOST_DIVERGENCE,
        )
        if off >= most:
            raise StageFailed(
                f"the F16 GGUF differs from the merged model: {words}; rounding alone stays"
                f" below {most}"
            )
        result(words)


def _stretches_unrounded(config: Mapping[str, Any]) -> bool:
    """Return whether a config asks for YaRN on an exact range of dimensions."""
    said = config.get("rope_parameters") or config.get("rope_scaling")
    return isinstance(said, dict) and said.get("truncate") is False


def _measure(found: Mapping[str, Any], most: float) -> tuple[str, float, float]:
    """Return the distance of a file from the model in words, as a number, and its bound.

    `most` is the bound of a divergence.
    """
    if "cosine" in found:
        off = 1 - found["cosine"]
        words = f"F16: a cosine of {found['cosine']:.6f} or more on {found['texts']:,} texts"
        return words, off, MOST_TURN
    if "difference" in found:
        off = found["difference"]
        words = f"F16: scores within {off:.1e} on {found['pairs']:,} pairs"
        return words, off, MOST_DIFFERENCE
    words = (
        f"F16: KL {found['divergence']:.1e} nats per token,"
        f" the same next token {found['agreement']:.1%}"
    )
    return words, found["divergence"], most


def _qualities(bundle: Path) -> dict[str, Any]:
    """Return the export's measurements of each file, by type."""
    text = (bundle / "run" / "quantize" / "quality.json").read_text(encoding="utf-8")
    return {entry["type"]: entry for entry in json.loads(text)["files"]}


def _ask(spec: Spec, course: Course) -> None:
    """Ask the result a question from the data; a reward model scores an answer."""
    with course.stage("answer") as result:
        words = _choose_words(spec, _read_rows(course.bundle / "run"))
        answered = subprocess.run(
            [sys.executable, "ask.py", "--", *words],
            cwd=course.bundle,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            env=make_environment(),
        )
        with course.log.open("a", encoding="utf-8") as stream:
            stream.write(f"--- ask.py\n{answered.stdout}{answered.stderr}")
        if answered.returncode:
            raise StageFailed(find_cause(answered.stderr) or f"exit code {answered.returncode}")
        result(f"{len(answered.stdout.strip())} characters, from an untrained model")


def _choose_words(spec: Spec, rows: list[Mapping[str, Any]]) -> list[str]:
    """Return the input of `ask.py`: a question, and the texts to compare, if any."""
    row = rows[0]
    if compares_texts(spec.objective.type):
        texts = list(dict.fromkeys(row["positive"] for row in rows))
        return [text[:_QUESTION_LETTERS] for text in (row["anchor"], *texts[:_ASKED_TEXTS])]
    asked = [turn["content"] for turn in row.get("messages", ()) if turn["role"] == "user"]
    question = (asked or [str(row.get("prompt") or "Hello")])[0][:_QUESTION_LETTERS]
    return [question, str(row["answer"])] if spec.objective.type == "reward" else [question]


def _read_rows(run: Path) -> list[Any]:
    """Return the test split's rows, or the training split's if nothing is held out.

    Raises StageFailed if a file has no rows, or was written by another program.
    """
    for name in ("test", "train"):
        path = run / "data" / f"{name}.jsonl"
        if path.is_file() and path.stat().st_size:
            break
    try:
        return list(read_rows(path))
    except (OSError, ValueError) as error:
        raise StageFailed(f"{path.name} cannot be read: {error}") from error


def _count_rows(bundle: Path) -> str:
    report = json.loads((bundle / "run" / "data" / "report.json").read_text(encoding="utf-8"))
    counts = ", ".join(f"{count} rows in {name}" for name, count in report["splits"].items())
    tried = report["round_trip"].get("rows")  # none where rows stay texts
    return counts if tried is None else f"{counts}; {tried} of them encoded and decoded"


def _result(stage: str, bundle: Path) -> str:
    """Return the result of a stage in a few words, from the files that it wrote."""
    run = bundle / "run"
    if stage == "resume":
        curve = json.loads((run / "train" / "curve.json").read_text(encoding="utf-8"))
        return f"resumed from its checkpoint and trained to step {curve['train'][-1][0]}"
    if stage == "evaluate":
        report = json.loads((run / "evaluate" / "report.json").read_text(encoding="utf-8"))
        name = next(name for name in _MEASURES if name in report)
        return f"{_MEASURES[name]} {report[name]:.2f} on {report['rows']} rows (an untrained model)"
    if stage == "tokens":
        found = json.loads((run / "quantize" / "tokens.json").read_text(encoding="utf-8"))
        return _say_compared(found)
    if stage == "quantize":
        return ", ".join(
            f"{kind} {found['bytes'] / _MEBI:,.1f} MiB, {_say_quality(found)}"
            for kind, found in _qualities(bundle).items()
        )
    if stage == "vllm":
        text = (run / "vllm" / "quality.json").read_text(encoding="utf-8")
        return ", ".join(
            f"{found['type']} {found['bytes'] / _MEBI:,.1f} MiB, {_say_quality(found)}"
            for found in json.loads(text)["files"]
        )
    if stage == "adapter":
        report = json.loads((run / "quantize" / "adapter.json").read_text(encoding="utf-8"))
        found = report["adapter"]
        tokens = _say_compared(report["tokens"])
        return f"{found['bytes'] / _MEBI:,.1f} MiB, KL {found['divergence']:.1e}; {tokens}"
    return ""


def _say_quality(found: Mapping[str, Any]) -> str:
    if "cosine" in found:
        return f"cosine {found['cosine']:.6f}"
    if "difference" in found:
        return f"scores within {found['difference']:.1e}"
    return f"KL {found['divergence']:.1e}"


def _say_compared(found: Mapping[str, Any]) -> str:
    """Return how many rows transformers and llama.cpp compared; raises StageFailed if none."""
    rows = found["compared_rows"]
    if not rows:
        raise StageFailed("no row was compared with llama.cpp's tokens")
    words = f"{rows:,} of {rows:,} rows have the same tokens"
    if found.get("rows_with_tools"):
        words += f", {found['rows_with_tools']:,} of them with tools"
    if found.get("later_pieces"):
        words += f"; {found['later_pieces']:,} later pieces of texts not compared"
    return words


def _explain(course: Course, cause: str) -> Failure:
    stage = course.stages[-1].name
    log = course.log if course.log.is_file() else None
    return Failure(stage=stage, cause=cause, meaning=MEANINGS[stage], log=log)


def _close(
    outcome: Outcome, course: Course, failure: Failure | None, keep: Path | None
) -> Rehearsal:
    facts = known(outcome.facts) if outcome.facts is not None else None
    shown = outcome.plan is not None and facts is not None
    rehearsal = Rehearsal(
        name=outcome.spec.name if outcome.spec is not None else None,
        stages=tuple(course.stages),
        failure=failure,
        unshown=(),
        findings=outcome.findings,
        folder=keep,
    )
    if not shown or outcome.plan is None or facts is None:
        return rehearsal
    return replace(rehearsal, unshown=tuple(find_unshown(outcome.plan, facts.hardware)))
