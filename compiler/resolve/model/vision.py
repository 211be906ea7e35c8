"""The vision part of an image-text model: its tower, and its processor's rule for images.

The settings come from `preprocessor_config.json` and `processor_config.json`; those that a file
leaves out have the defaults of the processor's class in the pinned transformers.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.multimodal.towers import Tower, read_tower
from ftc.compiler.resolve.detail_facts import VisionFacts
from ftc.runtime.vision.image_tokens import (
    Crops,
    Fixed,
    Grid,
    Mosaic,
    Rows,
    Rule,
    Sheets,
    Tiles,
    to_settings,
)

IMAGE_FILE: Final = "preprocessor_config.json"
PROCESSOR_FILE: Final = "processor_config.json"
#: The files with the settings of an image processor.
PROCESSOR_FILES: Final = (IMAGE_FILE, PROCESSOR_FILE, "video_preprocessor_config.json")

_Read = Mapping[str, Any]


def read_vision(folder: Path, config: _Read, *, hidden: int) -> VisionFacts | None:
    """Return the facts of a model's tower; None if the tower is unknown.

    `config` is the whole `config.json`, `hidden` the width of the language model.
    """
    whole, images = _read(folder / PROCESSOR_FILE), _read(folder / IMAGE_FILE)
    inner = whole.get("image_processor")
    images = inner if isinstance(inner, dict) else images
    names = _read(folder / "tokenizer_config.json")
    return make_vision(config, images, whole, names, hidden=hidden)


def make_vision(
    config: _Read, images: _Read, whole: _Read, names: _Read, *, hidden: int
) -> VisionFacts | None:
    """Return the same from what the files say: see `make_rule`."""
    tower = read_tower(config, hidden=hidden)
    if tower is None:
        return None
    token = config.get("image_token_id", config.get("image_token_index"))
    rule = make_rule(config, tower, images, whole, names) if images else None
    return VisionFacts(
        tower=tower,
        token_id=token if type(token) is int else None,
        rule={} if rule is None else to_settings(rule),
        missing=IMAGE_FILE if rule is None else "",
    )


def make_rule(
    config: _Read, tower: Tower, images: _Read, whole: _Read, names: _Read
) -> Rule | None:
    """Return the rule of a processor; None where its settings are malformed.

    `images` are those of the image processor, `whole` those of the processor around it and `names`
    those of the tokenizer.
    """
    form = _FORMS.get(config.get("model_type", ""), _grid)
    try:
        return form(tower, images, {**config, **whole}, names)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _grid(tower: Tower, images: _Read, _whole: _Read, names: _Read) -> Rule:
    size = images.get("size") or {}
    return Grid(
        patch=_number(images.get("patch_size"), 14),
        merge=_number(images.get("merge_size"), tower.merge),
        min_pixels=_number(images.get("min_pixels") or size.get("shortest_edge"), 56 * 56),
        max_pixels=_number(images.get("max_pixels") or size.get("longest_edge"), 28 * 28 * 1280),
        token=_token(names, "image_token", "<|image_pad|>"),
    )


def _crops(tower: Tower, images: _Read, whole: _Read, names: _Read) -> Rule:
    size = images.get("size") or {}
    tokens = whole.get("image_seq_length") or whole.get("mm_tokens_per_image")
    return Crops(
        side=_number(size.get("height"), 224),
        patch=tower.patch,
        tokens=_number(tokens, 256),
        token=_token(names, "image_token", "<image_soft_token>"),
        start=_token(names, "boi_token", "<start_of_image>"),
        end=_token(names, "eoi_token", "<end_of_image>"),
    )


def _tiles(tower: Tower, images: _Read, whole: _Read, _names: _Read) -> Rule:
    size, tile = images.get("size") or {}, images.get("max_image_size") or {}
    return Tiles(
        tile=_number(tile.get("longest_edge"), 364),
        longest=_number(size.get("longest_edge"), 4 * 364),
        patch=tower.patch,
        tokens=_number(whole.get("image_seq_len"), 169),
        split=images.get("do_image_splitting") is not False,
        token="<image>",  # noqa: S106 - a token of text
        around="<fake_token_around_image>",
        whole="<global-img>",
    )


def _rows(_tower: Tower, images: _Read, whole: _Read, _names: _Read) -> Rule:
    size = images.get("size") or {}
    return Rows(
        patch=_number(whole.get("patch_size"), 16),
        merge=_number(whole.get("spatial_merge_size"), 1),
        longest=_number(size.get("longest_edge"), 1024),
        token=_token(whole, "image_token", "[IMG]"),
        row_end=_token(whole, "image_break_token", "[IMG_BREAK]"),
        end=_token(whole, "image_end_token", "[IMG_END]"),
    )


def _llava(tower: Tower, images: _Read, whole: _Read, names: _Read) -> Rule:
    """Return the rule of LLaVA, whose processor is Pixtral's where its tower is."""
    if tower.kind == "pixtral":
        return _rows(tower, images, whole, names)
    size = images.get("size") or {}
    cut = images.get("crop_size") if images.get("do_center_crop") else None
    side = cut.get("height") if isinstance(cut, dict) else cut
    side = _number(side or size.get("height") or size.get("shortest_edge"), 224)
    patch = _number(whole.get("patch_size"), tower.patch)
    tokens = (side // patch) ** 2 + _number(whole.get("num_additional_image_tokens"), 0, least=0)
    tokens -= whole.get("vision_feature_select_strategy", "default") == "default"
    name = _token(names, "image_token", _token(whole, "image_token", "<image>"))
    return Fixed(side=side, patch=patch, tokens=tokens, token=name)


def _mosaic(tower: Tower, images: _Read, whole: _Read, names: _Read) -> Rule:
    size = images.get("size") or {}
    return Mosaic(
        side=_number(size.get("height"), 384),
        patch=tower.patch,
        tokens=_number(whole.get("image_seq_length"), 256),
        min_tiles=_number(images.get("min_patches"), 1),
        max_tiles=_number(images.get("max_patches"), 12),
        token=_token(names, "context_image_token", "<IMG_CONTEXT>"),
        start=_token(names, "start_image_token", "<img>"),
        end=_token(names, "end_image_token", "</img>"),
    )


def _sheets(_tower: Tower, images: _Read, _whole: _Read, names: _Read) -> Rule:
    return Sheets(
        tile=_number(images.get("tile_size"), 512),
        patch=_number(images.get("encoder_patch_size"), 16),
        merge=_number(images.get("downsample_factor"), 2),
        min_tokens=_number(images.get("min_image_tokens"), 64),
        max_tokens=_number(images.get("max_image_tokens"), 256),
        min_tiles=_number(images.get("min_tiles"), 2),
        max_tiles=_number(images.get("max_tiles"), 10),
        tolerance=float(images.get("max_pixels_tolerance", 2.0)),
        split=images.get("do_image_splitting") is not False,
        thumbnail=images.get("use_thumbnail") is not False,
        token=_token(names, "image_token", "<image>"),
        start=_token(names, "image_start_token", "<|image_start|>"),
        end=_token(names, "image_end_token", "<|image_end|>"),
        whole=_token(names, "image_thumbnail_token", "<|img_thumbnail|>"),
    )


_FORMS: Final[Mapping[str, Callable[[Tower, _Read, _Read, _Read], Rule]]] = {
    "gemma3": _crops,
    "idefics3": _tiles,
    "internvl": _mosaic,
    "lfm2_vl": _sheets,
    "llava": _llava,
    "mistral3": _rows,
    "smolvlm": _tiles,
}


def _number(value: object, default: int, *, least: int = 1) -> int:
    """Return a setting, or its default where a file leaves it out; raises for anything else."""
    if value is None:
        return default
    if type(value) is not int or value < least:
        raise ValueError(value)
    return value


def _token(said: _Read, name: str, default: str) -> str:
    """Return a special token by its name in a file, which may be an object with its content."""
    inner = said.get("extra_special_tokens")
    value = said.get(name) or (inner.get(name) if isinstance(inner, dict) else None)
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) and value else default


def _read(path: Path) -> _Read:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
