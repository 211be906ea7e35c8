"""The repair of a spec by the fixes of its findings."""

import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

from ftc.repair import repair
from ftc.spec.findings.finding import Finding
from tests.messages import say

TEXT = '{\n  "nmae": "a",\n  "export": ["Q8_0", "Q8_0"],\n  "method": "lroa"\n}\n'


def finding(code: str, *fix: dict[str, Any]) -> Finding:
    """Return a finding that only its fix matters of."""
    return Finding(
        code=code, name="n", severity="error", problem=say("m"), remedy=say("h"), fix=fix
    )


RENAME = finding("FTC031", {"op": "move", "from": "/nmae", "path": "/name"})
REPLACE = finding("FTC033", {"op": "replace", "path": "/method", "value": "lora"})


def test_fixes_are_applied_in_place() -> None:
    """Two fixes in two places leave every other character alone."""
    repaired = repair(TEXT, [RENAME, REPLACE, finding("FTC040")])
    assert repaired.text == TEXT.replace("nmae", "name").replace("lroa", "lora")
    assert (repaired.fixed, repaired.faithful) == ((RENAME, REPLACE), True)


def test_fixes_that_meet_are_not_both_applied() -> None:
    """The second fix of one place waits for the next run: it may not be right any more."""
    other = finding("FTC034", {"op": "replace", "path": "/method", "value": "full"})
    repaired = repair(TEXT, [REPLACE, other])
    assert repaired.fixed == (REPLACE,)
    assert json.loads(repaired.text)["method"] == "lora"


def test_a_fix_of_another_place_waits() -> None:
    """A wrong rank is repaired first, since the run may then fit; otherwise the memory is."""
    rank = replace(REPLACE, pointer="/method")
    offload = {"op": "add", "path": "/distribution", "value": {"offload": "optimizer"}}
    size = replace(finding("FTC420", offload), pointer="/hardware")
    repaired = repair(TEXT, [size, rank])
    assert repaired.fixed == (rank,)
    assert "distribution" not in repaired.text
    assert repair(TEXT, [size]).fixed == (size,)
    broken = replace(finding("FTC040", {"op": "remove", "path": "/absent"}), pointer="/absent")
    assert repair(TEXT, [size, broken]).fixed == (size,)


def test_fixes_in_one_list_are_not_both_applied() -> None:
    """Removing an item moves the others, so that a second index would hit the wrong one."""
    first = finding("FTC035", {"op": "remove", "path": "/export/0"})
    second = finding("FTC035", {"op": "remove", "path": "/export/1"})
    repaired = repair(TEXT, [first, second])
    assert json.loads(repaired.text)["export"] == ["Q8_0"]
    assert repaired.fixed == (first,)


def test_two_items_of_a_list_are_repaired_at_once() -> None:
    """An item that is replaced moves no other."""
    one = finding("FTC035", {"op": "replace", "path": "/export/0", "value": "F16"})
    two = finding("FTC035", {"op": "replace", "path": "/export/1", "value": "Q6_K"})
    repaired = repair(TEXT, [one, two])
    assert json.loads(repaired.text)["export"] == ["F16", "Q6_K"]
    assert repaired.fixed == (one, two)


def test_a_fix_without_a_splice_lays_the_file_out_anew() -> None:
    """The data is right where the layout cannot be kept, and the result says so."""
    add = finding("FTC036", {"op": "add", "path": "/export/-", "value": "F16"})
    repaired = repair(TEXT, [add])
    assert json.loads(repaired.text)["export"] == ["Q8_0", "Q8_0", "F16"]
    assert not repaired.faithful


def test_a_fix_that_does_not_apply_changes_nothing() -> None:
    """A patch on a place that is not there leaves the text as it is."""
    wrong = finding("FTC037", {"op": "remove", "path": "/nowhere"})
    repaired = repair(TEXT, [wrong])
    assert (repaired.text, repaired.fixed) == (TEXT, ())


def test_saving_keeps_line_ends_and_mode(tmp_path: Path) -> None:
    """CRLF files stay CRLF files, and nothing lies beside the file afterwards."""
    path = tmp_path / "spec.json"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    repair(path.read_bytes().decode(), [REPLACE]).save(path)
    assert path.read_bytes() == TEXT.replace("\n", "\r\n").replace("lroa", "lora").encode()
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]
