"""Run random specs whole on this machine's CPU, and print those that end badly.

    python -m benchmarks.whole_runs SDIST --seed 1 --count 100

A spec is a random case of the dimensions in tests/covering.py, on one process or two, with up to
eight further fields: a word of its enum, true or false, or an example of its schema. A field that
causes an error is dropped. What is left must compile, and `run.sh` must end well: what `ftc check`
accepts, it has to carry out. The model is the quickstart's, with 2.7 million weights. SDIST are the
sources of llama-cpp-python. Specs and output of runs that fail are kept in build/whole_runs/. Exits
1 if there are any.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.pipeline import check
from ftc.spec.findings.finding import Finding
from ftc.spec.schema import fields as schema_fields
from tests.covering import DIMENSIONS, Case, has_rows, make_spec, refusals, write_data
from tests.end_to_end.objectives.test_distill import make_teacher
from tests.end_to_end.process import QUICKSTART, ROOT, run, write_json
from tests.test_properties import put

KEPT: Final = ROOT / "build/whole_runs"
#: Sections that say where a run takes place or goes to.
_ELSEWHERE: Final = ("hardware", "launch", "publish", "tracking", "allow", "$schema", "ftc", "name")
#: Fields that name files, that the case already sets, or that need more than six steps.
_FILES: Final = (
    *("model.id", "model.revision", "model.chat_template", "data.source", "data.sources"),
    *("data.revision", "data.subset", "data.split", "data.columns", "data.form", "data.format"),
    *("objective.type", "objective.teacher", "objective.rewards", "objective.tools"),
    *("training.evaluation.harness", "training.evaluation.regression", "training.max_steps"),
    *("distribution.nvme_path", "distribution.strategy", "method.type", "export.vllm"),
    *("export.verify", "training.evaluation.every_steps"),
)
_MOST_FIELDS: Final = 8
_TRIES: Final = 12
#: Larger examples are meant for more than sixty rows.
_LARGEST: Final = 512


def main() -> int:
    """Run as many specs as asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.whole_runs")
    parser.add_argument("sdist", type=Path, help="of llama-cpp-python")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="specs that are run (100)")
    args = parser.parse_args()
    ended: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = make_folder(Path(place), args.sdist)
        for number, spec in zip(range(args.count), draw_specs(folder, args.seed), strict=False):
            name = f"{args.seed}-{number}"
            outcome = run_whole(folder, spec, name, args.sdist)
            ended[outcome] += 1
            print(f"{name} {outcome}: {json.dumps(spec)}", flush=True)
    print(dict(ended))
    return 0 if ended.keys() <= {"done"} else 1


def make_folder(folder: Path, sdist: Path) -> Path:
    """Write the models and the rows of all forms."""
    encoders = ("-m", "tests.end_to_end.builders.build_encoders", sdist)
    for command in (
        (QUICKSTART / "make_model.py", "--out", folder / "model"),
        (*encoders, f"xlm-roberta={folder / 'encoder'}"),
    ):
        ended = run(sys.executable, *command, cwd=ROOT)
        assert ended.code == 0, ended.said
    make_teacher(folder / "teacher", folder / "model")
    write_data(folder)
    return folder


def draw_specs(folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield random specs without errors."""
    drawn = random.Random(seed)  # noqa: S311
    values = list_values()
    while True:
        spec = make_spec(draw_case(drawn))
        names = drawn.sample(sorted(values), drawn.randint(0, _MOST_FIELDS))
        chosen = {name: drawn.choice(values[name]) for name in names}
        kept = drop_errors(folder, spec, chosen, drawn)
        if kept is not None:
            yield kept


def draw_case(drawn: random.Random) -> Case:
    """Return a random case that no rule refuses, on a CPU."""
    while True:
        choices = {name: drawn.choice(words) for name, words in DIMENSIONS.items()}
        case = Case(**choices)  # type: ignore[arg-type]
        case = replace(case, device="cpu", precision="auto")
        pairs = {field.name: getattr(case, field.name) for field in fields(case)}
        if has_rows(pairs) and not refusals(pairs):
            return case


def list_values() -> dict[str, Sequence[Any]]:
    """Return what may be written for each field that a run on a CPU reads."""
    found: dict[str, Sequence[Any]] = {}
    for field in schema_fields():
        section, _, inner = field.name.partition(".")
        if not inner or section in _ELSEWHERE or field.name.startswith(_FILES):
            continue
        parts = [field.schema, *field.schema.get("anyOf", ())]
        words = [word for part in parts for word in part.get("enum", ()) if word != "auto"]
        flags = [True, False] * any(part.get("type") == "boolean" for part in parts)
        integers = [part for part in parts if part.get("type") == "integer" and "minimum" in part]
        least = [part["minimum"] + more for part in integers for more in (0, 1)]
        examples = [each for each in field.schema.get("examples", ()) if each != "auto"]
        if values := [*words, *flags, *filter(_is_small, [*least, *examples])]:
            found[field.name] = values
    return found


def _is_small(example: Any) -> bool:
    is_number = isinstance(example, int | float)
    return not isinstance(example, dict) and not (is_number and example > _LARGEST)


def drop_errors(
    folder: Path, spec: Mapping[str, Any], chosen: dict[str, Any], drawn: random.Random
) -> dict[str, Any] | None:
    """Return the spec with those fields that cause no error, or None if it has one by itself."""
    for _ in range(_TRIES):
        whole = dict(spec)
        for name, value in chosen.items():
            whole = put(whole, name, value)
        write_json(folder / "spec.json", whole)
        errors = [each for each in check(str(folder / "spec.json")).findings if _forbids(each)]
        if not errors:
            return whole
        if not chosen:
            return None
        blamed = [name for name in chosen if any(_is_about(each, name) for each in errors)]
        chosen.pop((blamed or drawn.sample(sorted(chosen), 1))[0])
    return None


def _forbids(finding: Finding) -> bool:
    return finding.severity == "error" or finding.code == "FTC050"


def _is_about(finding: Finding, name: str) -> bool:
    return (finding.pointer or "").replace("/", ".").strip(".").startswith(name)


def run_whole(folder: Path, spec: Mapping[str, Any], name: str, sdist: Path) -> str:
    """Compile a spec and run its bundle; return how that ended."""
    write_json(folder / "spec.json", spec)
    bundle = folder / str(spec["name"])
    ended = run("ftc", "compile", "spec.json", "--force", cwd=folder)
    outcome = "not compiled"
    if ended.code == 0:
        ended = run("./run.sh", cwd=bundle, extra={"FTC_LLAMA_CPP_SDIST": str(sdist)})
        outcome = "failed"
    shutil.rmtree(bundle, ignore_errors=True)
    if ended.code == 0:
        return "done"
    KEPT.mkdir(parents=True, exist_ok=True)
    write_json(KEPT / f"{name}.json", spec)
    (KEPT / f"{name}.log").write_text(ended.said, encoding="utf-8")
    return outcome


if __name__ == "__main__":
    sys.exit(main())
