"""Lets the converter read config.json as it was published. Standard library only.

The converter reads config.json through transformers if that knows the model type, and directly if
not. For some classes, transformers changes keys that the converter needs.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_CONFIG: Final = "config.json"
_BASE: Final = "--base"
_MODEL: Final = 2  # after the interpreter and the script


def start_converter(
    command: Sequence[str | Path], *, check: bool, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a converter's command with a copy of the model's folder in which the type is unknown.

    The folder is that of the model to convert, or of an adapter's base.
    """
    place = command.index(_BASE) + 1 if _BASE in command else _MODEL
    with hide_type(Path(command[place])) as shown:
        shown_command = [*command[:place], shown, *command[place + 1 :]]
        return subprocess.run(shown_command, check=check, **options)


@contextmanager
def hide_type(model: Path) -> Iterator[Path]:
    """Yield a folder with a model's files, and a config.json of a type that transformers lacks."""
    config = json.loads((model / _CONFIG).read_bytes())
    config["model_type"] = f"{config.get('model_type')}_as_published"
    with tempfile.TemporaryDirectory(prefix="as-published-", dir=model.parent) as name:
        shown = Path(name)
        for file in model.iterdir():
            if file.name != _CONFIG:
                (shown / file.name).symlink_to(file.resolve())
        (shown / _CONFIG).write_text(json.dumps(config, indent=2), encoding="utf-8")
        yield shown
