"""From a file to a finding: realistic faulty data raises the expected findings."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ftc.compiler.pipeline import check

Rows = list[dict[str, str]]
WORDS = [f"{start}{middle}{end}" for start in "bdfgklmnpr" for middle in "aeiou" for end in "nst"]


def sound(rows: int = 400) -> Rows:
    """Return messages of twenty random words under four labels."""
    pick = random.Random(8)  # noqa: S311 - a fixed sample
    labels = ("refund", "delivery", "account", "other")
    return [
        {"message": " ".join(pick.sample(WORDS, 20)), "intent": labels[n % 4]} for n in range(rows)
    ]


def one_template() -> Rows:
    """Fill one sentence in four hundred times: a number differs."""
    text = " ".join(WORDS[:30])
    return [{**row, "message": f"{text} {n}"} for n, row in enumerate(sound())]


def a_cluster() -> Rows:
    """Say hello in forty of four hundred rows, each time with another name."""
    hello = " ".join(WORDS[:30])
    rows = sound()
    return [{**r, "message": f"{hello} x{n}"} if n % 12 == 0 else r for n, r in enumerate(rows)]


def one_prompt() -> Rows:
    """Ask the same in every row; the answers differ."""
    return [{"message": "write a poem", "intent": row["message"]} for row in sound()]


def numbered() -> Rows:
    """Store classes as numbers."""
    return [{**row, "intent": str(n % 4)} for n, row in enumerate(sound())]


def spelt_two_ways() -> Rows:
    """Write one label with and without a capital."""
    return [{**row, "intent": "Refund"} if n % 8 == 0 else row for n, row in enumerate(sound())]


def contradicting() -> Rows:
    """Label a tenth of the messages twice, differently."""
    rows = sound()
    return [*rows, *({**row, "intent": "other"} for row in rows[:120] if row["intent"] != "other")]


def lost() -> Rows:
    """Export what could not be decoded."""
    return [{**row, "message": f"caf\ufffd {row['message']}"} for row in sound()]


def escaped() -> Rows:
    """Keep the colours of a terminal."""
    return [{**row, "message": f"\x1b[31m{row['message']}"} for row in sound()]


def one_sided() -> Rows:
    """Have one fraud in twenty rows."""
    return [{**r, "intent": "fine" if n % 20 else "fraud"} for n, r in enumerate(sound())]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (one_template, "FTC238"),
        (a_cluster, "FTC239"),
        (one_prompt, "FTC240"),
        (numbered, "FTC245"),
        (spelt_two_ways, "FTC243"),
        (contradicting, "FTC242"),
        (lost, "FTC247"),
        (escaped, "FTC248"),
        (one_sided, "FTC244"),
        (lambda: sound(120), "FTC246"),
    ],
)
def test_a_file_raises_its_finding_and_no_other(
    make: Callable[[], Rows], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cause, one finding: what the data has is said once, beside what the table says."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    text = "".join(json.dumps(row) + "\n" for row in make())
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    spec = {"name": "x", "model": "Qwen/Qwen2.5-1.5B-Instruct", "data": "rows.jsonl"}
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({**spec, "hardware": "1x L4", "allow": ["FTC123"]}))
    findings = check(str(path)).findings
    said = {finding.code for finding in findings if finding.severity != "info"}
    assert said == {code}, [finding.message for finding in findings]


@pytest.mark.parametrize(
    ("reward", "proposed"), [("numeric", False), ({"regex": "[0-9]"}, True), (None, False)]
)
def test_prompts_alone_are_not_proposed_where_rewards_compare(
    reward: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, proposed: bool
) -> None:
    """Without answers, a reward that compares with them would be the next error."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    rows = [
        {"prompt": row["message"], "answer": str(n) if n % 3 else ""}
        for n, row in enumerate(sound())
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    objective = {"type": "grpo"} | ({"rewards": [reward]} if reward is not None else {})
    spec = {
        "model": "Qwen/Qwen3-0.6B",
        "data": "rows.jsonl",
        "objective": objective,
        "hardware": "1x RTX-4090",
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    found = check(str(tmp_path / "spec.json")).findings
    blank = next(finding for finding in found if finding.code == "FTC237")
    assert ('"form": "prompt"' in blank.help) == proposed
