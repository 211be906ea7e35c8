"""`ftc chat` on a spec that cannot be read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[..., Any]


def test_a_broken_spec_is_told_as_by_check(call: Call, tmp_path: Path) -> None:
    """The same findings with the same exit code; the conversation does not begin."""
    spec = tmp_path / "spec.json"
    spec.write_text('{"name": "x", "model": ', encoding="utf-8")
    done = call("chat", spec, "--plain")
    assert (done.code, done.out) == (1, "")
    assert "error[FTC009]" in done.err
    assert "spec.json:1:24" in done.err
    missing = call("chat", tmp_path / "nowhere.json", "--plain")
    assert (missing.code, "FTC001" in missing.err) == (1, True)
