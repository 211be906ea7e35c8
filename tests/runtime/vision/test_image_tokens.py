"""The tokens of images: known counts, and the real processors for many sizes."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ftc.runtime.vision.image_tokens import (
    Crops,
    Fixed,
    Grid,
    Mosaic,
    Rows,
    Rule,
    Sheets,
    Tiles,
    count_image_tokens,
    limit_pixels,
    make_rule,
    most_pixels,
    place_image,
    place_images,
    repeat_tokens,
    reserved_texts,
    to_settings,
)

GRID = Grid(patch=14, merge=2, min_pixels=3136, max_pixels=12_845_056, token="<|image_pad|>")
CROPS = Crops(side=896, patch=14, tokens=256, token="<soft>", start="<start>", end="<end>")
TILES = Tiles(
    tile=364, longest=1456, patch=14, tokens=169, split=True, token="<image>", around="<fake>",
    whole="<global>",
)  # fmt: skip
ROWS = Rows(patch=14, merge=2, longest=1540, token="[I]", row_end="[B]", end="[E]")
FIXED = Fixed(side=336, patch=14, tokens=576, token="<image>")
MOSAIC = Mosaic(
    side=224, patch=14, tokens=64, min_tiles=1, max_tiles=12, token="[I]", start="[S]", end="[E]"
)
SHEETS = Sheets(
    tile=512, patch=16, merge=2, min_tokens=64, max_tokens=256, min_tiles=2, max_tiles=10,
    tolerance=2.0, split=True, thumbnail=True, token="[I]", start="[S]", end="[E]", whole="[W]",
)  # fmt: skip
RULES: list[Rule] = [GRID, CROPS, TILES, ROWS, FIXED, MOSAIC, SHEETS]
HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("rule", "size", "tokens"),
    [
        (GRID, (28, 28), 4),
        (GRID, (1280, 720), 46 * 26),
        (GRID, (10_000, 10_000), 16384 - 255),
        (CROPS, (5000, 50), 256),
        (TILES, (364, 364), 17 * 169),
        (TILES, (1456, 364), 5 * 169),
        (ROWS, (1540, 1540), 55 * 55),
        (ROWS, (29, 28), 2),
        (FIXED, (9, 900), 576),
        (MOSAIC, (448, 448), 5 * 64),
        (MOSAIC, (100, 100), 64),
        (MOSAIC, (900, 448), 9 * 64),
        (SHEETS, (512, 512), 256),
        (SHEETS, (8, 8), 64),
        (SHEETS, (1024, 1024), 4 * 256 + 256),
    ],
)
def test_known_counts(rule: Rule, size: tuple[int, int], tokens: int) -> None:
    """Features of an image by the rule of each family."""
    assert count_image_tokens(rule, *size) == tokens


def test_the_whole_replacement() -> None:
    """Rows end with a token of their own, tiles say where they are."""
    assert place_image(ROWS, 60, 30) == (*(("[I]", 3), ("[B]", 1), ("[I]", 3), ("[E]", 1)),)
    assert place_image(CROPS, 9, 9) == (("\n\n<start>", 1), ("<soft>", 256), ("<end>\n\n", 1))
    text = "".join(piece * count for piece, count in place_image(TILES, 1456, 364))
    assert text.startswith("<fake><row_1_col_1><image>")
    assert text.endswith("<image>\n\n<fake><global>" + "<image>" * 169 + "<fake>")


def test_texts_with_images() -> None:
    """Each placeholder is replaced by its own image; too many or too few are refused."""
    placed = place_images(GRID, "a<|image_pad|>b<|image_pad|>", [(28, 28), (56, 56)])
    assert placed == ("a<|image_pad|>b<|image_pad|>", [4, 4])
    assert repeat_tokens([1, 9, 2, 9], 9, [3, 2]) == [1, 9, 9, 9, 2, 9, 9]
    assert place_images(GRID, "a<|image_pad|>", []) is None
    assert place_images(GRID, "a", [(28, 28)]) is None
    assert place_images(CROPS, "<start> and <soft>", [(28, 28)]) is None
    assert reserved_texts(CROPS) == ("<start>", "<soft>")
    assert reserved_texts(GRID) == ("<|image_pad|>",)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_limits(rule: Rule) -> None:
    """A limit is exceeded by a block at most, never raises a rule's own, and round-trips."""
    assert make_rule(json.loads(json.dumps(to_settings(rule)))) == rule
    assert limit_pixels(rule, 10**9) == rule
    lower = limit_pixels(rule, 200_000)
    fixed = isinstance(rule, Crops | Fixed)
    assert (lower == rule) is fixed
    assert fixed or most_pixels(lower) <= 200_000
    assert count_image_tokens(lower, 3000, 2000) <= count_image_tokens(rule, 3000, 2000)
    assert count_image_tokens(limit_pixels(rule, 1), 3000, 2000) >= 1


@pytest.mark.prove
def test_the_real_processors(vision: Mapping[str, str]) -> None:
    """The same ids and as many patches, for odd sizes of every family, with a limit and without."""
    done = subprocess.run(
        [sys.executable, HERE / "compare_processors.py", "14"],
        env={**os.environ, **vision},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["wrong"] == []
    assert found["compared"] == 14 * 26
