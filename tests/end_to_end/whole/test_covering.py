"""Every pair of choices: it compiles to what the libraries take, or is refused by name.

The choices are those of `tests/covering.py`; the cases that are accepted also run, on a CPU.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import compile_bundle, write
from tests.covering import (
    DIMENSIONS,
    REFUSED_BY,
    Case,
    allowed,
    make_spec,
    refusals,
    refused,
    running,
    write_data,
)
from tests.end_to_end.objectives.test_distill import make_teacher
from tests.end_to_end.process import ROOT, compile_spec, run
from tests.test_properties import CONFIG, write_model

#: Of an XLM-R, whose head llama.cpp has.
ENCODER: dict[str, Any] = {
    "architectures": ["XLMRobertaModel"],
    "model_type": "xlm-roberta",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
}
ALLOWED = tuple(allowed())
REFUSED = tuple(refused())


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The codes of the errors of each case, and the folder of the bundles that there are."""

    errors: Mapping[str, set[str]]
    folder: Path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """Compile every case for the hardware that it names."""
    folder = tmp_path_factory.mktemp("covering")
    write_model(folder / "model", CONFIG)
    write_model(folder / "teacher", {**CONFIG, "num_hidden_layers": 3})
    write_model(folder / "encoder", ENCODER)
    write_data(folder)
    errors = {}
    for number, case in enumerate((*ALLOWED, *REFUSED)):
        path = folder / f"{number}.json"
        path.write_text(json.dumps(make_spec(case)), encoding="utf-8")
        outcome = compile_bundle(str(path), output=folder / "bundles" / case.name)
        errors[case.name] = {f.code for f in outcome.findings if f.severity == "error"}
        if not outcome.failed:
            write(outcome)
    return Compiled(errors=errors, folder=folder / "bundles")


def test_every_choice_stands_in_a_case() -> None:
    """The array leaves no choice out, and what is refused is refused by every rule named."""
    for name, values in DIMENSIONS.items():
        assert {getattr(case, name) for case in ALLOWED} == set(values)
    assert set().union(*(refusals(asdict(case)) for case in REFUSED)) == set(REFUSED_BY)


@pytest.mark.parametrize("case", [*ALLOWED, *REFUSED], ids=lambda case: case.name)
def test_a_case_compiles_or_is_refused_by_name(compiled: Compiled, case: Case) -> None:
    """The errors are exactly those that the rules name for this combination."""
    assert compiled.errors[case.name] == refusals(asdict(case))


@pytest.mark.prove
def test_what_compiles_is_linted_and_loaded(compiled: Compiled) -> None:
    """Ruff and the classes of accelerate, TRL, PEFT and DeepSpeed take every bundle."""
    pytest.importorskip("deepspeed")
    bundles = {path.name for path in compiled.folder.iterdir()}
    ruff = run("ruff", "check", "--no-cache", "--isolated", "--select", "E,F,W", "--line-length",
               "100", compiled.folder, cwd=ROOT)  # fmt: skip
    assert ruff.code == 0, ruff.said

    script = Path(__file__).parents[1] / "builders/build_libraries.py"
    ended = run(sys.executable, script, compiled.folder, cwd=ROOT, extra={"DS_ACCELERATOR": "cpu"})

    assert ended.code == 0, ended.said
    built: dict[str, Any] = json.loads(ended.out.splitlines()[-1])
    assert built.keys() == bundles == {case.name for case in ALLOWED}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory, sdist: Path) -> Path:
    """Write a miniature XLM-R."""
    folder = tmp_path_factory.mktemp("encoder")
    module = "tests.end_to_end.builders.build_encoders"
    ended = run(sys.executable, "-m", module, sdist, f"xlm-roberta={folder / 'model'}", cwd=ROOT)
    assert ended.code == 0, ended.said
    return folder / "model"


@pytest.mark.prove_all
@pytest.mark.parametrize("case", running(), ids=lambda case: case.name)
def test_a_case_runs(case: Case, model: Path, encoder: Path, sdist: Path, tmp_path: Path) -> None:
    """The whole bundle ends well on two cores; `run.sh` holds every post-condition."""
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "encoder").symlink_to(encoder)
    make_teacher(tmp_path / "teacher", model)
    write_data(tmp_path)
    bundle = compile_spec(tmp_path, make_spec(case))

    ended = run("./run.sh", cwd=bundle, extra={"FTC_LLAMA_CPP_SDIST": str(sdist)})

    assert ended.code == 0, ended.said
