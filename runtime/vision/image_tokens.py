"""Counts the tokens of an image from its size, by the rule of its processor. Standard library only.

A rule is made from the settings of a processor; `make_rule` reads what `to_settings` wrote. The
formulas are those of the processors in transformers, floating point included.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Final

#: A text of the replacement, and how often it is repeated: more than once only for image tokens.
Piece = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Qwen2-VL to Qwen3.5: any size, rounded to blocks of `patch * merge` pixels a side."""

    kind: ClassVar[str] = "grid"
    patch: int
    merge: int
    min_pixels: int
    max_pixels: int
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crops:
    """Gemma 3: `tokens` for the whole image, and for each crop of a long one with pan and scan."""

    kind: ClassVar[str] = "crops"
    side: int
    patch: int
    tokens: int
    token: str
    start: str
    end: str
    pan_and_scan: bool = False
    min_crop: int = 256
    max_crops: int = 4
    min_ratio: float = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """Idefics3 and SmolVLM: `tokens` for each tile of `tile` pixels a side, and for the whole."""

    kind: ClassVar[str] = "tiles"
    tile: int
    longest: int
    patch: int
    tokens: int
    split: bool
    token: str
    around: str
    whole: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Pixtral and Mistral 3: any size up to `longest` pixels a side, one row of blocks a line."""

    kind: ClassVar[str] = "rows"
    patch: int
    merge: int
    longest: int
    token: str
    row_end: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """LLaVA with CLIP: every image becomes a square of `side` pixels and has `tokens`."""

    kind: ClassVar[str] = "fixed"
    side: int
    patch: int
    tokens: int
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mosaic:
    """InternVL: `tokens` for each tile of `side` pixels, and for the whole image beside several."""

    kind: ClassVar[str] = "mosaic"
    side: int
    patch: int
    tokens: int
    min_tiles: int
    max_tiles: int
    token: str
    start: str
    end: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheets:
    """LFM2-VL: any size up to `max_tokens`; larger images are tiles too, of `tile` pixels a side.

    An image is larger with more than `tolerance` times the pixels of `max_tokens`. The tower sees
    every picture as one of the largest.
    """

    kind: ClassVar[str] = "sheets"
    tile: int
    patch: int
    merge: int
    min_tokens: int
    max_tokens: int
    min_tiles: int
    max_tiles: int
    tolerance: float
    split: bool
    thumbnail: bool
    token: str
    start: str
    end: str
    whole: str


Rule = Grid | Crops | Tiles | Rows | Fixed | Mosaic | Sheets
_KINDS: Final[Mapping[str, type[Rule]]] = {
    rule.kind: rule for rule in (Grid, Crops, Tiles, Rows, Fixed, Mosaic, Sheets)
}
#: The processors of Idefics3 and SmolVLM make no image longer.
_LONGEST: Final = 4096


def make_rule(settings: Mapping[str, Any]) -> Rule:
    """Return the rule that these settings describe."""
    return _KINDS[settings["kind"]](**{k: v for k, v in settings.items() if k != "kind"})


def to_settings(rule: Rule) -> dict[str, Any]:
    """Return the settings of a rule as plain values."""
    return {"kind": rule.kind, **asdict(rule)}


def limit_pixels(rule: Rule, max_pixels: int) -> Rule:
    """Return the rule by which an image has at most about `max_pixels`; some rules have none."""
    if isinstance(rule, Grid):
        return replace(rule, max_pixels=max(min(rule.max_pixels, max_pixels), _block(rule) ** 2))
    if isinstance(rule, Rows):
        return replace(rule, longest=max(min(rule.longest, math.isqrt(max_pixels)), _block(rule)))
    if isinstance(rule, Tiles) and rule.split:
        tiles = max(1, math.isqrt(max_pixels) // rule.tile)
        return replace(rule, longest=min(rule.longest, tiles * rule.tile))
    if isinstance(rule, Mosaic):
        most = max(1, min(rule.max_tiles, max_pixels // rule.side**2))
        return replace(rule, max_tiles=most, min_tiles=min(rule.min_tiles, most))
    return _limit_sheets(rule, max_pixels) if isinstance(rule, Sheets) else rule


def _limit_sheets(rule: Sheets, max_pixels: int) -> Sheets:
    """Return the rule with fewer tiles, or with none and a smaller image."""
    tiles = max_pixels // rule.tile**2
    if rule.split and tiles >= rule.min_tiles:
        return replace(rule, max_tiles=min(rule.max_tiles, tiles))
    most = max(1, min(rule.max_tokens, max_pixels // _block(rule) ** 2))
    return replace(rule, split=False, max_tokens=most, min_tokens=min(rule.min_tokens, most))


def most_pixels(rule: Rule) -> int:
    """Return how many pixels the largest image of a rule has; tiles and crops are not added."""
    if isinstance(rule, Grid):
        return rule.max_pixels
    if isinstance(rule, Mosaic):
        return rule.max_tiles * rule.side**2
    if isinstance(rule, Sheets):
        one = rule.max_tokens * _block(rule) ** 2
        return max(one, rule.max_tiles * rule.tile**2) if rule.split else one
    return (rule.longest if isinstance(rule, Rows | Tiles) else rule.side) ** 2


def processor_settings(rule: Rule) -> dict[str, Any]:
    """Return the arguments of the image processor that follows a rule, where it has any."""
    if isinstance(rule, Grid):
        return {"size": {"shortest_edge": rule.min_pixels, "longest_edge": rule.max_pixels}}
    if isinstance(rule, Rows | Tiles):
        return {"size": {"longest_edge": rule.longest}}
    if isinstance(rule, Mosaic):
        limits = {"min_patches": rule.min_tiles, "max_patches": rule.max_tiles}
        return {"crop_to_patches": True, **limits}
    if isinstance(rule, Sheets):
        tokens = {"min_image_tokens": rule.min_tokens, "max_image_tokens": rule.max_tokens}
        tiles = {"min_tiles": rule.min_tiles, "max_tiles": rule.max_tiles}
        return {"do_image_splitting": rule.split, **tokens, **tiles}
    return {}


def count_image_tokens(rule: Rule, width: int, height: int) -> int:
    """Return how many features of an image the language model reads."""
    return sum(count for text, count in place_image(rule, width, height) if text == rule.token)


def count_patches(rule: Rule, width: int, height: int) -> tuple[int, ...]:
    """Return the patches of each picture that the tower sees: the whole image and its parts."""
    if isinstance(rule, Grid | Rows):
        rows, columns = _blocks(rule, width, height)
        return (rows * columns * rule.merge**2,)
    if isinstance(rule, Tiles):
        rows, columns = _split(rule, width, height)
        return (rows * columns + 1) * ((rule.tile // rule.patch) ** 2,)
    if isinstance(rule, Mosaic):
        return _count_mosaic(rule, width, height) * ((rule.side // rule.patch) ** 2,)
    if isinstance(rule, Sheets):
        return _count_sheets(rule, width, height) * (_sheet_patches(rule),)
    pictures = 1 + _count_crops(rule, width, height) if isinstance(rule, Crops) else 1
    return pictures * ((rule.side // rule.patch) ** 2,)


def place_image(rule: Rule, width: int, height: int) -> tuple[Piece, ...]:
    """Return what the processor writes in place of the placeholder of an image."""
    if isinstance(rule, Fixed):
        return ((rule.token, rule.tokens),)
    if isinstance(rule, Grid):
        rows, columns = _blocks(rule, width, height)
        return ((rule.token, rows * columns),)
    if isinstance(rule, Rows):
        rows, columns = _blocks(rule, width, height)
        line = ((rule.token, columns), (rule.row_end, 1))
        return (*line * (rows - 1), (rule.token, columns), (rule.end, 1))
    if isinstance(rule, Crops):
        return _place_crops(rule, _count_crops(rule, width, height))
    if isinstance(rule, Mosaic):
        tokens = rule.tokens * _count_mosaic(rule, width, height)
        return ((rule.start, 1), (rule.token, tokens), (rule.end, 1))
    if isinstance(rule, Sheets):
        return _place_sheets(rule, width, height)
    return _place_tiles(rule, *_split(rule, width, height))


def placeholder(rule: Rule) -> str:
    """Return what a chat template writes for an image, before the processor replaces it."""
    return rule.start if isinstance(rule, Crops) else rule.token


def reserved_texts(rule: Rule) -> tuple[str, ...]:
    """Return what no text of the data may contain, because the processor would replace it."""
    return tuple(dict.fromkeys((placeholder(rule), rule.token)))


def place_images(
    rule: Rule, text: str, sizes: Sequence[tuple[int, int]]
) -> tuple[str, list[int]] | None:
    """Return a rendered text with each image token written once, and how often each is repeated.

    `sizes` are the (width, height) of its images. None if the number of placeholders differs:
    then a text of the data contains one. Tokenise the text and give its ids to `repeat_tokens`.
    """
    before, *after = text.split(placeholder(rule))
    if len(after) != len(sizes) or (placeholder(rule) != rule.token and rule.token in text):
        return None
    whole = [before]
    for (width, height), rest in zip(sizes, after, strict=True):
        whole += [*(piece for piece, _ in place_image(rule, width, height)), rest]
    return "".join(whole), count_repeats(rule, sizes)


def repeat_tokens(ids: Sequence[int], token: int, repeats: Sequence[int]) -> list[int]:
    """Return the ids with each image token as often as the processor writes it."""
    counts = iter(repeats)
    return [each for one in ids for each in [one] * (next(counts) if one == token else 1)]


def unrepeat_tokens(ids: Sequence[int], token: int, repeats: Sequence[int]) -> list[int]:
    """Return the ids with each image token once, as `repeat_tokens` was given them."""
    counts, left, found = iter(repeats), 0, list[int]()
    for one in ids:
        if one == token and left == 0:
            left = next(counts)
            found.append(one)
        elif one != token:
            found.append(one)
        left -= one == token
    return found


def count_repeats(rule: Rule, sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Return how often each image token of a text is repeated; `sizes` are those of its images."""
    return [
        count
        for width, height in sizes
        for piece, count in place_image(rule, width, height)
        if piece == rule.token
    ]


def _block(rule: Grid | Rows | Sheets) -> int:
    return rule.patch * rule.merge


def _blocks(rule: Grid | Rows, width: int, height: int) -> tuple[int, int]:
    """Return the rows and columns of blocks, each of which becomes one token."""
    if isinstance(rule, Grid):
        return _blocks_in_area(rule, width, height)
    block = _block(rule)
    ratio = max(height / rule.longest, width / rule.longest)
    if ratio > 1:
        height, width = math.floor(height / ratio), math.floor(width / ratio)
    return (height - 1) // block + 1, (width - 1) // block + 1


def _blocks_in_area(rule: Grid, width: int, height: int) -> tuple[int, int]:
    """Return the rows and columns as `smart_resize` of Qwen2-VL chooses them."""
    block = _block(rule)
    rows, columns = round(height / block), round(width / block)
    if rows * columns * block**2 > rule.max_pixels:
        beta = math.sqrt((height * width) / rule.max_pixels)
        rows = max(1, math.floor(height / beta / block))
        columns = max(1, math.floor(width / beta / block))
    elif rows * columns * block**2 < rule.min_pixels:
        beta = math.sqrt(rule.min_pixels / (height * width))
        rows, columns = math.ceil(height * beta / block), math.ceil(width * beta / block)
    return rows, columns


def _count_crops(rule: Crops, width: int, height: int) -> int:
    """Return the crops of Gemma 3's pan and scan, along the longer side; none if nearly square."""
    long, short = max(width, height), min(width, height)
    if not rule.pan_and_scan or long / short < rule.min_ratio:
        return 0
    count = min(math.floor(long / rule.min_crop), math.floor(long / short + 0.5))
    count = min(rule.max_crops, max(2, count))
    return 0 if min(math.ceil(long / count), short) < rule.min_crop else count


def _place_crops(rule: Crops, crops: int) -> tuple[Piece, ...]:
    image = ((f"\n\n{rule.start}", 1), (rule.token, rule.tokens), (f"{rule.end}\n\n", 1))
    if not crops:
        return image
    words = " and here are some crops to help you see better "
    between = [piece for _ in range(crops - 1) for piece in (*image, (" ", 1))]
    return (("Here is the original image ", 1), *image, (words, 1), *between, *image)


def _split(rule: Tiles, width: int, height: int) -> tuple[int, int]:
    """Return the rows and columns of tiles, 0 for an image that is one tile."""
    if not rule.split:
        return 0, 0
    height, width = _fit(height, width, rule.longest)
    ratio, tile = width / height, rule.tile
    if width >= height:
        columns = math.ceil(width / tile)
        rows = math.ceil(int(columns * tile / ratio) / tile)
    else:
        rows = math.ceil(height / tile)
        columns = math.ceil(int(rows * tile * ratio) / tile)
    return (rows, columns) if max(rows, columns) > 1 else (0, 0)


def _fit(height: int, width: int, longest: int) -> tuple[int, int]:
    """Return the size of an image whose longer side is `longest`, the shorter one made even."""
    ratio = width / height
    if width >= height:
        width, height = longest, _even(int(longest / ratio))
    else:
        width, height = _even(int(longest * ratio)), longest
    height, width = max(height, 1), max(width, 1)
    ratio = width / height
    if width >= height and width > _LONGEST:
        width, height = _LONGEST, int(_LONGEST / ratio)
    elif height > width and height > _LONGEST:
        width, height = int(_LONGEST * ratio), _LONGEST
    return max(height, 1), max(width, 1)


def _even(side: int) -> int:
    return side + side % 2


def _place_tiles(rule: Tiles, rows: int, columns: int) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            pieces += [(f"{rule.around}<row_{row}_col_{column}>", 1), (rule.token, rule.tokens)]
        pieces.append(("\n", 1))
    before = "\n" if rows else ""
    return (
        *pieces,
        (f"{before}{rule.around}{rule.whole}", 1),
        (rule.token, rule.tokens),
        (rule.around, 1),
    )


def _choose_tiles(width: int, height: int, *, side: int, least: int, most: int) -> tuple[int, int]:
    """Return the columns and rows of tiles whose proportions are the closest to the image's.

    Of equal ones the larger is taken if the image has more than half of its pixels.
    """
    found, distance = (1, 1), math.inf
    pairs = [(c, r) for c in range(1, most + 1) for r in range(1, most + 1)]
    for columns, rows in sorted(pairs, key=math.prod):
        if not least <= columns * rows <= most:
            continue
        apart = abs(width / height - columns / rows)
        if apart < distance:
            found, distance = (columns, rows), apart
        elif apart == distance and width * height > 0.5 * side * side * columns * rows:
            found = (columns, rows)
    return found


def _count_mosaic(rule: Mosaic, width: int, height: int) -> int:
    """Return the pictures that the tower sees: the tiles, and the whole image beside several."""
    tiles = math.prod(
        _choose_tiles(width, height, side=rule.side, least=rule.min_tiles, most=rule.max_tiles)
    )
    return tiles + 1 if tiles > 1 else 1


def _sheets(rule: Sheets, width: int, height: int) -> tuple[int, int]:
    """Return the columns and rows of tiles of an image, (1, 1) for one that is not divided."""
    block = _block(rule)
    sides = (max(rule.patch, round(side / block) * block) for side in (width, height))
    is_large = math.prod(sides) > rule.max_tokens * block**2 * rule.tolerance
    if not rule.split or not is_large or rule.min_tiles == rule.max_tiles == 1:
        return 1, 1
    return _choose_tiles(width, height, side=rule.tile, least=rule.min_tiles, most=rule.max_tiles)


def _count_sheets(rule: Sheets, width: int, height: int) -> int:
    tiles = math.prod(_sheets(rule, width, height))
    return tiles + 1 if tiles > 1 and rule.thumbnail else tiles


def _sheet_patches(rule: Sheets) -> int:
    """Return the patches of each picture, the padding included."""
    tile = (rule.tile // rule.patch) ** 2 if rule.split else 0
    return max(rule.max_tokens * rule.merge**2, tile)


def _sheet_tokens(rule: Sheets, width: int, height: int) -> int:
    """Return the tokens of the whole image, which has the sides that `smart_resize` chooses."""
    block = _block(rule)
    sides = [max(1, round(side / block)) for side in (width, height)]
    tokens = math.prod(sides)
    if tokens > rule.max_tokens:
        beta = math.sqrt((height * width) / (rule.max_tokens * block**2))
        sides = [max(1, math.floor(side / beta / block)) for side in (width, height)]
    elif tokens < rule.min_tokens:
        beta = math.sqrt(rule.min_tokens * block**2 / (height * width))
        sides = [math.ceil(side * beta / block) for side in (width, height)]
    return math.prod(sides)


def _place_sheets(rule: Sheets, width: int, height: int) -> tuple[Piece, ...]:
    columns, rows = _sheets(rule, width, height)
    whole = (rule.token, _sheet_tokens(rule, width, height))
    if columns * rows == 1:
        return ((rule.start, 1), whole, (rule.end, 1))
    tile = math.ceil(rule.tile // rule.patch / rule.merge) ** 2
    pieces: list[Piece] = [(rule.start, 1)]
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            pieces += [(f"<|img_row_{row}_col_{column}|>", 1), (rule.token, tile)]
    pieces += [(rule.whole, 1), whole] if rule.thumbnail else []
    return (*pieces, (rule.end, 1))
