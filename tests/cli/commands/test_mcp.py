"""`ftc mcp`: an agent goes from a data file to a bundle, over the real protocol."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.prove
EXAMPLE = Path(__file__).parents[3] / "examples/quickstart"
MODEL = "Qwen/Qwen2.5-0.5B-Instruct"

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from mcp import ClientSession, StdioServerParameters, stdio_client  # noqa: E402 - an extra

Talk = Callable[[ClientSession], Coroutine[Any, Any, None]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a data file, as a user has it."""
    shutil.copy(EXAMPLE / "tickets.csv", tmp_path)
    return tmp_path


def talk(folder: Path, script: Talk) -> None:
    """Run a script of an agent against a server of this folder; no hub is asked."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ftc", "mcp", "--folder", str(folder)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "cache")},
    )

    async def run() -> None:
        async with stdio_client(server) as ends, ClientSession(*ends) as session:
            await session.initialize()
            await script(session)

    asyncio.run(run())


async def call(session: ClientSession, tool: str, **arguments: Any) -> Any:
    """Call a tool that must succeed, and return its data."""
    result: Any = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refuse(session: ClientSession, tool: str, **arguments: Any) -> str:
    """Call a tool that must fail, and return what it says."""
    result: Any = await session.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)


def test_from_a_data_file_to_a_bundle(folder: Path) -> None:
    """The tools in the order of work: models, a spec, its plan, what else, a bundle, its run."""

    async def script(session: ClientSession) -> None:
        models = await call(session, "list_models", hardware="1x RTX-4090", data="tickets.csv")
        assert 0 < len(models["models"]) <= 4
        made = await call(
            session,
            "new_spec",
            place="triage",
            data="tickets.csv",
            model=MODEL,
            hardware="1x RTX-4090",
            exports=["Q4_K_M"],
        )
        assert made["spec"] == "triage/spec.json"
        assert not [each for each in made["findings"] if each["severity"] == "error"]
        checked = await call(session, "check", spec="triage/spec.json")
        assert checked["findings"] == made["findings"]
        planned = await call(session, "plan", spec="triage/spec.json")
        other = await call(
            session, "plan", spec="triage/spec.json", changes={"training.epochs": "6"}
        )
        assert other["steps"] == 2 * planned["steps"] * 3 / planned["decisions"]["epochs"]["value"]
        written = await call(
            session, "compile_bundle", spec="triage/spec.json", bundle="triage/run"
        )
        assert "train.py" in written["files"]["created"]
        run = await call(session, "read_run", bundle="triage/run")
        assert run["runs"][0]["state"] == "waiting"

    talk(folder, script)
    assert (folder / "triage/run/run.sh").is_file()


def test_nothing_is_replaced_unasked(folder: Path) -> None:
    """A spec is never replaced, a bundle only when the call confirms it, an edited file never."""

    async def script(session: ClientSession) -> None:
        wanted = {"place": "a", "data": "tickets.csv", "model": MODEL, "hardware": "cpu"}
        await call(session, "new_spec", **wanted)
        assert "there already" in await refuse(session, "new_spec", **wanted)
        asked = {"spec": "a/spec.json", "bundle": "a/bundle"}
        await call(session, "compile_bundle", **asked)
        assert "confirm_overwrite" in await refuse(session, "compile_bundle", **asked)
        script = folder / "a/bundle/train.py"
        script.write_text(script.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
        kept = await call(session, "compile_bundle", **asked, confirm_overwrite=True)
        assert kept["files"] is None
        assert any("train.py" in each["message"] for each in kept["findings"])
        assert script.read_text(encoding="utf-8").endswith("# mine\n")

    talk(folder, script)


def test_nothing_is_written_outside(folder: Path) -> None:
    """Places outside of the server's folder are refused, and nothing is there afterwards."""
    inner = folder / "inner"
    inner.mkdir()
    shutil.copy(folder / "tickets.csv", inner)

    async def script(session: ClientSession) -> None:
        for place in ("../other", str(folder / "other")):
            said = await refuse(session, "new_spec", place=place, data="tickets.csv", model=MODEL)
            assert "outside of" in said
        await call(session, "new_spec", place="a", data="tickets.csv", model=MODEL, hardware="cpu")
        said = await refuse(session, "compile_bundle", spec="a/spec.json", bundle="../other")
        assert "outside of" in said

    talk(inner, script)
    assert not (folder / "other").exists()


def test_what_an_agent_gets_wrong(folder: Path) -> None:
    """A wrong spec is findings, not a failure; a wrong argument is a sentence of the command."""
    (folder / "bad.json").write_text('{"name": "x", "modle": "a/b"}', encoding="utf-8")

    async def script(session: ClientSession) -> None:
        found = await call(session, "check", spec="bad.json")
        assert any("modle" in each["message"] for each in found["findings"])
        assert (await call(session, "check", spec="none.json"))["findings"]
        assert "nix" in await refuse(session, "explain", topic="nix")
        assert "no-such" in await refuse(session, "read_run", bundle="no-such")
        page = await call(session, "explain", topic="method.rank")
        assert page["entries"][0]["field"] == "method.rank"
        schema: Any = await session.read_resource("ftc://schema.json")
        assert "$defs" in json.loads(schema.contents[0].text)

    talk(folder, script)
