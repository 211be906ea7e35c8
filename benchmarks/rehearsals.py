"""Rehearse every model family, and write a report.

    python -m benchmarks.rehearsals                    # all of them, into benchmarks/rehearsals.md
    python -m benchmarks.rehearsals gemma-3 mixtral    # some, printed

A family is a case of families.json: a model's published config.json and a spec, without weights.
Its tokenizer is the real one if it can be rebuilt, or else a stand-in of the same kind, which the
report names. Exits 1 if a result differs from compiler/knowledge/exports/rehearsed.json.
"""

import argparse
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.vocabularies import describe_tokenizer, make_tokenizer
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed

ROOT: Final = Path(__file__).parents[1]
REPORT: Final = Path(__file__).with_name("rehearsals.md")
TICKETS: Final = ROOT / "examples" / "quickstart" / "tickets.csv"
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ftc"
_COMMAND: Final = "python -m benchmarks.rehearsals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A case: `model` is the repository of `config`, `tokenizer` is a kind, `spec` is the rest.

    `template` is a chat template in llama.cpp's sources, for a tokenizer without the right one.
    `rows` are the embedding's rows, if a stand-in has far fewer tokens than the config.
    """

    name: str
    model: str
    tokenizer: str
    spec: Mapping[str, Any]
    config: Mapping[str, Any]
    template: str | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The output of `ftc rehearse --format json`; empty if it printed no JSON."""

    family: Family
    data: Mapping[str, Any]
    seconds: float
    said: str

    @property
    def stopped(self) -> str | None:
        """The stage at which it stopped, or None."""
        if not self.data:
            return "start"
        failure = self.data["failure"]
        return None if failure is None else str(failure["stage"])


def read_families() -> tuple[Family, ...]:
    """Return the cases of families.json."""
    text = Path(__file__).with_name("families.json").read_text(encoding="utf-8")
    return tuple(Family(**case) for case in json.loads(text))


def write_family(family: Family, folder: Path, *, sdist: Path, cache: Path = CACHE) -> None:
    """Write a user's files into a folder: spec, rows, and a model's folder without weights."""
    model = folder / "model"
    texts = TICKETS.read_text(encoding="utf-8").splitlines()
    make_tokenizer(
        family.tokenizer,
        model,
        sdist=sdist,
        cache=cache,
        texts=texts,
        template=family.template,
    )
    rows = {} if family.rows is None else {"vocab_size": family.rows}
    config = json.dumps({**family.config, **rows}, indent=2)
    (model / "config.json").write_text(config, encoding="utf-8")
    shutil.copyfile(TICKETS, folder / TICKETS.name)
    spec = {
        "name": family.name.replace(".", "-"),
        "model": "./model",
        "data": TICKETS.name,
        "export": ["Q4_K_M"],
        **family.spec,
    }
    (folder / "spec.json").write_text(json.dumps(spec, indent=2), encoding="utf-8")


def rehearse(family: Family, folder: Path, *, sdist: Path) -> Rehearsed:
    """Rehearse the family in `folder` with the command line."""
    began = time.monotonic()
    offline = {"HF_HUB_OFFLINE": "1", "FTC_LLAMA_CPP_SDIST": str(sdist)}
    done = subprocess.run(
        [Path(sys.executable).with_name("ftc"), "rehearse", "spec.json", "--format", "json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **offline, "TMPDIR": str(folder)},
    )
    data = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    seconds = time.monotonic() - began
    return Rehearsed(family=family, data=data, seconds=seconds, said=done.stdout + done.stderr)


def as_foretold(one: Rehearsed) -> bool:
    """Return whether the result is the one that the compiler expects for its architecture."""
    known = find_rehearsed(one.family.config["architectures"][0])
    return known is not None and one.stopped == known.stage


def report(found: list[Rehearsed]) -> str:
    """Return the report: the result of each family, and the seconds of every stage."""
    lines = [
        _HEAD,
        f"`{_COMMAND}` {describe_machine()}",
        "",
        *_results(found),
        "",
        *_seconds(found),
        "",
        _FOOT,
    ]
    return "\n".join(lines) + "\n"


def describe_machine() -> str:
    """Return the date, commit and machine of a measurement, as text."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    today = dt.datetime.now(tz=dt.UTC).date()
    return (
        f"on {today}, commit {commit}, {os.cpu_count()} cores, load {os.getloadavg()[2]:.1f} in the"
        " last 15 minutes, this run included."
    )


def _results(found: list[Rehearsed]) -> Iterator[str]:
    yield "| family | config of | method, hardware | tokenizer | result | F16 GGUF | seconds |"
    yield "| --- | --- | --- | --- | --- | --- | ---: |"
    for one in found:
        family = one.family
        stages = {stage["name"]: stage for stage in one.data.get("stages", ())}
        sharded = _sharding(family.spec)
        method = f"{_method(family.spec)}, {family.spec['hardware']}"
        yield (
            f"| {family.name} | {family.model} | {method}{f', {sharded}' if sharded else ''} |"
            f" {describe_tokenizer(family.tokenizer)} |"
            f" {f'stopped at {one.stopped}' if one.stopped else 'passed'} |"
            f" {stages.get('compare', {}).get('result', '')} | {one.seconds:.0f} |"
        )
    stopped = [one for one in found if one.stopped]
    if stopped:
        yield ""
    for one in stopped:
        cause = one.data["failure"]["cause"] if one.data else one.said.strip()
        yield f"* **{one.family.name}** stopped at {one.stopped}: {cause.splitlines()[0]}"


def _method(spec: Mapping[str, Any]) -> str:
    method = spec["method"]
    return str(method if isinstance(method, str) else method["type"])


def _sharding(spec: Mapping[str, Any]) -> str | None:
    shared = spec.get("distribution")
    if isinstance(shared, Mapping):
        return f"{shared['strategy']}, {shared['offload']} offloaded"
    return shared


def _seconds(found: list[Rehearsed]) -> Iterator[str]:
    names = list(dict.fromkeys(s["name"] for one in found for s in one.data.get("stages", ())))
    yield "Seconds of each stage:"
    yield ""
    yield f"| family | {' | '.join(names)} |"
    yield f"| --- |{' ---: |' * len(names)}"
    for one in found:
        taken = {s["name"]: f"{s['seconds']:.1f}" for s in one.data.get("stages", ())}
        yield f"| {one.family.name} | {' | '.join(taken.get(name, '') for name in names)} |"


_HEAD: Final = """\
# Rehearsals of model families

`ftc rehearse spec.json` on a folder with a real model's published config.json and a
tokenizer, without weights: 48 rows of the quickstart's tickets, four optimizer steps on a
miniature, one SIGKILL, and then all stages up to a Q4_K_M file that answers.

* *tokenizer*: real ones are rebuilt from the vocabularies in llama.cpp's sources (Llama,
  Qwen, GPT-2, StarCoder, Phi-3) or taken from the wheel of mistral-common. A stand-in is of
  the same kind and is marked as one.
* *F16 GGUF*: the difference between the 16-bit file and the merged model in transformers. The mean
  divergence must be below 0.001 nats per token.
"""
_FOOT: Final = """\
Rehearsals that must fail (tests/end_to_end/rehearsals/test_rehearse.py): a `tokenizer.model` with
equal scores stops at `tokens`, and a chat template that rewrites earlier turns stops at `prepare`.
A GGUF with one matrix of zeros is far outside the bounds.

Some miniatures are not exact. If llama.cpp requires all heads together to be as wide as the model,
and neither 256 nor 768 is a multiple of the query heads per key head (Qwen2's seven, OLMo-2 32B's
five), the nearest number that fits is used (eight, four). Falcon's 71 query heads per key head
become 16. Phi-2 rotates 26 of a head's 64 numbers (0.40625 instead of 0.4).\
"""


def find_sdist() -> Path:
    """Return the sources of llama-cpp-python; raises SystemExit if they are missing."""
    named = os.environ.get("FTC_LLAMA_CPP_SDIST")
    kept = [Path(named)] if named else sorted((CACHE / "sdist").glob("llama?cpp?python-*.tar.gz"))
    if not kept or not kept[-1].is_file():
        raise SystemExit("the sources of llama-cpp-python are missing: run `make install`")
    return kept[-1]


def main() -> int:
    """Rehearse, print a line per family, and write the report if all were requested."""
    parser = argparse.ArgumentParser(description="Rehearse every family.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="families of families.json")
    names = parser.parse_args().names
    families = [one for one in read_families() if not names or one.name in names]
    if unknown := sorted(set(names) - {one.name for one in families}):
        parser.error(f"no such family: {', '.join(unknown)}")
    found = []
    for family in families:
        with tempfile.TemporaryDirectory(prefix="ftc-family-") as name:
            write_family(family, Path(name), sdist=find_sdist())
            one = rehearse(family, Path(name), sdist=find_sdist())
        found.append(one)
        goes = f"stopped at {one.stopped}" if one.stopped else "passed"
        print(f"{family.name:12} {one.seconds:>6.0f} s  {goes}", flush=True)
    page = report(found)
    if names:
        print(page)
    else:
        REPORT.write_text(page, encoding="utf-8")
    return 0 if all(map(as_foretold, found)) else 1


if __name__ == "__main__":
    sys.exit(main())
