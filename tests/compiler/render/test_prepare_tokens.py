"""prepare.py asks the tokenizer's library itself, and gets what transformers would have said."""

import ast
import importlib
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from transformers import AutoTokenizer

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.spec.sections import Spec
from tests.compiler.render.stage_folders import NAMES, apart
from tests.compiler.render.test_bundle import render

GOLDEN: Final = Path(__file__).resolve().parents[2] / "golden"
BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]


def test_a_library_alone_gives_the_same_tokens(
    tmp_path: Path, model: Path, build_known: BuildKnown
) -> None:
    """Of texts with markers, accents, white space at the edges, and longer than a file's cut."""
    shutil.copytree(model, tmp_path / "model")
    file = tmp_path / "model" / "tokenizer.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    said["truncation"] = {
        "direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0
    }  # fmt: skip
    said["padding"] = {
        "strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 3, "pad_type_id": 0, "pad_token": "<pad>",
    }  # fmt: skip
    file.write_text(json.dumps(said), encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    script = rendered(build_known, "examples.py")
    names: dict[str, Any] = {"tokenizer": tokenizer}
    body: list[ast.stmt] = [
        node
        for node in ast.parse(script).body
        if isinstance(node, ast.FunctionDef) and node.name == "encode"
    ]
    exec(compile(ast.Module(body=body, type_ignores=[]), "examples.py", "exec"), names)  # noqa: S102
    assert len(names["encode"](["one two three four five six seven"])[0]) == 9
    begin = next(
        node
        for node in ast.parse(rendered(build_known, "prepare.py")).body
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("examples.tokenizer(")
    )
    begun = {"examples": type("Module", (), {"tokenizer": tokenizer})}
    exec(ast.unparse(begin), begun)  # noqa: S102
    pick = random.Random(5)  # noqa: S311 - a fixed sample
    letters = [
        "<s>",
        "</s>",
        "<|user|>",
        "<|assistant|>",
        " ",
        "\n",
        "\t",
        "é",
        "大",
        "🙂",
        *"abcxyz19.,'",
    ]
    texts = ["", *("".join(pick.choices(letters, k=pick.randint(1, 60))) for _ in range(500))]
    alone = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    assert names["encode"](texts) == alone


@pytest.mark.parametrize("name", ["quickstart", "chat", "tools", "dpo", "reward", "kto", "grpo"])
def test_rows_of_a_group_are_what_each_is_alone(examples: Any, name: str) -> None:
    """Where the template refuses some of them as well; those are None at their places."""
    pick = random.Random(7)  # noqa: S311 - a fixed sample
    extra = {"dpo": ["worse"], "reward": ["worse"], "kto": ["true"]}.get(name, [])
    longest = 4 if name in {"chat", "tools"} else 1
    group = []
    for row in range(40):
        begin = [("user", " ".join(pick.choices(["a", "bc", "def", "zz"], [9, 9, 9, 1], k=5)))]
        begin += [("assistant", f"yes {row}"), ("user", f"why {row}")] * pick.randrange(longest)
        group.append([*begin, ("assistant", f"because {row}"), *(("", text) for text in extra)])
    alone = [examples.rows_of([turns])[0] for turns in group]
    refused = [any("zz" in text for text in turns[0]) for turns in group]
    assert [row is None for row in alone] == refused
    assert 0 < sum(refused) < len(group)
    assert examples.rows_of(group) == alone
    learned = [label for row in alone if row for label in row["labels"]]
    assert 0 < learned.count(examples.NOT_LEARNED) < len(learned)


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch, model: Path, name: str) -> Iterator[Any]:
    """Give examples.py of a golden bundle with a tokenizer that refuses what says `zz`."""
    with apart("examples", *NAMES):
        monkeypatch.syspath_prepend(str(GOLDEN / name))
        script: Any = importlib.import_module("examples")
        script.tokenizer = AutoTokenizer.from_pretrained(model)
        refusal = "{% if 'zz' in messages[0]['content'] %}{{ raise_exception('no') }}{% endif %}"
        script.tokenizer.chat_template = refusal + script.tokenizer.chat_template
        yield script


def test_a_group_without_a_template(
    build_known: BuildKnown, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: Path
) -> None:
    """Each row is its prompt, a line feed, its answer and the end; the answer is learned."""
    files = render(build_known, {"/facts/tokenizer/template_sha256": None})
    (tmp_path / "examples.py").write_text(files["examples.py"].text, encoding="utf-8")
    tokenizer = AutoTokenizer.from_pretrained(model)
    group = [[("user", f"what is {row}"), ("assistant", f"it is {row}")] for row in range(20)]

    with apart("examples"):
        monkeypatch.syspath_prepend(str(tmp_path))
        script: Any = importlib.import_module("examples")
        script.tokenizer = tokenizer
        rows = script.tokenise(group)

    for (_, prompt), (_, answer) in group:
        row = rows.pop(0)
        read = tokenizer(f"{prompt}\n")["input_ids"]
        learned = tokenizer(answer, add_special_tokens=False)["input_ids"]
        learned.append(tokenizer.eos_token_id)
        assert row["input_ids"] == read + learned
        assert row["labels"] == [script.NOT_LEARNED] * len(read) + learned
    assert not rows


def rendered(build_known: BuildKnown, name: str) -> str:
    """Return one file of a bundle on prompts and completions."""
    spec, facts = build_known({})
    source = BundleSource(
        spec=spec,
        written={},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path="data.jsonl",
        model_path=None,
        chat_template=None,
    )
    return next(file.text for file in render_bundle(source) if file.name == name)
