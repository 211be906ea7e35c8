"""Lets the converter read config.json as it was published. Standard library only.

The converter reads it by transformers where that knows the model type, and by itself where it does
not. Of some classes transformers changes keys that the converter needs while it reads them.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_CONFIG: Final = "config.json"


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
