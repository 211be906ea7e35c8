"""Import every config of four corpora: which become a spec, and what keeps the others from it.

    python -m benchmarks.importing CORPORA > benchmarks/import.md

CORPORA is a folder with axolotl-0.21.0/ and llamafactory-0.9.5/ (unpacked sdists), torchtune/
(the unpacked wheel) and unsloth/ (the notebooks' repository). Nothing of them is committed: the
table has the names, hashes and results.
"""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from ftc.compiler.importing.importer import find_unfit
from ftc.compiler.importing.source import (
    UnknownConfigError,
    UnreadableConfigError,
    UnreadableScriptError,
    read_foreign,
    read_registry,
)
from ftc.compiler.knowledge.peft_defaults import find_peft_targets
from ftc.compiler.pipeline import check
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.tools.entry import Imported
from ftc.spec.tools.translation import build_spec, translate

CORPORA = {
    "axolotl": ("axolotl-0.21.0", "examples/**/*.y*ml"),
    "LLaMA-Factory": ("llamafactory-0.9.5", "examples/**/*.y*ml"),
    "torchtune": ("torchtune", "recipes/configs/**/*.yaml"),
    "Unsloth": ("unsloth", "nb/*.ipynb"),
}
#: A model or data that is not on this machine, or that the file computes: that says nothing about
#: the spec.
OUT_OF_REACH = {"FTC100", "FTC109", "FTC200", "FTC210"}
#: These files do not say what they run on.
HARDWARE, GPUS = "8x H100-80GB", 8


def main(root: Path) -> None:
    """Print the table of all corpora, then one line per file."""
    rows = [row for corpus in CORPORA for row in _read(root, corpus)]
    print("# Imported configs\n\nWritten by `python -m benchmarks.importing CORPORA`.\n")
    print("| corpus | files | trainings of ftc | without errors | share | keys | unknown keys |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for corpus in CORPORA:
        own = [row for row in rows if row[0] == corpus]
        does = [row for row in own if row[3] in ("spec", "errors")]
        good = [row for row in own if row[3] == "spec"]
        share = f"{len(good) / len(does):.1%}" if does else "-"
        keys, unknown = sum(row[5] for row in own), sum(row[6] for row in own)
        print(
            f"| {corpus} | {len(own)} | {len(does)} | {len(good)} | {share} | {keys} | {unknown} |"
        )
    print("\n| what keeps a file from being a spec | files |\n| --- | ---: |")
    for (corpus, why), count in Counter((row[0], row[4]) for row in rows if row[4]).most_common():
        print(f"| {corpus}: {why} | {count} |")
    print("\n| file | sha256 | result |\n| --- | --- | --- |")
    for row in rows:
        print(f"| {row[0]}: {row[1]} | {row[2]} | {row[3]}{': ' + row[4] if row[4] else ''} |")


def _read(root: Path, corpus: str) -> Iterator[tuple[str, str, str, str, str, int, int]]:
    folder, pattern = CORPORA[corpus]
    resolver = Resolver()
    for path in sorted((root / folder).glob(pattern)):
        raw = path.read_bytes()
        name, digest = path.relative_to(root / folder).as_posix(), hashlib.sha256(raw).hexdigest()
        row = (corpus, name, digest[:16])
        try:
            config = read_foreign(raw.decode("utf-8"), path.name)
        except UnknownConfigError:
            yield (*row, "no config", "it is not a config of a training", 0, 0)
            continue
        except (UnreadableConfigError, UnreadableScriptError) as error:
            yield (*row, "unreadable", str(error), 0, 0)
            continue
        imported = translate(
            config.tool,
            config.entries,
            gpus=GPUS,
            registry=read_registry(root / folder, config.entries),
            find_unfit=find_unfit,
            find_targets=find_peft_targets,
        )
        keys = [each for each in imported.keys if not each.key.startswith("(")]
        paths = {each.path for each in config.entries}
        assert {each.key for each in keys} == paths, f"{name}: a key is lost"
        unknown = sum(each.reason == "unknown" for each in keys)
        refused = sorted({each.reason for each in imported.refused})
        if refused:
            yield (*row, "refused", ", ".join(refused), len(keys), unknown)
            continue
        wrong = _check(imported, path.stem, resolver)
        yield (*row, "errors" if wrong else "spec", ", ".join(wrong), len(keys), unknown)


def _check(imported: Imported, name: str, resolver: Resolver) -> list[str]:
    """Return the codes of the errors, but for a model or data out of reach."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "spec.json"
        made = build_spec(imported, name, hardware=HARDWARE)
        spec = {"model": "computed/elsewhere", "data": "rows.jsonl", **made}
        if isinstance(spec["data"], dict) and not spec["data"].keys() & {"source", "sources"}:
            spec["data"]["source"] = "rows.jsonl"
        file.write_text(json.dumps(spec), encoding="utf-8")
        outcome = check(str(file), resolver=resolver)
    found = {each.code for each in outcome.findings if each.severity == "error"}
    return sorted(found - OUT_OF_REACH)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
