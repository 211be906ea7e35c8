"""Images of rows: how they are read and measured, and what limits on their size would change."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from ftc.compiler.resolve.detail_facts import ImageSizes, Pictures
from ftc.compiler.resolve.facts import DataFacts, Lengths, ModelFacts, Unknown
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from ftc.compiler.resolve.rows.reader import Row, read_table
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from ftc.compiler.resolve.rows.table import TableFile
from ftc.runtime.read.image_rows import Reference, list_images, read_with_images, replace_bytes
from ftc.runtime.read.rows import ReadTurns
from ftc.runtime.vision.image_tokens import (
    Rule,
    count_image_tokens,
    count_patches,
    limit_pixels,
    make_rule,
    most_pixels,
    place_image,
    placeholder,
    reserved_texts,
)
from ftc.runtime.vision.images import looker, refer
from ftc.spec.sections import Spec

#: The limits that a plan may choose below that of the processor.
_LIMITS: Final = (
    *(4_194_304, 2_097_152, 1_048_576, 786_432, 524_288, 393_216, 262_144, 131_072, 65_536),
)
_LARGEST: Final = (
    *("tokens_max", "row_tokens_max", "row_patches_max", "row_pictures_max"),
    "picture_patches_max",
)
Size = tuple[int, int]
Summarise = Callable[[Sequence[tuple[int, int]]], Lengths]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeing:
    """What reads the images of a source: the rule of the model's processor, or None without one."""

    folder: Path
    allow_download: bool
    rule: Rule | None

    def reader(self, roles: Roles) -> ReadTurns:
        """Return the function that reads the turns of a row and its images."""
        return partial(
            read_with_images,
            read=make_reader(roles),
            look=looker(self.folder, allow_download=self.allow_download),
            conversations=conversation_columns(roles),
            images=roles.images,
            reserved=() if self.rule is None else reserved_texts(self.rule),
        )


def find_seeing(spec: Spec, model: ModelFacts | Unknown | None, *, folder: Path) -> Seeing | None:
    """Return what reads the images of rows in `folder`; None for a model without a tower.

    A model that could not be found may have one, so images are no fault of the rows.
    """
    if isinstance(model, Unknown):
        return Seeing(folder=folder, allow_download=spec.data.allow_download, rule=None)
    if model is None or model.vision is None:
        return None
    settings, most = model.vision.rule, spec.data.images.max_pixels
    rule = make_rule(settings) if settings else None
    if rule is not None and most != "auto":
        rule = limit_pixels(rule, most)
    return Seeing(folder=folder, allow_download=spec.data.allow_download, rule=rule)


def see_again(spec: Spec, data: DataFacts, *, folder: Path) -> Seeing | None:
    """Return what reads the images of rows that were resolved before; None for rows without any."""
    if data.pictures is None:
        return None
    return Seeing(folder=folder, allow_download=spec.data.allow_download, rule=None)


def open_rows(
    files: Sequence[TableFile], roles: Roles, *, seeing: Seeing | None
) -> Iterator[Row | None]:
    """Yield the rows of files that were read before, with references in place of stored images."""
    for file in files:
        rows = read_table(file).rows
        stored = seeing is not None and file.format == "parquet"
        yield from store_rows(rows, roles) if stored else rows


def write_images(rule: Rule, example: Example, text: str) -> str:
    """Return a rendered text, or the beginning of one, with all tokens of its images."""
    before, *after = text.split(placeholder(rule))
    whole = [before]
    for size, rest in zip(list_sizes(example, rule), after, strict=False):
        whole += [piece * count for piece, count in place_image(rule, *size)]
        whole.append(rest)
    return "".join(whole)


def conversation_columns(roles: Roles) -> tuple[str, ...]:
    """Return the columns that may hold messages, and with them images."""
    named = (roles.messages, roles.prompt, roles.completion, roles.chosen, roles.rejected)
    return tuple(name for name in named if name is not None)


def store_rows(rows: Iterator[Row | None], roles: Roles) -> Iterator[Row | None]:
    """Yield the rows of a parquet file with references in place of the bytes of images."""
    columns = [*conversation_columns(roles), *((roles.images,) if roles.images else ())]
    for row in rows:
        yield row and replace_bytes(row, columns=columns, refer=refer)


@dataclass(slots=True, kw_only=True)
class ImageCount:
    """Counts the tokens of examples with images by one rule; `tokenizer` is None for estimates."""

    rule: Rule
    tokenizer: LoadedTokenizer | None
    known: dict[Size, int] = field(default_factory=dict)

    def tokens(self, size: Size) -> int:
        """Return the tokens that an image adds, with those that the processor writes around it."""
        if size not in self.known:
            pieces = place_image(self.rule, *size)
            more = sum(count - 1 for _, count in pieces)
            text = "".join(text for text, _ in pieces)
            if self.tokenizer is None:
                self.known[size] = len(pieces) + more
            else:
                encoding = next(self.tokenizer.encode([text], special=False))
                self.known[size] = len(encoding) + more
        return self.known[size]

    def of(self, example: Example) -> int:
        """Return the tokens of all images of an example."""
        return sum(map(self.tokens, list_sizes(example, self.rule)))


def list_sizes(example: Example, rule: Rule) -> list[Size]:
    """Return the (width, height) of the images of an example; one to download is the largest."""
    return [_size(reference, rule) for reference in list_images(example.turns)]


def _size(reference: Reference, rule: Rule) -> Size:
    side = math.isqrt(most_pixels(rule))
    return reference.get("width", side), reference.get("height", side)


def describe_pictures(examples: Sequence[Example]) -> Pictures | None:
    """Return what is known of images without a rule; None for rows without any."""
    found = [references for each in examples if (references := list_images(each.turns))]
    if not found:
        return None
    images = [reference for references in found for reference in references]
    pixels = sorted(i["width"] * i["height"] for i in images if "width" in i) or [0]
    return Pictures(
        rows=len(found),
        images=len(images),
        most_per_row=max(map(len, found)),
        pixels_p50=pixels[len(pixels) // 2],
        pixels_p95=pixels[min(len(pixels) - 1, math.ceil(len(pixels) * 0.95) - 1)],
        pixels_max=pixels[-1],
        urls=sum("url" in reference for reference in images),
        stored=sum("stored" in reference for reference in images),
    )


def leave_out_images(
    examples: Sequence[Example], numbers: Sequence[int]
) -> tuple[list[Example], list[int]]:
    """Return the examples without images, and their numbers: texts do not tell the others apart."""
    kept = [
        (example, number)
        for example, number in zip(examples, numbers, strict=True)
        if example.texts is example
    ]
    return [example for example, _ in kept], [number for _, number in kept]


def list_limits(rule: Rule, chosen: int | str) -> tuple[tuple[int, Rule], ...]:
    """Return the limits that change something, the largest first, each with its rule.

    The first is that of the processor, or of the spec, which leaves no choice.
    """
    most = most_pixels(rule)
    limits = [(most if isinstance(chosen, str) else chosen, rule)]
    if not isinstance(chosen, str):
        return tuple(limits)
    for limit in _LIMITS:
        less = limit_pixels(rule, limit)
        if limit < most and less != limits[-1][1]:
            limits.append((limit, less))
    return tuple(limits)


def measure_limits(
    examples: Sequence[Example],
    pairs: Sequence[tuple[int, int] | None],
    limits: Sequence[tuple[int, Rule]],
    tokenizer: LoadedTokenizer | None,
    summarise: Summarise,
) -> tuple[tuple[ImageSizes, ...], tuple[Lengths, ...]]:
    """Return what rows need under each limit, and their lengths.

    `pairs` are the (tokens, tokens of the prompt) of the examples under the first limit; None for
    one that the chat template refuses. Limits that change nothing are left out.
    """
    kept = [(example, pair) for example, pair in zip(examples, pairs, strict=True) if pair]
    first: list[int] = []
    sizes: list[ImageSizes] = []
    lengths: list[Lengths] = []
    for limit, rule in limits:
        count = ImageCount(rule=rule, tokenizer=tokenizer)
        own = [count.of(example) for example, _ in kept]
        first = first or own
        changed = _sizes([example for example, _ in kept], limit, rule)
        if sizes and replace(changed, max_pixels=sizes[-1].max_pixels) == sizes[-1]:
            continue
        moved = [now - before for now, before in zip(own, first, strict=True)]
        sizes.append(changed)
        lengths.append(
            summarise(
                [
                    (total + more, prompt + more)
                    for (_, (total, prompt)), more in zip(kept, moved, strict=True)
                ]
            )
        )
    return tuple(sizes), tuple(lengths)


def add_sizes(parts: Sequence[ImageSizes], limit: int) -> ImageSizes:
    """Return what the rows of several sources need: the means of all, and the largest of each."""
    return ImageSizes(
        max_pixels=limit,
        tokens_mean=round(sum(part.tokens_mean for part in parts) / len(parts), 2),
        row_patches_mean=round(sum(part.row_patches_mean for part in parts) / len(parts), 2),
        **{name: max(getattr(part, name) for part in parts) for name in _LARGEST},
    )


def _sizes(examples: Sequence[Example], limit: int, rule: Rule) -> ImageSizes:
    seen: dict[Size, tuple[int, tuple[int, ...]]] = {}

    def look(size: Size) -> tuple[int, tuple[int, ...]]:
        if size not in seen:
            seen[size] = count_image_tokens(rule, *size), count_patches(rule, *size)
        return seen[size]

    rows = [[look(size) for size in list_sizes(example, rule)] for example in examples]
    images = [image for row in rows for image in row]
    patches = [sum(sum(parts) for _, parts in row) for row in rows]
    return ImageSizes(
        max_pixels=limit,
        tokens_mean=round(sum(tokens for tokens, _ in images) / max(1, len(images)), 2),
        tokens_max=max((tokens for tokens, _ in images), default=0),
        row_tokens_max=max((sum(tokens for tokens, _ in row) for row in rows), default=0),
        row_patches_mean=round(sum(patches) / max(1, len(rows)), 2),
        row_patches_max=max(patches, default=0),
        row_pictures_max=max((sum(len(parts) for _, parts in row) for row in rows), default=0),
        picture_patches_max=max((max(parts) for _, parts in images), default=0),
    )
