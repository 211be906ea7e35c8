"""Fixtures that prepare data, and that show what its tokens stand for."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.data.forms import Prepare, Prepared
from tests.end_to_end.process import compile_spec, read_json, run


@pytest.fixture
def prepare(tmp_path: Path, model: Path) -> Prepare:
    """Return a function that compiles a spec on a data file, and runs `prepare.py`."""

    def compile_and_run(data: str | Mapping[str, Any], **sections: Any) -> Prepared:
        (tmp_path / "model").symlink_to(model)
        spec = {"name": "forms", "model": "./model", "data": data, "hardware": "cpu", **sections}
        bundle = compile_spec(tmp_path, spec)
        ended = run("python", "prepare.py", cwd=bundle)
        assert ended.code == 0, ended.said
        lock = read_json(bundle / "ftc.lock.json")
        return Prepared(
            bundle=bundle,
            report=read_json(bundle / "run/data/report.json"),
            facts=lock["facts"]["data"],
            decisions=lock["decisions"],
        )

    return compile_and_run


@pytest.fixture(scope="module")
def pieces(model: Path) -> Callable[[Sequence[int]], str]:
    """Return a function that decodes tokens into text."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))

    return decode
