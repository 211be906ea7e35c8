"""Data facts: every format, every form, every count, and one finding per way to be unreadable."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import Label
from tests.compiler.resolve.resolving import CHAT, chat_rows, exact, known, unknown

SHAREGPT = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]


def test_every_kind_of_malformed_row_is_named(make_spec: Any, tmp_path: Path) -> None:
    """Each kind of malformed conversation is counted separately."""
    user, answer = CHAT
    chat_rows(
        tmp_path,
        CHAT,
        [user],
        [answer, user, answer],
        [user, {"role": "wizard", "content": "x"}],
        [{"role": "user", "content": ["no", "text"]}, answer],
        "no JSON",
        {"role": "user"},
    )
    with (tmp_path / "chat.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n[1, 2]\n")
    facts = known(make_spec(data={"source": "chat.jsonl"}), tmp_path)
    assert facts.faults == {
        "no_list": 2,
        "no_turn": 1,
        "order": 1,
        "unanswered": 1,
        "unknown_role": 1,
        "unreadable": 1,
    }
    assert facts.malformed_rows == sum(facts.faults.values())
    assert facts.usable_rows == 1


@pytest.mark.parametrize("rows", [999, 1000, 1001, 2500])
def test_no_row_is_lost_behind_those_that_name_the_columns(
    make_spec: Any, tmp_path: Path, rows: int
) -> None:
    """The first thousand rows of a jsonl file name its columns; the one after them counts too."""
    lines = (json.dumps({"prompt": f"{n}", "completion": "x"}) for n in range(rows))
    (tmp_path / "data.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert known(make_spec(data={"source": "data.jsonl"}), tmp_path).rows == rows


def test_damage_is_told_apart(make_spec: Any, tmp_path: Path) -> None:
    """What can be repaired, what is lost, and control characters."""
    rows = ["prompt,completion", "cafÃ©,a", "caf\ufffd,b", "be\x07ll,c", "one\ttab,d"]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert (facts.misencoded_rows, facts.lost_rows, facts.control_rows) == (2, 1, 1)


@pytest.mark.parametrize(
    "cell", ["hi", [{"role": "user", "content": "hi"}], '[{"role": "user", "content": "hi"}]']
)
def test_messages_in_a_cell_are_a_fact(make_spec: Any, tmp_path: Path, cell: object) -> None:
    """One row whose prompt is a list of messages decides which reader a bundle has."""
    rows = ({"prompt": prompt, "completion": "x"} for prompt in ("one", "two", cell))
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    facts = known(make_spec(data={"source": "data.jsonl"}), tmp_path)
    assert (facts.usable_rows, facts.has_message_cells) == (3, cell != "hi")


def test_reasoning_in_any_row_is_a_fact(make_spec: Any, tmp_path: Path) -> None:
    """Empty reasoning counts, as chat templates write it otherwise; stripped reasoning does not."""
    for said in ("<think></think>b", "<think>so</think>b"):
        rows = ["prompt,completion", "one,a", f"two,{said}"]
        (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
        assert known(make_spec(), tmp_path).has_reasoning
    stripped = make_spec(data={"source": "data.csv", "reasoning": "strip"})
    assert not known(stripped, tmp_path).has_reasoning


def test_prompts_with_several_answers_are_counted(make_spec: Any, tmp_path: Path) -> None:
    """Rows with one prompt stay in one split, so the most frequent prompt is a fact."""
    rows = ["prompt,completion", "one,a", "one,b", "one ,c", "two,a", "two,a"]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert (facts.prompts, facts.largest_prompt_rows, facts.conflicting_rows) == (2, 3, 2)


def test_a_wrong_byte_among_right_letters_is_damage(make_spec: Any, tmp_path: Path) -> None:
    """One row in another encoding does not make the whole file be read in it."""
    rows = "prompt,completion\n" + "això és cançó,àèé\n" * 3
    (tmp_path / "data.csv").write_bytes(rows.encode() + b"caf\xe9,x\n")
    facts = known(make_spec(), tmp_path)
    assert facts.encoding == "utf-8"
    assert (facts.rows, facts.duplicate_rows, facts.misencoded_rows) == (4, 2, 1)


def test_every_count(make_spec: Any, tmp_path: Path) -> None:
    """Blank, duplicate, misencoded and malformed rows are distinguished; the rest is usable."""
    rows = [
        "message,intent",
        "one,a",
        "  one ,a",
        "two,b",
        ",b",
        "three, ",
        "caf\u00c3\u00a9,a",
        "café,a",
        "four,b,too,many",
        "",
        "five",
    ]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert (facts.prompt, facts.completion) == ("message", "intent")
    assert facts.rows == 9
    assert facts.blank_rows == 3
    assert facts.duplicate_rows == 2
    assert facts.misencoded_rows == 1
    assert facts.malformed_rows == 1
    assert facts.usable_rows == 3
    kept = {"cleaning": {"drop_duplicates": False, "repair_encoding": False}}
    facts = known(make_spec(data={"source": "data.csv", **kept}), tmp_path)
    assert (facts.duplicate_rows, facts.usable_rows) == (1, 5)
    facts = known(make_spec(data={"source": "data.csv", "max_rows": 2}), tmp_path)
    assert (facts.rows, facts.usable_rows) == (9, 2)


def test_conversations(make_spec: Any, tmp_path: Path) -> None:
    """Roles and order decide what is a conversation; ShareGPT's names are read too."""
    system = {"role": "system", "content": "Be brief."}
    longer = [*CHAT, {"role": "user", "content": "more"}, CHAT[1]]
    chat_rows(tmp_path, CHAT, SHAREGPT, [system, *CHAT], longer)
    facts = known(make_spec(data="chat.jsonl"), tmp_path)
    assert (facts.form, facts.messages) == ("chat", "messages")
    assert (facts.rows, facts.duplicate_rows, facts.usable_rows) == (4, 1, 3)
    assert (facts.multi_turn, facts.has_system) == (True, True)
    assert facts.labels == ()
    chat_rows(tmp_path, CHAT)
    facts = known(make_spec(data="chat.jsonl"), tmp_path)
    assert (facts.multi_turn, facts.has_system) == (False, False)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "blank"),
        (None, "blank"),
        ([CHAT[0], {"role": "assistant", "content": " "}], "blank"),
        ([CHAT[0]], "malformed"),
        ([CHAT[1], CHAT[0]], "malformed"),
        ([CHAT[0], CHAT[0], CHAT[1]], "malformed"),
        ([*CHAT, {"role": "system", "content": "late"}], "malformed"),
        ([{"role": "alien", "content": "x"}, CHAT[1]], "malformed"),
        ([{"role": "user", "content": ["x"]}, CHAT[1]], "malformed"),
        ([{"role": "user"}, CHAT[1]], "malformed"),
        (["hi", "hello"], "malformed"),
        ({"role": "user"}, "malformed"),
        ("not json", "malformed"),
    ],
)
def test_broken_conversations(make_spec: Any, tmp_path: Path, messages: Any, fault: str) -> None:
    """Each break of the rules is counted as what it is."""
    chat_rows(tmp_path, CHAT, messages)
    facts = known(make_spec(data="chat.jsonl"), tmp_path)
    assert facts.usable_rows == 1
    assert (facts.blank_rows, facts.malformed_rows) == (fault == "blank", fault == "malformed")


def test_a_conversation_in_a_csv_cell(make_spec: Any, tmp_path: Path) -> None:
    """A csv holds messages as JSON text."""
    cell = json.dumps(CHAT).replace('"', '""')
    (tmp_path / "data.csv").write_text(f'id,messages\n1,"{cell}"\n', encoding="utf-8")
    assert known(make_spec(), tmp_path).usable_rows == 1


def test_labels_are_a_closed_set_only_with_rows_enough(make_spec: Any, tmp_path: Path) -> None:
    """Two answers of five rows each are labels; as many answers as rows are none."""
    rows = [f"text {i},{'no' if i % 3 else 'yes'}" for i in range(12)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert facts.labels == (Label(name="no", rows=8), Label(name="yes", rows=4))
    for answers in (range(20), ["x" * (90 + i % 2) for i in range(20)]):
        rows = [f"text {i},{answer}" for i, answer in enumerate(answers)]
        (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
        assert known(make_spec(), tmp_path).labels == ()


def test_a_data_set_of_the_hub(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """Split and subset choose files; several shards are one table; the commit is pinned."""
    rows = {name: json.dumps({"text": name, "label": 1}).encode() for name in ("a", "b", "c", "d")}
    files = {
        "README.md": b"",
        "plain/train-0.jsonl": rows["a"],
        "plain/train-1.jsonl": rows["b"],
        "plain/test-0.jsonl": rows["c"],
        "other/train-0.jsonl": rows["d"],
    }
    hub.add("datasets/owner/rows", files)
    plain = {"source": "owner/rows", "subset": "plain"}
    facts = known(make_spec(data=plain), tmp_path)
    assert (facts.origin, facts.path, facts.revision) == ("hub", None, "a" * 40)
    assert facts.files == ("plain/train-0.jsonl", "plain/train-1.jsonl")
    assert (facts.rows, facts.prompt, facts.completion) == (2, "text", "label")
    assert not any("test-0" in request for request in hub.requests)
    facts = known(make_spec(data={**plain, "split": "test"}), tmp_path)
    assert facts.files == ("plain/test-0.jsonl",)
    hub.failing = 503
    assert known(make_spec(data=plain), tmp_path).rows == 2


def test_failures_of_a_data_set(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """Not found, gated, no such split and no network have codes of their own."""
    hub.add("datasets/owner/gated", {"train.csv": b"text\na\n"})
    hub.gated.add("datasets/owner/gated")
    hub.add("datasets/owner/rows", {"train.csv": b"text\na\n", "test.csv": b"text\nb\n"})
    assert unknown(make_spec(data="owner/nothing"), tmp_path).code == "FTC208"
    assert unknown(make_spec(data="owner/gated"), tmp_path).code == "FTC209"
    spec = make_spec(data={"source": "owner/rows", "split": "trian"})
    finding = unknown(spec, tmp_path)
    assert (finding.code, finding.pointer) == ("FTC211", "/data/split")
    assert "`test.csv`, `train.csv`" in finding.help
    hub.failing = 503
    assert unknown(make_spec(data="owner/rows"), tmp_path).code == "FTC210"


def test_facts_are_the_same_twice_and_hold_no_absolute_path(
    make_spec: Any, model_folder: Path
) -> None:
    """Facts go into the lock: they depend on nothing but the spec and the files."""
    folder = model_folder.parent
    (folder / "data.csv").write_text("text,label\na,b\nc,d\n", encoding="utf-8")
    spec = make_spec(data=str(folder / "data.csv"))
    facts = exact(spec, folder)
    assert facts == exact(spec, folder)
    assert (facts.path, facts.source) == ("data.csv", "data.csv")
    assert str(folder) not in repr(facts)


def test_local_folders_need_no_hub_library(make_spec: Any, model_folder: Path) -> None:
    """A cold compile from local files does not pay for importing huggingface_hub."""
    folder = model_folder.parent
    (folder / "data.csv").write_text("text,label\na,b\nc,d\n", encoding="utf-8")
    make_spec()
    program = """
import sys
from pathlib import Path
from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.spec.load import load_document
from ftc.spec.validate import validate
spec = validate(load_document("spec.json"))
here = Path()
model = resolve_model(spec, folder=here)
tokenizer = resolve_tokenizer(spec, folder=here, model=model)
assert not resolve_data(spec, folder=here, tokenizer=tokenizer).lengths.estimate
resolve_hardware(spec)
heavy = {"huggingface_hub", "pyarrow", "numpy", "torch", "transformers", "datasets"}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_one_answer_for_all(make_spec: Any, tmp_path: Path) -> None:
    """A closed set of one is a set: a rule refuses to train on it."""
    text = "".join(f"q {n},same\n" for n in range(20))
    (tmp_path / "data.csv").write_text("prompt,completion\n" + text)
    assert known(make_spec(), tmp_path).labels == (Label(name="same", rows=20),)
