"""vLLM beside the training: the commit that it reads, and what the adapter names as its base."""

from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.upstream import engine_model


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Give what was asked of the Hub, which answers with one folder."""
    asked: list[tuple[Any, ...]] = []

    def download(name: str, *, revision: str, allow_patterns: list[str]) -> str:
        asked.append((name, revision, "*.safetensors" in allow_patterns))
        return "/cache/commit"

    monkeypatch.setattr(engine_model, "snapshot_download", download)
    return asked


def test_vllm_reads_the_folder_of_the_commit(downloads: list[tuple[Any, ...]]) -> None:
    """TRL gives it the model's name; the saved adapter still names the repository."""
    model = SimpleNamespace(name_or_path="owner/name")
    pinned = engine_model.pin_model(model, "owner/name", "abc")
    assert model.name_or_path == pinned == "/cache/commit"
    assert downloads == [("owner/name", "abc", True)]

    config = SimpleNamespace(base_model_name_or_path=pinned)
    engine_model.name_base(SimpleNamespace(peft_config={"default": config}), pinned, "owner/name")
    assert config.base_model_name_or_path == "owner/name"


@pytest.mark.usefixtures("downloads")
def test_a_model_of_a_folder_keeps_its_name() -> None:
    """It was given with --model, and vLLM reads that folder."""
    model = SimpleNamespace(name_or_path="/other")
    pinned = engine_model.pin_model(model, "owner/name", "abc")
    config = SimpleNamespace(base_model_name_or_path="/other")
    engine_model.name_base(SimpleNamespace(peft_config={"default": config}), pinned, "owner/name")

    assert model.name_or_path == "/other"
    assert config.base_model_name_or_path == "/other"
    engine_model.name_base(SimpleNamespace(), pinned, "owner/name")  # without an adapter
