"""The scripts under .ci that write source files."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

_FOLDER: Final = Path(__file__).parents[1] / ".ci"


def load_generator(name: str) -> ModuleType:
    """Return the module of one script; the folder is not a package."""
    found = spec_from_file_location(f"{name}_generator", _FOLDER / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module
