"""What is known of images: the tower of an image-text model, and the images in the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ftc.compiler.knowledge.towers import Tower


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionFacts:
    """The part of an image-text model that sees: its tower, its projector and its processor.

    `rule` has the settings of a rule of `runtime/vision/image_tokens.py`, empty where `missing`
    names the file that would say them. `token_id` is that of the image token.
    """

    tower: Tower
    token_id: int | None
    rule: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSizes:
    """What rows need if no image has more than `max_pixels`.

    `tokens_max` is that of one image, `row_tokens_max` of a row. Patches are those that the tower
    sees; tiles and crops are pictures of their own.
    """

    max_pixels: int
    tokens_mean: float
    tokens_max: int
    row_tokens_max: int
    row_patches_mean: float
    row_patches_max: int
    row_pictures_max: int
    picture_patches_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The images of the data: in how many rows, and how large they are.

    `urls` counts images that must be downloaded, whose size is taken to be the largest, and
    `stored` those whose bytes are in the data file. `sizes` has one entry for each limit that the
    plan may choose, the largest first; it is empty where no rule is known.
    """

    rows: int
    images: int
    most_per_row: int
    pixels_p50: int
    pixels_p95: int
    pixels_max: int
    urls: int = 0
    stored: int = 0
    sizes: tuple[ImageSizes, ...] = ()
