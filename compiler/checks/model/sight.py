"""The rules about bundles of vision models (FTC190, FTC191, FTC692, FTC699)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.vision import find_rule
from ftc.runtime.vision.image_tokens import Mosaic, Rule, Sheets
from ftc.spec.sources import list_sources

#: Why no GGUF of a tower of this kind reads images with the pinned llama.cpp, as it was tried.
_REFUSED: Final[Mapping[str, str]] = {
    "clip": "converter",
    "idefics3": "handler",
    "pixtral": "libmtmd",
}
#: How many tiles libmtmd cuts an image into, whatever the processor's files say: clip.cpp for
#: InternVL (its converter reads limits only from configs of the older form), mtmd-image.h for
#: LFM2-VL.
_TILES: Final[Mapping[str, tuple[int, int]]] = {Mosaic.kind: (1, 12), Sheets.kind: (2, 10)}


@rule("FTC190", "images-out-of-reach", "error", reads=("data",))
def images_out_of_reach(case: Case) -> Iterator[Problem]:
    """What it is: The scripts cannot open the images where they are.

    Why it matters: Training opens each image when a batch needs it: as a file below the folder of
    its data file, or as `prepare.py` kept it from a parquet file or an address. Of a data set on
    the Hub only the files of rows are downloaded, so its images must be bytes in parquet. Of
    streamed data no file is kept, and the sizes of images that nobody has read cannot be planned.

    Example: {"data": {"source": "owner/photos", "streaming": true, "max_rows": 5000}}

    Use instead: {"data": {"source": "owner/photos", "max_rows": 5000}}
    """
    parts = case.data.sources or (case.data,)
    for source, data in zip(list_sources(case.spec.data), parts, strict=False):
        missing = data.faults.get("image_missing", 0)
        if data.pictures is not None and data.streamed_rows is not None:
            yield problem(source.at("streaming"), message="streamed", name=source.source)
        elif data.origin == "hub" and missing:
            yield problem(source.at("source"), help="hub", name=source.source, rows=missing)


@rule("FTC191", "part-without-weights", "error", reads=("model", "data"), fix_safety="unsafe")
def part_without_weights(case: Case) -> Iterator[Problem]:
    """What it is: `method.parts` names a part of which this method trains nothing.

    Why it matters: LoRA adapts linear modules. Gemma 3's projector has none: it is a single matrix,
    which PEFT adapts only without dropout and DoRA. `freeze` trains the last layers of the language
    model, and the layers before them, the projector and the tower stay as they are.

    Example: {"model": "google/gemma-3-4b-it", "method": {"type": "lora", "parts":
    ["language_model", "projector"]}}

    Use instead: {"model": "google/gemma-3-4b-it", "method": {"type": "full", "parts":
    ["language_model", "projector"]}}
    """
    method, vision = case.spec.method, case.model.vision
    if case.data.pictures is None or vision is None or method.type == "full":
        return
    seeing = [part for part in method.parts if part != "language_model"]
    frozen = [p for p in seeing if method.type == "freeze" or not vision.tower.modules(p)]
    for part in frozen:
        rest = [other for other in method.parts if other not in frozen]
        message = "freeze" if method.type == "freeze" else ""
        fix = (put("/method/parts", rest),)
        yield problem("/method/parts", message=message, fix=fix, part=part, name=case.model.id)


@rule("FTC692", "projector-refused", "error", reads=("model", "data"), fix_safety="unsafe")
def projector_refused(case: Case) -> Iterator[Problem]:
    """What it is: No GGUF file of this model reads images with the pinned llama.cpp.

    Why it matters: The language model would convert, and answer without seeing anything. LLaVA's
    towers stop the converter. Those of Pixtral and Mistral 3 convert, and libmtmd does not load
    them. SmolVLM and Idefics3 convert, and their answers to images fail. All of them train, and
    `run/merged` is complete.

    Example: {"model": "HuggingFaceTB/SmolVLM-Instruct", "export": ["Q8_0"]}

    Use instead: {"model": "HuggingFaceTB/SmolVLM-Instruct", "export": []}
    """
    vision, export = case.model.vision, case.spec.export
    if vision is None or case.data.pictures is None or not export.types:
        return
    if reason := _REFUSED.get(vision.tower.kind):
        message = "" if reason == "converter" else reason
        fix = (put("/export/types", []),)
        yield problem("/export/types", fix=fix, message=message, name=case.model.id)


@rule("FTC699", "tiles-unlike-the-gguf", "warning", reads=("model", "data", "plan"))
def tiles_unlike_the_gguf(case: Case) -> Iterator[Problem]:
    """What it is: The run cuts images into other numbers of tiles than llama.cpp will.

    Why it matters: libmtmd has the limits of InternVL (12 tiles) and of LFM2-VL (10) in its code. A
    lower limit, of `data.images.max_pixels`, of the memory or of the processor's files, does not
    reach the GGUF files: they see an image in more pieces than the model was trained with, and an
    answer takes more tokens than the plan says.

    Example: {"model": "LiquidAI/LFM2-VL-1.6B", "data": {"source": "photos.jsonl", "images":
    {"max_pixels": 500000}}, "export": ["Q8_0"]}

    Use instead: {"model": "LiquidAI/LFM2-VL-1.6B", "data": "photos.jsonl", "export": ["Q8_0"]}
    """
    found = find_rule(case.facts, case.plan)
    if found is None or not case.spec.export.types or (fixed := _TILES.get(found.kind)) is None:
        return
    ours = _tiles(found)
    if ours == fixed:
        return
    pointer = "/data/images/max_pixels"
    said = case.spec.data.images.max_pixels != "auto"
    yield problem(
        pointer if said else "/export/types",
        help="said" if said else "",
        name=case.model.id,
        tiles=ours[1],
        fixed=fixed[1],
    )


def _tiles(found: Rule) -> tuple[int, int]:
    """Return the fewest and the most tiles of an image that is cut; one where none is."""
    if isinstance(found, Mosaic) or (isinstance(found, Sheets) and found.split):
        return found.min_tiles, found.max_tiles
    return 1, 1
