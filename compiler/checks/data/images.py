"""The rules about images and vision parts (FTC180 to 189, 192 to 194, 279, 299)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.compiler.resolve.rows.roles import FORMS_OF_IMAGES
from ftc.runtime.vision.image_tokens import limit_pixels, make_rule
from ftc.spec.sources import WholeSource, list_sources

#: Classes whose towers `knowledge/multimodal/towers.json` does not describe.
_UNTRAINED: Final = frozenset(
    {
        "Exaone4_5_ForConditionalGeneration",
        "Gemma4ForConditionalGeneration",
        "Llama4ForConditionalGeneration",
    }
)
_BLIND_ROWS: Final = 3
#: Different prompts, of the rows with images: few enough to be certain that prompts need theirs,
#: and few enough to say so.
_BLIND_SHARE: Final = 0.05
_ALIKE_SHARE: Final = 0.5
#: The least number of prompts that name a clip: a few may be about HTML tags.
_FEWEST_CLIPS: Final = 3
_CLIPS_SHARE: Final = 0.02


@rule("FTC180", "images-with-a-text-model", "error", reads=("model", "data"))
def images_with_a_text_model(case: Case) -> Iterator[Problem]:
    """What it is: The rows have images, and the model reads only text.

    Why it matters: The model would be trained on questions about images that it never sees. It
    would learn to guess the answers.

    Example: {"model": "Qwen/Qwen3-0.6B", "data": {"source": "a.jsonl", "columns": {"images":
    "photo"}}}

    Use instead: {"model": "Qwen/Qwen3-VL-2B-Instruct", "data": {"source": "a.jsonl", "columns":
    {"images": "photo"}}}
    """
    if case.model.vision is not None or case.model.wrapper is not None:
        return
    rows = case.data.faults.get("image_part", 0)
    if case.data.images is not None or rows:
        pointer = "/data/columns/images" if case.data.images is not None else "/model/id"
        yield problem(
            pointer,
            message="" if case.data.images is not None else "parts",
            name=case.model.id,
            column=case.data.images or "",
            rows=rows,
        )


@rule("FTC181", "no-image-processor", "error", reads=("model", "data"))
def no_image_processor(case: Case) -> Iterator[Problem]:
    """What it is: The rows have images, and no file says how this model reads them.

    Why it matters: The settings of the processor decide how many tokens an image has. They are in
    `preprocessor_config.json` or `processor_config.json`, beside the weights. Without them neither
    the lengths nor the memory of a run can be planned, and training cannot start.

    Example: {"model": "./a-model-without-preprocessor-config"}

    Use instead: {"model": "./a-complete-model"}
    """
    vision, images = case.model.vision, case.data.pictures or case.data.images
    unread = images is not None or case.data.faults.get("image_part", 0) > 0
    if case.model.wrapper is None or not unread:
        return
    if vision is None or not vision.rule:
        known = vision is not None and bool(vision.missing)
        untrained = _is_untrained(case.model)
        yield problem(
            "/model/id",
            message="file" if known else "untrained" if untrained else "",
            help="untrained" if untrained else "",
            name=case.model.id,
            wrapper=case.model.wrapper,
            file=vision.missing if vision is not None else "",
        )


@rule("FTC182", "images-without-a-chat-template", "error", reads=("model", "tokenizer", "data"))
def images_without_a_chat_template(case: Case) -> Iterator[Problem]:
    """What it is: The rows have images, and the model has no chat template.

    Why it matters: The chat template writes the token that stands for an image. Without one nothing
    says where an image belongs between the other tokens.

    Example: {"model": "google/gemma-3-4b-pt", "data": "photos.jsonl"}

    Use instead: {"model": "google/gemma-3-4b-it", "data": "photos.jsonl"}
    """
    tokenizer, entry = case.tokenizer, find_model(case.model.id)
    if case.data.pictures is None or tokenizer.template_sha256 is not None:
        return
    if tokenizer.exact or entry is None or entry.chat_template == "none":
        yield problem("/model/chat_template", name=case.model.id)


@rule("FTC183", "objective-without-images", "error", reads=("data",))
def objective_without_images(case: Case) -> Iterator[Problem]:
    """What it is: The rows have images, and the objective trains only on texts.

    Why it matters: Supervised fine-tuning and DPO give the images of rows to the model. The other
    trainers would train it on questions about images that it never sees.

    Example: {"data": "photos.jsonl", "objective": "orpo"}

    Use instead: {"data": "photos.jsonl", "objective": "dpo"}
    """
    if case.data.pictures is not None and not OBJECTIVES[case.spec.objective.type].sees:
        yield problem("/objective/type", objective=case.spec.objective.type)


@rule("FTC184", "untrainable-parts", "error", reads=("model", "data"))
def untrainable_parts(case: Case) -> Iterator[Problem]:
    """What it is: `method.parts` names parts that this run cannot train.

    Why it matters: Projector and tower learn from images alone, so they need an image-text model
    and rows with images. The language model is always trained: with a frozen one, the features that
    projector and tower learn would have to fit a model that cannot adapt to them.

    Example: {"data": "tickets.csv", "method": {"type": "lora", "parts": ["language_model",
    "projector"]}}

    Use instead: {"data": "tickets.csv", "method": "lora"}
    """
    parts = case.spec.method.parts
    if "language_model" not in parts:
        yield problem("/method/parts", message="language", parts=parts)
    elif len(parts) > 1 and (case.model.vision is None or case.data.pictures is None):
        others = [part for part in parts if part != "language_model"]
        fix = put("/method/parts", ["language_model"])
        yield problem("/method/parts", fix=(fix,), parts=others)


@rule("FTC185", "packed-images", "error", reads=("data",), fix_safety="unsafe")
def packed_images(case: Case) -> Iterator[Problem]:
    """What it is: Rows with images are to be packed.

    Why it matters: The positions of an image's tokens depend on its place in the row. In packed
    rows they would be counted from the start of another row.

    Example: {"data": {"source": "photos.jsonl", "packing": "best-fit"}}

    Use instead: {"data": "photos.jsonl"}
    """
    if case.data.pictures is not None and case.spec.data.packing == "best-fit":
        yield problem("/data/packing", fix=(put("/data/packing", "auto"),))


@rule("FTC186", "unused-pixel-limit", "warning", reads=("model", "data"))
def unused_pixel_limit(case: Case) -> Iterator[Problem]:
    """What it is: `data.images.max_pixels` is set, and changes nothing.

    Why it matters: Some models make every image the same size, so that it has the same number of
    tokens whatever its size was. A limit also changes nothing if no row has an image.

    Example: {"model": "google/gemma-3-4b-it", "data": {"source": "photos.jsonl", "images":
    {"max_pixels": 500000}}}

    Use instead: {"model": "google/gemma-3-4b-it", "data": "photos.jsonl"}
    """
    if case.spec.data.images.max_pixels == "auto":
        return
    vision = case.model.vision
    if case.data.pictures is None:
        yield problem("/data/images/max_pixels", message="no_images")
    elif vision is not None and vision.rule:
        settings = make_rule(vision.rule)
        if limit_pixels(settings, 1) == settings:
            yield problem("/data/images/max_pixels", name=case.model.id)


@rule("FTC187", "images-beyond-the-longest-row", "warning", reads=("data", "plan"))
def images_beyond_the_longest_row(case: Case) -> Iterator[Problem]:
    """What it is: The images of a row alone have more tokens than a row may have.

    Why it matters: Such rows are left out, because the tokens of an image cannot be cut. The rows
    with the largest or the most images are lost, which may be the most important ones.

    Example: {"data": {"source": "scans.jsonl", "max_length": 1024}}

    Use instead: {"data": {"source": "scans.jsonl", "images": {"max_pixels": 500000}}}
    """
    pictures, most = case.data.pictures, case.plan.decisions.rows.max_length.value
    if pictures is not None and pictures.sizes and pictures.sizes[0].row_tokens_max > most:
        yield problem("/data/max_length", tokens=pictures.sizes[0].row_tokens_max, longest=most)


@rule("FTC188", "truncated-images", "error", reads=("data", "plan"), fix_safety="unsafe")
def truncated_images(case: Case) -> Iterator[Problem]:
    """What it is: Rows that are too long are to be truncated, and rows have images.

    Why it matters: A cut inside an image leaves fewer tokens than the tower gives features, and the
    forward pass stops with an error.

    Example: {"data": {"source": "photos.jsonl", "cleaning": {"overlong": "truncate"}}}

    Use instead: {"data": "photos.jsonl"}
    """
    if case.data.pictures is not None and case.spec.data.cleaning.overlong == "truncate":
        pointer = "/data/cleaning/overlong"
        yield problem(pointer, fix=(put(pointer, "drop"),))


@rule("FTC189", "images-from-the-network", "warning", reads=("data",))
def images_from_the_network(case: Case) -> Iterator[Problem]:
    """What it is: Rows name images by their URL.

    Why it matters: What an address returns may change or disappear, and its size is not known
    before it is downloaded. Rows with addresses are left out unless `data.allow_download` is set;
    then each of these images is planned as the largest one.

    Example: {"data": {"source": "links.jsonl", "allow_download": true}}

    Use instead: {"data": "photos.jsonl"}
    """
    data, allowed = case.data, case.spec.data.allow_download
    urls = data.pictures.urls if data.pictures is not None else 0
    refused = data.faults.get("image_url", 0)
    if urls:
        yield problem("/data/allow_download", message="allowed", help="allowed", images=urls)
    elif refused:
        yield problem("/data/source", rows=refused)
    elif allowed:
        yield problem("/data/allow_download", message="unused", help="unused")


@rule("FTC192", "images-left-out", "warning", reads=("model", "data"), fix_safety="unsafe")
def images_left_out(case: Case) -> Iterator[Problem]:
    """What it is: A column holds images, videos or audio that training leaves out.

    Only the texts of its rows are used. No script reads videos or audio.

    Why it matters: Questions about an image have no answer without it. The model would learn to
    guess. Where the texts are complete without the images, allow this warning.

    Example: {"model": "Qwen/Qwen3-0.6B", "data": "photos.jsonl"}

    Use instead: {"model": "Qwen/Qwen3-VL-2B-Instruct", "data": "photos.jsonl"}
    """
    for source, data in _list_parts(case):
        if not _is_blind(data):
            alike = "alike" if _is_alike(data) else ""
            yield from _advise(case, source, data, message=alike)


@rule(
    "FTC194", "prompts-without-their-images", "error", reads=("model", "data"), fix_safety="unsafe"
)
def prompts_without_their_images(case: Case) -> Iterator[Problem]:
    """What it is: A column holds images that training leaves out, and the prompts are all alike.

    Rows of images have at most one different prompt for twenty rows. Videos and audio count as
    images do.

    Why it matters: What tells the rows apart is in the images. From the texts alone the model would
    learn to answer the same question in a hundred ways.

    Example: {"model": "Qwen/Qwen3-VL-2B-Instruct", "data": {"source": "photos.jsonl", "columns":
    {"prompt": "question", "completion": "answer"}}}

    Use instead: {"model": "Qwen/Qwen3-VL-2B-Instruct", "data": {"source": "photos.jsonl",
    "columns": {"prompt": "question", "completion": "answer", "images": "foto"}}}
    """
    for source, data in _list_parts(case):
        if _is_blind(data):
            yield from _advise(case, source, data)


def loses_images(case: Case) -> bool:
    """Return whether rows look alike because the images that tell them apart are not read."""
    data = case.data
    unread = data.images is not None and data.pictures is None
    if unread and case.has("model") and case.model.vision is None:
        return True
    parts = data.sources or (data,)
    is_told = "FTC192" not in case.spec.allow
    return any(_is_blind(part) or (is_told and _is_alike(part)) for part in parts)


def _list_parts(case: Case) -> Iterator[tuple[WholeSource, DataFacts]]:
    parts = case.data.sources or (case.data,)
    return zip(list_sources(case.spec.data), parts, strict=False)


def _is_blind(data: DataFacts) -> bool:
    """Return whether the rows whose images are left out have nearly the same prompts."""
    return _is_alike(data, share=_BLIND_SHARE)


def _is_alike(data: DataFacts, *, share: float = _ALIKE_SHARE) -> bool:
    """Return whether most rows whose images are left out share their prompt with others."""
    rows = max((rows for _, _, rows in _list_unseen(data)), default=0)
    return rows >= _BLIND_ROWS and data.prompts <= max(1, share * rows)


def _list_unseen(data: DataFacts) -> Iterator[tuple[str, str, int]]:
    """Yield each column of what is left out: what it holds, its name and the rows that have some.

    A video or audio that prompts name as well is FTC279's.
    """
    held = data.contents
    kinds = {"": held.unseen_images, "video": held.unseen_videos, "audio": held.unseen_audio}
    for kind, columns in kinds.items():
        if kind not in _list_written(data):
            yield from ((kind, column, rows) for column, rows in columns.items())


def _list_written(data: DataFacts) -> Mapping[str, int]:
    """Return the kinds of clips that many prompts name, each with their number."""
    least = max(_FEWEST_CLIPS, _CLIPS_SHARE * data.contents.looked_rows)
    found = {kind: data.contents.foreign.get(kind, 0) for kind in ("video", "audio")}
    return {kind: rows for kind, rows in found.items() if rows >= least}


def _advise(
    case: Case, source: WholeSource, data: DataFacts, *, message: str = ""
) -> Iterator[Problem]:
    """Yield a problem for each column of images that is left out, with what reads them."""
    model, instead = case.model, ""
    if model.vision is not None and data.images is not None:
        instead = "second"
    elif model.vision is not None:
        is_read = OBJECTIVES[case.spec.objective.type].sees and data.form in FORMS_OF_IMAGES
        instead = "column" if is_read else "form"
    elif model.wrapper is not None:
        instead = "untrained" if _is_untrained(model) else "processor"
    for kind, column, rows in _list_unseen(data):
        if column == source.columns.images:
            continue
        if kind:
            yield problem(
                source.at("source"),
                message="_".join(filter(None, (kind, message))),
                help=kind,
                column=column,
                rows=rows,
                prompts=data.prompts,
            )
            continue
        named = put(source.at("columns", "images"), column)
        yield problem(
            source.at("source"),
            message=message,
            help=instead,
            fix=(named,) if instead == "column" else (),
            column=column,
            rows=rows,
            prompts=data.prompts,
            other=data.images or "",
            name=model.id,
        )


def _is_untrained(model: ModelFacts) -> bool:
    """Return whether the model has a tower that no run of ftc trains with or uses.

    The built-in table has no processors, so the others were not looked at where it stands in.
    """
    return model.vision is None and (model.origin != "table" or model.wrapper in _UNTRAINED)


@rule("FTC193", "precomputed-reference-of-images", "error", reads=("data",))
def precomputed_reference_of_images(case: Case) -> Iterator[Problem]:
    """What it is: The reference of rows with images is to be computed before training.

    Why it matters: The pinned TRL stops at the start of such a run. It computes the reference of
    rows with images at every step: with the adapter switched off, or with a copy of the model in a
    full fine-tune.

    Example: {"data": "photo-pairs.jsonl", "objective": {"type": "dpo", "reference": "precomputed"}}

    Use instead: {"data": "photo-pairs.jsonl", "objective": "dpo"}
    """
    objective = case.spec.objective
    if case.data.pictures is None or not OBJECTIVES[objective.type].sees:
        return
    if objective.reference == "precomputed":
        yield problem("/objective/reference", fix=(put("/objective/reference", "auto"),))


@rule("FTC279", "videos", "error", reads=("data",))
def videos(case: Case) -> Iterator[Problem]:
    """What it is: Rows hold videos or audio, or their prompts name them.

    Why it matters: The scripts train on texts and images. Rows with videos or audio in a message
    would be left out. Where a prompt has only the path of one, or a placeholder such as `<video>`,
    the model would learn to answer questions about what it never sees or hears.

    Example: {"data": "clips.jsonl"}

    Use instead: {"data": "frames.jsonl"}
    """
    for kind in ("video", "audio"):
        if rows := case.data.faults.get(kind, 0):
            word = "" if kind == "video" else kind
            yield problem("/data/source", message=word, help=word, rows=rows)
    for source, data in _list_parts(case):
        for kind, rows in _list_written(data).items():
            word = "" if kind == "video" else kind
            yield problem(source.at("source"), message=f"{kind}_named", help=word, rows=rows)


@rule("FTC299", "frozen-projector", "warning", reads=("data",))
def frozen_projector(case: Case) -> Iterator[Problem]:
    """What it is: The vision tower is trained, and the projector after it is frozen.

    Why it matters: The projector was made for the features that the tower has now. It cannot follow
    as they change.

    Example: {"method": {"type": "lora", "parts": ["language_model", "vision_tower"]}}

    Use instead: {"method": {"type": "lora", "parts": ["language_model", "projector",
    "vision_tower"]}}
    """
    parts = case.spec.method.parts
    if case.data.pictures is not None and "vision_tower" in parts and "projector" not in parts:
        yield problem("/method/parts")
