"""Draw coloured shapes, and write a question and an answer about each.

    python draw.py                            # the 200 pictures of this example
    python draw.py --rows 3000 --out DIR      # as many as you like

Writes pictures/NNNN.png and shapes.jsonl. The same seed writes the same bytes. It needs pillow.
"""

import argparse
import json
import random
import shutil
from math import cos, pi, sin
from pathlib import Path

from PIL import Image, ImageDraw

HERE = Path(__file__).parent
SEED = 22
SIDE = 84  # pixels: a multiple of 28, which is two patches of Qwen's towers
BACKGROUND = (245, 245, 245)
COLOURS = {
    "red": (214, 40, 40),
    "green": (42, 157, 68),
    "blue": (38, 84, 201),
    "yellow": (240, 200, 20),
    "purple": (128, 50, 160),
    "black": (25, 25, 25),
}
SHAPES = ("circle", "cross", "ring", "square", "stripe", "triangle")
QUESTIONS = (
    "What is in the picture?",
    "Which shape is this, and which colour?",
    "Name the shape and its colour.",
)


def draw(shape: str, colour: str, chance: random.Random) -> Image.Image:
    """Return a picture of one shape, of a random size at a random place."""
    picture = Image.new("RGB", (SIDE, SIDE), BACKGROUND)
    pen, ink = ImageDraw.Draw(picture), COLOURS[colour]
    reach = chance.randint(20, 28)  # from the middle of the shape to its edge
    x, y = (chance.randint(reach + 2, SIDE - reach - 2) for _ in range(2))
    box = (x - reach, y - reach, x + reach, y + reach)
    if shape == "circle":
        pen.ellipse(box, fill=ink)
    elif shape == "ring":
        pen.ellipse(box, outline=ink, width=reach // 3)
    elif shape == "square":
        pen.rectangle(box, fill=ink)
    elif shape == "stripe":
        pen.rectangle((x - reach, y - reach // 4, x + reach, y + reach // 4), fill=ink)
    elif shape == "cross":
        pen.line(box, fill=ink, width=reach // 3)
        pen.line((box[0], box[3], box[2], box[1]), fill=ink, width=reach // 3)
    else:
        turns = (pi * (third / 1.5 - 0.5) for third in range(3))
        pen.polygon([(x + reach * cos(turn), y + reach * sin(turn)) for turn in turns], fill=ink)
    return picture


def main() -> None:
    """Write the pictures and their rows, replacing those of an earlier call."""
    parser = argparse.ArgumentParser(description="Draw coloured shapes.")
    parser.add_argument("--rows", type=int, default=200, help="how many pictures")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder to write to")
    args = parser.parse_args()
    chance = random.Random(SEED)
    folder: Path = args.out / "pictures"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rows = []
    for number in range(args.rows):
        shape, colour = chance.choice(SHAPES), chance.choice(list(COLOURS))
        path = folder / f"{number:04}.png"
        draw(shape, colour, chance).save(path, optimize=True)
        rows.append(
            {
                "image": f"pictures/{path.name}",
                "question": chance.choice(QUESTIONS),
                "answer": f"{colour} {shape}",
            }
        )
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (args.out / "shapes.jsonl").write_text(lines, encoding="utf-8")
    print(f"{args.out}: {len(rows):,} pictures")


if __name__ == "__main__":
    main()
