"""Messages with images that nothing here reads: what the finding says, and what it proposes."""

import json
from pathlib import Path
from typing import Any

from tests.compiler.resolve.resolving import unknown

PARTS = [{"type": "image", "image": "a.png"}, {"type": "text", "text": "What is this?"}]


def write(folder: Path) -> None:
    """Write conversations about an image."""
    turns = [{"role": "user", "content": PARTS}, {"role": "assistant", "content": "A cup."}]
    rows = [{"images": ["a.png"], "messages": turns}] * 20
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")


def test_a_text_model_is_told_to_give_way(make_spec: Any, tmp_path: Path) -> None:
    """The rows are sound, so nothing in them is to be corrected."""
    write(tmp_path)
    finding = unknown(make_spec(data={"source": "rows.jsonl"}), tmp_path)
    assert finding.code == "FTC204"
    assert "image-text model" in finding.help


def test_another_objective_is_found_through_the_images(make_spec: Any, tmp_path: Path) -> None:
    """Conversations about images are conversations: sft reads them, and dpo needs pairs."""
    write(tmp_path)
    finding = unknown(make_spec(data={"source": "rows.jsonl"}, objective="dpo"), tmp_path)
    assert finding.code == "FTC206"
    assert "`chosen` and `rejected`" in finding.message
    assert finding.fix[0]["value"] == "sft"
