"""The reporters: one list of findings in four forms."""

import json
import re
from typing import Any

import jsonschema
import pytest

from ftc.report import REPORTERS
from ftc.report.subject import Subject
from ftc.spec.findings.finding import Finding, Position
from tests.messages import say

TEXT = '{\n  "nmae": "a"\n}\n'
SUBJECT = Subject(name="dir/a spec.json", text=TEXT)
FINDINGS = (
    Finding(
        code="FTC031",
        name="unknown-key",
        severity="error",
        problem=say("there is no key `nmae`"),
        remedy=say("did you mean `name`? 100%"),
        pointer="/nmae",
        position=Position(line=2, column=3),
        fix=({"op": "move", "from": "/nmae", "path": "/name"},),
    ),
    Finding(
        code="FTC120",
        name="no-licence",
        severity="warning",
        problem=say("m\x1b[2J"),
        remedy=say("h"),
    ),
    Finding(code="FTC121", name="noted", severity="info", problem=say("m"), remedy=say("h")),
)


def report(form: str, *, findings: tuple[Finding, ...] = FINDINGS, colour: bool = False) -> str:
    """Return one report of the findings above."""
    return REPORTERS[form](findings, subject=SUBJECT, colour=colour)


def test_text() -> None:
    """Place, severity, code, name, message, the line with a caret, help, and a count."""
    assert report("text").splitlines() == [
        "dir/a spec.json:2:3: error[FTC031] unknown-key: there is no key `nmae`",
        '2 |   "nmae": "a"',
        "  |   ^",
        "help: did you mean `name`? 100%",
        "",
        "dir/a spec.json: warning[FTC120] no-licence: m\\x1b[2J",
        "help: h",
        "",
        "dir/a spec.json: info[FTC121] noted: m",
        "help: h",
        "",
        "1 error, 1 warning, 1 info; `ftc explain FTC031` says more",
    ]


MANY_TEXT = """{
  "nmae": "a",
  "method": {"type": "full", "rank": 8, "targets": "attention"},
  "training": {"seed": -1, "epochs": 0}
}
"""


def at(
    pointer: str, line: int, column: int, *, code: str = "FTC050", remedy: str = "remove it"
) -> Finding:
    """Return a finding of some place of the text above."""
    message = f"`{pointer.rpartition('/')[2]}` is wrong"
    return Finding(
        code=code,
        name="wrong",
        severity="warning" if code == "FTC120" else "error",
        problem=say(message),
        remedy=say(remedy),
        pointer=pointer,
        position=Position(line=line, column=column),
    )


MANY = (
    at("/nmae", 2, 3, code="FTC032"),
    at("/method/rank", 3, 30),
    at("/method/targets", 3, 41),
    at("/training/seed", 4, 24, code="FTC036", remedy="write 0"),
    at("/training/seed", 4, 24, code="FTC120", remedy="write 7"),
    at("/training/epochs", 4, 38, code="FTC036", remedy="write 1"),
)


def test_text_of_many_findings() -> None:
    """Sections with their counts; one remedy and one line of the file are shown once."""
    text = REPORTERS["text"](MANY, subject=Subject(name="s.json", text=MANY_TEXT))
    assert text.splitlines() == [
        "[the spec] 1 error",
        "s.json:2:3: error[FTC032] wrong: `nmae` is wrong",
        '2 |   "nmae": "a",',
        "  |   ^",
        "help: remove it",
        "",
        "[method] 2 errors",
        "s.json:3:30: error[FTC050] wrong: `rank` is wrong",
        "s.json:3:41: error[FTC050] wrong: `targets` is wrong",
        '3 |   "method": {"type": "full", "rank": 8, "targets": "attention"},',
        "  |                              ^          ^",
        "help: remove it",
        "",
        "[training] 2 errors, 1 warning",
        "s.json:4:24: error[FTC036] wrong: `seed` is wrong",
        '4 |   "training": {"seed": -1, "epochs": 0}',
        "  |                        ^",
        "help: write 0",
        "",
        "s.json:4:24: warning[FTC120] wrong: `seed` is wrong",
        "help: write 7",
        "",
        "s.json:4:38: error[FTC036] wrong: `epochs` is wrong",
        '4 |   "training": {"seed": -1, "epochs": 0}',
        "  |                                      ^",
        "help: write 1",
        "",
        "5 errors, 1 warning; `ftc explain FTC032` says more",
    ]


def test_few_findings_have_no_headings() -> None:
    """Nor have many of one section."""
    subject = Subject(name="s.json", text=MANY_TEXT)
    assert "[the spec]" not in REPORTERS["text"](MANY[:4], subject=subject)
    assert "[method]" not in REPORTERS["text"](MANY[1:3] * 3, subject=subject)


@pytest.mark.parametrize("findings", [FINDINGS, MANY])
def test_colour_carries_nothing_alone(findings: tuple[Finding, ...]) -> None:
    """Taking the escape sequences away gives the plain report."""
    coloured = report("text", findings=findings, colour=True)
    plain = report("text", findings=findings)
    assert coloured != plain
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain


def test_json_keeps_its_contract(findings_schema: dict[str, Any]) -> None:
    """The report is valid by its schema and holds every field."""
    data = json.loads(report("json"))
    jsonschema.validate(data, findings_schema)
    assert data["findings"][0]["line"] == 2
    assert data["findings"][1]["line"] is None
    assert data["findings"][0]["fix"] == [{"op": "move", "from": "/nmae", "path": "/name"}]


def test_the_schema_can_fail(findings_schema: dict[str, Any]) -> None:
    """A finding without help is not valid."""
    data = json.loads(report("json"))
    del data["findings"][0]["help"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, findings_schema)


def test_github() -> None:
    """One workflow command per finding, escaped as the runner reads it."""
    first, second, third = report("github").splitlines()
    assert first == (
        "::error file=dir/a spec.json,title=FTC031 unknown-key,line=2,col=3"
        "::there is no key `nmae`%0Ahelp: did you mean `name`? 100%25"
    )
    assert second.startswith("::warning file=dir/a spec.json,title=FTC120 no-licence::")
    assert third.startswith("::notice ")


def test_github_escapes_properties() -> None:
    """A comma or a colon in a file's name does not begin another property."""
    text = REPORTERS["github"](FINDINGS[:1], subject=Subject(name="a,b:c.json", text=None))
    assert "file=a%2Cb%3Ac.json," in text


def test_sarif() -> None:
    """Results name their rules, levels and places; names of files are URIs."""
    log = json.loads(report("sarif"))
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["FTC031", "FTC120", "FTC121"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "dir/a%20spec.json"
    assert place["region"] == {"startLine": 2, "startColumn": 3}
    assert "region" not in run["results"][1]["locations"][0]["physicalLocation"]


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no other."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
    }


# What SARIF 2.1.0 (OASIS, errata 01) asks of those of its objects that a report of ftc has: the
# sections are 3.13 (log), 3.14 (run), 3.19 (tool), 3.27 (result) and 3.28 to 3.30 (places).
WORDS = {"type": "string"}
COUNT = {"type": "integer", "minimum": 1}
MESSAGE = closed("text", text=WORDS)
PLACE = closed(
    "artifactLocation",
    artifactLocation=closed(uri={"type": "string", "format": "uri-reference"}),
    region=closed("startLine", startLine=COUNT, startColumn=COUNT),
)
LOCATION = closed(
    physicalLocation=PLACE,
    logicalLocations={"type": "array", "items": closed(fullyQualifiedName=WORDS)},
)
RESULT = closed(
    "message",
    ruleId=WORDS,
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations={"type": "array", "items": LOCATION},
)
DRIVER = closed(
    "name",
    name=WORDS,
    version=WORDS,
    rules={"type": "array", "uniqueItems": True, "items": closed("id", id=WORDS, name=WORDS)},
)
RUN = closed(
    "tool",
    tool=closed("driver", driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
SARIF = closed(
    "version",
    "runs",
    version={"const": "2.1.0"},
    runs={"type": "array", "items": RUN},
    **{"$schema": {"type": "string", "format": "uri"}},
)


@pytest.mark.parametrize("findings", [FINDINGS, ()])
def test_sarif_is_valid(findings: tuple[Finding, ...]) -> None:
    """What the standard asks of every object that is there, and nothing that it does not know."""
    log = json.loads(report("sarif", findings=findings))
    check = jsonschema.Draft202012Validator(SARIF, format_checker=jsonschema.FormatChecker())
    check.validate(log)
    log["runs"][0]["columns"] = "unicode"
    assert not check.is_valid(log)


@pytest.mark.parametrize("form", list(REPORTERS))
def test_no_findings(form: str) -> None:
    """Machines get an empty list, people get nothing."""
    text = report(form, findings=())
    assert bool(text) == (form in {"json", "sarif"})
