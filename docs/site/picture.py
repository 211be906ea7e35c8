"""Draws the moving picture of the assistant: `python -m docs.site.picture`.

A conversation is typed into the real assistant. Each frame is Textual's own screenshot, drawn by a
headless chromium, and Pillow joins them as an animated WebP.
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from PIL import Image
from textual.pilot import Pilot

from ftc.tui.front_ends.app import Assistant
from ftc.tui.session.opening import make_session
from ftc.tui.widgets.busy import Busy
from ftc.tui.widgets.message import MessageInput

PICTURE: Final = Path(__file__).resolve().parents[1] / "pages" / "assets" / "assistant.webp"
SAID: Final = (
    "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama",
    "qwen 2.5 7b instead, two epochs",
    "lora, rank 32",
)
TERMINAL: Final = (112, 34)
WIDTH: Final = 1000
ROWS: Final = 240
TYPED: Final = 7  # letters for each frame
TYPING_MS: Final = 140
READING_MS: Final = 2800


async def play(app: Assistant, keep: Callable[[str, int], None]) -> None:
    """Hold the conversation; `keep` takes each screen as SVG and its milliseconds."""
    async with app.run_test(size=TERMINAL) as pilot:
        await pilot.pause(2)
        keep(take_screen(app), READING_MS)
        for said in SAID:
            await type_message(pilot, app, said, keep)
            keep(take_screen(app), READING_MS)


async def type_message(
    pilot: Pilot[None], app: Assistant, said: str, keep: Callable[[str, int], None]
) -> None:
    """Type a message and wait for the answer."""
    message = app.query_one(MessageInput)
    for end in range(TYPED, len(said) + TYPED, TYPED):
        message.fill(said[:end])
        await pilot.pause(0.05)
        keep(take_screen(app), TYPING_MS)
    await pilot.press("enter")
    await pilot.pause(1)
    while app.query_one(Busy).active:
        await pilot.pause(0.1)
    await pilot.pause(0.5)


def take_screen(app: Assistant) -> str:
    """Return the screen as SVG; its fonts are named, not fetched from anywhere."""
    svg = app.export_screenshot(title="ftc")
    return re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)


def draw(svg: str, folder: Path) -> Image.Image:
    """Return an SVG as a picture of `WIDTH` pixels."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if box is None:
        raise ValueError("the screenshot has no size")
    height = round(WIDTH * float(box[2]) / float(box[1]))
    page, png = folder / "frame.html", folder / "frame.png"
    style = "body{margin:0;background:#111} svg{display:block;width:100vw;height:auto}"
    page.write_text(f"<meta charset=utf-8><style>{style}</style>{svg}", encoding="utf-8")
    chromium = shutil.which("chromium") or "chromium"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = f"--window-size={WIDTH},{height}"
    subprocess.run(
        [chromium, *flags, size, f"--screenshot={png}", page.as_uri()],
        check=True,
        capture_output=True,
    )
    with Image.open(png) as picture:
        return picture.convert("RGB")


def main() -> None:
    """Write the picture, with temporary data and saved state."""
    teams = ("billing", "delivery", "returns")
    rows = [f"my parcel number {n} has a problem,{teams[n % 3]}" for n in range(ROWS)]
    frames: list[tuple[str, int]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": name, "XDG_STATE_HOME": name}
        (folder / "tickets.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
        app = Assistant(make_session(folder, language="en", spec=None))
        app.animation_level = "none"
        asyncio.run(play(app, lambda svg, shown_ms: frames.append((svg, shown_ms))))
        first, *others = [draw(svg, folder) for svg, _ in frames]
    first.save(
        PICTURE,
        save_all=True,
        append_images=others,
        duration=[shown_ms for _, shown_ms in frames],
        loop=0,
        quality=60,
        method=4,
    )
    print(f"{PICTURE}: {len(frames)} frames, {PICTURE.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
