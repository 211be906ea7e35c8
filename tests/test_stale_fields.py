"""Each field makes stale the stages that read it: their sources against an independent account.

The account of what a stage reads is Python's own: `modulefinder` follows the bytecode's imports,
and the constants of that bytecode name configuration files. `run.sh` tells what the launcher reads.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from modulefinder import ModuleFinder
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from ftc.runtime import stages
from tests.test_properties import BASE, FLIPS, outcome_of, put, write_folder

SCRIPTS = ("prepare", "train", "evaluate", "export")
ONLY_REPORT = {"events.py", "tracking.py", "verdict.py", "report.py"}
#: What must be among the stale stages, as a person says it.
KNOWN = {
    "objective.class_weights": {"train"},
    "training.evaluation.metric": {"evaluate"},
    "training.learning_rate": {"train"},
    "training.evaluation.allow_worse": set(),
    "training.group_by_length": {"train"},
    "data.packing": {"train"},
    "objective.rewards": {"train", "evaluate"},
    "model.chat_template": {"prepare", "export"},
    "export.verify.tokens": {"export"},
    "hardware.price_per_hour": set(),
    "tracking.run": set(),
    "launch.partition": set(),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the specs are compiled in."""
    return write_folder(tmp_path_factory.mktemp("stale"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """A bundle's files, and by stage which of them it consists of: as found, and by the account."""

    texts: Mapping[str, str]
    found: Mapping[str, set[str]]
    told: Mapping[str, set[str]]

    def read(self, script: str) -> Mapping[str, str]:
        """Return what the fingerprint of a stage covers."""
        return {name: self.texts[name] for name in self.found[script]}


def _in_two_tiers() -> list[Any]:
    """List all fields; `make prove` tries every second one, and those whose stages are listed."""
    return [
        pytest.param(
            field,
            marks=pytest.mark.prove if number % 2 or field in KNOWN else pytest.mark.prove_all,
        )
        for number, field in enumerate(sorted(FLIPS))
    ]


@pytest.fixture(scope="module")
def known() -> dict[str, Sources]:
    """Return the sources of each spec that fields are flipped in, for those that share one."""
    return {}


def look(folder: Path, bundle: Path, spec: Mapping[str, Any]) -> Sources:
    """Compile a spec and look at each of its stages; no files where the spec has an error."""
    texts = compile_files(folder, spec)
    write_bundle(bundle, texts)
    scripts = [script for script in SCRIPTS if f"{script}.py" in texts]
    return Sources(
        texts=texts,
        found={script: set(stages.find_sources(bundle, f"{script}.py")) for script in scripts},
        told={script: files_that(bundle, script) for script in scripts},
    )


def compile_files(folder: Path, spec: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the text of each file of a bundle; nothing where the spec has an error."""
    return {file.name: file.text for file in outcome_of(folder, json.dumps(spec)).files}


def write_bundle(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write the files that a stage may read."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def constants_of(code: CodeType) -> Iterator[str]:
    """Yield each text constant of a module, those of its functions included."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from constants_of(constant)
        elif isinstance(constant, tuple | frozenset):
            yield from (each for each in constant if isinstance(each, str))
        elif isinstance(constant, str):
            yield constant


def files_that(bundle: Path, script: str) -> set[str]:
    """Return what a script consists of, by Python's account of it."""
    shared = (path.relative_to(bundle) for path in bundle.rglob("runtime/**/*.py"))
    hidden = [
        ".".join(each.with_suffix("").parts) for each in shared if each.name in stages.REPORTING
    ]
    finder = ModuleFinder([str(bundle)], excludes=hidden)
    finder.run_script(str(bundle / f"{script}.py"))
    loaded = (vars(module) for module in finder.modules.values())
    own = {
        Path(each["__file__"]).relative_to(bundle).as_posix(): each["__code__"]
        for each in loaded
        if each["__file__"]
    }
    own = {name: code for name, code in own.items() if Path(name).name not in ONLY_REPORT}
    found = set(own)
    present = {path.name for path in bundle.iterdir() if path.suffix != ".md"} - {"ftc.lock.json"}
    for code in own.values():
        found |= present & set(constants_of(code))
    if script == "train":
        launch = "".join(path.read_text() for path in bundle.glob("*.sh"))
        for name in set(re.findall(r"--config_file (\S+)", launch)):
            found |= {name, *re.findall(r"\w+\.json", (bundle / name).read_text())} & present
    return {name for name in found if Path(name).name not in ONLY_REPORT}


@pytest.mark.parametrize("field", _in_two_tiers())
def test_a_field_makes_stale_what_reads_it(
    folder: Path,
    tmp_path: Path,
    known: dict[str, Sources],
    field: str,
) -> None:
    """A stage's sources are the files that Python says it consists of, and change as these do."""
    value, needed = FLIPS[field]
    spec = dict(BASE)
    for key, also in needed.items():
        spec = put(spec, key, also)
    if "export.types" not in needed and spec.get("objective") != {"type": "classification"}:
        spec = put(spec, "export.types", ["Q8_0"])
    text = json.dumps(spec)
    if text not in known:
        known[text] = look(folder, tmp_path / "before", spec)
    before, after = known[text], look(folder, tmp_path / "after", put(spec, field, value))
    if not before.texts or not after.texts:
        assert field not in KNOWN
        pytest.skip("one of the two has an error, and no bundle")
    names = {*before.texts, *after.texts}
    changed = {name for name in names if before.texts.get(name) != after.texts.get(name)}
    scripts = before.found.keys() & after.found.keys()

    stale = {script for script in scripts if before.read(script) != after.read(script)}
    told = {x for x in scripts if (before.told[x] | after.told[x]) & changed}

    assert stale == told
    assert after.found == after.told
    assert stale >= KNOWN.get(field, set())
    assert stale <= KNOWN.get(field, stale) or KNOWN[field]
