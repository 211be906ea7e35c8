"""Opens images: their size, what is wrong with one, and the pixels as the processor reads them.

Pillow is imported where it is used, so that the compiler starts without it.
"""

import io
import warnings
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes

from ..read.image_rows import Look, Reference, StoredImage
from ..read.rows import Fault
from .image_endings import is_complete_file, stores_orientation_late

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

#: The shortest side of an image. On shorter ones processors mistake a side for the channels.
LEAST_SIDE: Final = 8
#: Pillow warns of more pixels, which may be an attack.
MOST_PIXELS: Final = 89_478_485
#: Of an image that is written into the data, or downloaded.
MOST_BYTES: Final = 64 * 2**20
#: The processors of Qwen refuse images that are longer in proportion.
MOST_RATIO: Final = 200
#: The tag of EXIF that says how the camera was held; from 5 on, width and height are exchanged.
_ORIENTATION: Final = 0x0112
_EXCHANGED: Final = 5
#: Photos of cameras that also contain a preview, which is another frame.
_SINGLE: Final = frozenset({"MPO"})
_WHITE: Final = (255, 255, 255, 255)


Keep = Callable[[bytes], StoredImage]


def looker(folder: Path, *, allow_download: bool, keep: Keep | None = None) -> Look:
    """Return a function that adds the size to a reference whose file is in `folder` or below it.

    `keep` gets the bytes of an image that is written into the data, by default `refer`.
    """
    return partial(
        _look, folder=folder.resolve(), allow_download=allow_download, keep=keep or refer
    )


def refer(data: bytes) -> StoredImage:
    """Return a reference to an image by the hash of its bytes, or its fault in place of one."""
    size = measure(data)
    if isinstance(size, str):
        return StoredImage(fault=size)
    return StoredImage(stored=sha256(data).hexdigest(), width=size[0], height=size[1])


def measure(data: bytes | Path) -> tuple[int, int] | Fault:
    """Return the width and height of an image after it is turned upright, or its fault.

    Header and end are read. Pixels are read only where the end of the file is missing: Pillow then
    decides whether they are whole.
    """
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    try:
        with warnings.catch_warnings(), _open_bytes(data) as file:
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return _measure(image, file)
    except Image.DecompressionBombError:
        return "image_huge"
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError):
        return "image_broken"


def _measure(image: "ImageFile", file: IO[bytes]) -> tuple[int, int] | Fault:
    from PIL.Image import Image  # noqa: PLC0415

    width, height = image.size
    if fault := _judge(width, height):
        return fault
    if getattr(image, "is_animated", False) and image.format not in _SINGLE:
        return "image_animated"
    place = file.tell()
    whole = is_complete_file(file, image.format or "")
    early = image.format == "PNG" and not stores_orientation_late(file)
    file.seek(place)
    found = Image.getexif(image) if early else image.getexif()  # a PNG's own reads its pixels
    if found.get(_ORIENTATION, 1) >= _EXCHANGED:
        width, height = height, width
    if not whole:
        try:
            image.load()
        except (OSError, ValueError, SyntaxError, EOFError):
            return "image_truncated"
    return width, height


def open_image(data: bytes | Path) -> "Image":
    """Return an image upright and in RGB, with white where it is transparent.

    `load_image` and `convert_to_rgb` of transformers do the same. Raises OSError for an image whose
    pixels cannot be read.
    """
    from PIL import Image, ImageOps  # noqa: PLC0415

    with _open_bytes(data) as file, Image.open(file) as opened:
        image = ImageOps.exif_transpose(opened)
    if "A" not in image.getbands() and image.info.get("transparency") is None:
        return image.convert("RGB")
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, _WHITE), image).convert("RGB")


def find_inside(folder: Path, name: str) -> Path | Fault:
    """Return the file of this name if it is in `folder`, links followed; else what is wrong.

    `folder` must be resolved.
    """
    try:
        place = (folder / name).resolve()
        if Path(name).is_absolute() or not place.is_relative_to(folder):
            return "image_outside"
        return place if place.is_file() else "image_missing"
    except (OSError, ValueError, RuntimeError):  # a name that no disk can hold, or a loop of links
        return "image_missing"


def reading(place: Path, store: Path) -> Callable[[Reference], "Image"]:
    """Return a function that opens the image of a reference.

    `place` is the data's folder, and `store` that of the images that prepare.py kept.
    """
    return partial(_open, folder=place.resolve(), store=store.resolve())


def _open(reference: Reference, *, folder: Path, store: Path) -> "Image":
    own = "path" in reference
    name = reference["path"] if own else reference["stored"]
    found = find_inside(folder if own else store, name)
    if isinstance(found, str):
        raise FileNotFoundError(name)
    return open_image(found)


def decode(text: str) -> bytes | Fault:
    """Return the bytes of a `data:` URI, or of an image in base64; what is wrong with others."""
    head, comma, body = text.partition(",")
    if not comma:
        head, body = ";base64", text
    if len(body) > 2 * MOST_BYTES:
        return "image_huge"
    try:
        data = unquote_to_bytes(body)
        data = b64decode(data + b"==") if head.lower().endswith(";base64") else data
    except ValueError:
        return "image_broken"
    return "image_huge" if len(data) > MOST_BYTES else data


def _open_bytes(data: bytes | Path) -> IO[bytes]:
    return io.BytesIO(data) if isinstance(data, bytes) else data.open("rb")


def _look(
    reference: Reference, *, folder: Path, allow_download: bool, keep: Keep
) -> Reference | Fault:
    if "data" in reference:
        data = decode(reference["data"])
        found = data if isinstance(data, str) else keep(data)
        return found if isinstance(found, str) else found.get("fault") or dict(found)
    if "url" in reference:
        return reference if allow_download else "image_url"
    place = find_inside(folder, reference["path"])
    if isinstance(place, str):
        return place
    size = measure(place)
    if isinstance(size, str):
        return size
    return {**reference, "width": size[0], "height": size[1]}


def _judge(width: int, height: int) -> Fault | None:
    if min(width, height) < LEAST_SIDE:
        return "image_tiny"
    if width * height > MOST_PIXELS:
        return "image_huge"
    return "image_narrow" if max(width, height) > MOST_RATIO * min(width, height) else None
