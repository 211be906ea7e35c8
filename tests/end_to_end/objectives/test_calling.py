"""Tools that the model calls while GRPO samples its answers, in miniature and with a real tool.

Only an answer that repeats what the tool said is rewarded.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from ftc.runtime.ask.ask_calls import answer
from ftc.runtime.reward.offered_tools import read_tools
from ftc.runtime.reward.tool_loop import converse, make_writer
from tests.end_to_end.builders.caller import TOOLS, ask, build_caller
from tests.end_to_end.process import Ended, compile_spec, read_json, read_rows, run

ROWS, GROUP, PROMPTS = 80, 8, 4
REWARD = '''"""A reward for answers that were looked up."""


def is_looked_up(completions, conversations, prompts, **kwargs):
    """Reward an answer whose text is what the tool said."""
    assert all("look_up" in prompt for prompt in prompts)
    found = []
    for said, messages in zip(completions, conversations, strict=True):
        results = [message["content"] for message in messages if message["role"] == "tool"]
        found.append(float(bool(said) and any(result == f"code {said}" for result in results)))
    return found
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A bundle after its training, and what that said."""

    bundle: Path
    model: Path
    ended: Ended


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Called:
    """Train a model that calls the tool in about half of its answers."""
    folder = tmp_path_factory.mktemp("called")
    build_caller(folder / "model")
    (folder / "boxes.py").write_text(TOOLS, encoding="utf-8")
    (folder / "own.py").write_text(REWARD, encoding="utf-8")
    rows = [{"prompt": ask(n), "completion": ("pink", "gold")[n % 2]} for n in range(ROWS)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "cases.jsonl").write_text(text, encoding="utf-8")
    spec = {
        "name": "caller",
        "model": "./model",
        "data": {"source": "cases.jsonl", "splits": {"test": 0.1, "validation": 0.1}},
        "hardware": "cpu",
        "objective": {
            "type": "grpo",
            "rewards": [{"functions": "own.py", "names": ["is_looked_up"]}],
            "tools": "boxes.py",
            "max_tool_calling_iterations": 2,
            "num_generations": GROUP,
            "answer_tokens": 64,
            "temperature": 0.8,
        },
        "method": "full",
        "training": {
            "epochs": 1,
            "learning_rate": 0.0005,
            "global_batch": PROMPTS * GROUP,
            "evaluation": {"every_steps": 8},
        },
    }
    bundle = compile_spec(folder, spec)
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    trained = run(sys.executable, "train.py", cwd=bundle)
    return Called(bundle=bundle, model=folder / "model", ended=trained)


def list_logs(bundle: Path) -> list[dict[str, Any]]:
    """Return what was logged of each step of the training."""
    states = sorted(bundle.glob("run/train/checkpoints/*/trainer_state.json"))
    latest = max(
        (read_json(state) for state in states), key=lambda state: int(state["global_step"])
    )
    return [log for log in latest["log_history"] if "tools/call_frequency" in log]


@pytest.mark.prove
def test_the_model_learns_to_call(called: Called) -> None:
    """The tool is executed from the first step, and more often at the end."""
    assert called.ended.code == 0, called.ended.said
    logs = list_logs(called.bundle)
    often = [log["tools/call_frequency"] for log in logs]
    rewards = [log["reward"] for log in logs]

    assert often[0] > 0
    assert sum(often[-3:]) > sum(often[:3]) + 0.3
    assert sum(rewards[-3:]) > sum(rewards[:3]) + 0.3
    assert sum(log["tools/failure_frequency"] for log in logs[-3:]) < 1


@pytest.mark.prove
def test_prompts_declare_the_tools(called: Called) -> None:
    """In the rows that prepare.py wrote, whose lengths are those of the plan."""
    rows = read_rows(called.bundle / "run/data/train.jsonl")
    planned = read_json(called.bundle / "ftc.lock.json")["facts"]["data"]["lengths"]
    report = read_json(called.bundle / "run/data/report.json")

    assert all("Find the code of a box." in row["prompt"] for row in rows)
    assert report["tokens"]["p100"] == planned["max"]


@pytest.mark.prove
def test_evaluation_calls_tools_as_training_does(called: Called) -> None:
    """A call, its result and the text after it: within the rounds and the tokens of an answer."""
    tokenizer = AutoTokenizer.from_pretrained(called.bundle / "run/train/model")
    model = AutoModelForCausalLM.from_pretrained(called.bundle / "run/train/model")
    module = ModuleType("tools")
    exec(TOOLS, vars(module))  # noqa: S102 - the test's own text
    tools = read_tools(module)
    rows = read_rows(called.bundle / "run/data/test.jsonl")

    chats = converse(model, tokenizer, rows, 64, tools=tools, rounds=2)
    roles = [[message["role"] for message in chat] for chat in chats]
    assert ["assistant", "tool", "assistant"] in roles
    whole = chats[roles.index(["assistant", "tool", "assistant"])]
    assert whole[1] == {"role": "tool", "name": "look_up", "content": "code pink"}
    assert make_writer(tools, 2)(model, tokenizer, rows, 64).count("pink") > len(rows) / 2
    assert all(
        len(chat) == 1 for chat in converse(model, tokenizer, rows, 24, tools=tools, rounds=2)
    )


@pytest.mark.prove
def test_a_question_is_answered_with_tools(
    called: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prompt declares them, a call is executed, and its result is told beside the answer."""
    module = ModuleType("tools")
    exec(TOOLS, vars(module))  # noqa: S102 - the test's own text
    folder = called.bundle / "run/train/model"
    turns = [{"role": "user", "content": ask(1)}]

    assert answer(folder, turns, 64, tools=read_tools(module, 10), rounds=2) == "pink"
    assert "look_up: code pink\n" in capsys.readouterr().err


@pytest.mark.prove_all
def test_the_report_counts_looked_up_answers(called: Called) -> None:
    """Evaluate.py lets both models call, and rewards them as training did; ask.py calls, too."""
    for command in (("export.py", "--merge"), ("evaluate.py",)):
        ended = run(sys.executable, *command, cwd=called.bundle)
        assert ended.code == 0, ended.said
    report = read_json(called.bundle / "run/evaluate/report.json")

    assert report["reward"] > report["base"]["reward"]
    asked = run(sys.executable, "ask.py", ask(1), cwd=called.bundle)
    assert (asked.code, asked.out) == (0, "pink\n"), asked.said
    assert "look_up: code pink" in asked.err
