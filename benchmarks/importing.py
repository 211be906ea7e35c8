"""Import every config of four corpora: which become a spec, and what keeps the others from it.

    python -m benchmarks.importing CORPORA > benchmarks/import.md

CORPORA has a folder for each repository that the table `CORPORA` below names. In a clone of it,
`git archive REVISION FOLDER ... | tar -x -C CORPORA/NAME` fills the folder. No config is committed:
the page has their names, hashes and results.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.families import tell_when
from ftc.compiler.importing.importer import translate_config
from ftc.compiler.importing.source import (
    UnknownConfigError,
    UnreadableConfigError,
    UnreadableScriptError,
    read_foreign,
)
from ftc.compiler.pipeline import check
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.tools.entry import Imported
from ftc.spec.tools.translation import build_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The configs of a repository: `pattern` finds them in the `folders` of a `revision`."""

    repository: str
    revision: str
    folders: tuple[str, ...]
    pattern: str


CORPORA: Final = {
    "axolotl": Corpus(
        repository="axolotl-ai-cloud/axolotl",
        revision="067b021c",
        folders=("examples",),
        pattern="examples/**/*.y*ml",
    ),
    "LLaMA-Factory": Corpus(
        repository="hiyouga/LLaMA-Factory",
        revision="v0.9.5",
        folders=("examples", "data"),
        pattern="examples/**/*.y*ml",
    ),
    "torchtune": Corpus(
        repository="meta-pytorch/torchtune",
        revision="v0.6.1",
        folders=("recipes",),
        pattern="recipes/configs/**/*.yaml",
    ),
    "Unsloth": Corpus(
        repository="unslothai/notebooks",
        revision="bdda2efc",
        folders=("nb",),
        pattern="nb/*.ipynb",
    ),
}
#: A model or data that is not on this machine, or that the file computes: that says nothing about
#: the spec.
OUT_OF_REACH = {"FTC100", "FTC109", "FTC200", "FTC210"}
#: These files do not say what they run on.
HARDWARE: Final = "8x H100-80GB"


def main() -> None:
    """Print the table of all corpora, then one line per file."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.importing",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corpora", type=Path, help="the folder with the unpacked repositories")
    root: Path = parser.parse_args().corpora
    if missing := [name for name in CORPORA if not (root / name).is_dir()]:
        parser.error(f"{root} has no folder {', '.join(missing)}")
    rows = [row for name in CORPORA for row in _read(root, name)]
    print("# Imported configs\n")
    print(f"`python -m benchmarks.importing CORPORA`, {tell_when()}.\n")
    for name, each in CORPORA.items():
        folders = ", ".join(f"`{folder}/`" for folder in each.folders)
        print(f"* {name}: {folders} of {each.repository} at {each.revision}")
    print()
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
    resolver = Resolver()
    for path in sorted((root / corpus).glob(CORPORA[corpus].pattern)):
        raw = path.read_bytes()
        name, digest = path.relative_to(root / corpus).as_posix(), hashlib.sha256(raw).hexdigest()
        row = (corpus, name, digest[:16])
        try:
            config = read_foreign(raw.decode("utf-8"), path.name)
        except UnknownConfigError:
            yield (*row, "no config", "it is not a config of a training", 0, 0)
            continue
        except (UnreadableConfigError, UnreadableScriptError) as error:
            yield (*row, "unreadable", str(error), 0, 0)
            continue
        imported = translate_config(config, root / corpus, HARDWARE)
        paths = {each.path for each in config.entries}
        keys = [each for each in imported.keys if each.key in paths]
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
    main()
