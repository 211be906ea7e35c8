"""The language model behind an address: what it is sent, what it may do, and how it fails."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ftc.tui.agent.tools import TOOLS, settable
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.session.exchange import describe
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft
from ftc.tui.state.line import Line
from ftc.tui.state.served_model import Agent, Limits, Server
from ftc.tui.state.situation import Observer, Situation
from tests.tui.agent import model_server as server

NONSENSE = "flumph and grumph of the zorb"
RANK = {"changes": [{"field": "/method/rank", "value": 64}]}
BEGUN = "tickets.csv on a 4090, Qwen/Qwen2.5-0.5B-Instruct, lora"
TOOLS_MISSING = {
    "Ollama": server.fails(
        400,
        {"error": {"message": f"{server.MODEL} does not support tools", "type": "api_error"}},
    ),
    "llama-server": server.fails(
        500,
        {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "x"}},
    ),
    "vLLM": server.fails(
        400,
        {
            "object": "error",
            "message": '"auto" tool choice requires --enable-auto-tool-choice and '
            "--tool-call-parser to be set",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
}


def converse(folder: Path, script: server.Scripted, *, limits: Limits | None = None) -> Session:
    """Return a started session with the server's model."""
    agent = Agent(
        server=Server(url=script.url), model=server.MODEL, limits=limits or Limits(seconds=30.0)
    )
    talk = Session(observer=Observer(folder=folder), voice=Voice(language="en"), agent=agent)
    talk.start()
    return talk


def told(lines: tuple[Line, ...]) -> str:
    """Return lines as one text."""
    return "\n".join(line.text for line in lines)


@pytest.mark.parametrize("stream", ["in pieces", "whole", "written", "not streamed"])
def test_a_proposal_is_the_models_and_waits_for_a_yes(folder: Path, stream: str) -> None:
    """However a server sends the call, its change is shown as its own, with the old value."""
    arguments = json.dumps(RANK)
    written = json.dumps({"name": "propose_changes", "parameters": RANK})
    function = {"name": "propose_changes", "arguments": arguments}
    call = {"id": "c", "type": "function", "function": function}
    whole = {"role": "assistant", "content": "", "tool_calls": [call]}
    answers = {
        "in pieces": server.calls_in_pieces("propose_changes", arguments),
        "whole": server.calls_whole(("propose_changes", arguments)),
        "written": server.says(f"```json\n{written}\n```"),
        "not streamed": server.sends(
            json.dumps({"choices": [{"message": whole, "finish_reason": "tool_calls"}]}).encode(),
            server.JSON,
        ),
    }
    with server.serve(answers[stream]) as script:
        talk = converse(folder, script)
        talk.reply(f"{BEGUN}, rank 8")
        before = talk.draft
        lines = talk.reply(NONSENSE)
        assert lines[-1].kind == "proposal"
        assert lines[-1].by == server.MODEL
        assert f"{server.MODEL} proposes" in lines[-1].text
        assert "method.rank: 8 \u2192 64" in lines[-1].text
        assert "GiB" in lines[0].text  # what it would lead to
        assert talk.draft == before
        record = describe(talk, NONSENSE, before, lines)
        change = {"pointer": "/method/rank", "old": 8, "new": 64}
        assert record["proposed"] == {"by": server.MODEL, "changes": [change]}
        assert record["applied"] == []
        talk.reply("yes")
    assert talk.draft.get("/method/rank") == 64


def test_a_no_drops_it(folder: Path) -> None:
    """So does any other message."""
    with server.serve(server.calls_whole(("propose_changes", json.dumps(RANK)))) as script:
        talk = converse(folder, script)
        for answer in ("no", "what is a rank?"):
            talk.reply(NONSENSE)
            assert talk.proposal
            talk.reply(answer)
            assert not talk.proposal
    assert talk.draft == Draft()


def test_the_models_words_are_marked_and_harmless(folder: Path) -> None:
    """They say whose they are, cannot steer a terminal, and a yes of the model applies nothing."""
    text = "<think>hm</think>Take rank 8.\x1b[2J\u202e\nyes"
    with server.serve(server.says(text)) as script:
        talk = converse(folder, script)
        line = talk.reply(f"@ {NONSENSE}")[0]
    assert line.by == server.MODEL
    assert line.text == f"{server.MODEL} says:\nTake rank 8. [2J \nyes"
    assert talk.draft == Draft()


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_each_tool_answers_from_ftc(folder: Path, name: str) -> None:
    """Its result is what the planner computed; the draft never changes."""
    arguments: dict[str, Any] = {
        "propose_changes": RANK,
        "what_if": RANK,
        "explain": {"topic": "/method/rank"},
    }
    calls = server.calls_whole((name, json.dumps(arguments.get(name, {}))))
    with server.serve(calls, server.says("Done.")) as script:
        talk = converse(folder, script)
        talk.reply(BEGUN)
        before, plan = talk.draft, talk.situation.plan
        talk.reply(NONSENSE)
        assert talk.draft == before
        if name == "propose_changes":
            assert talk.proposal
            return
        result = json.loads(script.asked[-1]["messages"][-1]["content"])
    assert script.asked[-1]["messages"][-1]["role"] == "tool"
    assert plan is not None
    match name:
        case "plan":
            assert result["plan"]["gpu_memory_needed_bytes"] == plan.memory.device_bytes
            assert result["plan"]["decisions"]["lora_rank"] == plan.decisions.lora.lora_rank.value  # type: ignore[union-attr]
        case "what_if":
            assert result["plan"]["gpu_memory_needed_bytes"] != plan.memory.device_bytes
            assert result["plan"]["decisions"]["lora_rank"] == 64
        case "explain":
            assert "method.rank" in result["text"]
            assert result["schema"]["anyOf"][1]["type"] == "integer"
        case "list_models":
            assert all(each["plan"]["fits"] for each in result)
        case "inspect_data":
            assert (result["rows"], result["columns"]) == (240, ["text", "label"])
            assert result["distinct_labels"] == 3


def test_rows_leave_only_if_the_user_allows_it(folder: Path) -> None:
    """Before that, no word of a row and no label is in any request; afterwards they may be."""
    wish = server.calls_whole(("inspect_data", '{"rows": true}'), ("plan", "{}"))
    with server.serve(wish, server.says("Fine."), wish, server.says("Fine.")) as script:
        talk = converse(folder, script)
        talk.reply(BEGUN)
        lines = talk.reply(NONSENSE)
        assert "`share my rows` allows it" in told(lines)
        for word in ("parcel", "billing", "delivery"):
            assert word not in json.dumps(script.asked)
        assert "first three rows" in told(talk.reply("share my rows"))
        talk.reply(NONSENSE)
        assert "my parcel number 0" in json.dumps(script.asked)
        assert '\\"billing\\": 80' in json.dumps(script.asked)
        assert "No text of a row" in told(talk.reply("Stop sharing my rows."))
    assert talk.agent is not None
    assert not talk.agent.sees_rows
    assert talk.agent.history == ()


@pytest.mark.parametrize(
    ("field", "value", "reads"),
    [
        ("/data/source", "other.csv", True),
        ("/model/id", "somebody/secret-word", True),
        ("/model/id", "Qwen/Qwen2.5-1.5B-Instruct", False),
        ("/hardware/gpu", "H100-SXM5-80GB", False),
        ("/export/types", ["Q8_0"], False),
        ("/method/type", "qlora", False),
    ],
)
def test_a_model_makes_ftc_read_nothing(
    folder: Path, field: str, value: object, *, reads: bool
) -> None:
    """A file or a repository is looked up when the user accepts it, and not before."""
    (folder / "other.csv").write_text((folder / "tickets.csv").read_text())
    arguments = json.dumps({"changes": [{"field": field, "value": value}]})
    tries = server.calls_whole(("what_if", arguments))
    with server.serve(tries, server.calls_whole(("propose_changes", arguments))) as script:
        talk = converse(folder, script)
        talk.reply(BEGUN)
        looked: list[Draft] = []
        watched = _Watched(look_at=talk.observer.look, looked=looked, folder=folder)
        talk.observer = watched  # type: ignore[assignment]
        lines = talk.reply(NONSENSE)
        result = json.loads(script.asked[1]["messages"][-1]["content"])
    assert ("error" in result) == reads
    assert (looked == []) == reads
    assert lines[-1].kind == "proposal"


@dataclass(slots=True, kw_only=True)
class _Watched:
    """An observer that notes which drafts it looks at."""

    look_at: Callable[..., Situation]
    looked: list[Draft]
    folder: Path

    def look(self, draft: Draft, *, offers: bool = True) -> Situation:
        self.looked.append(draft)
        return self.look_at(draft, offers=offers)


def test_a_message_that_is_understood_is_not_sent(folder: Path) -> None:
    """The model gets what the reader of words leaves; `@` gives it a message at once."""
    with server.serve(server.says("Because.")) as script:
        talk = converse(folder, script)
        talk.reply("tickets.csv")
        talk.reply("rank 16")
        assert script.asked == []
        talk.reply("@why rank 16?")
        [asked] = script.asked
        assert asked["messages"][-1]["content"].endswith("Message: why rank 16?")
        assert asked["stream"] is True
        assert '"rank": 16' in asked["messages"][-1]["content"]
        assert "off: nothing is sent" in told(talk.reply("turn off the language model"))
        talk.reply(NONSENSE)
        assert len(script.asked) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_leaves_the_machine_is_said_first(folder: Path, language: Language) -> None:
    """With the address, the key's variable and the lack of encryption, before any message."""
    agent = Agent(
        server=Server(url="http://10.1.2.3:8000/v1", key_variable="MY_KEY"), model="big-one"
    )
    talk = Session(observer=Observer(folder=folder), voice=Voice(language=language), agent=agent)
    lines = told(talk.start())
    for part in ("http://10.1.2.3:8000/v1", "big-one", "MY_KEY"):
        assert part in lines
    assert talk.voice.say("agent.open") in lines
    assert talk.voice.say("agent.rows_off") in lines
    here = replace(agent, server=Server(url="http://localhost:8000/v1"))
    talk.agent = here
    assert talk.voice.say("agent.open") not in told(talk.start())


@pytest.mark.parametrize("name", TOOLS_MISSING)
def test_without_tools_it_is_constrained_to_json(folder: Path, name: str) -> None:
    """The schema of the answer has the values of each field; the mode is said and remembered."""
    action = json.dumps({"tool": "propose_changes", "arguments": RANK})
    answer = json.dumps({"tool": "answer", "arguments": {"text": "Rank is a size."}})
    refuses = TOOLS_MISSING[name]
    with server.serve(refuses, server.says(action), server.says(answer)) as script:
        talk = converse(folder, script)
        assert "accepts no tools" in told(talk.reply(NONSENSE))
        assert talk.proposal
        talk.reply("no")
        lines = talk.reply(NONSENSE)
        assert lines[0].text == f"{server.MODEL} says:\nRank is a size."
    first, second, third = script.asked
    assert "tools" in first
    assert "tools" not in second
    assert second["response_format"] == third["response_format"]
    form = second["response_format"]["json_schema"]["schema"]
    fields = form["anyOf"][0]["properties"]["arguments"]["properties"]["changes"]
    names = {each["properties"]["field"]["const"] for each in fields["items"]["anyOf"]}
    assert names == set(settable())


def test_the_json_of_llama_cpps_older_servers(folder: Path) -> None:
    """They take a schema in `json_object` alone."""
    no_schema = server.fails(500, {"error": {"message": "Input should be 'json_object'"}})
    action = json.dumps({"tool": "plan", "arguments": {}})
    answers = (TOOLS_MISSING["llama-server"], no_schema, server.says(action), server.says("Ok."))
    with server.serve(*answers) as script:
        assert "Ok." in told(converse(folder, script).reply(NONSENSE))
    assert [each.get("response_format", {}).get("type") for each in script.asked] == [
        None,
        "json_schema",
        "json_object",
        "json_object",
    ]


def test_without_json_it_only_explains(folder: Path) -> None:
    """A proposal in its text stays text."""
    refuses = server.fails(400, {"error": {"message": "no response_format here"}})
    text = json.dumps({"tool": "propose_changes", "arguments": RANK})
    with server.serve(refuses, refuses, refuses, server.says(text)) as script:
        talk = converse(folder, script)
        assert "it can only explain" in told(talk.reply(NONSENSE))
        assert not talk.proposal
    assert not {"tools", "response_format"} & set(script.asked[-1])


WRONG_CALLS = {
    "no JSON": ("propose_changes", '{"changes": [', "no JSON"),
    "unknown tool": ("rm_rf", "{}", "there is no tool 'rm_rf'"),
    "unknown field": (
        "propose_changes",
        '{"changes": [{"field": "/method/rnk", "value": 3}]}',
        "/method/rank",
    ),
    "wrong value": (
        "propose_changes",
        '{"changes": [{"field": "/method/rank", "value": -3}]}',
        "rank",
    ),
    "extra argument": ("plan", '{"shell": "ls"}', "shell"),
    "no change": ("propose_changes", '{"changes": [{"field": "/name", "value": null}]}', "already"),
    "a list": ("explain", '["rank"]', "object"),
}


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_a_wrong_call_is_corrected_or_ended(folder: Path, case: str) -> None:
    """The model is told what is wrong; after three wrong calls the user is."""
    name, arguments, why = WRONG_CALLS[case]
    wrong, right = server.calls_whole((name, arguments)), server.says("I see.")
    with server.serve(wrong, right) as script:
        assert "I see." in told(converse(folder, script).reply(NONSENSE))
    assert why in script.asked[-1]["messages"][-1]["content"]
    with server.serve(wrong) as script:
        talk = converse(folder, script)
        lines = talk.reply(NONSENSE)
    assert lines[0].kind == "trouble"
    assert lines[0].text.startswith(f"The language model called the tool {name} wrongly")
    assert "\n" not in lines[0].text
    assert len(script.asked) == 3
    assert talk.draft == Draft()
    assert not talk.proposal


def test_rounds_are_limited(folder: Path) -> None:
    """A model that only calls tools is stopped."""
    with server.serve(server.calls_whole(("plan", "{}"))) as script:
        lines = converse(folder, script).reply(NONSENSE)
    assert lines[0].text.startswith("The language model called tools 6 times")
    assert len(script.asked) == 6
