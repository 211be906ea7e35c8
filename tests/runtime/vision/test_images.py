"""Files of images: their size as the processor sees it, and what is wrong with bad ones."""

import base64
import time
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.vision.images import find_inside, looker, measure, open_image

PIL = pytest.importorskip("PIL.Image")


def save(path: Path, size: tuple[int, int] = (40, 20), mode: str = "RGB", **how: Any) -> Path:
    """Write an image of one colour."""
    PIL.new(mode, size, how.pop("color", 0)).save(path, **how)
    return path


def test_a_photo_is_turned_upright(tmp_path: Path) -> None:
    """Width and height are exchanged where EXIF says so, and so are the pixels."""
    exif = PIL.Exif()
    for orientation in range(1, 9):
        exif[0x0112] = orientation
        path = save(tmp_path / f"{orientation}.jpg", exif=exif)
        size = (40, 20) if orientation < 5 else (20, 40)
        assert measure(path) == measure(path.read_bytes()) == size
        assert open_image(path).size == size


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L", "CMYK", "I;16", "1"])
def test_every_mode_becomes_what_the_processor_makes_of_it(tmp_path: Path, mode: str) -> None:
    """As `convert_to_rgb` of transformers does: white where the image is transparent."""
    transforms = pytest.importorskip("transformers.image_transforms")
    numpy = pytest.importorskip("numpy")
    colors = {"RGBA": (200, 10, 10, 100), "LA": (90, 0)}
    ending = "jpg" if mode == "CMYK" else "png"
    path = save(tmp_path / f"a.{ending}", mode=mode, color=colors.get(mode, 0))
    with PIL.open(path) as image:
        wanted = transforms.convert_to_rgb(image, return_numpy=True)
    assert numpy.array_equal(numpy.array(open_image(path)), wanted)
    if mode == "LA":
        assert open_image(path).getpixel((0, 0)) == (255, 255, 255)


def test_faults(tmp_path: Path) -> None:
    """Broken, animated, tiny, huge and narrow images are told apart by their headers."""
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "cut.png").write_bytes(save(tmp_path / "a.png").read_bytes()[:20])
    frames = [PIL.new("L", (40, 40), 60 * n) for n in range(3)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    frames[0].save(tmp_path / "still.gif")
    save(tmp_path / "tiny.png", (7, 400))
    save(tmp_path / "narrow.png", (8, 1601))
    save(tmp_path / "huge.png", (10_000, 9_000), mode="1")
    found = {path.name: measure(path) for path in tmp_path.iterdir()}
    assert found == {
        "a.png": (40, 20),
        "text.png": "image_broken",
        "cut.png": "image_broken",
        "moving.gif": "image_animated",
        "still.gif": (40, 40),
        "tiny.png": "image_tiny",
        "narrow.png": "image_narrow",
        "huge.png": "image_huge",
    }


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        *((kind, "image_truncated") for kind in ("jpg", "png", "gif", "bmp")),
        ("webp", "image_broken"),
    ],
)
def test_a_file_that_ends_early(tmp_path: Path, kind: str, fault: str) -> None:
    """It is not whole, wherever it is cut behind its header; zeros behind the end do no harm."""
    image = PIL.effect_noise((300, 200), 60).convert("RGB")
    image.save(tmp_path / f"a.{kind}")
    whole = (tmp_path / f"a.{kind}").read_bytes()
    assert measure(whole) == measure(whole + b"\0" * 9) == (300, 200)
    for share in (0.5, 0.9):
        assert measure(whole[: int(len(whole) * share)]) == fault


def test_an_end_without_its_mark_is_no_fault(tmp_path: Path) -> None:
    """Text may stand behind a JPEG; of a PNG without its end Pillow reads all pixels."""
    photo, drawn = save(tmp_path / "a.jpg").read_bytes(), save(tmp_path / "a.png").read_bytes()
    assert measure(photo + b"made by a camera") == (40, 20)
    assert measure(drawn[:-12]) == open_image(drawn[:-12]).size == (40, 20)


def test_a_huge_png_is_measured_by_its_header(tmp_path: Path) -> None:
    """In milliseconds, also where it says behind its pixels that it is not turned."""
    path = save(tmp_path / "large.png", (9_400, 9_400), mode="L")
    begin = time.process_time()
    assert measure(path) == (9_400, 9_400)
    assert time.process_time() - begin < 0.1


def test_a_png_that_is_turned_behind_its_pixels(tmp_path: Path) -> None:
    """The specification allows EXIF there; the pixels are turned likewise."""
    exif = PIL.Exif()
    exif[0x0112] = 6
    whole = save(tmp_path / "a.png", exif=exif).read_bytes()
    place, end = whole.index(b"eXIf") - 4, whole.index(b"IEND") - 4
    size = int.from_bytes(whole[place : place + 4], "big") + 12
    late = whole[:place] + whole[place + size : end] + whole[place : place + size] + whole[end:]
    assert measure(whole) == measure(late) == open_image(late).size == (20, 40)


def test_an_image_in_the_row_itself_is_decoded(tmp_path: Path) -> None:
    """A data URI, in base64 or not, and base64 alone; others are broken."""
    data = save(tmp_path / "a.png").read_bytes()
    look, coded = looker(tmp_path, allow_download=False), base64.b64encode(data).decode()
    quoted = "".join(f"%{byte:02x}" for byte in data)
    for text in (f"data:image/png;base64,{coded}", coded, f"data:image/png,{quoted}"):
        found = look({"data": text})
        assert isinstance(found, dict)
        assert (found["width"], found["height"], len(found["stored"])) == (40, 20, 64)
    assert look({"data": f"data:image/png;base64,{coded[: len(coded) // 2]}"}) == "image_truncated"
    assert look({"data": "data:image/png;base64,!"}) == "image_broken"
    assert look({"data": "A" * (2**27 + 1)}) == "image_huge"


def test_a_photo_with_a_preview_is_one_image(tmp_path: Path) -> None:
    """Cameras write MPO files, whose second frame is a smaller copy."""
    image = PIL.new("RGB", (40, 20))
    image.save(tmp_path / "a.jpg", format="MPO", save_all=True, append_images=[image])
    with PIL.open(tmp_path / "a.jpg") as opened:
        assert (opened.format, opened.n_frames) == ("MPO", 2)
    assert measure(tmp_path / "a.jpg") == (40, 20)


def test_nothing_outside_the_folder_is_opened(tmp_path: Path) -> None:
    """Neither by an absolute path, nor by `..`, nor through a link of a file or folder."""
    folder, outside = tmp_path / "data", tmp_path / "outside"
    (folder / "images").mkdir(parents=True)
    outside.mkdir()
    save(folder / "images" / "a.png")
    secret = save(outside / "a.png")
    (folder / "link.png").symlink_to(secret)
    (folder / "links").symlink_to(outside)
    (folder / "inside.png").symlink_to(folder / "images" / "a.png")
    (folder / "loop.png").symlink_to("loop.png")
    look = looker(folder, allow_download=False)
    for name in (
        str(secret),
        "../outside/a.png",
        "images/../../outside/a.png",
        "link.png",
        "links/a.png",
    ):
        assert find_inside(folder, name) == look({"path": name}) == "image_outside"
    for name in ("none.png", "images", "loop.png", "a\0b.png", "x" * 5000):
        assert look({"path": name}) == "image_missing"
    for name in ("images/a.png", "./images/a.png", "inside.png", "images/../images/a.png"):
        assert look({"path": name}) == {"path": name, "width": 40, "height": 20}


def test_an_address_is_refused_unless_downloads_are_allowed(tmp_path: Path) -> None:
    """Nothing is fetched to look at it."""
    reference = {"url": "https://example.org/a.png"}
    assert looker(tmp_path, allow_download=False)(reference) == "image_url"
    assert looker(tmp_path, allow_download=True)(reference) == reference
