"""Truncated image files, and PNGs that store their orientation after the pixels."""

import io
from collections.abc import Callable

import pytest
from PIL import Image, PngImagePlugin

from ftc.runtime.vision.image_endings import is_complete_file, stores_orientation_late


def draw(kind: str) -> bytes:
    """Return the file of a small picture."""
    file = io.BytesIO()
    Image.new("RGB", (48, 48), (200, 20, 20)).save(file, kind)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP"])
def test_a_cut_file_has_no_end(kind: str) -> None:
    """Zeros behind the end are none of its bytes, as some programs write them."""
    whole = draw(kind)

    assert is_complete_file(io.BytesIO(whole), kind)
    assert is_complete_file(io.BytesIO(whole + bytes(64)), kind)
    assert not is_complete_file(io.BytesIO(whole[: len(whole) * 2 // 3]), kind)


def test_a_format_without_a_mark_is_whole() -> None:
    """Nothing in a TIFF says where it ends."""
    assert is_complete_file(io.BytesIO(draw("TIFF")[:40]), "TIFF")


def _before(file: bytes) -> bytes:
    return file


def _behind(file: bytes) -> bytes:
    """Return a PNG whose chunk of the camera stands behind its pixels."""
    start = file.index(b"eXIf") - 4
    end = start + 12 + int.from_bytes(file[start : start + 4], "big")
    last = file.index(b"IEND") - 4
    return file[:start] + file[end:last] + file[start:end] + file[last:]


@pytest.mark.parametrize(("arrange", "late"), [(_before, False), (_behind, True)])
def test_only_what_stands_behind_the_pixels_is_late(
    arrange: Callable[[bytes], bytes], *, late: bool
) -> None:
    """Pillow finds what stands before them without reading a pixel."""
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG", exif=exif)

    assert stores_orientation_late(io.BytesIO(arrange(file.getvalue()))) is late


def test_a_text_behind_the_pixels_may_turn_the_picture() -> None:
    """Any other text does not."""
    for name, late in (("XML:com.adobe.xmp", True), ("Comment", False)):
        info = PngImagePlugin.PngInfo()
        info.add_itxt(name, "text")
        file = io.BytesIO()
        Image.new("RGB", (8, 8)).save(file, "PNG", pnginfo=info)
        start = file.getvalue().index(b"iTXt") - 4
        whole = file.getvalue()
        end = start + 12 + int.from_bytes(whole[start : start + 4], "big")
        last = whole.index(b"IEND") - 4
        behind = whole[:start] + whole[end:last] + whole[start:end] + whole[last:]

        assert stores_orientation_late(io.BytesIO(behind)) is late
