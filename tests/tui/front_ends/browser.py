"""A real headless browser, driven over its debugging protocol."""

import asyncio
import json
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_PATIENCE_SECONDS = 40.0


@dataclass(slots=True)
class Visit:
    """What a browser did at an address: its requests, socket messages and screen."""

    asked: list[str] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)
    picture: bytes = b""


@contextmanager
def open_browser(folder: Path) -> Iterator[str]:
    """Yield the debugging address of a new browser with its own profile."""
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += ["--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(
        [*command, "--window-size=1000,600", "--no-first-run"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "DevTools listening on" in line)
            yield line.split()[-1]
        finally:
            process.kill()


async def visit(debugging: str, address: str, until: bytes) -> Visit:
    """Open an address, and wait until bytes have arrived over a socket and were drawn."""
    import aiohttp  # noqa: PLC0415 - comes with the extra that serves

    seen = Visit()
    async with aiohttp.ClientSession() as session:
        base = debugging.replace("ws://", "http://").partition("/devtools")[0]
        async with session.put(f"{base}/json/new?about:blank") as reply:
            page = await reply.json()
        async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as tools:
            await _tell(tools, 1, "Network.enable")
            await _tell(tools, 2, "Page.enable")
            await _tell(tools, 3, "Page.navigate", url=address)
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while until not in seen.received:
                    _note(await tools.receive_json(), seen)
                await asyncio.sleep(1)
                await _tell(tools, 4, "Page.captureScreenshot", format="png")
                while not seen.picture:
                    _note(await tools.receive_json(), seen)
    return seen


async def _tell(tools: Any, number: int, method: str, **parameters: object) -> None:
    await tools.send_str(json.dumps({"id": number, "method": method, "params": parameters}))


def _note(message: dict[str, Any], seen: Visit) -> None:
    parameters = message.get("params", {})
    match message.get("method"):
        case "Network.requestWillBeSent":
            seen.asked.append(parameters["request"]["url"])
        case "Network.webSocketCreated":
            seen.asked.append(parameters["url"])
        case "Network.webSocketFrameReceived":
            data = parameters["response"]["payloadData"]
            binary = parameters["response"]["opcode"] == 2
            seen.received += b64decode(data) if binary else data.encode()
        case _ if message.get("id") == 4:
            seen.picture = b64decode(message["result"]["data"])
