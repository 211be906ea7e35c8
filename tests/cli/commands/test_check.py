"""`ftc check`."""

import errno
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

Call = Callable[..., Any]


def break_it(path: Path) -> None:
    """Misspell one key of a spec that was right."""
    path.write_text(path.read_text().replace('"method"', '"methdo"'))


def test_a_right_spec(call: Call, spec_file: Path) -> None:
    """Exit code 0, and a product that says so."""
    result = call("check", spec_file)
    assert result.code == 0, result.out
    assert result.err == ""


def test_findings_are_the_product(call: Call, spec_file: Path) -> None:
    """They go to stdout with place, code and help; the exit code is 1."""
    break_it(spec_file)
    result = call("check", spec_file)
    assert (result.code, result.err) == (1, "")
    _, told = result.out.split(f"{spec_file}:12:3: error[FTC")
    assert "`methdo`" in told.splitlines()[0]
    assert "method" in told.split("help: ")[1]


def test_json(call: Call, spec_file: Path, findings_schema: dict[str, Any]) -> None:
    """Valid by its schema, with the place of the misspelt key."""
    break_it(spec_file)
    result = call("check", spec_file, "--format", "json")
    data = json.loads(result.out)
    jsonschema.validate(data, findings_schema)
    (found,) = [each for each in data["findings"] if each["pointer"] == "/methdo"]
    assert (found["line"], found["column"]) == (12, 3)


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_other_forms(call: Call, spec_file: Path, form: str) -> None:
    """The same finding in the forms of code hosts."""
    break_it(spec_file)
    result = call("check", spec_file, "--format", form)
    assert result.code == 1
    assert "methdo" in result.out


def test_standard_input(call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads the spec from standard input, relative to where one is."""
    monkeypatch.chdir(spec_file.parent)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(spec_file.read_bytes())))
    result = call("check", "-")
    assert result.code == 0, result.out


def test_fix(call: Call, spec_file: Path) -> None:
    """A misspelt key is repaired in place, and nothing else in the file changes."""
    before = spec_file.read_text()
    break_it(spec_file)
    result = call("check", spec_file, "--fix")
    assert result.code == 0, result.out
    assert "renamed /methdo to /method" in result.err
    assert spec_file.read_text() == before


def test_fix_says_what_it_repaired(call: Call, spec_file: Path) -> None:
    """Each repair has the sentence of its finding, also of one that another repair uncovers."""
    spec = json.loads(spec_file.read_text())
    spec["method"] = {"typ": "full", "rank": 8}
    spec_file.write_text(json.dumps(spec), encoding="utf-8")
    result = call("check", spec_file, "--fix", "--unsafe")
    assert "FTC032: `method` has no key `typ`: renamed /method/typ" in result.err
    assert "FTC050: `method.rank` has no effect while" in result.err


def test_fix_of_yaml_keeps_the_text(call: Call, tmp_path: Path, spec_file: Path) -> None:
    """A mistake of YAML's grammar is repaired where it is, and the rest of the spec is checked."""
    path = tmp_path / "spec.yaml"
    spec = json.loads(spec_file.read_text())
    lines = [f"{key}: {json.dumps(spec[key])}  # {key}" for key in spec]
    text = "\n".join([*lines, "training:", "  epochs: 1", ""])
    path.write_text(text.replace("  epochs", "\tepochs"), encoding="utf-8")
    assert "`--fix` repairs 1" in call("check", path).out
    result = call("check", path, "--fix")
    assert "wrote the same as YAML" in result.err
    assert path.read_text() == text


def test_one_fix_of_several_mistakes_counts_them_all(call: Call, spec_file: Path) -> None:
    """A comma that is missing beside a comment: the whole text is written anew."""
    text = spec_file.read_text()
    spec_file.write_text(text.replace(",", " // the name\n", 1), encoding="utf-8")
    assert "`--fix --unsafe` repairs 2" in call("check", spec_file).out


def test_other_values_are_tried(call: Call, spec_file: Path) -> None:
    """As by `ftc plan`: the file stays, and what is wrong with a value is a finding."""
    before = spec_file.read_text()
    assert call("check", spec_file, "--set", "method=full").code == 0
    result = call("check", spec_file, "--set", "method.rank=-3")
    assert (result.code, "`method.rank` cannot be `-3`" in result.out) == (1, True)
    assert spec_file.read_text() == before
    assert call("check", spec_file, "--set", "rank").code == 2
    assert call("check", spec_file, "--set", "method=full", "--fix").code == 2


def test_fix_keeps_a_link(call: Call, spec_file: Path) -> None:
    """The file that a link leads to is repaired, and the link stays one."""
    before = spec_file.read_text()
    break_it(spec_file)
    real = spec_file.rename(spec_file.with_name("real.json"))
    spec_file.symlink_to(real.name)
    assert call("check", spec_file, "--fix").code == 0
    assert spec_file.is_symlink()
    assert real.read_text() == before


def test_fix_where_nothing_can_be_written(
    call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is what is wrong, in one sentence."""
    break_it(spec_file)

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    result = call("check", spec_file, "--fix")
    assert result.code == 3
    assert "cannot be replaced" in result.err


def say(path: Path, **edits: Any) -> str:
    """Change what the spec says, laid out by hand with room around it, and return its text."""
    spec = {**json.loads(path.read_text(encoding="utf-8")), **edits}
    text = json.dumps(spec, indent=4).replace('": ', '" :  ')
    path.write_text(text, encoding="utf-8")
    return text


def test_fix_leaves_the_trained_model_alone(call: Call, spec_file: Path) -> None:
    """A safe repair is made, its diff is shown; what would train another model is only offered."""
    before = say(
        spec_file,
        distribution="zero2",
        training={"learning_rate": 0.5},
    )
    told = json.loads(call("check", spec_file, "--format", "json").out)["findings"]
    kinds = {one["code"]: one["fix_safety"] for one in told if one["fix"]}
    assert kinds == {"FTC431": "safe", "FTC538": "unsafe"}

    safe = call("check", spec_file, "--fix")

    after = spec_file.read_text(encoding="utf-8")
    assert after == before.replace('"zero2"', '"auto"')
    assert '-    "distribution" :  "zero2"' in safe.err
    assert '+    "distribution" :  "auto"' in safe.err
    assert "FTC538" in safe.out
    assert safe.out.endswith("`--fix --unsafe` repairs 1\n")

    unsafe = call("check", spec_file, "--fix", "--unsafe")

    assert "FTC538" not in unsafe.out
    assert '"learning_rate" :  "auto"' in spec_file.read_text(encoding="utf-8")
    again = call("check", spec_file, "--fix", "--unsafe")
    assert again.err == "nothing can be repaired for certain\n"


def test_repairs_come_to_rest(call: Call, spec_file: Path) -> None:
    """One repair uncovers the next finding; one command makes them all, and a second one none."""
    say(spec_file, distribution="zero2", training={"micro_batch": 8, "global_batch": 12})
    break_it(spec_file)

    first = call("check", spec_file, "--fix", "--unsafe")

    assert first.code == 0, first.out
    assert first.err.count("@@") == first.err.count(" @@\n") * 2 >= 2
    data = json.loads(call("check", spec_file, "--format", "json").out)["findings"]
    assert not [one for one in data if one["fix"]]
    assert call("check", spec_file, "--fix", "--unsafe").err.startswith("nothing")


def test_unsafe_goes_with_fix(call: Call, spec_file: Path) -> None:
    """Alone it would be a word without effect."""
    assert call("check", spec_file, "--unsafe").code == 2


def test_fix_without_a_certain_repair(call: Call, spec_file: Path) -> None:
    """A file that nothing can repair stays as it is."""
    spec_file.write_text(spec_file.read_text().replace('"method"', '"zzzzzz"'))
    before = spec_file.read_bytes()
    result = call("check", spec_file, "--fix")
    assert result.code == 1
    assert spec_file.read_bytes() == before


def test_strict(call: Call, spec_file: Path) -> None:
    """Warnings leave with 0, or with 1 when asked; a spec that only warns is the table's."""
    plain = call("check", spec_file, "--format", "json")
    warnings = [item for item in json.loads(plain.out)["findings"] if item["severity"] == "warning"]
    assert warnings, "a model from the table and estimated lengths are worth a warning"
    assert plain.code == 0
    assert call("check", spec_file, "--strict").code == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b"\xff\xfe",
        b"[" * 20000,
        b'{"name": NaN}',
        b"- a\n- b",
    ],
)
def test_any_file_gives_findings(call: Call, tmp_path: Path, content: bytes) -> None:
    """No input is a defect: each gives at least one error."""
    for name in ("spec.json", "spec.yaml"):
        path = tmp_path / name
        path.write_bytes(content)
        result = call("check", path, "--format", "json")
        assert result.code == 1, result.err
        assert json.loads(result.out)["findings"]


def test_broken_json_is_shown(call: Call, tmp_path: Path) -> None:
    """A file that does not parse still has a line to point into."""
    path = tmp_path / "spec.json"
    path.write_text('{\n  "name": "a",,\n}\n')
    lines = call("check", path).out.splitlines()
    assert lines[0].startswith(f"{path}:2:14: error[FTC0")
    assert lines[1:3] == ['2 |   "name": "a",,', "  |              ^"]


def test_a_key_for_editors_beside_a_fixable_error(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`$schema` and `ftc` are no fields that a fix could change; they stay where they are."""
    path = tmp_path / "spec.json"
    (tmp_path / "rows.csv").write_text("prompt,completion\n" + "hello,hi\n" * 50)
    spec = {"name": "a", "model": "Qwen/Qwen2.5-7B-Instruct", "data": "rows.csv", "method": "full"}
    keys = {"$schema": "urn:ftc:spec:1", "hardware": "1x RTX-4090", **spec}
    path.write_text(json.dumps(keys))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    ended = call("check", path)
    assert "FTC420" in ended.out
    assert "defect" not in ended.out + ended.err


def test_a_missing_file(call: Call, tmp_path: Path) -> None:
    """A file that is not there, and a folder, are said in a sentence."""
    assert call("check", tmp_path / "none.json").code in {1, 3}
    assert call("check", tmp_path).code in {1, 3}


def test_a_file_that_cannot_be_repaired(call: Call, tmp_path: Path) -> None:
    """A file that is no document is left as it is, and that is said."""
    path = tmp_path / "spec.json"
    path.write_text('{"name": "x"')
    result = call("check", path, "--fix")
    assert (result.code, path.read_text()) == (1, '{"name": "x"')
    assert result.err == "nothing can be repaired for certain\n"


def test_a_spec_that_may_not_be_read(
    call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a finding like any other, in every format, and no error of usage."""
    opened = Path.open

    def refuse(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == spec_file:
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **options)

    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(Path, "open", refuse)
    result = call("check", spec_file, "--format", "json")
    assert result.code == 1, result.err
    assert [one["code"] for one in json.loads(result.out)["findings"]] == ["FTC002"]


def test_fix_writes_a_python_dictionary_as_json(call: Call, spec_file: Path) -> None:
    """One finding says what the text is; the repair has the same values."""
    spec = json.loads(spec_file.read_text())
    spec_file.write_text(repr(spec), encoding="utf-8")
    told = json.loads(call("check", spec_file, "--format", "json").out)["findings"]
    assert [one["code"] for one in told if one["severity"] == "error"] == ["FTC014"]
    result = call("check", spec_file, "--fix")
    assert result.code == 0, result.out
    assert "wrote the same as JSON" in result.err
    assert json.loads(spec_file.read_text()) == spec


def test_a_byte_order_mark_hides_nothing(call: Call, spec_file: Path) -> None:
    """Other findings are shown too; no repair is promised for a text that cannot be edited."""
    break_it(spec_file)
    spec_file.write_bytes(b"\xef\xbb\xbf" + spec_file.read_bytes())
    result = call("check", spec_file)
    assert result.code == 1
    assert all(words in result.out for words in ("FTC007", "methdo"))
    assert "--fix" not in result.out
