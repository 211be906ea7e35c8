"""Repairs of YAML: the user's text around them stays unchanged."""

import json
from pathlib import Path

import pytest

from ftc.spec.patch import PatchError
from ftc.spec.text.yaml_reader import read_yaml
from ftc.yaml_text import edit_yaml

SPEC = """\
# my run
name: "triage"  # keep the name
modle: Qwen/Qwen2.5-0.5B-Instruct  # small
data:
  source: tickets.csv  # from the export
  columns: {prompt: mesage, completion: team}
training:
  epochs: 3
export:
  - Q4_K_M
  - Q8_0
"""


def test_a_key_is_renamed_where_it_stands() -> None:
    """Its comment goes with it, and no other line changes."""
    text, kept = edit_yaml(SPEC, [{"op": "move", "from": "/modle", "path": "/model"}])
    assert text == SPEC.replace("modle:", "model:")
    assert kept


def test_a_text_that_is_not_yaml_is_mended_where_it_is_wrong() -> None:
    """Its comments stay; another whole value is written anew."""
    broken = SPEC.replace("modle: ", "modle:")
    data = read_yaml(broken).data
    assert edit_yaml(broken, [{"op": "replace", "path": "", "value": data}]) == (SPEC, True)
    assert edit_yaml(broken, [{"op": "replace", "path": "", "value": {"a": 1}}]) == (
        "a: 1\n",
        False,
    )


@pytest.mark.parametrize(
    ("operation", "old", "new"),
    [
        ({"op": "replace", "path": "/training/epochs", "value": 2}, "epochs: 3", "epochs: 2"),
        ({"op": "remove", "path": "/export/1"}, "  - Q8_0\n", ""),
        (
            {"op": "add", "path": "/data/columns/prompt", "value": "message"},
            "prompt: mesage",
            "prompt: message",
        ),
        (
            {"op": "add", "path": "/training/precision", "value": "bf16"},
            "  epochs: 3\n",
            "  epochs: 3\n  precision: bf16\n",
        ),
    ],
)
def test_one_edit_changes_one_place(operation: dict[str, object], old: str, new: str) -> None:
    """In block style and in braces alike."""
    assert edit_yaml(SPEC, [operation])[0] == SPEC.replace(old, new)


def test_words_that_yaml_takes_for_something_else_stay_words() -> None:
    """What is written back says what the fix means, by the rules of our own reader."""
    text, _ = edit_yaml("name: a\n", [{"op": "add", "path": "/model", "value": "no"}])
    assert read_yaml(text).data == {"name": "a", "model": "no"}


def test_an_edit_of_what_is_not_there_is_refused() -> None:
    """And nothing is written."""
    with pytest.raises(PatchError):
        edit_yaml(SPEC, [{"op": "remove", "path": "/hardware"}])


def test_a_yaml_spec_is_repaired_in_place(
    tmp_path: Path, call: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ftc check --fix` on the file: the same repairs as for JSON, comments kept."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    path = tmp_path / "spec.yaml"
    rows = "\n".join(f"question number {n} about parcels,team {n % 2}" for n in range(80))
    (tmp_path / "tickets.csv").write_text(f"message,team\n{rows}\n", encoding="utf-8")
    path.write_text(SPEC, encoding="utf-8")
    assert callable(call)
    call("check", str(path), "--fix", "--unsafe")
    text = path.read_text(encoding="utf-8")
    assert "model: Qwen/Qwen2.5-0.5B-Instruct  # small" in text
    assert "prompt: message" in text
    assert "# my run" in text
    assert json.dumps(read_yaml(text).data)


def test_anchors_are_written_out_and_comments_stay() -> None:
    """So are tags and keys that occur twice; the layout is the user's."""
    text = """\
# all runs
base: &base {seed: 4}
name: !!str t  # a name
training:  # long
    <<: *base
    epochs: 3  # three
    epochs: 3
export:
  - &q Q8_0
"""
    data = read_yaml(text).data
    assert edit_yaml(text, [{"op": "replace", "path": "", "value": data}]) == (
        """\
# all runs
name: t        # a name
training:  # long
    seed: 4
    epochs: 3  # three
export:
  - Q8_0
""",
        True,
    )
