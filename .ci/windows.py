"""Write `windows.json`: the classes of the tables that have sliding-window attention.

A window is that of transformers' `create_sliding_window_causal_mask`, or a chunk of
`create_chunked_causal_mask`. Of each class the table has the key and the default of the window's
size, the share of the layers with one in a model of default size, and the switch that is off by
default, if there is one. With `--check` it only compares.
"""

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import transformers

_FOLDER = Path(__file__).parent.parent / "compiler/knowledge/architectures"
_MASKS = re.compile(r"create_(sliding_window|chunked)_causal_mask\b")
_KEYS = ("sliding_window", "sliding_window_size", "attention_window_size", "attention_chunk_size")
_SWITCH = "use_sliding_window"


def find_windows() -> dict[str, dict[str, Any]]:
    """Return what the table has, by class."""
    names = json.loads((_FOLDER / "derived_architectures.json").read_text(encoding="utf-8"))
    found = {name: _find(name) for name in sorted(names)}
    return {name: window for name, window in found.items() if window is not None}


def _find(name: str) -> dict[str, Any] | None:
    kind = getattr(transformers, name, None)
    if kind is None:
        return None
    source = inspect.getsource(sys.modules[kind.__module__])
    body = re.sub(r"^(from|import) .*?(\([^)]*\))?$", "", source, flags=re.MULTILINE)
    if not _MASKS.search(body):
        return None
    config = kind.config_class().get_text_config()
    key = next((key for key in _KEYS if hasattr(config, key)), None)
    if key is None:
        return None
    types = getattr(config, "layer_types", None) or ["sliding_attention"]
    local = [word for word in types if "sliding" in word or "chunked" in word]
    switch = getattr(config, _SWITCH, None)
    said = {"key": key, "window": getattr(config, key)}
    if switch is False:
        fields = inspect.signature(type(config).__init__).parameters
        default = fields[key].default if key in fields else None
        return {**said, "window": default, "switch": _SWITCH, "share": 1.0}
    return {**said, "share": round(len(local) / len(types), 4)}


def main() -> None:
    """Write the table, or stop where it differs."""
    path = _FOLDER / "windows.json"
    rows = ",\n".join(f" {json.dumps(n)}: {json.dumps(w)}" for n, w in find_windows().items())
    text = f"{{\n{rows}\n}}\n"
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        sys.exit(f"{path} is not what transformers {transformers.__version__} has")


if __name__ == "__main__":
    main()
