"""What ask.py prints of GGUF files: texts that are ranked, and calls that are executed."""

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gguf
import numpy as np
import pytest

from ftc.runtime.ask import ask_calls, ask_calls_gguf, ask_relevance, ask_vectors
from ftc.runtime.evaluate import candidates
from ftc.runtime.export import relevance_files, vector_files
from ftc.runtime.files import write_json
from ftc.runtime.llama_cpp import gguf_file
from ftc.runtime.reward.offered_tools import read_tools
from ftc.runtime.run import Run
from tests.tiny_reranker import write_reranker
from tests.tiny_seeing import make_byte_tokenizer
from tests.tui.agent.tiny_gguf import write_tiny

TEXTS = ["the card is lost", "late", "", "where is my card, please? I have waited for weeks now"]
WORDS = ["where", "is", "my", "card", "lost", "late"]
SOURCE = '''
def track(number: str) -> str:
    """
    Say where a parcel is.

    Args:
        number: The number of the parcel.
    """
    return f"{number} is on the shelf"
'''


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    (tmp_path / "run").mkdir()
    return Run(tmp_path, stage="ask")


def test_the_best_comes_first() -> None:
    """Of equal scores the order of the texts is kept."""
    scores = np.array([0.5, 0.9, 0.5, -1.0], dtype="float32")

    assert ask_vectors.sort(scores, ["a", "b", "c", "d"]) == [
        (pytest.approx(0.9), "b"),
        (0.5, "a"),
        (0.5, "c"),
        (-1.0, "d"),
    ]


@pytest.mark.parametrize("prompts", [None, {}, {"query": "q: ", "document": None}])
def test_vectors_of_a_file_rank_texts(
    run: Run, tmp_path: Path, prompts: dict[str, Any] | None
) -> None:
    """With the prompts of the merged model's folder, where it has them; a long text is cut."""
    path = write_tiny(tmp_path / "t.gguf", context_tokens=64, pooling=gguf.PoolingType.MEAN)
    config = run.folder / "merged" / "config_sentence_transformers.json"
    write_json(config, {"prompts": prompts})
    ranked = ask_vectors.rank_by_file(run, path, "late", TEXTS, max_length=32, on_gpu=False)

    assert sorted(text for _, text in ranked) == sorted(TEXTS)
    assert [score for score, _ in ranked] == sorted((s for s, _ in ranked), reverse=True)
    assert all(-1.0001 < score < 1.0001 for score, _ in ranked)
    if not prompts:
        assert ranked[0][1] == "late"
        assert ranked[0][0] == pytest.approx(1)


def test_a_file_that_is_none_ends_the_script(run: Run, tmp_path: Path) -> None:
    """In one sentence."""
    path = tmp_path / "t.gguf"
    path.write_bytes(b"no gguf")
    with pytest.raises(SystemExit, match=r"llama\.cpp cannot open it"):
        vector_files.open_file(run, path, 32, on_gpu=False)


@pytest.fixture(name="reranker", scope="module")
def _reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reranker(tmp_path_factory.mktemp("reranker") / "r.gguf", WORDS)


def test_scores_of_a_file_rank_texts(run: Run, reranker: Path) -> None:
    """From 0 to 1; a text that is too long is cut, and an empty one has a score as well."""
    ranked = ask_relevance.rank_by_file(
        run, reranker, "where is my card", TEXTS, max_length=12, on_gpu=False
    )

    assert sorted(text for _, text in ranked) == sorted(TEXTS)
    assert [score for score, _ in ranked] == sorted((s for s, _ in ranked), reverse=True)
    assert all(0 < score < 1 for score, _ in ranked)


PAIRS = [("where is my card", "card lost"), ("late", "lost late card"), ("is", "my card is lost")]


def expect(run: Run, reranker: Path, **more: Any) -> tuple[Any, relevance_files.Expected]:
    """Return a job and what a model would give that computes as the file does."""
    llm = vector_files.open_file(run, reranker, 32, on_gpu=False, ranks=True)
    tokens = [relevance_files.join(llm, *pair, max_length=32) for pair in PAIRS]
    scores = np.array([relevance_files.read_score(llm, ids) for ids in tokens], dtype="float32")
    llm.close()
    told = {"pairs": PAIRS, "scores": candidates.apply_sigmoid(scores), "tokens": tokens, **more}
    return SimpleNamespace(run=run, max_length=32, on_gpu=False), relevance_files.Expected(**told)


def test_a_faithful_file_has_no_fault(run: Run, reranker: Path) -> None:
    """It gives the scores of the model on the same tokens."""
    found = relevance_files.judge(*_order(reranker, *expect(run, reranker)), 0.01)

    assert found["fault"] is None
    assert (found["pairs"], found["other_pairs"]) == (3, 0)
    assert found["difference"] < 1e-5


@pytest.mark.parametrize("change", ["score", "nan", "tokens"])
def test_a_file_that_differs_has_a_fault(run: Run, reranker: Path, change: str) -> None:
    """By a score, by one that is no number, or by the tokens that it reads."""
    job, told = expect(run, reranker)
    scores = told.scores.copy()
    scores[1] = np.nan if change == "nan" else scores[1] + 0.02
    if change == "tokens":
        job, told = expect(run, reranker, tokens=[*told.tokens[:2], [2, 5, 3, 3, 6, 3]])
        scores[:] = told.scores
        llm = vector_files.open_file(run, reranker, 32, on_gpu=False, ranks=True)
        read = [relevance_files.read_score(llm, ids) for ids in told.tokens]
        scores = candidates.apply_sigmoid(np.array(read, dtype="float32"))
        llm.close()
    told = relevance_files.Expected(pairs=PAIRS, scores=scores, tokens=told.tokens)
    fault = relevance_files.judge(*_order(reranker, job, told), 0.01)["fault"]

    assert ("as other tokens" if change == "tokens" else "a score differs by") in fault


def _order(path: Path, job: Any, told: relevance_files.Expected) -> tuple[Any, Path, Any]:
    return job, path, told


# -----------------------------------------------------------------------------
# Calls


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with that tokenizer, and a chat template that TRL knows."""
    utils = pytest.importorskip("trl.chat_template_utils")
    folder = tmp_path_factory.mktemp("tokenizer")
    make_byte_tokenizer(utils.qwen3_chat_template).save_pretrained(folder)
    return folder


@pytest.fixture(name="tools")
def _tools() -> list[Any]:
    module: Any = ModuleType("tools")
    exec(SOURCE, vars(module))  # noqa: S102 - the test's own text
    return read_tools(module)


def ask(run: Run, path: Path, folder: Path, tools: list[Any], *, context: int) -> str:
    """Ask the tiny file for an answer of eight tokens."""
    llm = gguf_file.load(run, path, context, on_gpu=False)
    try:
        turns = [{"role": "user", "content": "where is parcel 7?"}]
        return ask_calls_gguf.answer(run, llm, folder, turns, 8, tools=tools, rounds=2)
    finally:
        llm.close()


def test_a_file_answers_with_tools(
    run: Run, tmp_path: Path, folder: Path, tools: list[Any]
) -> None:
    """An untrained file calls none of them; the answer is its text, and the same every time."""
    path = write_tiny(tmp_path / "t.gguf", context_tokens=2048)
    first = ask(run, path, folder, tools, context=2048)

    assert first == ask(run, path, folder, tools, context=2048)
    assert "parcel 7" not in first


def test_a_question_that_does_not_fit_ends_the_script(
    run: Run, tmp_path: Path, folder: Path, tools: list[Any]
) -> None:
    """Room for the answer is kept; the tools take most of it."""
    path = write_tiny(tmp_path / "t.gguf", context_tokens=512)
    with pytest.raises(SystemExit, match=r"have [\d,]+ tokens, and at most 504 fit"):
        ask(run, path, folder, tools, context=512)


def test_results_are_printed_and_the_last_text_is_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where the last message is a result, there was no room for an answer."""
    call = {"role": "assistant", "content": "", "tool_calls": [{}]}
    result = {"role": "tool", "name": "track", "content": "7 is on the shelf"}
    text = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nOn the shelf. "}

    assert ask_calls.read([call, result, text]) == "On the shelf."
    assert ask_calls.read([call, result]) == ""
    assert capsys.readouterr().err == "track: 7 is on the shelf\n" * 2
