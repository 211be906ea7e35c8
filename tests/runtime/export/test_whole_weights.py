"""Which safetensors files are complete."""

import json
from pathlib import Path

from ftc.runtime.export.whole_weights import is_complete


def test_a_complete_safetensors_file(tmp_path: Path) -> None:
    """It is as long as its header says: any cut, longer or damaged file is not complete."""
    path = tmp_path / "model.safetensors"
    tensor = {"dtype": "U8", "shape": [5], "data_offsets": [0, 5]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "a": tensor}).encode()
    whole = len(header).to_bytes(8, "little") + header + b"12345"
    empty = json.dumps({"__metadata__": {}}).encode()
    cases = {
        whole: True,
        whole[:-1]: False,
        whole + b"6": False,
        whole[:20]: False,
        whole[:4]: False,
        b"": False,
        bytes(8): False,
        len(header).to_bytes(8, "little") + b"x" * len(header) + b"12345": False,
        len(empty).to_bytes(8, "little") + empty: False,
    }

    for content, expected in cases.items():
        path.write_bytes(content)
        assert is_complete(path) is expected, content
