"""Compares the rules of image tokens with the processors of transformers; prints what differs.

Run by test_image_tokens.py in an environment that has torchvision; the argument is the folder of
the runtime's parent.
"""

import json
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import transformers
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

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
    count_patches,
    limit_pixels,
    make_rule,
    place_images,
    placeholder,
    processor_settings,
    repeat_tokens,
    to_settings,
)

ODD = [(28, 28), (29, 57), (364, 364), (8, 1500), (1600, 8), (1540, 1540), (1541, 97), (896, 895)]
LIMIT = 150_000


def make_tokenizer(*special: str) -> Any:
    """Return a tokenizer of bytes that joins line ends, as those of the models do."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    joined = ["ĊĊ", "ĊĊĊ"]
    vocabulary = {token: number for number, token in enumerate([*letters, *joined])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ċ", "Ċ"), ("ĊĊ", "Ċ")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    make: Any = PreTrainedTokenizerFast
    return make(tokenizer_object=tokenizer, pad_token=special[0])


def list_sizes(count: int) -> list[tuple[int, int]]:
    """Return sizes of all proportions, the same in every run."""
    pick, sizes = random.Random(0), list(ODD)  # noqa: S311 - no secret
    while len(sizes) < count:
        width = int(10 ** pick.uniform(0.95, 3.1))
        height = int(width * 10 ** pick.uniform(-1, 1))
        if height >= 8 and width * height < 2_000_000:
            sizes.append((width, height))
    return sizes


def make_processors() -> Iterator[tuple[str, Any, Rule]]:
    """Yield each family's processor with its rule."""
    for make in (_make_qwen, _make_gemma, _make_idefics, _make_others):
        yield from make(transformers)


def _make_qwen(load: Any) -> Iterator[tuple[str, Any, Rule]]:
    qwen = make_tokenizer("<|image_pad|>", "<|video_pad|>")
    for name, patch, video in (
        ("Qwen2VLProcessor", 14, "Qwen2VLVideoProcessor"),
        ("Qwen2_5_VLProcessor", 14, "Qwen2VLVideoProcessor"),
        ("Qwen3VLProcessor", 16, "Qwen3VLVideoProcessor"),
    ):
        size = {"shortest_edge": 4096, "longest_edge": 602_112}
        images = load.Qwen2VLImageProcessor(patch_size=patch, size=size)
        made = getattr(load, name)(images, qwen, video_processor=getattr(load, video)())
        yield name, made, Grid(
            patch=patch, merge=2, min_pixels=4096, max_pixels=602_112, token="<|image_pad|>"
        )  # fmt: skip


def _make_gemma(load: Any) -> Iterator[tuple[str, Any, Rule]]:
    gemma = make_tokenizer("<image_soft_token>", "<start_of_image>", "<end_of_image>")
    gemma.image_token, gemma.boi_token, gemma.eoi_token = gemma.all_special_tokens[:1] * 3
    gemma.image_token = "<image_soft_token>"
    gemma.boi_token, gemma.eoi_token = "<start_of_image>", "<end_of_image>"
    for token in ("image_token", "boi_token"):
        number = gemma.convert_tokens_to_ids(getattr(gemma, token))
        setattr(gemma, f"{token}_id", number)
    for scan in (False, True):
        images = load.Gemma3ImageProcessor(size={"height": 224, "width": 224})
        made = load.Gemma3Processor(images, gemma, image_seq_length=16)
        made.images_kwargs = {**made.images_kwargs, "do_pan_and_scan": scan}
        yield f"Gemma3Processor {scan}", made, Crops(
            side=224, patch=14, tokens=16, token=gemma.image_token, start=gemma.boi_token,
            end=gemma.eoi_token, pan_and_scan=scan,
        )  # fmt: skip


def _make_idefics(load: Any) -> Iterator[tuple[str, Any, Rule]]:
    around, whole = "<fake_token_around_image>", "<global-img>"
    places = [f"<row_{row}_col_{column}>" for row in range(1, 9) for column in range(1, 9)]
    idefics = make_tokenizer(around, "<image>", "<end_of_utterance>", whole, *places)
    for longest, tile, split in ((1456, 364, True), (1024, 512, True), (1456, 364, False)):
        images = load.Idefics3ImageProcessor(
            size={"longest_edge": longest},
            max_image_size={"longest_edge": tile},
            do_image_splitting=split,
        )
        made = load.Idefics3Processor(images, idefics, image_seq_len=9)
        yield f"Idefics3Processor {longest} {split}", made, Tiles(
            tile=tile, longest=longest, patch=14, tokens=9, split=split, token="<image>",
            around=around, whole=whole,
        )  # fmt: skip
    images = load.SmolVLMImageProcessor(
        size={"longest_edge": 1536}, max_image_size={"longest_edge": 512}
    )
    made = load.SmolVLMProcessor(images, idefics, load.SmolVLMVideoProcessor(), image_seq_len=4)
    yield "SmolVLMProcessor", made, Tiles(
        tile=512, longest=1536, patch=16, tokens=4, split=True, token="<image>", around=around,
        whole=whole,
    )  # fmt: skip


def _make_others(load: Any) -> Iterator[tuple[str, Any, Rule]]:
    pixtral = make_tokenizer("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    for merge, patch, longest in ((1, 16, 1024), (2, 14, 1540)):
        images = load.PixtralImageProcessor(size={"longest_edge": longest}, patch_size=patch)
        made = load.PixtralProcessor(images, pixtral, patch_size=patch, spatial_merge_size=merge)
        yield f"PixtralProcessor {merge}", made, Rows(
            patch=patch, merge=merge, longest=longest, token="[IMG]", row_end="[IMG_BREAK]",
            end="[IMG_END]",
        )  # fmt: skip
    side = {"height": 336, "width": 336}
    images = load.CLIPImageProcessor(size={"shortest_edge": 336}, crop_size=side)
    made = load.LlavaProcessor(
        images, make_tokenizer("<image>"), patch_size=14,
        vision_feature_select_strategy="default", num_additional_image_tokens=1,
    )  # fmt: skip
    yield "LlavaProcessor", made, Fixed(side=336, patch=14, tokens=576, token="<image>")
    named = {"context_image": "<IMG_CONTEXT>", "start_image": "<img>", "end_image": "</img>"}
    intern = make_tokenizer(*named.values(), "<video>")
    for word, token in {**named, "video": "<video>"}.items():
        setattr(intern, f"{word}_token", token)
        setattr(intern, f"{word}_token_id", intern.convert_tokens_to_ids(token))
    images = load.GotOcr2ImageProcessor(size={"height": 448, "width": 448}, max_patches=12)
    made = load.InternVLProcessor(images, intern, load.InternVLVideoProcessor())
    yield "InternVLProcessor", made, Mosaic(
        side=448, patch=14, tokens=256, min_tiles=1, max_tiles=12, token="<IMG_CONTEXT>",
        start="<img>", end="</img>",
    )  # fmt: skip
    edges = ["<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>"]
    places = [f"<|img_row_{row}_col_{column}|>" for row in range(1, 11) for column in range(1, 11)]
    for split in (True, False):
        images = load.Lfm2VlImageProcessor(do_image_splitting=split)
        made = load.Lfm2VlProcessor(images, make_tokenizer(*edges, *places))
        yield f"Lfm2VlProcessor {split}", made, Sheets(
            tile=512, patch=16, merge=2, min_tokens=64, max_tokens=256, min_tiles=2, max_tiles=10,
            tolerance=2.0, split=split, thumbnail=True, token=edges[0], start=edges[1],
            end=edges[2], whole=edges[3],
        )  # fmt: skip


def count_pictures(rule: Rule, pixels: Any) -> int:
    """Return the patches that the processor made, of all pictures of an image."""
    if isinstance(rule, Grid):
        return int(pixels.shape[0])
    if isinstance(rule, Sheets):
        return int(np.prod(pixels.shape[:2]))
    *pictures, height, width = (
        side for place, side in enumerate(pixels.shape) if place != pixels.ndim - 3
    )
    patches: int = (height // rule.patch) * (width // rule.patch)
    return int(np.prod(pictures)) * patches


def compare(
    name: str, processor: Any, rule: Rule, size: tuple[int, int], limits: dict[str, Any]
) -> str:
    """Return how rule and processor differ for a size; "" if they do not."""
    width, height = size
    image, text = Image.new("RGB", size), f"ab\n{placeholder(rule)}\ncd"
    real = processor(text=text, images=[image], return_tensors="pt", **limits)
    ids = real["input_ids"][0].tolist()
    placed = place_images(rule, text, [size])
    if placed is None:
        return f"{name} {size}: no placeholder"
    token = processor.tokenizer.convert_tokens_to_ids(rule.token)
    mine = repeat_tokens(processor.tokenizer(placed[0])["input_ids"], token, placed[1])
    if mine != ids or count_image_tokens(rule, width, height) != ids.count(token):
        return f"{name} {size}: {len(mine)} tokens in place of {len(ids)}"
    seen = count_pictures(rule, real["pixel_values"])
    if sum(count_patches(rule, width, height)) != seen:
        return f"{name} {size}: {count_patches(rule, width, height)} patches in place of {seen}"
    return ""


def main() -> None:
    """Compare every processor, with its own limit and with a lower one."""
    warnings.filterwarnings("ignore")
    sizes, compared, wrong = list_sizes(int(sys.argv[1])), 0, list[str]()
    for name, processor, own in make_processors():
        assert make_rule(to_settings(own)) == own
        for rule in dict.fromkeys((own, limit_pixels(own, LIMIT))):
            limits = processor_settings(rule) if rule != own else {}
            found = [compare(name, processor, rule, size, limits) for size in sizes]
            compared, wrong = compared + len(found), [*wrong, *filter(None, found)]
    sys.stdout.write(json.dumps({"compared": compared, "wrong": wrong}))


if __name__ == "__main__":
    main()
