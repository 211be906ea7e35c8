"""The lock reads back what was written, rejects invalid content, and shows what is still valid."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.resolve.facts import Facts, Unknown
from ftc.compiler.resolve.resolver import section_hashes
from ftc.compiler.write.explanations import OUTDATED
from ftc.compiler.write.lock import (
    LOCK_NAME,
    Lock,
    LockFailure,
    dump_lock,
    is_inside,
    list_changes,
    locked_facts,
    make_lock,
    parse_lock,
    read_lock,
)
from ftc.spec.message import Language, Message
from ftc.spec.sections import Spec

MakeLock = Callable[..., Lock]

HASHES = st.text("0123456789abcdef", min_size=64, max_size=64)
NAMES = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?(\.[a-z]{1,4})?", fullmatch=True)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
FACT_NAMES = st.lists(st.sampled_from(["model", "tokenizer", "data", "hardware"]), unique=True)


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    """Draw any lock that could be on disk."""
    known = draw(FACT_NAMES)
    decision = st.fixed_dictionaries({"value": VALUES, "source": st.just("spec")})
    return Lock(
        lock=1,
        ftc=draw(st.text()),
        spec_sha256=draw(HASHES),
        sections={name: draw(HASHES) for name in known},
        facts={name: draw(VALUES) for name in known},
        decisions=draw(st.dictionaries(st.text(), decision, max_size=3)),
        requirements=draw(st.lists(st.text(), max_size=3)),
        files=draw(st.dictionaries(NAMES, HASHES, max_size=3)),
    )


@given(locks())
def test_round_trip_is_exact(lock: Lock) -> None:
    """Any lock comes back equal, and its text is canonical."""
    text = dump_lock(lock)
    assert parse_lock(text) == lock
    assert dump_lock(parse_lock(text)) == text
    assert text.isascii()
    assert text.endswith("}\n")


@given(VALUES | st.dictionaries(st.sampled_from(["lock", "ftc", "files", "facts"]), VALUES))
def test_any_json_is_a_lock_or_one_sentence(data: Any) -> None:
    """Whatever JSON lies there, the outcome is a lock or a LockFailure on one line."""
    said = "a lock"
    try:
        parse_lock(json.dumps(data))
    except LockFailure as failure:
        said = failure.message
    assert said.isascii()
    assert "\n" not in said


def test_lock_of_real_facts(lock_of: MakeLock, spec: Spec, facts: Facts, tmp_path: Path) -> None:
    """Facts come back from disk as the same dataclasses, tuples and all."""
    lock = lock_of((RenderedFile(name="a.py", text="\n", language="python"),))
    assert read_lock(tmp_path) is None
    (tmp_path / LOCK_NAME).write_text(dump_lock(lock), encoding="ascii")
    assert read_lock(tmp_path) == lock
    assert locked_facts(lock, spec) == {
        "model": facts.model,
        "tokenizer": facts.tokenizer,
        "data": facts.data,
        "hardware": facts.hardware,
    }
    assert lock.decisions["lora_targets"] == {"value": ["q_proj", "v_proj"], "source": "derived"}
    assert not re.search(r'": "/', dump_lock(lock)), "an absolute path"


def test_a_lock_has_a_line_for_each_entry(lock_of: MakeLock) -> None:
    """A fact, a decision or a file that changes is one line of a diff."""
    files = (RenderedFile(name="a.py", text="\n", language="python"),)
    lock = replace(lock_of(files, rank=8), facts={"data": {"rows": 1, "sources": ["x" * 1_500]}})
    lines = dump_lock(lock).splitlines()

    assert '    "rank": {"source": "derived", "value": 8}' in lines
    assert f'    "a.py": "{lock.files["a.py"]}"' in lines
    assert '      "rows": 1,' in lines
    assert lines.count('      "sources": [') == 1, "an entry that is too long for a line is divided"


def test_what_a_bundle_shares_takes_few_lines(lock_of: MakeLock) -> None:
    """Modules of a folder and requirements are a line each, and no fact says that it is unknown."""
    names = ("run.sh", "runtime/run.py", "runtime/train/best.py", "runtime/train/steps.py", "a.py")
    files = [RenderedFile(name=name, text=name, language="runtime") for name in names]
    lock = replace(lock_of(files), requirements=["torch==2.13.0", "trl==1.16.0"])
    lines = dump_lock(lock).splitlines()

    start = lines.index('  "files": {')
    shown = [line.split('"')[1::4] for line in lines[start + 1 : lines.index("  },", start)]]
    assert shown == [
        ["a.py"],
        ["run.sh"],
        ["runtime/run.py"],
        ["runtime/train/best.py", "runtime/train/steps.py"],
    ]
    assert '  "requirements": ["torch==2.13.0", "trl==1.16.0"],' in lines
    assert not [line for line in lines if line.endswith(": null,")]


def test_locks_with_and_without_defaults_are_equal(
    lock_of: MakeLock, spec: Spec, facts: Facts
) -> None:
    """A lock of before has all fields of a fact; nothing is resolved again or told as a change."""
    short = lock_of(())
    whole = msgspec.to_builtins({name: getattr(facts, name) for name in short.facts})
    old = parse_lock(json.dumps(asdict(replace(short, facts=whole)), indent=2))

    assert "modules" in old.facts["model"]
    assert "modules" not in short.facts["model"]
    assert locked_facts(old, spec) == locked_facts(parse_lock(dump_lock(short)), spec)
    assert set(locked_facts(old, spec)) == set(old.facts)
    assert list_changes(old, short) == list_changes(short, old) == ()


def test_unknown_facts_are_left_out(spec: Spec, facts: Facts) -> None:
    """A fact that could not be had is not locked, and so is looked for again."""
    finding = OUTDATED.finding(file="train.py")
    less = replace(facts, data=Unknown(finding=finding))
    lock = make_lock(ftc="1", spec=spec, facts=less, decisions={}, requirements=(), files=())
    assert set(lock.facts) == {"model", "tokenizer", "hardware"}
    assert set(locked_facts(lock, spec)) == {"model", "tokenizer", "hardware"}


CHANGES: list[tuple[str, str, Any, set[str]]] = [
    ("model", "id", "other/model", {"hardware"}),
    ("model", "revision", "main", {"hardware"}),
    ("model", "trust_remote_code", True, {"hardware"}),
    ("model", "attention", "sdpa", {"model", "tokenizer", "data", "hardware"}),
    ("model", "chat_template", "t.jinja", {"model", "hardware"}),
    ("data", "source", "b.csv", {"model", "tokenizer", "hardware"}),
    ("data", "system", "Be kind.", {"model", "tokenizer", "hardware"}),
    ("data", "max_rows", 5, {"model", "tokenizer", "hardware"}),
    ("data", "max_length", 512, {"model", "tokenizer", "data", "hardware"}),
    ("hardware", "gpu", "H100", {"model", "tokenizer", "data"}),
    ("training", "seed", 7, {"model", "tokenizer", "data", "hardware"}),
]


@pytest.mark.parametrize("change", CHANGES)
def test_facts_hold_while_their_part_of_the_spec_does(
    lock_of: MakeLock, spec: Spec, change: tuple[str, str, Any, set[str]]
) -> None:
    """Each change of the spec drops the facts that rest on it, and no others."""
    section, field, value, kept = change
    lock = lock_of(())
    changed = replace(spec, **{section: replace(getattr(spec, section), **{field: value})})
    assert set(locked_facts(lock, changed)) == kept
    assert set(section_hashes(spec)) == {"model", "tokenizer", "data", "hardware"}


def test_facts_of_another_shape_are_resolved_again(lock_of: MakeLock, spec: Spec) -> None:
    """A fact without today's fields does not count as locked."""
    lock = lock_of(())
    facts = {**lock.facts, "model": {"id": "org/model"}}
    assert set(locked_facts(replace(lock, facts=facts), spec)) == {"tokenizer", "data", "hardware"}
    facts["model"] = {**lock.facts["model"], "parameters": 0}
    assert set(locked_facts(replace(lock, facts=facts), spec)) == {"tokenizer", "data", "hardware"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "missing required field `lock`"),
        ('{"lock": 2}', "lock version 2"),
        ('{"lock": "1"}', "Expected `int`"),
        ('{"lock": 1, "x\\u2028": 1}', "the unknown key `x\\u2028`"),
    ],
)
def test_damaged_lock_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    """Whatever a hand or a merge did to the file, the message is one line and says it."""
    (tmp_path / LOCK_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(LockFailure) as caught:
        read_lock(tmp_path)
    assert said in caught.value.message
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "change",
    [
        {"lock": 0},
        {"spec_sha256": "x"},
        {"files": {"../../.profile": "0" * 64}},
        {"files": {"/etc/passwd": "0" * 64}},
        {"files": {"a.py": "none"}},
        {"facts": {}},
        {"sections": {"weather": "0" * 64}, "facts": {"weather": 1}},
        {"decisions": {"rank": 8}},
        {"requirements": "torch"},
    ],
)
def test_hand_edited_lock_is_refused(lock_of: MakeLock, change: dict[str, Any]) -> None:
    """Names that lead out of the bundle, and parts that disagree, are damage."""
    data = json.loads(dump_lock(lock_of(()))) | change
    with pytest.raises(LockFailure):
        parse_lock(json.dumps(data))


def test_lock_that_is_not_text(tmp_path: Path) -> None:
    """A folder or bytes under the lock's name are one sentence too."""
    (tmp_path / LOCK_NAME).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LockFailure, match="not UTF-8"):
        read_lock(tmp_path)
    (tmp_path / "b" / LOCK_NAME).mkdir(parents=True)
    with pytest.raises(LockFailure, match="cannot be read"):
        read_lock(tmp_path / "b")


@pytest.mark.parametrize("name", ["a.py", "a/b.txt", ".gitignore", "run.sh"])
def test_inside(name: str) -> None:
    """Plain relative names are inside."""
    assert is_inside(name)


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../a", "a/../b", "a//b", "/a", "a/", "a\\b", "C:a", "a\0b", "a\nb", "./a"],
)
def test_outside(name: str) -> None:
    """Anything that could lead out, or mean something else on Windows, is not."""
    assert not is_inside(name)


def test_moved_says_each_fact_and_decision(lock_of: MakeLock) -> None:
    """Values that are short are shown, long ones only named, and equal ones not at all."""
    old = lock_of((), ftc="0.0.9", rank=8)
    new = lock_of((), ftc="0.1.0", patience=3)
    assert list_changes(old, old) == ()
    assert list_changes(old, new) == (
        "compiled by ftc 0.1.0, before by ftc 0.0.9",
        "`patience` is new",
        "`rank` is gone",
    )
    model: dict[str, Any] = {**new.facts["model"], "revision": "b" * 40}
    data = {**new.facts["data"], "rows": 101, "columns": ["x" * 100]}
    other = replace(
        new,
        facts={**new.facts, "model": model, "data": data},
        requirements=["torch==2.13.0", "trl==1.17.0"],
    )
    assert list_changes(new, other) == (
        f'`model.revision` was "{"a" * 40}" and is "{"b" * 40}"',
        "`data.columns` changed",
        "`data.rows` was 100 and is 101",
        '`requirements` lost ["trl==1.16.0"] and gained ["trl==1.17.0"]',
    )


@pytest.mark.parametrize(("language", "said"), [("ca", "no és JSON"), ("es", "no es JSON")])
def test_damage_is_said_in_every_language(tmp_path: Path, language: Language, said: str) -> None:
    """The reason is a sentence of the catalogue as well."""
    (tmp_path / LOCK_NAME).write_text("{", encoding="utf-8")
    with pytest.raises(LockFailure) as caught:
        read_lock(tmp_path)
    assert isinstance(caught.value.problem, Message)
    assert said in caught.value.problem.render(language)
