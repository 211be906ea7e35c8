"""Loading: one finding for each way in which a file is not a spec."""

import io
import json
import os
import sys
import time
from pathlib import Path

import pytest

from ftc.spec.findings.finding import Finding, Position
from ftc.spec.load import MOST_BYTES, load_document
from ftc.spec.text.document import Document
from ftc.spec.text.json_reader import read_json


def only(source: str) -> Finding:
    """Return the one finding of a source."""
    findings = load_document(source)
    assert isinstance(findings, tuple)
    (finding,) = findings
    return finding


def loaded(source: str) -> Document:
    """Return the document of a valid source."""
    document = load_document(source)
    assert isinstance(document, Document)
    return document


def pipe(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """Put bytes on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_missing(tmp_path: Path) -> None:
    """A name without a file is reported."""
    finding = only(str(tmp_path / "spce.json"))
    assert (finding.code, finding.position) == ("FTC001", None)


def test_missing_beside_a_similar_name(tmp_path: Path) -> None:
    """Suggest a spec whose name is similar, but no file of another kind."""
    (tmp_path / "spec.json").write_text("{}")
    (tmp_path / "spce.txt").write_text("")
    assert "`spec.json`" in only(str(tmp_path / "spce.json")).help
    assert "spec.json" not in only(str(tmp_path / "other.json")).help


def test_folder(tmp_path: Path) -> None:
    """A folder is not a spec; of the files in it, those with the keys of a spec are named."""
    (tmp_path / "phrases.json").write_text('{"hello": "hola"}')
    (tmp_path / "package.json").write_text('{"name": "site", "version": "1"}')
    (tmp_path / "broken.json").write_text('{"name": "x", "model": ')
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    finding = only(str(tmp_path))
    assert (finding.code, ".json" in finding.help) == ("FTC003", False)
    (tmp_path / "spec.json").write_text('{"name": "x", "modle": "a/b", "data": "d.csv"}')
    (tmp_path / "dpo.yaml").write_text("name: y\nmodel: a/b\n")
    assert only(str(tmp_path)).help.endswith("such as `spec.json` or `dpo.yaml`")
    for number in range(3):
        (tmp_path / f"{number}.json").write_text('{"model": "a/b", "data": "d.csv"}')
    assert only(str(tmp_path)).help.endswith("such as `spec.json`, `0.json` or `1.json`")


def test_a_link_to_nothing_is_not_its_own_suggestion(tmp_path: Path) -> None:
    """It is there by its name, and yet there is no file."""
    (tmp_path / "spec.json").symlink_to(tmp_path / "gone")
    assert "did you mean" not in only(str(tmp_path / "spec.json")).help


@pytest.mark.parametrize("name", ["a\0b.json", "x" * 300 + ".json"])
def test_name_that_the_system_refuses(name: str) -> None:
    """A file that cannot be opened for another reason is unreadable."""
    assert only(name).code == "FTC002"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs the rights of Unix")
def test_forbidden(tmp_path: Path) -> None:
    """A file without the right to read it is unreadable; if root, the test runs as nobody."""
    path = tmp_path / "spec.json"
    path.write_text("{}")
    path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)
        finding = only(str(path))
    finally:
        os.seteuid(user)
    assert finding.code == "FTC002"
    assert finding.message.endswith("cannot be read: permission denied")


def test_file_of_100_mb_is_not_read(tmp_path: Path) -> None:
    """The finding comes at once."""
    path = tmp_path / "data.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    start = time.perf_counter()
    assert only(str(path)).code == "FTC005"
    assert time.perf_counter() - start < 0.5


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_endless_file() -> None:
    """An endless device is larger than 1 MiB."""
    assert only("/dev/zero").code == "FTC005"


def test_largest_file(tmp_path: Path) -> None:
    """Exactly 1 MiB is read."""
    path = tmp_path / "spec.json"
    path.write_text("{}" + " " * (MOST_BYTES - 2))
    assert loaded(str(path)).data == {}


def test_wrong_byte_is_located(tmp_path: Path) -> None:
    """The finding points at the first byte that is not UTF-8."""
    path = tmp_path / "spec.json"
    path.write_bytes('{\n "é": "'.encode() + b"\xe9" + b'"}')
    finding = only(str(path))
    assert (finding.code, finding.position) == ("FTC006", Position(line=2, column=8))
    assert "byte 10 (0xe9)" in finding.message


def test_document(tmp_path: Path) -> None:
    """A document knows its name, its folder and its text."""
    path = tmp_path / "spec.json"
    path.write_text('{"name": "x"}')
    document = loaded(str(path))
    assert (document.name, document.folder) == (str(path), tmp_path)
    assert (document.text, document.data) == ('{"name": "x"}', {"name": "x"})


def test_line_endings_of_windows(tmp_path: Path) -> None:
    """CR LF ends one line, in JSON and in YAML."""
    (tmp_path / "a.json").write_bytes(b'{\r\n "seed":\r\n 7}')
    (tmp_path / "a.yaml").write_bytes(b"name: a\r\nseed: 7\r\n")
    assert loaded(str(tmp_path / "a.json")).position("/seed") == Position(line=3, column=2)
    assert loaded(str(tmp_path / "a.yaml")).position("/seed") == Position(line=2, column=7)


@pytest.mark.parametrize("name", ["a.yaml", "a.YML", "a.Yaml"])
def test_yaml_by_name(tmp_path: Path, name: str) -> None:
    """The file extension chooses the format."""
    (tmp_path / name).write_text("seed: 7")
    assert loaded(str(tmp_path / name)).data == {"seed": 7}


@pytest.mark.parametrize("raw", [b'{"seed": 7}', b' \n{"seed": 7}', b"seed: 7", b"# a\nseed: 7"])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """Standard input is JSON when it starts with a brace, else YAML."""
    pipe(monkeypatch, raw)
    document = loaded("-")
    assert (document.data, document.folder) == ({"seed": 7}, Path())


def test_endless_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than 1 MiB of standard input is read."""
    pipe(monkeypatch, b" " * (MOST_BYTES + 5))
    assert only("-").code == "FTC005"


def test_json_spec_imports_no_yaml() -> None:
    """A JSON spec does not load the YAML reader and, if valid, is read only once."""
    import subprocess  # noqa: PLC0415

    code = (
        "import sys; from ftc.spec.load import load_document; load_document(sys.argv[1]);"
        "print('yaml' in sys.modules, 'jsonschema' in sys.modules)"
    )
    path = Path(__file__).resolve().parents[1] / "bad_specs" / "unsupported.json"
    told = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("text", ["<a/>", "1" * 5000])
def test_text_that_is_nothing_like_a_spec(tmp_path: Path, text: str) -> None:
    """One cause is one finding."""
    path = tmp_path / "spec.json"
    path.write_text(text)
    found = load_document(str(path))
    assert isinstance(found, tuple)
    assert len(found) == 1


def test_a_file_of_a_bundle(tmp_path: Path) -> None:
    """The lock and what it lists are no specs; the copy of the spec beside them is one."""
    spec = {"name": "x", "model": "a/b"}
    for name in ("plan.json", "spec.json", "other.json"):
        (tmp_path / name).write_text(json.dumps(spec), encoding="utf-8")
    lock = tmp_path / "ftc.lock.json"
    lock.write_text('{"files": {"plan.json": "00", "spec.json": "00"}}', encoding="utf-8")
    for name in ("ftc.lock.json", "plan.json"):
        finding = only(str(tmp_path / name))
        assert finding.code == "FTC027"
        assert "the bundle's copy of its spec" in finding.help
    assert loaded(str(tmp_path / "spec.json")).data == spec
    assert loaded(str(tmp_path / "other.json")).data == spec
    assert "`spec.json`" in only(str(tmp_path)).help
    lock.write_text("[]", encoding="utf-8")
    assert loaded(str(tmp_path / "plan.json")).data == spec


@pytest.mark.parametrize(
    ("text", "safety"),
    [
        ('{"name": "t", "export": ["Q8_0",],}', "safe"),
        ('{"name": "t", // mine\n "export": ["Q8_0"]}', "unsafe"),
        ('{"name": "t", "export": ["Q8_0",], "seed": NaN}', None),
    ],
)
def test_what_json_refuses_is_rewritten(tmp_path: Path, text: str, safety: str | None) -> None:
    """A trailing comma holds nothing, a comment does; other mistakes are not rewritten."""
    path = tmp_path / "spec.json"
    path.write_text(text, encoding="utf-8")
    found = load_document(str(path))
    assert isinstance(found, tuple)
    value = {"name": "t", "export": ["Q8_0"]}
    fixed = [({"op": "replace", "path": "", "value": value}, safety)] if safety else []
    fixes = [(step, each.fix_safety) for each in found for step in each.fix]
    assert [each for each in fixes if each[0]["path"] == ""] == fixed


@pytest.mark.parametrize(
    ("text", "code", "safety"),
    [
        ("{name: 't', export: ['Q8_0',], seed: +0x10}", "FTC009", "safe"),
        ("// mine\n{name: 't', /* his */ export: ['Q8_0'], seed: 16.}", "FTC009", "unsafe"),
        ("{name: t, export: [Q8_0], seed: 16}", "FTC009", "safe"),
        ("{'name': 't', 'export': ['Q8_0'], 'seed': 16, 'compile': true}", "FTC014", "safe"),
        ('{"name": "t,\n "export": ["Q8_0"],\n "seed": 16}', "FTC009", "unsafe"),
        ('{"name": "t",\r\n "export": ["Q8_0],\r\n "seed": 16}', "FTC009", "unsafe"),
        ('{"name": "t" "export": ["Q8_0"]\n"seed": 16}', "FTC018", "safe"),
        ('{"name": "t", "export": [Q8_0], "seed": 16}', "FTC017", "safe"),
        (
            '{"name": "t", "export": ["Q8_0"], "seed": 16}'.replace(' "', " \u201c").replace(
                '"', "\u201d"
            ),
            "FTC014",
            "safe",
        ),
    ],
)
def test_text_that_is_nearly_json(tmp_path: Path, text: str, code: str, safety: str) -> None:
    """One finding says what it is, and its fix writes the same values as JSON."""
    path = tmp_path / "spec.json"
    path.write_text(text, encoding="utf-8")
    found = load_document(str(path))
    assert isinstance(found, tuple)
    (finding,) = (each for each in found if each.code < "FTC030")
    assert (finding.code, finding.fix_safety) == (code, safety)
    (step,) = finding.fix
    value = {name: each for name, each in step["value"].items() if name != "compile"}
    assert value == {"name": "t", "export": ["Q8_0"], "seed": 16}


@pytest.mark.parametrize(
    "text",
    [
        "{name: 't\\x41'}",
        "{name: 't', seed: Infinity}",
        '{"name": "t", "seed": 0,5}',
        '{"name": "t\n and more"}',
        '{"name": "t, "seed": 0\n}',
        '{"name": "t,\n "seed": 0,5}',
    ],
)
def test_text_with_several_meanings_is_not_rewritten(tmp_path: Path, text: str) -> None:
    """There is no fix where a value may be lost or is not known."""
    path = tmp_path / "spec.json"
    path.write_text(text, encoding="utf-8")
    found = load_document(str(path))
    assert isinstance(found, tuple)
    assert not [step for each in found for step in each.fix if step["path"] == ""]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"'it\'s'", "it's"),
        ("""'say "a"'""", 'say "a"'),
        (r"'a\nb\\c'", "a\nb\\c"),
        (r"'\"'", '"'),
    ],
)
def test_single_quotes_have_the_escapes_of_json(written: str, meant: str) -> None:
    """A quote that is escaped, and one of the other kind, are themselves."""
    assert read_json(f"[{written}]").data == [meant]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "t", "allow": ["FTC231" "FTC232"]}',
        '{"name": "t", "allow": ["FTC231", "FTC232"],, "ftc": 1}',
        '{"name": "t"; "allow": ["FTC231", "FTC232"]}',
    ],
)
def test_separators_that_are_wrong_are_rewritten(tmp_path: Path, text: str) -> None:
    """A comma that is missing in a list, is there twice, or is a semicolon has one meaning."""
    path = tmp_path / "spec.json"
    path.write_text(text, encoding="utf-8")
    found = load_document(str(path))
    assert isinstance(found, tuple)
    (value,) = [step["value"] for each in found for step in each.fix if step["path"] == ""]
    assert value["allow"] == ["FTC231", "FTC232"]


def test_an_open_string_ends_before_a_comment(tmp_path: Path) -> None:
    """The comment is none of its text; both are reported, with one fix."""
    path = tmp_path / "spec.json"
    path.write_text('{"name": "t, // mine\n "model": "https://a/b"}', encoding="utf-8")
    found = load_document(str(path))
    assert isinstance(found, tuple)
    assert [each.code for each in found if each.code < "FTC030"] == ["FTC012", "FTC009"]
    (value,) = [step["value"] for each in found for step in each.fix if step["path"] == ""]
    assert value == {"name": "t", "model": "https://a/b"}
