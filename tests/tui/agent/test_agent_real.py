"""A turn with a real server: llama-cpp-python's, with a random model and a grammar."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.agent import turn
from ftc.tui.agent.address import Wanted, open_agent
from ftc.tui.agent.tools import action_schema
from ftc.tui.session.session import Session
from ftc.tui.state.served_model import Agent
from ftc.tui.state.situation import Observer
from tests.tui.agent import model_server

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ftc"
PLACE: Final = Path(os.environ.get("FTC_LLM_SERVER", CACHE / "llm_server"))
NONSENSE: Final = "flumph and grumph of the zorb"
_STARTS_SECONDS: Final = 60

pytestmark = [
    pytest.mark.prove,
    pytest.mark.skipif(
        not PLACE.is_dir(), reason="the server is not installed: run .ci/llm_server"
    ),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the server on a free port, and return its address."""
    pytest.importorskip("llama_cpp", reason="needs the extra `run`")
    pytest.importorskip("gguf", reason="needs the extra `run`")
    from tests.tui.agent.tiny_gguf import write_tiny  # noqa: PLC0415 - needs the extra

    path = write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf", context_tokens=16384)
    with model_server.serve() as script:
        port = script.port  # free again after this
    words = ["--model", str(path), "--n_ctx", "16384", "--chat_format", "chatml"]
    served = subprocess.Popen(
        [sys.executable, "-m", "llama_cpp.server", *words, "--port", str(port)],
        env={**os.environ, "PYTHONPATH": str(PLACE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://localhost:{port}/v1"
    finally:
        served.kill()
        served.wait()


def _open(address: str) -> Agent:
    """Return the agent of the server's model as soon as the server answers."""
    until = time.monotonic() + _STARTS_SECONDS
    while time.monotonic() < until:
        with suppress(EnvironmentFailure):
            agent = open_agent(Wanted(source=address))
            assert agent is not None
            return agent
        time.sleep(0.2)
    pytest.fail("the server does not start")


def test_tools_are_called_through_its_grammar(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It refuses `json_schema`, and takes `json_object`: then each answer is a valid call.

    The random model can only write calls of `plan`, so that the limit of rounds ends the turn.
    """
    schema = {"anyOf": [action_schema()["anyOf"][1]]}
    assert schema["anyOf"][0]["properties"]["tool"] == {"const": "plan"}
    monkeypatch.setattr(turn, "action_schema", lambda: schema)
    agent = _open(address)
    assert agent.model.endswith("tiny.gguf")
    talk = Session(observer=Observer(folder=folder))
    talk.agent = replace(agent, mode="json")
    lines = talk.reply(NONSENSE)
    assert lines[0].text.startswith("The language model called tools 6 times")


def test_what_never_ends_is_ended(address: str, folder: Path) -> None:
    """Without a grammar the random model babbles: the time limit is a sentence."""
    agent = _open(address)
    agent = replace(agent, limits=replace(agent.limits, seconds=1.0))
    talk = Session(observer=Observer(folder=folder), agent=agent)
    assert "did not finish within 1 seconds" in talk.reply(NONSENSE)[0].text
