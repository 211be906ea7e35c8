"""The modules that a bundle carries: those that its scripts import, and no other."""

from pathlib import Path

import pytest

from ftc.compiler.render.bundle import PARTS
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.render.runtime_modules import carry_modules, read_module
from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import render
from tests.golden_bundles import compile_golden

FOLDER = Path(__file__).resolve().parents[3] / "runtime"
PATHS = sorted(FOLDER.rglob("*.py"))
MODULES = [
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in PATHS
    if path.name != "__init__.py"
]
MOST = 15  # modules of a folder


def carried(source: str) -> dict[str, str]:
    """Return the modules that one script brings along, by name."""
    script = RenderedFile(name="train.py", text=source, language="python")
    return {file.name: file.text for file in carry_modules([script])}


def test_a_script_without_imports_carries_nothing() -> None:
    """Not even an empty package."""
    assert carried("import json\nfrom pathlib import Path\nimport runtimes\n") == {}


@pytest.mark.parametrize(
    "source",
    [
        "import runtime.read.cleaning\n",
        "from runtime.read import cleaning\n",
        "from runtime.read.cleaning import fold\n",
        "def late():\n    from runtime.read.cleaning import fold\n",
    ],
)
def test_every_form_of_import_is_seen(source: str) -> None:
    """A module comes byte for byte, in a package that is empty."""
    name = "read/cleaning.py"
    assert carried(source) == {
        "runtime/__init__.py": "",
        "runtime/read/__init__.py": "",
        f"runtime/{name}": (FOLDER / name).read_text(encoding="utf-8"),
    }


def test_a_chosen_module_comes_with_its_own_imports() -> None:
    """No script names it: another module imports it by a name that it reads at run time."""
    names = {file.name for file in carry_modules([], ["track.tracking_wandb"])}

    assert {"runtime/track/tracking_wandb.py", "runtime/track/tracking.py"} <= names
    assert "runtime/track/tracking_mlflow.py" not in names


def test_an_import_of_nothing_is_a_defect() -> None:
    """A template cannot name a module that does not exist."""
    with pytest.raises(ValueError, match=r"there is no module runtime/gone\.py"):
        carried("from runtime import gone\n")


@pytest.mark.parametrize("name", MODULES)
def test_modules_can_be_carried(name: str) -> None:
    """What a module imports of `runtime` is found, and it derives no path from its own place."""
    names = set(carried(f"import runtime.{name}\n"))

    assert f"runtime/{name.replace('.', '/')}.py" in names
    assert names <= {f"runtime/{path.relative_to(FOLDER).as_posix()}" for path in PATHS}
    assert "__file__" not in read_module(name)


def test_folders_are_small_and_their_packages_empty() -> None:
    """A reader of a bundle finds a module by what it is for."""
    assert not any(path.read_bytes() for path in PATHS if path.name == "__init__.py")
    for folder in {path.parent for path in PATHS}:
        assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST


def test_a_bundle_carries_the_parts_of_its_report(build_known: BuildKnown) -> None:
    """Those that describe what its own stages measure, and no other."""
    served = {"/spec/export/vllm": ["FP8_DYNAMIC"]}

    unmeasured = {"/spec/training/evaluation/metric": "none"}
    always = {"__init__", "answers"}
    for edits, parts in ((unmeasured, set()), ({}, always), (served, always | {"served"})):
        carried_paths = map(Path, render(build_known, edits))
        assert parts == {path.stem for path in carried_paths if path.parent.name == "report_parts"}
    assert set(PARTS) == {path.stem for path in (FOLDER / "report_parts").glob("[a-z]*.py")}


def test_a_bundle_merges_in_the_shortest_way(build_known: BuildKnown) -> None:
    """The layout of the base is only kept where transformers does not compute or save all of it."""
    drafted = {"/facts/model/architecture": "Qwen3NextForCausalLM"}
    quantized = {"/facts/model/quantized": "fp8"}
    own = {"/facts/model/custom_code": True}

    for edits, is_plain in (({}, True), (drafted, False), (quantized, False), (own, False)):
        names = {Path(path).name for path in render(build_known, edits)}
        assert ("plain_model.py" in names) == is_plain
        assert ("overlay.py" in names) != is_plain


def test_the_converter_reads_some_configs_by_itself(build_known: BuildKnown) -> None:
    """Only a bundle of Nemotron-H carries the module that hides the model type."""
    hybrid = {"/facts/model/architecture": "NemotronHForCausalLM"}
    module = "runtime/llama_cpp/published_config.py"
    assert module in render(build_known, hybrid)
    assert module not in render(build_known, {})


@pytest.mark.parametrize(
    ("example", "is_carried"),
    [("quickstart", False), ("text", False), ("slurm", True), ("dpo", True)],
)
def test_rows_are_joined_where_they_can_continue_one_another(
    example: str, *, is_carried: bool
) -> None:
    """A prompt with its completion, and a text, have one answer at most."""
    files = {file.name: file.text for file in compile_golden(example).files}

    assert ("runtime/read/conversations.py" in files) == is_carried
    assert ("conversations=Conversations()" in files["prepare.py"]) == is_carried
