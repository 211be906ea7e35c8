"""Pictures in llama.cpp: what a projector makes of them, and answers about them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ftc.runtime.ask import ask_images
from ftc.runtime.llama_cpp import gguf_file
from ftc.runtime.llama_cpp.gguf_images import Projector
from ftc.runtime.run import Run
from ftc.runtime.vision.image_tokens import Fixed, to_settings
from tests.tiny_projector import PATCH, SIDE, TOKENS, write_projector
from tests.tui.agent.tiny_gguf import write_tiny

PLACE = 0  # the token that stands for a part of an image: <unk>, which no text here has
RULE = to_settings(Fixed(side=SIDE, patch=PATCH, tokens=TOKENS, token="<unk>"))
TEMPLATE = (
    "{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}<unk>{% else %}"
    "{{ part.text }}{% endif %}{% endfor %}\n{% endfor %}"
)


@pytest.fixture(name="files", scope="module")
def _files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the file of a model and that of its projector."""
    folder = tmp_path_factory.mktemp("files")
    path = write_tiny(folder / "tiny.gguf", context_tokens=256, chat_template=TEMPLATE)
    return path, write_projector(folder / "mmproj.gguf")


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    (tmp_path / "run").mkdir()
    return Run(tmp_path, stage="ask")


@pytest.fixture(name="projector")
def _projector(run: Run, files: tuple[Path, Path]) -> Iterator[Projector]:
    """Return the projector beside its model."""
    llm = gguf_file.load(run, files[0], 256, on_gpu=False)
    found = Projector(run, llm, files[1], token=PLACE, rule=RULE, on_gpu=False)
    yield found
    found.close()
    llm.close()


def paint(value: int, size: tuple[int, int] = (40, 30)) -> Any:
    """Return the pixels of an image with a gradient."""
    rows = np.linspace(0, value, size[1], dtype="uint8")[:, None, None]
    return np.broadcast_to(rows, (size[1], size[0], 3))


def test_a_picture_becomes_vectors(projector: Projector) -> None:
    """A row for each of its tokens; another picture has others, the same one the same."""
    found = projector.embed(paint(200))

    assert found.shape == (TOKENS, 32)
    assert np.isfinite(found).all()
    assert np.array_equal(projector.embed(paint(200)), found)
    assert not np.allclose(projector.embed(paint(20)), found)


@pytest.mark.parametrize("size", [(1, 1), (2000, 9), (28, 28)])
def test_any_size_is_read(projector: Projector, size: tuple[int, int]) -> None:
    """The projector resizes the picture."""
    assert projector.embed(paint(200, size)).shape == (TOKENS, 32)


def test_the_answer_depends_on_the_pictures(projector: Projector) -> None:
    """Each stands where its placeholders do; an earlier question leaves nothing behind."""
    ids = [1, 40, *[PLACE] * TOKENS * 2, 50, 51]

    def ask(*values: int) -> str:
        return projector.answer(ids, [paint(value) for value in values], 8)

    first = ask(250, 10)
    assert ask(250, 10) == first
    assert len({first, ask(10, 250), ask(120, 60), ask(0, 0)}) > 1


def test_without_a_picture_a_text_is_answered(run: Run, projector: Projector) -> None:
    """As by the model alone."""
    ids = [1, 40, 41, 42]

    assert projector.answer(ids, [], 6) == gguf_file.answer(run, projector.llm, ids, 6)


@pytest.mark.parametrize(
    ("places", "pictures", "said"),
    [
        (TOKENS - 1, 1, f"makes {TOKENS} tokens of a picture, training {TOKENS - 1}"),
        (TOKENS + 1, 1, f"makes {TOKENS} tokens of a picture, training {TOKENS + 1}"),
        (TOKENS, 2, "makes 1 parts more of a row's pictures"),
        (0, 1, "makes 1 parts more"),
    ],
)
def test_other_tokens_than_in_training_end_the_stage(
    projector: Projector, places: int, pictures: int, said: str
) -> None:
    """An answer would be about something else."""
    ids = [1, 40, *[PLACE] * places, 50]
    with pytest.raises(SystemExit, match=said):
        projector.answer(ids, [paint(9)] * pictures, 2)


def test_a_file_that_is_no_projector_ends_the_stage(run: Run, files: tuple[Path, Path]) -> None:
    """It is named."""
    llm = gguf_file.load(run, files[0], 256, on_gpu=False)
    with pytest.raises(SystemExit, match=r"cannot open tiny\.gguf beside the model"):
        Projector(run, llm, files[0], token=PLACE, rule=RULE, on_gpu=False)
    llm.close()


# -----------------------------------------------------------------------------
# ask.py


def ask(run: Run, files: tuple[Path, Path], images: list[Path], context_tokens: int = 256) -> str:
    """Ask about images as ask.py does."""
    messages = [{"role": "user", "content": "what?"}]
    return ask_images.answer(
        run, *files, messages, images, rule=RULE, token=PLACE, context_tokens=context_tokens,
        answer_tokens=4, on_gpu=False,
    )  # fmt: skip


def test_a_file_is_asked_about_images(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    """One, two or none; the same question has the same answer."""
    paths = []
    for n in range(2):
        paths.append(tmp_path / f"{n}.png")
        Image.fromarray(np.ascontiguousarray(paint(200 * n))).save(paths[-1])
    for count in range(3):
        assert ask(run, files, paths[:count]) == ask(run, files, paths[:count])


def test_a_question_that_is_too_long_ends_the_script(
    run: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """The tokens of its images count."""
    Image.new("RGB", (9, 9)).save(tmp_path / "a.png")
    with pytest.raises(SystemExit, match=r"the question has 68 tokens, and 64 fit"):
        ask(run, files, [tmp_path / "a.png"] * 15, context_tokens=64)
