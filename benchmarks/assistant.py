"""Draws the README's picture of the assistant: `python -m benchmarks.assistant`."""

import asyncio
import os
import re
import tempfile
from pathlib import Path

from ftc.tui.app import Assistant
from ftc.tui.opening import make_session
from ftc.tui.widgets.busy import Busy
from ftc.tui.widgets.message import MessageInput

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assistant.svg"
SAID = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"
SIZE = (120, 42)
ROWS = 240


async def draw(app: Assistant) -> str:
    """Play the start of a conversation and return the screen as SVG."""
    async with app.run_test(size=SIZE) as pilot:
        message = app.query_one(MessageInput)
        await pilot.pause(2)
        message.fill(SAID)
        await pilot.press("enter")
        await pilot.pause(1)
        while app.query_one(Busy).active:
            await pilot.pause(0.1)
        await pilot.pause(0.5)
        picture = app.export_screenshot()
    # the fonts are named, not fetched from anywhere
    return re.sub(r"@font-face \{.*?\}\n?", "", picture, flags=re.DOTALL)


def main() -> None:
    """Write the picture, with temporary data and saved state."""
    teams = ("billing", "delivery", "returns")
    rows = [f"my parcel number {n} has a problem,{teams[n % 3]}" for n in range(ROWS)]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": folder, "XDG_STATE_HOME": folder}
        Path(folder, "tickets.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
        app = Assistant(make_session(Path(folder), language="en", spec=None))
        app.animation_level = "none"
        PICTURE.write_text(asyncio.run(draw(app)), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
