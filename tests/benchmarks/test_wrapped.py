"""The benchmark of multimodal classes: its path, and the results that it stored."""

import json
from pathlib import Path

import pytest

from benchmarks.families import run_case
from benchmarks.wrapped import RESULTS, list_wrappers, make_case
from ftc.compiler.knowledge.exports.rehearsed import find_rehearsed
from ftc.compiler.rehearse.rehearsal import MOST_DIVERGENCE


def test_the_table_says_what_was_measured() -> None:
    """The table agrees with the results; a class without a converter was only merged."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert len(kept) >= 20
    assert kept.keys() <= list_wrappers().keys()
    for name, one in kept.items():
        known = find_rehearsed(name)
        assert known is not None, name
        stage = known.stage or (known.seen and "convert")
        assert one["stage"] == (None if known.unless else stage), name


@pytest.mark.prove
@pytest.mark.filterwarnings("ignore")  # of the libraries: the process of the case inherits errors
def test_a_wrapper_goes_the_whole_way(sdist: Path) -> None:
    """Trained on text, merged, converted, compared, quantized and asked, as every class is."""
    pytest.importorskip("llama_cpp")
    one = run_case(make_case("Gemma3ForConditionalGeneration"), sdist)
    assert (one.stage, one.cause) == (None, "")
    assert one.divergence is not None
    assert one.divergence < MOST_DIVERGENCE
