"""The modules that a bundle carries: those that its scripts import, and no other."""

from pathlib import Path

import pytest

from ftc.compiler.render.file import RenderedFile
from ftc.compiler.render.runtime_modules import carry_modules, read_module

FOLDER = Path(__file__).resolve().parents[3] / "runtime"


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
        "import runtime.go_template\n",
        "from runtime import go_template\n",
        "from runtime.go_template import render_go\n",
        "def late():\n    from runtime.go_template import render_go\n",
    ],
)
def test_every_form_of_import_is_seen(source: str) -> None:
    """A module comes byte for byte, in a package that is empty."""
    assert carried(source) == {
        "runtime/__init__.py": "",
        "runtime/go_template.py": (FOLDER / "go_template.py").read_text(encoding="utf-8"),
    }


def test_a_chosen_module_comes_with_its_own_imports() -> None:
    """No script names it: another module imports it by a name that it reads at run time."""
    names = {file.name for file in carry_modules([], ["tracking_wandb"])}

    assert {"runtime/tracking_wandb.py", "runtime/tracking.py"} <= names
    assert "runtime/tracking_mlflow.py" not in names


def test_an_import_of_nothing_is_a_defect() -> None:
    """A template cannot name a module that does not exist."""
    with pytest.raises(ValueError, match=r"there is no module runtime/gone\.py"):
        carried("from runtime import gone\n")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_modules_can_be_carried(path: Path) -> None:
    """What a module imports of `runtime` is found, and it derives no path from its own place."""
    names = set(carried(f"import runtime.{path.stem}\n")) if path.stem != "__init__" else set()

    assert names <= {f"runtime/{module.name}" for module in FOLDER.glob("*.py")}
    assert "__file__" not in read_module(path.stem)
